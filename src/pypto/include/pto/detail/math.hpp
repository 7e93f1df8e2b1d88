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
    const bool tiny = x < 1.17549435e-38f;
    const uint32_t u = bit_cast<uint32_t>(tiny ? x * 8388608.0f : x) - 0x3f3504f3u;
    const int32_t exponent = static_cast<int32_t>(u) >> 23;
    const float e = static_cast<float>(exponent - (tiny ? 23 : 0));
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
    const float result = mul_add(e, 0.693145752f, f + y);
    const float special = x == 0.0f ? -std::numeric_limits<float>::infinity()
                          : x < 0.0f ? std::numeric_limits<float>::quiet_NaN()
                                     : x;  // +inf and NaN
    const bool ordinary = (x > 0.0f) & (x < std::numeric_limits<float>::infinity());
    return ordinary ? result : special;
}

PTO_INLINE double exp_value(double x) { return __builtin_exp(x); }
PTO_INLINE double log_value(double x) { return __builtin_log(x); }

// Square roots over a run. In a function of its own: it must not set errno, or the loop would not vectorise.
template <class T>
PTO_NOINLINE PTO_NO_ERRNO void sqrt_run(T* dst, const T* src, int64_t n)
{
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        if constexpr (sizeof(T) == 4) {
            dst[i] = __builtin_sqrtf(src[i]);
        } else {
            dst[i] = __builtin_sqrt(src[i]);
        }
    }
}

}  // namespace detail
}  // namespace pto

#endif
