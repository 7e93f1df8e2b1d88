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

__aicore__ __attribute__((always_inline)) void runValues(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t keys = args[0];
    __gm__ bfloat16_t* p = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ bfloat16_t* v = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);
    __gm__ bfloat16_t* out = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using pShapeDim5 = Shape<1, 1, 1, 256, 256>;
    using pStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using pGlobalType = GlobalTensor<bfloat16_t, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using vShapeDim5 = Shape<1, 1, 1, 256, 512>;
    using vStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using vGlobalType = GlobalTensor<bfloat16_t, vShapeDim5, vStrideDim5>;
    vGlobalType vGlobal(v);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<bfloat16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using p_64x64ShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using p_64x64StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using p_64x64GlobalType = GlobalTensor<bfloat16_t, p_64x64ShapeDim5, p_64x64StrideDim5>;
    p_64x64GlobalType p_64x64Global(p);

    using v_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using v_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using v_64x128GlobalType = GlobalTensor<bfloat16_t, v_64x128ShapeDim5, v_64x128StrideDim5>;
    v_64x128GlobalType v_64x128Global(v);

    using out_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using out_64x128StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_64x128GlobalType = GlobalTensor<bfloat16_t, out_64x128ShapeDim5, out_64x128StrideDim5>;
    out_64x128GlobalType out_64x128Global(out);

    // Tile type definitions and allocations
    using mat_p_0Type = Tile<TileType::Mat, bfloat16_t, 64, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_p_0Type mat_p_0(64, 64);
    TASSIGN(mat_p_0, 0x0);

    using mat_v_0Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_v_0Type mat_v_0(64, 128);
    TASSIGN(mat_v_0, 0x2000);

    using left_0Type = Tile<TileType::Left, bfloat16_t, 64, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(64, 64);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, bfloat16_t, 64, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(64, 128);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(64, 128);
    TASSIGN(acc_0, 0x0);

    using mat_p_1Type = Tile<TileType::Mat, bfloat16_t, 64, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_p_1Type mat_p_1(64, 64);
    TASSIGN(mat_p_1, 0x6000);

    using mat_v_1Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_v_1Type mat_v_1(64, 128);
    TASSIGN(mat_v_1, 0x8000);

    using left_1Type = Tile<TileType::Left, bfloat16_t, 64, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(64, 64);
    TASSIGN(left_1, 0x2000);

    using right_1Type = Tile<TileType::Right, bfloat16_t, 64, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(64, 128);
    TASSIGN(right_1, 0x4000);

    using acc_1Type = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(64, 128);
    TASSIGN(acc_1, 0x0);

    // Function body
    for (int64_t head = 0; head < 4; head += 1) {
        int64_t row = head * 64;
        int64_t column = head * 128;
        TASSIGN(p_64x64Global, p + row * 256 + 0);
        TLOAD(mat_p_0, p_64x64Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TASSIGN(v_64x128Global, v + 0 * 512 + column);
        TLOAD(mat_v_0, v_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(left_0, mat_p_0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(right_0, mat_v_0);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL(acc_0, left_0, right_0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        using acc_iterType = Tile<TileType::Acc, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(64, 128);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t n = 64; n < keys; n += 64) {
            TASSIGN(p_64x64Global, p + row * 256 + region_begin(1, n, 64, 256));
            TLOAD(mat_p_1, p_64x64Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            TASSIGN(v_64x128Global, v + n * 512 + column);
            TLOAD(mat_v_1, v_64x128Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            TMOV(left_1, mat_p_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(right_1, mat_v_1);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
            wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
            acc_iter = acc_1;
        }
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(out_64x128Global, out + 0 * 512 + column);
        TSTORE(out_64x128Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runValues(args);
}
