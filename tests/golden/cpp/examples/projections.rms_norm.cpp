#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRmsNorm(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* norm = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ bfloat16_t* normed_0 = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using normShapeDim5 = Shape<1, 1, 1, 1, 1024>;
    using normStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normGlobalType = GlobalTensor<float, normShapeDim5, normStrideDim5>;
    normGlobalType normGlobal(norm);

    using normed_0ShapeDim5 = Shape<1, 1, 1, 16, 1024>;
    using normed_0StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_0GlobalType = GlobalTensor<bfloat16_t, normed_0ShapeDim5, normed_0StrideDim5>;
    normed_0GlobalType normed_0Global(normed_0);

    using xShapeDim5 = Shape<1, 1, 1, 16, 1024>;
    using xStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using x_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using x_16x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using x_16x128GlobalType = GlobalTensor<float, x_16x128ShapeDim5, x_16x128StrideDim5>;
    x_16x128GlobalType x_16x128Global(x);

    using norm_1x128ShapeDim5 = Shape<1, 1, 1, 1, 128>;
    using norm_1x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using norm_1x128GlobalType = GlobalTensor<float, norm_1x128ShapeDim5, norm_1x128StrideDim5>;
    norm_1x128GlobalType norm_1x128Global(norm);

    using normed_0_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using normed_0_16x128StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using normed_0_16x128GlobalType = GlobalTensor<bfloat16_t, normed_0_16x128ShapeDim5, normed_0_16x128StrideDim5>;
    normed_0_16x128GlobalType normed_0_16x128Global(normed_0);

    // Tile type definitions and allocations
    using squares_0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    squares_0_rowType squares_0_row(1, 16);
    TASSIGN(squares_0_row, 0x0);

    using squares_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    squares_0Type squares_0(16, 1);
    TASSIGN(squares_0, 0x0);

    using partType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    partType part(16, 128);
    TASSIGN(part, 0x40);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x2040);

    using _t1Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 128);
    TASSIGN(_t1, 0x4040);

    using _t2Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t2Type _t2(16, 1);
    TASSIGN(_t2, 0x6040);

    using squares_iter_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    squares_iter_rowType squares_iter_row(1, 16);
    TASSIGN(squares_iter_row, 0x0);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 16);
    TASSIGN(_t2_row, 0x6040);

    using squares_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    squares_1_rowType squares_1_row(1, 16);
    TASSIGN(squares_1_row, 0x0);

    using squares_1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    squares_1Type squares_1(16, 1);
    TASSIGN(squares_1, 0x0);

    using squares_2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    squares_2_rowType squares_2_row(1, 16);
    TASSIGN(squares_2_row, 0x0);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 16);
    TASSIGN(_t3_row, 0x6080);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 16);
    TASSIGN(_t4_row, 0x60c0);

    using _t5_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t5_rowType _t5_row(1, 16);
    TASSIGN(_t5_row, 0x6100);

    using scale_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    scale_rowType scale_row(1, 16);
    TASSIGN(scale_row, 0x6140);

    using scaleType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    scaleType scale(16, 1);
    TASSIGN(scale, 0x6140);

    using _t6Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 128);
    TASSIGN(_t6, 0x6180);

    using rowsType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    rowsType rows(16, 128);
    TASSIGN(rows, 0x8180);

    using _t7Type = Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(1, 128);
    TASSIGN(_t7, 0xa180);

    using scaledType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    scaledType scaled(16, 128);
    TASSIGN(scaled, 0xa380);

    using _t8Type = Tile<TileType::Vec, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1>;
    _t8Type _t8(16, 128);
    TASSIGN(_t8, 0xc380);

    // Function body
    TEXPANDS(squares_0_row, 0.0f);
    TRESHAPE(squares_0, squares_0_row);
    using squares_iterType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    squares_iterType squares_iter(16, 1);
    TASSIGN(squares_iter, 0x0);
    squares_iter = squares_0;
    for (int64_t k_1 = 0; k_1 < 1024; k_1 += 128) {
        TASSIGN(x_16x128Global, x + 0 * 1024 + k_1);
        TLOAD(part, x_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMUL(_t0, part, part);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWSUM(_t2, _t0, _t1);
        TRESHAPE(squares_iter_row, squares_iter);
        TRESHAPE(_t2_row, _t2);
        pipe_barrier(PIPE_V);
        TADD(squares_1_row, squares_iter_row, _t2_row);
        TRESHAPE(squares_1, squares_1_row);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        squares_iter = squares_1;
    }
    TRESHAPE(squares_2_row, squares_iter);
    pipe_barrier(PIPE_V);
    TMULS(_t3_row, squares_2_row, 0.0009765625f);
    pipe_barrier(PIPE_V);
    TADDS(_t4_row, _t3_row, 1e-06f);
    pipe_barrier(PIPE_V);
    TSQRT(_t5_row, _t4_row);
    pipe_barrier(PIPE_V);
    TRECIP(scale_row, _t5_row);
    TRESHAPE(scale, scale_row);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    for (int64_t k_2 = 0; k_2 < 1024; k_2 += 128) {
        TASSIGN(x_16x128Global, x + 0 * 1024 + k_2);
        TLOAD(_t6, x_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(rows, _t6, scale);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        TASSIGN(norm_1x128Global, norm + 0 * 1024 + k_2);
        TLOAD(_t7, norm_1x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        pipe_barrier(PIPE_V);
        TCOLEXPANDMUL(scaled, rows, _t7);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TCVT(_t8, scaled, RoundMode::CAST_ROUND);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(normed_0_16x128Global, normed_0 + 0 * 1024 + k_2);
        TSTORE(normed_0_16x128Global, _t8);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRmsNorm(args);
}
