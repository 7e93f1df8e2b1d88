#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runAccumulate(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* step = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* shrink = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using stepShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using stepStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using stepGlobalType = GlobalTensor<float, stepShapeDim5, stepStrideDim5>;
    stepGlobalType stepGlobal(step);

    using shrinkShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using shrinkStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using shrinkGlobalType = GlobalTensor<float, shrinkShapeDim5, shrinkStrideDim5>;
    shrinkGlobalType shrinkGlobal(shrink);

    using outShapeDim5 = Shape<1, 1, 1, 128, 128>;
    using outStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using shrink_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using shrink_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using shrink_16x1_dnGlobalType = GlobalTensor<float, shrink_16x1_dnShapeDim5, shrink_16x1_dnStrideDim5, Layout::DN>;
    shrink_16x1_dnGlobalType shrink_16x1_dnGlobal(shrink);

    using out_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using out_16x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using out_16x128GlobalType = GlobalTensor<float, out_16x128ShapeDim5, out_16x128StrideDim5>;
    out_16x128GlobalType out_16x128Global(out);

    using step_16x128ShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using step_16x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using step_16x128GlobalType = GlobalTensor<float, step_16x128ShapeDim5, step_16x128StrideDim5>;
    step_16x128GlobalType step_16x128Global(step);

    // Tile type definitions and allocations
    using factorType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    factorType factor(16, 1);
    TASSIGN(factor, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x40);

    using beforeType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    beforeType before(16, 128);
    TASSIGN(before, 0x2040);

    using _t1Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 128);
    TASSIGN(_t1, 0x4040);

    using nowType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    nowType now(16, 128);
    TASSIGN(now, 0x6040);

    // Function body
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    for (int64_t r = 0; r < 128; r += 16) {
        TASSIGN(shrink_16x1_dnGlobal, shrink + r + 0);
        TLOAD(factor, shrink_16x1_dnGlobal);
        TASSIGN(out_16x128Global, out + r * 128 + 0);
        TLOAD(_t0, out_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(before, _t0, factor);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(step_16x128Global, step + r * 128 + 0);
        TLOAD(_t1, step_16x128Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TADD(now, before, _t1);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x128Global, out + r * 128 + 0);
        TSTORE(out_16x128Global, now);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runAccumulate(args);
}
