#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRope(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* x = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ float* cos = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* sin = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ bfloat16_t* out = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using xStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using xGlobalType = GlobalTensor<bfloat16_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using cosShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using cosStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using cosGlobalType = GlobalTensor<float, cosShapeDim5, cosStrideDim5>;
    cosGlobalType cosGlobal(cos);

    using sinShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using sinStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using sinGlobalType = GlobalTensor<float, sinShapeDim5, sinStrideDim5>;
    sinGlobalType sinGlobal(sin);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<bfloat16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using cos_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using cos_16x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using cos_16x64GlobalType = GlobalTensor<float, cos_16x64ShapeDim5, cos_16x64StrideDim5>;
    cos_16x64GlobalType cos_16x64Global(cos);

    using sin_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using sin_16x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using sin_16x64GlobalType = GlobalTensor<float, sin_16x64ShapeDim5, sin_16x64StrideDim5>;
    sin_16x64GlobalType sin_16x64Global(sin);

    using x_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x_16x64StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x_16x64GlobalType = GlobalTensor<bfloat16_t, x_16x64ShapeDim5, x_16x64StrideDim5>;
    x_16x64GlobalType x_16x64Global(x);

    using out_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using out_16x64StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_16x64GlobalType = GlobalTensor<bfloat16_t, out_16x64ShapeDim5, out_16x64StrideDim5>;
    out_16x64GlobalType out_16x64Global(out);

    // Tile type definitions and allocations
    using cType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    cType c(16, 64);
    TASSIGN(c, 0x0);

    using sType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    sType s(16, 64);
    TASSIGN(s, 0x1000);

    using _t0Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 64);
    TASSIGN(_t0, 0x2000);

    using firstType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    firstType first(16, 64);
    TASSIGN(first, 0x2800);

    using _t1Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 64);
    TASSIGN(_t1, 0x3800);

    using secondType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    secondType second(16, 64);
    TASSIGN(second, 0x4000);

    using _t2Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 64);
    TASSIGN(_t2, 0x5000);

    using _t3Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 64);
    TASSIGN(_t3, 0x6000);

    using _t4Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 64);
    TASSIGN(_t4, 0x7000);

    using turned_0Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    turned_0Type turned_0(16, 64);
    TASSIGN(turned_0, 0x8000);

    using _t5Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 64);
    TASSIGN(_t5, 0x8800);

    using _t6Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 64);
    TASSIGN(_t6, 0x9800);

    using _t7Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(16, 64);
    TASSIGN(_t7, 0xa800);

    using turned_1Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    turned_1Type turned_1(16, 64);
    TASSIGN(turned_1, 0xb800);

    // Function body
    // llama_layer.py:137
    for (int64_t r = 0; r < 64; r += 16) {
        // llama_layer.py:138
        TASSIGN(cos_16x64Global, cos + r * 64 + 0);
        TLOAD(c, cos_16x64Global);
        TASSIGN(sin_16x64Global, sin + r * 64 + 0);
        TLOAD(s, sin_16x64Global);
        // llama_layer.py:139
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        for (int64_t head = 0; head < 512; head += 128) {
            // llama_layer.py:140
            TASSIGN(x_16x64Global, x + r * 512 + head);
            TLOAD(_t0, x_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            TCVT(first, _t0, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
            // llama_layer.py:141
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            TASSIGN(x_16x64Global, x + r * 512 + head + 64);
            TLOAD(_t1, x_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
            TCVT(second, _t1, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            // llama_layer.py:142
            pipe_barrier(PIPE_V);
            TMUL(_t2, first, c);
            TMUL(_t3, second, s);
            pipe_barrier(PIPE_V);
            TSUB(_t4, _t2, _t3);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            pipe_barrier(PIPE_V);
            TCVT(turned_0, _t4, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            // llama_layer.py:143
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            TASSIGN(out_16x64Global, out + r * 512 + head);
            TSTORE(out_16x64Global, turned_0);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            // llama_layer.py:144
            TMUL(_t5, second, c);
            TMUL(_t6, first, s);
            pipe_barrier(PIPE_V);
            TADD(_t7, _t5, _t6);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            pipe_barrier(PIPE_V);
            TCVT(turned_1, _t7, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            // llama_layer.py:145
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            TASSIGN(out_16x64Global, out + r * 512 + head + 64);
            TSTORE(out_16x64Global, turned_1);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            // llama_layer.py:139
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        }
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
        // llama_layer.py:137
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRope(args);
}
