#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runBlockOfRows(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ bfloat16_t* input = reinterpret_cast<__gm__ bfloat16_t*>(args[0]);
    __gm__ bfloat16_t* output = reinterpret_cast<__gm__ bfloat16_t*>(args[1]);
    int64_t n = args[2];

    // Global tensor declarations
    using inputShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using inputStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using inputGlobalType = GlobalTensor<bfloat16_t, inputShapeDim5, inputStrideDim5>;
    inputGlobalType inputGlobal(input);

    using outputShapeDim5 = Shape<1, 1, 1, 64, 128>;
    using outputStrideDim5 = Stride<1, 1, 1, 128, 1>;
    using outputGlobalType = GlobalTensor<bfloat16_t, outputShapeDim5, outputStrideDim5>;
    outputGlobalType outputGlobal(output);

    using input_32x128ShapeDim5 = Shape<1, 1, 1, 32, 128>;
    using input_32x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using input_32x128GlobalType = GlobalTensor<bfloat16_t, input_32x128ShapeDim5, input_32x128StrideDim5>;
    input_32x128GlobalType input_32x128Global(input);

    using output_32x128ShapeDim5 = Shape<1, 1, 1, 32, 128>;
    using output_32x128StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using output_32x128GlobalType = GlobalTensor<bfloat16_t, output_32x128ShapeDim5, output_32x128StrideDim5>;
    output_32x128GlobalType output_32x128Global(output);

    // Tile type definitions and allocations
    using tile_xType = Tile<TileType::Vec, bfloat16_t, 32, 128, BLayout::RowMajor, -1, -1>;
    tile_xType tile_x(32, 128);
    TASSIGN(tile_x, 0x0);

    // Function body
    int64_t first_0 = n;
    int64_t first_iter = first_0;
    for (int64_t i = 0; i < 2; i += 1) {
        TASSIGN(input_32x128Global, input + first_iter * 128 + 0);
        TLOAD(tile_x, input_32x128Global);
        set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);
        TASSIGN(output_32x128Global, output + first_iter * 128 + 0);
        TSTORE(output_32x128Global, tile_x);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        int64_t first_1 = first_iter + i;
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        first_iter = first_1;
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runBlockOfRows(args);
}
