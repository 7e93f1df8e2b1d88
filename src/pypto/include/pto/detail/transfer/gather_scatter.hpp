// Instructions with positions: TCI and TTRI make them, TGATHER, TSCATTER, MGATHER and MSCATTER use them.
#ifndef PTO_DETAIL_GATHER_SCATTER_HPP
#define PTO_DETAIL_GATHER_SCATTER_HPP

#include "transfer.hpp"

namespace pto {

// Which columns of a row: every one, every second or every fourth, from an offset on.
enum class MaskPattern { P0101 = 1, P1010 = 2, P0001 = 3, P0010 = 4, P0100 = 5, P1000 = 6, P1111 = 7 };
enum class Coalesce { Row = 0, Elem = 1 };
enum class GatherOOB { Undefined, Clamp, Wrap, Zero };
enum class ScatterOOB { Undefined, Skip, Clamp, Wrap };

namespace detail {

template <MaskPattern P>
struct Pattern {
    static constexpr int step = P == MaskPattern::P1111                              ? 1
                                : P == MaskPattern::P0101 || P == MaskPattern::P1010 ? 2
                                                                                     : 4;
    static constexpr int first = P == MaskPattern::P1111   ? 0
                                 : P == MaskPattern::P0101 ? 0
                                 : P == MaskPattern::P1010 ? 1
                                                           : static_cast<int>(P) - static_cast<int>(MaskPattern::P0001);
};

// line[i] = start + i * step for integers that wrap, or in the computing type.
template <class T>
PTO_NOINLINE void fill_sequence(T* line, compute_t<T> start, bool descending, int64_t n)
{
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        const compute_t<T> step = static_cast<compute_t<T>>(i);
        line[i] = from_compute<T>(descending ? Sub{}(start, step) : Add{}(start, step));
    }
}

template <class I>
constexpr bool is_index_v = is_int_v<typename I::DType>;

}  // namespace detail

// d(0, j) = start + j, or start - j.
template <class D, class T, int Descending = 0, class... E>
PTO_INSTRUCTION RecordEvent TCI(D& d, T start, E&...)
{
    using namespace detail;
    static_assert(is_tile_data_v<D>, "TCI: the destination must be a tile");
    static_assert(std::is_same<typename D::DType, T>::value, "TCI: the tile must have the type of the start value");
    static_assert(is_int_v<T> || is_float_v<T>, "TCI: unsupported element type");
    static_assert(D::Rows == 1 && is_nd_v<D>, "TCI: the destination must be one row");
    static_assert(((HasWait<E>::value || IsTile<E>::value) && ...), "TCI: trailing arguments must be events or a scratch tile");
    PTO_NPU_RULE((at_v<D, TileType::Vec>), "TCI: the destination must be a Vec tile");
    fence();
    if (addressed(d) && d.GetValidRow() > 0) {
        fill_sequence(elements(d), to_compute(start), Descending != 0, d.GetValidCol());
    }
    fence();
    return {};
}

// d(r, c) = 1 in a triangle, 0 outside: c <= r + diagonal, or with Upper c >= r + diagonal.
template <class D, int Upper = 0, class... E>
PTO_INSTRUCTION RecordEvent TTRI(D& d, int diagonal, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D>, "TTRI: the destination must be a tile");
    static_assert(is_number_v<typename D::DType>, "TTRI: unsupported element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && is_nd_v<D>), "TTRI: the destination must be a RowMajor Vec tile");
    wait_all(events...);
    fence();
    const int64_t rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d)) {
        using T = elem_t<D>;
        const T one = from_compute<T>(1), zero = from_compute<T>(0);
        for (int64_t r = 0; r < rows; ++r) {
            // The first column with the other value.
            const int64_t edge = r + diagonal + (Upper ? 0 : 1);
            for (int64_t c = 0; c < cols; ++c) {
                elements(d)[D::offset(r, c)] = (c < edge) != (Upper != 0) ? one : zero;
            }
        }
    }
    fence();
    return {};
}

