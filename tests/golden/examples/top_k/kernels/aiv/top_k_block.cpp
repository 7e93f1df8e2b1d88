#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runTopKBlock(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* positions = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* values = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ int32_t* indices = reinterpret_cast<__gm__ int32_t*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 512>;
    using xStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using positionsShapeDim5 = Shape<1, 1, 1, 1, 512>;
    using positionsStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using positionsGlobalType = GlobalTensor<float, positionsShapeDim5, positionsStrideDim5>;
    positionsGlobalType positionsGlobal(positions);

    using valuesShapeDim5 = Shape<1, 1, 1, 8, 128>;
    using valuesStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using valuesGlobalType = GlobalTensor<float, valuesShapeDim5, valuesStrideDim5>;
    valuesGlobalType valuesGlobal(values);

    using indicesShapeDim5 = Shape<1, 1, 1, 8, 128>;
    using indicesStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using indicesGlobalType = GlobalTensor<int32_t, indicesShapeDim5, indicesStrideDim5>;
    indicesGlobalType indicesGlobal(indices);

    using x_8x512ShapeDim5 = Shape<1, 1, 1, 8, 512>;
    using x_8x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using x_8x512GlobalType = GlobalTensor<float, x_8x512ShapeDim5, x_8x512StrideDim5>;
    x_8x512GlobalType x_8x512Global(x);

    using values_1x8ShapeDim5 = Shape<1, 1, 1, 1, 8>;
    using values_1x8StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using values_1x8GlobalType = GlobalTensor<float, values_1x8ShapeDim5, values_1x8StrideDim5>;
    values_1x8GlobalType values_1x8Global(values);

    using indices_1x8ShapeDim5 = Shape<1, 1, 1, 1, 8>;
    using indices_1x8StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using indices_1x8GlobalType = GlobalTensor<int32_t, indices_1x8ShapeDim5, indices_1x8StrideDim5>;
    indices_1x8GlobalType indices_1x8Global(indices);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    scratchType scratch(8, 512);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 1, 512, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(1, 512);
    TASSIGN(_t0, 0x4000);

    using positionType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    positionType position(8, 512);
    TASSIGN(position, 0x4800);

    using behindType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    behindType behind(8, 512);
    TASSIGN(behind, 0x8800);

    using left_0Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    left_0Type left_0(8, 512);
    TASSIGN(left_0, 0xc800);

    using largestType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    largestType largest(8, 1);
    TASSIGN(largest, 0x2a880);

    using _t1Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 512);
    TASSIGN(_t1, 0x10800);

    using _t2_numberType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    _t2_numberType _t2_number(8, 512);
    TASSIGN(_t2_number, 0x14800);

    using _t2_bitsType = Tile<TileType::Vec, uint8_t, 8, 512, BLayout::RowMajor, -1, -1>;
    _t2_bitsType _t2_bits(8, 64);
    TASSIGN(_t2_bits, 0x18800);

    using _t2_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2_scratchType _t2_scratch(1, 16);
    TASSIGN(_t2_scratch, 0x19800);

    using _t2Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 512);
    TASSIGN(_t2, 0x19840);

    using firstType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    firstType first(8, 1);
    TASSIGN(first, 0x2a8a0);

    using _t3Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 512);
    TASSIGN(_t3, 0x1d840);

    using _t4Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(8, 512);
    TASSIGN(_t4, 0x21840);

    using left_1_numberType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    left_1_numberType left_1_number(8, 512);
    TASSIGN(left_1_number, 0x25840);

    using left_1_bitsType = Tile<TileType::Vec, uint8_t, 8, 512, BLayout::RowMajor, -1, -1>;
    left_1_bitsType left_1_bits(8, 64);
    TASSIGN(left_1_bits, 0x29840);

    using left_1_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    left_1_scratchType left_1_scratch(1, 16);
    TASSIGN(left_1_scratch, 0x2a840);

    using left_1Type = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
    left_1Type left_1(8, 512);
    TASSIGN(left_1, 0xc800);

    using rowType = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    rowType row(1, 8);
    TASSIGN(row, 0x2a880);

    using _t5Type = Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(1, 8);
    TASSIGN(_t5, 0x2a8a0);

    using indexType = Tile<TileType::Vec, int32_t, 1, 8, BLayout::RowMajor, -1, -1>;
    indexType index(1, 8);
    TASSIGN(index, 0x2a8c0);

    // Function body
    // top_k.py:44
    TLOAD(_t0, positionsGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCOLEXPAND(position, _t0);
    // top_k.py:45
    TEXPANDS(behind, 512.0f);
    // top_k.py:46
    for (int64_t r = 0; r < 128; r += 8) {
        // top_k.py:47
        TASSIGN(x_8x512Global, x + r * 512 + 0);
        TLOAD(left_0, x_8x512Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        // top_k.py:48
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        using left_iterType = Tile<TileType::Vec, float, 8, 512, BLayout::RowMajor, -1, -1>;
        left_iterType left_iter(8, 512);
        TASSIGN(left_iter, 0xc800);
        left_iter = left_0;
        for (int64_t k = 0; k < 8; k += 1) {
            // top_k.py:49
            pipe_barrier(PIPE_V);
            TROWMAX(largest, left_iter, scratch);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            // top_k.py:50
            pipe_barrier(PIPE_V);
            TROWEXPANDSUB(_t1, left_iter, largest);
            // top_k.py:51
            TEXPANDS(_t2_number, 0.0f);
            pipe_barrier(PIPE_V);
            _t2_bits.SetValidCol(64);
            TCMP(_t2_bits, _t1, _t2_number, CmpMode::EQ);
            pipe_barrier(PIPE_V);
            TSEL(_t2, _t2_bits, position, behind, _t2_scratch);
            pipe_barrier(PIPE_V);
            TROWMIN(first, _t2, scratch);
            // top_k.py:52
            pipe_barrier(PIPE_V);
            TROWEXPANDSUB(_t3, position, first);
            // top_k.py:53
            TEXPANDS(_t4, -3e+38f);
            TEXPANDS(left_1_number, 0.0f);
            pipe_barrier(PIPE_V);
            left_1_bits.SetValidCol(64);
            TCMP(left_1_bits, _t3, left_1_number, CmpMode::EQ);
            pipe_barrier(PIPE_V);
            TSEL(left_1, left_1_bits, _t4, left_iter, left_1_scratch);
            // top_k.py:54
            TRESHAPE(row, largest);
            // top_k.py:55
            TRESHAPE(_t5, first);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            TCVT(index, _t5, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            // top_k.py:56
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            TASSIGN(values_1x8Global, values + k * 128 + r);
            TSTORE(values_1x8Global, row);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            // top_k.py:57
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            TASSIGN(indices_1x8Global, indices + k * 128 + r);
            TSTORE(indices_1x8Global, index);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            // top_k.py:48
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID1);
            left_iter = left_1;
        }
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        // top_k.py:46
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runTopKBlock(args);
}
