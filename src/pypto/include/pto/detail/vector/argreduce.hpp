// Positions of extremes along rows and columns, and sums of neighbours.
//  - The first of equal elements wins.
//  - A NaN wins only if it is the first element.
#ifndef PTO_DETAIL_ARGREDUCE_HPP
#define PTO_DETAIL_ARGREDUCE_HPP

#include "reduce.hpp"

namespace pto {

namespace detail {

struct Greater {
    template <class C>
    PTO_INLINE bool operator()(C a, C b) const { return a > b; }
};
struct Less {
    template <class C>
    PTO_INLINE bool operator()(C a, C b) const { return a < b; }
};

// A best value and its position.
template <class C>
struct Best {
    C value;
    int32_t index;
};

// best[i], at[i] = the better of them and x[i] at position k.
template <class Better, class C>
PTO_INLINE void improve_run(C* best, int32_t* at, const C* x, int32_t k, int64_t n)
{
    const Better better{};
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        const bool wins = better(x[i], best[i]);
        best[i] = wins ? x[i] : best[i];
        at[i] = wins ? k : at[i];
    }
}

// found = the better of itself and n elements, the first of which has the position `base`: partial winners over every 16th
// element, which vectorise, and then the winner of those.
template <class Better, class C>
PTO_INLINE void improve_best(Best<C>& found, const C* x, int64_t n, int32_t base)
{
    constexpr int lanes = 16;
    const Better better{};
    int64_t i = 0;
    if (n >= 4 * lanes) {
        C best[lanes];
        int32_t at[lanes];
        for (int j = 0; j < lanes; ++j) {
            best[j] = x[j];
            at[j] = 0;
        }
        for (i = lanes; i + lanes <= n; i += lanes) {
            for (int j = 0; j < lanes; ++j) {  // a NaN at the start of a lane must not hide the lane
                const bool wins = better(x[i + j], best[j]) | (best[j] != best[j]);
                best[j] = wins ? x[i + j] : best[j];
                at[j] = wins ? static_cast<int32_t>(i) : at[j];
            }
        }
        for (int j = 0; j < lanes; ++j) {
            const int32_t index = base + at[j] + j;
            if (better(best[j], found.value) || (best[j] == found.value && index < found.index)) {
                found = {best[j], index};
            }
        }
    }
    for (; i < n; ++i) {
        if (better(x[i], found.value)) {
            found = {x[i], base + static_cast<int32_t>(i)};
        }
    }
}

// index[o * step] = position of the best of line o; value likewise, or nullptr.
template <class Better, class I, class V, class S>
PTO_NOINLINE void best_of_lines(I* index, int64_t index_step, V* value, int64_t value_step, const S* src,
                                int64_t src_step, int64_t outer, int64_t inner)
{
    using C = compute_t<S>;
    for (int64_t o = 0; o < outer && inner > 0; ++o) {
        Best<C> found{};
        for (int64_t i = 0; i < inner; i += kChunk) {
            const int64_t m = min_of<int64_t>(kChunk, inner - i);
            const Chunk<S> chunk(src + o * src_step + i, m);
            if (i == 0) {
                found = {chunk.at[0], 0};
            }
            improve_best<Better, C>(found, &chunk.at[0], m, static_cast<int32_t>(i));
        }
        index[o * index_step] = static_cast<I>(found.index);
        if (value != nullptr) {
            value[o * value_step] = from_compute<V>(static_cast<compute_t<V>>(found.value));
        }
    }
}

// index[i] = line with the best element at position i.
template <class Better, class I, class V, class S>
PTO_NOINLINE void best_across(I* index, V* value, const S* src, int64_t step, int64_t count, int64_t length)
{
    using C = compute_t<S>;
    constexpr int block = 64;
    for (int64_t from = 0; from < length && count > 0; from += block) {
        const int64_t n = min_of<int64_t>(block, length - from);
        C best[block];
        int32_t at[block];
        for (int64_t k = 0; k < count; ++k) {
            const Chunk<S> line(src + k * step + from, n);
            if (k == 0) {
                for (int64_t i = 0; i < n; ++i) {
                    best[i] = line.at[i];
                    at[i] = 0;
                }
            } else {
                improve_run<Better, C>(best, at, &line.at[0], static_cast<int32_t>(k), n);
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            index[from + i] = static_cast<I>(at[i]);
            if (value != nullptr) {
                value[from + i] = from_compute<V>(static_cast<compute_t<V>>(best[i]));
            }
        }
    }
}

// A placeholder for the value tile in the forms without one.
struct NoValue {};

template <class V, class I, class S>
PTO_INLINE void arg_rule()
{
    static_assert(is_tile_data_v<I> && is_tile_data_v<S>, "position of an extreme: operands must be tiles");
    static_assert(is_any_v<typename I::DType, int32_t, uint32_t>,
                  "position of an extreme: the index tile must be int32_t or uint32_t");
    static_assert(is_number_v<typename S::DType>, "position of an extreme: unsupported element type");
    static_assert(!I::isBoxedLayout && !S::isBoxedLayout, "position of an extreme: tiles must not be boxed");
    PTO_NPU_RULE((at_v<I, TileType::Vec> && at_v<S, TileType::Vec>), "position of an extreme: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<S>), "position of an extreme: the source must be RowMajor");
    if constexpr (!std::is_same<V, NoValue>::value) {
        static_assert(same_element_v<V, S> && !V::isBoxedLayout,
                      "position of an extreme: the value tile must have the element type of the source");
        PTO_NPU_RULE((at_v<V, TileType::Vec>), "position of an extreme: all tiles must be Vec tiles");
    }
}

template <class V>
PTO_INLINE bool fits_value(const V& v, int rows, int cols)
{
    if constexpr (std::is_same<V, NoValue>::value) {
        return true;
    } else {
        return addressed(v) && require(v.GetValidRow() >= rows && v.GetValidCol() >= cols,
                                       "position of an extreme: the value tile is too small");
    }
}
template <class S, class V>
PTO_INLINE elem_t<S>* value_data(const V& v)
{
    if constexpr (std::is_same<V, NoValue>::value) {
        return nullptr;
    } else {
        return elements(v);
    }
}
template <class V>
constexpr int64_t value_step()
{
    if constexpr (std::is_same<V, NoValue>::value) {
        return 0;
    } else {
        return V::RowStride;
    }
}

template <class Better, bool ByRow, class V, class I, class S>
PTO_INLINE RecordEvent arg_reduce(V& v, I& d, S& s)
{
    arg_rule<V, I, S>();
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    const int out_rows = ByRow ? rows : 1, out_cols = ByRow ? 1 : cols;
    if (addressed(d, s) && fits_value(v, out_rows, out_cols) &&
        require(d.GetValidRow() >= out_rows && d.GetValidCol() >= out_cols,
                "position of an extreme: the index tile is too small")) {
        elem_t<S>* value = value_data<S>(v);
        if constexpr (ByRow == is_nd_v<S>) {
            best_of_lines<Better>(elements(d), ByRow ? I::RowStride : I::ColStride, value, value_step<V>(), elements(s),
                                  ByRow ? S::Cols : S::Rows, ByRow ? rows : cols, ByRow ? cols : rows);
        } else {
            best_across<Better>(elements(d), value, elements(s), ByRow ? S::Rows : S::Cols, ByRow ? cols : rows,
                                ByRow ? rows : cols);
        }
    }
    fence();
    return {};
}

}  // namespace detail

// d(r, 0) or d(0, c) = position of the extreme of the row or column; v gets the extreme itself. The scratch tile is for
// the NPU.
#define PTO_DETAIL_ARG_REDUCE(NAME, BETTER, BY_ROW)                                                                    \
    template <class I, class S, class T, class... E, detail::if_tiles<I, S, T> = 0, detail::if_events<E...> = 0>       \
    PTO_INSTRUCTION RecordEvent NAME(I& d, S& s, T&, E&... events)                                                     \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        detail::NoValue none;                                                                                          \
        return detail::arg_reduce<detail::BETTER, BY_ROW>(none, d, s);                                                 \
    }                                                                                                                  \
    template <class V, class I, class S, class T, class... E, detail::if_tiles<V, I, S, T> = 0>                        \
    PTO_INSTRUCTION RecordEvent NAME(V& v, I& d, S& s, T&, E&... events)                                               \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::arg_reduce<detail::BETTER, BY_ROW>(v, d, s);                                                    \
    }
