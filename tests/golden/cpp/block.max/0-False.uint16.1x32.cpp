#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ uint16_t* x0 = reinterpret_cast<__gm__ uint16_t*>(args[0]);
    __gm__ uint16_t* out = reinterpret_cast<__gm__ uint16_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using x0StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x0GlobalType = GlobalTensor<uint16_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 1, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using outGlobalType = GlobalTensor<uint16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    t0Type t0(1, 32);
    TASSIGN(t0, 0x0);

    using result_movedType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_movedType result_moved(1, 32);
    TASSIGN(result_moved, 0x40);

    using result_signedType = Tile<TileType::Vec, int16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_signedType result_signed(1, 32);
    TASSIGN(result_signed, 0x40);

    using result_foundType = Tile<TileType::Vec, int16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_foundType result_found(1, 32);
    TASSIGN(result_found, 0x80);

    using result_backType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    result_backType result_back(1, 32);
    TASSIGN(result_back, 0x80);

    using resultType = Tile<TileType::Vec, uint16_t, 1, 32, BLayout::RowMajor, -1, -1>;
    resultType result(1, 32);
    TASSIGN(result, 0xc0);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TSUBS(result_moved, t0, 32768);
    TRESHAPE(result_signed, result_moved);
    pipe_barrier(PIPE_V);
    TCOLMAX(result_found, result_signed);
    TRESHAPE(result_back, result_found);
    pipe_barrier(PIPE_V);
    TADDS(result, result_back, 32768);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, result);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
