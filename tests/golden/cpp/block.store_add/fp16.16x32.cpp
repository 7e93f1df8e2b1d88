#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x0 = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* out = reinterpret_cast<__gm__ half*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 18, 40>;
    using outStrideDim5 = Stride<1, 1, 1, 40, 1>;
    using outGlobalType = GlobalTensor<half, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using out_16x32StrideDim5 = Stride<1, 1, 1, 40, 1>;
    using out_16x32GlobalType = GlobalTensor<half, out_16x32ShapeDim5, out_16x32StrideDim5>;
    out_16x32GlobalType out_16x32Global(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 32);
    TASSIGN(t0, 0x0);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x32Global, out + 1 * 40 + 8);
    TSTORE<decltype(t0), decltype(out_16x32Global), AtomicType::AtomicAdd>(out_16x32Global, t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
