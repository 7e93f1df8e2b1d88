#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runLayerNormBlock(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* weight = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* bias = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using xStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using weightShapeDim5 = Shape<1, 1, 1, 1, 1024>;
    using weightStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using weightGlobalType = GlobalTensor<float, weightShapeDim5, weightStrideDim5>;
    weightGlobalType weightGlobal(weight);

    using biasShapeDim5 = Shape<1, 1, 1, 1, 1024>;
    using biasStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using biasGlobalType = GlobalTensor<float, biasShapeDim5, biasStrideDim5>;
    biasGlobalType biasGlobal(bias);

    using outShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using outStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using x_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using x_8x1024GlobalType = GlobalTensor<float, x_8x1024ShapeDim5, x_8x1024StrideDim5>;
    x_8x1024GlobalType x_8x1024Global(x);

    using out_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using out_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using out_8x1024GlobalType = GlobalTensor<float, out_8x1024ShapeDim5, out_8x1024StrideDim5>;
    out_8x1024GlobalType out_8x1024Global(out);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    scratchType scratch(8, 1024);
    TASSIGN(scratch, 0x0);

    using weightsType = Tile<TileType::Vec, float, 1, 1024, BLayout::RowMajor, -1, -1>;
    weightsType weights(1, 1024);
    TASSIGN(weights, 0x8000);

    using _t0Type = Tile<TileType::Vec, float, 1, 1024, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(1, 1024);
    TASSIGN(_t0, 0x9000);

    using biasesType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    biasesType biases(8, 1024);
    TASSIGN(biases, 0x11000);

    using tileType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 1024);
    TASSIGN(tile, 0x9000);

    using _t1Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(8, 1);
    TASSIGN(_t1, 0x19000);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 8);
    TASSIGN(_t1_row, 0x19000);

    using mean_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    mean_rowType mean_row(1, 8);
    TASSIGN(mean_row, 0x19000);

    using meanType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    meanType mean(8, 1);
    TASSIGN(mean, 0x19000);

    using centredType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    centredType centred(8, 1024);
    TASSIGN(centred, 0x9000);

    using _t2Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 1024);
    TASSIGN(_t2, 0x19000);

    using _t3Type = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t3Type _t3(8, 1);
    TASSIGN(_t3, 0x21000);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 8);
    TASSIGN(_t3_row, 0x21000);

    using variance_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    variance_rowType variance_row(1, 8);
    TASSIGN(variance_row, 0x19000);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 8);
    TASSIGN(_t4_row, 0x19000);

    using _t5_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t5_rowType _t5_row(1, 8);
    TASSIGN(_t5_row, 0x19000);

    using scale_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    scale_rowType scale_row(1, 8);
    TASSIGN(scale_row, 0x21000);

    using scaleType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    scaleType scale(8, 1);
    TASSIGN(scale, 0x21000);

    using _t6Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(8, 1024);
    TASSIGN(_t6, 0x9000);

    using scaledType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    scaledType scaled(8, 1024);
    TASSIGN(scaled, 0x9000);

    using _t7Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(8, 1024);
    TASSIGN(_t7, 0x9000);

    // Function body
    TLOAD(weights, weightGlobal);
    TLOAD(_t0, biasGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCOLEXPAND(biases, _t0);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    for (int64_t r = 0; r < 128; r += 8) {
        TASSIGN(x_8x1024Global, x + r * 1024 + 0);
        TLOAD(tile, x_8x1024Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        TROWSUM(_t1, tile, scratch);
        TRESHAPE(_t1_row, _t1);
        pipe_barrier(PIPE_V);
        TMULS(mean_row, _t1_row, 0.0009765625f);
        TRESHAPE(mean, mean_row);
        pipe_barrier(PIPE_V);
        TROWEXPANDSUB(centred, tile, mean);
        pipe_barrier(PIPE_V);
        TMUL(_t2, centred, centred);
        pipe_barrier(PIPE_V);
        TROWSUM(_t3, _t2, scratch);
        TRESHAPE(_t3_row, _t3);
        pipe_barrier(PIPE_V);
        TMULS(variance_row, _t3_row, 0.0009765625f);
        pipe_barrier(PIPE_V);
        TADDS(_t4_row, variance_row, 1e-05f);
        pipe_barrier(PIPE_V);
        TSQRT(_t5_row, _t4_row);
        pipe_barrier(PIPE_V);
        TRECIP(scale_row, _t5_row);
        TRESHAPE(scale, scale_row);
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(_t6, centred, scale);
        pipe_barrier(PIPE_V);
        TCOLEXPANDMUL(scaled, _t6, weights);
        pipe_barrier(PIPE_V);
        TADD(_t7, scaled, biases);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x1024Global, out + r * 1024 + 0);
        TSTORE(out_8x1024Global, _t7);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runLayerNormBlock(args);
}
