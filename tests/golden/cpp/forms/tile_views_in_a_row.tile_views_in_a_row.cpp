#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'%' by zero");
        return 0;
    }
    if (b == -1) {
        return 0;
    }
#endif
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

__aicore__ __attribute__((always_inline)) void runTileViewsInARow(__gm__ int64_t* args)
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

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_1x64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using out_1x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_1x64GlobalType = GlobalTensor<float, out_1x64ShapeDim5, out_1x64StrideDim5>;
    out_1x64GlobalType out_1x64Global(out);

    using out_1x32ShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using out_1x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_1x32GlobalType = GlobalTensor<float, out_1x32ShapeDim5, out_1x32StrideDim5>;
    out_1x32GlobalType out_1x32Global(out);

    using out_1x16ShapeDim5 = Shape<1, 1, 1, 1, 16>;
    using out_1x16StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_1x16GlobalType = GlobalTensor<float, out_1x16ShapeDim5, out_1x16StrideDim5>;
    out_1x16GlobalType out_1x16Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 64);
    TASSIGN(tile, 0x0);

    using rowsType = Tile<TileType::Vec, float, 4, 64, BLayout::RowMajor, -1, -1>;
    rowsType rows(4, 64);
    TASSIGN(rows, 0x0);

    using rowType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    rowType row(1, 64);
    TASSIGN(row, 0x0);

    using flatType = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
    flatType flat(1, 256);
    TASSIGN(flat, 0x0);

    using partType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    partType part(1, 32);
    TASSIGN(part, 0x0);

    using againType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    againType again(1, 16);
    TASSIGN(again, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(1, 64);
    TASSIGN(_t0, 0x800);

    using _t1Type = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(1, 32);
    TASSIGN(_t1, 0x900);

    using _t2Type = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(1, 16);
    TASSIGN(_t2, 0x980);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(tile, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUBVIEW(rows, tile, floor_mod(n, 5), 0);
    TSUBVIEW(row, rows, 3 - floor_mod(n, 3), 0);
    TRESHAPE(flat, rows);
    TSUBVIEW(part, flat, 0, n * 16);
    TSUBVIEW(again, part, 0, floor_mod(n, 3) * 8);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMULS(_t0, row, 2.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_1x64Global, out + 0 * 64 + 0);
    TSTORE(out_1x64Global, _t0);
    TADDS(_t1, part, 1.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_1x32Global, out + 1 * 64 + 0);
    TSTORE(out_1x32Global, _t1);
    TADDS(_t2, again, 2.0f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    TASSIGN(out_1x16Global, out + 2 * 64 + 0);
    TSTORE(out_1x16Global, _t2);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runTileViewsInARow(args);
}
