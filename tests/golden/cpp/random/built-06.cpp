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

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x600);

    using v5Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v5Type v5(16, 8);
    TASSIGN(v5, 0x200);

    using v6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v6Type v6(8, 16);
    TASSIGN(v6, 0x200);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0x800);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0xa00);

    using v13Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v13Type v13(16, 8);
    TASSIGN(v13, 0x800);

    using v14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v14Type v14(8, 16);
    TASSIGN(v14, 0x800);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0xc00);

    using m11_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11_copy0Type m11_copy0(8, 16);
    TASSIGN(m11_copy0, 0x800);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0xe00);

    using t17Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t17Type t17(8, 16);
    TASSIGN(t17, 0x1000);

    using m10_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m10_copy0Type m10_copy0(8, 16);
    TASSIGN(m10_copy0, 0x200);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    TASSIGN(y_8x16Global, y + 0 * 16 + 0);
    TLOAD(t2, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(x_8x16Global, x + 24 * 16 + 0);
    TLOAD(t3, x_8x16Global);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMAX(t4, t2, t1);
    TRESHAPE(v5, t2);
    TRESHAPE(v6, v5);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, v6);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    TMAX(t8, v6, v6);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    using o9ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using o9StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using o9GlobalType = GlobalTensor<float, o9ShapeDim5, o9StrideDim5>;
    o9GlobalType o9Global;
    using m10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m10Type m10(8, 16);
    TASSIGN(m10, 0x200);
    using m11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    m11Type m11(8, 16);
    TASSIGN(m11, 0x800);
    if (n > 1) {
        TASSIGN(y_8x16Global, y + 16 * 16 + 0);
        TLOAD(t12, y_8x16Global);
        TRESHAPE(v13, t8);
        TRESHAPE(v14, v13);
        TASSIGN(x_8x16Global, x + 16 * 16 + 0);
        TLOAD(t15, x_8x16Global);
        pipe_barrier(PIPE_V);
        TMOV(m11_copy0, v6);
        o9Global = outGlobal;
        m10 = v6;
        m11 = m11_copy0;
    } else {
        pipe_barrier(PIPE_V);
        TADD(t16, t4, t2);
        TMIN(t17, t2, v6);
        pipe_barrier(PIPE_V);
        TMOV(m10_copy0, t8);
        o9Global = outGlobal;
        m10 = m10_copy0;
        m11 = t8;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, m11);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
