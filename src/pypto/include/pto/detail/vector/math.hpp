// exp and log of float as branch-free straight-line code, so that a loop over them vectorises. Within 1 ulp of the exact
// result over the whole range, subnormals included; the other functions are IEEE operations of the compiler.
#ifndef PTO_DETAIL_MATH_HPP
#define PTO_DETAIL_MATH_HPP

#include "../core/types.hpp"

namespace pto {
namespace detail {

// e^x: x = n ln2 + r with |r| <= ln2/2, a polynomial for e^r, and a scaling by 2^n in two steps, so that results near
// the largest float and in the subnormal range are rounded once.
PTO_INLINE float exp_value(float x)
{
    // Beyond these limits the result is infinity or zero, also after the clamp. NaN passes through both selects.
    float t = x > 89.0f ? 89.0f : x;
    t = t < -104.0f ? -104.0f : t;
    const float shifted = mul_add(t, 1.44269504f, 12582912.0f);  // nearest integer in the low bits
    const float n = shifted - 12582912.0f;
    float r = mul_add(n, -0.693145752f, t);  // ln2 in two parts, the first one short enough to be exact times n
    r = mul_add(n, -1.42860677e-06f, r);
    float p = 0.000197904024f;
    p = mul_add(p, r, 0.00139446522f);
    p = mul_add(p, r, 0.00833349675f);
    p = mul_add(p, r, 0.0416662954f);
    p = mul_add(p, r, 0.166666657f);
    p = mul_add(p, r, 0.5f);
    p = mul_add(p * r, r, r) + 1.0f;
    // Unsigned, because a NaN leaves arbitrary bits here.
    const uint32_t k = bit_cast<uint32_t>(shifted) - 0x4b400000u;
    const uint32_t half_k = static_cast<uint32_t>(static_cast<int32_t>(k) >> 1);
    const float s1 = bit_cast<float>((half_k + 127u) << 23);
    const float s2 = bit_cast<float>((k - half_k + 127u) << 23);
    return p * s1 * s2;
}

// The same for a whole vector of AVX-512: x = n ln2 + r with n a multiple of 1/16 and |r| <= ln2/32, a short polynomial for
// e^r - 1, 2^(n mod 1) from a table in two parts, and the scaling by one instruction, which rounds subnormals once.
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__) && !defined(PTO_SCALAR)
#define PTO_HAVE_EXP_VECTOR 1
#define PTO_VECTOR_FMA(a, b, c) __builtin_ia32_vfmaddps512_mask(a, b, c, static_cast<unsigned short>(-1), 4)
PTO_INLINE Vec<float, 16> exp_vector(const Vec<float, 16>& x)
{
    using V = Vec<float, 16>;
    const V table = {
        1.0f, 1.04427373f, 1.09050775f, 1.13878858f, 1.18920708f, 1.24185777f, 1.29683959f, 1.35425556f,
        1.41421354f, 1.47682619f, 1.54221082f, 1.61049032f, 1.68179286f, 1.75625217f, 1.8340081f, 1.91520655f};
    const V rest = {
        0.0f, 4.83347016e-08f, -1.30775399e-08f, 5.38622231e-08f, 3.79763527e-08f, 4.4968381e-08f, -4.01899953e-08f,
        -1.01233493e-08f, 2.4203235e-08f, -4.50089885e-08f, 8.07090483e-09f, 9.83621717e-09f, -2.47553267e-08f,
        -9.23577037e-09f, -1.1239278e-08f, 9.84532811e-09f};
    // Both return their second operand if one is NaN, so NaN is preserved.
    V t = __builtin_ia32_minps512_mask(V{} + 89.0f, x, x, static_cast<unsigned short>(-1), 4);
    t = __builtin_ia32_maxps512_mask(V{} - 104.0f, t, t, static_cast<unsigned short>(-1), 4);
    const V shifted = PTO_VECTOR_FMA(t, V{} + 1.44269504f, V{} + 786432.0f);  // n in the low bits, 4 of them a fraction
    const V n = shifted - 786432.0f;
    V r = PTO_VECTOR_FMA(n, V{} - 0.693145752f, t);
    r = PTO_VECTOR_FMA(n, V{} - 1.42860677e-06f, r);
    V p = PTO_VECTOR_FMA(r, V{} + 0.166669965f, V{} + 0.5f);
    p = PTO_VECTOR_FMA(p, r * r, r);
    const Vec<int32_t, 16> index = bit_cast<Vec<int32_t, 16>>(shifted);  // modulo 16
    const V high = __builtin_shuffle(table, index), low = __builtin_shuffle(rest, index);
    const V y = high + PTO_VECTOR_FMA(high, p, low);
    return __builtin_ia32_scalefps512_mask(y, n, y, static_cast<unsigned short>(-1), 4);
}
#else
#define PTO_HAVE_EXP_VECTOR 0
#endif

template <class T>
PTO_INLINE void exp_run(T* dst, const T* src, int64_t n)
{
#if PTO_HAVE_EXP_VECTOR
    if constexpr (std::is_same<T, float>::value) {
        int64_t i = 0;
        for (; i + 16 <= n; i += 16) {
            store_vec(dst + i, exp_vector(load_vec<Vec<float, 16>>(src + i)));
        }
        if (i < n) {  // the same function, so that a result does not depend on its position
            float rest[16] = {};
            std::memcpy(rest, src + i, static_cast<std::size_t>(n - i) * sizeof(float));
            store_vec(rest, exp_vector(load_vec<Vec<float, 16>>(rest)));
            std::memcpy(dst + i, rest, static_cast<std::size_t>(n - i) * sizeof(float));
        }
        return;
    }
#endif
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = exp_value(src[i]);
    }
}