// d(r, c) = element s[i(r, c)] in storage order, 0 if there is none. The scratch tile is for the NPU.
template <class D, class S, class I, class T, class... E, detail::if_tiles<D, S, I, T> = 0>
PTO_INSTRUCTION RecordEvent TGATHER(D& d, S& s, I& index, T&, E&... events)
{
    using namespace detail;
    static_assert(same_element_v<D, S>, "TGATHER: source and destination must have the same element type");
    static_assert(is_any_v<typename I::DType, int32_t, uint32_t>, "TGATHER: the index tile must be int32_t or uint32_t");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec> && at_v<I, TileType::Vec>),
                 "TGATHER: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<S> && is_nd_v<I>), "TGATHER: all tiles must be RowMajor without boxes");
    PTO_NPU_RULE((sizeof(typename D::DType) == 2 || sizeof(typename D::DType) == 4),
                 "TGATHER: elements must have 2 or 4 bytes");
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s, index) && covers(index, rows, cols)) {
        const elem_t<D> zero = from_compute<elem_t<D>>(0);
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < cols; ++c) {
                const uint32_t at = static_cast<uint32_t>(elements(index)[I::offset(r, c)]);
                elements(d)[D::offset(r, c)] = at < static_cast<uint32_t>(S::Numel) ? elements(s)[at] : zero;
            }
        }
    }
    fence();
    return {};
}

// The columns of s that the pattern names, side by side.
template <class D, class S, MaskPattern Mask, class... E>
PTO_INSTRUCTION RecordEvent TGATHER(D& d, S& s, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TGATHER: operands must be tiles");
    static_assert(sizeof(typename D::DType) == sizeof(typename S::DType), "TGATHER: elements of both tiles must be equally wide");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "TGATHER: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<S>), "TGATHER: all tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    using P = Pattern<Mask>;
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && covers(s, rows, cols > 0 ? (cols - 1) * P::step + P::first + 1 : 0)) {
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < cols; ++c) {
                elements(d)[D::offset(r, c)] =
                    reinterpret_cast<const elem_t<D>*>(elements(s))[S::offset(r, c * P::step + P::first)];
            }
        }
    }
    fence();
    return {};
}

// d[i(r, c)] = s(r, c) in storage order; for equal positions the last one wins.
template <class D, class S, class I, class... E, detail::if_tiles<D, S, I> = 0>
PTO_INSTRUCTION RecordEvent TSCATTER(D& d, S& s, I& index, E&... events)
{
    using namespace detail;
    static_assert(same_element_v<D, S>, "TSCATTER: source and destination must have the same element type");
    static_assert(is_index_v<I>, "TSCATTER: the index tile must be of integers");
    static_assert(sizeof(typename I::DType) == (sizeof(typename D::DType) == 1 ? 2 : sizeof(typename D::DType)),
                  "TSCATTER: the index must be as wide as the data (2 bytes for 1-byte data)");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec> && at_v<I, TileType::Vec>),
                 "TSCATTER: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<S> && is_nd_v<I>), "TSCATTER: all tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s, index) && covers(index, rows, cols)) {
        bool inside = true;
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < cols; ++c) {
                using U = std::make_unsigned_t<typename I::DType>;
                const uint64_t at = static_cast<U>(elements(index)[I::offset(r, c)]);
                const bool fits = at < static_cast<uint64_t>(D::Numel);
                inside = inside && fits;
                if (fits) {
                    elements(d)[at] = elements(s)[S::offset(r, c)];
                }
            }
        }
        if (!inside) {
            record_error(kOutOfBounds, "TSCATTER: an index leaves the destination");
        }
    }
    fence();
    return {};
}

