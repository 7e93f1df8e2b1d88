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

    using t2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t2Type t2(8, 16);
    TASSIGN(t2, 0x200);

    using t3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t3Type t3(8, 16);
    TASSIGN(t3, 0x400);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x800);

    using c8_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_out_copy0Type c8_out_copy0(8, 16);
    TASSIGN(c8_out_copy0, 0x200);

    using c12_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c12_out_copy1Type c12_out_copy1(8, 16);
    TASSIGN(c12_out_copy1, 0x600);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0xa00);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0xc00);

    using c12_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c12_out_copy0Type c12_out_copy0(8, 16);
    TASSIGN(c12_out_copy0, 0x600);

    using c21_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c21_out_copy1Type c21_out_copy1(8, 16);
    TASSIGN(c21_out_copy1, 0xe00);

    using t24Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t24Type t24(8, 16);
    TASSIGN(t24, 0x1000);

    using c21_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c21_out_copy0Type c21_out_copy0(8, 16);
    TASSIGN(c21_out_copy0, 0xe00);

    using c20_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c20_out_copy0Type c20_out_copy0(8, 16);
    TASSIGN(c20_out_copy0, 0x400);

    using c17_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c17_out_copy1Type c17_out_copy1(8, 16);
    TASSIGN(c17_out_copy1, 0x400);

    using m5_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m5_copy1Type m5_copy1(8, 16);
    TASSIGN(m5_copy1, 0x600);

    using m6_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m6_copy1Type m6_copy1(8, 16);
    TASSIGN(m6_copy1, 0x400);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    TASSIGN(x_8x16Global, x + 8 * 16 + 0);
    TLOAD(t2, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(t3, t2, t1);
    using o4ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o4StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o4GlobalType = GlobalTensor<float, o4ShapeDim5, o4StrideDim5>;
    o4GlobalType o4Global;
    using m5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m5Type m5(8, 16);
    TASSIGN(m5, 0x600);
    using m6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m6Type m6(8, 16);
    TASSIGN(m6, 0x400);
    if (n > 1) {
        using c7_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c7_itType c7_it(8, 16);
        TASSIGN(c7_it, 0x400);
        c7_it = t3;
        using c8_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c8_itType c8_it(8, 16);
        TASSIGN(c8_it, 0x200);
        c8_it = t2;
        for (int64_t i10 = 0; i10 < 3; i10 += 1) {
            pipe_barrier(PIPE_ALL);
            TASSIGN(y_8x16Global, y + (i10 + 1) * 8 * 16 + 0);
            TLOAD(t11, y_8x16Global);
            TMOV(c8_out_copy0, c7_it);
            c8_it = c8_out_copy0;
        }
        pipe_barrier(PIPE_V);
        TMOV(c12_out_copy1, c8_it);
        using c12_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c12_itType c12_it(8, 16);
        TASSIGN(c12_it, 0x600);
        c12_it = c12_out_copy1;
        for (int64_t i14 = 0; i14 < 1; i14 += 1) {
            TASSIGN(x_8x16Global, x + (i14 + 1) * 8 * 16 + 0);
            TLOAD(t15, x_8x16Global);
            TRELU(t16, c8_it);
            pipe_barrier(PIPE_V);
            TMOV(c12_out_copy0, c8_it);
            c12_it = c12_out_copy0;
        }
        using c17_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c17_itType c17_it(8, 16);
        TASSIGN(c17_it, 0x400);
        c17_it = c7_it;
        for (int64_t i19 = 0; i19 < n; i19 += 1) {
            TMOV(c21_out_copy1, c8_it);
            using c20_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c20_itType c20_it(8, 16);
            TASSIGN(c20_it, 0x400);
            c20_it = c17_it;
            using c21_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c21_itType c21_it(8, 16);
            TASSIGN(c21_it, 0xe00);
            c21_it = c21_out_copy1;
            for (int64_t i23 = 0; i23 < 2; i23 += 1) {
                pipe_barrier(PIPE_V);
                TABS(t24, c20_it);
                TMOV(c21_out_copy0, c20_it);
                pipe_barrier(PIPE_V);
                TMOV(c20_out_copy0, c12_it);
                c20_it = c20_out_copy0;
                c21_it = c21_out_copy0;
            }
            pipe_barrier(PIPE_V);
            TMOV(c17_out_copy1, c12_it);
            c17_it = c17_out_copy1;
        }
        o4Global = outGlobal;
        m5 = c12_it;
        m6 = c17_it;
    } else {
        pipe_barrier(PIPE_V);
        TMOV(m5_copy1, t3);
        pipe_barrier(PIPE_V);
        TMOV(m6_copy1, t2);
        o4Global = outGlobal;
        m5 = m5_copy1;
        m6 = m6_copy1;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m6);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
