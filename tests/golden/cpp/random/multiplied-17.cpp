#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<float, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x32GlobalType = GlobalTensor<float, x_32x32ShapeDim5, x_32x32StrideDim5>;
    x_32x32GlobalType x_32x32Global(x);

    using y_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using y_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using y_32x32GlobalType = GlobalTensor<float, y_32x32ShapeDim5, y_32x32StrideDim5>;
    y_32x32GlobalType y_32x32Global(y);

    using out_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using out_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_32x32GlobalType = GlobalTensor<float, out_32x32ShapeDim5, out_32x32StrideDim5>;
    out_32x32GlobalType out_32x32Global(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Mat, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    aType a(32, 32);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Mat, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    bType b(32, 32);
    TASSIGN(b, 0x1000);

    using leftType = Tile<TileType::Left, float, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(32, 32);
    TASSIGN(left, 0x0);

    using right_0Type = Tile<TileType::Right, float, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
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

    using right_1Type = Tile<TileType::Right, float, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 32);
    TASSIGN(right_1, 0x1000);

    using right_2Type = Tile<TileType::Right, float, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_2Type right_2(32, 32);
    TASSIGN(right_2, 0x2000);

    using acc_3Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_3Type acc_3(32, 32);
    TASSIGN(acc_3, 0x2000);

    using acc_4Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_4Type acc_4(32, 32);
    TASSIGN(acc_4, 0x2000);

    // Function body
    int64_t s = n + 1;
    int64_t r = s * 3;
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
    TMOV(right_1, a);
    using right_2_tType = Tile<TileType::Mat, float, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_2_tType right_2_t(32, 32);
    TRESHAPE(right_2_t, b);
    TMOV(right_2, right_2_t);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    TMATMUL(acc_3, left, right_2);
    using acc_6Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_6Type acc_6(32, 32);
    TASSIGN(acc_6, 0x2000);
    if (1 * r >= r) {
        using acc_iterType = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(32, 32);
        TASSIGN(acc_iter, 0x2000);
        acc_iter = acc_3;
        for (int64_t k1 = 0; k1 < 2; k1 += 2) {
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(acc_4, acc_iter, left, right_2);
            acc_iter = acc_4;
        }
        acc_6 = acc_iter;
    } else {
        acc_6 = acc_3;
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(out_32x32Global, out + 32 * 64 + 0);
    TSTORE(out_32x32Global, acc_6);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
