#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint16_t* x0 = reinterpret_cast<__gm__ uint16_t*>(args[0]);
    __gm__ uint16_t* x1 = reinterpret_cast<__gm__ uint16_t*>(args[1]);
    __gm__ uint16_t* out = reinterpret_cast<__gm__ uint16_t*>(args[2]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 16>;
    using x0StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using x0GlobalType = GlobalTensor<uint16_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using x1ShapeDim5 = Shape<1, 1, 1, 1, 16>;
    using x1StrideDim5 = Stride<1, 1, 1, 16, 1>;
    using x1GlobalType = GlobalTensor<uint16_t, x1ShapeDim5, x1StrideDim5>;
    x1GlobalType x1Global(x1);

    using outShapeDim5 = Shape<1, 1, 1, 16, 16>;
    using outStrideDim5 = Stride<1, 1, 1, 16, 1>;
    using outGlobalType = GlobalTensor<uint16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint16_t, 16, 16, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 16);
    TASSIGN(t0, 0x0);

    using t1Type = Tile<TileType::Vec, uint16_t, 1, 16, BLayout::RowMajor, -1, -1>;
    t1Type t1(1, 16);
    TASSIGN(t1, 0x400);

    using result_signedType = Tile<TileType::Vec, int16_t, 16, 16, BLayout::RowMajor, -1, -1>;
    result_signedType result_signed(16, 16);
    TASSIGN(result_signed, 0x0);

    using result_signed1Type = Tile<TileType::Vec, int16_t, 1, 16, BLayout::RowMajor, -1, -1>;
    result_signed1Type result_signed1(1, 16);
    TASSIGN(result_signed1, 0x400);

    using result_resultType = Tile<TileType::Vec, int16_t, 16, 16, BLayout::RowMajor, -1, -1>;
    result_resultType result_result(16, 16);
    TASSIGN(result_result, 0x200);

    using resultType = Tile<TileType::Vec, uint16_t, 16, 16, BLayout::RowMajor, -1, -1>;
    resultType result(16, 16);
    TASSIGN(result, 0x200);

    // Function body
    TLOAD(t0, x0Global);
    TLOAD(t1, x1Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TRESHAPE(result_signed, t0);
    TRESHAPE(result_signed1, t1);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TCOLEXPANDMUL(result_result, result_signed, result_signed1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TRESHAPE(result, result_result);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
