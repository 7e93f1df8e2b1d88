#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runIntegerTypesAndShapes(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int16_t* x = reinterpret_cast<__gm__ int16_t*>(args[0]);
    __gm__ uint16_t* y = reinterpret_cast<__gm__ uint16_t*>(args[1]);
    __gm__ uint16_t* m = reinterpret_cast<__gm__ uint16_t*>(args[2]);
    __gm__ int16_t* r = reinterpret_cast<__gm__ int16_t*>(args[3]);
    __gm__ int16_t* out = reinterpret_cast<__gm__ int16_t*>(args[4]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<int16_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<uint16_t, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using mShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using mStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using mGlobalType = GlobalTensor<uint16_t, mShapeDim5, mStrideDim5>;
    mGlobalType mGlobal(m);

    using rShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using rStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using rGlobalType = GlobalTensor<int16_t, rShapeDim5, rStrideDim5>;
    rGlobalType rGlobal(r);

    using outShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<int16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using m_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using m_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using m_32x1_dnGlobalType = GlobalTensor<uint16_t, m_32x1_dnShapeDim5, m_32x1_dnStrideDim5, Layout::DN>;
    m_32x1_dnGlobalType m_32x1_dnGlobal(m);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    aType a(32, 64);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Vec, uint16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    bType b(32, 64);
    TASSIGN(b, 0x1000);

    using cType = Tile<TileType::Vec, uint16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    cType c(32, 1);
    TASSIGN(c, 0x2000);

    using dType = Tile<TileType::Vec, int16_t, 1, 64, BLayout::RowMajor, -1, -1>;
    dType d(1, 64);
    TASSIGN(d, 0x2040);

    using _t0_wideType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0_wideType _t0_wide(32, 64);
    TASSIGN(_t0_wide, 0x1000);

    using _t0Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(32, 64);
    TASSIGN(_t0, 0x20c0);

    using _t1_wideType = Tile<TileType::Vec, int16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1_wideType _t1_wide(32, 1);
    TASSIGN(_t1_wide, 0x2000);

    using _t1_spreadType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t1_spreadType _t1_spread(32, 64);
    TASSIGN(_t1_spread, 0x30c0);

    using _t1Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(32, 64);
    TASSIGN(_t1, 0x40c0);

    using _t2Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(32, 64);
    TASSIGN(_t2, 0x50c0);

    using e_roomType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    e_roomType e_room(32, 64);
    TASSIGN(e_room, 0x60c0);

    using e_spreadType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    e_spreadType e_spread(32, 64);
    TASSIGN(e_spread, 0x70c0);

    using eType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    eType e(32, 64);
    TASSIGN(e, 0x80c0);

    using _t3_wideType = Tile<TileType::Vec, int16_t, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t3_wideType _t3_wide(32, 1);
    TASSIGN(_t3_wide, 0x2000);

    using _t3_spreadType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t3_spreadType _t3_spread(32, 64);
    TASSIGN(_t3_spread, 0x90c0);

    using _t3Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(32, 64);
    TASSIGN(_t3, 0xa0c0);

    using _t4_wideType = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t4_wideType _t4_wide(32, 64);
    TASSIGN(_t4_wide, 0x1000);

    using _t4Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(32, 64);
    TASSIGN(_t4, 0xb0c0);

    using _t5Type = Tile<TileType::Vec, int16_t, 32, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(32, 64);
    TASSIGN(_t5, 0xc0c0);

    // Function body
    TLOAD(a, xGlobal);
    TLOAD(b, yGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TASSIGN(m_32x1_dnGlobal, m + 0 + 0);
    TLOAD(c, m_32x1_dnGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TLOAD(d, rGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    TRESHAPE(_t0_wide, b);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(_t0, a, _t0_wide);
    TRESHAPE(_t1_wide, c);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TROWEXPAND(_t1_spread, _t1_wide);
    pipe_barrier(PIPE_V);
    TMIN(_t1, _t0, _t1_spread);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    TCOLEXPAND(e_spread, d);
    pipe_barrier(PIPE_V);
    TXOR(e, _t1, e_spread, _t2);
    TRESHAPE(_t3_wide, c);
    TROWEXPAND(_t3_spread, _t3_wide);
    pipe_barrier(PIPE_V);
    TSHL(_t3, e, _t3_spread);
    TRESHAPE(_t4_wide, b);
    TCOLEXPANDMUL(_t4, _t4_wide, d);
    pipe_barrier(PIPE_V);
    TSUB(_t5, _t3, _t4);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, _t5);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runIntegerTypesAndShapes(args);
}
