#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t region_begin(
    int64_t dimension, int64_t begin, int64_t size, int64_t limit)
{
#if defined(PTO_CPU_NATIVE)
    if (begin < 0 || begin > limit - size) {
        pto::cpu::fail_region(dimension, begin, size, limit);
    }
#endif
    return begin;
}

static inline __aicore__ int64_t view_begin(int64_t begin, int64_t size, int64_t limit)
{
#if defined(PTO_CPU_NATIVE)
    if (begin < 0 || size < 0 || begin > limit - size) {
        pto::cpu::fail_view(begin, size, limit);
        return 0;
    }
#endif
    return begin;
}

__aicore__ __attribute__((always_inline)) void runWindows(__gm__ int64_t* args)
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

    using x_8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using x_8x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x32GlobalType = GlobalTensor<float, x_8x32ShapeDim5, x_8x32StrideDim5>;
    x_8x32GlobalType x_8x32Global(x);

    using out_8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using out_8x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x32GlobalType = GlobalTensor<float, out_8x32ShapeDim5, out_8x32StrideDim5>;
    out_8x32GlobalType out_8x32Global(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 32);
    TASSIGN(_t0, 0x0);

    // Function body
    TASSIGN(x_8x32Global, ((x + view_begin(n, 32, 64) * 64 + 16) + view_begin(n * 2, 8, 32) * 64 + 0) + 0 * 64 + 0);
    TLOAD(_t0, x_8x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x32Global, out + 0 * 64 + region_begin(1, n, 32, 64));
    TSTORE(out_8x32Global, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runWindows(args);
}
