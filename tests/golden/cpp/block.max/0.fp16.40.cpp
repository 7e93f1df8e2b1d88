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
    using x0ShapeDim5 = Shape<1, 1, 1, 1, 40>;
    using x0StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x0GlobalType = GlobalTensor<half, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using x1StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x1GlobalType = GlobalTensor<half, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<half, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, half, 1, 48, BLayout::RowMajor, -1, -1>;
    t0Type t0(1, 40);
    TASSIGN(t0, 0x400);

    using number_rowType = Tile<TileType::Vec, half, 1, 48, BLayout::RowMajor, -1, -1>;
    number_rowType number_row(1, 40);
    TASSIGN(number_row, 0x400);

    using number_scratchType = Tile<TileType::Vec, half, 1, 48, BLayout::RowMajor, -1, -1>;
    number_scratchType number_scratch(1, 40);
    TASSIGN(number_scratch, 0x460);

    using number_leftType = Tile<TileType::Vec, half, 1, 16, BLayout::RowMajor, -1, -1>;
    number_leftType number_left(1, 1);
    TASSIGN(number_left, 0x4c0);

    using t1Type = Tile<TileType::Vec, half, 8, 32, BLayout::RowMajor, -1, -1>;
    t1Type t1(8, 32);
    TASSIGN(t1, 0x0);

    using resultType = Tile<TileType::Vec, half, 8, 32, BLayout::RowMajor, -1, -1>;
    resultType result(8, 32);
    TASSIGN(result, 0x200);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TRESHAPE(number_row, t0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWMAX(number_left, number_row, number_scratch);
    set_flag(PIPE_V, PIPE_S, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_S, EVENT_ID0);
    half number = number_left.GetValue(0);
    TLOAD(t1, x1Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TADDS(result, t1, number);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
