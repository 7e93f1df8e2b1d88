// exp and log of float as branch-free straight-line code, so that a loop over them vectorises. Within 1 ulp of the exact
// result over the whole range, subnormals included; the other functions are IEEE operations of the compiler.
#ifndef PTO_DETAIL_MATH_HPP
#define PTO_DETAIL_MATH_HPP

#include "types.hpp"

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
    // finite for every x. +inf and NaN add themselves, a negative x adds NaN, a zero -inf.
    uint32_t special = bits >= 0x7f800000u ? bits : 0u;
    special = bits > 0x80000000u ? 0x7fc00000u : special;
    special = (bits << 1) == 0u ? 0xff800000u : special;
    return mul_add(e, 0.693145752f, f + y) + bit_cast<float>(special);
}

PTO_INLINE double exp_value(double x) { return __builtin_exp(x); }
PTO_INLINE double log_value(double x) { return __builtin_log(x); }

// Square roots over a run. The scalar builtin may set errno, which keeps GCC from vectorising a loop over it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__)
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
    int64_t i = 0;
#if defined(PTO_VECTOR_SQRT)
    if constexpr (sizeof(T) == 4) {
        using V = Vec<float, kVectorBytes / 4>;
        for (; i + kVectorBytes / 4 <= n; i += kVectorBytes / 4) {
            const V v = load_vec<V>(src + i);
            store_vec<V>(dst + i, PTO_VECTOR_SQRT(v));
        }
    }
#endif
    for (; i < n; ++i) {
        dst[i] = sqrt_value(src[i]);
    }
}

}  // namespace detail
}  // namespace pto

#endif
