#include <cstdint>

#include <pto/pto-inst.hpp>

using namespace pto;

template <typename T>
static inline __aicore__ T float_abs(T a)
{
    return a <= 0 ? static_cast<T>(0 - a) : a;  // -0 becomes 0, too
}

static inline __aicore__ double float_floor_div(double a, double b)
{
    double q = a / b;
    if (!(q > -4503599627370496.0 && q < 4503599627370496.0)) {
        return q;  // whole already, infinite or not a number
    }
    double whole = static_cast<double>(static_cast<int64_t>(q));
    return (whole > q ? whole - 1.0 : whole) + 0.0;
}

static inline __aicore__ double float_floor_mod(double a, double b)
{
#if defined(__CCE_AICORE__)
    double q = a / b, whole = static_cast<double>(static_cast<int64_t>(q));
    double r = a - whole * b;
#else
    double r = __builtin_fmod(a, b);
#endif
    if (r == 0.0) {
        return b < 0.0 ? -0.0 : 0.0;
    }
    return (r < 0.0) != (b < 0.0) ? r + b : r;
}

static inline __aicore__ double float_max(double a, double b)
{
    return (a != a || b != b) ? a + b : b > a ? b : a;
}

static inline __aicore__ double float_min(double a, double b)
{
    return (a != a || b != b) ? a + b : b < a ? b : a;
}

static inline __aicore__ double float_pow(double a, double n)
{
#if defined(__CCE_AICORE__)
    int64_t count = static_cast<int64_t>(n < 0.0 ? -n : n);  // whole exponents only
    double result = 1.0;
    for (; count > 0; count >>= 1) {
        if (count & 1) { result *= a; }
        a *= a;
    }
    return n < 0.0 ? 1.0 / result : result;
#else
    return __builtin_pow(a, n);
#endif
}

template <typename T, typename F>
static inline __aicore__ T float_to_int(F value)
{
#if defined(PTO_CPU_NATIVE)
    return pto::cpu::nearest_integer<T>(static_cast<double>(value));
#else
    return static_cast<T>(value);
#endif
}

__aicore__ __attribute__((always_inline)) void runScalarsFp32(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    union { int64_t word; float value; } a_bits;
    a_bits.word = args[1];
    float a = a_bits.value;
    union { int64_t word; float value; } b_bits;
    b_bits.word = args[2];
    float b = b_bits.value;
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[3]);

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
    float k_0 = (a + b) * (a - b) / (b * b + 1.0f);
    float k_1 = k_0 + static_cast<float>(float_floor_div(a, 3.0f)) + static_cast<float>(float_floor_mod(b, 0.75f)) + static_cast<float>(float_pow(b, 3.0f));
    float k_2 = static_cast<float>(float_max(k_1, a)) - static_cast<float>(float_min(k_1, b)) + float_abs<float>(a) - -b;
    float k_4;
    if (a < b || a >= k_2) {
        float k_3 = k_2 + 1.0f;
        k_4 = k_3;
    } else {
        k_4 = k_2;
    }
    float k_6;
    if (k_4 != a && (k_4 == b || k_4 <= b || !(k_4 > b))) {
        float k_5 = k_4 * 7.0f;
        k_6 = k_5;
    } else {
        k_6 = k_4;
    }
    float k_iter = k_6;
    for (int64_t i = 0; i < 4; i += 1) {
        float k_7 = k_iter * 0.5f - a;
        k_iter = k_7;
    }
    int32_t n = float_to_int<int32_t>(k_iter);
    TASSIGN(x_8x64Global, x + 0 * 64 + 0);
    TLOAD(_t0, x_8x64Global);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TMULS(_t1, _t0, static_cast<float>(k_iter));
    pipe_barrier(PIPE_V);
    TADDS(_t2, _t1, static_cast<float>(n));
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TASSIGN(out_8x64Global, out + 0 * 64 + 0);
    TSTORE(out_8x64Global, _t2);
    pipe_barrier(PIPE_ALL);
}

extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)
{
    runScalarsFp32(args);
}
