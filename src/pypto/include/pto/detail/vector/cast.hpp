// Conversion between element types, and the instruction TCVT.
//  float -> int    rounds by the mode, then saturates (NaN gives 0), or without saturation wraps modulo 2^n where the
//                  value fits into 64 bits and gives 0 otherwise.
//  float -> float  rounds to nearest even whatever the mode. Saturation limits a narrower result to its largest finite
//                  value, infinities included; NaN stays. Within one type the value is rounded to an integral one by the
//                  mode (CAST_NONE: copied).
//  int -> int      saturates or wraps.
//  any -> bool     true for every value but zero.
#ifndef PTO_DETAIL_CAST_HPP
#define PTO_DETAIL_CAST_HPP

#include "elementwise_drivers.hpp"
#include "scalar_ops.hpp"

namespace pto {

namespace detail {

PTO_INLINE float magnitude(float x) { return __builtin_fabsf(x); }
PTO_INLINE double magnitude(double x) { return __builtin_fabs(x); }
PTO_INLINE float signed_as(float x, float sign) { return __builtin_copysignf(x, sign); }
PTO_INLINE double signed_as(double x, double sign) { return __builtin_copysign(x, sign); }

// Nearest integral value, ties to even. The other roundings are derived from it: rint is the one that GCC vectorises.
PTO_INLINE double nearest_value(double x) { return __builtin_rint(x); }
PTO_INLINE float nearest_value(float x)
{
#if defined(__SSE4_1__) || defined(__aarch64__)
    return __builtin_rintf(x);
#else
    // Adding 2^23 leaves no fraction bits. Larger values are integral already.
    const float a = magnitude(x);
    const float r = signed_as((a + 8388608.0f) - 8388608.0f, x);
    return a < 8388608.0f ? r : x;
#endif
}
template <class C>
PTO_INLINE C trunc_value(C x)
{
    const C a = magnitude(x), r = nearest_value(a);
    return signed_as(r - (r > a ? C(1) : C(0)), x);
}

// x rounded to an integral value in place. One loop per mode; a correction is always applied and only its value
// selected, which keeps each loop free of branches.
template <class C>
PTO_NOINLINE void round_run(C* x, int64_t n, RoundMode mode)
{
    switch (mode) {
        case RoundMode::CAST_RINT:
            for (int64_t i = 0; i < n; ++i) {
                x[i] = nearest_value(x[i]);
            }
            break;
        case RoundMode::CAST_ROUND:  // ties away from zero
            for (int64_t i = 0; i < n; ++i) {
                const C t = trunc_value(x[i]);
                x[i] = t + signed_as(magnitude(x[i] - t) >= C(0.5) ? C(1) : C(0), x[i]);
            }
            break;
        case RoundMode::CAST_FLOOR:
            for (int64_t i = 0; i < n; ++i) {
                const C r = nearest_value(x[i]);
                x[i] = signed_as(r - (r > x[i] ? C(1) : C(0)), x[i]);
            }
            break;
        case RoundMode::CAST_CEIL:
            for (int64_t i = 0; i < n; ++i) {
                const C r = nearest_value(x[i]);
                x[i] = signed_as(r + (r < x[i] ? C(1) : C(0)), x[i]);
            }
            break;
        case RoundMode::CAST_ODD:  // inexact results go to the odd neighbour
            for (int64_t i = 0; i < n; ++i) {
                const C t = trunc_value(x[i]);
                const C half = t * C(0.5);
                const C step = ((t != x[i]) & (nearest_value(half) == half)) ? C(1) : C(0);
                x[i] = t + signed_as(step, x[i]);
            }
            break;
        default:
            for (int64_t i = 0; i < n; ++i) {
                x[i] = trunc_value(x[i]);
            }
            break;
    }
}

// An integral float value to an integer type.
template <class D, class C>
PTO_INLINE D saturate(C x)
{
    using Limits = std::numeric_limits<D>;
    if constexpr (sizeof(D) <= 2) {
        // Limits are exact in C, and 32-bit conversion covers them: clamp first.
        const C low = static_cast<C>(Limits::min()), high = static_cast<C>(Limits::max());
        C t = x < low ? low : x;
        t = t > high ? high : t;
        return static_cast<D>(static_cast<int32_t>(t == t ? t : C(0)));
    } else {
        // The upper limit + 1 is a power of two, exact in C.
        const C low = static_cast<C>(Limits::min());
        const C over = static_cast<C>(Limits::max() / 2 + 1) * C(2);
        const bool inside = (x >= low) & (x < over);
        const D value = static_cast<D>(inside ? x : C(0));
        return x >= over ? Limits::max() : x < low ? Limits::min() : value;
    }
}
template <class D, class C>
PTO_INLINE D wrap(C x)
{
    const bool inside = (x >= C(-9223372036854775808.0)) & (x < C(9223372036854775808.0));
    return static_cast<D>(static_cast<uint64_t>(static_cast<int64_t>(inside ? x : C(0))));
}

template <class D, class S>
PTO_INLINE D clamp_integer(S x)
{
    using Limits = std::numeric_limits<D>;
    if constexpr (std::is_signed<S>::value) {
        const int64_t v = x;
        if constexpr (sizeof(D) == 8 && !std::is_signed<D>::value) {
            return v < 0 ? D{0} : static_cast<D>(v);
        } else {
            constexpr int64_t low = static_cast<int64_t>(Limits::min()), high = static_cast<int64_t>(Limits::max());
            return static_cast<D>(v < low ? low : v > high ? high : v);
        }
    } else {
        constexpr uint64_t high = static_cast<uint64_t>(Limits::max());
        return static_cast<D>(x > high ? high : x);
    }
}

// Largest finite value of a float type.
template <class D>
constexpr double finite_max_v = is_half_v<D>            ? 65504.0
                                : is_bf16_v<D>          ? 3.3895313892515355e38
                                : std::is_same<D, float>::value ? 3.4028234663852886e38
                                                        : 1.7976931348623157e308;

template <class D, class C>
PTO_INLINE void clamp_finite(C* x, int64_t n)
{
    if constexpr (finite_max_v<D> < finite_max_v<C>) {
        const C top = static_cast<C>(finite_max_v<D>);
        for (int64_t i = 0; i < n; ++i) {
            const C t = x[i] > top ? top : x[i];
            x[i] = t < -top ? -top : t;
        }
    } else {
        (void)x;
        (void)n;
    }
}

template <class D, class C>
PTO_INLINE void put_floats(D* dst, const C* src, int64_t n)
{
    if constexpr (is_narrow_v<D> && std::is_same<C, float>::value) {
        narrow(src, dst, n);
    } else {
        for (int64_t i = 0; i < n; ++i) {
            dst[i] = from_compute<D>(static_cast<compute_t<D>>(src[i]));
        }
    }
}

// At most kChunk elements; the source is read completely before the destination is written wherever sizes differ.
template <class D, class S, bool ToBool>
PTO_INLINE void convert_chunk(D* dst, const S* src, int64_t n, RoundMode mode, bool saturated)
{
    if constexpr (ToBool) {
        D out[kChunk];
        for (int64_t i = 0; i < n; ++i) {
            out[i] = static_cast<D>(to_compute(src[i]) != 0);
        }
        std::memcpy(dst, out, static_cast<std::size_t>(n) * sizeof(D));
    } else if constexpr (is_float_v<S>) {
        compute_t<S> x[kChunk];
        if constexpr (is_narrow_v<S>) {
            widen(src, x, n);
        } else {
            std::memcpy(x, src, static_cast<std::size_t>(n) * sizeof(S));
        }
        if constexpr (is_float_v<D>) {
            if constexpr (std::is_same<D, S>::value) {
                if (mode != RoundMode::CAST_NONE) {
                    round_run(x, n, mode);
                }
            } else if (saturated) {
                clamp_finite<D>(x, n);
            }
            put_floats(dst, x, n);
        } else {
            round_run(x, n, mode);
            if (saturated) {
                for (int64_t i = 0; i < n; ++i) {
                    dst[i] = saturate<D>(x[i]);
                }
            } else {
                for (int64_t i = 0; i < n; ++i) {
                    dst[i] = wrap<D>(x[i]);
                }
            }
        }
    } else if constexpr (is_float_v<D>) {
        compute_t<D> x[kChunk];
        for (int64_t i = 0; i < n; ++i) {
            x[i] = static_cast<compute_t<D>>(src[i]);
        }
        if (saturated) {
            clamp_finite<D>(x, n);
        }
        put_floats(dst, x, n);
    } else {
        D out[kChunk];
        if (saturated) {
            for (int64_t i = 0; i < n; ++i) {
                out[i] = clamp_integer<D>(src[i]);
            }
        } else {
            for (int64_t i = 0; i < n; ++i) {
                out[i] = static_cast<D>(src[i]);
            }
        }
        std::memcpy(dst, out, static_cast<std::size_t>(n) * sizeof(D));
    }
}

// Lines of elements. To a wider type the walk goes backwards, so that a conversion in place reads every source element
// before overwriting it.
template <class D, class S, bool ToBool>
PTO_NOINLINE void convert_lines(D* dst, int64_t dst_step, const S* src, int64_t src_step, int64_t count, int64_t length,
                                RoundMode mode, bool saturated)
{
    if (dst_step == length && src_step == length) {
        length *= count;
        count = count > 0 ? 1 : 0;
    }
    const int64_t chunks = (length + kChunk - 1) / kChunk;
    for (int64_t k = 0; k < count * chunks; ++k) {
        const int64_t at = sizeof(D) > sizeof(S) ? count * chunks - 1 - k : k;
        const int64_t line = at / chunks, pos = at % chunks * kChunk;
        convert_chunk<D, S, ToBool>(dst + line * dst_step + pos, src + line * src_step + pos,
                                    min_of<int64_t>(kChunk, length - pos), mode, saturated);
    }
}

// Saturation if the instruction does not specify it: on for float to 32- and 64-bit integers, off elsewhere.
template <class D, class S>
constexpr SaturationMode default_saturation_v =
    (is_float_v<S> && is_int_v<D> && sizeof(D) >= 4) ? SaturationMode::ON : SaturationMode::OFF;

template <class D, class S>
PTO_INLINE RecordEvent convert_tile(D& d, S& s, RoundMode mode, SaturationMode saturation)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TCVT: operands must be tiles");
    static_assert(is_number_v<typename D::DType> && is_number_v<typename S::DType>, "TCVT: unsupported element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "TCVT: both tiles must be Vec tiles");
    constexpr bool to_bool = is_bool_v<typename D::DType>;
    const bool on = saturation == SaturationMode::ON;
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && covers(s, rows, cols)) {
        using DT = elem_t<D>;
        using ST = elem_t<S>;
        if constexpr (is_nd_v<D> && is_nd_v<S>) {
            convert_lines<DT, ST, to_bool>(elements(d), D::Cols, elements(s), S::Cols, rows, cols, mode, on);
        } else if constexpr (is_dn_v<D> && is_dn_v<S>) {
            convert_lines<DT, ST, to_bool>(elements(d), D::Rows, elements(s), S::Rows, cols, rows, mode, on);
        } else {
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < cols; ++c) {
                    convert_lines<DT, ST, to_bool>(elements(d) + D::offset(r, c), 1, elements(s) + S::offset(r, c), 1,
                                                   1, 1, mode, on);
                }
            }
        }
    }
    fence();
    return {};
}

