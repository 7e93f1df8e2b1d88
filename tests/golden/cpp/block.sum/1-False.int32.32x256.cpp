#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int32_t* x0 = reinterpret_cast<__gm__ int32_t*>(args[0]);
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 32, 256>;
    using x0StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using x0GlobalType = GlobalTensor<int32_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, int32_t, 32, 256, BLayout::RowMajor, -1, -1>;
    t0Type t0(32, 256);
    TASSIGN(t0, 0x0);

    using result_scratchType = Tile<TileType::Vec, int32_t, 32, 256, BLayout::RowMajor, -1, -1>;
    result_scratchType result_scratch(32, 256);
    TASSIGN(result_scratch, 0x8000);

    using result_columnType = Tile<TileType::Vec, int32_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    result_columnType result_column(32, 1);
    TASSIGN(result_column, 0x10000);

    using resultType = Tile<TileType::Vec, int32_t, 1, 32, BLayout::RowMajor, -1, -1>;
    resultType result(1, 32);
    TASSIGN(result, 0x10000);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWSUM(result_column, t0, result_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_column);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
