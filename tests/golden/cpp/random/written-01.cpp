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

template <typename T>
static inline __aicore__ T int_min(T a, T b)
{
    return a < b ? a : b;
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

    using hType = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    hType h(16, 32);
    TASSIGN(h, 0x1880);

    using gType = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    gType g(16, 32);
    TASSIGN(g, 0x1c80);

    using i_0Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_0Type i_0(16, 32);
    TASSIGN(i_0, 0x2080);

    using j_0Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    j_0Type j_0(16, 32);
    TASSIGN(j_0, 0x2880);

    using j_1Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    j_1Type j_1(16, 32);
    TASSIGN(j_1, 0x2880);

    using i_1Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_1Type i_1(16, 32);
    TASSIGN(i_1, 0x2080);

    using _t0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 32);
    TASSIGN(_t0, 0x3080);

    using c_0Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_0Type c_0(16, 32);
    TASSIGN(c_0, 0x3880);

    using v_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    v_rowType v_row(1, 16);
    TASSIGN(v_row, 0x1800);

    using w_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    w_rowType w_row(1, 16);
    TASSIGN(w_row, 0x1840);

    using _t1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t1_rowType _t1_row(1, 16);
    TASSIGN(_t1_row, 0x4080);

    using _t1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t1Type _t1(16, 1);
    TASSIGN(_t1, 0x4080);

    using eType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    eType e(16, 32);
    TASSIGN(e, 0x40c0);

    using _t2Type = Tile<TileType::Vec, half, 16, 32, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 32);
    TASSIGN(_t2, 0x48c0);

    using _t3Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 32);
    TASSIGN(_t3, 0x4cc0);

    using _t4Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    _t4Type _t4(16, 32);
    TASSIGN(_t4, 0x54c0);

    using _t5Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 32);
    TASSIGN(_t5, 0x5cc0);

    using dType = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    dType d(16, 32);
    TASSIGN(d, 0x64c0);

    using c_1Type = Tile<TileType::Vec, float, 16, 32, BLayout::RowMajor, -1, -1>;
    c_1Type c_1(16, 32);
    TASSIGN(c_1, 0x6cc0);

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
    TROWMIN(w, b_0, scratch);
    TCVT(h, p_2, RoundMode::CAST_ROUND);
    TEXPANDS(g, static_cast<half>(1.5f));
    TCVT(i_0, b_0, RoundMode::CAST_FLOOR);
    TEXPANDS(j_0, 7);
    int64_t t1_0 = 0;
    using i_iterType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    i_iterType i_iter(16, 32);
    TASSIGN(i_iter, 0x2080);
    i_iter = i_0;
    using j_iterType = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
    j_iterType j_iter(16, 32);
    TASSIGN(j_iter, 0x2880);
    j_iter = j_0;
    int64_t r_iter = r_1;
    int64_t t1_iter = t1_0;
    while (t1_iter < 3 && (t1_iter + r_iter >= (2 > s ? 2 : s) || t1_iter + r_iter < s)) {
        int64_t t1_1 = t1_iter + 1;
        using i_3Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
        i_3Type i_3(16, 32);
        TASSIGN(i_3, 0x2080);
        using j_3Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
        j_3Type j_3(16, 32);
        TASSIGN(j_3, 0x2880);
        using out_4ShapeDim5 = Shape<1, 1, 1, 64, 32>;
        using out_4StrideDim5 = Stride<1, 1, 1, 32, 1>;
        using out_4GlobalType = GlobalTensor<float, out_4ShapeDim5, out_4StrideDim5>;
        out_4GlobalType out_4Global;
        int64_t r_3;
        if (t1_1 >= (-3 < t1_1 ? -3 : t1_1) && t1_1 + -3 == r_iter - n) {
            using i_2Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
            i_2Type i_2(16, 32);
            TASSIGN(i_2, 0x2080);
            using j_2Type = Tile<TileType::Vec, int32_t, 16, 32, BLayout::RowMajor, -1, -1>;
            j_2Type j_2(16, 32);
            TASSIGN(j_2, 0x2880);
            using out_3ShapeDim5 = Shape<1, 1, 1, 64, 32>;
            using out_3StrideDim5 = Stride<1, 1, 1, 32, 1>;
            using out_3GlobalType = GlobalTensor<float, out_3ShapeDim5, out_3StrideDim5>;
            out_3GlobalType out_3Global;
            if (!(-t1_1 > (2 < s ? 2 : s))) {
                pipe_barrier(PIPE_V);
                TADDS(j_1, j_iter, -2);
                i_2 = i_iter;
                j_2 = j_1;
                out_3Global = outGlobal;
            } else {
                pipe_barrier(PIPE_V);
                TDIVS(i_1, i_iter, -2);
                using out_2ShapeDim5 = Shape<1, 1, 1, 64, 32>;
                using out_2StrideDim5 = Stride<1, 1, 1, 32, 1>;
                using out_2GlobalType = GlobalTensor<float, out_2ShapeDim5, out_2StrideDim5>;
                out_2GlobalType out_2Global;
                if ((s < 2 ? s : 2) == (s < -3 ? s : -3) || false) {
                    out_2Global = outGlobal;
                } else {
                    TDIV(_t0, p_2, p_2);
                    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
                    TASSIGN(out_16x32Global, out + floor_mod(n, 4) * 16 * 32 + 0);
                    TSTORE(out_16x32Global, _t0);
                    out_2Global = outGlobal;
                }
                i_2 = i_1;
                j_2 = j_iter;
                out_3Global = out_2Global;
            }
            i_3 = i_2;
            j_3 = j_2;
            out_4Global = out_3Global;
            r_3 = r_iter;
        } else {
            int64_t r_2 = int_min<int64_t>(t1_1 > -40 ? t1_1 : -40, 40);
            i_3 = i_iter;
            j_3 = j_iter;
            out_4Global = outGlobal;
            r_3 = r_2;
        }
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID4);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID4);
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        i_iter = i_3;
        j_iter = j_3;
        r_iter = r_3;
        t1_iter = t1_1;
    }
    TADD(c_0, p_2, b_0);
    TRESHAPE(v_row, v);
    TRESHAPE(w_row, w);
    pipe_barrier(PIPE_V);
    TMAX(_t1_row, v_row, w_row);
    TRESHAPE(_t1, _t1_row);
    pipe_barrier(PIPE_V);
    TROWEXPANDADD(e, c_0, _t1);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TADD(_t2, h, g);
    pipe_barrier(PIPE_V);
    TCVT(_t3, _t2, RoundMode::CAST_ROUND);
    TADD(_t4, i_iter, j_iter);
    pipe_barrier(PIPE_V);
    TCVT(_t5, _t4, RoundMode::CAST_ROUND);
    pipe_barrier(PIPE_V);
    TADD(d, _t3, _t5);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
    TASSIGN(out_16x32Global, out + 0 * 32 + 0);
    TSTORE(out_16x32Global, e);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID2);
    TASSIGN(out_16x32Global, out + 48 * 32 + 0);
    TSTORE(out_16x32Global, d);
    TMULS(c_1, c_0, static_cast<float>(s + r_iter));
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID3);
    TASSIGN(out_16x32Global, out + 32 * 32 + 0);
    TSTORE(out_16x32Global, c_1);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runKernel(args);
}
