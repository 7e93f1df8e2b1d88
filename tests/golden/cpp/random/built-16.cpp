#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runK(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using xStrideDim5 = Stride<1, 1, 1, 16, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using yStrideDim5 = Stride<1, 1, 1, 16, 1>;
    using yGlobalType = GlobalTensor<float, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using outStrideDim5 = Stride<1, 1, 1, 16, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using x_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using x_8x16GlobalType = GlobalTensor<float, x_8x16ShapeDim5, x_8x16StrideDim5>;
    x_8x16GlobalType x_8x16Global(x);

    using y_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using y_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using y_8x16GlobalType = GlobalTensor<float, y_8x16ShapeDim5, y_8x16StrideDim5>;
    y_8x16GlobalType y_8x16Global(y);

    using out_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using out_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using out_8x16GlobalType = GlobalTensor<float, out_8x16ShapeDim5, out_8x16StrideDim5>;
    out_8x16GlobalType out_8x16Global(out);

    // Tile type definitions and allocations
    using t1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t1Type t1(8, 16);
    TASSIGN(t1, 0x0);

    using v2Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v2Type v2(16, 8);
    TASSIGN(v2, 0x0);

    using v3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v3Type v3(8, 16);
    TASSIGN(v3, 0x0);

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x200);

    using t5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t5Type t5(8, 16);
    TASSIGN(t5, 0x400);

    using t6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t6Type t6(8, 16);
    TASSIGN(t6, 0x600);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x800);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0xa00);

    using t9Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t9Type t9(8, 16);
    TASSIGN(t9, 0xc00);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0xe00);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x1000);

    using m15_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15_copy0Type m15_copy0(8, 16);
    TASSIGN(m15_copy0, 0x800);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(v2, t1);
    TRESHAPE(v3, v2);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMIN(t4, v3, t1);
    TASSIGN(y_8x16Global, y + 16 * 16 + 0);
    TLOAD(t5, y_8x16Global);
    TMAX(t6, v3, t1);
    pipe_barrier(PIPE_V);
    TMAX(t7, t4, v3);
    TASSIGN(x_8x16Global, x + 16 * 16 + 0);
    TLOAD(t8, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    pipe_barrier(PIPE_V);
    TRELU(t9, t7);
    TASSIGN(y_8x16Global, y + 16 * 16 + 0);
    TLOAD(t10, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    TMAX(t11, t6, t7);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 24 * 16 + 0);
    TSTORE(out_8x16Global, v3);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 8 * 16 + 0);
    TSTORE(out_8x16Global, t10);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    using o14ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o14StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o14GlobalType = GlobalTensor<float, o14ShapeDim5, o14StrideDim5>;
    o14GlobalType o14Global;
    using m15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15Type m15(8, 16);
    TASSIGN(m15, 0x800);
    if (n > 1) {
        o14Global = outGlobal;
        m15 = t7;
    } else {
        pipe_barrier(PIPE_V);
        TMOV(m15_copy0, t8);
        o14Global = outGlobal;
        m15 = m15_copy0;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m15);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
