#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

template <typename T>
static inline __aicore__ T int_min(T a, T b)
{
    return a < b ? a : b;
}

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* x = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ int8_t* y = reinterpret_cast<__gm__ int8_t*>(args[1]);
    int64_t n = args[2];
    __gm__ int32_t* out = reinterpret_cast<__gm__ int32_t*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<int8_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<int8_t, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<int32_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x32GlobalType = GlobalTensor<int8_t, x_32x32ShapeDim5, x_32x32StrideDim5>;
    x_32x32GlobalType x_32x32Global(x);

    using y_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using y_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using y_32x32GlobalType = GlobalTensor<int8_t, y_32x32ShapeDim5, y_32x32StrideDim5>;
    y_32x32GlobalType y_32x32Global(y);

    using out_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using out_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_32x32GlobalType = GlobalTensor<int32_t, out_32x32ShapeDim5, out_32x32StrideDim5>;
    out_32x32GlobalType out_32x32Global(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    aType a(32, 32);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    bType b(32, 32);
    TASSIGN(b, 0x400);

    using leftType = Tile<TileType::Left, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(32, 32);
    TASSIGN(left, 0x0);

    using right_0Type = Tile<TileType::Right, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(32, 32);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using acc_1Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x1000);

    using acc_2Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_2Type acc_2(32, 32);
    TASSIGN(acc_2, 0x1000);

    using right_1Type = Tile<TileType::Right, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 32);
    TASSIGN(right_1, 0x400);

    using acc_4Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_4Type acc_4(32, 32);
    TASSIGN(acc_4, 0x1000);

    // Function body
    int64_t s_0 = n + 1;
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
    TMATMUL(acc_1, left, right_0);
    using acc_5Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_5Type acc_5(32, 32);
    TASSIGN(acc_5, 0x1000);
    if (!((-3 > s_0 ? -3 : s_0) == -4)) {
        using acc_3Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_3Type acc_3(32, 32);
        TASSIGN(acc_3, 0x1000);
        if (s_0 == s_0 + s_0) {
            int64_t r_1 = int_min<int64_t>(s_0 > -40 ? s_0 : -40, 40);
            if (3 != (r_1 > 1 ? r_1 : 1) || s_0 < n * s_0) {
            }
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(acc_2, acc_1, left, right_0);
            acc_3 = acc_2;
        } else {
            TMOV(right_1, b);
            acc_3 = acc_1;
        }
        acc_5 = acc_3;
    } else {
        pipe_barrier(PIPE_M);
        TMATMUL_ACC(acc_4, acc_1, left, right_0);
        acc_5 = acc_4;
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(out_32x32Global, out + 32 * 64 + 0);
    TSTORE(out_32x32Global, acc_5);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
