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

__aicore__ __attribute__((always_inline)) void runProject(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t block_0 = args[0];
    __gm__ bfloat16_t* normed_3 = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* q_iter = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ bfloat16_t* wq = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using normed_3ShapeDim5 = Shape<1, 1, 1, 16, 1024>;
    using normed_3StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3GlobalType = GlobalTensor<bfloat16_t, normed_3ShapeDim5, normed_3StrideDim5>;
    normed_3GlobalType normed_3Global(normed_3);

    using q_iterShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using q_iterStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using q_iterGlobalType = GlobalTensor<float, q_iterShapeDim5, q_iterStrideDim5>;
    q_iterGlobalType q_iterGlobal(q_iter);

    using wqShapeDim5 = Shape<1, 1, 1, 512, 1024>;
    using wqStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wqGlobalType = GlobalTensor<bfloat16_t, wqShapeDim5, wqStrideDim5>;
    wqGlobalType wqGlobal(wq);

    using normed_3_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using normed_3_16x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_3_16x128GlobalType = GlobalTensor<bfloat16_t, normed_3_16x128ShapeDim5, normed_3_16x128StrideDim5>;
    normed_3_16x128GlobalType normed_3_16x128Global(normed_3);

    using wq_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using wq_64x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using wq_64x128GlobalType = GlobalTensor<bfloat16_t, wq_64x128ShapeDim5, wq_64x128StrideDim5>;
    wq_64x128GlobalType wq_64x128Global(wq);

    using q_iter_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using q_iter_16x64StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using q_iter_16x64GlobalType = GlobalTensor<float, q_iter_16x64ShapeDim5, q_iter_16x64StrideDim5>;
    q_iter_16x64GlobalType q_iter_16x64Global(q_iter);

    // Tile type definitions and allocations
    using acc_0Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(16, 64);
    TASSIGN(acc_0, 0x0);

    using _tmp_0_1Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_0_1Type _tmp_0_1(16, 128);
    TASSIGN(_tmp_0_1, 0x0);

    using _tmp_1_1Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_1_1Type _tmp_1_1(64, 128);
    TASSIGN(_tmp_1_1, 0x1000);

    using _t9_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t9_1Type _t9_1(16, 128);
    TASSIGN(_t9_1, 0x0);

    using _t10_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t10_1Type _t10_1(128, 64);
    TASSIGN(_t10_1, 0x0);

    using _t11_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t11_1Type _t11_1(16, 64);
    TASSIGN(_t11_1, 0x0);

    using _t12_1Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t12_1Type _t12_1(16, 128);
    TASSIGN(_t12_1, 0x1000);

    using _t13_1Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t13_1Type _t13_1(128, 64);
    TASSIGN(_t13_1, 0x4000);

    using _t14_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t14_1Type _t14_1(16, 64);
    TASSIGN(_t14_1, 0x0);

    using _tmp_0_2Type = Tile<TileType::Mat, bfloat16_t, 16, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_0_2Type _tmp_0_2(16, 128);
    TASSIGN(_tmp_0_2, 0x5000);

    using _tmp_1_2Type = Tile<TileType::Mat, bfloat16_t, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _tmp_1_2Type _tmp_1_2(64, 128);
    TASSIGN(_tmp_1_2, 0x6000);

    using _t9_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t9_2Type _t9_2(16, 128);
    TASSIGN(_t9_2, 0x2000);

    using _t10_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t10_2Type _t10_2(128, 64);
    TASSIGN(_t10_2, 0x8000);

    using _t11_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t11_2Type _t11_2(16, 64);
    TASSIGN(_t11_2, 0x0);

    using _t12_2Type = Tile<TileType::Left, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    _t12_2Type _t12_2(16, 128);
    TASSIGN(_t12_2, 0x3000);

    using _t13_2Type = Tile<TileType::Right, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    _t13_2Type _t13_2(128, 64);
    TASSIGN(_t13_2, 0xc000);

    using _t14_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    _t14_2Type _t14_2(16, 64);
    TASSIGN(_t14_2, 0x0);

    // Function body
    int64_t first_0 = block_0 * 64;
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    using acc_iterType = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iterType acc_iter(16, 64);
    TASSIGN(acc_iter, 0x0);
    acc_iter = acc_0;
    for (int64_t k_3 = 0; k_3 < 1024; k_3 += 256) {
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_3);
        TLOAD(_tmp_0_1, normed_3_16x128Global);
        TASSIGN(wq_64x128Global, wq + first_0 * 1024 + k_3);
        TLOAD(_tmp_1_1, wq_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        using _tmp_2_1Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_2_1Type _tmp_2_1(16, 64);
        TASSIGN(_tmp_2_1, 0x0);
        if (k_3 == 0) {
            TMOV(_t9_1, _tmp_0_1);
            using _t10_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t10_1_tType _t10_1_t(128, 64);
            TRESHAPE(_t10_1_t, _tmp_1_1);
            TMOV(_t10_1, _t10_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
            TMATMUL(_t11_1, _t9_1, _t10_1);
            _tmp_2_1 = _t11_1;
        } else {
            TMOV(_t12_1, _tmp_0_1);
            using _t13_1_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t13_1_tType _t13_1_t(128, 64);
            TRESHAPE(_t13_1_t, _tmp_1_1);
            TMOV(_t13_1, _t13_1_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t14_1, acc_iter, _t12_1, _t13_1);
            _tmp_2_1 = _t14_1;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        TASSIGN(normed_3_16x128Global, normed_3 + 0 * 1024 + k_3 + 128);
        TLOAD(_tmp_0_2, normed_3_16x128Global);
        TASSIGN(wq_64x128Global, wq + first_0 * 1024 + k_3 + 128);
        TLOAD(_tmp_1_2, wq_64x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        using _tmp_2_2Type = Tile<TileType::Acc, float, 16, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        _tmp_2_2Type _tmp_2_2(16, 64);
        TASSIGN(_tmp_2_2, 0x0);
        if (k_3 + 128 == 0) {
            TMOV(_t9_2, _tmp_0_2);
            using _t10_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t10_2_tType _t10_2_t(128, 64);
            TRESHAPE(_t10_2_t, _tmp_1_2);
            TMOV(_t10_2, _t10_2_t);
            TMATMUL(_t11_2, _t9_2, _t10_2);
            _tmp_2_2 = _t11_2;
        } else {
            TMOV(_t12_2, _tmp_0_2);
            using _t13_2_tType = Tile<TileType::Mat, bfloat16_t, 128, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            _t13_2_tType _t13_2_t(128, 64);
            TRESHAPE(_t13_2_t, _tmp_1_2);
            TMOV(_t13_2, _t13_2_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID2);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(_t14_2, _tmp_2_1, _t12_2, _t13_2);
            _tmp_2_2 = _t14_2;
        }
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID1);
        acc_iter = _tmp_2_2;
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(q_iter_16x64Global, q_iter + 0 * 512 + region_begin(1, first_0, 64, 512));
    TSTORE(q_iter_16x64Global, acc_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runProject(args);
}
