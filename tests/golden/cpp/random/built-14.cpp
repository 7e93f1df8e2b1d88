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

    using out_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using out_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using out_8x16GlobalType = GlobalTensor<float, out_8x16ShapeDim5, out_8x16StrideDim5>;
    out_8x16GlobalType out_8x16Global(out);

    // Tile type definitions and allocations
    using t1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t1Type t1(8, 16);
    TASSIGN(t1, 0x0);

    using t5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t5Type t5(8, 16);
    TASSIGN(t5, 0x200);

    using v6Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v6Type v6(16, 8);
    TASSIGN(v6, 0x200);

    using v7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v7Type v7(8, 16);
    TASSIGN(v7, 0x200);

    using m4_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m4_copy0Type m4_copy0(8, 16);
    TASSIGN(m4_copy0, 0x400);

    using t9Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t9Type t9(8, 16);
    TASSIGN(t9, 0x600);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0x400);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x800);

    using m3_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m3_copy0Type m3_copy0(8, 16);
    TASSIGN(m3_copy0, 0x200);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0xa00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0xc00);

    using v17Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v17Type v17(16, 8);
    TASSIGN(v17, 0xc00);

    using v18Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v18Type v18(8, 16);
    TASSIGN(v18, 0xc00);

    using m15_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15_copy0Type m15_copy0(8, 16);
    TASSIGN(m15_copy0, 0x400);

    using m16_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m16_copy0Type m16_copy0(8, 16);
    TASSIGN(m16_copy0, 0xa00);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using o2ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o2StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o2GlobalType = GlobalTensor<float, o2ShapeDim5, o2StrideDim5>;
    o2GlobalType o2Global;
    using m3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m3Type m3(8, 16);
    TASSIGN(m3, 0x200);
    using m4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m4Type m4(8, 16);
    TASSIGN(m4, 0x400);
    if (n > 1) {
        TMAX(t5, t1, t1);
        TRESHAPE(v6, t5);
        TRESHAPE(v7, v6);
        TASSIGN(out_8x16Global, out + 8 * 16 + 0);
        TSTORE(out_8x16Global, t1);
        pipe_barrier(PIPE_V);
        TMOV(m4_copy0, t5);
        o2Global = outGlobal;
        m3 = t5;
        m4 = m4_copy0;
    } else {
        TMAX(t9, t1, t1);
        TNEG(t10, t1);
        TASSIGN(out_8x16Global, out + 0 * 16 + 0);
        TLOAD(t11, out_8x16Global);
        TMOV(m3_copy0, t1);
        o2Global = outGlobal;
        m3 = m3_copy0;
        m4 = t10;
    }
    pipe_barrier(PIPE_V);
    TMIN(t12, m3, m3);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TLOAD(t13, out_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    using o14ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o14StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o14GlobalType = GlobalTensor<float, o14ShapeDim5, o14StrideDim5>;
    o14GlobalType o14Global;
    using m15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15Type m15(8, 16);
    TASSIGN(m15, 0x400);
    using m16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m16Type m16(8, 16);
    TASSIGN(m16, 0xa00);
    if (n > 0) {
        TRESHAPE(v17, t13);
        TRESHAPE(v18, v17);
        o14Global = o2Global;
        m15 = m4;
        m16 = t12;
    } else {
        using o19ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o19StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o19GlobalType = GlobalTensor<float, o19ShapeDim5, o19StrideDim5>;
        o19GlobalType o19Global;
        if (n > 1) {
            o19Global = o2Global;
        } else {
            o19Global = o2Global;
        }
        TMOV(m15_copy0, t1);
        pipe_barrier(PIPE_V);
        TMOV(m16_copy0, t1);
        o14Global = o19Global;
        m15 = m15_copy0;
        m16 = m16_copy0;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m16);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
