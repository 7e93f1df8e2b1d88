#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x0 = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 1, 128>;
    using x0StrideDim5 = Stride<1, 1, 1, 128, 1>;
    using x0GlobalType = GlobalTensor<float, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 1, 256>;
    using outStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, float, 1, 128, BLayout::RowMajor, -1, -1>;
    t0Type t0(1, 128);
    TASSIGN(t0, 0x0);

    using numbers_signedType = Tile<TileType::Vec, int32_t, 1, 128, BLayout::RowMajor, -1, -1>;
    numbers_signedType numbers_signed(1, 128);
    TASSIGN(numbers_signed, 0x200);

    using numbersType = Tile<TileType::Vec, uint32_t, 1, 128, BLayout::RowMajor, -1, -1>;
    numbersType numbers(1, 128);
    TASSIGN(numbers, 0x200);

    using listType = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
    listType list(1, 256);
    TASSIGN(list, 0x400);

    using resultType = Tile<TileType::Vec, float, 1, 256, BLayout::RowMajor, -1, -1>;
    resultType result(1, 256);
    TASSIGN(result, 0x800);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCI<decltype(numbers_signed), decltype(numbers_signed)::DType, 0>(numbers_signed, static_cast<decltype(numbers_signed)::DType>(0));
    set_flag(PIPE_S, PIPE_V, EVENT_ID0);
    TRESHAPE(numbers, numbers_signed);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_S, PIPE_V, EVENT_ID0);
    TSORT32(list, t0, numbers);
    pipe_barrier(PIPE_V);
    TMRGSORT(result, list, 64);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
