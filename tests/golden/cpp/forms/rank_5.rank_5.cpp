#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRank5(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* out = reinterpret_cast<__gm__ half*>(args[1]);
    int64_t M = args[2];

    // Shapes and strides
    int64_t x_stride0 = M * 512;
    int64_t out_stride0 = M * 512;

    // Global tensor declarations
    using xShapeDim5 = Shape<2, -1, 2, 8, 32>;
    using xStrideDim5 = Stride<-1, 512, 256, 32, 1>;
    using xGlobalType = GlobalTensor<half, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(M), xStrideDim5(x_stride0));

    using outShapeDim5 = Shape<2, -1, 2, 8, 32>;
    using outStrideDim5 = Stride<-1, 512, 256, 32, 1>;
    using outGlobalType = GlobalTensor<half, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(M), outStrideDim5(out_stride0));

    using x_1x1x1x8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using x_1x1x1x8x32StrideDim5 = Stride<-1, 512, 256, 32, 1>;
    using x_1x1x1x8x32GlobalType = GlobalTensor<half, x_1x1x1x8x32ShapeDim5, x_1x1x1x8x32StrideDim5>;
    x_1x1x1x8x32GlobalType x_1x1x1x8x32Global(x, x_1x1x1x8x32ShapeDim5(), x_1x1x1x8x32StrideDim5(x_stride0));

    using out_1x1x1x8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using out_1x1x1x8x32StrideDim5 = Stride<-1, 512, 256, 32, 1>;
    using out_1x1x1x8x32GlobalType = GlobalTensor<half, out_1x1x1x8x32ShapeDim5, out_1x1x1x8x32StrideDim5>;
    out_1x1x1x8x32GlobalType out_1x1x1x8x32Global(out, out_1x1x1x8x32ShapeDim5(), out_1x1x1x8x32StrideDim5(out_stride0));

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, half, 8, 32, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 32);
    TASSIGN(tile, 0x0);

    using _t0Type = Tile<TileType::Vec, half, 8, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 32);
    TASSIGN(_t0, 0x200);

    // Function body
    for (int64_t i = 0; i < M; i += 1) {
        TASSIGN(x_1x1x1x8x32Global, x + 1 * x_stride0 + i * 512 + 1 * 256 + 0 * 32 + 0);
        TLOAD(tile, x_1x1x1x8x32Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMULS(_t0, tile, static_cast<half>(3.0f));
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_1x1x1x8x32Global, out + 0 * out_stride0 + i * 512 + 0 * 256 + 0 * 32 + 0);
        TSTORE(out_1x1x1x8x32Global, _t0);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRank5(args);
}
