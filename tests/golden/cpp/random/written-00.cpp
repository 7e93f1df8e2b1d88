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
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[4];
    float f = f_bits.value;
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

    using i_0Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_0Type i_0(16, 32);
    TASSIGN(i_0, 0x2080);

    using jType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    jType j(16, 32);
    TASSIGN(j, 0x2880);

    using p_4Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_4Type p_4(16, 32);
    TASSIGN(p_4, 0x800);

    using p_5_copy0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    p_5_copy0Type p_5_copy0(16, 32);
    TASSIGN(p_5_copy0, 0x800);

    using w_iter_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_iter_rowType w_iter_row(1, 16);
    TASSIGN(w_iter_row, 0x1840);

    using v_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_rowType v_row(1, 16);
    TASSIGN(v_row, 0x1800);

    using w_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_1_rowType w_1_row(1, 16);
    TASSIGN(w_1_row, 0x3080);

    using _t0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 32);
    TASSIGN(_t0, 0x30c0);

    using a_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_2Type a_2(16, 32);
    TASSIGN(a_2, 0x0);

    using i_1Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_1Type i_1(16, 32);
    TASSIGN(i_1, 0x2080);

    using w_2_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_2_rowType w_2_row(1, 16);
    TASSIGN(w_2_row, 0x1840);

    using w_2Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    w_2Type w_2(16, 1);
    TASSIGN(w_2, 0x1840);

    using v_row1Type = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_row1Type v_row1(1, 16);
    TASSIGN(v_row1, 0x1800);

    using w_4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_4_rowType w_4_row(1, 16);
    TASSIGN(w_4_row, 0x1840);

    using w_4Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    w_4Type w_4(16, 1);
    TASSIGN(w_4, 0x1840);

    using c_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_0Type c_0(16, 32);
    TASSIGN(c_0, 0x38c0);

    using v_row2Type = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_row2Type v_row2(1, 16);
    TASSIGN(v_row2, 0x1800);

    using w_5_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_5_rowType w_5_row(1, 16);
    TASSIGN(w_5_row, 0x1840);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x40c0);

    using _t1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(16, 1);
    TASSIGN(_t1, 0x40c0);

    using eType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    eType e(16, 32);
    TASSIGN(e, 0x4100);

    using _t2Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 32);
    TASSIGN(_t2, 0x4900);

    using _t3Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 32);
    TASSIGN(_t3, 0x4d00);

    using _t4Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 32);
    TASSIGN(_t4, 0x5500);

    using _t5Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 32);
    TASSIGN(_t5, 0x5d00);

    using dType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    dType d(16, 32);
    TASSIGN(d, 0x6500);

    using c_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_1Type c_1(16, 32);
    TASSIGN(c_1, 0x6d00);

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
    int64_t _tuple_tmp_1_0 = m_2 + 1;
    int64_t r_1 = _tuple_tmp_1_0;
    pipe_barrier(PIPE_V);
    TROWMAX(v, p_2, scratch);
    pipe_barrier(PIPE_V);
    TROWMIN(w_0, b_0, scratch);
    TCVT(h, p_2, RoundMode::CAST_ROUND);
    TEXPANDS(g, static_cast<half>(1.5f));
    TCVT(i_0, b_0, RoundMode::CAST_FLOOR);
    TEXPANDS(j, 7);
    using a_4Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    a_4Type a_4(16, 32);
    TASSIGN(a_4, 0x0);
    using b_2Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    b_2Type b_2(16, 32);
    TASSIGN(b_2, 0x800);
    using i_3Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_3Type i_3(16, 32);
    TASSIGN(i_3, 0x2080);
    int64_t s_2;
    using w_5Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    w_5Type w_5(16, 1);
    TASSIGN(w_5, 0x1840);
    if (2 < n * 2) {
        int64_t m_3 = -1;
        int64_t m_5;
        using p_5Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
        p_5Type p_5(16, 32);
        TASSIGN(p_5, 0x800);
        if (floor_mod(m_3, 2) == 0) {
            TSUB(p_4, p_2, b_0);
            m_5 = m_3;
            p_5 = p_4;
        } else {
            int64_t m_4 = m_3 - 3;
            pipe_barrier(PIPE_V);
            TMOV(p_5_copy0, p_2);
            m_5 = m_4;
            p_5 = p_5_copy0;
        }
        int64_t _tuple_tmp_1_1 = m_5 + 1;
        int64_t s_1 = _tuple_tmp_1_1;
        int64_t t1_0 = 0;
        using a_iterType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
        a_iterType a_iter(16, 32);
        TASSIGN(a_iter, 0x0);
        a_iter = p_2;
        using i_iterType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
        i_iterType i_iter(16, 32);
        TASSIGN(i_iter, 0x2080);
        i_iter = i_0;
        int64_t t1_iter = t1_0;
        using w_iterType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
        w_iterType w_iter(16, 1);
        TASSIGN(w_iter, 0x1840);
        w_iter = w_0;
        while (t1_iter < 3 && !(s_1 + r_1 < -1)) {
            int64_t t1_1 = t1_iter + 1;
            TRESHAPE(w_iter_row, w_iter);
            TRESHAPE(v_row, v);
            pipe_barrier(PIPE_V);
            TMUL(w_1_row, w_iter_row, v_row);
            TMULS(_t0, a_iter, -3.0f);
            pipe_barrier(PIPE_V);
            TADDS(a_2, _t0, f);
            TDIVS(i_1, j, -2);
            TABS(w_2_row, v_row);
            TRESHAPE(w_2, w_2_row);
            a_iter = a_2;
            i_iter = i_1;
            t1_iter = t1_1;
            w_iter = w_2;
        }
        TRESHAPE(v_row1, v);
        pipe_barrier(PIPE_V);
        TMUL(w_4_row, v_row1, v_row1);
        TRESHAPE(w_4, w_4_row);
        a_4 = a_iter;
        b_2 = p_5;
        i_3 = i_iter;
        s_2 = s_1;
        w_5 = w_4;
    } else {
        a_4 = p_2;
        b_2 = b_0;
        i_3 = i_0;
        s_2 = s_0;
        w_5 = w_0;
    }
    pipe_barrier(PIPE_V);
    TADD(c_0, a_4, b_2);
    TRESHAPE(v_row2, v);
    TRESHAPE(w_5_row, w_5);
    TMAX(_t1_row, v_row2, w_5_row);
    TRESHAPE(_t1, _t1_row);
    pipe_barrier(PIPE_V);
    TROWEXPANDADD(e, c_0, _t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TADD(_t2, h, g);
    pipe_barrier(PIPE_V);
    TCVT(_t3, _t2, RoundMode::CAST_ROUND);
    TADD(_t4, i_3, j);
    pipe_barrier(PIPE_V);
    TCVT(_t5, _t4, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TADD(d, _t3, _t5);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_16x32Global, out + 0 * 32 + 0);
    TSTORE(out_16x32Global, e);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_16x32Global, out + 48 * 32 + 0);
    TSTORE(out_16x32Global, d);
    TMULS(c_1, c_0, static_cast<float>(s_2 + r_1));
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
