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

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x200);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x400);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0x600);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0x800);

    using t11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t11Type t11(8, 16);
    TASSIGN(t11, 0xa00);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0xc00);

    using v13Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v13Type v13(16, 8);
    TASSIGN(v13, 0x0);

    using v14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v14Type v14(8, 16);
    TASSIGN(v14, 0x0);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x0);

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
    using m3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m3Type m3(8, 16);
    TASSIGN(m3, 0x0);
    if (n > 0) {
        TASSIGN(y_8x16Global, y + 24 * 16 + 0);
        TLOAD(t4, y_8x16Global);
        using o5ShapeDim5 = Shape<1, 1, 1, 32, 16>;
        using o5StrideDim5 = Stride<1, 1, 1, 16, 1>;
        using o5GlobalType = GlobalTensor<float, o5ShapeDim5, o5StrideDim5>;
        o5GlobalType o5Global;
        if (n > 2) {
            TASSIGN(out_8x16Global, out + 24 * 16 + 0);
            TSTORE(out_8x16Global, t1);
            o5Global = outGlobal;
        } else {
            TNEG(t7, t1);
            TASSIGN(x_8x16Global, x + 0 * 16 + 0);
            TLOAD(t8, x_8x16Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
            TASSIGN(out_8x16Global, out + 8 * 16 + 0);
            TSTORE(out_8x16Global, t1);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
            TMAX(t10, t8, t1);
            o5Global = outGlobal;
        }
        o2Global = o5Global;
        m3 = t1;
    } else {
        TSUB(t11, t1, t1);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(y_8x16Global, y + 24 * 16 + 0);
        TLOAD(t12, y_8x16Global);
        TRESHAPE(v13, t1);
        TRESHAPE(v14, v13);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(x_8x16Global, x + 0 * 16 + 0);
        TLOAD(t15, x_8x16Global);
        o2Global = outGlobal;
        m3 = t15;
    }
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m3);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
