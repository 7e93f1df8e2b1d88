#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runK(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    bool has_tail = args[1] != 0;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_1x64ShapeDim5 = Shape<1, 1, 1, 1, 64>;
    using x_1x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_1x64GlobalType = GlobalTensor<float, x_1x64ShapeDim5, x_1x64StrideDim5>;
    x_1x64GlobalType x_1x64Global(x);

    // Tile type definitions and allocations
    using tile_inType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_inType tile_in(128, 64);
    TASSIGN(tile_in, 0x0);

    using output_with_tailType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    output_with_tailType output_with_tail(128, 64);
    TASSIGN(output_with_tail, 0x10000);

    using output_updatedType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    output_updatedType output_updated(128, 64);
    TASSIGN(output_updated, 0x18000);

    using tailType = Tile<TileType::Vec, float, 1, 64, BLayout::RowMajor, -1, -1>;
    tailType tail(1, 64);
    TASSIGN(tail, 0x0);

    // Function body
    TLOAD(tile_in, xGlobal);
    using output_finalType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    output_finalType output_final(128, 64);
    TASSIGN(output_final, 0x20000);
    using out_finalShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using out_finalStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_finalGlobalType = GlobalTensor<float, out_finalShapeDim5, out_finalStrideDim5>;
    out_finalGlobalType out_finalGlobal;
    int64_t rows;
    if (has_tail) {
        TADD(output_with_tail, tile_in, tile_in);
        TSTORE(outGlobal, output_with_tail);
        output_final = output_with_tail;
        out_finalGlobal = outGlobal;
        rows = 1;
    } else {
        TMUL(output_updated, tile_in, tile_in);
        output_final = output_updated;
        out_finalGlobal = outGlobal;
        rows = 2;
    }
    int64_t count = rows;
    TASSIGN(x_1x64Global, x + count * 64 + 0);
    TLOAD(tail, x_1x64Global);
    TSTORE(out_finalGlobal, output_final);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runK(args);
}
