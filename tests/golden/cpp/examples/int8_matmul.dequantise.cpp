#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runDequantise(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int32_t* sums = reinterpret_cast<__gm__ int32_t*>(args[0]);
    __gm__ float* scale_a = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* scale_b = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using sumsShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using sumsStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sumsGlobalType = GlobalTensor<int32_t, sumsShapeDim5, sumsStrideDim5>;
    sumsGlobalType sumsGlobal(sums);

    using scale_aShapeDim5 = Shape<1, 1, 1, 64, 1>;
    using scale_aStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using scale_aGlobalType = GlobalTensor<float, scale_aShapeDim5, scale_aStrideDim5>;
    scale_aGlobalType scale_aGlobal(scale_a);

    using scale_bShapeDim5 = Shape<1, 1, 1, 1, 512>;
    using scale_bStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using scale_bGlobalType = GlobalTensor<float, scale_bShapeDim5, scale_bStrideDim5>;
    scale_bGlobalType scale_bGlobal(scale_b);

    using outShapeDim5 = Shape<1, 1, 1, 64, 512>;
    using outStrideDim5 = Stride<1, 1, 1, 512, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using scale_a_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>;
    using scale_a_16x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using scale_a_16x1_dnGlobalType = GlobalTensor<float, scale_a_16x1_dnShapeDim5, scale_a_16x1_dnStrideDim5, Layout::DN>;
    scale_a_16x1_dnGlobalType scale_a_16x1_dnGlobal(scale_a);

    using sums_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using sums_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using sums_16x512GlobalType = GlobalTensor<int32_t, sums_16x512ShapeDim5, sums_16x512StrideDim5>;
    sums_16x512GlobalType sums_16x512Global(sums);

    using out_16x512ShapeDim5 = Shape<1, 1, 1, 16, 512>;
    using out_16x512StrideDim5 = Stride<1, 1, 1, 512, 1>;
    using out_16x512GlobalType = GlobalTensor<float, out_16x512ShapeDim5, out_16x512StrideDim5>;
    out_16x512GlobalType out_16x512Global(out);

    // Tile type definitions and allocations
    using columnsType = Tile<TileType::Vec, float, 1, 512, BLayout::RowMajor, -1, -1>;
    columnsType columns(1, 512);
    TASSIGN(columns, 0x0);

    using rowsType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    rowsType rows(16, 1);
    TASSIGN(rows, 0x800);

    using _t0Type = Tile<TileType::Vec, int32_t, 16, 512, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 512);
    TASSIGN(_t0, 0x840);

    using tileType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    tileType tile(16, 512);
    TASSIGN(tile, 0x8840);

    using _t1Type = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 512);
    TASSIGN(_t1, 0x10840);

    using scaledType = Tile<TileType::Vec, float, 16, 512, BLayout::RowMajor, -1, -1>;
    scaledType scaled(16, 512);
    TASSIGN(scaled, 0x18840);

    // Function body
    TLOAD(columns, scale_bGlobal);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t r = 0; r < 64; r += 16) {
        TASSIGN(scale_a_16x1_dnGlobal, scale_a + r + 0);
        TLOAD(rows, scale_a_16x1_dnGlobal);
        TASSIGN(sums_16x512Global, sums + r * 512 + 0);
        TLOAD(_t0, sums_16x512Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TCVT(tile, _t0, RoundMode::CAST_ROUND);
        pipe_barrier(PIPE_V);
        TROWEXPANDMUL(_t1, tile, rows);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TCOLEXPANDMUL(scaled, _t1, columns);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_16x512Global, out + r * 512 + 0);
        TSTORE(out_16x512Global, scaled);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runDequantise(args);
}
