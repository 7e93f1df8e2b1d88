// Element types: half, bfloat16_t and the narrow names that only need a size, with scalar conversions. The global names
// are those of the NPU tool chain; namespace pto re-exports them.
#ifndef PTO_DETAIL_TYPES_HPP
#define PTO_DETAIL_TYPES_HPP

#include "config.hpp"

// g++ for AArch64 supports _Float16 in C++ from version 13 on, but claims to earlier.
#if defined(__FLT16_MANT_DIG__) && !defined(PTO_CPU_SOFT_HALF) && \
    (defined(__clang__) || !defined(__aarch64__) || __GNUC__ >= 13)
#define PTO_NATIVE_HALF 1
#else
#define PTO_NATIVE_HALF 0
#endif

namespace pto {
namespace detail {

// binary32 -> binary16, round to nearest even; NaN stays NaN, overflow gives infinity. Branch-free: loops over it vectorise.
PTO_INLINE uint16_t float_to_half_bits(float value)
{
    const uint32_t u = bit_cast<uint32_t>(value);
    const uint32_t sign = (u >> 16) & 0x8000u;
    const uint32_t a = u & 0x7fffffffu;
    // Normal results: rebias the exponent by -112 and round the 13 dropped bits to nearest even.
    const uint32_t normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    // Subnormal results: adding 0.5 lets the FPU round at bit 2^-24, which is the last bit of a half subnormal.
    const uint32_t tiny = bit_cast<uint32_t>(bit_cast<float>(a < 0x38800000u ? a : 0u) + 0.5f) - 0x3f000000u;
    const uint32_t special = a > 0x7f800000u ? 0x7e00u : 0x7c00u;
    const uint32_t finite = a < 0x38800000u ? tiny : normal;
    return static_cast<uint16_t>(sign | (a >= 0x477ff000u ? special : finite));
}

PTO_INLINE float half_bits_to_float(uint16_t bits)
{
    const uint32_t sign = (static_cast<uint32_t>(bits) & 0x8000u) << 16;
    const uint32_t rest = static_cast<uint32_t>(bits) & 0x7fffu;
    // Read the half as a binary32 with the wrong bias and multiply by 2^112: exact, subnormals included.
    const float scaled = bit_cast<float>(rest << 13) * bit_cast<float>(239u << 23);
    const uint32_t inf_nan = 0x7f800000u | (rest << 13);
    const uint32_t magnitude = rest >= 0x7c00u ? inf_nan : bit_cast<uint32_t>(scaled);
    return bit_cast<float>(magnitude | sign);
}

// binary32 -> bfloat16, round to nearest even; NaN stays a quiet NaN.
PTO_INLINE uint16_t float_to_bf16_bits(float value)
{
    const uint32_t u = bit_cast<uint32_t>(value);
    const uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const uint32_t quiet = (u >> 16) | 0x40u;
    return static_cast<uint16_t>((u & 0x7fffffffu) > 0x7f800000u ? quiet : rounded);
}

PTO_INLINE float bf16_bits_to_float(uint16_t bits)
{
    return bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

}  // namespace detail
}  // namespace pto

// As <math.h> defines them; kernels name these values without including it.
#ifndef INFINITY
#define INFINITY (__builtin_inff ())
#endif
#ifndef NAN
#define NAN (__builtin_nanf (""))
#endif

#if PTO_NATIVE_HALF
__extension__ typedef _Float16 half;
#else
// binary16 for compilers without _Float16: storage plus conversions, arithmetic happens in float.
struct half {
    uint16_t bits;
    half() = default;
    template <class T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
    half(T value) : bits(pto::detail::float_to_half_bits(static_cast<float>(value))) {}
    operator float() const { return pto::detail::half_bits_to_float(bits); }
};
#endif

// bfloat16: a distinct type, so that it never matches half by accident. Arithmetic converts to float and back,
// rounding to nearest even.
struct bfloat16_t {
    uint16_t bits;
    bfloat16_t() = default;
    template <class T, std::enable_if_t<std::is_arithmetic<T>::value, int> = 0>
    bfloat16_t(T value) : bits(pto::detail::float_to_bf16_bits(static_cast<float>(value))) {}
    bfloat16_t(half value) : bits(pto::detail::float_to_bf16_bits(static_cast<float>(value))) {}
    operator float() const { return pto::detail::bf16_bits_to_float(bits); }
};

typedef float float32_t;
typedef half float16_t;
typedef half aclFloat16;

namespace pto {

using ::aclFloat16;
using ::bfloat16_t;
using ::float16_t;
using ::float32_t;
using ::half;

// One-byte types of other chips: they can be declared, loaded and stored; no arithmetic.
struct int4b_t { uint8_t bits; };
struct float8_e4m3_t { uint8_t bits; };
struct float8_e5m2_t { uint8_t bits; };
struct float8_e8m0_t { uint8_t bits; };
struct float4_e2m1x2_t { uint8_t bits; };
struct float4_e1m2x2_t { uint8_t bits; };
struct hifloat8_t { uint8_t bits; };

namespace detail {

static_assert(sizeof(half) == 2 && sizeof(bfloat16_t) == 2, "16-bit element types must take 2 bytes");

template <class T>
constexpr bool is_half_v = std::is_same<T, half>::value;
template <class T>
constexpr bool is_bf16_v = std::is_same<T, bfloat16_t>::value;
// 16-bit floats: computed in float, 2 bytes in memory.
template <class T>
constexpr bool is_narrow_v = is_half_v<T> || is_bf16_v<T>;
template <class T>
constexpr bool is_float_v = is_narrow_v<T> || std::is_floating_point<T>::value;
template <class T>
constexpr bool is_bool_v = std::is_same<T, bool>::value;
template <class T>
constexpr bool is_int_v = std::is_integral<T>::value && !is_bool_v<T>;
template <class T>
constexpr bool is_number_v = is_float_v<T> || std::is_integral<T>::value;

// The type in which an element is computed.
template <class T>
using compute_t = std::conditional_t<is_narrow_v<T>, float, std::conditional_t<is_bool_v<T>, uint8_t, T>>;

template <class T, class... Ts>
constexpr bool is_any_v = (std::is_same<T, Ts>::value || ...);

// Unsigned type wide enough that + - * << on it neither overflow nor promote to a signed type.
template <class T>
using wrap_t = std::conditional_t<(sizeof(T) < 8), uint32_t, uint64_t>;

// Element -> computing type and back, one at a time (bulk forms: half_conversion.hpp).
template <class T>
PTO_INLINE compute_t<T> to_compute(T value)
{
    if constexpr (is_half_v<T>) {
        return half_bits_to_float(bit_cast<uint16_t>(value));
    } else if constexpr (is_bf16_v<T>) {
        return bf16_bits_to_float(value.bits);
    } else {
        return static_cast<compute_t<T>>(value);
    }
}
template <class T>
PTO_INLINE T from_compute(compute_t<T> value)
{
    if constexpr (is_half_v<T>) {
        return bit_cast<half>(float_to_half_bits(value));
    } else if constexpr (is_bf16_v<T>) {
        return bit_cast<bfloat16_t>(float_to_bf16_bits(value));
    } else {
        return static_cast<T>(value);
    }
}

}  // namespace detail
}  // namespace pto

#endif
