#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runSwappedNumbers(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[2];
    float f = f_bits.value;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 64);
    TASSIGN(_t1, 0x800);

    using _t2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 64);
    TASSIGN(_t2, 0x1000);

    using _t3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 64);
    TASSIGN(_t3, 0x1800);

    // Function body
    int64_t a_0 = 1;
    int64_t b_0 = 2;
    float g_0 = f;
    float h_0 = 2.0f;
    int64_t a_iter = a_0;
    int64_t b_iter = b_0;
    float g_iter = g_0;
    float h_iter = h_0;
    for (int64_t i = 0; i < n; i += 1) {
        int64_t _tmp_0 = b_iter;
        int64_t _tmp_1 = a_iter;
        int64_t a_1 = _tmp_0;
        int64_t b_1 = _tmp_1;
        float _tmp_2 = h_iter;
        float _tmp_3 = g_iter;
        float g_1 = _tmp_2;
        float h_1 = _tmp_3;
        a_iter = a_1;
        b_iter = b_1;
        g_iter = g_1;
        h_iter = h_1;
    }
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(_t0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADDS(_t1, _t0, static_cast<float>(a_iter * 10 + b_iter));
    pipe_barrier(PIPE_V);
    TMULS(_t2, _t1, g_iter);
    pipe_barrier(PIPE_V);
    TADDS(_t3, _t2, h_iter);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t3);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSwappedNumbers(args);
}
