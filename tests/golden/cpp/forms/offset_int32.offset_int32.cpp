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

__aicore__ __attribute__((always_inline)) void runOffsetInt32(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int32_t n = static_cast<int32_t>(args[1]);
    int32_t k = static_cast<int32_t>(args[2]);
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

    using x_8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using x_8x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x32GlobalType = GlobalTensor<float, x_8x32ShapeDim5, x_8x32StrideDim5>;
    x_8x32GlobalType x_8x32Global(x);

    using out_8x32ShapeDim5 = Shape<1, 1, 1, 8, 32>;
    using out_8x32StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x32GlobalType = GlobalTensor<float, out_8x32ShapeDim5, out_8x32StrideDim5>;
    out_8x32GlobalType out_8x32Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 8, 32, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 32);
    TASSIGN(tile, 0x0);

    // Function body
    int32_t first = (n - k) * (n - k);
    TASSIGN(x_8x32Global, x + static_cast<int64_t>(first) * 64 + static_cast<int32_t>(floor_mod(k, 4)) * 8);
    TLOAD(tile, x_8x32Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x32Global, out + static_cast<int64_t>(k) * 64 + static_cast<int32_t>(floor_mod(k, 5)) * 8);
    TSTORE(out_8x32Global, tile);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runOffsetInt32(args);
}
