#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runK(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
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

    using t2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t2Type t2(8, 16);
    TASSIGN(t2, 0x200);

    using t3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t3Type t3(8, 16);
    TASSIGN(t3, 0x400);

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x600);

    using t5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t5Type t5(8, 16);
    TASSIGN(t5, 0x800);

    using t6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t6Type t6(8, 16);
    TASSIGN(t6, 0xa00);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0xc00);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0xe00);

    using v9Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v9Type v9(16, 8);
    TASSIGN(v9, 0x600);

    using v10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v10Type v10(8, 16);
    TASSIGN(v10, 0x600);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x1000);

    using c13_out_copy2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c13_out_copy2Type c13_out_copy2(8, 16);
    TASSIGN(c13_out_copy2, 0x1200);

    using c14_out_copy2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c14_out_copy2Type c14_out_copy2(8, 16);
    TASSIGN(c14_out_copy2, 0x1400);

    using m18_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m18_copy0Type m18_copy0(8, 16);
    TASSIGN(m18_copy0, 0x1600);

    using m18_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m18_copy1Type m18_copy1(8, 16);
    TASSIGN(m18_copy1, 0x1600);

    using m19_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m19_copy1Type m19_copy1(8, 16);
    TASSIGN(m19_copy1, 0x1200);

    using c13_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c13_out_copy1Type c13_out_copy1(8, 16);
    TASSIGN(c13_out_copy1, 0x1200);

    using c14_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c14_out_copy1Type c14_out_copy1(8, 16);
    TASSIGN(c14_out_copy1, 0x1400);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TLOAD(t2, out_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMIN(t3, t1, t2);
    TABS(t4, t2);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    pipe_barrier(PIPE_V);
    TADD(t5, t2, t3);
    pipe_barrier(PIPE_V);
    TSUB(t6, t5, t2);
    TNEG(t7, t2);
    TSUB(t8, t5, t5);
    TRESHAPE(v9, t4);
    TRESHAPE(v10, v9);
    TMAX(t11, t5, t1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 24 * 16 + 0);
    TSTORE(out_8x16Global, t4);
    pipe_barrier(PIPE_V);
    TMOV(c13_out_copy2, t11);
    TMOV(c14_out_copy2, t11);
    using c13_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c13_itType c13_it(8, 16);
    TASSIGN(c13_it, 0x1200);
    c13_it = c13_out_copy2;
    using c14_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c14_itType c14_it(8, 16);
    TASSIGN(c14_it, 0x1400);
    c14_it = c14_out_copy2;
    for (int64_t i16 = 0; i16 < 3; i16 += 1) {
        using o17ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o17StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o17GlobalType = GlobalTensor<float, o17ShapeDim5, o17StrideDim5>;
        o17GlobalType o17Global;
        using m18Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        m18Type m18(8, 16);
        TASSIGN(m18, 0x1600);
        using m19Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        m19Type m19(8, 16);
        TASSIGN(m19, 0x1200);
        if (i16 > 2) {
            TMOV(m18_copy0, t11);
            o17Global = outGlobal;
            m18 = m18_copy0;
            m19 = c13_it;
        } else {
            pipe_barrier(PIPE_V);
            TMOV(m18_copy1, c13_it);
            pipe_barrier(PIPE_V);
            TMOV(m19_copy1, v10);
            o17Global = outGlobal;
            m18 = m18_copy1;
            m19 = m19_copy1;
        }
        pipe_barrier(PIPE_V);
        TMOV(c13_out_copy1, t11);
        TMOV(c14_out_copy1, t11);
        c13_it = c13_out_copy1;
        c14_it = c14_out_copy1;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, c14_it);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
