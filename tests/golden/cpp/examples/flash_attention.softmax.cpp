#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runSoftmax(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* largest = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* shrink = reinterpret_cast<__gm__ float*>(args[3]);
    __gm__ float* p = reinterpret_cast<__gm__ float*>(args[4]);

    // Global tensor declarations
    using sShapeDim5 = Shape<1, 1, 1, 128, 512>;
    using sStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    using largestShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using largestStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largestGlobalType = GlobalTensor<float, largestShapeDim5, largestStrideDim5>;
    largestGlobalType largestGlobal(largest);

    using totalShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using shrinkShapeDim5 = Shape<1, 1, 1, 128, 1>;
    using shrinkStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using shrinkGlobalType = GlobalTensor<float, shrinkShapeDim5, shrinkStrideDim5>;
    shrinkGlobalType shrinkGlobal(shrink);

    using pShapeDim5 = Shape<1, 1, 1, 128, 512>;
    using pStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using pGlobalType = GlobalTensor<float, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using s_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using s_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using s_16x512GlobalType = GlobalTensor<float, s_16x512ShapeDim5, s_16x512StrideDim5>;
    s_16x512GlobalType s_16x512Global(s);

    using largest_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largest_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_16x1_dnGlobalType = GlobalTensor<float, largest_16x1_dnShapeDim5, largest_16x1_dnStrideDim5, Layout::DN>;
    largest_16x1_dnGlobalType largest_16x1_dnGlobal(largest);

    using total_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_16x1_dnGlobalType = GlobalTensor<float, total_16x1_dnShapeDim5, total_16x1_dnStrideDim5, Layout::DN>;
    total_16x1_dnGlobalType total_16x1_dnGlobal(total);

    using shrink_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using shrink_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using shrink_16x1_dnGlobalType = GlobalTensor<float, shrink_16x1_dnShapeDim5, shrink_16x1_dnStrideDim5, Layout::DN>;
    shrink_16x1_dnGlobalType shrink_16x1_dnGlobal(shrink);

    using p_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using p_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using p_16x512GlobalType = GlobalTensor<float, p_16x512ShapeDim5, p_16x512StrideDim5>;
    p_16x512GlobalType p_16x512Global(p);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 512);
    TASSIGN(scratch, 0x0);

    using scoresType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    scoresType scores(16, 512);
    TASSIGN(scores, 0x8000);

    using beforeType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    beforeType before(16, 1);
    TASSIGN(before, 0x10000);

    using _t0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t0Type _t0(16, 1);
    TASSIGN(_t0, 0x10040);

    using before_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    before_rowType before_row(1, 16);
    TASSIGN(before_row, 0x10000);

    using _t0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t0_rowType _t0_row(1, 16);
    TASSIGN(_t0_row, 0x10040);

    using now_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    now_rowType now_row(1, 16);
    TASSIGN(now_row, 0x10080);

    using nowType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    nowType now(16, 1);
    TASSIGN(now, 0x10080);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x100c0);

    using factor_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    factor_rowType factor_row(1, 16);
    TASSIGN(factor_row, 0x10100);

    using factorType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    factorType factor(16, 1);
    TASSIGN(factor, 0x10100);

    using _t2Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 512);
    TASSIGN(_t2, 0x10140);

    using powersType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    powersType powers(16, 512);
    TASSIGN(powers, 0x18140);

    using sum_beforeType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sum_beforeType sum_before(16, 1);
    TASSIGN(sum_before, 0x20140);

    using sum_before_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    sum_before_rowType sum_before_row(1, 16);
    TASSIGN(sum_before_row, 0x20140);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 16);
    TASSIGN(_t3_row, 0x20180);

    using _t4Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t4Type _t4(16, 1);
    TASSIGN(_t4, 0x201c0);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 16);
    TASSIGN(_t4_row, 0x201c0);

    using sum_now_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    sum_now_rowType sum_now_row(1, 16);
    TASSIGN(sum_now_row, 0x20200);

    using sum_nowType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sum_nowType sum_now(16, 1);
    TASSIGN(sum_now, 0x20200);

    // Function body
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    for (int64_t r = 0; r < 128; r += 16) {
        TASSIGN(s_16x512Global, s + r * 512 + 0);
        TLOAD(scores, s_16x512Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TASSIGN(largest_16x1_dnGlobal, largest + r + 0);
        TLOAD(before, largest_16x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TROWMAX(_t0, scores, scratch);
        TRESHAPE(before_row, before);
        TRESHAPE(_t0_row, _t0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TMAX(now_row, before_row, _t0_row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TRESHAPE(now, now_row);
        pipe_barrier(PIPE_V);
        TSUB(_t1_row, before_row, now_row);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TEXP(factor_row, _t1_row);
        TRESHAPE(factor, factor_row);
        TROWEXPANDSUB(_t2, scores, now);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
        pipe_barrier(PIPE_V);
        TEXP(powers, _t2);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(total_16x1_dnGlobal, total + r + 0);
        TLOAD(sum_before, total_16x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        TRESHAPE(sum_before_row, sum_before);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        TMUL(_t3_row, sum_before_row, factor_row);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWSUM(_t4, powers, scratch);
        TRESHAPE(_t4_row, _t4);
        pipe_barrier(PIPE_V);
        TADD(sum_now_row, _t3_row, _t4_row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TRESHAPE(sum_now, sum_now_row);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(largest_16x1_dnGlobal, largest + r + 0);
        TSTORE(largest_16x1_dnGlobal, now);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TASSIGN(total_16x1_dnGlobal, total + r + 0);
        TSTORE(total_16x1_dnGlobal, sum_now);
        TASSIGN(shrink_16x1_dnGlobal, shrink + r + 0);
        TSTORE(shrink_16x1_dnGlobal, factor);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        TASSIGN(p_16x512Global, p + r * 512 + 0);
        TSTORE(p_16x512Global, powers);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSoftmax(args);
}
