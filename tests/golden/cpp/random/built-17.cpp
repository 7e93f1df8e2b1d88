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

    using t3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t3Type t3(8, 16);
    TASSIGN(t3, 0x200);

    using t4Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t4Type t4(8, 16);
    TASSIGN(t4, 0x400);

    using t7Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t7Type t7(8, 16);
    TASSIGN(t7, 0x600);

    using t10Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t10Type t10(8, 16);
    TASSIGN(t10, 0x800);

    using c11_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c11_out_copy1Type c11_out_copy1(8, 16);
    TASSIGN(c11_out_copy1, 0xa00);

    using c12_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c12_out_copy1Type c12_out_copy1(8, 16);
    TASSIGN(c12_out_copy1, 0xc00);

    using c13_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c13_out_copy1Type c13_out_copy1(8, 16);
    TASSIGN(c13_out_copy1, 0xe00);

    using t16Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    t16Type t16(8, 16);
    TASSIGN(t16, 0x1000);

    using v18Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    v18Type v18(16, 8);
    TASSIGN(v18, 0x800);

    using v19Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    v19Type v19(8, 16);
    TASSIGN(v19, 0x800);

    using c11_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c11_out_copy0Type c11_out_copy0(8, 16);
    TASSIGN(c11_out_copy0, 0xa00);

    using c13_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c13_out_copy0Type c13_out_copy0(8, 16);
    TASSIGN(c13_out_copy0, 0xe00);

    using c12_out_copy0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c12_out_copy0Type c12_out_copy0(8, 16);
    TASSIGN(c12_out_copy0, 0xc00);

    using c8_out_copy1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_out_copy1Type c8_out_copy1(8, 16);
    TASSIGN(c8_out_copy1, 0x400);

    // Function body
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(t1, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TRELU(t3, t1);
    TASSIGN(x_8x16Global, x + 24 * 16 + 0);
    TLOAD(t4, x_8x16Global);
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_8x16Global, out + 16 * 16 + 0);
    TSTORE(out_8x16Global, t3);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, t1);
    TNEG(t7, t1);
    int64_t count = 0;
    using c8_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    c8_itType c8_it(8, 16);
    TASSIGN(c8_it, 0x400);
    c8_it = t4;
    while (count < 3) {
        TASSIGN(y_8x16Global, y + (count + 1) * 8 * 16 + 0);
        TLOAD(t10, y_8x16Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        TMOV(c11_out_copy1, t10);
        pipe_barrier(PIPE_V);
        TMOV(c12_out_copy1, c8_it);
        TMOV(c13_out_copy1, t3);
        using c11_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c11_itType c11_it(8, 16);
        TASSIGN(c11_it, 0xa00);
        c11_it = c11_out_copy1;
        using c12_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c12_itType c12_it(8, 16);
        TASSIGN(c12_it, 0xc00);
        c12_it = c12_out_copy1;
        using c13_itType = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
        c13_itType c13_it(8, 16);
        TASSIGN(c13_it, 0xe00);
        c13_it = c13_out_copy1;
        for (int64_t i15 = 0; i15 < n; i15 += 1) {
            TMAX(t16, t1, c11_it);
            using o17ShapeDim5 = Shape<1, 1, 1, 32, 16>;
            using o17StrideDim5 = Stride<1, 1, 1, 16, 1>;
            using o17GlobalType = GlobalTensor<float, o17ShapeDim5, o17StrideDim5>;
            o17GlobalType o17Global;
            if (i15 > 1) {
                TRESHAPE(v18, t10);
                TRESHAPE(v19, v18);
                o17Global = outGlobal;
            } else {
                o17Global = outGlobal;
            }
            pipe_barrier(PIPE_V);
            TMOV(c11_out_copy0, c12_it);
            TMOV(c13_out_copy0, c8_it);
            pipe_barrier(PIPE_V);
            TMOV(c12_out_copy0, t10);
            c11_it = c11_out_copy0;
            c12_it = c12_out_copy0;
            c13_it = c13_out_copy0;
        }
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TMOV(c8_out_copy1, c12_it);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        int64_t count_next = count + 1;
        c8_it = c8_out_copy1;
        count = count_next;
    }
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_8x16Global, out + 0 * 16 + 0);
    TSTORE(out_8x16Global, c8_it);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
