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
    using sShapeDim5 = Shape<1, 1, 1, 128, 256>;
    using sStrideDim5 = Stride<1, 1, 1, 256, 1>;
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

    using pShapeDim5 = Shape<1, 1, 1, 128, 256>;
    using pStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using pGlobalType = GlobalTensor<float, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using s_32x256ShapeDim5 = Shape<1, 1, 1, 32, 256>;
    using s_32x256StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using s_32x256GlobalType = GlobalTensor<float, s_32x256ShapeDim5, s_32x256StrideDim5>;
    s_32x256GlobalType s_32x256Global(s);

    using largest_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using largest_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_32x1_dnGlobalType = GlobalTensor<float, largest_32x1_dnShapeDim5, largest_32x1_dnStrideDim5, Layout::DN>;
    largest_32x1_dnGlobalType largest_32x1_dnGlobal(largest);

    using total_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using total_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_32x1_dnGlobalType = GlobalTensor<float, total_32x1_dnShapeDim5, total_32x1_dnStrideDim5, Layout::DN>;
    total_32x1_dnGlobalType total_32x1_dnGlobal(total);

    using shrink_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using shrink_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using shrink_32x1_dnGlobalType = GlobalTensor<float, shrink_32x1_dnShapeDim5, shrink_32x1_dnStrideDim5, Layout::DN>;
    shrink_32x1_dnGlobalType shrink_32x1_dnGlobal(shrink);

    using p_32x256ShapeDim5 = Shape<1, 1, 1, 32, 256>;
    using p_32x256StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using p_32x256GlobalType = GlobalTensor<float, p_32x256ShapeDim5, p_32x256StrideDim5>;
    p_32x256GlobalType p_32x256Global(p);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 32, 256, BLayout::RowMajor, -1, -1>;
    scratchType scratch(32, 256);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 32, 256, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(32, 256);
    TASSIGN(_t0, 0x8000);

    using scaledType = Tile<TileType::Vec, float, 32, 256, BLayout::RowMajor, -1, -1>;
    scaledType scaled(32, 256);
    TASSIGN(scaled, 0x10000);

    using beforeType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    beforeType before(32, 1);
    TASSIGN(before, 0x18000);

    using _t1Type = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(32, 1);
    TASSIGN(_t1, 0x18080);

    using before_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    before_rowType before_row(1, 32);
    TASSIGN(before_row, 0x18000);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 32);
    TASSIGN(_t1_row, 0x18080);

    using now_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    now_rowType now_row(1, 32);
    TASSIGN(now_row, 0x18100);

    using nowType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    nowType now(32, 1);
    TASSIGN(now, 0x18100);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 32);
    TASSIGN(_t2_row, 0x18180);

    using factor_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    factor_rowType factor_row(1, 32);
    TASSIGN(factor_row, 0x18200);

    using factorType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    factorType factor(32, 1);
    TASSIGN(factor, 0x18200);

    using _t3Type = Tile<TileType::Vec, float, 32, 256, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(32, 256);
    TASSIGN(_t3, 0x18280);

    using powersType = Tile<TileType::Vec, float, 32, 256, BLayout::RowMajor, -1, -1>;
    powersType powers(32, 256);
    TASSIGN(powers, 0x20280);

    using sum_beforeType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sum_beforeType sum_before(32, 1);
    TASSIGN(sum_before, 0x28280);

    using sum_before_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    sum_before_rowType sum_before_row(1, 32);
    TASSIGN(sum_before_row, 0x28280);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 32);
    TASSIGN(_t4_row, 0x28300);

    using _t5Type = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t5Type _t5(32, 1);
    TASSIGN(_t5, 0x28380);

    using _t5_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t5_rowType _t5_row(1, 32);
    TASSIGN(_t5_row, 0x28380);

    using sum_now_rowType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    sum_now_rowType sum_now_row(1, 32);
    TASSIGN(sum_now_row, 0x28400);

    using sum_nowType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sum_nowType sum_now(32, 1);
    TASSIGN(sum_now, 0x28400);

    // Function body
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    for (int64_t r = 0; r < 128; r += 32) {
        TASSIGN(s_32x256Global, s + r * 256 + 0);
        TLOAD(_t0, s_32x256Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMULS(scaled, _t0, 0.08838834764831845f);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(largest_32x1_dnGlobal, largest + r + 0);
        TLOAD(before, largest_32x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TROWMAX(_t1, scaled, scratch);
        TRESHAPE(before_row, before);
        TRESHAPE(_t1_row, _t1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TMAX(now_row, before_row, _t1_row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TRESHAPE(now, now_row);
        pipe_barrier(PIPE_V);
        TSUB(_t2_row, before_row, now_row);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TEXP(factor_row, _t2_row);
        TRESHAPE(factor, factor_row);
        TROWEXPANDSUB(_t3, scaled, now);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
        pipe_barrier(PIPE_V);
        TEXP(powers, _t3);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        TASSIGN(total_32x1_dnGlobal, total + r + 0);
        TLOAD(sum_before, total_32x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        TRESHAPE(sum_before_row, sum_before);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        TMUL(_t4_row, sum_before_row, factor_row);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TROWSUM(_t5, powers, scratch);
        TRESHAPE(_t5_row, _t5);
        pipe_barrier(PIPE_V);
        TADD(sum_now_row, _t4_row, _t5_row);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TRESHAPE(sum_now, sum_now_row);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(largest_32x1_dnGlobal, largest + r + 0);
        TSTORE(largest_32x1_dnGlobal, now);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TASSIGN(total_32x1_dnGlobal, total + r + 0);
        TSTORE(total_32x1_dnGlobal, sum_now);
        TASSIGN(shrink_32x1_dnGlobal, shrink + r + 0);
        TSTORE(shrink_32x1_dnGlobal, factor);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
        TASSIGN(p_32x256Global, p + r * 256 + 0);
        TSTORE(p_32x256Global, powers);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSoftmax(args);
}
