// Matrix instructions: TMATMUL, TGEMV and their accumulating and biased forms. f16 and bf16 are computed in float; int8 is
// exact in 32-bit integers that wrap. Only the valid m x n part of the accumulator is written.
#ifndef PTO_DETAIL_MATMUL_HPP
#define PTO_DETAIL_MATMUL_HPP

#include "../vector/elementwise.hpp"
#include "gemm.hpp"

namespace pto {

namespace detail {

template <class C, class A, class B>
constexpr bool product_types_v =
    std::is_same<A, B>::value && ((std::is_same<C, int32_t>::value && std::is_same<A, int8_t>::value) ||
                                  (std::is_same<C, float>::value && is_any_v<A, half, bfloat16_t, float>));

template <class C, class A, class B>
PTO_INLINE void product_rule()
{
    static_assert(is_tile_data_v<C> && is_tile_data_v<A> && is_tile_data_v<B>, "matrix product: operands must be tiles");
    static_assert(product_types_v<typename C::DType, typename A::DType, typename B::DType>,
                  "matrix product: unsupported element types (i32 = i8 * i8; f32 = f16 * f16, bf16 * bf16 or f32 * f32)");
    static_assert(at_v<A, TileType::Left> && at_v<B, TileType::Right> && at_v<C, TileType::Acc>,
                  "matrix product: operands must be Acc, Left and Right tiles");
    static_assert(A::isInnerRowMajor, "matrix product: the Left tile must have row-major boxes");
    static_assert(is_zn_v<B>, "matrix product: the Right tile must be Zn");
    static_assert(is_nz_v<C>, "matrix product: the Acc tile must be Nz");
    static_assert(A::SFractalSize == 512 && B::SFractalSize == 512, "matrix product: operand fractals must be 512 bytes");
    static_assert(A::Rows == C::Rows && A::Cols == B::Rows && B::Cols == C::Cols,
                  "matrix product: the static sizes m, k, n of the tiles do not agree");
}

template <class C, class Bias>
PTO_INLINE void bias_rule()
{
    static_assert(is_tile_data_v<Bias>, "matrix product: bias must be a tile");
    static_assert(same_element_v<C, Bias>, "matrix product: bias must have the element type of the accumulator");
    static_assert(at_v<Bias, TileType::Bias> && Bias::Rows == 1 && is_nd_v<Bias>,
                  "matrix product: bias must be a Bias tile of one plain row");
}

// Gemv takes the sizes from b and uses one row; otherwise m and k come from a.
template <bool Gemv, class C, class A, class B>
PTO_INLINE RecordEvent product(C& c, A& a, B& b, Addend<elem_t<C>> addend)
{
    fence();
    const int m = Gemv ? 1 : a.GetValidRow(), k = a.GetValidCol(), n = b.GetValidCol();
    if (addressed(c, a, b) &&
        require(b.GetValidRow() == k, "matrix product: valid columns of Left and valid rows of Right differ")) {
        bool done = false;
#if PTO_HAVE_AMX
        if constexpr (amx_left_v<A> && amx_right_v<B> && C::InnerCols == 16 && C::InnerRows == 16) {
            done = amx_multiply_held({elements(c), addend.acc, addend.bias, 16 * C::Rows}, a.GetAddress(), amx_form<A>(),
                                     b.GetAddress(), amx_form<B>(), m, k, n);
        }
#endif
        if (!done) {
            multiply_tiles<C, A, B>(elements(c), elements(a), elements(b), addend, m, k, n);
        }
    }
    fence();
    return {};
}

template <bool Gemv, class C, class A, class B>
PTO_INLINE RecordEvent product_acc(C& out, C& in, A& a, B& b)
{
    if (!addressed(in)) {
        return {};
    }
    return product<Gemv>(out, a, b, Addend<elem_t<C>>{elements(in), nullptr});
}

template <bool Gemv, class C, class A, class B, class Bias>
PTO_INLINE RecordEvent product_bias(C& c, A& a, B& b, Bias& bias)
{
    if (!addressed(bias) || !covers(bias, 1, b.GetValidCol())) {
        return {};
    }
    return product<Gemv>(c, a, b, Addend<elem_t<C>>{nullptr, elements(bias)});
}

}  // namespace detail

// c = a b;  out = in + a b;  c = c + a b;  c = a b + bias. The phase argument only steers a flag of the NPU.
#define PTO_DETAIL_PRODUCT(NAME, GEMV)                                                                                 \
    template <class C, class A, class B, class... E, detail::if_tiles<C, A, B> = 0, detail::if_events<E...> = 0>     \
    PTO_LIGHT RecordEvent NAME(C& c, A& a, B& b, E&... events)                                                        \
    {                                                                                                                  \
        detail::product_rule<C, A, B>();                                                                               \
        detail::wait_all(events...);                                                                                   \
        return detail::product<GEMV>(c, a, b, detail::Addend<detail::elem_t<C>>{nullptr, nullptr});                    \
    }                                                                                                                  \
    template <AccPhase, class C, class A, class B, class... E>                                                         \
    PTO_LIGHT RecordEvent NAME(C& c, A& a, B& b, E&... events)                                                        \
    {                                                                                                                  \
        return NAME(c, a, b, events...);                                                                               \
    }                                                                                                                  \
    template <class C, class A, class B, class... E, detail::if_tiles<C, A, B> = 0, detail::if_events<E...> = 0>     \
    PTO_INLINE RecordEvent NAME##_ACC(C& out, C& in, A& a, B& b, E&... events)                                         \
    {                                                                                                                  \
        detail::product_rule<C, A, B>();                                                                               \
        detail::wait_all(events...);                                                                                   \
        return detail::product_acc<GEMV>(out, in, a, b);                                                               \
    }                                                                                                                  \
    template <class C, class A, class B, class... E, detail::if_tiles<C, A, B> = 0, detail::if_events<E...> = 0>     \
    PTO_INLINE RecordEvent NAME##_ACC(C& c, A& a, B& b, E&... events)                                                  \
    {                                                                                                                  \
        detail::product_rule<C, A, B>();                                                                               \
        detail::wait_all(events...);                                                                                   \
        return detail::product_acc<GEMV>(c, c, a, b);                                                                  \
    }                                                                                                                  \
    template <AccPhase, class C, class... Rest>                                                                        \
    PTO_INLINE RecordEvent NAME##_ACC(C& c, Rest&... rest)                                                             \
    {                                                                                                                  \
        return NAME##_ACC(c, rest...);                                                                                 \
    }                                                                                                                  \
    template <class C, class A, class B, class Bias, class... E, detail::if_tiles<C, A, B, Bias> = 0>                  \
    PTO_INLINE RecordEvent NAME##_BIAS(C& c, A& a, B& b, Bias& bias, E&... events)                                     \
    {                                                                                                                  \
        detail::product_rule<C, A, B>();                                                                               \
        detail::bias_rule<C, Bias>();                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::product_bias<GEMV>(c, a, b, bias);                                                              \
    }                                                                                                                  \
    template <AccPhase, class C, class A, class B, class Bias, class... E>                                             \
    PTO_INLINE RecordEvent NAME##_BIAS(C& c, A& a, B& b, Bias& bias, E&... events)                                     \
    {                                                                                                                  \
        return NAME##_BIAS(c, a, b, bias, events...);                                                                  \
    }
PTO_DETAIL_PRODUCT(TMATMUL, false)
PTO_DETAIL_PRODUCT(TGEMV, true)
#undef PTO_DETAIL_PRODUCT

}  // namespace pto

#endif
