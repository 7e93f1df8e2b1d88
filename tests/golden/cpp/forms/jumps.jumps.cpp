#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runJumps(__gm__ int64_t* args)
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
    using total_0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    total_0Type total_0(8, 64);
    TASSIGN(total_0, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x800);

    using total_1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    total_1Type total_1(8, 64);
    TASSIGN(total_1, 0x0);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(total_0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    bool broke_0 = false;
    bool broke_iter = broke_0;
    using total_iterType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    total_iterType total_iter(8, 64);
    TASSIGN(total_iter, 0x0);
    total_iter = total_0;
    for (int64_t i = 0; i < n; i += 1) {
        bool broke_4;
        using total_4Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
        total_4Type total_4(8, 64);
        TASSIGN(total_4, 0x0);
        if (!broke_iter) {
            bool broke_3;
            using total_3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
            total_3Type total_3(8, 64);
            TASSIGN(total_3, 0x0);
            if (i == 3) {
                broke_3 = broke_iter;
                total_3 = total_iter;
            } else {
                bool broke_2;
                using total_2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
                total_2Type total_2(8, 64);
                TASSIGN(total_2, 0x0);
                if (i > 5) {
                    bool broke_1 = true;
                    broke_2 = broke_1;
                    total_2 = total_iter;
                } else {
                    pipe_barrier(PIPE_ALL);
                    TASSIGN(x_8x64Global, x + i * 8 * 64 + 0);
                    TLOAD(_t0, x_8x64Global);
                    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
                    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
                    TADD(total_1, total_iter, _t0);
                    broke_2 = broke_iter;
                    total_2 = total_1;
                }
                broke_3 = broke_2;
                total_3 = total_2;
            }
            broke_4 = broke_3;
            total_4 = total_3;
        } else {
            broke_4 = broke_iter;
            total_4 = total_iter;
        }
        broke_iter = broke_4;
        total_iter = total_4;
    }
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, total_iter);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runJumps(args);
}
