#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

template <typename T, typename F>
static inline __aicore__ T float_to_int(F value)
{
#if defined(PTO_CPU_NATIVE)
    return pto::cpu::nearest_integer<T>(static_cast<double>(value));
#else
    return static_cast<T>(value);
#endif
}

static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)
{
#if defined(PTO_CPU_NATIVE)
    if (b == 0) {
        pto::cpu::fail("'//' by zero");
        return 0;
    }
    if (b == -1) {
        return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
    }
#endif
    int64_t q = a / b;
    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;
}

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
static inline __aicore__ T int_abs(T a)
{
    const uint64_t bits = static_cast<uint64_t>(a);
    return static_cast<T>(a < 0 ? 0 - bits : bits);
}

__aicore__ __attribute__((always_inline)) void runScalarsInt8(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    int8_t a = static_cast<int8_t>(args[1]);
    int8_t b = static_cast<int8_t>(args[2]);
    union { int64_t word; float value; } f_bits;
    f_bits.word = args[3];
    float f = f_bits.value;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[4]);

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
    using _t0Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t0Type _t0(8, 64);
    TASSIGN(_t0, 0x0);

    using _t1Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t1Type _t1(8, 64);
    TASSIGN(_t1, 0x800);

    using _t2Type = Tile<TileType::Vec, float, 8, 64, BLayout::RowMajor, -1, -1>;
    _t2Type _t2(8, 64);
    TASSIGN(_t2, 0x1000);

    // Function body
    int8_t k_0 = static_cast<int8_t>(static_cast<int8_t>(static_cast<int8_t>(static_cast<int8_t>(a + b) * static_cast<int8_t>(a - b)) + static_cast<int8_t>(floor_div(a, 3))) - static_cast<int8_t>(floor_mod(b, -5)));
    int8_t k_1 = static_cast<int8_t>(static_cast<int8_t>(k_0 & a) | static_cast<int8_t>(b ^ k_0));
    int8_t k_2 = static_cast<int8_t>((k_1 > a ? k_1 : a) - (k_1 < b ? k_1 : b));
    int8_t k_3 = static_cast<int8_t>(static_cast<int8_t>(k_2 << 2) + static_cast<int8_t>(a >> 1));
    int8_t k_4 = static_cast<int8_t>(static_cast<int8_t>(static_cast<int8_t>(k_3 + static_cast<int8_t>(~a)) + static_cast<int8_t>(-b)) + int_abs<int8_t>(a));
    int8_t k_6;
    if (a < b || a >= k_4) {
        int8_t k_5 = static_cast<int8_t>(k_4 + 1);
        k_6 = k_5;
    } else {
        k_6 = k_4;
    }
    int8_t k_8;
    if (k_6 != a && (k_6 == b || k_6 <= b || !(k_6 > b))) {
        int8_t k_7 = static_cast<int8_t>(k_6 * 7);
        k_8 = k_7;
    } else {
        k_8 = k_6;
    }
    int8_t k_iter = k_8;
    for (int64_t i = 0; i < 4; i += 1) {
        int8_t k_9 = static_cast<int8_t>(static_cast<int8_t>(k_iter * 3) - a);
        k_iter = k_9;
    }
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(_t0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMULS(_t1, _t0, static_cast<float>(k_iter));
    pipe_barrier(PIPE_V);
    TADDS(_t2, _t1, static_cast<float>(float_to_int<int8_t>(f)));
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t2);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runScalarsInt8(args);
}
