#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'%' by zero");
        return 0;
    }
    if (b == -1) {
        return 0;
    }
#endif
    int64_t r = a % b;
    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;
}

__aicore__ __attribute__((always_inline)) void runKernel(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* z = reinterpret_cast<__gm__ float*>(args[2]);
    int64_t n = args[3];
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[5]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 64, 32>;
    using xStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 64, 32>;
    using yStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using yGlobalType = GlobalTensor<float, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using zShapeDim5 = Shape<1, 1, 1, 64, 1>;
    using zStrideDim5 = Stride<1, 1, 1, 1, 1>;
    using zGlobalType = GlobalTensor<float, zShapeDim5, zStrideDim5>;
    zGlobalType zGlobal(z);

    using outShapeDim5 = Shape<1, 1, 1, 64, 32>;
    using outStrideDim5 = Stride<1, 1, 1, 32, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out);

    using x_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using x_16x32StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using x_16x32GlobalType = GlobalTensor<float, x_16x32ShapeDim5, x_16x32StrideDim5>;
    x_16x32GlobalType x_16x32Global(x);

    using y_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using y_16x32StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using y_16x32GlobalType = GlobalTensor<float, y_16x32ShapeDim5, y_16x32StrideDim5>;
    y_16x32GlobalType y_16x32Global(y);

    using out_16x32ShapeDim5 = Shape<1, 1, 1, 16, 32>;
    using out_16x32StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using out_16x32GlobalType = GlobalTensor<float, out_16x32ShapeDim5, out_16x32StrideDim5>;
    out_16x32GlobalType out_16x32Global(out);

    // Tile type definitions and allocations
    using a_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_0Type a_0(16, 32);
    TASSIGN(a_0, 0x0);

    using b_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_0Type b_0(16, 32);
    TASSIGN(b_0, 0x800);

    using scratchType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 32);
    TASSIGN(scratch, 0x1000);

    using p_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_1Type p_1(16, 32);
    TASSIGN(p_1, 0x0);

    using vType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    vType v(16, 1);
    TASSIGN(v, 0x1800);

    using w_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    w_0Type w_0(16, 1);
    TASSIGN(w_0, 0x1840);

    using hType = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    hType h(16, 32);
    TASSIGN(h, 0x1880);

    using gType = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    gType g(16, 32);
    TASSIGN(g, 0x1c80);

    using iType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    iType i(16, 32);
    TASSIGN(i, 0x2080);

    using jType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    jType j(16, 32);
    TASSIGN(j, 0x2880);

    using w_0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_0_rowType w_0_row(1, 16);
    TASSIGN(w_0_row, 0x1840);

    using w_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_1_rowType w_1_row(1, 16);
    TASSIGN(w_1_row, 0x3080);

    using _t0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 32);
    TASSIGN(_t0, 0x30c0);

    using b_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_1Type b_1(16, 32);
    TASSIGN(b_1, 0x38c0);

    using _t1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 32);
    TASSIGN(_t1, 0x40c0);

    using _t2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 32);
    TASSIGN(_t2, 0x48c0);

    using b_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_2Type b_2(16, 32);
    TASSIGN(b_2, 0x800);

    using _t3Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 32);
    TASSIGN(_t3, 0x50c0);

    using c_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_0Type c_0(16, 32);
    TASSIGN(c_0, 0x58c0);

    using v_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_rowType v_row(1, 16);
    TASSIGN(v_row, 0x1800);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 16);
    TASSIGN(_t4_row, 0x60c0);

    using _t4Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t4Type _t4(16, 1);
    TASSIGN(_t4, 0x60c0);

    using eType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    eType e(16, 32);
    TASSIGN(e, 0x6100);

    using _t5Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 32);
    TASSIGN(_t5, 0x6900);

    using _t6Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 32);
    TASSIGN(_t6, 0x6d00);

    using _t7Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(16, 32);
    TASSIGN(_t7, 0x7500);

    using _t8Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t8Type _t8(16, 32);
    TASSIGN(_t8, 0x7d00);

    using dType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    dType d(16, 32);
    TASSIGN(d, 0x8500);

    using c_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_1Type c_1(16, 32);
    TASSIGN(c_1, 0x8d00);

    // Function body
    int64_t s = n + 1;
    int64_t r_0 = s * 3;
    TASSIGN(x_16x32Global, x + 0 * 32 + 0);
    TLOAD(a_0, x_16x32Global);
    TASSIGN(y_16x32Global, y + 16 * 32 + 0);
    TLOAD(b_0, y_16x32Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t m_0 = r_0;
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t m_2;
    using p_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_2Type p_2(16, 32);
    TASSIGN(p_2, 0x0);
    if (floor_mod(m_0, 2) == 0) {
        TSUB(p_1, a_0, b_0);
        m_2 = m_0;
        p_2 = p_1;
    } else {
        int64_t m_1 = m_0 - 3;
        m_2 = m_1;
        p_2 = a_0;
    }
    int64_t _tuple_tmp_1 = m_2 + 1;
    int64_t r_1 = _tuple_tmp_1;
    pipe_barrier(PIPE_V);
    TROWMAX(v, p_2, scratch);
    pipe_barrier(PIPE_V);
    TROWMIN(w_0, b_0, scratch);
    TCVT(h, p_2, RoundMode::CAST_ROUND);
    TEXPANDS(g, static_cast<half>(1.5f));
    TCVT(i, b_0, RoundMode::CAST_FLOOR);
    TEXPANDS(j, 7);
    TRESHAPE(w_0_row, w_0);
    pipe_barrier(PIPE_V);
    TNEG(w_1_row, w_0_row);
    using b_4Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_4Type b_4(16, 32);
    TASSIGN(b_4, 0x800);
    using out_5ShapeDim5 = Shape<1, 1, 1, 64, 32>;
    using out_5StrideDim5 = Stride<1, 1, 1, 32, 1>;
    using out_5GlobalType = GlobalTensor<float, out_5ShapeDim5, out_5StrideDim5>;
    out_5GlobalType out_5Global;
    if ((2 > n ? 2 : n) >= (-3 > n ? -3 : n) || -2 < r_1) {
        using b_3Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
        b_3Type b_3(16, 32);
        TASSIGN(b_3, 0x800);
        using out_4ShapeDim5 = Shape<1, 1, 1, 64, 32>;
        using out_4StrideDim5 = Stride<1, 1, 1, 32, 1>;
        using out_4GlobalType = GlobalTensor<float, out_4ShapeDim5, out_4StrideDim5>;
        out_4GlobalType out_4Global;
        if ((2 > s ? 2 : s) > n - -3) {
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            for (int64_t k1 = 0; k1 < (s < 3 ? s : 3); k1 += 1) {
                pipe_barrier(PIPE_V);
                TRELU(_t0, p_2);
                pipe_barrier(PIPE_V);
                TMUL(b_1, _t0, p_2);
                wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
                TMOV(_t1, p_2);
                set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                TASSIGN(out_16x32Global, out + floor_mod((k1 < -3 ? k1 : -3) - floor_mod(k1, 2), 49) * 32 + 0);
                TSTORE(out_16x32Global, _t1);
                set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            }
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            TSUBS(_t2, p_2, -3.0f);
            pipe_barrier(PIPE_V);
            TMOV(b_2, _t2);
            TCVT(_t3, h, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
            TASSIGN(out_16x32Global, out + 0 * 32 + 0);
            TSTORE(out_16x32Global, _t3);
            b_3 = b_2;
            out_4Global = outGlobal;
        } else {
            b_3 = b_0;
            out_4Global = outGlobal;
        }
        b_4 = b_3;
        out_5Global = out_4Global;
    } else {
        b_4 = b_0;
        out_5Global = outGlobal;
    }
    pipe_barrier(PIPE_V);
    TADD(c_0, p_2, b_4);
    TRESHAPE(v_row, v);
    TMAX(_t4_row, v_row, w_1_row);
    TRESHAPE(_t4, _t4_row);
    pipe_barrier(PIPE_V);
    TROWEXPANDADD(e, c_0, _t4);
    TADD(_t5, h, g);
    pipe_barrier(PIPE_V);
    TCVT(_t6, _t5, RoundMode::CAST_ROUND);
    TADD(_t7, i, j);
    pipe_barrier(PIPE_V);
    TCVT(_t8, _t7, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TADD(d, _t6, _t8);
    pipe_barrier(PIPE_ALL);
    TASSIGN(out_16x32Global, out + 0 * 32 + 0);
    TSTORE(out_16x32Global, e);
    TASSIGN(out_16x32Global, out + 48 * 32 + 0);
    TSTORE(out_16x32Global, d);
    TMULS(c_1, c_0, static_cast<float>(s + r_1));
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    TASSIGN(out_16x32Global, out + 32 * 32 + 0);
    TSTORE(out_16x32Global, c_1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
