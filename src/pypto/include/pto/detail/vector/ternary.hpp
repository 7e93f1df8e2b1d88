// Elementwise instructions of three operands, and those whose sources may be smaller than the destination (TPART...).
#ifndef PTO_DETAIL_TERNARY_HPP
#define PTO_DETAIL_TERNARY_HPP

#include "elementwise.hpp"

namespace pto {

namespace detail {

// Second(First(a, b), c).
template <class First, class Second>
struct Chain {
    template <class C>
    PTO_INLINE C operator()(C a, C b, C c) const
    {
        return Second{}(First{}(a, b), c);
    }
};
template <class First, class Second>
struct ChainRelu {
    template <class C>
    PTO_INLINE C operator()(C a, C b, C c) const
    {
        return Relu{}(Second{}(First{}(a, b), c));
    }
};
// Second(First(a, value), b).
template <class First, class Second, class V>
struct ChainScalar {
    V value;
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        return Second{}(First{}(a, value), b);
    }
};

}  // namespace detail

// d = s0 * d + s1, with relu or not;  d = s0 * s1 + d. Computed in float for 16-bit floats and rounded once.
#define PTO_DETAIL_FUSED(NAME, OP, FIRST, SECOND, THIRD)                                                               \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                 \
    {                                                                                                                  \
        detail::vector_rule<detail::AnyNumber, D, A, B>();                                                             \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::OP<detail::Mul, detail::Add>{}, d, FIRST, SECOND, THIRD);                   \
    }
PTO_DETAIL_FUSED(TFUSEDMULADD, Chain, s0, d, s1)
PTO_DETAIL_FUSED(TFUSEDMULADDRELU, ChainRelu, s0, d, s1)
PTO_DETAIL_FUSED(TMULADDDST, Chain, s0, s1, d)
#undef PTO_DETAIL_FUSED

namespace detail {

template <class T>
constexpr bool never_v = false;

}  // namespace detail

// d = s0 + s1 + s2;  d = s0 - s1 + s2;  the same with a scalar in place of s1. No NPU has them.
#define PTO_DETAIL_CARRY(NAME, OP)                                                                                     \
    template <class D, class A, class B, class C, class... E, detail::if_tiles<D, A, B, C> = 0>                        \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, B& s1, C& s2, E&... events)                                          \
    {                                                                                                                  \
        PTO_NPU_RULE((detail::never_v<D>), #NAME ": no NPU has this instruction");                                     \
        detail::vector_rule<detail::AnyNumber, D, A, B, C>();                                                          \
        detail::one_type_rule<D, A, B, C>();                                                                           \
        detail::wait_all(events...);                                                                                   \
        return detail::elementwise(detail::Chain<detail::OP, detail::Add>{}, d, s0, s1, s2);                           \
    }
PTO_DETAIL_CARRY(TADDC, Add)
PTO_DETAIL_CARRY(TSUBC, Sub)
#undef PTO_DETAIL_CARRY

#define PTO_DETAIL_CARRY_SCALAR(NAME, OP)                                                                              \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, typename A::DType x, B& s1, E&... events)                            \
    {                                                                                                                  \
        PTO_NPU_RULE((detail::never_v<D>), #NAME ": no NPU has this instruction");                                     \
        detail::vector_rule<detail::AnyNumber, D, A, B>();                                                             \
        detail::one_type_rule<D, A, B>();                                                                              \
        detail::wait_all(events...);                                                                                   \
        using V = decltype(detail::scalar_value(x));                                                                   \
        return detail::elementwise(detail::ChainScalar<detail::OP, detail::Add, V>{detail::scalar_value(x)}, d, s0,    \
                                   s1);                                                                                \
    }
PTO_DETAIL_CARRY_SCALAR(TADDSC, Add)
PTO_DETAIL_CARRY_SCALAR(TSUBSC, Sub)
#undef PTO_DETAIL_CARRY_SCALAR

namespace detail {

// Columns from..to of one row: op where both sources are valid, the one that is, or 0.
template <class Op, class T>
PTO_NOINLINE void part_row(Op op, T* dst, const T* a, int64_t a_cols, const T* b, int64_t b_cols, int64_t cols)
{
    const int64_t both = min_of(cols, min_of(a_cols, b_cols));
    apply_line(op, both, dst, a, b);
    const int64_t one = min_of(cols, a_cols > b_cols ? a_cols : b_cols);
    const T* longer = a_cols > b_cols ? a : b;
    if (one > both) {
        std::memmove(dst + both, longer + both, static_cast<std::size_t>(one - both) * sizeof(T));
    }
    if (cols > one) {
        std::memset(static_cast<void*>(dst + one), 0, static_cast<std::size_t>(cols - one) * sizeof(T));
    }
}

template <class Op, class D, class A, class B>
PTO_INLINE RecordEvent part(D& d, A& s0, B& s1)
{
    static_assert(same_element_v<D, A, B>, "TPART: all tiles must have the same element type");
    using T = typename D::DType;
    static_assert(is_narrow_v<T> || is_any_v<T, float, int32_t, int16_t, int8_t, uint8_t>,
                  "TPART: unsupported element type (f32, f16, i32, i16, i8, u8)");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<A, TileType::Vec> && at_v<B, TileType::Vec>),
                 "TPART: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<A> && is_nd_v<B>), "TPART: all tiles must be RowMajor without boxes");
    fence();
    const int64_t rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s0, s1)) {
        const Op op{};
        for (int64_t r = 0; r < rows; ++r) {
            const int64_t a_cols = r < s0.GetValidRow() ? s0.GetValidCol() : 0;
            const int64_t b_cols = r < s1.GetValidRow() ? s1.GetValidCol() : 0;
            if constexpr (is_nd_v<D> && is_nd_v<A> && is_nd_v<B>) {
                part_row(op, elements(d) + r * D::Cols, elements(s0) + r * A::Cols, a_cols,
                         elements(s1) + r * B::Cols, b_cols, cols);
            } else {
                for (int64_t c = 0; c < cols; ++c) {
                    part_row(op, elements(d) + D::offset(r, c), elements(s0) + A::offset(r, c),
                             static_cast<int64_t>(c < a_cols), elements(s1) + B::offset(r, c),
                             static_cast<int64_t>(c < b_cols), 1);
                }
            }
        }
    }
    fence();
    return {};
}

}  // namespace detail

// d = s0 op s1 where both are valid, otherwise the one that is valid.
#define PTO_DETAIL_PART(NAME, OP)                                                                                      \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_INSTRUCTION RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                 \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::part<detail::OP>(d, s0, s1);                                                                    \
    }
PTO_DETAIL_PART(TPARTADD, Add)
PTO_DETAIL_PART(TPARTMUL, Mul)
PTO_DETAIL_PART(TPARTMAX, Max)
PTO_DETAIL_PART(TPARTMIN, Min)
#undef PTO_DETAIL_PART

}  // namespace pto

#endif
