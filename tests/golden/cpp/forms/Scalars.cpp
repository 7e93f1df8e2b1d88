#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runScalars(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[0]);
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[1];
    float f = f_bits.value;
    int32_t i = static_cast<int32_t>(args[2]);
    int64_t w = args[3];
    bool flag = args[4] != 0;

    // Global tensor declarations
    using outShapeDim5 = Shape<1, 1, 1, 16, 8>;
    using outStrideDim5 = Stride<1, 1, 1, 8, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_8x8ShapeDim5 = Shape<1, 1, 1, 8, 8>;
    using out_8x8StrideDim5 = Stride<1, 1, 1, 8, 1>;
    using out_8x8GlobalType = GlobalTensor<float, out_8x8ShapeDim5, out_8x8StrideDim5>;
    out_8x8GlobalType out_8x8Global(out);

    // Tile type definitions and allocations
    using tileType = Tile<TileType::Vec, float, 8, 8, BLayout::RowMajor, -1, -1>;
    tileType tile(8, 8);
    TASSIGN(tile, 0x0);

    // Function body
    TEXPANDS(tile, f);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    using out_2ShapeDim5 = Shape<1, 1, 1, 16, 8>;
    using out_2StrideDim5 = Stride<1, 1, 1, 8, 1>;
    using out_2GlobalType = GlobalTensor<float, out_2ShapeDim5, out_2StrideDim5>;
    out_2GlobalType out_2Global;
    if (flag && i < 0) {
        TASSIGN(out_8x8Global, out + w * 8 + 0);
        TSTORE(out_8x8Global, tile);
        out_2Global = outGlobal;
    } else {
        out_2Global = outGlobal;
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runScalars(args);
}
