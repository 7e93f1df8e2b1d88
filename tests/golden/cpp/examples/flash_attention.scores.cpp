#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runScores(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* q = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* k = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using qShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using qStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using qGlobalType = GlobalTensor<float, qShapeDim5, qStrideDim5>;
    qGlobalType qGlobal(q);

    using kShapeDim5 = Shape<1, 1, 1, 512, 128>;
    using kStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using kGlobalType = GlobalTensor<float, kShapeDim5, kStrideDim5>;
    kGlobalType kGlobal(k);

    using sShapeDim5 = Shape<1, 1, 1, 128, 512>;
    using sStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    using k_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using k_64x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using k_64x128GlobalType = GlobalTensor<float, k_64x128ShapeDim5, k_64x128StrideDim5>;
    k_64x128GlobalType k_64x128Global(k);

    using s_128x64ShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using s_128x64StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using s_128x64GlobalType = GlobalTensor<float, s_128x64ShapeDim5, s_128x64StrideDim5>;
    s_128x64GlobalType s_128x64Global(s);

    // Tile type definitions and allocations
    using mat_qType = Tile<TileType::Mat, float, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_qType mat_q(128, 128);
    TASSIGN(mat_q, 0x0);

    using leftType = Tile<TileType::Left, float, 128, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(128, 128);
    TASSIGN(left, 0x0);

    using mat_kType = Tile<TileType::Mat, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_kType mat_k(64, 128);
    TASSIGN(mat_k, 0x10000);

    using rightType = Tile<TileType::Right, float, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(128, 64);
    TASSIGN(right, 0x0);

    using _t0Type = Tile<TileType::Acc, float, 128, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t0Type _t0(128, 64);
    TASSIGN(_t0, 0x0);

    // Function body
    TLOAD(mat_q, qGlobal);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, mat_q);
    for (int64_t n = 0; n < 512; n += 64) {
        TASSIGN(k_64x128Global, k + n * 128 + 0);
        TLOAD(mat_k, k_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        using right_tType = Tile<TileType::Mat, float, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
        right_tType right_t(128, 64);
        TRESHAPE(right_t, mat_k);
        TMOV(right, right_t);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL(_t0, left, right);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(s_128x64Global, s + 0 * 512 + n);
        TSTORE(s_128x64Global, _t0);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runScores(args);
}