// The columns of s go to the columns of d that the pattern names; the others become 0.
template <MaskPattern Mask, class D, class S, class... E>
PTO_INSTRUCTION RecordEvent TSCATTER(D& d, S& s, E&... events)
{
    using namespace detail;
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "TSCATTER: operands must be tiles");
    static_assert(same_element_v<D, S>, "TSCATTER: source and destination must have the same element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<S, TileType::Vec>), "TSCATTER: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<S>), "TSCATTER: all tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    using P = Pattern<Mask>;
    const int rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s) && covers(d, rows, cols > 0 ? (cols - 1) * P::step + P::first + 1 : 0)) {
        const elem_t<D> zero = from_compute<elem_t<D>>(0);
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < d.GetValidCol(); ++c) {
                const int from = c / P::step;
                const bool hit = c % P::step == P::first && from < cols;
                elements(d)[D::offset(r, c)] = hit ? elements(s)[S::offset(r, from)] : zero;
            }
        }
    }
    fence();
    return {};
}

namespace detail {

enum class Outside { Refuse, Skip, Clamp, Wrap };

// The position to use for `at` among `count`; -1 to skip the element.
PTO_INLINE int64_t placed(int64_t at, int64_t count, Outside outside)
{
    if (at >= 0 && at < count) {
        return at;
    }
    if (count <= 0 || outside == Outside::Skip || outside == Outside::Refuse) {
        return -1;
    }
    if (outside == Outside::Clamp) {
        return at < 0 ? 0 : count - 1;
    }
    const int64_t rest = at % count;
    return rest < 0 ? rest + count : rest;
}

// Calls move(r, c, element position) for every element of the tile; elements without a position are skipped. True if no
// position was rejected.
template <Coalesce Mode, class Tl, class G, class I, class Move>
PTO_INLINE bool walk_indexed(const Tl& tile, const GlobalLines<G>& lines, const I& index, Outside outside, Move move)
{
    const int64_t rows = tile.GetValidRow(), cols = tile.GetValidCol();
    const int64_t count = Mode == Coalesce::Elem ? lines.span() : lines.rows();
    bool good = true;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            const int64_t entry = Mode == Coalesce::Elem ? I::offset(r, c)
                                  : I::Rows == 1         ? I::offset(0, r)
                                                         : I::offset(r, 0);
            const int64_t given = static_cast<int64_t>(elements(index)[entry]);
            const int64_t at = placed(given, count, outside);
            good = good && (at >= 0 || outside != Outside::Refuse);
            move(r, c, at < 0 ? at : Mode == Coalesce::Elem ? at : lines.offset(at, c));
        }
    }
    return good;
}

