#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'//' by zero");
        return 0;
    }
    if (b == -1) {
        return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    }
#endif
    int64_t q = a / b;
    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;
}

static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'%' by zero");
        return 0;
    }
    if (b == -1) {
        return 0;
    }
#endif
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

__aicore__ __attribute__((always_inline)) void runWhileLoop(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

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
    TASSIGN(tile_1, 0x0);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(tile_0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t k_0 = n;
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t k_iter = k_0;
    using tile_iterType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_iterType tile_iter(8, 64);
    TASSIGN(tile_iter, 0x0);
    tile_iter = tile_0;
    while (k_iter > 1) {
        int64_t k_3;
        if (floor_mod(k_iter, 2) == 0) {
            int64_t k_1 = floor_div(k_iter, 2);
            k_3 = k_1;
        } else {
            int64_t k_2 = 3 * k_iter + 1;
            k_3 = k_2;
        }
        pipe_barrier(PIPE_V);
        TADDS(tile_1, tile_iter, 1.0f);
        k_iter = k_3;
        tile_iter = tile_1;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, tile_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runWhileLoop(args);
}
