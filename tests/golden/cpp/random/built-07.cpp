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

    using t2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t2Type t2(8, 16);
    TASSIGN(t2, 0x200);

    using t3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t3Type t3(8, 16);
    TASSIGN(t3, 0x400);

    using c7_out_copy3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c7_out_copy3Type c7_out_copy3(8, 16);
    TASSIGN(c7_out_copy3, 0x600);

    using c8_out_copy3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_out_copy3Type c8_out_copy3(8, 16);
    TASSIGN(c8_out_copy3, 0x800);

    using m11_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11_copy0Type m11_copy0(8, 16);
    TASSIGN(m11_copy0, 0xa00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0xc00);

    using m11_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11_copy1Type m11_copy1(8, 16);
    TASSIGN(m11_copy1, 0xa00);

    using m15_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15_copy1Type m15_copy1(8, 16);
    TASSIGN(m15_copy1, 0x800);

    using m16_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m16_copy1Type m16_copy1(8, 16);
    TASSIGN(m16_copy1, 0x0);

    using m15_copy2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m15_copy2Type m15_copy2(8, 16);
    TASSIGN(m15_copy2, 0x800);

    using c7_out_copy2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c7_out_copy2Type c7_out_copy2(8, 16);
    TASSIGN(c7_out_copy2, 0x600);

    using c6_out_copy2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c6_out_copy2Type c6_out_copy2(8, 16);
    TASSIGN(c6_out_copy2, 0x0);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TABS(t2, t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TLOAD(t3, out_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    using o4ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o4StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o4GlobalType = GlobalTensor<float, o4ShapeDim5, o4StrideDim5>;
    o4GlobalType o4Global;
    if (n > 0) {
        TASSIGN(out_8x16Global, out + 8 * 16 + 0);
        TSTORE(out_8x16Global, t2);
        o4Global = outGlobal;
    } else {
        TMOV(c7_out_copy3, t3);
        TMOV(c8_out_copy3, t1);
        int64_t count = 0;
        using c6_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c6_itType c6_it(8, 16);
        TASSIGN(c6_it, 0x0);
        c6_it = t1;
        using c7_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c7_itType c7_it(8, 16);
        TASSIGN(c7_it, 0x600);
        c7_it = c7_out_copy3;
        using c8_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c8_itType c8_it(8, 16);
        TASSIGN(c8_it, 0x800);
        c8_it = c8_out_copy3;
        while (count < 1) {
            using o10ShapeDim5 = Shape<1, 1, 1, 32, 16>;
            using o10StrideDim5 = Stride<1, 1, 1, 16, 1>;
            using o10GlobalType = GlobalTensor<float, o10ShapeDim5, o10StrideDim5>;
            o10GlobalType o10Global;
            using m11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m11Type m11(8, 16);
            TASSIGN(m11, 0xa00);
            if (n > 0) {
                TMOV(m11_copy0, t3);
                o10Global = outGlobal;
                m11 = m11_copy0;
            } else {
                pipe_barrier(PIPE_ALL);
                TASSIGN(out_8x16Global, out + 0 * 16 + 0);
                TSTORE(out_8x16Global, t2);
                TSUB(t13, c7_it, c8_it);
                TMOV(m11_copy1, t3);
                o10Global = outGlobal;
                m11 = m11_copy1;
            }
            using o14ShapeDim5 = Shape<1, 1, 1, 32, 16>;
            using o14StrideDim5 = Stride<1, 1, 1, 16, 1>;
            using o14GlobalType = GlobalTensor<float, o14ShapeDim5, o14StrideDim5>;
            o14GlobalType o14Global;
            using m15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m15Type m15(8, 16);
            TASSIGN(m15, 0x800);
            using m16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m16Type m16(8, 16);
            TASSIGN(m16, 0x0);
            if (n > 1) {
                pipe_barrier(PIPE_V);
                TMOV(m15_copy1, t3);
                TMOV(m16_copy1, m11);
                o14Global = o10Global;
                m15 = m15_copy1;
                m16 = m16_copy1;
            } else {
                pipe_barrier(PIPE_V);
                TMOV(m15_copy2, m11);
                o14Global = o10Global;
                m15 = m15_copy2;
                m16 = c6_it;
            }
            pipe_barrier(PIPE_V);
            TMOV(c7_out_copy2, m16);
            pipe_barrier(PIPE_V);
            TMOV(c6_out_copy2, m11);
            int64_t count_next = count + 1;
            c6_it = c6_out_copy2;
            c7_it = c7_out_copy2;
            c8_it = m15;
            count = count_next;
        }
        o4Global = outGlobal;
    }
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t3);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
