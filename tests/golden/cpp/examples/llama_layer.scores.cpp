#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t region_begin(
    int64_t dimension, int64_t begin, int64_t size, int64_t limit)
{
#if defined(PTO_CPU_NATIVE)
    if (begin < 0 || begin > limit - size) {
        pto::cpu::fail_region(dimension, begin, size, limit);
    }
#endif
    return begin;
}

__aicore__ __attribute__((always_inline)) void runScores(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t column = args[0];
    int64_t keys = args[1];
    __gm__ bfloat16_t* q = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);
    __gm__ bfloat16_t* k = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[4]);

    // Global tensor declarations
    using qShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using qStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using qGlobalType = GlobalTensor<bfloat16_t, qShapeDim5, qStrideDim5>;
    qGlobalType qGlobal(q);

    using kShapeDim5 = Shape<1, 1, 1, 256, 512>;
    using kStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using kGlobalType = GlobalTensor<bfloat16_t, kShapeDim5, kStrideDim5>;
    kGlobalType kGlobal(k);

    using sShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using sStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    using q_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using q_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using q_64x128GlobalType = GlobalTensor<bfloat16_t, q_64x128ShapeDim5, q_64x128StrideDim5>;
    q_64x128GlobalType q_64x128Global(q);

    using k_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using k_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using k_64x128GlobalType = GlobalTensor<bfloat16_t, k_64x128ShapeDim5, k_64x128StrideDim5>;
    k_64x128GlobalType k_64x128Global(k);

    using s_64x64ShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using s_64x64StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using s_64x64GlobalType = GlobalTensor<float, s_64x64ShapeDim5, s_64x64StrideDim5>;
    s_64x64GlobalType s_64x64Global(s);

    // Tile type definitions and allocations
    using mat_qType = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_qType mat_q(64, 128);
    TASSIGN(mat_q, 0x0);

    using leftType = Tile<TileType::Left, bfloat16_t, 64, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(64, 128);
    TASSIGN(left, 0x0);

    using mat_kType = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_kType mat_k(64, 128);
    TASSIGN(mat_k, 0x4000);

    using rightType = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(128, 64);
    TASSIGN(right, 0x0);

    using _t0Type = Tile<TileType::Acc, float, 64, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t0Type _t0(64, 64);
    TASSIGN(_t0, 0x0);

    // Function body
    TASSIGN(q_64x128Global, q + 0 * 512 + region_begin(1, column, 128, 512));
    TLOAD(mat_q, q_64x128Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, mat_q);
    for (int64_t n = 0; n < keys; n += 64) {
        TASSIGN(k_64x128Global, k + n * 512 + region_begin(1, column, 128, 512));
        TLOAD(mat_k, k_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        using right_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
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
        TASSIGN(s_64x64Global, s + 0 * 256 + region_begin(1, n, 64, 256));
        TSTORE(s_64x64Global, _t0);
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
