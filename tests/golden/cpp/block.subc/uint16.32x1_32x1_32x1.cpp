#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint16_t* x0 = reinterpret_cast<__gm__ uint16_t*>(args[0]);
    __gm__ uint16_t* x1 = reinterpret_cast<__gm__ uint16_t*>(args[1]);
    __gm__ uint16_t* x2 = reinterpret_cast<__gm__ uint16_t*>(args[2]);
    __gm__ uint16_t* out = reinterpret_cast<__gm__ uint16_t*>(args[3]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x0StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x0GlobalType = GlobalTensor<uint16_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x1StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x1GlobalType = GlobalTensor<uint16_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using x2ShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x2StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x2GlobalType = GlobalTensor<uint16_t, x2ShapeDim5, x2StrideDim5>;
    x2GlobalType x2Global(x2);

    using outShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<uint16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x0_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x0_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x0_32x1_dnGlobalType = GlobalTensor<uint16_t, x0_32x1_dnShapeDim5, x0_32x1_dnStrideDim5, Layout::DN>;
    x0_32x1_dnGlobalType x0_32x1_dnGlobal(x0);

    using x1_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x1_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x1_32x1_dnGlobalType = GlobalTensor<uint16_t, x1_32x1_dnShapeDim5, x1_32x1_dnStrideDim5, Layout::DN>;
    x1_32x1_dnGlobalType x1_32x1_dnGlobal(x1);

    using x2_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using x2_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x2_32x1_dnGlobalType = GlobalTensor<uint16_t, x2_32x1_dnShapeDim5, x2_32x1_dnStrideDim5, Layout::DN>;
    x2_32x1_dnGlobalType x2_32x1_dnGlobal(x2);

    using out_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using out_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_32x1_dnGlobalType = GlobalTensor<uint16_t, out_32x1_dnShapeDim5, out_32x1_dnStrideDim5, Layout::DN>;
    out_32x1_dnGlobalType out_32x1_dnGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    t0Type t0(32, 1);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, uint16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    t1Type t1(32, 1);
    TASSIGN(t1, 0x40);

    using t2Type = Tile<TileType::Vec, uint16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    t2Type t2(32, 1);
    TASSIGN(t2, 0x80);

    using t0_rowType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t0_rowType t0_row(1, 32);
    TASSIGN(t0_row, 0x0);

    using t1_rowType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t1_rowType t1_row(1, 32);
    TASSIGN(t1_row, 0x40);

    using result_part_rowType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_part_rowType result_part_row(1, 32);
    TASSIGN(result_part_row, 0xc0);

    using t2_rowType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t2_rowType t2_row(1, 32);
    TASSIGN(t2_row, 0x80);

    using result_rowType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_rowType result_row(1, 32);
    TASSIGN(result_row, 0x100);

    using resultType = Tile<TileType::Vec, uint16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    resultType result(32, 1);
    TASSIGN(result, 0x100);

    // Function body
    TASSIGN(x0_32x1_dnGlobal, x0 + 0 + 0);
    TLOAD(t0, x0_32x1_dnGlobal);
    TASSIGN(x1_32x1_dnGlobal, x1 + 0 + 0);
    TLOAD(t1, x1_32x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TASSIGN(x2_32x1_dnGlobal, x2 + 0 + 0);
    TLOAD(t2, x2_32x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TRESHAPE(t0_row, t0);
    TRESHAPE(t1_row, t1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUB(result_part_row, t0_row, t1_row);
    TRESHAPE(t2_row, t2);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    pipe_barrier(PIPE_V);
    TSUB(result_row, result_part_row, t2_row);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_row);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_32x1_dnGlobal, out + 0 + 0);
    TSTORE(out_32x1_dnGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
