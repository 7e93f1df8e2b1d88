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

__aicore__ __attribute__((always_inline)) void runRank3(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 4, 16, 32>;
    using xStrideDim5 = Stride<1, 1, 512, 32, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 4, 16, 32>;
    using outStrideDim5 = Stride<1, 1, 512, 32, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_2x16x32ShapeDim5 = Shape<1, 1, 2, 16, 32>;
    using x_2x16x32StrideDim5 = Stride<1, 1, 512, 32, 1>;
    using x_2x16x32GlobalType = GlobalTensor<float, x_2x16x32ShapeDim5, x_2x16x32StrideDim5>;
    x_2x16x32GlobalType x_2x16x32Global(x);

    using out_2x16x32ShapeDim5 = Shape<1, 1, 2, 16, 32>;
    using out_2x16x32StrideDim5 = Stride<1, 1, 512, 32, 1>;
    using out_2x16x32GlobalType = GlobalTensor<float, out_2x16x32ShapeDim5, out_2x16x32StrideDim5>;
    out_2x16x32GlobalType out_2x16x32Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 32, 32, BLayout::RowMajor, -1, -1>;
    tileType tile(32, 32);
    TASSIGN(tile, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 32, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(32, 32);
    TASSIGN(_t0, 0x1000);

    // Function body
    TASSIGN(x_2x16x32Global, x + floor_mod(n, 3) * 512 + 0 * 32 + 0);
    TLOAD(tile, x_2x16x32Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TEXP(_t0, tile);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_2x16x32Global, out + 0 * 512 + 0 * 32 + 0);
    TSTORE(out_2x16x32Global, _t0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runRank3(args);
}
