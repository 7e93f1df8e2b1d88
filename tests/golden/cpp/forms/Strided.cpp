#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t region_begin(
    int64_t dimension, int64_t begin, int64_t size, int64_t limit)
{
#if defined(PTO_CPU_NATIVE)
    if (begin < 0 || begin > limit - size) {
        pto::cpu::fail_region(dimension, begin, size, limit);
    }
#endif
    return begin;
}

__aicore__ __attribute__((always_inline)) void runStrided(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t K = args[2];
    int64_t N = args[3];
    int64_t M = args[4];

    // Shapes and strides
    int64_t x_stride0 = N * M;
    int64_t out_stride0 = N * M;

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, -1, -1, -1>;
    using xStrideDim5 = Stride<1, 1, -1, -1, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(K, N, M), xStrideDim5(x_stride0, M));

    using outShapeDim5 = Shape<1, 1, -1, -1, -1>;
    using outStrideDim5 = Stride<1, 1, -1, -1, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(K, N, M), outStrideDim5(out_stride0, M));

    using x_1x4x16ShapeDim5 = Shape<1, 1, 1, 4, 16>;
    using x_1x4x16StrideDim5 = Stride<1, 1, -1, -1, 1>;
    using x_1x4x16GlobalType = GlobalTensor<float, x_1x4x16ShapeDim5, x_1x4x16StrideDim5>;
    x_1x4x16GlobalType x_1x4x16Global(x, x_1x4x16ShapeDim5(), x_1x4x16StrideDim5(x_stride0, M));

    using out_1x4x16ShapeDim5 = Shape<1, 1, 1, 4, 16>;
    using out_1x4x16StrideDim5 = Stride<1, 1, -1, -1, 1>;
    using out_1x4x16GlobalType = GlobalTensor<float, out_1x4x16ShapeDim5, out_1x4x16StrideDim5>;
    out_1x4x16GlobalType out_1x4x16Global(out, out_1x4x16ShapeDim5(), out_1x4x16StrideDim5(out_stride0, M));

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 4, 16, BLayout::RowMajor, -1, -1>;
    tileType tile(4, 16);
    TASSIGN(tile, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 4, 16, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(4, 16);
    TASSIGN(_t0, 0x100);

    // Function body
    for (int64_t k = 0; k < K; k += 1) {
        for (int64_t i = 0; i < N; i += 4) {
            for (int64_t j = 0; j < M; j += 16) {
                TASSIGN(x_1x4x16Global, x + k * x_stride0 + region_begin(1, i, 4, N) * M + region_begin(2, j, 16, M));
                TLOAD(tile, x_1x4x16Global);
                set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
                wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
                TMULS(_t0, tile, 3.0f);
                set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
                wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                TASSIGN(out_1x4x16Global, out + k * out_stride0 + region_begin(1, i, 4, N) * M + region_begin(2, j, 16, M));
                TSTORE(out_1x4x16Global, _t0);
                set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
                wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
                wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            }
        }
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runStrided(args);
}
