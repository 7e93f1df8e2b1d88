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

    using t5Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t5Type t5(8, 16);
    TASSIGN(t5, 0x600);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x800);

    using c8_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_out_copy0Type c8_out_copy0(8, 16);
    TASSIGN(c8_out_copy0, 0xa00);

    using c10_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c10_out_copy1Type c10_out_copy1(8, 16);
    TASSIGN(c10_out_copy1, 0xc00);

    using t13Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t13Type t13(8, 16);
    TASSIGN(t13, 0x0);

    using c10_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c10_out_copy0Type c10_out_copy0(8, 16);
    TASSIGN(c10_out_copy0, 0xc00);

    using t14Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t14Type t14(8, 16);
    TASSIGN(t14, 0xe00);

    using t15Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t15Type t15(8, 16);
    TASSIGN(t15, 0x1000);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0x1200);

    using t17Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t17Type t17(8, 16);
    TASSIGN(t17, 0x1400);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TABS(t2, t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TMIN(t3, t1, t1);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 8 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_V);
    TMIN(t5, t2, t3);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t2);
    set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    pipe_barrier(PIPE_V);
    TADD(t7, t3, t5);
    TMOV(c8_out_copy0, t5);
    TMOV(c10_out_copy1, t2);
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    using c8_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_itType c8_it(8, 16);
    TASSIGN(c8_it, 0xa00);
    c8_it = c8_out_copy0;
    using c9_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c9_itType c9_it(8, 16);
    TASSIGN(c9_it, 0x0);
    c9_it = t1;
    using c10_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c10_itType c10_it(8, 16);
    TASSIGN(c10_it, 0xc00);
    c10_it = c10_out_copy1;
    for (int64_t i12 = 0; i12 < 3; i12 += 1) {
        TSUB(t13, t2, t2);
        pipe_barrier(PIPE_V);
        TMOV(c10_out_copy0, c8_it);
        c9_it = t13;
        c10_it = c10_out_copy0;
    }
    TADD(t14, t7, t3);
    TASSIGN(y_8x16Global, y + 8 * 16 + 0);
    TLOAD(t15, y_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
    TADD(t16, t15, t5);
    wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TLOAD(t17, out_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t17);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