// ln x: x = 2^e m with m in [sqrt(1/2), sqrt(2)), f = m - 1, a polynomial for (ln(1+f) - f + f^2/2) / f^3.
PTO_INLINE float log_value(float x)
{
    // A subnormal is scaled by 2^23 first. By mask, because a condition that is used twice becomes a branch.
    const uint32_t bits = bit_cast<uint32_t>(x);
    const uint32_t tiny = 0u - static_cast<uint32_t>(bits < 0x00800000u);
    const float scale = bit_cast<float>(0x3f800000u + (tiny & (23u << 23)));
    const uint32_t u = bit_cast<uint32_t>(x * scale) - 0x3f3504f3u;
    const float e = static_cast<float>((static_cast<int32_t>(u) >> 23) - static_cast<int32_t>(tiny & 23u));
    const float f = bit_cast<float>((u & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = 0.068710044f;
    p = mul_add(p, f, -0.122414254f);
    p = mul_add(p, f, 0.121322542f);
    p = mul_add(p, f, -0.123235203f);
    p = mul_add(p, f, 0.141756341f);
    p = mul_add(p, f, -0.166714221f);
    p = mul_add(p, f, 0.2000442f);
    p = mul_add(p, f, -0.249999702f);
    p = mul_add(p, f, 0.333332777f);
    const float f2 = f * f;
    float y = p * f2 * f;
    y = mul_add(e, 1.42860677e-06f, y);
    y = mul_add(f2, -0.5f, y);
    // Special cases are added, not selected: a select would move the computation into a branch. At this point the sum is
    // finite for every x. +inf and NaN add themselves, a negative x adds NaN, a zero adds -inf.
    uint32_t special = bits >= 0x7f800000u ? bits : 0u;
    special = bits > 0x80000000u ? 0x7fc00000u : special;
    special = (bits << 1) == 0u ? 0xff800000u : special;
    return mul_add(e, 0.693145752f, f + y) + bit_cast<float>(special);
}

PTO_INLINE double exp_value(double x) { return __builtin_exp(x); }
PTO_INLINE double log_value(double x) { return __builtin_log(x); }

// Square roots over a run. The scalar builtin may set errno, which keeps GCC from vectorising a loop over it.
#if defined(PTO_SCALAR)
#elif defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
#define PTO_VECTOR_SQRT(v) __builtin_ia32_sqrtps512_mask(v, v, static_cast<unsigned short>(-1), 4)
#elif defined(__GNUC__) && !defined(__clang__) && defined(__AVX__)
#define PTO_VECTOR_SQRT(v) __builtin_ia32_sqrtps256(v)
#elif defined(__GNUC__) && !defined(__clang__) && defined(__SSE__)
#define PTO_VECTOR_SQRT(v) __builtin_ia32_sqrtps(v)
#elif defined(__has_builtin)
#if __has_builtin(__builtin_elementwise_sqrt)
#define PTO_VECTOR_SQRT(v) __builtin_elementwise_sqrt(v)
#endif
#endif

PTO_INLINE float sqrt_value(float x) { return __builtin_sqrtf(x); }
PTO_INLINE double sqrt_value(double x) { return __builtin_sqrt(x); }

template <class T>
PTO_NOINLINE void sqrt_run(T* dst, const T* src, int64_t n)
{
    int64_t whole = 0;
#if defined(PTO_VECTOR_SQRT)
    if constexpr (sizeof(T) == 4) {
        constexpr int64_t w = kVectorBytes / 4;
        using V = Vec<float, w>;
        whole = n / w * w;
        for (int64_t i = 0; i < whole; i += w) {
            const V v = load_vec<V>(src + i);
            store_vec<V>(dst + i, PTO_VECTOR_SQRT(v));
        }
    }
#endif
    for (int64_t i = whole; i < n; ++i) {
        dst[i] = sqrt_value(src[i]);
    }
}

// dst[i] = src[i] / divisor, correctly rounded, in three operations an element instead of a division: q = src * y with
// y = 1 / divisor correctly rounded is within an ulp, src - q * divisor is exact, and adding that times y to q rounds as
// the division does (Markstein 1990), as long as nothing comes near the ends of the exponent range.
#if (defined(__FP_FAST_FMAF) || defined(__FMA__)) && !defined(PTO_SCALAR)
#define PTO_HAVE_DIVIDE_RUN 1
PTO_INLINE bool middle_exponents(const float* src, int64_t n, float divisor)
{
    constexpr uint32_t low = 67u << 23, span = 120u << 23;  // magnitudes from 2^-60 to 2^60
    uint32_t worst = (bit_cast<uint32_t>(divisor) & 0x7fffffffu) - low;
    for (int64_t i = 0; i < n; ++i) {
        const uint32_t v = (bit_cast<uint32_t>(src[i]) & 0x7fffffffu) - low;
        worst = v > worst ? v : worst;
    }
    return worst <= span;
}
#if PTO_HAVE_EXP_VECTOR
// Count vectors at a time, checked and divided in registers, from `at` on; returns where it ends.
template <int Count>
PTO_INLINE int64_t divide_vectors(float* dst, const float* src, int64_t at, int64_t n, float divisor, float y)
{
    using V = Vec<float, 16>;
    using U = Vec<uint32_t, 16>;
    const V by = divisor - V{}, times = V{} + y;  // -0 - 0 is -0, 0 + -0 is not
    const uint32_t low = 67u << 23, span = 120u << 23;  // as in middle_exponents
    const U least = (bit_cast<U>(by) & 0x7fffffffu) - low;
    for (; at + 16 * Count <= n; at += 16 * Count) {
        V x[Count];
        U worst = least;
        PTO_UNROLL
        for (int i = 0; i < Count; ++i) {
            x[i] = load_vec<V>(src + at + 16 * i);
            const U v = (bit_cast<U>(x[i]) & 0x7fffffffu) - low;
            worst = v > worst ? v : worst;
        }
        const Vec<int32_t, 16> found = bit_cast<Vec<int32_t, 16>>(worst), limit = bit_cast<Vec<int32_t, 16>>(U{} + span);
        if (__builtin_ia32_ucmpd512_mask(found, limit, 6, static_cast<unsigned short>(-1)) != 0) {  // 6: above
            PTO_UNROLL
            for (int i = 0; i < Count; ++i) {
                store_vec(dst + at + 16 * i, x[i] / by);
            }
        } else {
            PTO_UNROLL
            for (int i = 0; i < Count; ++i) {
                const V q = x[i] * times;
                store_vec(dst + at + 16 * i, PTO_VECTOR_FMA(PTO_VECTOR_FMA(-q, by, x[i]), times, q));
            }
        }
    }
    return at;
}
PTO_COLD inline void divide_rest(float* dst, const float* src, int64_t n, float divisor)
{
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = src[i] / divisor;
    }
}
PTO_NOINLINE inline void divide_run(float* dst, const float* src, int64_t n, float divisor)
{
    const float y = 1.0f / divisor;
    const int64_t most = divide_vectors<8>(dst, src, 0, n, divisor, y);
    const int64_t done = divide_vectors<1>(dst, src, most, n, divisor, y);
    if (done < n) {
        divide_rest(dst + done, src + done, n - done, divisor);
    }
}
#else
PTO_NOINLINE inline void divide_run(float* dst, const float* src, int64_t n, float divisor)
{
    constexpr int64_t piece = 512;  // stays in the first-level cache
    const float y = 1.0f / divisor;
    for (int64_t at = 0; at < n; at += piece) {
        const int64_t m = min_of(piece, n - at);
        float* d = dst + at;
        const float* s = src + at;
        if (middle_exponents(s, m, divisor)) {
            PTO_IVDEP
            for (int64_t i = 0; i < m; ++i) {
                const float q = s[i] * y;
                d[i] = __builtin_fmaf(__builtin_fmaf(-q, divisor, s[i]), y, q);
            }
        } else {
            PTO_IVDEP
            for (int64_t i = 0; i < m; ++i) {
                d[i] = s[i] / divisor;
            }
        }
    }
}
#endif
#else
#define PTO_HAVE_DIVIDE_RUN 0
#endif

}  // namespace detail
}  // namespace pto

#endif
