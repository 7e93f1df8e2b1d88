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

    using _tmp_3Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_3Type _tmp_3(16, 128);
    TASSIGN(_tmp_3, 0x0);

    using _tmp_4Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_4Type _tmp_4(64, 128);
    TASSIGN(_tmp_4, 0x1000);

    using _t15Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t15Type _t15(16, 128);
    TASSIGN(_t15, 0x0);

    using _t16Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t16Type _t16(128, 64);
    TASSIGN(_t16, 0x0);

    using _t17Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t17Type _t17(16, 64);
    TASSIGN(_t17, 0x0);

    using _t18Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t18Type _t18(16, 128);
    TASSIGN(_t18, 0x1000);

    using _t19Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t19Type _t19(128, 64);
    TASSIGN(_t19, 0x4000);

    using _t20Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t20Type _t20(16, 64);
    TASSIGN(_t20, 0x0);

    // Function body
    int64_t first_1 = block_1 * 64;
    using acc_iter_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iter_1Type acc_iter_1(16, 64);
    TASSIGN(acc_iter_1, 0x0);
    acc_iter_1 = acc_3;
    for (int64_t k_4 = 0; k_4 < 1024; k_4 += 128) {
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_4);
        TLOAD(_tmp_3, normed_3_16x128Global);
        TASSIGN(wk_64x128Global, wk + first_1 * 1024 + k_4);
        TLOAD(_tmp_4, wk_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        using _tmp_5Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_5Type _tmp_5(16, 64);
        TASSIGN(_tmp_5, 0x0);
        if (k_4 == 0) {
            TMOV(_t15, _tmp_3);
            using _t16_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t16_tType _t16_t(128, 64);
            TRESHAPE(_t16_t, _tmp_4);
            TMOV(_t16, _t16_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            TMATMUL(_t17, _t15, _t16);
            _tmp_5 = _t17;
        } else {
            TMOV(_t18, _tmp_3);
            using _t19_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t19_tType _t19_t(128, 64);
            TRESHAPE(_t19_t, _tmp_4);
            TMOV(_t19, _t19_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(_t20, acc_iter_1, _t18, _t19);
            _tmp_5 = _t20;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        acc_iter_1 = _tmp_5;
    }
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