// -------------------------------------------------------------------------------- casting runs of transfers
template <class T>
PTO_INLINE void atomic_add(T* p, T value)
{
    using C = compute_t<T>;
    if constexpr (std::is_integral<T>::value) {
        __atomic_fetch_add(p, value, __ATOMIC_RELAXED);
    } else {
        using Bits = std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;
        Bits* word = reinterpret_cast<Bits*>(p);
        Bits old = __atomic_load_n(word, __ATOMIC_RELAXED), next;
        do {
            const C sum = to_compute(bit_cast<T>(old)) + to_compute(value);
            next = bit_cast<Bits>(from_compute<T>(sum));
        } while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    }
}

template <class D>
PTO_NOINLINE void add_run(D* dst, const D* src, int64_t n)
{
    if (get_block_num() > 1) {
        for (int64_t i = 0; i < n; ++i) {
            atomic_add(dst + i, src[i]);
        }
    } else {
        apply_line(Add{}, n, dst, static_cast<const D*>(dst), src);
    }
}

// dst = cast(relu(src)) or dst += cast(relu(src)) over a run. The addition is atomic while several blocks are running.
template <class D, class S, bool WithRelu, bool WithAdd>
struct CastRun {
    PTO_INLINE void operator()(D* dst, const S* src, int64_t n) const
    {
        for (int64_t i = 0; i < n; i += kChunk) {
            chunk(dst + i, src + i, min_of<int64_t>(kChunk, n - i));
        }
    }
    PTO_INLINE void chunk(D* dst, const S* src, int64_t n) const
    {
        S clipped[WithRelu ? kChunk : 1];
        D cast[WithAdd ? kChunk : 1];
        const S* from = src;
        if constexpr (WithRelu) {
            apply_line(Relu{}, n, clipped, src);
            from = clipped;
        }
        if constexpr (!WithAdd) {
            convert(dst, from, n);
        } else if constexpr (std::is_same<D, S>::value) {
            add_run(dst, from, n);
        } else {
            convert(cast, from, n);
            add_run(dst, static_cast<const D*>(cast), n);
        }
    }
    static PTO_INLINE void convert(D* dst, const S* src, int64_t n)
    {
        if constexpr (std::is_same<D, S>::value) {
            std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(D));
        } else if constexpr (is_narrow_v<D> && std::is_same<S, float>::value) {
            narrow(src, dst, n);
        } else {
            convert_chunk<D, S, false>(dst, src, n, RoundMode::CAST_NONE,
                                       default_saturation_v<D, S> == SaturationMode::ON);
        }
    }
};

}  // namespace detail

