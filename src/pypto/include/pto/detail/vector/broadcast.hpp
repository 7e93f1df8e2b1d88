// Broadcasts: a column over rows (TROWEXPAND...), a row over columns (TCOLEXPAND...). A row is a source whose lines do not
// advance; a column is one scalar per line.
#ifndef PTO_DETAIL_BROADCAST_HPP
#define PTO_DETAIL_BROADCAST_HPP

#include "elementwise.hpp"

namespace pto {

namespace detail {

// dst(o, i) = op(full(o, i), block(o, i mod period)), or swapped.
template <bool BlockFirst, class Op, class T>
PTO_NOINLINE void map_lines_by_block(Op op, int64_t outer, int64_t inner, T* dst, int64_t stride, Lines<T> full,
                                     Lines<T> block, int64_t period)
{
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < inner; i += period) {
            const int64_t n = min_of(period, inner - i);
            const T* f = full.start + o * full.stride + i;
            const T* b = block.start + o * block.stride;
            if constexpr (BlockFirst) {
                apply_line(op, n, dst + o * stride + i, b, f);
            } else {
                apply_line(op, n, dst + o * stride + i, f, b);
            }
        }
    }
}

// d = full op small (SmallFirst: small op full). small is DN with one valid column, or ND with 32 bytes of valid columns
// that repeat along the row.
template <bool SmallFirst, class Op, class D, class F, class S>
PTO_INLINE void row_expand_pair(D& d, F& full, S& small)
{
    using T = elem_t<D>;
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    constexpr int period = 32 / static_cast<int>(sizeof(T));
    const Lines<T> f{elements(full), F::Cols};
    if (!covers(full, rows, cols) || !covers(small, rows, 1)) {
        return;
    }
    if constexpr (is_dn_v<S>) {
        if (require(small.GetValidCol() == 1, "row expand: a ColMajor operand must have one valid column")) {
            map_lines_by_column<SmallFirst>(Op{}, rows, cols, elements(d), D::Cols, f, Lines<T>{elements(small), 1});
        }
    } else if constexpr (is_nd_v<S>) {
        if (require(small.GetValidCol() == period, "row expand: a RowMajor operand must have 32 bytes of valid columns")) {
            map_lines_by_block<SmallFirst>(Op{}, rows, cols, elements(d), D::Cols, f, Lines<T>{elements(small), S::Cols},
                                           period);
        }
    }
}

// e^(a - b). The difference is rounded to the element type T, as with two instructions.
struct ExpDif {};
template <class T>
struct ExpDifOf {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const { return exp_value(to_compute(from_compute<T>(a - b))); }
};
template <class Op, class T>
using operation_t = std::conditional_t<std::is_same<Op, ExpDif>::value, ExpDifOf<T>, Op>;

template <class T>
constexpr bool expand_type_v = is_narrow_v<T> || is_any_v<T, float, int16_t, uint16_t, int32_t, uint32_t>;

// Which element types an operation takes: floats, and integers except for ExpDif.
template <class Op, bool ByteToo, class T>
constexpr bool expand_takes_v = std::is_same<Op, ExpDif>::value
                                    ? is_narrow_v<T> || std::is_same<T, float>::value
                                    : expand_type_v<T> || (ByteToo && std::is_same<T, uint8_t>::value);

template <class Op, bool ByteToo, class D, class A, class B>
PTO_INLINE RecordEvent row_expand_binary(D& d, A& s0, B& s1)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<A> && is_tile_data_v<B>, "operands must be tiles");
    static_assert(same_element_v<D, A, B>, "row expand: all tiles must have the same element type");
    using T = typename D::DType;
    static_assert(expand_takes_v<Op, ByteToo, T>, "row expand: unsupported element type");
    static_assert(is_nd_v<D>, "row expand: the destination must be RowMajor");
    static_assert(is_nd_v<A> || is_nd_v<B>, "row expand: the full-size source must be RowMajor");
    static_assert(!A::isBoxedLayout && !B::isBoxedLayout, "row expand: sources must not be boxed");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<A, TileType::Vec> && at_v<B, TileType::Vec>),
                 "row expand: all tiles must be Vec tiles");
    fence();
    if (addressed(d, s0, s1)) {
        if constexpr (is_dn_v<A>) {
            row_expand_pair<true, operation_t<Op, T>>(d, s1, s0);
        } else if constexpr (is_dn_v<B>) {
            row_expand_pair<false, operation_t<Op, T>>(d, s0, s1);
        } else if (s0.GetValidRow() == d.GetValidRow() && s0.GetValidCol() == d.GetValidCol()) {
            row_expand_pair<false, operation_t<Op, T>>(d, s0, s1);
        } else {
            row_expand_pair<true, operation_t<Op, T>>(d, s1, s0);
        }
    }
    fence();
    return {};
}

