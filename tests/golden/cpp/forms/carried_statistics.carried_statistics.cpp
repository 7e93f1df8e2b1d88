#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runCarriedStatistics(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

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
    using scratchType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    scratchType scratch(8, 64);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x800);

    using top_0Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_0Type top_0(8, 1);
    TASSIGN(top_0, 0x4000);

    using total_0_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    total_0_rowType total_0_row(1, 8);
    TASSIGN(total_0_row, 0x4020);

    using total_0Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    total_0Type total_0(8, 1);
    TASSIGN(total_0, 0x4020);

    using tileType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 64);
    TASSIGN(tile, 0x1000);

    using _t1Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(8, 1);
    TASSIGN(_t1, 0x4040);

    using top_iter_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    top_iter_rowType top_iter_row(1, 8);
    TASSIGN(top_iter_row, 0x4000);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 8);
    TASSIGN(_t1_row, 0x4040);

    using higher_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    higher_rowType higher_row(1, 8);
    TASSIGN(higher_row, 0x4060);

    using higherType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    higherType higher(8, 1);
    TASSIGN(higher, 0x4060);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 8);
    TASSIGN(_t2_row, 0x4080);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 8);
    TASSIGN(_t3_row, 0x40a0);

    using total_iter_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    total_iter_rowType total_iter_row(1, 8);
    TASSIGN(total_iter_row, 0x4020);

    using grown_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    grown_rowType grown_row(1, 8);
    TASSIGN(grown_row, 0x40c0);

    using _t4Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(8, 64);
    TASSIGN(_t4, 0x1800);

    using _t5Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(8, 64);
    TASSIGN(_t5, 0x2000);

    using _t6Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t6Type _t6(8, 1);
    TASSIGN(_t6, 0x40e0);

    using _t6_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t6_rowType _t6_row(1, 8);
    TASSIGN(_t6_row, 0x40e0);

    using total_1_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    total_1_rowType total_1_row(1, 8);
    TASSIGN(total_1_row, 0x4020);

    using total_1Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    total_1Type total_1(8, 1);
    TASSIGN(total_1, 0x4020);

    using top_2_copy0Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_2_copy0Type top_2_copy0(8, 1);
    TASSIGN(top_2_copy0, 0x4000);

    using _t7Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(8, 64);
    TASSIGN(_t7, 0x2800);

    using _t8Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t8Type _t8(8, 64);
    TASSIGN(_t8, 0x3000);

    using _t9Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t9Type _t9(8, 64);
    TASSIGN(_t9, 0x3800);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(_t0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWMAX(top_0, _t0, scratch);
    TEXPANDS(total_0_row, 0.0f);
    TRESHAPE(total_0, total_0_row);
    using top_iterType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_iterType top_iter(8, 1);
    TASSIGN(top_iter, 0x4000);
    top_iter = top_0;
    using total_iterType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    total_iterType total_iter(8, 1);
    TASSIGN(total_iter, 0x4020);
    total_iter = total_0;
    for (int64_t i = 1; i < 8; i += 1) {
        TASSIGN(x_8x64Global, x + i * 8 * 64 + 0);
        TLOAD(tile, x_8x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TROWMAX(_t1, tile, scratch);
        TRESHAPE(top_iter_row, top_iter);
        TRESHAPE(_t1_row, _t1);
        pipe_barrier(PIPE_V);
        TMAX(higher_row, top_iter_row, _t1_row);
        TRESHAPE(higher, higher_row);
        pipe_barrier(PIPE_V);
        TSUB(_t2_row, top_iter_row, higher_row);
        pipe_barrier(PIPE_V);
        TEXP(_t3_row, _t2_row);
        TRESHAPE(total_iter_row, total_iter);
        pipe_barrier(PIPE_V);
        TMUL(grown_row, total_iter_row, _t3_row);
        TROWEXPANDSUB(_t4, tile, higher);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TEXP(_t5, _t4);
        pipe_barrier(PIPE_V);
        TROWSUM(_t6, _t5, scratch);
        TRESHAPE(_t6_row, _t6);
        pipe_barrier(PIPE_V);
        TADD(total_1_row, grown_row, _t6_row);
        TRESHAPE(total_1, total_1_row);
        TMOV(top_2_copy0, higher);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        top_iter = top_2_copy0;
        total_iter = total_1;
    }
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(_t7, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    pipe_barrier(PIPE_V);
    TROWEXPANDSUB(_t8, _t7, top_iter);
    pipe_barrier(PIPE_V);
    TROWEXPANDDIV(_t9, _t8, total_iter);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t9);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runCarriedStatistics(args);
}
