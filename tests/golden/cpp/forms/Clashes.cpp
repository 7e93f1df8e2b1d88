#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runClashes(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* double_1 = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* args_1 = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using double_1ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using double_1StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using double_1GlobalType = GlobalTensor<float, double_1ShapeDim5, double_1StrideDim5>;
    double_1GlobalType double_1Global(double_1);

    using args_1ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using args_1StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using args_1GlobalType = GlobalTensor<float, args_1ShapeDim5, args_1StrideDim5>;
    args_1GlobalType args_1Global(args_1);

    using args_1_8x16ShapeDim5 = Shape<1, 1, 1, 8, 16>;
    using args_1_8x16StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using args_1_8x16GlobalType = GlobalTensor<float, args_1_8x16ShapeDim5, args_1_8x16StrideDim5>;
    args_1_8x16GlobalType args_1_8x16Global(args_1);

    // Tile type definitions and allocations
    using auto_1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    auto_1Type auto_1(8, 16);
    TASSIGN(auto_1, 0x0);

    using Tile_1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    Tile_1Type Tile_1(8, 16);
    TASSIGN(Tile_1, 0x200);

    using template_1Type = Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, -1>;
    template_1Type template_1(8, 16);
    TASSIGN(template_1, 0x400);

    // Function body
    TLOAD(auto_1, double_1Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TEXP(Tile_1, auto_1);
    pipe_barrier(PIPE_V);
    TADD(template_1, Tile_1, auto_1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    for (int64_t int64_t_1 = 0; int64_t_1 < 1; int64_t_1 += 1) {
        TASSIGN(args_1_8x16Global, args_1 + int64_t_1 * 16 + 0);
        TSTORE(args_1_8x16Global, template_1);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runClashes(args);
}
