#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runColumnAtRunTime(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t M = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, -1, 1>;
    using xStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(M));

    using outShapeDim5 = Shape<1, 1, 1, -1, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(M));

    using x_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using x_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x_16x1_dnGlobalType = GlobalTensor<float, x_16x1_dnShapeDim5, x_16x1_dnStrideDim5, Layout::DN>;
    x_16x1_dnGlobalType x_16x1_dnGlobal(x);

    using out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using out_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_16x1_dnGlobalType = GlobalTensor<float, out_16x1_dnShapeDim5, out_16x1_dnStrideDim5, Layout::DN>;
    out_16x1_dnGlobalType out_16x1_dnGlobal(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    tileType tile(16, 1);
    TASSIGN(tile, 0x0);

    using tile_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    tile_rowType tile_row(1, 16);
    TASSIGN(tile_row, 0x0);

    using _t0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t0_rowType _t0_row(1, 16);
    TASSIGN(_t0_row, 0x40);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x80);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 16);
    TASSIGN(_t2_row, 0xc0);

    using _t2Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t2Type _t2(16, 1);
    TASSIGN(_t2, 0xc0);

    // Function body
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t i = 0; i < M; i += 16) {
        TASSIGN(x_16x1_dnGlobal, x + i + 0);
        TLOAD(tile, x_16x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TRESHAPE(tile_row, tile);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TEXP(_t0_row, tile_row);
        pipe_barrier(PIPE_V);
        TMULS(_t1_row, _t0_row, 2.0f);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TADD(_t2_row, _t1_row, tile_row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TRESHAPE(_t2, _t2_row);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x1_dnGlobal, out + i + 0);
        TSTORE(out_16x1_dnGlobal, _t2);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runColumnAtRunTime(args);
}
