#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x0 = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 3, 64>;
    using x0StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x0GlobalType = GlobalTensor<float, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 3, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, float, 3, 64, BLayout::RowMajor, -1, -1>;
    t0Type t0(3, 64);
    TASSIGN(t0, 0x0);

    using resultType = Tile<TileType::Vec, float, 3, 64, BLayout::RowMajor, -1, -1>;
    resultType result(3, 64);
    TASSIGN(result, 0x300);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TFMODS(result, t0, 7.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
