#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint16_t* x0 = reinterpret_cast<__gm__ uint16_t*>(args[0]);
    __gm__ uint16_t* out = reinterpret_cast<__gm__ uint16_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<uint16_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 1, 16>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<uint16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint16_t, 16, 32, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 32);
    TASSIGN(t0, 0x0);

    using result_scratchType = Tile<TileType::Vec, uint16_t, 16, 32, BLayout::RowMajor, -1, -1>;
    result_scratchType result_scratch(16, 32);
    TASSIGN(result_scratch, 0x400);

    using result_column_movedType = Tile<TileType::Vec, uint16_t, 16, 32, BLayout::RowMajor, -1, -1>;
    result_column_movedType result_column_moved(16, 32);
    TASSIGN(result_column_moved, 0x800);

    using result_column_signedType = Tile<TileType::Vec, int16_t, 16, 32, BLayout::RowMajor, -1, -1>;
    result_column_signedType result_column_signed(16, 32);
    TASSIGN(result_column_signed, 0x800);

    using result_column_signed1Type = Tile<TileType::Vec, int16_t, 16, 32, BLayout::RowMajor, -1, -1>;
    result_column_signed1Type result_column_signed1(16, 32);
    TASSIGN(result_column_signed1, 0x400);

    using result_column_foundType = Tile<TileType::Vec, int16_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_column_foundType result_column_found(16, 1);
    TASSIGN(result_column_found, 0xc00);

    using result_column_backType = Tile<TileType::Vec, uint16_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_column_backType result_column_back(16, 1);
    TASSIGN(result_column_back, 0xc00);

    using result_column_back_rowType = Tile<TileType::Vec, uint16_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_column_back_rowType result_column_back_row(1, 16);
    TASSIGN(result_column_back_row, 0xc00);

    using result_column_rowType = Tile<TileType::Vec, uint16_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_column_rowType result_column_row(1, 16);
    TASSIGN(result_column_row, 0xc20);

    using result_columnType = Tile<TileType::Vec, uint16_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_columnType result_column(16, 1);
    TASSIGN(result_column, 0xc20);

    using resultType = Tile<TileType::Vec, uint16_t, 1, 16, BLayout::RowMajor, -1, -1>;
    resultType result(1, 16);
    TASSIGN(result, 0xc20);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUBS(result_column_moved, t0, 32768);
    TRESHAPE(result_column_signed, result_column_moved);
    TRESHAPE(result_column_signed1, result_scratch);
    pipe_barrier(PIPE_V);
    TROWMIN(result_column_found, result_column_signed, result_column_signed1);
    TRESHAPE(result_column_back, result_column_found);
    TRESHAPE(result_column_back_row, result_column_back);
    pipe_barrier(PIPE_V);
    TADDS(result_column_row, result_column_back_row, 32768);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result_column, result_column_row);
    TRESHAPE(result, result_column);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
