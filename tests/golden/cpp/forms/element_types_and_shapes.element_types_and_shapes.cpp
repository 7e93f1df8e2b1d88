#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runElementTypesAndShapes(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x = reinterpret_cast<__gm__ half*>(args[0]);
    __gm__ int32_t* y = reinterpret_cast<__gm__ int32_t*>(args[1]);
    __gm__ float* m = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ int32_t* r = reinterpret_cast<__gm__ int32_t*>(args[3]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[4]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<half, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<int32_t, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using mShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using mStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using mGlobalType = GlobalTensor<float, mShapeDim5, mStrideDim5>;
    mGlobalType mGlobal(m);

    using rShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using rStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using rGlobalType = GlobalTensor<int32_t, rShapeDim5, rStrideDim5>;
    rGlobalType rGlobal(r);

    using outShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using m_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using m_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using m_32x1_dnGlobalType = GlobalTensor<float, m_32x1_dnShapeDim5, m_32x1_dnStrideDim5, Layout::DN>;
    m_32x1_dnGlobalType m_32x1_dnGlobal(m);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Vec, half, 32, 64, BLayout::RowMajor, -1, -1>;
    aType a(32, 64);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Vec, int32_t, 32, 64, BLayout::RowMajor, -1, -1>;
    bType b(32, 64);
    TASSIGN(b, 0x1000);

    using cType = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    cType c(32, 1);
    TASSIGN(c, 0x3000);

    using dType = Tile<TileType::Vec, int32_t, 1, 64, BLayout::RowMajor, -1, -1>;
    dType d(1, 64);
    TASSIGN(d, 0x3080);

    using _t0_wideType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0_wideType _t0_wide(32, 64);
    TASSIGN(_t0_wide, 0x3180);

    using _t0Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(32, 64);
    TASSIGN(_t0, 0x3180);

    using e_wideType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    e_wideType e_wide(1, 64);
    TASSIGN(e_wide, 0x5180);

    using e_roomType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    e_roomType e_room(32, 64);
    TASSIGN(e_room, 0x7180);

    using e_spreadType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    e_spreadType e_spread(32, 64);
    TASSIGN(e_spread, 0x7180);

    using eType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    eType e(32, 64);
    TASSIGN(e, 0x3180);

    using _t1_wideType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t1_wideType _t1_wide(32, 64);
    TASSIGN(_t1_wide, 0x7180);

    using f_0_spreadType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    f_0_spreadType f_0_spread(32, 64);
    TASSIGN(f_0_spread, 0x5180);

    using f_0_bitsType = Tile<TileType::Vec, uint8_t, 32, 64, BLayout::RowMajor, -1, -1>;
    f_0_bitsType f_0_bits(32, 8);
    TASSIGN(f_0_bits, 0x9180);

    using f_0_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    f_0_scratchType f_0_scratch(1, 16);
    TASSIGN(f_0_scratch, 0x7180);

    using f_0Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    f_0Type f_0(32, 64);
    TASSIGN(f_0, 0x3180);

    using _t2_wideType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    _t2_wideType _t2_wide(1, 64);
    TASSIGN(_t2_wide, 0x9180);

    using _t2_spreadType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2_spreadType _t2_spread(32, 64);
    TASSIGN(_t2_spread, 0x7180);

    using _t2_roomType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2_roomType _t2_room(32, 64);
    TASSIGN(_t2_room, 0x5180);

    using _t2_spread1Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2_spread1Type _t2_spread1(32, 64);
    TASSIGN(_t2_spread1, 0x5180);

    using _t2Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(32, 64);
    TASSIGN(_t2, 0x7180);

    using g_wideType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    g_wideType g_wide(32, 64);
    TASSIGN(g_wide, 0x5180);

    using gType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    gType g(32, 64);
    TASSIGN(g, 0x7180);

    using _t3_wideType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    _t3_wideType _t3_wide(1, 64);
    TASSIGN(_t3_wide, 0x5180);

    using _t3Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(32, 64);
    TASSIGN(_t3, 0x3180);

    using _t4_wideType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t4_wideType _t4_wide(32, 64);
    TASSIGN(_t4_wide, 0x5180);

    using _t4Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(32, 64);
    TASSIGN(_t4, 0x5180);

    using f_1Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    f_1Type f_1(32, 64);
    TASSIGN(f_1, 0x3180);

    using _t5_roomType = Tile<TileType::Vec, int32_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t5_roomType _t5_room(32, 64);
    TASSIGN(_t5_room, 0x5180);

    using _t5_spreadType = Tile<TileType::Vec, int32_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t5_spreadType _t5_spread(32, 64);
    TASSIGN(_t5_spread, 0x5180);

    using _t5Type = Tile<TileType::Vec, int32_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(32, 64);
    TASSIGN(_t5, 0x1000);

    using _t6Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(32, 64);
    TASSIGN(_t6, 0x1000);

    using _t7_partType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t7_partType _t7_part(32, 64);
    TASSIGN(_t7_part, 0x3180);

    using _t7Type = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(32, 64);
    TASSIGN(_t7, 0x1000);

    // Function body
    TLOAD(a, xGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TLOAD(b, yGlobal);
    TASSIGN(m_32x1_dnGlobal, m + 0 + 0);
    TLOAD(c, m_32x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TLOAD(d, rGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCVT(_t0_wide, a, RoundMode::CAST_RINT);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    pipe_barrier(PIPE_V);
    TROWEXPANDMUL(_t0, _t0_wide, c);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    TCVT(e_wide, d, RoundMode::CAST_RINT);
    pipe_barrier(PIPE_V);
    TCOLEXPAND(e_spread, e_wide);
    pipe_barrier(PIPE_V);
    TADD(e, _t0, e_spread);
    pipe_barrier(PIPE_V);
    TCVT(_t1_wide, b, RoundMode::CAST_RINT);
    TROWEXPAND(f_0_spread, c);
    pipe_barrier(PIPE_V);
    f_0_bits.SetValidCol(8);
    TCMP(f_0_bits, e, _t1_wide, CmpMode::GT);
    pipe_barrier(PIPE_V);
    TSEL(f_0, f_0_bits, e, f_0_spread, f_0_scratch);
    pipe_barrier(PIPE_V);
    TCVT(_t2_wide, d, RoundMode::CAST_RINT);
    TROWEXPAND(_t2_spread, c);
    pipe_barrier(PIPE_V);
    TCOLEXPAND(_t2_spread1, _t2_wide);
    pipe_barrier(PIPE_V);
    TSUB(_t2, _t2_spread, _t2_spread1);
    pipe_barrier(PIPE_V);
    TCVT(g_wide, a, RoundMode::CAST_RINT);
    pipe_barrier(PIPE_V);
    TDIV(g, _t2, g_wide);
    pipe_barrier(PIPE_V);
    TCVT(_t3_wide, d, RoundMode::CAST_RINT);
    pipe_barrier(PIPE_V);
    TCOLEXPANDMUL(_t3, f_0, _t3_wide);
    pipe_barrier(PIPE_V);
    TCVT(_t4_wide, b, RoundMode::CAST_RINT);
    pipe_barrier(PIPE_V);
    TROWEXPANDSUB(_t4, _t4_wide, c);
    pipe_barrier(PIPE_V);
    TMAX(f_1, _t3, _t4);
    pipe_barrier(PIPE_V);
    TCOLEXPAND(_t5_spread, d);
    pipe_barrier(PIPE_V);
    TOR(_t5, b, _t5_spread);
    pipe_barrier(PIPE_V);
    TCVT(_t6, _t5, RoundMode::CAST_ROUND);
    TADD(_t7_part, f_1, g);
    pipe_barrier(PIPE_V);
    TADD(_t7, _t7_part, _t6);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, _t7);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runElementTypesAndShapes(args);
}
