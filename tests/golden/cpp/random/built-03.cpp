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

    using y_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using y_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using y_8x16GlobalType = GlobalTensor<float, y_8x16ShapeDim5, y_8x16StrideDim5>;
    y_8x16GlobalType y_8x16Global(y);

    // Tile type definitions and allocations
    using t1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t1Type t1(8, 16);
    TASSIGN(t1, 0x0);

    using c6_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c6_out_copy0Type c6_out_copy0(8, 16);
    TASSIGN(c6_out_copy0, 0x400);

    using v9Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v9Type v9(16, 8);
    TASSIGN(v9, 0x400);

    using v10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v10Type v10(8, 16);
    TASSIGN(v10, 0x400);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x600);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0x400);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0x800);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0xa00);

    using v15Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v15Type v15(16, 8);
    TASSIGN(v15, 0xa00);

    using v16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v16Type v16(8, 16);
    TASSIGN(v16, 0xa00);

    using t18Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t18Type t18(8, 16);
    TASSIGN(t18, 0xc00);

    using m4_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m4_copy0Type m4_copy0(8, 16);
    TASSIGN(m4_copy0, 0x200);

    using m4_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m4_copy1Type m4_copy1(8, 16);
    TASSIGN(m4_copy1, 0x200);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using o2ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o2StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o2GlobalType = GlobalTensor<float, o2ShapeDim5, o2StrideDim5>;
    o2GlobalType o2Global;
    using m3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m3Type m3(8, 16);
    TASSIGN(m3, 0x0);
    using m4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m4Type m4(8, 16);
    TASSIGN(m4, 0x200);
    if (n > 1) {
        using o5ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o5StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o5GlobalType = GlobalTensor<float, o5ShapeDim5, o5StrideDim5>;
        o5GlobalType o5Global;
        if (n > 1) {
            TMOV(c6_out_copy0, t1);
            using c6_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c6_itType c6_it(8, 16);
            TASSIGN(c6_it, 0x400);
            c6_it = c6_out_copy0;
            for (int64_t i8 = 0; i8 < n; i8 += 1) {
                TRESHAPE(v9, c6_it);
                TRESHAPE(v10, v9);
                pipe_barrier(PIPE_V);
                TNEG(t11, v10);
                pipe_barrier(PIPE_V);
                TRELU(t12, t11);
                pipe_barrier(PIPE_ALL);
                TASSIGN(out_8x16Global, out + i8 * 8 * 16 + 0);
                TLOAD(t13, out_8x16Global);
                c6_it = t12;
            }
            TASSIGN(y_8x16Global, y + 16 * 16 + 0);
            TLOAD(t14, y_8x16Global);
            TRESHAPE(v15, t14);
            TRESHAPE(v16, v15);
            o5Global = outGlobal;
        } else {
            TASSIGN(out_8x16Global, out + 24 * 16 + 0);
            TSTORE(out_8x16Global, t1);
            TABS(t18, t1);
            o5Global = outGlobal;
        }
        TMOV(m4_copy0, t1);
        o2Global = o5Global;
        m3 = t1;
        m4 = m4_copy0;
    } else {
        TMOV(m4_copy1, t1);
        o2Global = outGlobal;
        m3 = t1;
        m4 = m4_copy1;
    }
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m4);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
