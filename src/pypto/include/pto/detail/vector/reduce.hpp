// Reductions along rows and columns.
//  - Sums of floats run in float over several interleaved accumulators that are combined pairwise; 16-bit floats are
//    summed in float and rounded once. Integers wrap.
//  - max and min give NaN if any element is NaN.
#ifndef PTO_DETAIL_REDUCE_HPP
#define PTO_DETAIL_REDUCE_HPP

#include <utility>

#include "elementwise.hpp"

namespace pto {

namespace detail {

// The operation on whole vectors of float. `Quick::apply` may lose a NaN and is otherwise the same; Quick is void where there
// is no such operation, or none can be lost.
template <class Op>
struct VectorOp;
template <>
struct VectorOp<Add> {
    using Quick = void;
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return a + b;
    }
};
template <>
struct VectorOp<Mul> {
    using Quick = void;
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return a * b;
    }
};
#if defined(__GNUC__) && !defined(__clang__) && defined(__AVX512F__) && !defined(PTO_SCALAR)
struct QuickMax {
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return __builtin_ia32_maxps512_mask(a, b, a, static_cast<unsigned short>(-1), 4);
    }
};
struct QuickMin {
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return __builtin_ia32_minps512_mask(a, b, a, static_cast<unsigned short>(-1), 4);
    }
};
template <class V>
PTO_INLINE unsigned unordered(const V& a, const V& b)
{
    return __builtin_ia32_cmpps512_mask(a, b, 3, static_cast<unsigned short>(-1), 4);
}
#else
using QuickMax = void;
using QuickMin = void;
template <class V>
PTO_INLINE unsigned unordered(const V&, const V&)
{
    return 0;
}
#endif
template <>
struct VectorOp<Max> {
    using Quick = QuickMax;
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return ((a > b) | (a != a)) ? a : b;
    }
};
template <>
struct VectorOp<Min> {
    using Quick = QuickMin;
    template <class V>
    static PTO_INLINE V apply(const V& a, const V& b)
    {
        return ((a < b) | (a != a)) ? a : b;
    }
};

// The lanes of a vector, each with the one half a vector on, then a quarter, and so on. The result is in lane 0.
template <class VO, int Half, class V, int... I>
PTO_INLINE V fold_half(const V& v, std::integer_sequence<int, I...>)
{
    constexpr int w = static_cast<int>(sizeof...(I));
#if defined(__clang__)
    return VO::apply(v, __builtin_shufflevector(v, v, ((I + Half) % w)...));
#else
    return VO::apply(v, __builtin_shuffle(v, Vec<int32_t, w>{((I + Half) % w)...}));
#endif
}
template <class VO, int Half, int W, class V>
PTO_INLINE float fold(const V& v)
{
    if constexpr (Half == 0) {
        return v[0];
    } else {
        return fold<VO, Half / 2, W>(fold_half<VO, Half>(v, std::make_integer_sequence<int, W>{}));
    }
}

// Reduction of n >= w elements by vectors: four interleaved ones, combined at the end.
template <class VO, class V>
PTO_INLINE V reduce_vectors(const float* x, int64_t n)
{
    constexpr int w = sizeof(V) / 4;
    V a = load_vec<V>(x);
    int64_t i = w;
    if (n >= 4 * w) {
        V b = load_vec<V>(x + w), c = load_vec<V>(x + 2 * w), d = load_vec<V>(x + 3 * w);
        for (i = 4 * w; i + 4 * w <= n; i += 4 * w) {
            a = VO::apply(a, load_vec<V>(x + i));
            b = VO::apply(b, load_vec<V>(x + i + w));
            c = VO::apply(c, load_vec<V>(x + i + 2 * w));
            d = VO::apply(d, load_vec<V>(x + i + 3 * w));
        }
        a = VO::apply(VO::apply(a, b), VO::apply(c, d));
    }
    for (; i + w <= n; i += w) {
        a = VO::apply(a, load_vec<V>(x + i));
    }
    return a;
}

