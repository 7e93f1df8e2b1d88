#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runTransposedOperand(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* a = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* b = reinterpret_cast<__gm__ half*>(args[1]);
    __gm__ half* c = reinterpret_cast<__gm__ half*>(args[2]);

    // Global tensor declarations
    using aShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using aStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using aGlobalType = GlobalTensor<half, aShapeDim5, aStrideDim5>;
    aGlobalType aGlobal(a);

    using bShapeDim5 = Shape<1, 1, 1, 48, 64>;
    using bStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using bGlobalType = GlobalTensor<half, bShapeDim5, bStrideDim5>;
    bGlobalType bGlobal(b);

    using cShapeDim5 = Shape<1, 1, 1, 32, 48>;
    using cStrideDim5 = Stride<1, 1, 1, 48, 1>;
    using cGlobalType = GlobalTensor<half, cShapeDim5, cStrideDim5>;
    cGlobalType cGlobal(c);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Mat, half, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _t0Type _t0(32, 64);
    TASSIGN(_t0, 0x0);

    using leftType = Tile<TileType::Left, half, 32, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(32, 64);
    TASSIGN(left, 0x0);

    using stagedType = Tile<TileType::Mat, half, 48, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    stagedType staged(48, 64);
    TASSIGN(staged, 0x1000);

    using rightType = Tile<TileType::Right, half, 64, 48, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(64, 48);
    TASSIGN(right, 0x0);

    using _t1Type = Tile<TileType::Acc, float, 32, 48, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t1Type _t1(32, 48);
    TASSIGN(_t1, 0x0);

    // Function body
    TLOAD(_t0, aGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, _t0);
    TLOAD(staged, bGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    using right_tType = Tile<TileType::Mat, half, 64, 48, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_tType right_t(64, 48);
    TRESHAPE(right_t, staged);
    TMOV(right, right_t);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(_t1, left, right);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(cGlobal, _t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runTransposedOperand(args);
}
