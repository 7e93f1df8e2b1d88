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
    TASSIGN(v5, 0x400);

    using v6Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v6Type v6(8, 16);
    TASSIGN(v6, 0x400);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x800);

    using t8Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t8Type t8(8, 16);
    TASSIGN(t8, 0xa00);

    using v10Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v10Type v10(16, 8);
    TASSIGN(v10, 0x200);

    using v11Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v11Type v11(8, 16);
    TASSIGN(v11, 0x200);

    using t12Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t12Type t12(8, 16);
    TASSIGN(t12, 0xc00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0xe00);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0x1000);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x1200);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    TASSIGN(y_8x16Global, y + 0 * 16 + 0);
    TLOAD(t2, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMAX(t3, t2, t2);
    pipe_barrier(PIPE_V);
    TNEG(t4, t3);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(v5, t3);
    TRESHAPE(v6, v5);
    TASSIGN(x_8x16Global, x + 16 * 16 + 0);
    TLOAD(t7, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TASSIGN(y_8x16Global, y + 16 * 16 + 0);
    TLOAD(t8, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t4);
    TRESHAPE(v10, t2);
    TRESHAPE(v11, v10);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TMIN(t12, t7, t3);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
    TADD(t13, v11, t8);
    TASSIGN(x_8x16Global, x + 8 * 16 + 0);
    TLOAD(t14, x_8x16Global);
    pipe_barrier(PIPE_V);
    TSUB(t15, t12, t7);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t15);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
