#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

__aicore__ __attribute__((always_inline)) void runCompareAndChoose(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[1];
    float f = f_bits.value;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using outShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using x_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using x_8x64GlobalType = GlobalTensor<float, x_8x64ShapeDim5, x_8x64StrideDim5>;
    x_8x64GlobalType x_8x64Global(x);

    using out_8x64ShapeDim5 = Shape<1, 1, 1, 8, 64>;
    using out_8x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using out_8x64GlobalType = GlobalTensor<float, out_8x64ShapeDim5, out_8x64StrideDim5>;
    out_8x64GlobalType out_8x64Global(out);

    // Tile type definitions and allocations
    using aType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    aType a(8, 64);
    TASSIGN(a, 0x0);

    using bType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    bType b(8, 64);
    TASSIGN(b, 0x800);

    using _t1_bitsType = Tile<TileType::Vec, uint8_t, 8, 64, BLayout::RowMajor, -1, -1>;
    _t1_bitsType _t1_bits(8, 8);
    TASSIGN(_t1_bits, 0x1000);

    using _t1_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_scratchType _t1_scratch(1, 16);
    TASSIGN(_t1_scratch, 0x1200);

    using _t1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 64);
    TASSIGN(_t1, 0x1240);

    using _t3Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(8, 64);
    TASSIGN(_t3, 0x1a40);

    using _t5_numberType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t5_numberType _t5_number(8, 64);
    TASSIGN(_t5_number, 0x2240);

    using _t5_bitsType = Tile<TileType::Vec, uint8_t, 8, 64, BLayout::RowMajor, -1, -1>;
    _t5_bitsType _t5_bits(8, 8);
    TASSIGN(_t5_bits, 0x2a40);

    using _t5_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    _t5_scratchType _t5_scratch(1, 16);
    TASSIGN(_t5_scratch, 0x2c40);

    using _t5Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(8, 64);
    TASSIGN(_t5, 0x2c80);

    using _t6_numberType = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t6_numberType _t6_number(8, 64);
    TASSIGN(_t6_number, 0x3480);

    using _t6_bitsType = Tile<TileType::Vec, uint8_t, 8, 64, BLayout::RowMajor, -1, -1>;
    _t6_bitsType _t6_bits(8, 8);
    TASSIGN(_t6_bits, 0x3c80);

    using _t6_scratchType = Tile<TileType::Vec, uint32_t, 1, 16, BLayout::RowMajor, -1, -1>;
    _t6_scratchType _t6_scratch(1, 16);
    TASSIGN(_t6_scratch, 0x3e80);

    using _t6Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(8, 64);
    TASSIGN(_t6, 0x3ec0);

    // Function body
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(a, x_8x64Global);
    TASSIGN(x_8x64Global, x + 8 * 64 + 0);
    TLOAD(b, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    _t1_bits.SetValidCol(8);
    TCMP(_t1_bits, a, b, CmpMode::GT);
    pipe_barrier(PIPE_V);
    TSEL(_t1, _t1_bits, a, b, _t1_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t1);
    TSUBS(_t3, a, f);
    TEXPANDS(_t5_number, 0.0f);
    pipe_barrier(PIPE_V);
    _t5_bits.SetValidCol(8);
    TCMP(_t5_bits, b, _t5_number, CmpMode::NE);
    pipe_barrier(PIPE_V);
    TSEL(_t5, _t5_bits, b, a, _t5_scratch);
    TEXPANDS(_t6_number, f);
    pipe_barrier(PIPE_V);
    _t6_bits.SetValidCol(8);
    TCMP(_t6_bits, a, _t6_number, CmpMode::GE);
    pipe_barrier(PIPE_V);
    TSEL(_t6, _t6_bits, _t3, _t5, _t6_scratch);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_8x64Global, out + 8 * 64 + 0);
    TSTORE(out_8x64Global, _t6);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runCompareAndChoose(args);
}