template <Coalesce Mode, class Tl, class G, class I>
PTO_INLINE void indexed_rule()
{
    static_assert(is_tile_data_v<Tl> && is_global_data_v<G> && is_tile_data_v<I>,
                  "MGATHER, MSCATTER: operands must be a tile, a GlobalTensor and an index tile");
    static_assert(is_any_v<typename I::DType, int32_t, uint32_t>, "MGATHER, MSCATTER: the index tile must be int32_t or uint32_t");
    static_assert(std::is_same<typename Tl::DType, typename G::RawDType>::value,
                  "MGATHER, MSCATTER: tile and GlobalTensor must have the same element type");
    PTO_NPU_RULE((at_v<Tl, TileType::Vec> && at_v<I, TileType::Vec>), "MGATHER, MSCATTER: tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<Tl> && is_nd_v<I>), "MGATHER, MSCATTER: tiles must be RowMajor without boxes");
    static_assert(Mode == Coalesce::Elem || G::layout == Layout::ND, "MGATHER, MSCATTER: rows are those of an ND tensor");
}

template <Coalesce Mode, class Tl, class G, class I>
PTO_INLINE bool indexed_ready(const Tl& tile, const GlobalLines<G>& lines, const I& index)
{
    const int rows = tile.GetValidRow(), cols = tile.GetValidCol();
    if (Mode == Coalesce::Elem) {
        return covers(index, rows, cols);
    }
    return require((I::Rows == 1 ? index.GetValidCol() : index.GetValidRow()) >= rows && cols <= lines.cols(),
                   "MGATHER, MSCATTER: one index for every row, and rows no longer than those of the tensor");
}

template <Coalesce Mode, Outside Rule, bool Zero, class D, class G, class I>
PTO_INLINE RecordEvent gather_memory(D& d, G& g, I& index)
{
    indexed_rule<Mode, D, G, I>();
    fence();
    const GlobalLines<G> lines(g);
    if (addressed(d, index) && indexed_ready<Mode>(d, lines, index) &&
        inside(view_of(g), lines_of<G>(view_of(g)), "a load reads")) {
        using T = elem_t<D>;
        const T* base = reinterpret_cast<const T*>(g.data());
        T* dst = elements(d);
        const T zero = from_compute<T>(0);
        const bool good = walk_indexed<Mode>(d, lines, index, Rule, [=](int64_t r, int64_t c, int64_t at) {
            if (at >= 0 || Zero) {
                dst[D::offset(r, c)] = at >= 0 ? base[at] : zero;
            }
        });
        if (!good) {
            record_error(kOutOfBounds, "MGATHER: an index leaves the GlobalTensor");
        }
    }
    fence();
    return {};
}

template <Coalesce Mode, AtomicType Atomic, Outside Rule, class G, class S, class I>
PTO_INLINE RecordEvent scatter_memory(G& g, S& s, I& index)
{
    indexed_rule<Mode, S, G, I>();
    fence();
    const GlobalLines<G> lines(g);
    if (addressed(s, index) && indexed_ready<Mode>(s, lines, index) &&
        inside(view_of(g), lines_of<G>(view_of(g)), "a store writes")) {
        using T = elem_t<S>;
        settle_readers(0, std::numeric_limits<uintptr_t>::max());  // it may write anywhere
        T* base = reinterpret_cast<T*>(g.data());
        const T* src = elements(s);
        const bool good = walk_indexed<Mode>(s, lines, index, Rule, [=](int64_t r, int64_t c, int64_t at) {
            if (at >= 0) {
                if constexpr (Atomic == AtomicType::AtomicAdd) {
                    add_run(base + at, src + S::offset(r, c), 1);
                } else {
                    base[at] = src[S::offset(r, c)];
                }
            }
        });
        if (!good) {
            record_error(kOutOfBounds, "MSCATTER: an index leaves the GlobalTensor");
        }
    }
    fence();
    return {};
}

constexpr Outside outside_of(GatherOOB rule)
{
    return rule == GatherOOB::Clamp  ? Outside::Clamp
           : rule == GatherOOB::Wrap ? Outside::Wrap
           : rule == GatherOOB::Zero ? Outside::Skip
                                     : Outside::Refuse;
}
constexpr Outside outside_of(ScatterOOB rule)
{
    return rule == ScatterOOB::Clamp  ? Outside::Clamp
           : rule == ScatterOOB::Wrap ? Outside::Wrap
           : rule == ScatterOOB::Skip ? Outside::Skip
                                      : Outside::Refuse;
}

}  // namespace detail

// d(r, c) = element g[i(r, c)] counted from the base of g; with Coalesce::Row, row r of d is row i(r) of g. An index
// outside g is an error, unless the second argument says what to do.
template <Coalesce Mode = Coalesce::Elem, GatherOOB Rule = GatherOOB::Undefined, class D, class G, class I, class... E>
PTO_INSTRUCTION RecordEvent MGATHER(D& d, G& g, I& index, E&... events)
{
    detail::wait_all(events...);
    return detail::gather_memory<Mode, detail::outside_of(Rule), Rule == GatherOOB::Zero>(d, g, index);
}

// The inverse; for equal positions the last one wins, or all are added.
template <Coalesce Mode = Coalesce::Elem, AtomicType Atomic = AtomicType::AtomicNone,
          ScatterOOB Rule = ScatterOOB::Undefined, class G, class S, class I, class... E>
PTO_INSTRUCTION RecordEvent MSCATTER(G& g, S& s, I& index, E&... events)
{
    detail::wait_all(events...);
    return detail::scatter_memory<Mode, Atomic, detail::outside_of(Rule)>(g, s, index);
}

}  // namespace pto

#endif
