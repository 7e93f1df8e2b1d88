#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRowAndColumnResults(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* r = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* c = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using rShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using rStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using rGlobalType = GlobalTensor<float, rShapeDim5, rStrideDim5>;
    rGlobalType rGlobal(r);

    using cShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using cStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using cGlobalType = GlobalTensor<float, cShapeDim5, cStrideDim5>;
    cGlobalType cGlobal(c);

    using r_32x1_dnShapeDim5 = Shape<1, 1, 1, 32, 1>;
    using r_32x1_dnStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using r_32x1_dnGlobalType = GlobalTensor<float, r_32x1_dnShapeDim5, r_32x1_dnStrideDim5, Layout::DN>;
    r_32x1_dnGlobalType r_32x1_dnGlobal(r);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    tileType tile(32, 64);
    TASSIGN(tile, 0x0);

    using _t0_scratchType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    _t0_scratchType _t0_scratch(32, 64);
    TASSIGN(_t0_scratch, 0x2000);

    using _t0Type = Tile<TileType::Vec, float, 32, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t0Type _t0(32, 1);
    TASSIGN(_t0, 0x4000);

    using _t1Type = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(1, 64);
    TASSIGN(_t1, 0x4080);

    // Function body
    TLOAD(tile, xGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TROWSUM(_t0, tile, _t0_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(r_32x1_dnGlobal, r + 0 + 0);
    TSTORE(r_32x1_dnGlobal, _t0);
    TCOLSUM(_t1, tile);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TSTORE(cGlobal, _t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRowAndColumnResults(args);
}
