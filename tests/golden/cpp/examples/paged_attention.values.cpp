#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runValues(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* p = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* v = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* step = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using pShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using pStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using pGlobalType = GlobalTensor<bfloat16_t, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using vShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using vStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using vGlobalType = GlobalTensor<bfloat16_t, vShapeDim5, vStrideDim5>;
    vGlobalType vGlobal(v);

    using stepShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using stepStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using stepGlobalType = GlobalTensor<float, stepShapeDim5, stepStrideDim5>;
    stepGlobalType stepGlobal(step);

    // Tile type definitions and allocations
    using mat_pType = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_pType mat_p(16, 128);
    TASSIGN(mat_p, 0x0);

    using mat_vType = Tile<TileType::Mat, bfloat16_t, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_vType mat_v(128, 128);
    TASSIGN(mat_v, 0x1000);

    using leftType = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(16, 128);
    TASSIGN(left, 0x0);

    using rightType = Tile<TileType::Right, bfloat16_t, 128, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(128, 128);
    TASSIGN(right, 0x0);

    using _t0Type = Tile<TileType::Acc, float, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x0);

    // Function body
    TLOAD(mat_p, pGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TLOAD(mat_v, vGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, mat_p);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right, mat_v);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(_t0, left, right);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(stepGlobal, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runValues(args);
}
