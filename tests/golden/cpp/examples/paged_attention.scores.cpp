#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runScores(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* q = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* k = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using qShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using qStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using qGlobalType = GlobalTensor<bfloat16_t, qShapeDim5, qStrideDim5>;
    qGlobalType qGlobal(q);

    using kShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using kStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using kGlobalType = GlobalTensor<bfloat16_t, kShapeDim5, kStrideDim5>;
    kGlobalType kGlobal(k);

    using sShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using sStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    // Tile type definitions and allocations
    using mat_qType = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_qType mat_q(16, 128);
    TASSIGN(mat_q, 0x0);

    using mat_kType = Tile<TileType::Mat, bfloat16_t, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_kType mat_k(128, 128);
    TASSIGN(mat_k, 0x1000);

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
    TLOAD(mat_q, qGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TLOAD(mat_k, kGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, mat_q);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    using right_tType = Tile<TileType::Mat, bfloat16_t, 128, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_tType right_t(128, 128);
    TRESHAPE(right_t, mat_k);
    TMOV(right, right_t);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(_t0, left, right);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(sGlobal, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runScores(args);
}
