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

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x600);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x800);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0xa00);

    using t9Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t9Type t9(8, 16);
    TASSIGN(t9, 0xc00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0x400);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0xe00);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x1000);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUB(t2, t1, t1);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TLOAD(t3, out_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t4, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    using o5ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o5StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o5GlobalType = GlobalTensor<float, o5ShapeDim5, o5StrideDim5>;
    o5GlobalType o5Global;
    if (n > 2) {
        using o6ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o6StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o6GlobalType = GlobalTensor<float, o6ShapeDim5, o6StrideDim5>;
        o6GlobalType o6Global;
        if (n > 1) {
            pipe_barrier(PIPE_V);
            TADD(t7, t2, t1);
            pipe_barrier(PIPE_V);
            TMAX(t8, t7, t3);
            TABS(t9, t3);
            using c10_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
            c10_itType c10_it(8, 16);
            TASSIGN(c10_it, 0x400);
            c10_it = t3;
            for (int64_t i12 = 0; i12 < n; i12 += 1) {
                pipe_barrier(PIPE_V);
                TABS(t13, t1);
                pipe_barrier(PIPE_V);
                TMIN(t14, t13, t1);
                TMIN(t15, t13, t7);
                c10_it = t13;
            }
            o6Global = outGlobal;
        } else {
            o6Global = outGlobal;
        }
        o5Global = o6Global;
    } else {
        o5Global = outGlobal;
    }
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t4);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
