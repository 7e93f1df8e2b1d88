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

    using c2_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c2_out_copy1Type c2_out_copy1(8, 16);
    TASSIGN(c2_out_copy1, 0x200);

    using c3_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c3_out_copy1Type c3_out_copy1(8, 16);
    TASSIGN(c3_out_copy1, 0x400);

    using c4_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c4_out_copy1Type c4_out_copy1(8, 16);
    TASSIGN(c4_out_copy1, 0x600);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0x800);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0xc00);

    using m10_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m10_copy0Type m10_copy0(8, 16);
    TASSIGN(m10_copy0, 0xa00);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0xe00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0xa00);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0x1000);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x1200);

    using t17Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t17Type t17(8, 16);
    TASSIGN(t17, 0x400);

    using c2_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c2_out_copy0Type c2_out_copy0(8, 16);
    TASSIGN(c2_out_copy0, 0x200);

    using c4_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c4_out_copy0Type c4_out_copy0(8, 16);
    TASSIGN(c4_out_copy0, 0x600);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMOV(c2_out_copy1, t1);
    TMOV(c3_out_copy1, t1);
    TMOV(c4_out_copy1, t1);
    using c2_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c2_itType c2_it(8, 16);
    TASSIGN(c2_it, 0x200);
    c2_it = c2_out_copy1;
    using c3_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c3_itType c3_it(8, 16);
    TASSIGN(c3_it, 0x400);
    c3_it = c3_out_copy1;
    using c4_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c4_itType c4_it(8, 16);
    TASSIGN(c4_it, 0x600);
    c4_it = c4_out_copy1;
    for (int64_t i6 = 0; i6 < n; i6 += 1) {
        using o7ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o7StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o7GlobalType = GlobalTensor<float, o7ShapeDim5, o7StrideDim5>;
        o7GlobalType o7Global;
        if (n > 1) {
            TNEG(t8, t1);
            using o9ShapeDim5 = Shape<1, 1, 1, 32, 16>;
            using o9StrideDim5 = Stride<1, 1, 1, 16, 1>;
            using o9GlobalType = GlobalTensor<float, o9ShapeDim5, o9StrideDim5>;
            o9GlobalType o9Global;
            using m10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m10Type m10(8, 16);
            TASSIGN(m10, 0xa00);
            if (i6 > 2) {
                TASSIGN(out_8x16Global, out + i6 * 8 * 16 + 0);
                TLOAD(t11, out_8x16Global);
                pipe_barrier(PIPE_V);
                TMOV(m10_copy0, c2_it);
                o9Global = outGlobal;
                m10 = m10_copy0;
            } else {
                pipe_barrier(PIPE_V);
                TMIN(t12, t8, t1);
                TSUB(t13, c4_it, t8);
                o9Global = outGlobal;
                m10 = t13;
            }
            pipe_barrier(PIPE_V);
            TMIN(t14, m10, c3_it);
            o7Global = o9Global;
        } else {
            TASSIGN(y_8x16Global, y + 16 * 16 + 0);
            TLOAD(t15, y_8x16Global);
            o7Global = outGlobal;
        }
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x16Global, out + 16 * 16 + 0);
        TSTORE(out_8x16Global, t1);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TADD(t17, c2_it, c3_it);
        pipe_barrier(PIPE_V);
        TMOV(c2_out_copy0, t1);
        TMOV(c4_out_copy0, t1);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        c2_it = c2_out_copy0;
        c3_it = t17;
        c4_it = c4_out_copy0;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, c4_it);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
