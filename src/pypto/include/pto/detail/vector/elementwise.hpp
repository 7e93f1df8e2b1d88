// Elementwise instructions: tile with tile, tile with scalar, unary, fill. Each is a rule for its operands and one line
// over the driver of elementwise_drivers.hpp.
#ifndef PTO_DETAIL_ELEMENTWISE_HPP
#define PTO_DETAIL_ELEMENTWISE_HPP

#include "elementwise_drivers.hpp"
#include "scalar_ops.hpp"

namespace pto {

namespace detail {

// Which element types an instruction takes.
struct AnyNumber {
    template <class T>
    static constexpr bool accepts = is_number_v<T>;
};
struct Integers {
    template <class T>
    static constexpr bool accepts = std::is_integral<T>::value;
};
struct Floats {
    template <class T>
    static constexpr bool accepts = is_float_v<T>;
};
struct FloatsAndSigned {
    template <class T>
    static constexpr bool accepts = is_float_v<T> || (is_int_v<T> && std::is_signed<T>::value);
};

// The rule of tile-with-tile and unary instructions.
template <class Types, class D, class... S>
PTO_INLINE void vector_rule()
{
    static_assert(is_tile_data_v<D> && (is_tile_data_v<S> && ...), "operands must be tiles (not const)");
    static_assert(same_element_v<D, S...>, "source and destination tiles must have the same element type");
    static_assert(Types::template accepts<typename D::DType>, "unsupported element type for this instruction");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && (at_v<S, TileType::Vec> && ...)), "all tiles must be Vec tiles");
    PTO_NPU_RULE(is_nd_v<D> && (is_nd_v<S> && ...), "all tiles must be RowMajor without boxes");
}

// The rule of tile-with-scalar instructions; some of them take any layout.
template <class Types, bool RowMajorOnly, class D, class S>
PTO_INLINE void scalar_rule()
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "operands must be tiles (not const)");
    static_assert(same_element_v<D, S>, "source and destination tiles must have the same element type");
    static_assert(Types::template accepts<typename D::DType>, "unsupported element type for this instruction");
    static_assert(at_v<D, TileType::Vec> && at_v<S, TileType::Vec>, "source and destination must be Vec tiles");
    static_assert(!RowMajorOnly || (is_nd_v<D> && is_nd_v<S>), "source and destination must be RowMajor");
}

// Some instructions take only tiles of one and the same C++ type.
template <class D, class... S>
PTO_INLINE void one_type_rule()
{
    static_assert((std::is_same<D, S>::value && ...), "all tiles must be of one and the same type");
}

template <class T>
PTO_INLINE auto scalar_value(T x)
{
    return to_compute(static_cast<stored_t<T>>(x));
}

}  // namespace detail

// d = s0 + s1.
template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>
PTO_LIGHT RecordEvent TADD(D& d, A& s0, B& s1, E&... events)
{
    detail::vector_rule<detail::AnyNumber, D, A, B>();
    detail::one_type_rule<D, A, B>();
    detail::wait_all(events...);
    return detail::elementwise(detail::Add{}, d, s0, s1);
}

// Tile with tile: d = s0 op s1.
#define PTO_DETAIL_BINARY(NAME, OP, TYPES)                                                                             \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_LIGHT RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                      \
    {                                                                                                                  \
        detail::vector_rule<detail::TYPES, D, A, B>();                                                                 \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::OP{}, d, s0, s1);                                                           \
    }
PTO_DETAIL_BINARY(TSUB, Sub, AnyNumber)
PTO_DETAIL_BINARY(TMUL, Mul, AnyNumber)
PTO_DETAIL_BINARY(TMAX, Max, AnyNumber)
PTO_DETAIL_BINARY(TMIN, Min, AnyNumber)
PTO_DETAIL_BINARY(TDIV, Div, AnyNumber)
PTO_DETAIL_BINARY(TAND, And, Integers)
PTO_DETAIL_BINARY(TOR, Or, Integers)
PTO_DETAIL_BINARY(TSHL, Shl, Integers)
PTO_DETAIL_BINARY(TSHR, Shr, Integers)
#undef PTO_DETAIL_BINARY

