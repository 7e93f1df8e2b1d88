#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint32_t* x0 = reinterpret_cast<__gm__ uint32_t*>(args[0]);
    __gm__ uint32_t* out = reinterpret_cast<__gm__ uint32_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 4, 8, 16>;
    using x0StrideDim5 = Stride<1, 1, 128, 16, 1>;
    using x0GlobalType = GlobalTensor<uint32_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using outStrideDim5 = Stride<1, 1, 128, 16, 1>;
    using outGlobalType = GlobalTensor<uint32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint32_t, 32, 16, BLayout::RowMajor, -1, -1>;
    t0Type t0(32, 16);
    TASSIGN(t0, 0x0);

    using result_rowsType = Tile<TileType::Vec, uint32_t, 4, 128, BLayout::RowMajor, -1, -1>;
    result_rowsType result_rows(4, 128);
    TASSIGN(result_rows, 0x0);

    using result_columns_movedType = Tile<TileType::Vec, uint32_t, 4, 128, BLayout::RowMajor, -1, -1>;
    result_columns_movedType result_columns_moved(4, 128);
    TASSIGN(result_columns_moved, 0x800);

    using result_columns_signedType = Tile<TileType::Vec, int32_t, 4, 128, BLayout::RowMajor, -1, -1>;
    result_columns_signedType result_columns_signed(4, 128);
    TASSIGN(result_columns_signed, 0x800);

    using result_columns_foundType = Tile<TileType::Vec, int32_t, 1, 128, BLayout::RowMajor, -1, -1>;
    result_columns_foundType result_columns_found(1, 128);
    TASSIGN(result_columns_found, 0x1000);

    using result_columns_backType = Tile<TileType::Vec, uint32_t, 1, 128, BLayout::RowMajor, -1, -1>;
    result_columns_backType result_columns_back(1, 128);
    TASSIGN(result_columns_back, 0x1000);

    using result_columnsType = Tile<TileType::Vec, uint32_t, 1, 128, BLayout::RowMajor, -1, -1>;
    result_columnsType result_columns(1, 128);
    TASSIGN(result_columns, 0x1200);

    using resultType = Tile<TileType::Vec, uint32_t, 8, 16, BLayout::RowMajor, -1, -1>;
    resultType result(8, 16);
    TASSIGN(result, 0x1200);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TRESHAPE(result_rows, t0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUBS(result_columns_moved, result_rows, 2147483648LL);
    TRESHAPE(result_columns_signed, result_columns_moved);
    pipe_barrier(PIPE_V);
    TCOLMAX(result_columns_found, result_columns_signed);
    TRESHAPE(result_columns_back, result_columns_found);
    pipe_barrier(PIPE_V);
    TADDS(result_columns, result_columns_back, 2147483648LL);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_columns);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