PTO_DETAIL_ARG_REDUCE(TROWARGMAX, Greater, true)
PTO_DETAIL_ARG_REDUCE(TROWARGMIN, Less, true)
PTO_DETAIL_ARG_REDUCE(TCOLARGMAX, Greater, false)
PTO_DETAIL_ARG_REDUCE(TCOLARGMIN, Less, false)
#undef PTO_DETAIL_ARG_REDUCE

// d(r, k) = s(r, 2k) + s(r, 2k + 1); the second half of the row is 0. An odd last element is copied.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_INSTRUCTION RecordEvent TPAIRREDUCESUM(D& d, S& s, E&... events)
{
    using namespace detail;
    vector_rule<Floats, D, S>();
    static_assert(is_nd_v<D> && is_nd_v<S>, "TPAIRREDUCESUM: all tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && require(s.GetValidRow() == rows && s.GetValidCol() == cols,
                                   "TPAIRREDUCESUM: the valid sizes of both tiles differ")) {
        using T = elem_t<D>;
        for (int64_t r = 0; r < rows; ++r) {
            T* to = elements(d) + r * D::Cols;
            const T* from = elements(s) + r * S::Cols;
            for (int64_t k = 0; k < cols / 2; ++k) {
                to[k] = from_compute<T>(to_compute(from[2 * k]) + to_compute(from[2 * k + 1]));
            }
            if (cols % 2 != 0) {
                to[cols / 2] = from[cols - 1];
            }
            for (int64_t k = (cols + 1) / 2; k < cols; ++k) {
                to[k] = from_compute<T>(0);
            }
        }
    }
    fence();
    return {};
}

}  // namespace pto

#endif
