#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int16_t* x0 = reinterpret_cast<__gm__ int16_t*>(args[0]);
    __gm__ int16_t* x1 = reinterpret_cast<__gm__ int16_t*>(args[1]);
    __gm__ int16_t* out = reinterpret_cast<__gm__ int16_t*>(args[2]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using x0StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using x0GlobalType = GlobalTensor<int16_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using x1StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using x1GlobalType = GlobalTensor<int16_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using outStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using outGlobalType = GlobalTensor<int16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    t0Type t0(1, 256);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    t1Type t1(1, 256);
    TASSIGN(t1, 0x200);

    using result_largerType = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    result_largerType result_larger(1, 256);
    TASSIGN(result_larger, 0x400);

    using result_wideType = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
    result_wideType result_wide(1, 256);
    TASSIGN(result_wide, 0x600);

    using result_wide1Type = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
    result_wide1Type result_wide1(1, 256);
    TASSIGN(result_wide1, 0xa00);

    using result_bitsType = Tile<TileType::Vec, uint8_t, 1, 256, BLayout::RowMajor, -1, -1>;
    result_bitsType result_bits(1, 32);
    TASSIGN(result_bits, 0xe00);

    using result_onesType = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    result_onesType result_ones(1, 256);
    TASSIGN(result_ones, 0xf00);

    using result_zerosType = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    result_zerosType result_zeros(1, 256);
    TASSIGN(result_zeros, 0x1100);

    using result_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_scratchType result_scratch(1, 16);
    TASSIGN(result_scratch, 0x1300);

    using resultType = Tile<TileType::Vec, int16_t, 1, 256, BLayout::RowMajor, -1, -1>;
    resultType result(1, 256);
    TASSIGN(result, 0x1340);

    // Function body
    TLOAD(t0, x0Global);
    TLOAD(t1, x1Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMAX(result_larger, t0, t1);
    pipe_barrier(PIPE_V);
    TCVT(result_wide, result_larger, RoundMode::CAST_RINT);
    TCVT(result_wide1, t1, RoundMode::CAST_RINT);
    pipe_barrier(PIPE_V);
    result_bits.SetValidCol(32);
    TCMP(result_bits, result_wide, result_wide1, CmpMode::EQ);
    TEXPANDS(result_ones, 1);
    TEXPANDS(result_zeros, 0);
    pipe_barrier(PIPE_V);
    TSEL(result, result_bits, result_ones, result_zeros, result_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
