#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRmsnormBlock(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* weight = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using xStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using weightShapeDim5 = Shape<1, 1, 1, 1, 1024>;
    using weightStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using weightGlobalType = GlobalTensor<float, weightShapeDim5, weightStrideDim5>;
    weightGlobalType weightGlobal(weight);

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

    using rowType = Tile<TileType::Vec, float, 1, 1024, BLayout::RowMajor, -1, -1>;
    rowType row(1, 1024);
    TASSIGN(row, 0x8000);

    using tileType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 1024);
    TASSIGN(tile, 0x9000);

    using _t0Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 1024);
    TASSIGN(_t0, 0x11000);

    using squaresType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    squaresType squares(8, 1);
    TASSIGN(squares, 0x29000);

    using squares_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    squares_rowType squares_row(1, 8);
    TASSIGN(squares_row, 0x29000);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 8);
    TASSIGN(_t1_row, 0x29020);

    using mean_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    mean_rowType mean_row(1, 8);
    TASSIGN(mean_row, 0x29040);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 8);
    TASSIGN(_t2_row, 0x29060);

    using scale_rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    scale_rowType scale_row(1, 8);
    TASSIGN(scale_row, 0x29080);

    using scaleType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    scaleType scale(8, 1);
    TASSIGN(scale, 0x29080);

    using _t3Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 1024);
    TASSIGN(_t3, 0x19000);

    using scaledType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    scaledType scaled(8, 1024);
    TASSIGN(scaled, 0x21000);

    // Function body
    // rmsnorm.py:37
    TLOAD(row, weightGlobal);
    // rmsnorm.py:38
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t r = 0; r < 128; r += 8) {
        // rmsnorm.py:39
        TASSIGN(x_8x1024Global, x + r * 1024 + 0);
        TLOAD(tile, x_8x1024Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        // rmsnorm.py:40
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMUL(_t0, tile, tile);
        pipe_barrier(PIPE_V);
        TROWSUM(squares, _t0, scratch);
        // rmsnorm.py:41
        TRESHAPE(squares_row, squares);
        pipe_barrier(PIPE_V);
        TMULS(_t1_row, squares_row, 0.0009765625f);
        pipe_barrier(PIPE_V);
        TADDS(mean_row, _t1_row, 1e-06f);
        // rmsnorm.py:42
        pipe_barrier(PIPE_V);
        TSQRT(_t2_row, mean_row);
        pipe_barrier(PIPE_V);
        TRECIP(scale_row, _t2_row);
        TRESHAPE(scale, scale_row);
        // rmsnorm.py:43
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(_t3, tile, scale);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TCOLEXPANDMUL(scaled, _t3, row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        // rmsnorm.py:44
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x1024Global, out + r * 1024 + 0);
        TSTORE(out_8x1024Global, scaled);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        // rmsnorm.py:38
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    // rmsnorm.py:45
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRmsnormBlock(args);
}
