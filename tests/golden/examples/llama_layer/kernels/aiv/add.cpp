#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runAdd(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ bfloat16_t* y = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using xStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using yStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using yGlobalType = GlobalTensor<bfloat16_t, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using x_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x_16x512GlobalType = GlobalTensor<float, x_16x512ShapeDim5, x_16x512StrideDim5>;
    x_16x512GlobalType x_16x512Global(x);

    using y_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using y_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using y_16x512GlobalType = GlobalTensor<bfloat16_t, y_16x512ShapeDim5, y_16x512StrideDim5>;
    y_16x512GlobalType y_16x512Global(y);

    using out_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using out_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_16x512GlobalType = GlobalTensor<float, out_16x512ShapeDim5, out_16x512StrideDim5>;
    out_16x512GlobalType out_16x512Global(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 512);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, bfloat16_t, 16, 512, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 512);
    TASSIGN(_t1, 0x8000);

    using _t2Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 512);
    TASSIGN(_t2, 0xc000);

    using _t3Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 512);
    TASSIGN(_t3, 0x14000);

    // Function body
    // llama_layer.py:239
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t r = 0; r < 64; r += 16) {
        // llama_layer.py:240
        TASSIGN(x_16x512Global, x + r * 512 + 0);
        TLOAD(_t0, x_16x512Global);
        TASSIGN(y_16x512Global, y + r * 512 + 0);
        TLOAD(_t1, y_16x512Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TCVT(_t2, _t1, RoundMode::CAST_ROUND);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TADD(_t3, _t0, _t2);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x512Global, out + r * 512 + 0);
        TSTORE(out_16x512Global, _t3);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        // llama_layer.py:239
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runAdd(args);
}
