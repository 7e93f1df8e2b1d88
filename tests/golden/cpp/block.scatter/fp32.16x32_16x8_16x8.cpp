#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x0 = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* x1 = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ int32_t* x2 = reinterpret_cast<__gm__ int32_t*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<float, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 16, 8>;
    using x1StrideDim5 = Stride<1, 1, 1, 8, 1>;
    using x1GlobalType = GlobalTensor<float, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using x2ShapeDim5 = Shape<1, 1, 1, 16, 8>;
    using x2StrideDim5 = Stride<1, 1, 1, 8, 1>;
    using x2GlobalType = GlobalTensor<int32_t, x2ShapeDim5, x2StrideDim5>;
    x2GlobalType x2Global(x2);

    using outShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 32);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, float, 16, 8, BLayout::RowMajor, -1, -1>;
    t1Type t1(16, 8);
    TASSIGN(t1, 0x800);

    using t2Type = Tile<TileType::Vec, int32_t, 16, 8, BLayout::RowMajor, -1, -1>;
    t2Type t2(16, 8);
    TASSIGN(t2, 0xa00);

    using places_filledType = Tile<TileType::Vec, int32_t, 16, 8, BLayout::RowMajor, -1, -1>;
    places_filledType places_filled(16, 8);
    TASSIGN(places_filled, 0xc00);

    using placesType = Tile<TileType::Vec, int32_t, 16, 8, BLayout::RowMajor, -1, -1>;
    placesType places(16, 8);
    TASSIGN(places, 0xe00);

    using result_zerosType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    result_zerosType result_zeros(16, 32);
    TASSIGN(result_zeros, 0x1000);

    using resultType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    resultType result(16, 32);
    TASSIGN(result, 0x1000);

    // Function body
    TLOAD(t0, x0Global);
    TLOAD(t1, x1Global);
    TLOAD(t2, x2Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TEXPANDS(places_filled, 511);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_V);
    TAND(places, t2, places_filled);
    TEXPANDS(result_zeros, 0.0f);
    pipe_barrier(PIPE_V);
    TSCATTER(result, t1, places);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
