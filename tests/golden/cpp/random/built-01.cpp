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

    using t6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t6Type t6(8, 16);
    TASSIGN(t6, 0x200);

    using v7Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v7Type v7(16, 8);
    TASSIGN(v7, 0x0);

    using v8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v8Type v8(8, 16);
    TASSIGN(v8, 0x0);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0x400);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0x600);

    using v12Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v12Type v12(16, 8);
    TASSIGN(v12, 0x600);

    using v13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v13Type v13(8, 16);
    TASSIGN(v13, 0x600);

    using c14_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c14_out_copy1Type c14_out_copy1(8, 16);
    TASSIGN(c14_out_copy1, 0x800);

    using t17Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t17Type t17(8, 16);
    TASSIGN(t17, 0xa00);

    using t18Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t18Type t18(8, 16);
    TASSIGN(t18, 0xc00);

    using c14_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c14_out_copy0Type c14_out_copy0(8, 16);
    TASSIGN(c14_out_copy0, 0x800);

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
    if (n > 0) {
        TRESHAPE(v3, t1);
        TRESHAPE(v4, v3);
        TASSIGN(out_8x16Global, out + 24 * 16 + 0);
        TSTORE(out_8x16Global, t1);
        TASSIGN(y_8x16Global, y + 0 * 16 + 0);
        TLOAD(t6, y_8x16Global);
        TRESHAPE(v7, v4);
        TRESHAPE(v8, v7);
        o2Global = outGlobal;
    } else {
        using o9ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o9StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o9GlobalType = GlobalTensor<float, o9ShapeDim5, o9StrideDim5>;
        o9GlobalType o9Global;
        if (n > 0) {
            TASSIGN(out_8x16Global, out + 0 * 16 + 0);
            TLOAD(t10, out_8x16Global);
            o9Global = outGlobal;
        } else {
            TSUB(t11, t1, t1);
            TRESHAPE(v12, t11);
            TRESHAPE(v13, v12);
            pipe_barrier(PIPE_V);
            TMOV(c14_out_copy1, t11);
            using c14_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c14_itType c14_it(8, 16);
            TASSIGN(c14_it, 0x800);
            c14_it = c14_out_copy1;
            for (int64_t i16 = 0; i16 < 1; i16 += 1) {
                pipe_barrier(PIPE_V);
                TADD(t17, t1, c14_it);
                TRELU(t18, v13);
                pipe_barrier(PIPE_V);
                TMOV(c14_out_copy0, t1);
                c14_it = c14_out_copy0;
            }
            o9Global = outGlobal;
        }
        o2Global = o9Global;
    }
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
