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

    using t2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t2Type t2(8, 16);
    TASSIGN(t2, 0x200);

    using t3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t3Type t3(8, 16);
    TASSIGN(t3, 0x400);

    using v6Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v6Type v6(16, 8);
    TASSIGN(v6, 0x200);

    using v7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v7Type v7(8, 16);
    TASSIGN(v7, 0x200);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0x600);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0x800);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0xa00);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0xc00);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUB(t2, t1, t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(x_8x16Global, x + 8 * 16 + 0);
    TLOAD(t3, x_8x16Global);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    int64_t count = 0;
    using c4_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c4_itType c4_it(8, 16);
    TASSIGN(c4_it, 0x200);
    c4_it = t2;
    while (count < n) {
        TRESHAPE(v6, c4_it);
        TRESHAPE(v7, v6);
        TASSIGN(out_8x16Global, out + 8 * 16 + 0);
        TSTORE(out_8x16Global, c4_it);
        pipe_barrier(PIPE_ALL);
        TASSIGN(out_8x16Global, out + (count + 1) * 8 * 16 + 0);
        TSTORE(out_8x16Global, t1);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        TASSIGN(out_8x16Global, out + (count + 1) * 8 * 16 + 0);
        TLOAD(t10, out_8x16Global);
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        int64_t count_next = count + 1;
        count = count_next;
    }
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID1);
    TASSIGN(y_8x16Global, y + 24 * 16 + 0);
    TLOAD(t12, y_8x16Global);
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TLOAD(t13, out_8x16Global);
    TASSIGN(y_8x16Global, y + 8 * 16 + 0);
    TLOAD(t14, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    using o15ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o15StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o15GlobalType = GlobalTensor<float, o15ShapeDim5, o15StrideDim5>;
    o15GlobalType o15Global;
    if (n > 2) {
        o15Global = outGlobal;
    } else {
        o15Global = outGlobal;
    }
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t14);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
