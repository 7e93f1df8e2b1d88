#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runUpdate(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t number = args[0];
    __gm__ float* largest = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* step = reinterpret_cast<__gm__ float*>(args[3]);
    __gm__ float* largest_so_far = reinterpret_cast<__gm__ float*>(args[4]);
    __gm__ float* total_so_far = reinterpret_cast<__gm__ float*>(args[5]);
    __gm__ float* result = reinterpret_cast<__gm__ float*>(args[6]);

    // Global tensor declarations
    using largestShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largestStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largestGlobalType = GlobalTensor<float, largestShapeDim5, largestStrideDim5>;
    largestGlobalType largestGlobal(largest);

    using totalShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using stepShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using stepStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using stepGlobalType = GlobalTensor<float, stepShapeDim5, stepStrideDim5>;
    stepGlobalType stepGlobal(step);

    using largest_so_farShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largest_so_farStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_so_farGlobalType = GlobalTensor<float, largest_so_farShapeDim5, largest_so_farStrideDim5>;
    largest_so_farGlobalType largest_so_farGlobal(largest_so_far);

    using total_so_farShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_so_farStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_so_farGlobalType = GlobalTensor<float, total_so_farShapeDim5, total_so_farStrideDim5>;
    total_so_farGlobalType total_so_farGlobal(total_so_far);

    using resultShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using resultStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using resultGlobalType = GlobalTensor<float, resultShapeDim5, resultStrideDim5>;
    resultGlobalType resultGlobal(result);

    using largest_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largest_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_16x1_dnGlobalType = GlobalTensor<float, largest_16x1_dnShapeDim5, largest_16x1_dnStrideDim5, Layout::DN>;
    largest_16x1_dnGlobalType largest_16x1_dnGlobal(largest);

    using total_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_16x1_dnGlobalType = GlobalTensor<float, total_16x1_dnShapeDim5, total_16x1_dnStrideDim5, Layout::DN>;
    total_16x1_dnGlobalType total_16x1_dnGlobal(total);

    using largest_so_far_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largest_so_far_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_so_far_16x1_dnGlobalType = GlobalTensor<float, largest_so_far_16x1_dnShapeDim5, largest_so_far_16x1_dnStrideDim5, Layout::DN>;
    largest_so_far_16x1_dnGlobalType largest_so_far_16x1_dnGlobal(largest_so_far);

    using total_so_far_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_so_far_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_so_far_16x1_dnGlobalType = GlobalTensor<float, total_so_far_16x1_dnShapeDim5, total_so_far_16x1_dnStrideDim5, Layout::DN>;
    total_so_far_16x1_dnGlobalType total_so_far_16x1_dnGlobal(total_so_far);

    // Tile type definitions and allocations
    using top_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_0Type top_0(16, 1);
    TASSIGN(top_0, 0x0);

    using sums_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sums_0Type sums_0(16, 1);
    TASSIGN(sums_0, 0x40);

    using values_0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    values_0Type values_0(16, 128);
    TASSIGN(values_0, 0x80);

    using top_beforeType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_beforeType top_before(16, 1);
    TASSIGN(top_before, 0x20c0);

    using sums_beforeType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sums_beforeType sums_before(16, 1);
    TASSIGN(sums_before, 0x2100);

    using values_beforeType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    values_beforeType values_before(16, 128);
    TASSIGN(values_before, 0x2140);

    using top_before_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    top_before_rowType top_before_row(1, 16);
    TASSIGN(top_before_row, 0x20c0);

    using top_0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    top_0_rowType top_0_row(1, 16);
    TASSIGN(top_0_row, 0x0);

    using top_now_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    top_now_rowType top_now_row(1, 16);
    TASSIGN(top_now_row, 0x2080);

    using top_nowType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_nowType top_now(16, 1);
    TASSIGN(top_now, 0x2080);

    using _t0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t0_rowType _t0_row(1, 16);
    TASSIGN(_t0_row, 0x4140);

    using old_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    old_rowType old_row(1, 16);
    TASSIGN(old_row, 0x4180);

    using oldType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    oldType old(16, 1);
    TASSIGN(old, 0x4180);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x41c0);

    using new_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    new_rowType new_row(1, 16);
    TASSIGN(new_row, 0x4200);

    using new_1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    new_1Type new_1(16, 1);
    TASSIGN(new_1, 0x4200);

    using sums_before_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    sums_before_rowType sums_before_row(1, 16);
    TASSIGN(sums_before_row, 0x2100);

    using _t2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2_rowType _t2_row(1, 16);
    TASSIGN(_t2_row, 0x4240);

    using sums_0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    sums_0_rowType sums_0_row(1, 16);
    TASSIGN(sums_0_row, 0x40);

    using _t3_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t3_rowType _t3_row(1, 16);
    TASSIGN(_t3_row, 0x4280);

    using sums_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    sums_1_rowType sums_1_row(1, 16);
    TASSIGN(sums_1_row, 0x40);

    using sums_1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sums_1Type sums_1(16, 1);
    TASSIGN(sums_1, 0x40);

    using _t4Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 128);
    TASSIGN(_t4, 0x42c0);

    using _t5Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 128);
    TASSIGN(_t5, 0x62c0);

    using values_1Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    values_1Type values_1(16, 128);
    TASSIGN(values_1, 0x80);

    using top_2_copy0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_2_copy0Type top_2_copy0(16, 1);
    TASSIGN(top_2_copy0, 0x2080);

    // Function body
    // paged_attention.py:113
    TASSIGN(largest_16x1_dnGlobal, largest + 0 + 0);
    TLOAD(top_0, largest_16x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TASSIGN(total_16x1_dnGlobal, total + 0 + 0);
    TLOAD(sums_0, total_16x1_dnGlobal);
    // paged_attention.py:114
    TLOAD(values_0, stepGlobal);
    // paged_attention.py:115
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using sums_2Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sums_2Type sums_2(16, 1);
    TASSIGN(sums_2, 0x40);
    using top_2Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    top_2Type top_2(16, 1);
    TASSIGN(top_2, 0x2080);
    using values_2Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    values_2Type values_2(16, 128);
    TASSIGN(values_2, 0x80);
    if (number > 0) {
        // paged_attention.py:116
        TASSIGN(largest_so_far_16x1_dnGlobal, largest_so_far + 0 + 0);
        TLOAD(top_before, largest_so_far_16x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        // paged_attention.py:117
        TASSIGN(total_so_far_16x1_dnGlobal, total_so_far + 0 + 0);
        TLOAD(sums_before, total_so_far_16x1_dnGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        // paged_attention.py:118
        TLOAD(values_before, resultGlobal);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID3);
        // paged_attention.py:119
        TRESHAPE(top_before_row, top_before);
        TRESHAPE(top_0_row, top_0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        TMAX(top_now_row, top_before_row, top_0_row);
        TRESHAPE(top_now, top_now_row);
        // paged_attention.py:120
        pipe_barrier(PIPE_V);
        TSUB(_t0_row, top_before_row, top_now_row);
        pipe_barrier(PIPE_V);
        TEXP(old_row, _t0_row);
        TRESHAPE(old, old_row);
        TSUB(_t1_row, top_0_row, top_now_row);
        pipe_barrier(PIPE_V);
        TEXP(new_row, _t1_row);
        TRESHAPE(new_1, new_row);
        // paged_attention.py:121
        TRESHAPE(sums_before_row, sums_before);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
        TMUL(_t2_row, sums_before_row, old_row);
        TRESHAPE(sums_0_row, sums_0);
        pipe_barrier(PIPE_V);
        TMUL(_t3_row, sums_0_row, new_row);
        pipe_barrier(PIPE_V);
        TADD(sums_1_row, _t2_row, _t3_row);
        TRESHAPE(sums_1, sums_1_row);
        // paged_attention.py:122
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID3);
        TROWEXPANDMUL(_t4, values_before, old);
        TROWEXPANDMUL(_t5, values_0, new_1);
        pipe_barrier(PIPE_V);
        TADD(values_1, _t4, _t5);
        sums_2 = sums_1;
        top_2 = top_now;
        values_2 = values_1;
    } else {
        // paged_attention.py:115
        TMOV(top_2_copy0, top_0);
        sums_2 = sums_0;
        top_2 = top_2_copy0;
        values_2 = values_0;
    }
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    // paged_attention.py:124
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(largest_so_far_16x1_dnGlobal, largest_so_far + 0 + 0);
    TSTORE(largest_so_far_16x1_dnGlobal, top_2);
    // paged_attention.py:125
    TASSIGN(total_so_far_16x1_dnGlobal, total_so_far + 0 + 0);
    TSTORE(total_so_far_16x1_dnGlobal, sums_2);
    // paged_attention.py:126
    TSTORE(resultGlobal, values_2);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runUpdate(args);
}
