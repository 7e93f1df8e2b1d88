#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runActivate(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* gate = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* up = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ bfloat16_t* out = reinterpret_cast<__gm__ bfloat16_t*>(args[2]);

    // Global tensor declarations
    using gateShapeDim5 = Shape<1, 1, 1, 64, 1024>;
    using gateStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using gateGlobalType = GlobalTensor<float, gateShapeDim5, gateStrideDim5>;
    gateGlobalType gateGlobal(gate);

    using upShapeDim5 = Shape<1, 1, 1, 64, 1024>;
    using upStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using upGlobalType = GlobalTensor<float, upShapeDim5, upStrideDim5>;
    upGlobalType upGlobal(up);

    using outShapeDim5 = Shape<1, 1, 1, 64, 1024>;
    using outStrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using outGlobalType = GlobalTensor<bfloat16_t, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using gate_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using gate_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using gate_8x1024GlobalType = GlobalTensor<float, gate_8x1024ShapeDim5, gate_8x1024StrideDim5>;
    gate_8x1024GlobalType gate_8x1024Global(gate);

    using up_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using up_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using up_8x1024GlobalType = GlobalTensor<float, up_8x1024ShapeDim5, up_8x1024StrideDim5>;
    up_8x1024GlobalType up_8x1024Global(up);

    using out_8x1024ShapeDim5 = Shape<1, 1, 1, 8, 1024>;
    using out_8x1024StrideDim5 = Stride<1, 1, 1, 1024, 1>;
    using out_8x1024GlobalType = GlobalTensor<bfloat16_t, out_8x1024ShapeDim5, out_8x1024StrideDim5>;
    out_8x1024GlobalType out_8x1024Global(out);

    // Tile type definitions and allocations
    using gType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    gType g(8, 1024);
    TASSIGN(g, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 1024);
    TASSIGN(_t0, 0x8000);

    using _t1Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 1024);
    TASSIGN(_t1, 0x8000);

    using _t2Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 1024);
    TASSIGN(_t2, 0x8000);

    using open_partType = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    open_partType open_part(8, 1024);
    TASSIGN(open_part, 0x0);

    using _t3Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 1024);
    TASSIGN(_t3, 0x8000);

    using _t4Type = Tile<TileType::Vec, float, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(8, 1024);
    TASSIGN(_t4, 0x0);

    using _t5Type = Tile<TileType::Vec, bfloat16_t, 8, 1024, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(8, 1024);
    TASSIGN(_t5, 0x8000);

    // Function body
    for (int64_t r = 0; r < 64; r += 8) {
        TASSIGN(gate_8x1024Global, gate + r * 1024 + 0);
        TLOAD(g, gate_8x1024Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TNEG(_t0, g);
        pipe_barrier(PIPE_V);
        TEXP(_t1, _t0);
        pipe_barrier(PIPE_V);
        TADDS(_t2, _t1, 1.0f);
        pipe_barrier(PIPE_V);
        TDIV(open_part, g, _t2);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(up_8x1024Global, up + r * 1024 + 0);
        TLOAD(_t3, up_8x1024Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        TMUL(_t4, open_part, _t3);
        pipe_barrier(PIPE_V);
        TCVT(_t5, _t4, RoundMode::CAST_ROUND);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
        TASSIGN(out_8x1024Global, out + r * 1024 + 0);
        TSTORE(out_8x1024Global, _t5);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
    }
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runActivate(args);
}
