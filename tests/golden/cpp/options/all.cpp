#include <cstdint>
#if !defined(__CCE_AICORE__)
#include <chrono>
#include <cstdio>
#endif

#include <pto/pto-inst.hpp>

using namespace pto;

#if defined(__CCE_AICORE__)
#define PYPTO_PRINT(...) cce::printf(__VA_ARGS__)
#else
#define PYPTO_PRINT(...) std::printf(__VA_ARGS__)
#endif

#if defined(__clang__)
#define PYPTO_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define PYPTO_UNROLL _Pragma("GCC unroll 8")
#else
#define PYPTO_UNROLL
#endif

static inline __aicore__ int64_t profile_clock()
{
#if defined(__CCE_AICORE__)
    return static_cast<int64_t>(get_sys_cnt());
#else
    return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}

static inline __aicore__ void profile_add(__gm__ int64_t* slot, int64_t count)
{
#if defined(__CCE_AICORE__)
    *slot += count;
#else
    __atomic_fetch_add(slot, count, __ATOMIC_RELAXED);
#endif
}

__aicore__ __attribute__((always_inline)) void runIndex(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];
    __gm__ int64_t* profile = reinterpret_cast<__gm__ int64_t*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    // Tile type definitions and allocations
    using tile_0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_0Type tile_0(8, 64);
    TASSIGN(tile_0, 0x0);

    using tile_1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_1Type tile_1(8, 64);
    TASSIGN(tile_1, 0x800);

    using tile_2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_2Type tile_2(8, 64);
    TASSIGN(tile_2, 0x800);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x1000);

    // Function body
    int64_t profile_begin = profile_clock();
    int64_t size = 8;
    PYPTO_PRINT("size = %lld\n", static_cast<long long>(size));
    PYPTO_UNROLL
    for (int64_t i = 0; i < 4; i += 1) {
        int64_t index = i * 8;
        int64_t index_1 = index + n;
        int64_t index_2 = index_1 * 64;
        TASSIGN(x_8x64Global, x + index_2);
        TLOAD(tile_0, x_8x64Global);  // MTE2
        pipe_barrier(PIPE_ALL);
        PYPTO_PRINT("tile_0: ");
        TPRINT(tile_0);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);  // S
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);  // S
        TADD(tile_1, tile_0, tile_0);  // V
        pipe_barrier(PIPE_ALL);
        PYPTO_PRINT("tile_1: ");
        TPRINT(tile_1);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);  // S
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);  // S
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);  // S
        TASSIGN(out_8x64Global, out + index_2);
        TSTORE(out_8x64Global, tile_1);  // MTE3
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);  // S
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);  // S
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);  // S
    }
    pipe_barrier(PIPE_ALL);  // S
    profile_add(profile, 1);
    profile_add(profile + 1, profile_clock() - profile_begin);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runIndex(args);
}
