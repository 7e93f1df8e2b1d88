#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runPartly(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t n = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(n));

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using out_nx64ShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using out_nx64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_nx64GlobalType = GlobalTensor<float, out_nx64ShapeDim5, out_nx64StrideDim5>;
    out_nx64GlobalType out_nx64Global(out, out_nx64ShapeDim5(1));

    // Tile type definitions and allocations
    using aType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    aType a(16, 64);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    bType b(16, 64);
    TASSIGN(b, 0x1000);

    // Function body
    a.SetValidShape(n, 64);
    TLOAD(a, xGlobal);
    b.SetValidShape(n, 64);
    TADD(b, a, a);
    TASSIGN(out_nx64Global, out + 0 * 64 + 0);
    out_nx64Global.SetShape<3>(n);
    TSTORE(out_nx64Global, b);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runPartly(args);
}
