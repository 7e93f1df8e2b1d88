#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runBranches(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using xStrideDim5 = Stride<1, 1, 1, 16, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

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
    using tile_0Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    tile_0Type tile_0(8, 16);
    TASSIGN(tile_0, 0x0);

    using tile_1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    tile_1Type tile_1(8, 16);
    TASSIGN(tile_1, 0x200);

    using tile_2Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    tile_2Type tile_2(8, 16);
    TASSIGN(tile_2, 0x200);

    // Function body
    // kernels.py:74
    TASSIGN(x_8x16Global, x + 0 * 16 + 0);
    TLOAD(tile_0, x_8x16Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    // kernels.py:75
    int64_t row_0 = 0;
    // kernels.py:76
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t row_2;
    using tile_3Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    tile_3Type tile_3(8, 16);
    TASSIGN(tile_3, 0x200);
    if (n > 3) {
        // kernels.py:77
        TMULS(tile_1, tile_0, 2.0f);
        // kernels.py:78
        int64_t row_1 = n * 2;
        row_2 = row_1;
        tile_3 = tile_1;
    } else {
        // kernels.py:80
        TNEG(tile_2, tile_0);
        row_2 = row_0;
        tile_3 = tile_2;
    }
    // kernels.py:76
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    // kernels.py:81
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    using out_2ShapeDim5 = Shape<1, 1, 1, 32, 16>;
    using out_2StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using out_2GlobalType = GlobalTensor<float, out_2ShapeDim5, out_2StrideDim5>;
    out_2GlobalType out_2Global;
    if (n != 0) {
        // kernels.py:82
        TASSIGN(out_8x16Global, out + row_2 * 16 + 0);
        TSTORE(out_8x16Global, tile_3);
        out_2Global = outGlobal;
    } else {
        out_2Global = outGlobal;
    }
    // kernels.py:83
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runBranches(args);
}
