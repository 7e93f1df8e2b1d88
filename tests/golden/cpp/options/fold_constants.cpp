#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runIndex(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    // Tile type definitions and allocations
    using tile_0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_0Type tile_0(8, 64);
    TASSIGN(tile_0, 0x0);

    using tile_1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_1Type tile_1(8, 64);
    TASSIGN(tile_1, 0x800);

    using tile_2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_2Type tile_2(8, 64);
    TASSIGN(tile_2, 0x800);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x1000);

    // Function body
    int64_t unused = n * 3;
    int64_t also_unused = unused + 1;
    for (int64_t i = 0; i < 4; i += 1) {
        TASSIGN(x_8x64Global, x + (i * 8 + n) * 64);
        TLOAD(tile_0, x_8x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        using tile_3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
        tile_3Type tile_3(8, 64);
        TASSIGN(tile_3, 0x800);
        if (true) {
            TADD(tile_1, tile_0, tile_0);
            tile_3 = tile_1;
        } else {
            TMULS(tile_2, tile_0, 3.0f);
            tile_3 = tile_2;
        }
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x64Global, out + (i * 8 + n) * 64);
        TSTORE(out_8x64Global, tile_3);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    for (int64_t _ = 5; _ < 5; _ += 1) {
        TASSIGN(x_8x64Global, x + also_unused * 64);
        TLOAD(_t0, x_8x64Global);
        TASSIGN(out_8x64Global, out);
        TSTORE(out_8x64Global, _t0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runIndex(args);
}
