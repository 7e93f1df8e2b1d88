#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runSiluBlock(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* a = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* b = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* c = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

    // Global tensor declarations
    using aShapeDim5 = Shape<1, 1, 1, 128, 4096>;
    using aStrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using aGlobalType = GlobalTensor<float, aShapeDim5, aStrideDim5>;
    aGlobalType aGlobal(a);

    using bShapeDim5 = Shape<1, 1, 1, 128, 4096>;
    using bStrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using bGlobalType = GlobalTensor<float, bShapeDim5, bStrideDim5>;
    bGlobalType bGlobal(b);

    using cShapeDim5 = Shape<1, 1, 1, 128, 4096>;
    using cStrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using cGlobalType = GlobalTensor<float, cShapeDim5, cStrideDim5>;
    cGlobalType cGlobal(c);

    using outShapeDim5 = Shape<1, 1, 1, 128, 4096>;
    using outStrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using a_2x4096ShapeDim5 = Shape<1, 1, 1, 2, 4096>;
    using a_2x4096StrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using a_2x4096GlobalType = GlobalTensor<float, a_2x4096ShapeDim5, a_2x4096StrideDim5>;
    a_2x4096GlobalType a_2x4096Global(a);

    using b_2x4096ShapeDim5 = Shape<1, 1, 1, 2, 4096>;
    using b_2x4096StrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using b_2x4096GlobalType = GlobalTensor<float, b_2x4096ShapeDim5, b_2x4096StrideDim5>;
    b_2x4096GlobalType b_2x4096Global(b);

    using c_2x4096ShapeDim5 = Shape<1, 1, 1, 2, 4096>;
    using c_2x4096StrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using c_2x4096GlobalType = GlobalTensor<float, c_2x4096ShapeDim5, c_2x4096StrideDim5>;
    c_2x4096GlobalType c_2x4096Global(c);

    using out_2x4096ShapeDim5 = Shape<1, 1, 1, 2, 4096>;
    using out_2x4096StrideDim5 = Stride<1, 1, 1, 4096, 1>;
    using out_2x4096GlobalType = GlobalTensor<float, out_2x4096ShapeDim5, out_2x4096StrideDim5>;
    out_2x4096GlobalType out_2x4096Global(out);

    // Tile type definitions and allocations
    using tile_aType = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    tile_aType tile_a(2, 4096);
    TASSIGN(tile_a, 0x0);

    using tile_bType = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    tile_bType tile_b(2, 4096);
    TASSIGN(tile_b, 0x8000);

    using tile_cType = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    tile_cType tile_c(2, 4096);
    TASSIGN(tile_c, 0x10000);

    using _t0Type = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(2, 4096);
    TASSIGN(_t0, 0x0);

    using zType = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    zType z(2, 4096);
    TASSIGN(z, 0x0);

    using _t1Type = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(2, 4096);
    TASSIGN(_t1, 0x8000);

    using _t2Type = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(2, 4096);
    TASSIGN(_t2, 0x8000);

    using belowType = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    belowType below(2, 4096);
    TASSIGN(below, 0x8000);

    using _t3Type = Tile<TileType::Vec, float, 2, 4096, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(2, 4096);
    TASSIGN(_t3, 0x0);

    // Function body
    for (int64_t r = 0; r < 128; r += 2) {
        TASSIGN(a_2x4096Global, a + r * 4096 + 0);
        TLOAD(tile_a, a_2x4096Global);
        TASSIGN(b_2x4096Global, b + r * 4096 + 0);
        TLOAD(tile_b, b_2x4096Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TASSIGN(c_2x4096Global, c + r * 4096 + 0);
        TLOAD(tile_c, c_2x4096Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMUL(_t0, tile_a, tile_b);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TADD(z, _t0, tile_c);
        pipe_barrier(PIPE_V);
        TNEG(_t1, z);
        pipe_barrier(PIPE_V);
        TEXP(_t2, _t1);
        pipe_barrier(PIPE_V);
        TADDS(below, _t2, 1.0f);
        pipe_barrier(PIPE_V);
        TDIV(_t3, z, below);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_2x4096Global, out + r * 4096 + 0);
        TSTORE(out_2x4096Global, _t3);
        set_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_MTE2, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSiluBlock(args);
}
