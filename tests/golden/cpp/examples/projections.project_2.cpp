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

    using _tmp_6Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_6Type _tmp_6(16, 128);
    TASSIGN(_tmp_6, 0x0);

    using _tmp_7Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_7Type _tmp_7(64, 128);
    TASSIGN(_tmp_7, 0x1000);

    using _t21Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t21Type _t21(16, 128);
    TASSIGN(_t21, 0x0);

    using _t22Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t22Type _t22(128, 64);
    TASSIGN(_t22, 0x0);

    using _t23Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t23Type _t23(16, 64);
    TASSIGN(_t23, 0x0);

    using _t24Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t24Type _t24(16, 128);
    TASSIGN(_t24, 0x1000);

    using _t25Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t25Type _t25(128, 64);
    TASSIGN(_t25, 0x4000);

    using _t26Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t26Type _t26(16, 64);
    TASSIGN(_t26, 0x0);

    // Function body
    int64_t first_2 = block_2 * 64;
    using acc_iter_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iter_2Type acc_iter_2(16, 64);
    TASSIGN(acc_iter_2, 0x0);
    acc_iter_2 = acc_6;
    for (int64_t k_8 = 0; k_8 < 1024; k_8 += 128) {
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_8);
        TLOAD(_tmp_6, normed_3_16x128Global);
        TASSIGN(wv_64x128Global, wv + first_2 * 1024 + k_8);
        TLOAD(_tmp_7, wv_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        using _tmp_8Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_8Type _tmp_8(16, 64);
        TASSIGN(_tmp_8, 0x0);
        if (k_8 == 0) {
            TMOV(_t21, _tmp_6);
            using _t22_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t22_tType _t22_t(128, 64);
            TRESHAPE(_t22_t, _tmp_7);
            TMOV(_t22, _t22_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            TMATMUL(_t23, _t21, _t22);
            _tmp_8 = _t23;
        } else {
            TMOV(_t24, _tmp_6);
            using _t25_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t25_tType _t25_t(128, 64);
            TRESHAPE(_t25_t, _tmp_7);
            TMOV(_t25, _t25_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(_t26, acc_iter_2, _t24, _t25);
            _tmp_8 = _t26;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        acc_iter_2 = _tmp_8;
    }
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