// The same, and whether there is a NaN.
template <class VO, class V>
PTO_INLINE V reduce_quickly(const float* x, int64_t n, bool& lost)
{
    constexpr int w = sizeof(V) / 4;
    V a = load_vec<V>(x);
    unsigned bad = unordered(a, a);
    int64_t i = w;
    if (n >= 4 * w) {
        V b = load_vec<V>(x + w), c = load_vec<V>(x + 2 * w), d = load_vec<V>(x + 3 * w);
        bad |= unordered(a, b) | unordered(c, d);
        for (i = 4 * w; i + 4 * w <= n; i += 4 * w) {
            const V e = load_vec<V>(x + i), f = load_vec<V>(x + i + w);
            const V g = load_vec<V>(x + i + 2 * w), h = load_vec<V>(x + i + 3 * w);
            bad |= unordered(e, f) | unordered(g, h);
            a = VO::apply(a, e);
            b = VO::apply(b, f);
            c = VO::apply(c, g);
            d = VO::apply(d, h);
        }
        a = VO::apply(VO::apply(a, b), VO::apply(c, d));
    }
    for (; i + w <= n; i += w) {
        const V e = load_vec<V>(x + i);
        bad |= unordered(e, e);
        a = VO::apply(a, e);
    }
    lost = bad != 0;
    return a;
}

// Rare cases of a reduction: less than a vector, the remainder beyond whole vectors, and a line with a NaN.
template <class Op>
PTO_COLD float reduce_few(const float* x, int64_t n)
{
    float total = x[0];
    for (int64_t i = 1; i < n; ++i) {
        total = Op{}(total, x[i]);
    }
    return total;
}
template <class Op, class V>
PTO_COLD V reduce_rest(V lanes, const float* x, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        lanes[i] = Op{}(lanes[i], x[i]);
    }
    return lanes;
}
template <class VO, class V>
PTO_COLD V reduce_again(const float* x, int64_t n)
{
    return reduce_vectors<VO, V>(x, n);
}

// Reduction of n > 0 contiguous elements.
template <class Op, class C>
PTO_INLINE C reduce_run(const C* x, int64_t n)
{
    if constexpr (std::is_same<C, float>::value && kVectorBytes > 4) {
        constexpr int w = kVectorBytes / 4;
        using V = Vec<float, w>;
        using VO = VectorOp<Op>;
        if (n < w) {
            return reduce_few<Op>(x, n);
        }
        V a;
        if constexpr (std::is_void<typename VO::Quick>::value) {
            a = reduce_vectors<VO, V>(x, n);
        } else {
            bool lost = false;
            a = reduce_quickly<typename VO::Quick, V>(x, n, lost);
            if (__builtin_expect(lost, 0)) {
                a = reduce_again<VO, V>(x, n);
            }
        }
        const int64_t whole = n / w * w;
        if (whole < n) {
            a = reduce_rest<Op>(a, x + whole, n - whole);
        }
        return fold<VO, w / 2, w>(a);
    } else {
        const Op op{};
        C total = x[0];
        for (int64_t i = 1; i < n; ++i) {
            total = op(total, x[i]);
        }
        return total;
    }
}

// dst[o * dst_step] = reduction of line o. Source and destination element types may differ (f16 to f32, i16 to i32).
template <class Op, class D, class S>
PTO_NOINLINE void reduce_lines(D* dst, int64_t dst_step, const S* src, int64_t src_step, int64_t outer, int64_t inner)
{
    using C = compute_t<D>;
    if (inner <= 0) {
        return;
    }
    Ahead& next = ahead_here();
    for (int64_t o = 0; o < outer; ++o) {
        const S* line = src + o * src_step;
        fetch_ahead(next, static_cast<int>(inner / 64));
        C total = C(0);
        if constexpr (std::is_same<S, C>::value) {
            total = reduce_run<Op>(line, inner);
        } else {
            for (int64_t i = 0; i < inner; i += kChunk) {
                const int64_t m = min_of<int64_t>(kChunk, inner - i);
                C buffer[kChunk];
                if constexpr (is_narrow_v<S> && std::is_same<C, float>::value) {
                    widen(line + i, buffer, m);
                } else {
                    for (int64_t j = 0; j < m; ++j) {
                        buffer[j] = static_cast<C>(to_compute(line[i + j]));
                    }
                }
                const C part = reduce_run<Op>(buffer, m);
                total = i == 0 ? part : Op{}(total, part);
            }
        }
        dst[o * dst_step] = from_compute<D>(total);
    }
}

