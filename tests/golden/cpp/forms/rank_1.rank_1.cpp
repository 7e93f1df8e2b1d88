#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runRank1(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ half* x = reinterpret_cast<__gm__ half*>(args[0]);
    int64_t n = args[1];
    __gm__ half* out = reinterpret_cast<__gm__ half*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using xStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using xGlobalType = GlobalTensor<half, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<half, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using x_64StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using x_64GlobalType = GlobalTensor<half, x_64ShapeDim5, x_64StrideDim5>;
    x_64GlobalType x_64Global(x);

    using out_64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using out_64StrideDim5 = Stride<1, 1, 1, 1, 1>;
    using out_64GlobalType = GlobalTensor<half, out_64ShapeDim5, out_64StrideDim5>;
    out_64GlobalType out_64Global(out);

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, half, 1, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(1, 64);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, half, 1, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(1, 64);
    TASSIGN(_t1, 0x80);

    // Function body
    TASSIGN(x_64Global, x + n);
    TLOAD(_t0, x_64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TEXP(_t1, _t0);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_64Global, out + n + 64);
    TSTORE(out_64Global, _t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRank1(args);
}
