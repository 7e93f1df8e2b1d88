#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x0 = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 16>;
    using x0StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using out_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_16x1_dnGlobalType = GlobalTensor<int32_t, out_16x1_dnShapeDim5, out_16x1_dnStrideDim5, Layout::DN>;
    out_16x1_dnGlobalType out_16x1_dnGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, half, 16, 16, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 16);
    TASSIGN(t0, 0x0);

    using scratchType = Tile<TileType::Vec, half, 16, 16, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 16);
    TASSIGN(scratch, 0x200);

    using resultType = Tile<TileType::Vec, int32_t, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    resultType result(16, 1);
    TASSIGN(result, 0x400);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWARGMIN(result, t0, scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x1_dnGlobal, out + 0 + 0);
    TSTORE(out_16x1_dnGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
