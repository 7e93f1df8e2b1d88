#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runCarriedPair(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int64_t n = args[1];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

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
    using a_0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    a_0Type a_0(8, 64);
    TASSIGN(a_0, 0x0);

    using b_0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    b_0Type b_0(8, 64);
    TASSIGN(b_0, 0x800);

    using _tmp_1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _tmp_1Type _tmp_1(8, 64);
    TASSIGN(_tmp_1, 0x1000);

    using a_2_copy0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    a_2_copy0Type a_2_copy0(8, 64);
    TASSIGN(a_2_copy0, 0x0);

    using b_2_copy0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    b_2_copy0Type b_2_copy0(8, 64);
    TASSIGN(b_2_copy0, 0x800);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(a_0, x_8x64Global);
    TASSIGN(x_8x64Global, x + 8 * 64 + 0);
    TLOAD(b_0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using a_iterType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    a_iterType a_iter(8, 64);
    TASSIGN(a_iter, 0x0);
    a_iter = a_0;
    using b_iterType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    b_iterType b_iter(8, 64);
    TASSIGN(b_iter, 0x800);
    b_iter = b_0;
    for (int64_t i = 0; i < n; i += 1) {
        pipe_barrier(PIPE_V);
        TADD(_tmp_1, a_iter, b_iter);
        pipe_barrier(PIPE_V);
        TMOV(a_2_copy0, b_iter);
        pipe_barrier(PIPE_V);
        TMOV(b_2_copy0, _tmp_1);
        a_iter = a_2_copy0;
        b_iter = b_2_copy0;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, a_iter);
    TASSIGN(out_8x64Global, out + 8 * 64 + 0);
    TSTORE(out_8x64Global, b_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runCarriedPair(args);
}
