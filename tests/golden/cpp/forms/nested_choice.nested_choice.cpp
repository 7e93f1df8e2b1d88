#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'%' by zero");
        return 0;
    }
    if (b == -1) {
        return 0;
    }
#endif
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

__aicore__ __attribute__((always_inline)) void runNestedChoice(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[2];
    float f = f_bits.value;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

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
    TASSIGN(tile_1, 0x0);

    using tile_2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_2Type tile_2(8, 64);
    TASSIGN(tile_2, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x800);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(tile_0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t k_0 = n;
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t k_iter = k_0;
    using tile_iterType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    tile_iterType tile_iter(8, 64);
    TASSIGN(tile_iter, 0x0);
    tile_iter = tile_0;
    for (int64_t i = 0; i < n; i += 1) {
        int64_t k_4;
        using tile_4Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
        tile_4Type tile_4(8, 64);
        TASSIGN(tile_4, 0x0);
        if (floor_mod(i, 2) == 0) {
            int64_t k_2;
            using tile_3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
            tile_3Type tile_3(8, 64);
            TASSIGN(tile_3, 0x0);
            if (f > 0.5f) {
                TMULS(tile_1, tile_iter, f);
                int64_t k_1 = k_iter + i;
                k_2 = k_1;
                tile_3 = tile_1;
            } else {
                pipe_barrier(PIPE_ALL);
                TASSIGN(x_8x64Global, x + i * 8 * 64 + 0);
                TLOAD(tile_2, x_8x64Global);
                k_2 = k_iter;
                tile_3 = tile_2;
            }
            k_4 = k_2;
            tile_4 = tile_3;
        } else {
            int64_t k_3 = k_iter - 2;
            k_4 = k_3;
            tile_4 = tile_iter;
        }
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        k_iter = k_4;
        tile_iter = tile_4;
    }
    TMULS(_t0, tile_iter, static_cast<float>(k_iter));
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runNestedChoice(args);
}
