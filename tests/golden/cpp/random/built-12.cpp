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

    using v4Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v4Type v4(16, 8);
    TASSIGN(v4, 0x400);

    using v5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v5Type v5(8, 16);
    TASSIGN(v5, 0x400);

    using v7Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v7Type v7(16, 8);
    TASSIGN(v7, 0x400);

    using v8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v8Type v8(8, 16);
    TASSIGN(v8, 0x400);

    using t9Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t9Type t9(8, 16);
    TASSIGN(t9, 0x600);

    using c12_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c12_out_copy0Type c12_out_copy0(8, 16);
    TASSIGN(c12_out_copy0, 0x800);

    using t19Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t19Type t19(8, 16);
    TASSIGN(t19, 0x0);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMIN(t2, t1, t1);
    TASSIGN(y_8x16Global, y + 16 * 16 + 0);
    TLOAD(t3, y_8x16Global);
    TRESHAPE(v4, t3);
    TRESHAPE(v5, v4);
    using o6ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o6StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o6GlobalType = GlobalTensor<float, o6ShapeDim5, o6StrideDim5>;
    o6GlobalType o6Global;
    if (n > 2) {
        TRESHAPE(v7, t3);
        TRESHAPE(v8, v7);
        pipe_barrier(PIPE_V);
        TABS(t9, t2);
        o6Global = outGlobal;
    } else {
        using o10ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o10StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o10GlobalType = GlobalTensor<float, o10ShapeDim5, o10StrideDim5>;
        o10GlobalType o10Global;
        if (n > 2) {
            TASSIGN(out_8x16Global, out + 0 * 16 + 0);
            TSTORE(out_8x16Global, t1);
            TMOV(c12_out_copy0, t1);
            using c12_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c12_itType c12_it(8, 16);
            TASSIGN(c12_it, 0x800);
            c12_it = c12_out_copy0;
            for (int64_t i14 = 0; i14 < 3; i14 += 1) {
                TASSIGN(out_8x16Global, out + 16 * 16 + 0);
                TSTORE(out_8x16Global, t2);
            }
            using c16_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c16_itType c16_it(8, 16);
            TASSIGN(c16_it, 0x0);
            c16_it = t1;
            for (int64_t i18 = 0; i18 < 3; i18 += 1) {
                TASSIGN(y_8x16Global, y + 24 * 16 + 0);
                TLOAD(t19, y_8x16Global);
                c16_it = t19;
            }
            o10Global = outGlobal;
        } else {
            o10Global = outGlobal;
        }
        o6Global = o10Global;
    }
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, v5);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
