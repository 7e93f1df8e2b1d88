#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint32_t* x0 = reinterpret_cast<__gm__ uint32_t*>(args[0]);
    __gm__ uint32_t* out = reinterpret_cast<__gm__ uint32_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 256>;
    using x0StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using x0GlobalType = GlobalTensor<uint32_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<uint32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using out_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_16x1_dnGlobalType = GlobalTensor<uint32_t, out_16x1_dnShapeDim5, out_16x1_dnStrideDim5, Layout::DN>;
    out_16x1_dnGlobalType out_16x1_dnGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint32_t, 16, 256, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 256);
    TASSIGN(t0, 0x0);

    using scratchType = Tile<TileType::Vec, uint32_t, 16, 256, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 256);
    TASSIGN(scratch, 0x4000);

    using result_movedType = Tile<TileType::Vec, uint32_t, 16, 256, BLayout::RowMajor, -1, -1>;
    result_movedType result_moved(16, 256);
    TASSIGN(result_moved, 0x8000);

    using result_signedType = Tile<TileType::Vec, int32_t, 16, 256, BLayout::RowMajor, -1, -1>;
    result_signedType result_signed(16, 256);
    TASSIGN(result_signed, 0x8000);

    using result_signed1Type = Tile<TileType::Vec, int32_t, 16, 256, BLayout::RowMajor, -1, -1>;
    result_signed1Type result_signed1(16, 256);
    TASSIGN(result_signed1, 0x4000);

    using result_foundType = Tile<TileType::Vec, int32_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_foundType result_found(16, 1);
    TASSIGN(result_found, 0xc000);

    using result_backType = Tile<TileType::Vec, uint32_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_backType result_back(16, 1);
    TASSIGN(result_back, 0xc000);

    using result_back_rowType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_back_rowType result_back_row(1, 16);
    TASSIGN(result_back_row, 0xc000);

    using result_rowType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_rowType result_row(1, 16);
    TASSIGN(result_row, 0xc040);

    using resultType = Tile<TileType::Vec, uint32_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    resultType result(16, 1);
    TASSIGN(result, 0xc040);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUBS(result_moved, t0, 2147483648LL);
    TRESHAPE(result_signed, result_moved);
    TRESHAPE(result_signed1, scratch);
    pipe_barrier(PIPE_V);
    TROWMAX(result_found, result_signed, result_signed1);
    TRESHAPE(result_back, result_found);
    TRESHAPE(result_back_row, result_back);
    pipe_barrier(PIPE_V);
    TADDS(result_row, result_back_row, 2147483648LL);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_row);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x1_dnGlobal, out + 0 + 0);
    TSTORE(out_16x1_dnGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