// dst[i] = reduction over the lines, for every position i. Columns are taken in blocks that stay in registers or cache,
// four partial results per column.
template <class Op, class T>
PTO_NOINLINE void reduce_across(T* dst, const T* src, int64_t step, int64_t count, int64_t length)
{
    using C = compute_t<T>;
    constexpr int block = 64;
    const Op op{};
    if (count <= 0) {
        return;
    }
    for (int64_t at = 0; at < length; at += block) {
        const int64_t n = min_of<int64_t>(block, length - at);
        C part[4][block];
        const int64_t ways = min_of<int64_t>(4, count);
        for (int64_t k = 0; k < count; ++k) {
            const Chunk<T> line(src + k * step + at, n);
            C* p = part[k & 3];
            if (k < 4) {
                for (int64_t i = 0; i < n; ++i) {
                    p[i] = line.at[i];
                }
            } else if (n == block) {
                PTO_IVDEP
                for (int64_t i = 0; i < block; ++i) {
                    p[i] = op(p[i], line.at[i]);
                }
            } else {
                PTO_IVDEP
                for (int64_t i = 0; i < n; ++i) {
                    p[i] = op(p[i], line.at[i]);
                }
            }
        }
        for (int64_t i = 0; i < n; ++i) {
            C total = ways > 1 ? op(part[0][i], part[1][i]) : part[0][i];
            if (ways > 3) {
                total = op(total, op(part[2][i], part[3][i]));
            } else if (ways > 2) {
                total = op(total, part[2][i]);
            }
            dst[at + i] = from_compute<T>(total);
        }
    }
}

template <class Op, class D, class S, class T>
PTO_INLINE RecordEvent row_reduce(D& d, S& s, T&)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S> && is_tile_data_v<T>, "operands must be tiles");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "row reduction: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<S>), "row reduction: the source must be RowMajor without boxes");
    PTO_NPU_RULE((is_nd_v<D> || (is_dn_v<D> && D::Cols == 1)),
                 "row reduction: the destination must be ND, or DN with one column");
    PTO_NPU_RULE((same_element_v<D, S>), "row reduction: source and destination must have the same element type");
    static_assert(is_number_v<typename D::DType> && is_number_v<typename S::DType>, "unsupported element type");
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s) && require(d.GetValidRow() == rows && d.GetValidCol() >= 1,
                                   "row reduction: the destination must have as many valid rows as the source")) {
        constexpr int64_t dst_step = D::isBoxedLayout ? 0 : D::RowStride;
        if constexpr (is_nd_v<S> && !D::isBoxedLayout) {
            reduce_lines<Op>(elements(d), dst_step, elements(s), S::Cols, rows, cols);
        } else {
            for (int r = 0; r < rows; ++r) {
                using C = compute_t<elem_t<D>>;
                C total = static_cast<C>(to_compute(elements(s)[S::offset(r, 0)]));
                for (int c = 1; c < cols; ++c) {
                    total = Op{}(total, static_cast<C>(to_compute(elements(s)[S::offset(r, c)])));
                }
                elements(d)[D::offset(r, 0)] = from_compute<elem_t<D>>(total);
            }
        }
    }
    fence();
    return {};
}

template <class Op, class D, class S>
PTO_INLINE RecordEvent col_reduce(D& d, S& s)
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "operands must be tiles");
    PTO_NPU_RULE((same_element_v<D, S>), "column reduction: source and destination must have the same element type");
    static_assert(is_number_v<typename D::DType> && is_number_v<typename S::DType>, "unsupported element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "column reduction: all tiles must be Vec tiles");
    PTO_NPU_RULE(is_nd_v<D> && is_nd_v<S>, "column reduction: all tiles must be RowMajor without boxes");
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s) && require(d.GetValidCol() == cols && d.GetValidRow() >= 1,
                                   "column reduction: the destination must have as many valid columns as the source")) {
        if constexpr (is_nd_v<S> && is_nd_v<D> && same_element_v<D, S>) {
            reduce_across<Op>(elements(d), elements(s), S::Cols, rows, cols);
        } else {
            using C = compute_t<elem_t<D>>;
            for (int c = 0; c < cols; ++c) {
                C total = static_cast<C>(to_compute(elements(s)[S::offset(0, c)]));
                for (int r = 1; r < rows; ++r) {
                    total = Op{}(total, static_cast<C>(to_compute(elements(s)[S::offset(r, c)])));
                }
                elements(d)[D::offset(0, c)] = from_compute<elem_t<D>>(total);
            }
        }
    }
    fence();
    return {};
}

}  // namespace detail

