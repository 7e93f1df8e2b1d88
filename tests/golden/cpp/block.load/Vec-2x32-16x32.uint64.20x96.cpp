#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint64_t* x0 = reinterpret_cast<__gm__ uint64_t*>(args[0]);
    __gm__ uint64_t* out = reinterpret_cast<__gm__ uint64_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 20, 96>;
    using x0StrideDim5 = Stride<1, 1, 1, 96, 1>;
    using x0GlobalType = GlobalTensor<uint64_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<uint64_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x0_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0_16x32StrideDim5 = Stride<1, 1, 1, 96, 1>;
    using x0_16x32GlobalType = GlobalTensor<uint64_t, x0_16x32ShapeDim5, x0_16x32StrideDim5>;
    x0_16x32GlobalType x0_16x32Global(x0);

    // Tile type definitions and allocations
    using resultType = Tile<TileType::Vec, uint64_t, 16, 32, BLayout::RowMajor, -1, -1>;
    resultType result(16, 32);
    TASSIGN(result, 0x0);

    // Function body
    TASSIGN(x0_16x32Global, x0 + 2 * 96 + 32);
    TLOAD(result, x0_16x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