// d = s in another element type. The mode may be a run-time value.
template <class D, class S, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TCVT(D& d, S& s, RoundMode mode)
{
    return detail::convert_tile(d, s, mode, detail::default_saturation_v<typename D::DType, typename S::DType>);
}
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TCVT(D& d, S& s, RoundMode mode, SaturationMode saturation, E&... events)
{
    detail::wait_all(events...);
    return detail::convert_tile(d, s, mode, saturation);
}
template <class D, class S, class First, class... E, detail::if_tiles<D, S> = 0,
          std::enable_if_t<detail::HasWait<First>::value, int> = 0>
PTO_INSTRUCTION RecordEvent TCVT(D& d, S& s, RoundMode mode, First& first, E&... events)
{
    detail::wait_all(first, events...);
    return TCVT(d, s, mode);
}
// With a scratch tile, which only the NPU needs.
template <class D, class S, class T, detail::if_tiles<D, S, T> = 0>
PTO_INSTRUCTION RecordEvent TCVT(D& d, S& s, T&, RoundMode mode)
{
    return TCVT(d, s, mode);
}
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_INSTRUCTION RecordEvent TCVT(D& d, S& s, T&, RoundMode mode, SaturationMode saturation, E&... events)
{
    return TCVT(d, s, mode, saturation, events...);
}

}  // namespace pto

#endif
