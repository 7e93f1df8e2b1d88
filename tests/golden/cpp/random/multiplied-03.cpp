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

template <typename T>
static inline __aicore__ T int_max(T a, T b)
{
    return a > b ? a : b;
}

template <typename T>
static inline __aicore__ T int_min(T a, T b)
{
    return a < b ? a : b;
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

    using rightType = Tile<TileType::Right, half, 32, 32, BLayout::RowMajor, -1, -1, SLayout::ColMajor, 512>;
    rightType right(32, 32);
    TASSIGN(right, 0x0);

    using acc_0Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_0Type acc_0(32, 32);
    TASSIGN(acc_0, 0x0);

    using acc_1Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_1Type acc_1(32, 32);
    TASSIGN(acc_1, 0x0);

    using acc_2Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_2Type acc_2(32, 32);
    TASSIGN(acc_2, 0x0);

    using b_1Type = Tile<TileType::Mat, half, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 512>;
    b_1Type b_1(32, 32);
    TASSIGN(b_1, 0x1000);

    using acc_4Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_4Type acc_4(32, 32);
    TASSIGN(acc_4, 0x0);

    // Function body
    int64_t s_0 = n + 1;
    TASSIGN(x_32x32Global, x + 0 * 64 + 0);
    TLOAD(a, x_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TASSIGN(y_32x32Global, y + 32 * 64 + 32);
    TLOAD(b_0, y_32x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);
    TMOV(left, a);
    wait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID1);
    TMOV(right, b_0);
    set_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    wait_flag(PIPE_MTE1, PIPE_M, EVENT_ID0);
    TMATMUL(acc_0, left, right);
    pipe_barrier(PIPE_M);
    TMATMUL_ACC(acc_1, acc_0, left, right);
    int64_t r_1 = int_min<int64_t>(int_max<int64_t>(floor_mod(-s_0, -5), -40), 40);
    using acc_5Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
    acc_5Type acc_5(32, 32);
    TASSIGN(acc_5, 0x0);
    if (true || -3 * s_0 < floor_mod(s_0, -5)) {
        using acc_3Type = Tile<TileType::Acc, float, 32, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor, 1024>;
        acc_3Type acc_3(32, 32);
        TASSIGN(acc_3, 0x0);
        if (!(r_1 + n > 1)) {
            pipe_barrier(PIPE_M);
            TMATMUL_ACC(acc_2, acc_1, left, right);
            TASSIGN(x_32x32Global, x + 16 * 64 + 0);
            TLOAD(b_1, x_32x32Global);
            acc_3 = acc_2;
        } else {
            int64_t r_iter = r_1;
            int64_t s_iter = s_0;
            for (int64_t k1 = 0; k1 < n; k1 += 1) {
                int64_t _tmp_0 = r_iter;
                int64_t _tmp_1 = s_iter;
                int64_t s_2 = _tmp_0;
                int64_t r_2 = _tmp_1;
                r_iter = r_2;
                s_iter = s_2;
            }
            acc_3 = acc_1;
        }
        acc_5 = acc_3;
    } else {
        TMATMUL(acc_4, left, right);
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
