#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runSoftmaxBlock(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using xStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 128, 1024>;
    using outStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using x_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using x_8x1024GlobalType = GlobalTensor<float, x_8x1024ShapeDim5, x_8x1024StrideDim5>;
    x_8x1024GlobalType x_8x1024Global(x);

    using out_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using out_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using out_8x1024GlobalType = GlobalTensor<float, out_8x1024ShapeDim5, out_8x1024StrideDim5>;
    out_8x1024GlobalType out_8x1024Global(out);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    scratchType scratch(8, 1024);
    TASSIGN(scratch, 0x0);

    using tileType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 1024);
    TASSIGN(tile, 0x8000);

    using largestType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    largestType largest(8, 1);
    TASSIGN(largest, 0x28000);

    using _t0Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 1024);
    TASSIGN(_t0, 0x10000);

    using powersType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    powersType powers(8, 1024);
    TASSIGN(powers, 0x18000);

    using totalType = Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    totalType total(8, 1);
    TASSIGN(total, 0x28020);

    using _t1Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 1024);
    TASSIGN(_t1, 0x20000);

    // Function body
    // softmax.py:34
    set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    for (int64_t r = 0; r < 128; r += 8) {
        // softmax.py:35
        TASSIGN(x_8x1024Global, x + r * 1024 + 0);
        TLOAD(tile, x_8x1024Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        // softmax.py:36
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TROWMAX(largest, tile, scratch);
        // softmax.py:37
        pipe_barrier(PIPE_V);
        TROWEXPANDSUB(_t0, tile, largest);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TEXP(powers, _t0);
        // softmax.py:38
        pipe_barrier(PIPE_V);
        TROWSUM(total, powers, scratch);
        // softmax.py:39
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWEXPANDDIV(_t1, powers, total);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x1024Global, out + r * 1024 + 0);
        TSTORE(out_8x1024Global, _t1);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        // softmax.py:34
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    }
    wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    // softmax.py:40
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSoftmaxBlock(args);
}
