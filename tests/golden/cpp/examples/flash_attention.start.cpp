#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runStart(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* largest = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
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
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runStart(args);
}
