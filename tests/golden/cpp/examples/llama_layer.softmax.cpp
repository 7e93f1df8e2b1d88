#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

static inline __aicore__ int64_t region_begin(
    int64_t dimension, int64_t begin, int64_t size, int64_t limit)
{
#if defined(PTO_CPU_NATIVE)
    if (begin < 0 || begin > limit - size) {
        pto::cpu::fail_region(dimension, begin, size, limit);
    }
#endif
    return begin;
}

__aicore__ __attribute__((always_inline)) void runSoftmax(__gm__ int64_t* args)
{
    // Unpack arguments
    int64_t keys = args[0];
    __gm__ float* s = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* mask = reinterpret_cast<__gm__ float*>(args[2]);
    __gm__ bfloat16_t* p = reinterpret_cast<__gm__ bfloat16_t*>(args[3]);

    // Global tensor declarations
    using sShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using sStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using sGlobalType = GlobalTensor<float, sShapeDim5, sStrideDim5>;
    sGlobalType sGlobal(s);

    using maskShapeDim5 = Shape<1, 1, 1, 64, 64>;
    using maskStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using maskGlobalType = GlobalTensor<float, maskShapeDim5, maskStrideDim5>;
    maskGlobalType maskGlobal(mask);

    using pShapeDim5 = Shape<1, 1, 1, 64, 256>;
    using pStrideDim5 = Stride<1, 1, 1, 256, 1>;
    using pGlobalType = GlobalTensor<bfloat16_t, pShapeDim5, pStrideDim5>;
    pGlobalType pGlobal(p);

    using s_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using s_16x64StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using s_16x64GlobalType = GlobalTensor<float, s_16x64ShapeDim5, s_16x64StrideDim5>;
    s_16x64GlobalType s_16x64Global(s);

    using mask_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using mask_16x64StrideDim5 = Stride<1, 1, 1, 64, 1>;
    using mask_16x64GlobalType = GlobalTensor<float, mask_16x64ShapeDim5, mask_16x64StrideDim5>;
    mask_16x64GlobalType mask_16x64Global(mask);

    using p_16x64ShapeDim5 = Shape<1, 1, 1, 16, 64>;
    using p_16x64StrideDim5 = Stride<1, 1, 1, 256, 1>;
    using p_16x64GlobalType = GlobalTensor<bfloat16_t, p_16x64ShapeDim5, p_16x64StrideDim5>;
    p_16x64GlobalType p_16x64Global(p);

    // Tile type definitions and allocations
    using scratchType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    scratchType scratch(16, 64);
    TASSIGN(scratch, 0x0);

    using _t0Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(16, 64);
    TASSIGN(_t0, 0x1000);

    using _t1Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(16, 64);
    TASSIGN(_t1, 0x2000);

    using _t2Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(16, 64);
    TASSIGN(_t2, 0x3000);

    using ownType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    ownType own(16, 64);
    TASSIGN(own, 0x4000);

    using largest_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    largest_0Type largest_0(16, 1);
    TASSIGN(largest_0, 0x5000);

    using _t3Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t3Type _t3(16, 64);
    TASSIGN(_t3, 0x5040);

    using tile_0Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    tile_0Type tile_0(16, 64);
    TASSIGN(tile_0, 0x6040);

    using _t4Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t4Type _t4(16, 1);
    TASSIGN(_t4, 0x7040);

    using largest_iter_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    largest_iter_rowType largest_iter_row(1, 16);
    TASSIGN(largest_iter_row, 0x5000);

    using _t4_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t4_rowType _t4_row(1, 16);
    TASSIGN(_t4_row, 0x7040);

    using largest_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    largest_1_rowType largest_1_row(1, 16);
    TASSIGN(largest_1_row, 0x5000);

    using largest_1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    largest_1Type largest_1(16, 1);
    TASSIGN(largest_1, 0x5000);

    using _t5Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t5Type _t5(16, 64);
    TASSIGN(_t5, 0x7080);

    using own_powersType = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    own_powersType own_powers(16, 64);
    TASSIGN(own_powers, 0x8080);

    using total_0Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    total_0Type total_0(16, 1);
    TASSIGN(total_0, 0x9080);

    using _t6Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t6Type _t6(16, 64);
    TASSIGN(_t6, 0x90c0);

    using tile_1Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    tile_1Type tile_1(16, 64);
    TASSIGN(tile_1, 0xa0c0);

    using _t7Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t7Type _t7(16, 64);
    TASSIGN(_t7, 0xb0c0);

    using powers_0Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    powers_0Type powers_0(16, 64);
    TASSIGN(powers_0, 0xc0c0);

    using _t8Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    _t8Type _t8(16, 1);
    TASSIGN(_t8, 0xd0c0);

    using total_iter_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    total_iter_rowType total_iter_row(1, 16);
    TASSIGN(total_iter_row, 0x9080);

    using _t8_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    _t8_rowType _t8_row(1, 16);
    TASSIGN(_t8_row, 0xd0c0);

    using total_1_rowType = Tile<TileType::Vec, float, 1, 16, BLayout::RowMajor, -1, -1>;
    total_1_rowType total_1_row(1, 16);
    TASSIGN(total_1_row, 0x9080);

    using total_1Type = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
    total_1Type total_1(16, 1);
    TASSIGN(total_1, 0x9080);

    using _t9Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t9Type _t9(16, 64);
    TASSIGN(_t9, 0xd100);

    using tile_2Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    tile_2Type tile_2(16, 64);
    TASSIGN(tile_2, 0xe100);

    using _t10Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t10Type _t10(16, 64);
    TASSIGN(_t10, 0xf100);

    using powers_1Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    powers_1Type powers_1(16, 64);
    TASSIGN(powers_1, 0x10100);

    using _t11Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t11Type _t11(16, 64);
    TASSIGN(_t11, 0x11100);

    using weights_0Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    weights_0Type weights_0(16, 64);
    TASSIGN(weights_0, 0x12100);

    using _t12Type = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
    _t12Type _t12(16, 64);
    TASSIGN(_t12, 0x12900);

    using weights_1Type = Tile<TileType::Vec, bfloat16_t, 16, 64, BLayout::RowMajor, -1, -1>;
    weights_1Type weights_1(16, 64);
    TASSIGN(weights_1, 0x13900);

    // Function body
    set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    for (int64_t r = 0; r < 64; r += 16) {
        TASSIGN(s_16x64Global, s + r * 256 + region_begin(1, keys - 64, 64, 256));
        TLOAD(_t0, s_16x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
        TMULS(_t1, _t0, 0.08838834764831845f);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        TASSIGN(mask_16x64Global, mask + r * 64 + 0);
        TLOAD(_t2, mask_16x64Global);
        set_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID1);
        pipe_barrier(PIPE_V);
        TADD(own, _t1, _t2);
        set_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWMAX(largest_0, own, scratch);
        using largest_iterType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
        largest_iterType largest_iter(16, 1);
        TASSIGN(largest_iter, 0x5000);
        largest_iter = largest_0;
        for (int64_t n_0 = 0; n_0 < keys - 64; n_0 += 64) {
            TASSIGN(s_16x64Global, s + r * 256 + region_begin(1, n_0, 64, 256));
            TLOAD(_t3, s_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID2);
            TMULS(tile_0, _t3, 0.08838834764831845f);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
            pipe_barrier(PIPE_V);
            TROWMAX(_t4, tile_0, scratch);
            TRESHAPE(largest_iter_row, largest_iter);
            TRESHAPE(_t4_row, _t4);
            pipe_barrier(PIPE_V);
            TMAX(largest_1_row, largest_iter_row, _t4_row);
            TRESHAPE(largest_1, largest_1_row);
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID2);
            largest_iter = largest_1;
        }
        pipe_barrier(PIPE_V);
        TROWEXPANDSUB(_t5, own, largest_iter);
        pipe_barrier(PIPE_V);
        TEXP(own_powers, _t5);
        pipe_barrier(PIPE_V);
        TROWSUM(total_0, own_powers, scratch);
        using total_iterType = Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor, -1, -1, SLayout::NoneBox, 512>;
        total_iterType total_iter(16, 1);
        TASSIGN(total_iter, 0x9080);
        total_iter = total_0;
        for (int64_t n_1 = 0; n_1 < keys - 64; n_1 += 64) {
            TASSIGN(s_16x64Global, s + r * 256 + region_begin(1, n_1, 64, 256));
            TLOAD(_t6, s_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID3);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID3);
            TMULS(tile_1, _t6, 0.08838834764831845f);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID3);
            pipe_barrier(PIPE_V);
            TROWEXPANDSUB(_t7, tile_1, largest_iter);
            pipe_barrier(PIPE_V);
            TEXP(powers_0, _t7);
            pipe_barrier(PIPE_V);
            TROWSUM(_t8, powers_0, scratch);
            TRESHAPE(total_iter_row, total_iter);
            TRESHAPE(_t8_row, _t8);
            pipe_barrier(PIPE_V);
            TADD(total_1_row, total_iter_row, _t8_row);
            TRESHAPE(total_1, total_1_row);
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID3);
            total_iter = total_1;
        }
        set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        for (int64_t n_2 = 0; n_2 < keys - 64; n_2 += 64) {
            TASSIGN(s_16x64Global, s + r * 256 + region_begin(1, n_2, 64, 256));
            TLOAD(_t9, s_16x64Global);
            set_flag(PIPE_MTE2, PIPE_V, EVENT_ID4);
            wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID4);
            TMULS(tile_2, _t9, 0.08838834764831845f);
            set_flag(PIPE_V, PIPE_MTE2, EVENT_ID4);
            pipe_barrier(PIPE_V);
            TROWEXPANDSUB(_t10, tile_2, largest_iter);
            pipe_barrier(PIPE_V);
            TEXP(powers_1, _t10);
            pipe_barrier(PIPE_V);
            TROWEXPANDDIV(_t11, powers_1, total_iter);
            wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            pipe_barrier(PIPE_V);
            TCVT(weights_0, _t11, RoundMode::CAST_ROUND);
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
            TASSIGN(p_16x64Global, p + r * 256 + region_begin(1, n_2, 64, 256));
            TSTORE(p_16x64Global, weights_0);
            set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
            wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID4);
        }
        wait_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);
        pipe_barrier(PIPE_V);
        TROWEXPANDDIV(_t12, own_powers, total_iter);
        pipe_barrier(PIPE_V);
        TCVT(weights_1, _t12, RoundMode::CAST_ROUND);
        set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);
        TASSIGN(p_16x64Global, p + r * 256 + region_begin(1, keys - 64, 64, 256));
        TSTORE(p_16x64Global, weights_1);
        wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID1);
    }
    wait_flag(PIPE_V, PIPE_MTE2, EVENT_ID0);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runSoftmax(args);
}
