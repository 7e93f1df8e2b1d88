#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runTileViews(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_32x64ShapeDim5 = Shape<1, 1, 1, 32, 64>;
    using x_32x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_32x64GlobalType = GlobalTensor<float, x_32x64ShapeDim5, x_32x64StrideDim5>;
    x_32x64GlobalType x_32x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    using out_2x64ShapeDim5 = Shape<1, 1, 1, 2, 64>;
    using out_2x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_2x64GlobalType = GlobalTensor<float, out_2x64ShapeDim5, out_2x64StrideDim5>;
    out_2x64GlobalType out_2x64Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 32, 64, BLayout::RowMajor, -1, -1>;
    tileType tile(32, 64);
    TASSIGN(tile, 0x0);

    using partType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    partType part(8, 64);
    TASSIGN(part, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x2000);

    using lastType = Tile<TileType::Vec, float, 2, 64, BLayout::RowMajor, -1, -1>;
    lastType last(2, 64);
    TASSIGN(last, 0x0);

    using _t1Type = Tile<TileType::Vec, float, 2, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(2, 64);
    TASSIGN(_t1, 0x2800);

    // Function body
    TASSIGN(x_32x64Global, x + 0 * 64 + 0);
    TLOAD(tile, x_32x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    for (int64_t i = 0; i < 4; i += 1) {
        TSUBVIEW(part, tile, i * 8, 0);
        TEXP(_t0, part);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x64Global, out + i * 8 * 64 + 0);
        TSTORE(out_8x64Global, _t0);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    TSUBVIEW(last, tile, n, 0);
    TADDS(_t1, last, 1.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_2x64Global, out + 62 * 64 + 0);
    TSTORE(out_2x64Global, _t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runTileViews(args);
}
