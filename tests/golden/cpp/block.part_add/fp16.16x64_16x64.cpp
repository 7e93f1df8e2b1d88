#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x0 = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* x1 = reinterpret_cast<__gm__ half*>(args[1]);
    __gm__ half* out = reinterpret_cast<__gm__ half*>(args[2]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x0StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x1StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x1GlobalType = GlobalTensor<half, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<half, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 64);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    t1Type t1(16, 64);
    TASSIGN(t1, 0x800);

    using partType = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    partType part(5, 61);
    TASSIGN(part, 0x1000);

    using resultType = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    resultType result(16, 64);
    TASSIGN(result, 0x1800);

    // Function body
    TLOAD(t0, x0Global);
    TLOAD(t1, x1Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using part_allType = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    part_allType part_all(16, 64);
    TRESHAPE(part_all, part);
    TMOV(part_all, t1);
    pipe_barrier(PIPE_V);
    TPARTADD(result, t0, part);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
