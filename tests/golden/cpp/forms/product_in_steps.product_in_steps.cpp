#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runProductInSteps(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* a = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* b = reinterpret_cast<__gm__ half*>(args[1]);
    __gm__ float* c = reinterpret_cast<__gm__ float*>(args[2]);
    int64_t M = args[3];
    int64_t N = args[4];

    // Global tensor declarations
    using aShapeDim5 = Shape<1, 1, 1, -1, -1>;
    using aStrideDim5 = Stride<1, 1, 1, -1, 1>;
    using aGlobalType = GlobalTensor<half, aShapeDim5, aStrideDim5>;
    aGlobalType aGlobal(a, aShapeDim5(M, N), aStrideDim5(N));

    using bShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using bStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using bGlobalType = GlobalTensor<half, bShapeDim5, bStrideDim5>;
    bGlobalType bGlobal(b, bShapeDim5(N));

    using cShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using cStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using cGlobalType = GlobalTensor<float, cShapeDim5, cStrideDim5>;
    cGlobalType cGlobal(c, cShapeDim5(M));

    using a_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using a_32x32StrideDim5 = Stride<1, 1, 1, -1, 1>;
    using a_32x32GlobalType = GlobalTensor<half, a_32x32ShapeDim5, a_32x32StrideDim5>;
    a_32x32GlobalType a_32x32Global(a, a_32x32ShapeDim5(), a_32x32StrideDim5(N));

    using b_32x64ShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using b_32x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using b_32x64GlobalType = GlobalTensor<half, b_32x64ShapeDim5, b_32x64StrideDim5>;
    b_32x64GlobalType b_32x64Global(b);

    using c_32x64ShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using c_32x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using c_32x64GlobalType = GlobalTensor<float, c_32x64ShapeDim5, c_32x64StrideDim5>;
    c_32x64GlobalType c_32x64Global(c);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _t0Type _t0(32, 32);
    TASSIGN(_t0, 0x0);

    using left_0Type = Tile<TileType::Left, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(32, 32);
    TASSIGN(left_0, 0x0);

    using _t1Type = Tile<TileType::Mat, half, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _t1Type _t1(32, 64);
    TASSIGN(_t1, 0x800);

    using right_0Type = Tile<TileType::Right, half, 32, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(32, 64);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 64);
    TASSIGN(acc_0, 0x0);

    using _t2Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    _t2Type _t2(32, 32);
    TASSIGN(_t2, 0x1800);

    using left_1Type = Tile<TileType::Left, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(32, 32);
    TASSIGN(left_1, 0x800);

    using stagedType = Tile<TileType::Mat, half, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    stagedType staged(32, 64);
    TASSIGN(staged, 0x2000);

    using right_1Type = Tile<TileType::Right, half, 32, 64, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 64);
    TASSIGN(right_1, 0x1000);

    using acc_1Type = Tile<TileType::Acc, float, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 64);
    TASSIGN(acc_1, 0x0);

    // Function body
    for (int64_t i = 0; i < M; i += 32) {
        TASSIGN(a_32x32Global, a + i * N + 0);
        TLOAD(_t0, a_32x32Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
        TMOV(left_0, _t0);
        TASSIGN(b_32x64Global, b + 0 * 64 + 0);
        TLOAD(_t1, b_32x64Global);
        set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
        TMOV(right_0, _t1);
        set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
        TMATMUL(acc_0, left_0, right_0);
        set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        using acc_iterType = Tile<TileType::Acc, float, 32, 64, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(32, 64);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        for (int64_t k = 32; k < N; k += 32) {
            pipe_barrier(PIPE_ALL);
            TASSIGN(a_32x32Global, a + i * N + k);
            TLOAD(_t2, a_32x32Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
            TMOV(left_1, _t2);
            wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            TASSIGN(b_32x64Global, b + k * 64 + 0);
            TLOAD(staged, b_32x64Global);
            set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID3);
            TMOV(right_1, staged);
            set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter, left_1, right_1);
            acc_iter = acc_1;
        }
        wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
        TASSIGN(c_32x64Global, c + i * 64 + 0);
        TSTORE(c_32x64Global, acc_iter);
        set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
        wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
        wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runProductInSteps(args);
}
