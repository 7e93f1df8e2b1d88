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

__aicore__ __attribute__((always_inline)) void runProject2(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t block_2 = args[0];
    __gm__ bfloat16_t* normed_3 = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* v_iter = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ bfloat16_t* wv = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using normed_3ShapeDim5 = Shape<1, 1, 1, 16, 1024>;
    using normed_3StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3GlobalType = GlobalTensor<bfloat16_t, normed_3ShapeDim5, normed_3StrideDim5>;
    normed_3GlobalType normed_3Global(normed_3);

    using v_iterShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using v_iterStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using v_iterGlobalType = GlobalTensor<float, v_iterShapeDim5, v_iterStrideDim5>;
    v_iterGlobalType v_iterGlobal(v_iter);

    using wvShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using wvStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wvGlobalType = GlobalTensor<bfloat16_t, wvShapeDim5, wvStrideDim5>;
    wvGlobalType wvGlobal(wv);

    using normed_3_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using normed_3_16x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3_16x128GlobalType = GlobalTensor<bfloat16_t, normed_3_16x128ShapeDim5, normed_3_16x128StrideDim5>;
    normed_3_16x128GlobalType normed_3_16x128Global(normed_3);

    using wv_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using wv_64x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wv_64x128GlobalType = GlobalTensor<bfloat16_t, wv_64x128ShapeDim5, wv_64x128StrideDim5>;
    wv_64x128GlobalType wv_64x128Global(wv);

    using v_iter_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using v_iter_16x64StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using v_iter_16x64GlobalType = GlobalTensor<float, v_iter_16x64ShapeDim5, v_iter_16x64StrideDim5>;
    v_iter_16x64GlobalType v_iter_16x64Global(v_iter);

    // Tile type definitions and allocations
    using acc_6Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_6Type acc_6(16, 64);
    TASSIGN(acc_6, 0x0);

    using _tmp_6_1Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_6_1Type _tmp_6_1(16, 128);
    TASSIGN(_tmp_6_1, 0x0);

    using _tmp_7_1Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_7_1Type _tmp_7_1(64, 128);
    TASSIGN(_tmp_7_1, 0x1000);

    using _t21_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t21_1Type _t21_1(16, 128);
    TASSIGN(_t21_1, 0x0);

    using _t22_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t22_1Type _t22_1(128, 64);
    TASSIGN(_t22_1, 0x0);

    using _t23_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t23_1Type _t23_1(16, 64);
    TASSIGN(_t23_1, 0x0);

    using _t24_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t24_1Type _t24_1(16, 128);
    TASSIGN(_t24_1, 0x1000);

    using _t25_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t25_1Type _t25_1(128, 64);
    TASSIGN(_t25_1, 0x4000);

    using _t26_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t26_1Type _t26_1(16, 64);
    TASSIGN(_t26_1, 0x0);

    using _tmp_6_2Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_6_2Type _tmp_6_2(16, 128);
    TASSIGN(_tmp_6_2, 0x5000);

    using _tmp_7_2Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_7_2Type _tmp_7_2(64, 128);
    TASSIGN(_tmp_7_2, 0x6000);

    using _t21_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t21_2Type _t21_2(16, 128);
    TASSIGN(_t21_2, 0x2000);

    using _t22_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t22_2Type _t22_2(128, 64);
    TASSIGN(_t22_2, 0x8000);

    using _t23_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t23_2Type _t23_2(16, 64);
    TASSIGN(_t23_2, 0x0);

    using _t24_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t24_2Type _t24_2(16, 128);
    TASSIGN(_t24_2, 0x3000);

    using _t25_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t25_2Type _t25_2(128, 64);
    TASSIGN(_t25_2, 0xc000);

    using _t26_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t26_2Type _t26_2(16, 64);
    TASSIGN(_t26_2, 0x0);

    // Function body
    int64_t first_2 = block_2 * 64;
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    using acc_iter_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iter_2Type acc_iter_2(16, 64);
    TASSIGN(acc_iter_2, 0x0);
    acc_iter_2 = acc_6;
    for (int64_t k_8 = 0; k_8 < 1024; k_8 += 256) {
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_8);
        TLOAD(_tmp_6_1, normed_3_16x128Global);
        TASSIGN(wv_64x128Global, wv + first_2 * 1024 + k_8);
        TLOAD(_tmp_7_1, wv_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        using _tmp_8_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_8_1Type _tmp_8_1(16, 64);
        TASSIGN(_tmp_8_1, 0x0);
        if (k_8 == 0) {
            TMOV(_t21_1, _tmp_6_1);
            using _t22_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t22_1_tType _t22_1_t(128, 64);
            TRESHAPE(_t22_1_t, _tmp_7_1);
            TMOV(_t22_1, _t22_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            TMATMUL(_t23_1, _t21_1, _t22_1);
            _tmp_8_1 = _t23_1;
        } else {
            TMOV(_t24_1, _tmp_6_1);
            using _t25_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t25_1_tType _t25_1_t(128, 64);
            TRESHAPE(_t25_1_t, _tmp_7_1);
            TMOV(_t25_1, _t25_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t26_1, acc_iter_2, _t24_1, _t25_1);
            _tmp_8_1 = _t26_1;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_8 + 128);
        TLOAD(_tmp_6_2, normed_3_16x128Global);
        TASSIGN(wv_64x128Global, wv + first_2 * 1024 + k_8 + 128);
        TLOAD(_tmp_7_2, wv_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        using _tmp_8_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_8_2Type _tmp_8_2(16, 64);
        TASSIGN(_tmp_8_2, 0x0);
        if (k_8 + 128 == 0) {
            TMOV(_t21_2, _tmp_6_2);
            using _t22_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t22_2_tType _t22_2_t(128, 64);
            TRESHAPE(_t22_2_t, _tmp_7_2);
            TMOV(_t22_2, _t22_2_t);
            TMATMUL(_t23_2, _t21_2, _t22_2);
            _tmp_8_2 = _t23_2;
        } else {
            TMOV(_t24_2, _tmp_6_2);
            using _t25_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t25_2_tType _t25_2_t(128, 64);
            TRESHAPE(_t25_2_t, _tmp_7_2);
            TMOV(_t25_2, _t25_2_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t26_2, _tmp_8_1, _t24_2, _t25_2);
            _tmp_8_2 = _t26_2;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        acc_iter_2 = _tmp_8_2;
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(v_iter_16x64Global, v_iter + 0 * 128 + region_begin(1, first_2, 64, 128));
    TSTORE(v_iter_16x64Global, acc_iter_2);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runProject2(args);
}
