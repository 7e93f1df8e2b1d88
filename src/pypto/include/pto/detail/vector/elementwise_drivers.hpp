// Drivers: walk one or more tiles and apply an operation per element. They take raw pointers and run-time sizes, so one
// instance per (operation, element types) serves every tile shape. An operation is an object with
// `C operator()(C...) const` over the computing types; one with a member `run(dst, src, n)` handles whole runs itself.
#ifndef PTO_DETAIL_ELEMENTWISE_DRIVERS_HPP
#define PTO_DETAIL_ELEMENTWISE_DRIVERS_HPP

#include "../transfer/prefetch.hpp"
#include "../core/check.hpp"
#include "../core/half_conversion.hpp"
#include "scalar_ops.hpp"

namespace pto {
namespace detail {

// bool is stored as a byte: tile memory may have any bit pattern.
template <class T>
using stored_t = std::conditional_t<is_bool_v<T>, uint8_t, T>;
template <class Tl>
using elem_t = stored_t<typename Tl::DType>;

template <class Tl>
PTO_INLINE elem_t<Tl>* elements(const Tl& tile)
{
    return reinterpret_cast<elem_t<Tl>*>(tile.data());
}

// A source operand of a walk: start, distance between lines (0 repeats one line).
template <class T>
struct Lines {
    const T* start;
    int64_t stride;
};

// One source within a chunk: 16-bit floats are widened into a buffer, other types are read in place.
template <class T, bool Narrow = is_narrow_v<T>>
struct Chunk {
    const T* at;
    PTO_INLINE Chunk(const T* p, int64_t) : at(p) {}
};
template <class T>
struct Chunk<T, true> {
    float at[kChunk];
    PTO_INLINE Chunk(const T* p, int64_t n) { widen(p, at, n); }
};

template <class Op, class = void>
struct HasRun : std::false_type {};
template <class Op>
struct HasRun<Op, std::void_t<typename Op::run_tag>> : std::true_type {};

template <class Op, class C>
struct BindRight;

template <class Op, class C, class... S>
PTO_INLINE void apply_run(const Op& op, C* dst, int64_t n, const S*... src)
{
    if constexpr (HasRun<Op>::value) {
        op.run(dst, src..., n);
    } else if constexpr (PTO_HAVE_DIVIDE_RUN && std::is_same<Op, BindRight<Div, float>>::value) {
        divide_run(dst, src..., n, op.value);
    } else {
        PTO_IVDEP
        for (int64_t i = 0; i < n; ++i) {
            dst[i] = static_cast<C>(op(src[i]...));
        }
    }
}

template <class Op, class D, class... S>
PTO_INLINE void apply_chunk(const Op& op, D* dst, int64_t n, const Chunk<S>&... src)
{
    if constexpr (is_narrow_v<D>) {
        float out[kChunk];
        apply_run(op, out, n, &src.at[0]...);
        narrow(out, dst, n);
    } else {
        apply_run(op, dst, n, &src.at[0]...);
    }
}

// One contiguous line.
template <class Op, class D, class... S>
PTO_INLINE void apply_line(const Op& op, int64_t n, D* dst, const S*... src)
{
    if constexpr (is_narrow_v<D> || (is_narrow_v<S> || ...)) {
        for (int64_t i = 0; i < n; i += kChunk) {
            const int64_t m = min_of<int64_t>(kChunk, n - i);
            apply_chunk<Op, D, S...>(op, dst + i, m, Chunk<S>(src + i, m)...);
        }
    } else {
        apply_run(op, dst, n, src...);
    }
}

// Operations with one operand fixed to a value.
template <class Op, class C>
struct BindRight {
    Op op;
    C value;
    template <class A>
    PTO_INLINE auto operator()(A a) const
    {
        return op(a, value);
    }
};
template <class Op, class C>
struct BindLeft {
    Op op;
    C value;
    template <class A>
    PTO_INLINE auto operator()(A a) const
    {
        return op(value, a);
    }
};

// How a loop prefetches what is expected next (prefetch.hpp): before each piece of so many bytes of computing type, so many
// cache lines. Their transfer takes about as long as the work on the piece; more at a time would stall.
template <class Op>
struct Pace {
    static constexpr bool is_slow = is_any_v<Op, Exp, Log, Div, Sqrt, Rsqrt, Recip>;
    static constexpr int64_t bytes = 512;
    static constexpr int lines = is_slow ? 8 : 3;
};
template <>
struct Pace<BindRight<Div, float>> {
    static constexpr int64_t bytes = 2048;
    static constexpr int lines = 16;
};

// One contiguous line, with prefetches in between.
template <class Op, class D, class... S>
PTO_INLINE void apply_line_ahead(Ahead& next, const Op& op, int64_t n, D* dst, const S*... src)
{
    constexpr int64_t unit = Pace<Op>::bytes / static_cast<int64_t>(sizeof(compute_t<D>));
    constexpr int64_t step = is_narrow_v<D> ? kChunk : unit;
    constexpr int lines = Pace<Op>::lines * static_cast<int>(step / unit);
    int64_t i = 0;
    for (; i + step <= n; i += step) {
        fetch_ahead(next, lines);
        apply_line(op, step, dst + i, (src + i)...);
    }
    if (i < n) {
        fetch_ahead(next, lines / 2);
        apply_line(op, n - i, dst + i, (src + i)...);
    }
}

// dst(o, i) = op(src(o, i)...) over `outer` lines of `inner` elements; contiguous operands are walked as one line.
template <class Op, class D, class... S>
PTO_NOINLINE void map_lines(Op op, int64_t outer, int64_t inner, D* dst, int64_t stride, Lines<S>... src)
{
    if (stride == inner && ((src.stride == inner) && ...)) {
        inner *= outer;
        outer = outer > 0 ? 1 : 0;
    }
    Ahead& next = ahead_here();
    for (int64_t o = 0; o < outer; ++o) {
        apply_line_ahead(next, op, inner, dst + o * stride, (src.start + o * src.stride)...);
    }
}

// dst(o, i) = op(src(o, i), column(o)), or with the operands swapped: one value per line.
template <bool ColumnFirst, class Op, class T>
PTO_NOINLINE void map_lines_by_column(Op op, int64_t outer, int64_t inner, T* dst, int64_t stride, Lines<T> src,
                                      Lines<T> column)
{
    using C = compute_t<T>;
    Ahead& next = ahead_here();
    for (int64_t o = 0; o < outer; ++o) {
        const C value = to_compute(column.start[o * column.stride]);
        if constexpr (ColumnFirst) {
            apply_line_ahead(next, BindLeft<Op, C>{op, value}, inner, dst + o * stride, src.start + o * src.stride);
        } else {
            apply_line_ahead(next, BindRight<Op, C>{op, value}, inner, dst + o * stride, src.start + o * src.stride);
        }
    }
}

// The slow path, for operands whose layouts do not match: one element at a time through the layout formula.
template <class Op, class D, class... S>
void map_elements(Op op, const D& d, int64_t rows, int64_t cols, const S&... s)
{
    using T = elem_t<D>;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            T* dst = elements(d) + D::offset(r, c);
            apply_line(op, 1, dst, (elements(s) + S::offset(r, c))...);
        }
    }
}

// Elementwise instruction over d's valid region; the loop is chosen by the layouts at compile time.
template <class Op, class D, class... S>
PTO_INLINE RecordEvent elementwise(const Op& op, D& d, S&... s)
{
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s...) && (covers(s, rows, cols) && ...)) {
        if constexpr (is_nd_v<D> && (is_nd_v<S> && ...)) {
            map_lines(op, rows, cols, elements(d), D::Cols, Lines<elem_t<S>>{elements(s), S::Cols}...);
        } else if constexpr (is_dn_v<D> && (is_dn_v<S> && ...)) {
            map_lines(op, cols, rows, elements(d), D::Rows, Lines<elem_t<S>>{elements(s), S::Rows}...);
        } else {
            map_elements(op, d, rows, cols, s...);
        }
    }
    fence();
    return {};
}

}  // namespace detail
}  // namespace pto

#endif
