#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runFinish(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using totalShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using outShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using outStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using total_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_16x1_dnGlobalType = GlobalTensor<float, total_16x1_dnShapeDim5, total_16x1_dnStrideDim5, Layout::DN>;
    total_16x1_dnGlobalType total_16x1_dnGlobal(total);

    using out_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using out_16x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using out_16x128GlobalType = GlobalTensor<float, out_16x128ShapeDim5, out_16x128StrideDim5>;
    out_16x128GlobalType out_16x128Global(out);

    // Tile type definitions and allocations
    using sumsType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sumsType sums(16, 1);
    TASSIGN(sums, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x40);

    using meanType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    meanType mean(16, 128);
    TASSIGN(mean, 0x2040);

    // Function body
    for (int64_t r = 0; r < 128; r += 16) {
        TASSIGN(total_16x1_dnGlobal, total + r + 0);
        TLOAD(sums, total_16x1_dnGlobal);
        TASSIGN(out_16x128Global, out + r * 128 + 0);
        TLOAD(_t0, out_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TROWEXPANDDIV(mean, _t0, sums);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x128Global, out + r * 128 + 0);
        TSTORE(out_16x128Global, mean);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runFinish(args);
}
