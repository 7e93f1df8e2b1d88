#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runPowers(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* positions = reinterpret_cast<__gm__ float*>(args[1]);
    union { int64_t word; float value; } tokens_bits;
    tokens_bits.word = args[2];
    float tokens = tokens_bits.value;
    __gm__ bfloat16_t* p = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);
    __gm__ float* largest = reinterpret_cast<__gm__ float*>(args[4]);
    __gm__ float* total = reinterpret_cast<__gm__ float*>(args[5]);

    // Global tensor declarations
    using sShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using sStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    using positionsShapeDim5 = Shape<1, 1, 1, 1, 128>;
    using positionsStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using positionsGlobalType = GlobalTensor<float, positionsShapeDim5, positionsStrideDim5>;
    positionsGlobalType positionsGlobal(positions);

    using pShapeDim5 = Shape<1, 1, 1, 16, 128>;
    using pStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using pGlobalType = GlobalTensor<bfloat16_t, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using largestShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largestStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largestGlobalType = GlobalTensor<float, largestShapeDim5, largestStrideDim5>;
    largestGlobalType largestGlobal(largest);

    using totalShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using totalStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using totalGlobalType = GlobalTensor<float, totalShapeDim5, totalStrideDim5>;
    totalGlobalType totalGlobal(total);

    using largest_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using largest_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using largest_16x1_dnGlobalType = GlobalTensor<float, largest_16x1_dnShapeDim5, largest_16x1_dnStrideDim5, Layout::DN>;
    largest_16x1_dnGlobalType largest_16x1_dnGlobal(largest);

    using total_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using total_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using total_16x1_dnGlobalType = GlobalTensor<float, total_16x1_dnShapeDim5, total_16x1_dnStrideDim5, Layout::DN>;
    total_16x1_dnGlobalType total_16x1_dnGlobal(total);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 128);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 128);
    TASSIGN(_t0, 0x2000);

    using scaledType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    scaledType scaled(16, 128);
    TASSIGN(scaled, 0x4000);

    using _t1Type = Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(1, 128);
    TASSIGN(_t1, 0x6000);

    using positionType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    positionType position(16, 128);
    TASSIGN(position, 0x6200);

    using _t3Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 128);
    TASSIGN(_t3, 0x8200);

    using counted_numberType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    counted_numberType counted_number(16, 128);
    TASSIGN(counted_number, 0xa200);

    using counted_bitsType = Tile<TileType::Vec, uint8_t, 16, 128, BLayout::RowMajor, -1, -1>;
    counted_bitsType counted_bits(16, 16);
    TASSIGN(counted_bits, 0xc200);

    using counted_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    counted_scratchType counted_scratch(1, 16);
    TASSIGN(counted_scratch, 0xca00);

    using countedType = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    countedType counted(16, 128);
    TASSIGN(counted, 0xca40);

    using topType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    topType top(16, 1);
    TASSIGN(top, 0xea40);

    using _t4Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 128);
    TASSIGN(_t4, 0xea80);

    using _t5Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 128);
    TASSIGN(_t5, 0x10a80);

    using powerType = Tile<TileType::Vec, bfloat16_t, 16, 128, BLayout::RowMajor, -1, -1>;
    powerType power(16, 128);
    TASSIGN(power, 0x12a80);

    using _t6Type = Tile<TileType::Vec, float, 16, 128, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 128);
    TASSIGN(_t6, 0x13a80);

    using sumsType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    sumsType sums(16, 1);
    TASSIGN(sums, 0x15a80);

    // Function body
    // paged_attention.py:76
    TLOAD(_t0, sGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMULS(scaled, _t0, 0.08838834764831845f);
    // paged_attention.py:77
    TLOAD(_t1, positionsGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TCOLEXPAND(position, _t1);
    // paged_attention.py:78
    TEXPANDS(_t3, -1e+30f);
    TEXPANDS(counted_number, tokens);
    pipe_barrier(PIPE_V);
    counted_bits.SetValidCol(16);
    TCMP(counted_bits, position, counted_number, CmpMode::LT);
    pipe_barrier(PIPE_V);
    TSEL(counted, counted_bits, scaled, _t3, counted_scratch);
    // paged_attention.py:79
    pipe_barrier(PIPE_V);
    TROWMAX(top, counted, scratch);
    // paged_attention.py:80
    pipe_barrier(PIPE_V);
    TROWEXPANDSUB(_t4, counted, top);
    pipe_barrier(PIPE_V);
    TEXP(_t5, _t4);
    pipe_barrier(PIPE_V);
    TCVT(power, _t5, RoundMode::CAST_ROUND);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    // paged_attention.py:81
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(pGlobal, power);
    // paged_attention.py:83
    pipe_barrier(PIPE_V);
    TCVT(_t6, power, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TROWSUM(sums, _t6, scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    // paged_attention.py:84
    TASSIGN(largest_16x1_dnGlobal, largest + 0 + 0);
    TSTORE(largest_16x1_dnGlobal, top);
    // paged_attention.py:85
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(total_16x1_dnGlobal, total + 0 + 0);
    TSTORE(total_16x1_dnGlobal, sums);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runPowers(args);
}