template <class Op, bool ByteToo, class D, class A, class B>
PTO_INLINE RecordEvent col_expand_binary(D& d, A& s0, B& s1)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<A> && is_tile_data_v<B>, "operands must be tiles");
    static_assert(same_element_v<D, A, B>, "column expand: all tiles must have the same element type");
    using T = typename D::DType;
    static_assert(expand_takes_v<Op, ByteToo, T>, "column expand: unsupported element type");
    static_assert(is_nd_v<D> && is_nd_v<A> && is_nd_v<B>, "column expand: all tiles must be RowMajor");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<A, TileType::Vec> && at_v<B, TileType::Vec>),
                 "column expand: all tiles must be Vec tiles");
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s0, s1) && covers(s0, rows, cols) && covers(s1, 1, cols)) {
        using E = elem_t<D>;
        map_lines(operation_t<Op, T>{}, rows, cols, elements(d), D::Cols, Lines<E>{elements(s0), A::Cols}, Lines<E>{elements(s1), 0});
    }
    fence();
    return {};
}

// Broadcast copies may change the integer signedness or the type on a CPU only.
template <class D, class S>
PTO_INLINE void expand_rule()
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "operands must be tiles");
    PTO_NPU_RULE((same_element_v<D, S>), "expand: source and destination must have the same element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "expand: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && !S::isBoxedLayout), "expand: tiles must not be boxed and the destination RowMajor");
}

template <class D, class S>
PTO_INLINE elem_t<D> expand_cast(elem_t<S> value)
{
    return from_compute<elem_t<D>>(static_cast<compute_t<elem_t<D>>>(to_compute(value)));
}

template <class T>
PTO_NOINLINE void fill_lines_by_column(T* dst, int64_t stride, const T* column, int64_t column_step, int64_t rows,
                                       int64_t cols)
{
    for (int64_t r = 0; r < rows; ++r) {
        const T value = column[r * column_step];
        T* line = dst + r * stride;
        PTO_IVDEP
        for (int64_t c = 0; c < cols; ++c) {
            line[c] = value;
        }
    }
}

}  // namespace detail

// d(r, c) = s(r, 0).
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TROWEXPAND(D& d, S& s, E&... events)
{
    using namespace detail;
    expand_rule<D, S>();
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && covers(s, rows, 1)) {
        if constexpr (is_nd_v<D> && !S::isBoxedLayout && same_element_v<D, S>) {
            fill_lines_by_column(elements(d), D::Cols, elements(s), S::RowStride, rows, cols);
        } else {
            for (int r = 0; r < rows; ++r) {
                const elem_t<D> value = expand_cast<D, S>(elements(s)[S::offset(r, 0)]);
                for (int c = 0; c < cols; ++c) {
                    elements(d)[D::offset(r, c)] = value;
                }
            }
        }
    }
    fence();
    return {};
}

// d(r, c) = s(0, c).
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TCOLEXPAND(D& d, S& s, E&... events)
{
    using namespace detail;
    expand_rule<D, S>();
    PTO_NPU_RULE((is_nd_v<S>), "TCOLEXPAND: the source must be RowMajor");
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && covers(s, 1, cols)) {
        if constexpr (is_nd_v<D> && is_nd_v<S> && same_element_v<D, S>) {
            for (int r = 0; r < rows; ++r) {
                std::memmove(elements(d) + r * D::Cols, elements(s), static_cast<std::size_t>(cols) * sizeof(elem_t<D>));
            }
        } else {
            for (int r = 0; r < rows; ++r) {
                for (int c = 0; c < cols; ++c) {
                    elements(d)[D::offset(r, c)] = expand_cast<D, S>(elements(s)[S::offset(0, c)]);
                }
            }
        }
    }
    fence();
    return {};
}

// d = s0 op s1, one of them a column; the scratch form is for the NPU.
#define PTO_DETAIL_ROW_EXPAND(NAME, OP, BYTE)                                                                          \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0, detail::if_events<E...> = 0>     \
    PTO_LIGHT RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                      \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::row_expand_binary<detail::OP, BYTE>(d, s0, s1);                                                 \
    }                                                                                                                  \
    template <class D, class A, class B, class T, class... E, detail::if_tiles<D, A, B, T> = 0>                        \
    PTO_LIGHT RecordEvent NAME(D& d, A& s0, B& s1, T&, E&... events)                                                  \
    {                                                                                                                  \
        return NAME(d, s0, s1, events...);                                                                             \
    }
PTO_DETAIL_ROW_EXPAND(TROWEXPANDADD, Add, false)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDSUB, Sub, false)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDMUL, Mul, true)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDDIV, Div, false)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDMAX, Max, false)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDMIN, Min, false)
PTO_DETAIL_ROW_EXPAND(TROWEXPANDEXPDIF, ExpDif, false)
#undef PTO_DETAIL_ROW_EXPAND

// d = s0 op s1 with s1 one row.
#define PTO_DETAIL_COL_EXPAND(NAME, OP, BYTE)                                                                          \
    template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>                                    \
    PTO_LIGHT RecordEvent NAME(D& d, A& s0, B& s1, E&... events)                                                      \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::col_expand_binary<detail::OP, BYTE>(d, s0, s1);                                                 \
    }
PTO_DETAIL_COL_EXPAND(TCOLEXPANDADD, Add, false)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDSUB, Sub, false)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDMUL, Mul, true)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDDIV, Div, false)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDMAX, Max, false)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDMIN, Min, false)
PTO_DETAIL_COL_EXPAND(TCOLEXPANDEXPDIF, ExpDif, false)
#undef PTO_DETAIL_COL_EXPAND

}  // namespace pto

#endif
