#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runCastsByWay(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* x = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<int8_t, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 64);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, half, 16, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 64);
    TASSIGN(_t1, 0x400);

    using _t2Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 64);
    TASSIGN(_t2, 0xc00);

    using _t3Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 64);
    TASSIGN(_t3, 0x1c00);

    // Function body
    TLOAD(_t0, xGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCVT(_t1, _t0, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TCVT(_t2, _t1, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TMULS(_t3, _t2, 0.125f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, _t3);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runCastsByWay(args);
}
