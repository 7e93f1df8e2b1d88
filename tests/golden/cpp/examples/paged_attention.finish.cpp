#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runFinish(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* result = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ bfloat16_t* out = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);

    // Global tensor declarations
    using totalShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using resultShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using resultStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using resultGlobalType = GlobalTensor<float, resultShapeDim5, resultStrideDim5>;
    resultGlobalType resultGlobal(result);

    using outShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using outStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outGlobalType = GlobalTensor<bfloat16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using total_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_16x1_dnGlobalType = GlobalTensor<float, total_16x1_dnShapeDim5, total_16x1_dnStrideDim5, Layout::DN>;
    total_16x1_dnGlobalType total_16x1_dnGlobal(total);

    // Tile type definitions and allocations
    using valuesType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    valuesType values(16, 128);
    TASSIGN(values, 0x0);

    using sumsType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sumsType sums(16, 1);
    TASSIGN(sums, 0x2000);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x2040);

    using meanType = Tile<TileType::Vec, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1>;
    meanType mean(16, 128);
    TASSIGN(mean, 0x4040);

    // Function body
    TLOAD(values, resultGlobal);
    TASSIGN(total_16x1_dnGlobal, total + 0 + 0);
    TLOAD(sums, total_16x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWEXPANDDIV(_t0, values, sums);
    pipe_barrier(PIPE_V);
    TCVT(mean, _t0, RoundMode::CAST_ROUND);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, mean);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runFinish(args);
}
