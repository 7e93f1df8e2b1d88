#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[0]);

    // Global tensor declarations
    using outShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using out_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_16x1_dnGlobalType = GlobalTensor<int32_t, out_16x1_dnShapeDim5, out_16x1_dnStrideDim5, Layout::DN>;
    out_16x1_dnGlobalType out_16x1_dnGlobal(out);

    // Tile type definitions and allocations
    using result_rowType = Tile<TileType::Vec, int32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_rowType result_row(1, 16);
    TASSIGN(result_row, 0x0);

    using resultType = Tile<TileType::Vec, int32_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    resultType result(16, 1);
    TASSIGN(result, 0x0);

    // Function body
    TEXPANDS(result_row, -2);
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