template <DivAlgorithm, class D, class A, class B, class... E>
PTO_LIGHT RecordEvent TDIV(D& d, A& s0, B& s1, E&... events)
{
    return TDIV(d, s0, s1, events...);
}

// d = s0 ^ s1; the scratch tile is for the NPU. Sources may be const.
template <class D, class A, class B, class T, class... E, detail::if_tiles<D, T> = 0>
PTO_LIGHT RecordEvent TXOR(D& d, A& s0, B& s1, T&, E&... events)
{
    detail::vector_rule<detail::Integers, D, std::remove_const_t<A>, std::remove_const_t<B>>();
    detail::wait_all(events...);
    return detail::elementwise(detail::Xor{}, d, s0, s1);
}

// Tile with scalar: d = s op x. The scalar converts to the element type.
#define PTO_DETAIL_SCALAR(NAME, OP, TYPES, ROW_MAJOR_ONLY)                                                             \
    template <class D, class S, class... E, detail::if_tiles<D, S> = 0>                                                \
    PTO_LIGHT RecordEvent NAME(D& d, S& s, typename S::DType x, E&... events)                                         \
    {                                                                                                                  \
        detail::scalar_rule<detail::TYPES, ROW_MAJOR_ONLY, D, S>();                                                    \
        detail::wait_all(events...);                                                                                   \
        using C = decltype(detail::scalar_value(x));                                                                   \
        return detail::elementwise(detail::BindRight<detail::OP, C>{{}, detail::scalar_value(x)}, d, s);               \
    }
PTO_DETAIL_SCALAR(TADDS, Add, AnyNumber, true)
PTO_DETAIL_SCALAR(TMULS, Mul, AnyNumber, true)
PTO_DETAIL_SCALAR(TMAXS, Max, AnyNumber, true)
PTO_DETAIL_SCALAR(TDIVS, Div, AnyNumber, true)
PTO_DETAIL_SCALAR(TSUBS, Sub, AnyNumber, false)
PTO_DETAIL_SCALAR(TMINS, Min, AnyNumber, false)
PTO_DETAIL_SCALAR(TANDS, And, Integers, false)
PTO_DETAIL_SCALAR(TORS, Or, Integers, false)
PTO_DETAIL_SCALAR(TSHLS, Shl, Integers, false)
PTO_DETAIL_SCALAR(TSHRS, Shr, Integers, false)
#undef PTO_DETAIL_SCALAR

// d = x / s.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_LIGHT RecordEvent TDIVS(D& d, typename S::DType x, S& s, E&... events)
{
    detail::scalar_rule<detail::AnyNumber, true, D, S>();
    detail::wait_all(events...);
    using C = decltype(detail::scalar_value(x));
    return detail::elementwise(detail::BindLeft<detail::Div, C>{{}, detail::scalar_value(x)}, d, s);
}
template <DivAlgorithm, class D, class A, class B, class... E>
PTO_LIGHT RecordEvent TDIVS(D& d, A&& a, B&& b, E&... events)
{
    return TDIVS(d, a, b, events...);
}

// d = s ^ x; the scratch tile has the same type as d and s.
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_LIGHT RecordEvent TXORS(D& d, S& s, typename S::DType x, T&, E&... events)
{
    detail::scalar_rule<detail::Integers, false, D, S>();
    static_assert(std::is_same<D, S>::value && std::is_same<D, T>::value, "TXORS: d, s and scratch must be of one type");
    detail::wait_all(events...);
    using C = decltype(detail::scalar_value(x));
    return detail::elementwise(detail::BindRight<detail::Xor, C>{{}, detail::scalar_value(x)}, d, s);
}

// d = |s|.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_LIGHT RecordEvent TABS(D& d, S& s, E&... events)
{
    detail::vector_rule<detail::FloatsAndSigned, D, S>();
    detail::one_type_rule<D, S>();
    detail::wait_all(events...);
    return detail::elementwise(detail::Abs{}, d, s);
}

