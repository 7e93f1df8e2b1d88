#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x0 = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x0StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x0GlobalType = GlobalTensor<float, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 64);
    TASSIGN(t0, 0x0);

    using tmpType = Tile<TileType::Vec, float, 1, 32, BLayout::RowMajor, -1, -1>;
    tmpType tmp(1, 32);
    TASSIGN(tmp, 0x1000);

    using result_numberType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    result_numberType result_number(16, 64);
    TASSIGN(result_number, 0x1080);

    using result_number1Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    result_number1Type result_number1(16, 64);
    TASSIGN(result_number1, 0x2080);

    using result_bitsType = Tile<TileType::Vec, uint8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    result_bitsType result_bits(16, 8);
    TASSIGN(result_bits, 0x3080);

    using result_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_scratchType result_scratch(1, 16);
    TASSIGN(result_scratch, 0x3480);

    using resultType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    resultType result(16, 64);
    TASSIGN(result, 0x34c0);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TEXPANDS(result_number, 2.0f);
    TEXPANDS(result_number1, 2.0f);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    pipe_barrier(PIPE_V);
    result_bits.SetValidCol(8);
    TCMP(result_bits, t0, result_number1, CmpMode::GT);
    pipe_barrier(PIPE_V);
    TSEL(result, result_bits, t0, result_number, result_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
