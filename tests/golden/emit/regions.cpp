#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

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

__aicore__ __attribute__((always_inline)) void runRegions(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* c = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);
    int64_t r = args[3];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using xStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using cShapeDim5 = Shape<1, 1, 1, 64, 1>;
    using cStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using cGlobalType = GlobalTensor<float, cShapeDim5, cStrideDim5>;
    cGlobalType cGlobal(c);

    using outShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using outStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x_16x32StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using x_16x32GlobalType = GlobalTensor<float, x_16x32ShapeDim5, x_16x32StrideDim5>;
    x_16x32GlobalType x_16x32Global(x);

    using c_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using c_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using c_16x1_dnGlobalType = GlobalTensor<float, c_16x1_dnShapeDim5, c_16x1_dnStrideDim5, Layout::DN>;
    c_16x1_dnGlobalType c_16x1_dnGlobal(c);

    using out_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using out_16x32StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using out_16x32GlobalType = GlobalTensor<float, out_16x32ShapeDim5, out_16x32StrideDim5>;
    out_16x32GlobalType out_16x32Global(out);

    // Tile type definitions and allocations
    using tile_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    tile_0Type tile_0(16, 32);
    TASSIGN(tile_0, 0x0);

    using factorsType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    factorsType factors(16, 1);
    TASSIGN(factors, 0x800);

    using tile_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    tile_1Type tile_1(16, 32);
    TASSIGN(tile_1, 0x840);

    // Function body
    // kernels.py:119
    TASSIGN(x_16x32Global, ((x + 0 * 128 + 64) + view_begin(r, 32, 64) * 128 + 0) + 8 * 128 + 32);
    TLOAD(tile_0, x_16x32Global);
    // kernels.py:120
    TASSIGN(c_16x1_dnGlobal, c + r + 8 + 0);
    TLOAD(factors, c_16x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    // kernels.py:121
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWEXPANDMUL(tile_1, tile_0, factors);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    // kernels.py:122
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x32Global, out + (r * 2 + 1) * 128 + 64);
    TSTORE(out_16x32Global, tile_1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRegions(args);
}