// d(r, 0) = reduction of row r. The scratch tile is for the NPU.
#define PTO_DETAIL_ROW_REDUCE(NAME, OP)                                                                                \
    template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>                                    \
    PTO_LIGHT RecordEvent NAME(D& d, S& s, T& scratch, E&... events)                                                  \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::row_reduce<detail::OP>(d, s, scratch);                                                          \
    }
PTO_DETAIL_ROW_REDUCE(TROWMAX, Max)
PTO_DETAIL_ROW_REDUCE(TROWMIN, Min)
PTO_DETAIL_ROW_REDUCE(TROWPROD, Mul)
#undef PTO_DETAIL_ROW_REDUCE

template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_LIGHT RecordEvent TROWSUM(D& d, S& s, T& scratch, E&... events)
{
    using From = typename S::DType;
    using To = typename D::DType;
    static_assert(detail::is_any_v<From, float, half, bfloat16_t, int16_t, int32_t> &&
                      (std::is_same<From, To>::value || (std::is_same<From, half>::value && std::is_same<To, float>::value) ||
                       (std::is_same<From, int16_t>::value && std::is_same<To, int32_t>::value)),
                  "TROWSUM: unsupported element type (f32, f16, i32, i16)");
    static_assert(D::Rows == S::Rows, "TROWSUM: source and destination must have the same number of rows");
    detail::wait_all(events...);
    return detail::row_reduce<detail::Add>(d, s, scratch);
}

// d(0, c) = reduction of column c.
#define PTO_DETAIL_COL_REDUCE(NAME, OP)                                                                                \
    template <class D, class S, class... E, detail::if_tiles<D, S> = 0>                                                \
    PTO_LIGHT RecordEvent NAME(D& d, S& s, E&... events)                                                              \
    {                                                                                                                  \
        detail::wait_all(events...);                                                                                   \
        return detail::col_reduce<detail::OP>(d, s);                                                                   \
    }
PTO_DETAIL_COL_REDUCE(TCOLMIN, Min)
PTO_DETAIL_COL_REDUCE(TCOLPROD, Mul)
#undef PTO_DETAIL_COL_REDUCE

// Column types: those of the NPU and of the CPU model together.
template <class D, class S, class... E, detail::if_tiles<D, S> = 0>
PTO_LIGHT RecordEvent TCOLMAX(D& d, S& s, E&... events)
{
    static_assert(detail::is_any_v<typename S::DType, float, half, bfloat16_t, int32_t, int16_t, int8_t, uint8_t>,
                  "TCOLMAX: unsupported element type (f32, f16, i32, i16, i8, u8)");
    static_assert(detail::same_element_v<D, S>, "TCOLMAX: source and destination must have the same element type");
    static_assert(D::Cols == S::Cols, "TCOLMAX: source and destination must have the same number of columns");
    detail::wait_all(events...);
    return detail::col_reduce<detail::Max>(d, s);
}

template <class D, class S, class... E, detail::if_tiles<D, S> = 0, detail::if_events<E...> = 0>
PTO_LIGHT RecordEvent TCOLSUM(D& d, S& s, E&... events)
{
    static_assert(detail::is_any_v<typename S::DType, float, half, bfloat16_t, int32_t, int16_t>,
                  "TCOLSUM: unsupported element type (f32, f16, i32, i16)");
    static_assert(detail::same_element_v<D, S>, "TCOLSUM: source and destination must have the same element type");
    static_assert(D::Cols == S::Cols, "TCOLSUM: source and destination must have the same number of columns");
    detail::wait_all(events...);
    return detail::col_reduce<detail::Add>(d, s);
}
// `binary` chooses a summation tree on the NPU.
template <class D, class S, class T, class... E, detail::if_tiles<D, S, T> = 0>
PTO_LIGHT RecordEvent TCOLSUM(D& d, S& s, T&, bool, E&... events)
{
    return TCOLSUM(d, s, events...);
}

}  // namespace pto

#endif
