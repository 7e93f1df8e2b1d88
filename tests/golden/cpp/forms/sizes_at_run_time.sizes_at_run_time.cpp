#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runSizesAtRunTime(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t M = args[2];
    int64_t N = args[3];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, -1, -1>;
    using xStrideDim5 = Stride<1, 1, 1, -1, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(M, N), xStrideDim5(N));

    using outShapeDim5 = Shape<1, 1, 1, -1, -1>;
    using outStrideDim5 = Stride<1, 1, 1, -1, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(M, N), outStrideDim5(N));

    using x_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x_16x64StrideDim5 = Stride<1, 1, 1, -1, 1>;
    using x_16x64GlobalType = GlobalTensor<float, x_16x64ShapeDim5, x_16x64StrideDim5>;
    x_16x64GlobalType x_16x64Global(x, x_16x64ShapeDim5(), x_16x64StrideDim5(N));

    using out_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using out_16x64StrideDim5 = Stride<1, 1, 1, -1, 1>;
    using out_16x64GlobalType = GlobalTensor<float, out_16x64ShapeDim5, out_16x64StrideDim5>;
    out_16x64GlobalType out_16x64Global(out, out_16x64ShapeDim5(), out_16x64StrideDim5(N));

    // Tile type definitions and allocations
    using _t0Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 64);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 64);
    TASSIGN(_t1, 0x1000);

    // Function body
    for (int64_t i = 0; i < M; i += 16) {
        for (int64_t j = 0; j < N; j += 64) {
            TASSIGN(x_16x64Global, x + i * N + j);
            TLOAD(_t0, x_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
            TMULS(_t1, _t0, 2.0f);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            TASSIGN(out_16x64Global, out + i * N + j);
            TSTORE(out_16x64Global, _t1);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        }
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSizesAtRunTime(args);
}
