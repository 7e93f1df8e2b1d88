#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* x = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* y = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
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

    using leftType = Tile<TileType::Left, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(32, 32);
    TASSIGN(left, 0x0);

    using right_0Type = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(32, 32);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using acc_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x0);

    using acc_2Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_2Type acc_2(32, 32);
    TASSIGN(acc_2, 0x1000);

    using acc_3Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_3Type acc_3(32, 32);
    TASSIGN(acc_3, 0x1000);

    using right_1Type = Tile<TileType::Right, bfloat16_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 32);
    TASSIGN(right_1, 0x800);

    using acc_4Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_4Type acc_4(32, 32);
    TASSIGN(acc_4, 0x2000);

    using acc_5Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_5Type acc_5(32, 32);
    TASSIGN(acc_5, 0x3000);

    using acc_6Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_6Type acc_6(32, 32);
    TASSIGN(acc_6, 0x3000);

    // Function body
    TASSIGN(x_32x32Global, x + 0 * 64 + 0);
    TLOAD(a, x_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TASSIGN(y_32x32Global, y + 32 * 64 + 32);
    TLOAD(b, y_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, a);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right_0, b);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left, right_0);
    pipe_barrier(PIPE_M);
    TMATMUL_ACC(acc_1, acc_0, left, right_0);
    TMATMUL(acc_2, left, right_0);
    pipe_barrier(PIPE_M);
    TMATMUL_ACC(acc_3, acc_2, left, right_0);
    TMOV(right_1, b);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    for (int64_t k1 = 1; k1 < 2; k1 += 1) {
        TMATMUL(acc_4, left, right_1);
    }
    TMATMUL(acc_5, left, right_1);
    using acc_iterType = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_iterType acc_iter(32, 32);
    TASSIGN(acc_iter, 0x3000);
    acc_iter = acc_5;
    for (int64_t k2 = 2; k2 > -1; k2 += -1) {
        int64_t t3_0 = 0;
        using acc_iter_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iter_1Type acc_iter_1(32, 32);
        TASSIGN(acc_iter_1, 0x3000);
        acc_iter_1 = acc_iter;
        int64_t t3_iter = t3_0;
        while (t3_iter < 2) {
            int64_t t3_1 = t3_iter + 1;
            pipe_barrier(PIPE_M);
            TMATMUL(acc_6, left, right_1);
            acc_iter_1 = acc_6;
            t3_iter = t3_1;
        }
        acc_iter = acc_iter_1;
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
