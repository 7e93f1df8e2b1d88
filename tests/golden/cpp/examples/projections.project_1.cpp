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

__aicore__ __attribute__((always_inline)) void runProject1(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t block_1 = args[0];
    __gm__ float* k_iter = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ bfloat16_t* normed_3 = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);
    __gm__ bfloat16_t* wk = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using k_iterShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using k_iterStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using k_iterGlobalType = GlobalTensor<float, k_iterShapeDim5, k_iterStrideDim5>;
    k_iterGlobalType k_iterGlobal(k_iter);

    using normed_3ShapeDim5 = Shape<1, 1, 1, 16, 1024>;
    using normed_3StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3GlobalType = GlobalTensor<bfloat16_t, normed_3ShapeDim5, normed_3StrideDim5>;
    normed_3GlobalType normed_3Global(normed_3);

    using wkShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using wkStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wkGlobalType = GlobalTensor<bfloat16_t, wkShapeDim5, wkStrideDim5>;
    wkGlobalType wkGlobal(wk);

    using normed_3_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using normed_3_16x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3_16x128GlobalType = GlobalTensor<bfloat16_t, normed_3_16x128ShapeDim5, normed_3_16x128StrideDim5>;
    normed_3_16x128GlobalType normed_3_16x128Global(normed_3);

    using wk_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using wk_64x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wk_64x128GlobalType = GlobalTensor<bfloat16_t, wk_64x128ShapeDim5, wk_64x128StrideDim5>;
    wk_64x128GlobalType wk_64x128Global(wk);

    using k_iter_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using k_iter_16x64StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using k_iter_16x64GlobalType = GlobalTensor<float, k_iter_16x64ShapeDim5, k_iter_16x64StrideDim5>;
    k_iter_16x64GlobalType k_iter_16x64Global(k_iter);

    // Tile type definitions and allocations
    using acc_3Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_3Type acc_3(16, 64);
    TASSIGN(acc_3, 0x0);

    using _tmp_3_1Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_3_1Type _tmp_3_1(16, 128);
    TASSIGN(_tmp_3_1, 0x0);

    using _tmp_4_1Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_4_1Type _tmp_4_1(64, 128);
    TASSIGN(_tmp_4_1, 0x1000);

    using _t15_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t15_1Type _t15_1(16, 128);
    TASSIGN(_t15_1, 0x0);

    using _t16_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t16_1Type _t16_1(128, 64);
    TASSIGN(_t16_1, 0x0);

    using _t17_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t17_1Type _t17_1(16, 64);
    TASSIGN(_t17_1, 0x0);

    using _t18_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t18_1Type _t18_1(16, 128);
    TASSIGN(_t18_1, 0x1000);

    using _t19_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t19_1Type _t19_1(128, 64);
    TASSIGN(_t19_1, 0x4000);

    using _t20_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t20_1Type _t20_1(16, 64);
    TASSIGN(_t20_1, 0x0);

    using _tmp_3_2Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_3_2Type _tmp_3_2(16, 128);
    TASSIGN(_tmp_3_2, 0x5000);

    using _tmp_4_2Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_4_2Type _tmp_4_2(64, 128);
    TASSIGN(_tmp_4_2, 0x6000);

    using _t15_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t15_2Type _t15_2(16, 128);
    TASSIGN(_t15_2, 0x2000);

    using _t16_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t16_2Type _t16_2(128, 64);
    TASSIGN(_t16_2, 0x8000);

    using _t17_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t17_2Type _t17_2(16, 64);
    TASSIGN(_t17_2, 0x0);

    using _t18_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t18_2Type _t18_2(16, 128);
    TASSIGN(_t18_2, 0x3000);

    using _t19_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t19_2Type _t19_2(128, 64);
    TASSIGN(_t19_2, 0xc000);

    using _t20_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t20_2Type _t20_2(16, 64);
    TASSIGN(_t20_2, 0x0);

    // Function body
    int64_t first_1 = block_1 * 64;
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    using acc_iter_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iter_1Type acc_iter_1(16, 64);
    TASSIGN(acc_iter_1, 0x0);
    acc_iter_1 = acc_3;
    for (int64_t k_4 = 0; k_4 < 1024; k_4 += 256) {
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_4);
        TLOAD(_tmp_3_1, normed_3_16x128Global);
        TASSIGN(wk_64x128Global, wk + first_1 * 1024 + k_4);
        TLOAD(_tmp_4_1, wk_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        using _tmp_5_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_5_1Type _tmp_5_1(16, 64);
        TASSIGN(_tmp_5_1, 0x0);
        if (k_4 == 0) {
            TMOV(_t15_1, _tmp_3_1);
            using _t16_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t16_1_tType _t16_1_t(128, 64);
            TRESHAPE(_t16_1_t, _tmp_4_1);
            TMOV(_t16_1, _t16_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            TMATMUL(_t17_1, _t15_1, _t16_1);
            _tmp_5_1 = _t17_1;
        } else {
            TMOV(_t18_1, _tmp_3_1);
            using _t19_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t19_1_tType _t19_1_t(128, 64);
            TRESHAPE(_t19_1_t, _tmp_4_1);
            TMOV(_t19_1, _t19_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t20_1, acc_iter_1, _t18_1, _t19_1);
            _tmp_5_1 = _t20_1;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_4 + 128);
        TLOAD(_tmp_3_2, normed_3_16x128Global);
        TASSIGN(wk_64x128Global, wk + first_1 * 1024 + k_4 + 128);
        TLOAD(_tmp_4_2, wk_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        using _tmp_5_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_5_2Type _tmp_5_2(16, 64);
        TASSIGN(_tmp_5_2, 0x0);
        if (k_4 + 128 == 0) {
            TMOV(_t15_2, _tmp_3_2);
            using _t16_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t16_2_tType _t16_2_t(128, 64);
            TRESHAPE(_t16_2_t, _tmp_4_2);
            TMOV(_t16_2, _t16_2_t);
            TMATMUL(_t17_2, _t15_2, _t16_2);
            _tmp_5_2 = _t17_2;
        } else {
            TMOV(_t18_2, _tmp_3_2);
            using _t19_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t19_2_tType _t19_2_t(128, 64);
            TRESHAPE(_t19_2_t, _tmp_4_2);
            TMOV(_t19_2, _t19_2_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t20_2, _tmp_5_1, _t18_2, _t19_2);
            _tmp_5_2 = _t20_2;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        acc_iter_1 = _tmp_5_2;
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(k_iter_16x64Global, k_iter + 0 * 128 + region_begin(1, first_1, 64, 128));
    TSTORE(k_iter_16x64Global, acc_iter_1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runProject1(args);
}
