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

    using t6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t6Type t6(8, 16);
    TASSIGN(t6, 0x400);

    using v12Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v12Type v12(16, 8);
    TASSIGN(v12, 0x0);

    using v13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v13Type v13(8, 16);
    TASSIGN(v13, 0x0);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0xa00);

    using m10_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m10_copy0Type m10_copy0(8, 16);
    TASSIGN(m10_copy0, 0x600);

    using m11_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11_copy0Type m11_copy0(8, 16);
    TASSIGN(m11_copy0, 0x800);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0xc00);

    using m10_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m10_copy1Type m10_copy1(8, 16);
    TASSIGN(m10_copy1, 0x600);

    using m11_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11_copy1Type m11_copy1(8, 16);
    TASSIGN(m11_copy1, 0x800);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 24 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using o4ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o4StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o4GlobalType = GlobalTensor<float, o4ShapeDim5, o4StrideDim5>;
    o4GlobalType o4Global;
    if (n > 1) {
        TASSIGN(out_8x16Global, out + 8 * 16 + 0);
        TLOAD(t5, out_8x16Global);
        TMAX(t6, t1, t1);
        o4Global = outGlobal;
    } else {
        for (int64_t i8 = 0; i8 < 2; i8 += 1) {
            using o9ShapeDim5 = Shape<1, 1, 1, 32, 16>;
            using o9StrideDim5 = Stride<1, 1, 1, 16, 1>;
            using o9GlobalType = GlobalTensor<float, o9ShapeDim5, o9StrideDim5>;
            o9GlobalType o9Global;
            using m10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m10Type m10(8, 16);
            TASSIGN(m10, 0x600);
            using m11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            m11Type m11(8, 16);
            TASSIGN(m11, 0x800);
            if (n > 2) {
                TRESHAPE(v12, t1);
                TRESHAPE(v13, v12);
                TASSIGN(out_8x16Global, out + i8 * 8 * 16 + 0);
                TLOAD(t14, out_8x16Global);
                set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
                wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
                TASSIGN(out_8x16Global, out + 0 * 16 + 0);
                TSTORE(out_8x16Global, t14);
                pipe_barrier(PIPE_V);
                TMOV(m10_copy0, v13);
                TMOV(m11_copy0, v13);
                o9Global = outGlobal;
                m10 = m10_copy0;
                m11 = m11_copy0;
            } else {
                pipe_barrier(PIPE_V);
                TSUB(t16, t1, t1);
                TMOV(m10_copy1, t1);
                TMOV(m11_copy1, t1);
                o9Global = outGlobal;
                m10 = m10_copy1;
                m11 = m11_copy1;
            }
            set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID2);
            wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID2);
            set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        }
        o4Global = outGlobal;
    }
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