// Unary: d = op(s).
#define PTO_DETAIL_UNARY(NAME, OP, TYPES)                                                                              \
    template <class D, class S, class... E, detail::if_tiles<D, S> = 0>                                                \
    PTO_LIGHT RecordEvent NAME(D& d, S& s, E&... events)                                                              \
    {                                                                                                                  \
        detail::vector_rule<detail::TYPES, D, S>();                                                                    \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::OP{}, d, s);                                                                \
    }
PTO_DETAIL_UNARY(TNEG, Neg, AnyNumber)
PTO_DETAIL_UNARY(TNOT, Not, Integers)
PTO_DETAIL_UNARY(TRELU, Relu, AnyNumber)
PTO_DETAIL_UNARY(TEXP, Exp, AnyNumber)
PTO_DETAIL_UNARY(TLOG, Log, AnyNumber)
#undef PTO_DETAIL_UNARY

template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_LIGHT RecordEvent TSQRT(D& d, S& s, E&... events)
{
    detail::vector_rule<detail::Floats, D, S>();
    static_assert(detail::same_valid_arguments_v<D, S>, "TSQRT: the static valid sizes of both tiles must be equal");
    detail::wait_all(events...);
    return detail::elementwise(detail::Sqrt{}, d, s);
}

// d = 1 / sqrt(s), optionally with a scratch tile (used by the NPU only).
template <class D, class S, class... E, detail::if_tiles<D, S> = 0, detail::if_events<E...> = 0>
PTO_LIGHT RecordEvent TRSQRT(D& d, S& s, E&... events)
{
    detail::vector_rule<detail::Floats, D, S>();
    static_assert(detail::same_valid_arguments_v<D, S>, "TRSQRT: the static valid sizes of both tiles must be equal");
    detail::wait_all(events...);
    return detail::elementwise(detail::Rsqrt{}, d, s);
}
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_LIGHT RecordEvent TRSQRT(D& d, S& s, T&, E&... events)
{
    return TRSQRT(d, s, events...);
}

template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_LIGHT RecordEvent TRECIP(D& d, S& s, E&... events)
{
    detail::scalar_rule<detail::AnyNumber, true, D, S>();
    detail::wait_all(events...);
    return detail::elementwise(detail::Recip{}, d, s);
}

// The algorithm argument selects an NPU code path; the result here is the same.
#define PTO_DETAIL_ALGORITHM(NAME, ENUM)                                                                               \
    template <ENUM, class D, class S, class... E>                                                                      \
    PTO_LIGHT RecordEvent NAME(D& d, S& s, E&... rest)                                                                \
    {                                                                                                                  \
        return NAME(d, s, rest...);                                                                                    \
    }
PTO_DETAIL_ALGORITHM(TEXP, ExpAlgorithm)
PTO_DETAIL_ALGORITHM(TLOG, LogAlgorithm)
PTO_DETAIL_ALGORITHM(TSQRT, SqrtAlgorithm)
PTO_DETAIL_ALGORITHM(TRSQRT, RsqrtAlgorithm)
PTO_DETAIL_ALGORITHM(TRECIP, RecipAlgorithm)
#undef PTO_DETAIL_ALGORITHM

namespace detail {
// A fill is an elementwise operation without sources.
template <class C>
struct Fill {
    C value;
    PTO_INLINE C operator()() const { return value; }
};
}  // namespace detail

// d = x everywhere.
template <class D, class... E, detail::if_tiles<D> = 0>
PTO_LIGHT RecordEvent TEXPANDS(D& d, typename D::DType x, E&... events)
{
    PTO_NPU_RULE((detail::at_v<D, TileType::Vec, TileType::Mat>), "TEXPANDS: destination must be a Vec or Mat tile");
    detail::wait_all(events...);
    using C = decltype(detail::scalar_value(x));
    return detail::elementwise(detail::Fill<C>{detail::scalar_value(x)}, d);
}

}  // namespace pto

#endif
