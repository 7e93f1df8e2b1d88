#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runStart(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* q = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* scaled = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* largest = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[3]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[4]);

    // Global tensor declarations
    using qShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using qStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using qGlobalType = GlobalTensor<float, qShapeDim5, qStrideDim5>;
    qGlobalType qGlobal(q);

    using scaledShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using scaledStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using scaledGlobalType = GlobalTensor<float, scaledShapeDim5, scaledStrideDim5>;
    scaledGlobalType scaledGlobal(scaled);

    using largestShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using largestStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largestGlobalType = GlobalTensor<float, largestShapeDim5, largestStrideDim5>;
    largestGlobalType largestGlobal(largest);

    using totalShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using outShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using outStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using largest_128x1_dnShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using largest_128x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_128x1_dnGlobalType = GlobalTensor<float, largest_128x1_dnShapeDim5, largest_128x1_dnStrideDim5, Layout::DN>;
    largest_128x1_dnGlobalType largest_128x1_dnGlobal(largest);

    using total_128x1_dnShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using total_128x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_128x1_dnGlobalType = GlobalTensor<float, total_128x1_dnShapeDim5, total_128x1_dnStrideDim5, Layout::DN>;
    total_128x1_dnGlobalType total_128x1_dnGlobal(total);

    using q_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using q_16x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using q_16x128GlobalType = GlobalTensor<float, q_16x128ShapeDim5, q_16x128StrideDim5>;
    q_16x128GlobalType q_16x128Global(q);

    using scaled_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using scaled_16x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using scaled_16x128GlobalType = GlobalTensor<float, scaled_16x128ShapeDim5, scaled_16x128StrideDim5>;
    scaled_16x128GlobalType scaled_16x128Global(scaled);

    // Tile type definitions and allocations
    using lowest_rowType = Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, -1, -1>;
    lowest_rowType lowest_row(1, 128);
    TASSIGN(lowest_row, 0x0);

    using lowestType = Tile<TileType::Vec, float, 128, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    lowestType lowest(128, 1);
    TASSIGN(lowest, 0x0);

    using zero_rowType = Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, -1, -1>;
    zero_rowType zero_row(1, 128);
    TASSIGN(zero_row, 0x200);

    using zeroType = Tile<TileType::Vec, float, 128, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    zeroType zero(128, 1);
    TASSIGN(zero, 0x200);

    using zerosType = Tile<TileType::Vec, float, 128, 128, BLayout::RowMajor, -1, -1>;
    zerosType zeros(128, 128);
    TASSIGN(zeros, 0x400);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x10400);

    using rowsType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    rowsType rows(16, 128);
    TASSIGN(rows, 0x12400);

    // Function body
    TEXPANDS(lowest_row, -1e+30f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(lowest, lowest_row);
    TEXPANDS(zero_row, 0.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TRESHAPE(zero, zero_row);
    TEXPANDS(zeros, 0.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(largest_128x1_dnGlobal, largest + 0 + 0);
    TSTORE(largest_128x1_dnGlobal, lowest);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(total_128x1_dnGlobal, total + 0 + 0);
    TSTORE(total_128x1_dnGlobal, zero);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    TSTORE(outGlobal, zeros);
    for (int64_t r = 0; r < 128; r += 16) {
        TASSIGN(q_16x128Global, q + r * 128 + 0);
        TLOAD(_t0, q_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMULS(rows, _t0, 0.08838834764831845f);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
        TASSIGN(scaled_16x128Global, scaled + r * 128 + 0);
        TSTORE(scaled_16x128Global, rows);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runStart(args);
}
