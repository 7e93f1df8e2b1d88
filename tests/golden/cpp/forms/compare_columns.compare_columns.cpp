#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runCompareColumns(__gm__ int64_t* args)
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

    using x_32x64ShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using x_32x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x64GlobalType = GlobalTensor<float, x_32x64ShapeDim5, x_32x64StrideDim5>;
    x_32x64GlobalType x_32x64Global(x);

    using out_32x64ShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using out_32x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_32x64GlobalType = GlobalTensor<float, out_32x64ShapeDim5, out_32x64StrideDim5>;
    out_32x64GlobalType out_32x64Global(out);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    scratchType scratch(32, 64);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(32, 64);
    TASSIGN(_t0, 0x2000);

    using aType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    aType a(32, 1);
    TASSIGN(a, 0x4000);

    using _t1Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(32, 64);
    TASSIGN(_t1, 0x4080);

    using bType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    bType b(32, 1);
    TASSIGN(b, 0x6080);

    using _t2Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(32, 64);
    TASSIGN(_t2, 0x6100);

    using b_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    b_rowType b_row(1, 32);
    TASSIGN(b_row, 0x6080);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 32);
    TASSIGN(_t3_row, 0x8100);

    using _t3Type = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t3Type _t3(32, 1);
    TASSIGN(_t3, 0x8100);

    using _t5_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_rowType _t5_row(1, 32);
    TASSIGN(_t5_row, 0x4000);

    using _t5_row1Type = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_row1Type _t5_row1(1, 32);
    TASSIGN(_t5_row1, 0x6080);

    using _t5_row2Type = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_row2Type _t5_row2(1, 32);
    TASSIGN(_t5_row2, 0x4000);

    using _t5_row3Type = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_row3Type _t5_row3(1, 32);
    TASSIGN(_t5_row3, 0x8100);

    using _t5_bitsType = Tile<TileType::Vec, uint8_t, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_bitsType _t5_bits(1, 4);
    TASSIGN(_t5_bits, 0xa240);

    using _t5_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    _t5_scratchType _t5_scratch(1, 16);
    TASSIGN(_t5_scratch, 0x8180);

    using _t5_resultType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_resultType _t5_result(1, 32);
    TASSIGN(_t5_result, 0x81c0);

    using _t5Type = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t5Type _t5(32, 1);
    TASSIGN(_t5, 0x81c0);

    using _t6Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(32, 64);
    TASSIGN(_t6, 0x8240);

    // Function body
    TASSIGN(x_32x64Global, x + 0 * 64 + 0);
    TLOAD(_t0, x_32x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWMAX(a, _t0, scratch);
    TASSIGN(x_32x64Global, x + 32 * 64 + 0);
    TLOAD(_t1, x_32x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    pipe_barrier(PIPE_V);
    TROWMIN(b, _t1, scratch);
    TASSIGN(x_32x64Global, x + 0 * 64 + 0);
    TLOAD(_t2, x_32x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    TRESHAPE(b_row, b);
    pipe_barrier(PIPE_V);
    TNEG(_t3_row, b_row);
    TRESHAPE(_t3, _t3_row);
    TRESHAPE(_t5_row, a);
    TRESHAPE(_t5_row1, b);
    TRESHAPE(_t5_row2, a);
    TRESHAPE(_t5_row3, _t3);
    pipe_barrier(PIPE_V);
    _t5_bits.SetValidCol(4);
    TCMP(_t5_bits, _t5_row2, _t5_row3, CmpMode::GT);
    pipe_barrier(PIPE_V);
    TSEL(_t5_result, _t5_bits, _t5_row, _t5_row1, _t5_scratch);
    TRESHAPE(_t5, _t5_result);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    pipe_barrier(PIPE_V);
    TROWEXPANDMUL(_t6, _t2, _t5);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_32x64Global, out + 0 * 64 + 0);
    TSTORE(out_32x64Global, _t6);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runCompareColumns(args);
}
