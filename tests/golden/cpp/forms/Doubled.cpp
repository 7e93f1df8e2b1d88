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

__aicore__ __attribute__((always_inline)) void runDoubled(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t N = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(N));

    using outShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(N));

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    using x_1x64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using x_1x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_1x64GlobalType = GlobalTensor<float, x_1x64ShapeDim5, x_1x64StrideDim5>;
    x_1x64GlobalType x_1x64Global(x);

    using out_1x64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using out_1x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_1x64GlobalType = GlobalTensor<float, out_1x64ShapeDim5, out_1x64StrideDim5>;
    out_1x64GlobalType out_1x64Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 64);
    TASSIGN(tile, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x800);

    using rowType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    rowType row(1, 64);
    TASSIGN(row, 0x1000);

    using _t1Type = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(1, 64);
    TASSIGN(_t1, 0x1100);

    // Function body
    int64_t whole = floor_div(N, 8) * 8;
    for (int64_t i_0 = 0; i_0 < whole; i_0 += 8) {
        TASSIGN(x_8x64Global, x + i_0 * 64 + 0);
        TLOAD(tile, x_8x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TADD(_t0, tile, tile);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x64Global, out + i_0 * 64 + 0);
        TSTORE(out_8x64Global, _t0);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    for (int64_t i_1 = whole; i_1 < N; i_1 += 1) {
        TASSIGN(x_1x64Global, x + i_1 * 64 + 0);
        TLOAD(row, x_1x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        TADD(_t1, row, row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TASSIGN(out_1x64Global, out + i_1 * 64 + 0);
        TSTORE(out_1x64Global, _t1);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runDoubled(args);
}
