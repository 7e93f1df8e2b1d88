#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runValues(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* p = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* v = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* step = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using pShapeDim5 = Shape<1, 1, 1, 128, 512>;
    using pStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using pGlobalType = GlobalTensor<float, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using vShapeDim5 = Shape<1, 1, 1, 512, 128>;
    using vStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using vGlobalType = GlobalTensor<float, vShapeDim5, vStrideDim5>;
    vGlobalType vGlobal(v);

    using stepShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using stepStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using stepGlobalType = GlobalTensor<float, stepShapeDim5, stepStrideDim5>;
    stepGlobalType stepGlobal(step);

    using p_128x64ShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using p_128x64StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using p_128x64GlobalType = GlobalTensor<float, p_128x64ShapeDim5, p_128x64StrideDim5>;
    p_128x64GlobalType p_128x64Global(p);

    using v_64x128ShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using v_64x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using v_64x128GlobalType = GlobalTensor<float, v_64x128ShapeDim5, v_64x128StrideDim5>;
    v_64x128GlobalType v_64x128Global(v);

    // Tile type definitions and allocations
    using mat_p_0Type = Tile<TileType::Mat, float, 128, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_p_0Type mat_p_0(128, 64);
    TASSIGN(mat_p_0, 0x0);

    using mat_v_0Type = Tile<TileType::Mat, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_v_0Type mat_v_0(64, 128);
    TASSIGN(mat_v_0, 0x8000);

    using left_0Type = Tile<TileType::Left, float, 128, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(128, 64);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, float, 64, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(64, 128);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(128, 128);
    TASSIGN(acc_0, 0x0);

    using mat_p_1Type = Tile<TileType::Mat, float, 128, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_p_1Type mat_p_1(128, 64);
    TASSIGN(mat_p_1, 0x10000);

    using mat_v_1Type = Tile<TileType::Mat, float, 64, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    mat_v_1Type mat_v_1(64, 128);
    TASSIGN(mat_v_1, 0x18000);

    using left_1Type = Tile<TileType::Left, float, 128, 64, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(128, 64);
    TASSIGN(left_1, 0x8000);

    using right_1Type = Tile<TileType::Right, float, 64, 128, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(64, 128);
    TASSIGN(right_1, 0x8000);

    using acc_1Type = Tile<TileType::Acc, float, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(128, 128);
    TASSIGN(acc_1, 0x0);

    // Function body
    TASSIGN(p_128x64Global, p + 0 * 512 + 0);
    TLOAD(mat_p_0, p_128x64Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TASSIGN(v_64x128Global, v + 0 * 128 + 0);
    TLOAD(mat_v_0, v_64x128Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left_0, mat_p_0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right_0, mat_v_0);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left_0, right_0);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    using acc_iterType = Tile<TileType::Acc, float, 128, 128, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iterType acc_iter(128, 128);
    TASSIGN(acc_iter, 0x0);
    acc_iter = acc_0;
    for (int64_t k = 64; k < 512; k += 64) {
        TASSIGN(p_128x64Global, p + 0 * 512 + k);
        TLOAD(mat_p_1, p_128x64Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        TASSIGN(v_64x128Global, v + k * 128 + 0);
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
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        acc_iter = acc_1;
    }
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TSTORE(stepGlobal, acc_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runValues(args);
}
