#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* x = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* y = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    int64_t n = args[2];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<bfloat16_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<bfloat16_t, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x32GlobalType = GlobalTensor<bfloat16_t, x_32x32ShapeDim5, x_32x32StrideDim5>;
    x_32x32GlobalType x_32x32Global(x);

    using y_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using y_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using y_32x32GlobalType = GlobalTensor<bfloat16_t, y_32x32ShapeDim5, y_32x32StrideDim5>;
    y_32x32GlobalType y_32x32Global(y);

    using out_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using out_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_32x32GlobalType = GlobalTensor<float, out_32x32ShapeDim5, out_32x32StrideDim5>;
    out_32x32GlobalType out_32x32Global(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Mat, bfloat16_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    aType a(32, 32);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Mat, bfloat16_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    bType b(32, 32);
    TASSIGN(b, 0x800);

    using left_0Type = Tile<TileType::Left, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(32, 32);
    TASSIGN(left_0, 0x0);

    using right_0Type = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(32, 32);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using left_1Type = Tile<TileType::Left, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(32, 32);
    TASSIGN(left_1, 0x800);

    using left_2Type = Tile<TileType::Left, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_2Type left_2(32, 32);
    TASSIGN(left_2, 0x1000);

    using acc_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x0);

    using acc_2Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_2Type acc_2(32, 32);
    TASSIGN(acc_2, 0x0);

    using right_1Type = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 32);
    TASSIGN(right_1, 0x0);

    // Function body
    int64_t s = n + 1;
    TASSIGN(x_32x32Global, x + 0 * 64 + 0);
    TLOAD(a, x_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TASSIGN(y_32x32Global, y + 32 * 64 + 32);
    TLOAD(b, y_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left_0, a);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right_0, b);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left_0, right_0);
    int64_t t1_0 = 0;
    using acc_iterType = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iterType acc_iter(32, 32);
    TASSIGN(acc_iter, 0x0);
    acc_iter = acc_0;
    using right_iterType = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_iterType right_iter(32, 32);
    TASSIGN(right_iter, 0x0);
    right_iter = right_0;
    int64_t t1_iter = t1_0;
    while (t1_iter < 2) {
        int64_t t1_1 = t1_iter + 1;
        int64_t t2_0 = 0;
        int64_t t2_iter = t2_0;
        while (t2_iter < 2) {
            int64_t t2_1 = t2_iter + 1;
            pipe_barrier(PIPE_ALL);
            TMOV(left_1, b);
            t2_iter = t2_1;
        }
        using acc_iter_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iter_1Type acc_iter_1(32, 32);
        TASSIGN(acc_iter_1, 0x0);
        acc_iter_1 = acc_iter;
        using right_iter_1Type = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
        right_iter_1Type right_iter_1(32, 32);
        TASSIGN(right_iter_1, 0x0);
        right_iter_1 = right_iter;
        for (int64_t k3 = 0; k3 < (s < 3 ? s : 3); k3 += 1) {
            pipe_barrier(PIPE_ALL);
            using left_2_tType = Tile<TileType::Mat, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
            left_2_tType left_2_t(32, 32);
            TRESHAPE(left_2_t, a);
            TMOV(left_2, left_2_t);
            set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
            TMATMUL_ACC(acc_1, acc_iter_1, left_2, right_iter_1);
            pipe_barrier(PIPE_M);
            TMATMUL(acc_2, left_2, right_iter_1);
            set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
            TMOV(right_1, a);
            acc_iter_1 = acc_2;
            right_iter_1 = right_1;
        }
        acc_iter = acc_iter_1;
        right_iter = right_iter_1;
        t1_iter = t1_1;
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(out_32x32Global, out + 32 * 64 + 0);
    TSTORE(out_32x32Global, acc_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
