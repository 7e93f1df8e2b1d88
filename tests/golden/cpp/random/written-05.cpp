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

    using wType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    wType w(16, 1);
    TASSIGN(w, 0x1840);

    using h_0Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    h_0Type h_0(16, 32);
    TASSIGN(h_0, 0x1880);

    using gType = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    gType g(16, 32);
    TASSIGN(g, 0x1c80);

    using i_0Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_0Type i_0(16, 32);
    TASSIGN(i_0, 0x2080);

    using jType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    jType j(16, 32);
    TASSIGN(j, 0x2880);

    using i_1Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_1Type i_1(16, 32);
    TASSIGN(i_1, 0x2080);

    using h_1Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    h_1Type h_1(16, 32);
    TASSIGN(h_1, 0x3080);

    using p_4Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_4Type p_4(16, 32);
    TASSIGN(p_4, 0x0);

    using p_7Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_7Type p_7(16, 32);
    TASSIGN(p_7, 0x0);

    using a_iter_copy0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_iter_copy0Type a_iter_copy0(16, 32);
    TASSIGN(a_iter_copy0, 0x3480);

    using b_2_copy0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_2_copy0Type b_2_copy0(16, 32);
    TASSIGN(b_2_copy0, 0x0);

    using a_5_copy0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_5_copy0Type a_5_copy0(16, 32);
    TASSIGN(a_5_copy0, 0x800);

    using a_5_copy1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_5_copy1Type a_5_copy1(16, 32);
    TASSIGN(a_5_copy1, 0x3c80);

    using b_3_copy1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_3_copy1Type b_3_copy1(16, 32);
    TASSIGN(b_3_copy1, 0x800);

    using a_6_copy1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_6_copy1Type a_6_copy1(16, 32);
    TASSIGN(a_6_copy1, 0x0);

    using c_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_0Type c_0(16, 32);
    TASSIGN(c_0, 0x4480);

    using v_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_rowType v_row(1, 16);
    TASSIGN(v_row, 0x1800);

    using w_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_rowType w_row(1, 16);
    TASSIGN(w_row, 0x1840);

    using _t0_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t0_rowType _t0_row(1, 16);
    TASSIGN(_t0_row, 0x4c80);

    using _t0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t0Type _t0(16, 1);
    TASSIGN(_t0, 0x4c80);

    using eType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    eType e(16, 32);
    TASSIGN(e, 0x4cc0);

    using _t1Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 32);
    TASSIGN(_t1, 0x54c0);

    using _t2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 32);
    TASSIGN(_t2, 0x58c0);

    using _t3Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 32);
    TASSIGN(_t3, 0x60c0);

    using _t4Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 32);
    TASSIGN(_t4, 0x68c0);

    using dType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    dType d(16, 32);
    TASSIGN(d, 0x70c0);

    using c_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_1Type c_1(16, 32);
    TASSIGN(c_1, 0x78c0);

    // Function body
    int64_t s_0 = n + 1;
    int64_t r_0 = s_0 * 3;
    TASSIGN(x_16x32Global, x + 0 * 32 + 0);
    TLOAD(a_0, x_16x32Global);
    TASSIGN(y_16x32Global, y + 16 * 32 + 0);
    TLOAD(b_0, y_16x32Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    int64_t m_0 = r_0;
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    using p_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_2Type p_2(16, 32);
    TASSIGN(p_2, 0x0);
    if (floor_mod(m_0, 2) == 0) {
        TSUB(p_1, a_0, b_0);
        p_2 = p_1;
    } else {
        p_2 = a_0;
    }
    pipe_barrier(PIPE_V);
    TROWMAX(v, p_2, scratch);
    pipe_barrier(PIPE_V);
    TROWMIN(w, b_0, scratch);
    TCVT(h_0, p_2, RoundMode::CAST_ROUND);
    TEXPANDS(g, static_cast<half>(1.5f));
    TCVT(i_0, b_0, RoundMode::CAST_FLOOR);
    TEXPANDS(j, 7);
    using i_iterType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_iterType i_iter(16, 32);
    TASSIGN(i_iter, 0x2080);
    i_iter = i_0;
    for (int64_t k1 = 1; k1 < (s_0 < 3 ? s_0 : 3); k1 += 1) {
        pipe_barrier(PIPE_V);
        TCVT(i_1, b_0, RoundMode::CAST_ROUND);
        i_iter = i_1;
    }
    pipe_barrier(PIPE_V);
    TSUB(h_1, h_0, h_0);
    int64_t m_3 = -3;
    int64_t m_5;
    using p_5Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_5Type p_5(16, 32);
    TASSIGN(p_5, 0x0);
    if (floor_mod(m_3, 2) == 0) {
        TSUB(p_4, p_2, b_0);
        m_5 = m_3;
        p_5 = p_4;
    } else {
        int64_t m_4 = m_3 - 3;
        m_5 = m_4;
        p_5 = p_2;
    }
    int64_t _tuple_tmp_1_1 = m_5 + 1;
    int64_t s_1 = _tuple_tmp_1_1;
    int64_t m_6 = n * 1;
    int64_t m_8;
    using p_8Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_8Type p_8(16, 32);
    TASSIGN(p_8, 0x0);
    if (floor_mod(m_6, 2) == 0) {
        TSUB(p_7, p_5, b_0);
        m_8 = m_6;
        p_8 = p_7;
    } else {
        int64_t m_7 = m_6 - 3;
        m_8 = m_7;
        p_8 = p_5;
    }
    int64_t _tuple_tmp_1_2 = m_8 + 1;
    int64_t r_4 = _tuple_tmp_1_2;
    using a_iterType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_iterType a_iter(16, 32);
    TASSIGN(a_iter, 0x0);
    a_iter = p_8;
    using b_iterType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_iterType b_iter(16, 32);
    TASSIGN(b_iter, 0x800);
    b_iter = b_0;
    for (int64_t k2 = n; k2 > -1; k2 += -1) {
        using a_5Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
        a_5Type a_5(16, 32);
        TASSIGN(a_5, 0x800);
        using b_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
        b_2Type b_2(16, 32);
        TASSIGN(b_2, 0x0);
        if (!(3 < s_1 - n)) {
            a_5 = b_iter;
            b_2 = a_iter;
        } else {
            pipe_barrier(PIPE_V);
            TMOV(a_iter_copy0, a_iter);
            pipe_barrier(PIPE_V);
            TMOV(b_2_copy0, b_iter);
            pipe_barrier(PIPE_V);
            TMOV(a_5_copy0, a_iter_copy0);
            a_5 = a_5_copy0;
            b_2 = b_2_copy0;
        }
        pipe_barrier(PIPE_V);
        TMOV(a_5_copy1, a_5);
        pipe_barrier(PIPE_V);
        TMOV(b_3_copy1, b_2);
        pipe_barrier(PIPE_V);
        TMOV(a_6_copy1, a_5_copy1);
        a_iter = a_6_copy1;
        b_iter = b_3_copy1;
    }
    pipe_barrier(PIPE_V);
    TADD(c_0, a_iter, b_iter);
    TRESHAPE(v_row, v);
    TRESHAPE(w_row, w);
    TMAX(_t0_row, v_row, w_row);
    TRESHAPE(_t0, _t0_row);
    pipe_barrier(PIPE_V);
    TROWEXPANDADD(e, c_0, _t0);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TADD(_t1, h_1, g);
    pipe_barrier(PIPE_V);
    TCVT(_t2, _t1, RoundMode::CAST_ROUND);
    TADD(_t3, i_iter, j);
    pipe_barrier(PIPE_V);
    TCVT(_t4, _t3, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TADD(d, _t2, _t4);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x32Global, out + 0 * 32 + 0);
    TSTORE(out_16x32Global, e);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_16x32Global, out + 48 * 32 + 0);
    TSTORE(out_16x32Global, d);
    TMULS(c_1, c_0, static_cast<float>(s_1 + r_4));
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
