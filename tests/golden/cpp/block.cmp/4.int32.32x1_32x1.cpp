#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int32_t* x0 = reinterpret_cast<__gm__ int32_t*>(args[0]);
    __gm__ int32_t* x1 = reinterpret_cast<__gm__ int32_t*>(args[1]);
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[2]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x0StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x0GlobalType = GlobalTensor<int32_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x1StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x1GlobalType = GlobalTensor<int32_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x0_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x0_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x0_32x1_dnGlobalType = GlobalTensor<int32_t, x0_32x1_dnShapeDim5, x0_32x1_dnStrideDim5, Layout::DN>;
    x0_32x1_dnGlobalType x0_32x1_dnGlobal(x0);

    using x1_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x1_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x1_32x1_dnGlobalType = GlobalTensor<int32_t, x1_32x1_dnShapeDim5, x1_32x1_dnStrideDim5, Layout::DN>;
    x1_32x1_dnGlobalType x1_32x1_dnGlobal(x1);

    using out_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using out_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_32x1_dnGlobalType = GlobalTensor<int32_t, out_32x1_dnShapeDim5, out_32x1_dnStrideDim5, Layout::DN>;
    out_32x1_dnGlobalType out_32x1_dnGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, int32_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    t0Type t0(32, 1);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, int32_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    t1Type t1(32, 1);
    TASSIGN(t1, 0x80);

    using result_rowType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_rowType result_row(1, 32);
    TASSIGN(result_row, 0x0);

    using result_row1Type = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_row1Type result_row1(1, 32);
    TASSIGN(result_row1, 0x80);

    using result_largerType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_largerType result_larger(1, 32);
    TASSIGN(result_larger, 0x100);

    using result_bitsType = Tile<TileType::Vec, uint8_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_bitsType result_bits(1, 4);
    TASSIGN(result_bits, 0x340);

    using result_onesType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_onesType result_ones(1, 32);
    TASSIGN(result_ones, 0x180);

    using result_zerosType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_zerosType result_zeros(1, 32);
    TASSIGN(result_zeros, 0x200);

    using result_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_scratchType result_scratch(1, 16);
    TASSIGN(result_scratch, 0x280);

    using result_resultType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_resultType result_result(1, 32);
    TASSIGN(result_result, 0x2c0);

    using resultType = Tile<TileType::Vec, int32_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    resultType result(32, 1);
    TASSIGN(result, 0x2c0);

    // Function body
    TASSIGN(x0_32x1_dnGlobal, x0 + 0 + 0);
    TLOAD(t0, x0_32x1_dnGlobal);
    TASSIGN(x1_32x1_dnGlobal, x1 + 0 + 0);
    TLOAD(t1, x1_32x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TRESHAPE(result_row, t0);
    TRESHAPE(result_row1, t1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMAX(result_larger, result_row, result_row1);
    pipe_barrier(PIPE_V);
    result_bits.SetValidCol(4);
    TCMP(result_bits, result_larger, result_row1, CmpMode::EQ);
    TEXPANDS(result_ones, 1);
    TEXPANDS(result_zeros, 0);
    pipe_barrier(PIPE_V);
    TSEL(result_result, result_bits, result_zeros, result_ones, result_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_result);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_32x1_dnGlobal, out + 0 + 0);
    TSTORE(out_32x1_dnGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
