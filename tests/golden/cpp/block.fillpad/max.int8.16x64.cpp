#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ int8_t* x0 = reinterpret_cast<__gm__ int8_t*>(args[0]);
    __gm__ int8_t* out = reinterpret_cast<__gm__ int8_t*>(args[1]);

    // Global tensor declarations
    using x0ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using x0StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x0GlobalType = GlobalTensor<int8_t, x0ShapeDim5, x0StrideDim5>;
    x0GlobalType x0Global(x0);

    using outShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<int8_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    // Tile type definitions and allocations
    using t0Type = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    t0Type t0(16, 64);
    TASSIGN(t0, 0x0);

    using partType = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    partType part(5, 61);
    TASSIGN(part, 0x400);

    using filledType = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    filledType filled(16, 64);
    TASSIGN(filled, 0x800);

    // Function body
    TLOAD(t0, x0Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using part_allType = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1>;
    part_allType part_all(16, 64);
    TRESHAPE(part_all, part);
    TMOV(part_all, t0);
    pipe_barrier(PIPE_V);
    using filled_paddedType = Tile<TileType::Vec, int8_t, 16, 64, BLayout::RowMajor, -1, -1, SLayout::NoneBox, 512, PadValue::Max>;
    filled_paddedType filled_padded(16, 64);
    TRESHAPE(filled_padded, filled);
    TFILLPAD(filled_padded, part);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outGlobal, filled);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
