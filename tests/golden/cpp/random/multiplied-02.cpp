#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'%' by zero");
        return 0;
    }
    if (b == -1) {
        return 0;
    }
#endif
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
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

    using b_0Type = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_0Type b_0(32, 32);
    TASSIGN(b_0, 0x400);

    using left_0Type = Tile<TileType::Left, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_0Type left_0(32, 32);
    TASSIGN(left_0, 0x0);

    using rightType = Tile<TileType::Right, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(32, 32);
    TASSIGN(right, 0x0);

    using acc_0Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using b_1Type = Tile<TileType::Mat, int8_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_1Type b_1(32, 32);
    TASSIGN(b_1, 0x800);

    using left_1Type = Tile<TileType::Left, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_1Type left_1(32, 32);
    TASSIGN(left_1, 0x0);

    using acc_1Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x0);

    using acc_3Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_3Type acc_3(32, 32);
    TASSIGN(acc_3, 0x0);

    // Function body
    int64_t s = n + 1;
    int64_t r = s * 3;
    TASSIGN(x_32x32Global, x + 0 * 64 + 0);
    TLOAD(a, x_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TASSIGN(y_32x32Global, y + 32 * 64 + 32);
    TLOAD(b_0, y_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left_0, a);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right, b_0);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left_0, right);
    set_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(x_32x32Global, x + floor_mod(r > -3 ? r : -3, 3) * 16 * 64 + 0);
    TLOAD(b_1, x_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    wait_flag(PIPE_M, PIPE_MTE1, EVENT_ID0);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    using left_2Type = Tile<TileType::Left, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    left_2Type left_2(32, 32);
    TASSIGN(left_2, 0x0);
    using out_2ShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using out_2StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_2GlobalType = GlobalTensor<int32_t, out_2ShapeDim5, out_2StrideDim5>;
    out_2GlobalType out_2Global;
    if ((2 > n ? 2 : n) != s) {
        using left_1_tType = Tile<TileType::Mat, int8_t, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
        left_1_tType left_1_t(32, 32);
        TRESHAPE(left_1_t, b_1);
        TMOV(left_1, left_1_t);
        TASSIGN(out_32x32Global, out + 0 * 64 + 32);
        TSTORE(out_32x32Global, acc_0);
        left_2 = left_1;
        out_2Global = outGlobal;
    } else {
        left_2 = left_0;
        out_2Global = outGlobal;
    }
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    set_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID1);
    wait_flag(PIPE_FIX, PIPE_M, EVENT_ID0);
    using acc_4Type = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_4Type acc_4(32, 32);
    TASSIGN(acc_4, 0x0);
    if (true && -n < 3) {
        int64_t t1_0 = 0;
        using acc_iterType = Tile<TileType::Acc, int32_t, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_iterType acc_iter(32, 32);
        TASSIGN(acc_iter, 0x0);
        acc_iter = acc_0;
        int64_t t1_iter = t1_0;
        while (t1_iter < 3 && t1_iter - -3 == s + t1_iter) {
            int64_t t1_1 = t1_iter + 1;
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(acc_1, acc_iter, left_2, right);
            acc_iter = acc_1;
            t1_iter = t1_1;
        }
        pipe_barrier(PIPE_M);
        TMATMUL_ACC(acc_3, acc_iter, left_2, right);
        acc_4 = acc_3;
    } else {
        acc_4 = acc_0;
    }
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID1);
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID1);
    TASSIGN(out_32x32Global, out + 32 * 64 + 0);
    TSTORE(out_32x32Global, acc_4);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
