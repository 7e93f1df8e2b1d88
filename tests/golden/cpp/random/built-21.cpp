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

    using v3Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v3Type v3(16, 8);
    TASSIGN(v3, 0x0);

    using v4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v4Type v4(8, 16);
    TASSIGN(v4, 0x0);

    using v5Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v5Type v5(16, 8);
    TASSIGN(v5, 0x0);

    using v6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v6Type v6(8, 16);
    TASSIGN(v6, 0x0);

    using c7_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c7_out_copy1Type c7_out_copy1(8, 16);
    TASSIGN(c7_out_copy1, 0x200);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x200);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0x600);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x800);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0x400);

    using c17_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c17_out_copy1Type c17_out_copy1(8, 16);
    TASSIGN(c17_out_copy1, 0xa00);

    using t21Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t21Type t21(8, 16);
    TASSIGN(t21, 0xc00);

    using c17_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c17_out_copy0Type c17_out_copy0(8, 16);
    TASSIGN(c17_out_copy0, 0xa00);

    using c18_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c18_out_copy0Type c18_out_copy0(8, 16);
    TASSIGN(c18_out_copy0, 0x400);

    using m13_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m13_copy1Type m13_copy1(8, 16);
    TASSIGN(m13_copy1, 0x400);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    TRESHAPE(v3, t1);
    TRESHAPE(v4, v3);
    TRESHAPE(v5, t1);
    TRESHAPE(v6, v5);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMOV(c7_out_copy1, t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    using c7_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c7_itType c7_it(8, 16);
    TASSIGN(c7_it, 0x200);
    c7_it = c7_out_copy1;
    for (int64_t i9 = 0; i9 < 0; i9 += 1) {
        TASSIGN(out_8x16Global, out + i9 * 8 * 16 + 0);
        TSTORE(out_8x16Global, t1);
        TMIN(t11, t1, c7_it);
        using o12ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o12StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o12GlobalType = GlobalTensor<float, o12ShapeDim5, o12StrideDim5>;
        o12GlobalType o12Global;
        using m13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        m13Type m13(8, 16);
        TASSIGN(m13, 0x400);
        if (n > 1) {
            TASSIGN(out_8x16Global, out + (i9 + 1) * 8 * 16 + 0);
            TLOAD(t14, out_8x16Global);
            TRELU(t15, t1);
            TASSIGN(x_8x16Global, x + (i9 + 1) * 8 * 16 + 0);
            TLOAD(t16, x_8x16Global);
            TMOV(c17_out_copy1, t15);
            using c17_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c17_itType c17_it(8, 16);
            TASSIGN(c17_it, 0xa00);
            c17_it = c17_out_copy1;
            using c18_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c18_itType c18_it(8, 16);
            TASSIGN(c18_it, 0x400);
            c18_it = t16;
            for (int64_t i20 = 0; i20 < 1; i20 += 1) {
                TASSIGN(y_8x16Global, y + i9 * 8 * 16 + 0);
                TLOAD(t21, y_8x16Global);
                TMOV(c17_out_copy0, t15);
                TMOV(c18_out_copy0, t15);
                c17_it = c17_out_copy0;
                c18_it = c18_out_copy0;
            }
            o12Global = outGlobal;
            m13 = c18_it;
        } else {
            TMOV(m13_copy1, t1);
            o12Global = outGlobal;
            m13 = m13_copy1;
        }
        c7_it = t11;
    }
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, c7_it);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
