#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runNorm(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* weight = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ bfloat16_t* out = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using xStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using weightShapeDim5 = Shape<1, 1, 1, 1, 512>;
    using weightStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using weightGlobalType = GlobalTensor<float, weightShapeDim5, weightStrideDim5>;
    weightGlobalType weightGlobal(weight);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<bfloat16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using x_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x_16x512GlobalType = GlobalTensor<float, x_16x512ShapeDim5, x_16x512StrideDim5>;
    x_16x512GlobalType x_16x512Global(x);

    using out_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using out_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_16x512GlobalType = GlobalTensor<bfloat16_t, out_16x512ShapeDim5, out_16x512StrideDim5>;
    out_16x512GlobalType out_16x512Global(out);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 512);
    TASSIGN(scratch, 0x0);

    using weightsType = Tile<TileType::Vec, float, 1, 512, BLayout::RowMajor, -1, -1>;
    weightsType weights(1, 512);
    TASSIGN(weights, 0x8000);

    using tileType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    tileType tile(16, 512);
    TASSIGN(tile, 0x8800);

    using _t0Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 512);
    TASSIGN(_t0, 0x10800);

    using _t1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(16, 1);
    TASSIGN(_t1, 0x18800);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x18800);

    using mean_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    mean_rowType mean_row(1, 16);
    TASSIGN(mean_row, 0x18840);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 16);
    TASSIGN(_t2_row, 0x18880);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 16);
    TASSIGN(_t3_row, 0x188c0);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 16);
    TASSIGN(_t4_row, 0x18900);

    using _t4Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t4Type _t4(16, 1);
    TASSIGN(_t4, 0x18900);

    using scaledType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    scaledType scaled(16, 512);
    TASSIGN(scaled, 0x18940);

    using _t5Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 512);
    TASSIGN(_t5, 0x20940);

    using _t6Type = Tile<TileType::Vec, bfloat16_t, 16, 512, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 512);
    TASSIGN(_t6, 0x28940);

    // Function body
    // llama_layer.py:55
    TLOAD(weights, weightGlobal);
    // llama_layer.py:56
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t r = 0; r < 64; r += 16) {
        // llama_layer.py:57
        TASSIGN(x_16x512Global, x + r * 512 + 0);
        TLOAD(tile, x_16x512Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        // llama_layer.py:58
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMUL(_t0, tile, tile);
        pipe_barrier(PIPE_V);
        TROWSUM(_t1, _t0, scratch);
        TRESHAPE(_t1_row, _t1);
        pipe_barrier(PIPE_V);
        TMULS(mean_row, _t1_row, 0.001953125f);
        // llama_layer.py:59
        pipe_barrier(PIPE_V);
        TADDS(_t2_row, mean_row, 1e-05f);
        pipe_barrier(PIPE_V);
        TSQRT(_t3_row, _t2_row);
        pipe_barrier(PIPE_V);
        TRECIP(_t4_row, _t3_row);
        TRESHAPE(_t4, _t4_row);
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(scaled, tile, _t4);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        // llama_layer.py:60
        pipe_barrier(PIPE_V);
        TCOLEXPANDMUL(_t5, scaled, weights);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TCVT(_t6, _t5, RoundMode::CAST_ROUND);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x512Global, out + r * 512 + 0);
        TSTORE(out_16x512Global, _t6);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        // llama_layer.py:56
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runNorm(args);
}
