#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'//' by zero");
        return 0;
    }
    if (b == -1) {
        return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    }
#endif
    int64_t q = a / b;
    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;
}

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
    __gm__ half* x = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ half* y = reinterpret_cast<__gm__ half*>(args[1]);
    int64_t n = args[2];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<half, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<half, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using x_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x32GlobalType = GlobalTensor<half, x_32x32ShapeDim5, x_32x32StrideDim5>;
    x_32x32GlobalType x_32x32Global(x);

    using y_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using y_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using y_32x32GlobalType = GlobalTensor<half, y_32x32ShapeDim5, y_32x32StrideDim5>;
    y_32x32GlobalType y_32x32Global(y);

    using out_32x32ShapeDim5 = Shape<1, 1, 1, 32, 32>;
    using out_32x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_32x32GlobalType = GlobalTensor<float, out_32x32ShapeDim5, out_32x32StrideDim5>;
    out_32x32GlobalType out_32x32Global(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    aType a(32, 32);
    TASSIGN(a, 0x0);

    using b_0Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_0Type b_0(32, 32);
    TASSIGN(b_0, 0x800);

    using leftType = Tile<TileType::Left, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::RowMajor, 512>;
    leftType left(32, 32);
    TASSIGN(left, 0x0);

    using right_0Type = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_0Type right_0(32, 32);
    TASSIGN(right_0, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using right_1Type = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_1Type right_1(32, 32);
    TASSIGN(right_1, 0x800);

    using right_2Type = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_2Type right_2(32, 32);
    TASSIGN(right_2, 0x1000);

    using b_1Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_1Type b_1(32, 32);
    TASSIGN(b_1, 0x1000);

    using b_2Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_2Type b_2(32, 32);
    TASSIGN(b_2, 0x800);

    using acc_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x0);

    using right_3Type = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    right_3Type right_3(32, 32);
    TASSIGN(right_3, 0x1800);

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
    TMOV(left, a);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right_0, b_0);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    set_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left, right_0);
    wait_flag(PIPE_MTE1, PIPE_MTE2, EVENT_ID0);
    using acc_3Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_3Type acc_3(32, 32);
    TASSIGN(acc_3, 0x0);
    using b_4Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_4Type b_4(32, 32);
    TASSIGN(b_4, 0x800);
    if (-r != 1) {
        using right_1_tType = Tile<TileType::Mat, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
        right_1_tType right_1_t(32, 32);
        TRESHAPE(right_1_t, a);
        TMOV(right_1, right_1_t);
        acc_3 = acc_0;
        b_4 = b_0;
    } else {
        using acc_2Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_2Type acc_2(32, 32);
        TASSIGN(acc_2, 0x0);
        using b_3Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
        b_3Type b_3(32, 32);
        TASSIGN(b_3, 0x800);
        if ((s < n ? s : n) == 2) {
            TMOV(right_2, b_0);
            acc_2 = acc_0;
            b_3 = b_0;
        } else {
            TASSIGN(x_32x32Global, x + floor_mod(floor_div(r, -2), 3) * 16 * 64 + 32);
            TLOAD(b_1, x_32x32Global);
            TASSIGN(x_32x32Global, x + 0 * 64 + 0);
            TLOAD(b_2, x_32x32Global);
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(acc_1, acc_0, left, right_0);
            acc_2 = acc_1;
            b_3 = b_2;
        }
        acc_3 = acc_2;
        b_4 = b_3;
    }
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    set_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID2);
    for (int64_t k1 = 0; k1 < 2; k1 += 2) {
        using right_3_tType = Tile<TileType::Mat, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
        right_3_tType right_3_t(32, 32);
        TRESHAPE(right_3_t, b_4);
        TMOV(right_3, right_3_t);
    }
    wait_flag(PIPE_M, PIPE_FIX, EVENT_ID0);
    TASSIGN(out_32x32Global, out + 32 * 64 + 0);
    TSTORE(out_32x32Global, acc_3);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
