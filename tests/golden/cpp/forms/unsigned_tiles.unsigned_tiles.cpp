#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runUnsignedTiles(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint16_t* x = reinterpret_cast<__gm__ uint16_t*>(args[0]);
    __gm__ uint16_t* out = reinterpret_cast<__gm__ uint16_t*>(args[1]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<uint16_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<uint16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    aType a(16, 64);
    TASSIGN(a, 0x0);

    using _t0Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 64);
    TASSIGN(_t0, 0x800);

    using _t1Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 64);
    TASSIGN(_t1, 0x1000);

    using bType = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    bType b(16, 64);
    TASSIGN(b, 0x1800);

    using _t2Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 64);
    TASSIGN(_t2, 0x2000);

    using _t3Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 64);
    TASSIGN(_t3, 0x2800);

    using _t4Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 64);
    TASSIGN(_t4, 0x3000);

    using _t5Type = Tile<TileType::Vec, uint16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 64);
    TASSIGN(_t5, 0x3800);

    // Function body
    TLOAD(a, xGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TANDS(_t0, a, 255);
    TSHLS(_t1, a, 3);
    pipe_barrier(PIPE_V);
    TOR(b, _t0, _t1);
    pipe_barrier(PIPE_V);
    TSHRS(_t2, b, 1);
    TMULS(_t3, a, 3);
    pipe_barrier(PIPE_V);
    TADD(_t4, _t2, _t3);
    pipe_barrier(PIPE_V);
    TSUBS(_t5, _t4, 7);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, _t5);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runUnsignedTiles(args);
}
