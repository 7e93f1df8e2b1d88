// Elementwise instructions beyond the four operations: remainders, powers, and the leaky forms of relu.
//  - TREM has the sign of the divisor, TFMOD that of the dividend. An integer remainder by 0 is 0, a float one NaN.
//  - An integer power wraps; a negative exponent gives 0, except for the bases 1 and -1.
#ifndef PTO_DETAIL_ARITHMETIC_HPP
#define PTO_DETAIL_ARITHMETIC_HPP

#include "elementwise.hpp"

namespace pto {

namespace detail {

PTO_INLINE float remainder_value(float a, float b) { return __builtin_fmodf(a, b); }
PTO_INLINE double remainder_value(double a, double b) { return __builtin_fmod(a, b); }
PTO_INLINE float power_value(float a, float b) { return __builtin_powf(a, b); }
PTO_INLINE double power_value(double a, double b) { return __builtin_pow(a, b); }

struct FMod {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return remainder_value(a, b);
        } else if constexpr (std::is_signed<C>::value) {
            return b == 0 || b == -1 ? C{0} : static_cast<C>(a % b);  // the minimum % -1 would overflow
        } else {
            return b == 0 ? C{0} : static_cast<C>(a % b);
        }
    }
};
struct Rem {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        const C r = FMod{}(a, b);
        if constexpr (std::is_unsigned<C>::value) {
            return r;
        } else {
            return r != 0 && (r < 0) != (b < 0) ? static_cast<C>(r + b) : r;
        }
    }
};
struct Pow {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return power_value(a, b);
        } else {
            if constexpr (std::is_signed<C>::value) {
                if (b < 0) {
                    return a == 1 ? C{1} : a == -1 ? static_cast<C>(b % 2 == 0 ? 1 : -1) : C{0};
                }
            }
            wrap_t<C> result = 1, factor = static_cast<wrap_t<C>>(a);
            for (wrap_t<C> rest = static_cast<wrap_t<C>>(b); rest != 0; rest >>= 1) {
                result *= (rest & 1) != 0 ? factor : wrap_t<C>{1};
                factor *= factor;
            }
            return static_cast<C>(result);
        }
    }
};
// a for a > 0, else a * slope. NaN stays.
struct Leak {
    template <class C>
    PTO_INLINE C operator()(C a, C slope) const { return a > C{0} ? a : Mul{}(a, slope); }
};
// relu(a - b) of the exact difference.
struct SubRelu {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return Relu{}(Sub{}(a, b));
        } else {
            return a > b ? Sub{}(a, b) : C{0};
        }
    }
};

}  // namespace detail

// d = s0 op s1; sources may be const.
#define PTO_DETAIL_BINARY_SCRATCH(NAME, OP)                                                                            \
    template <class D, class A, class B, class T, class... E, detail::if_tiles<D, T> = 0>                              \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, B& s1, T&, E&... events)                                             \
    {                                                                                                                  \
        detail::vector_rule<detail::AnyNumber, D, std::remove_const_t<A>, std::remove_const_t<B>>();                   \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::OP{}, d, s0, s1);                                                           \
    }
PTO_DETAIL_BINARY_SCRATCH(TREM, Rem)
PTO_DETAIL_BINARY_SCRATCH(TPOW, Pow)
PTO_DETAIL_BINARY_SCRATCH(TPRELU, Leak)
#undef PTO_DETAIL_BINARY_SCRATCH

template <PowAlgorithm, class D, class A, class B, class T, class... E>
PTO_INSTRUCTION RecordEvent TPOW(D& d, A& s0, B& s1, T& scratch, E&... events)
{
    return TPOW(d, s0, s1, scratch, events...);
}

#define PTO_DETAIL_BINARY(NAME, OP)                                                                                    \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                 \
    {                                                                                                                  \
        detail::vector_rule<detail::AnyNumber, D, A, B>();                                                             \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::OP{}, d, s0, s1);                                                           \
    }
PTO_DETAIL_BINARY(TFMOD, FMod)
PTO_DETAIL_BINARY(TSUBRELU, SubRelu)
#undef PTO_DETAIL_BINARY

// d = s op x.
#define PTO_DETAIL_SCALAR(NAME, OP, ROW_MAJOR_ONLY)                                                                    \
    template <class D, class S, class... E, detail::if_tiles<D, S> = 0>                                                \
    PTO_INSTRUCTION RecordEvent NAME(D& d, S& s, typename S::DType x, E&... events)                                    \
    {                                                                                                                  \
        detail::scalar_rule<detail::AnyNumber, ROW_MAJOR_ONLY, D, S>();                                                \
        detail::wait_all(events...);                                                                                   \
        using C = decltype(detail::scalar_value(x));                                                                   \
        return detail::elementwise(detail::BindRight<detail::OP, C>{{}, detail::scalar_value(x)}, d, s);               \
    }
PTO_DETAIL_SCALAR(TFMODS, FMod, false)
PTO_DETAIL_SCALAR(TLRELU, Leak, true)
#undef PTO_DETAIL_SCALAR

// d = s op x; the scratch tile is for the NPU.
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_INSTRUCTION RecordEvent TREMS(D& d, S& s, typename S::DType x, T&, E&... events)
{
    detail::scalar_rule<detail::AnyNumber, false, D, S>();
    detail::one_type_rule<D, S, T>();
    detail::wait_all(events...);
    using C = decltype(detail::scalar_value(x));
    return detail::elementwise(detail::BindRight<detail::Rem, C>{{}, detail::scalar_value(x)}, d, s);
}
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_INSTRUCTION RecordEvent TPOWS(D& d, S& s, typename S::DType x, T&, E&... events)
{
    detail::scalar_rule<detail::AnyNumber, true, D, S>();
    detail::wait_all(events...);
    using C = decltype(detail::scalar_value(x));
    return detail::elementwise(detail::BindRight<detail::Pow, C>{{}, detail::scalar_value(x)}, d, s);
}
template <PowAlgorithm, class D, class S, class T, class... E>
PTO_INSTRUCTION RecordEvent TPOWS(D& d, S& s, typename S::DType x, T& scratch, E&... events)
{
    return TPOWS(d, s, x, scratch, events...);
}

namespace detail {

// sum + a * factor, in the type of the sum.
template <class V>
struct Axpy {
    V factor;
    template <class C, class A>
    PTO_INLINE C operator()(C sum, A a) const
    {
        return Add{}(sum, Mul{}(static_cast<C>(a), static_cast<C>(factor)));
    }
};

}  // namespace detail

// d = d + s * x.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TAXPY(D& d, S& s, typename S::DType x, E&... events)
{
    using namespace detail;
    static_assert(is_number_v<typename D::DType> && is_number_v<typename S::DType>, "TAXPY: unsupported element type");
    PTO_NPU_RULE((same_element_v<D, S> || (std::is_same<typename D::DType, float>::value && is_half_v<typename S::DType>)),
                 "TAXPY: both tiles must have the same element type, or f32 and f16");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "TAXPY: all tiles must be Vec tiles");
    PTO_NPU_RULE(is_nd_v<D> && is_nd_v<S>, "TAXPY: all tiles must be RowMajor without boxes");
    wait_all(events...);
    using V = decltype(scalar_value(x));
    return elementwise(Axpy<V>{scalar_value(x)}, d, d, s);
}

}  // namespace pto

#endif
