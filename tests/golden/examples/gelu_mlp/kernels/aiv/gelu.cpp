#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runGelu(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* h = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ bfloat16_t* g = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);

    // Global tensor declarations
    using hShapeDim5 = Shape<1, 1, 1, 64, 2048>;
    using hStrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using hGlobalType = GlobalTensor<float, hShapeDim5, hStrideDim5>;
    hGlobalType hGlobal(h);

    using gShapeDim5 = Shape<1, 1, 1, 64, 2048>;
    using gStrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using gGlobalType = GlobalTensor<bfloat16_t, gShapeDim5, gStrideDim5>;
    gGlobalType gGlobal(g);

    using h_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using h_8x1024StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using h_8x1024GlobalType = GlobalTensor<float, h_8x1024ShapeDim5, h_8x1024StrideDim5>;
    h_8x1024GlobalType h_8x1024Global(h);

    using g_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using g_8x1024StrideDim5 = Stride<1, 1, 1, 2048, 1>;
    using g_8x1024GlobalType = GlobalTensor<bfloat16_t, g_8x1024ShapeDim5, g_8x1024StrideDim5>;
    g_8x1024GlobalType g_8x1024Global(g);

    // Tile type definitions and allocations
    using xType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    xType x(8, 1024);
    TASSIGN(x, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 1024);
    TASSIGN(_t0, 0x8000);

    using _t1Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 1024);
    TASSIGN(_t1, 0x8000);

    using _t2Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 1024);
    TASSIGN(_t2, 0x8000);

    using _t3Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 1024);
    TASSIGN(_t3, 0x8000);

    using powerType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    powerType power(8, 1024);
    TASSIGN(power, 0x8000);

    using _t4Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(8, 1024);
    TASSIGN(_t4, 0x8000);

    using _t5Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(8, 1024);
    TASSIGN(_t5, 0x0);

    using _t6Type = Tile<TileType::Vec, bfloat16_t, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(8, 1024);
    TASSIGN(_t6, 0x8000);

    // Function body
    // gelu_mlp.py:69
    for (int64_t r = 0; r < 64; r += 8) {
        // gelu_mlp.py:70
        for (int64_t c = 0; c < 2048; c += 1024) {
            // gelu_mlp.py:71
            TASSIGN(h_8x1024Global, h + r * 2048 + c);
            TLOAD(x, h_8x1024Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            // gelu_mlp.py:73
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            TMUL(_t0, x, x);
            pipe_barrier(PIPE_V);
            TMULS(_t1, _t0, -0.07135481627260025f);
            pipe_barrier(PIPE_V);
            TADDS(_t2, _t1, -1.5957691216057308f);
            pipe_barrier(PIPE_V);
            TMUL(_t3, _t2, x);
            pipe_barrier(PIPE_V);
            TEXP(power, _t3);
            // gelu_mlp.py:74
            pipe_barrier(PIPE_V);
            TADDS(_t4, power, 1.0f);
            pipe_barrier(PIPE_V);
            TDIV(_t5, x, _t4);
            pipe_barrier(PIPE_V);
            TCVT(_t6, _t5, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            TASSIGN(g_8x1024Global, g + r * 2048 + c);
            TSTORE(g_8x1024Global, _t6);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            // gelu_mlp.py:70
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        }
    }
    // gelu_mlp.py:69
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runGelu(args);
}
