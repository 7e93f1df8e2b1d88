// Windows: TEXTRACT reads a part of a tile, TINSERT writes one, TCONCAT puts two tiles side by side.
#ifndef PTO_DETAIL_EXTRACT_INSERT_HPP
#define PTO_DETAIL_EXTRACT_INSERT_HPP

#include "move.hpp"

namespace pto {

namespace detail {

// True if a window that begins at (row, col) is laid out like one at the origin: its corner is that of a box.
template <class Tl>
PTO_INLINE bool at_box(int64_t row, int64_t col)
{
    return !Tl::isBoxedLayout || (row % Tl::BoxRows == 0 && col % Tl::BoxCols == 0);
}

// Elements from `pos` of a line to the end of its run.
template <class Tl>
PTO_INLINE int64_t rest_of_run(int64_t pos)
{
    return Tl::isBoxedLayout ? TileLines<Tl>::run - pos % TileLines<Tl>::run : TileLines<Tl>::length - pos;
}

// d(dr + r, dc + c) = op(s(sr + r, sc + c)) for arbitrary corners.
template <class D, class S, class RunOp>
PTO_NOINLINE void copy_window_apart(RunOp op, elem_t<D>* dst, int64_t dr, int64_t dc, const elem_t<S>* src, int64_t sr,
                                    int64_t sc, int64_t rows, int64_t cols)
{
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    if constexpr (DL::by_row == SL::by_row) {
        constexpr bool by_row = DL::by_row;
        const int64_t count = by_row ? rows : cols, length = by_row ? cols : rows;
        const int64_t d_line = by_row ? dr : dc, d_pos = by_row ? dc : dr;
        const int64_t s_line = by_row ? sr : sc, s_pos = by_row ? sc : sr;
        for (int64_t line = 0; line < count; ++line) {
            for (int64_t pos = 0; pos < length;) {
                const int64_t n = min_of(length - pos, min_of(rest_of_run<D>(d_pos + pos), rest_of_run<S>(s_pos + pos)));
                op(dst + DL::offset(d_line + line, d_pos + pos), src + SL::offset(s_line + line, s_pos + pos), n);
                pos += n;
            }
        }
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < cols; ++c) {
                op(dst + D::offset(dr + r, dc + c), src + S::offset(sr + r, sc + c), 1);
            }
        }
    }
}

template <ReluPreMode Relu, class D, class S>
PTO_INLINE void copy_window(D& d, int64_t dr, int64_t dc, S& s, int64_t sr, int64_t sc, int64_t rows, int64_t cols)
{
    constexpr bool relu = Relu == ReluPreMode::NormalRelu;
    if constexpr (same_element_v<D, S> && !relu) {
        if (dr == 0 && dc == 0 && fill_operand(d, s, sr, sc, rows, cols)) {
            return;
        }
    }
    elem_t<D>* dst = elements(d);
    const elem_t<S>* src = elements(s);
    if constexpr (same_element_v<D, S> && !relu) {
        // Between boxed tiles move_tile copies whole runs, so that the window must end with a box.
        const bool whole = !D::isBoxedLayout || (rows % D::BoxRows == 0 && cols % D::BoxCols == 0);
        if (whole && at_box<D>(dr, dc) && at_box<S>(sr, sc)) {
            move_tile<D, S>(dst + D::offset(dr, dc), src + S::offset(sr, sc), rows, cols);
        } else {
            copy_window_apart<D, S>(CopyRun<elem_t<D>>{}, dst, dr, dc, src, sr, sc, rows, cols);
        }
    } else {
        copy_window_apart<D, S>(CastRun<elem_t<D>, elem_t<S>, relu, false>{}, dst, dr, dc, src, sr, sc, rows, cols);
    }
}

template <ReluPreMode Relu, class D, class S>
PTO_INLINE void window_rule()
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S>, "window: operands must be tiles");
    PTO_NPU_RULE((at_v<S, TileType::Mat> && at_v<D, TileType::Left, TileType::Right>) ||
                     (at_v<S, TileType::Vec> && at_v<D, TileType::Vec>) ||
                     (at_v<S, TileType::Acc> && at_v<D, TileType::Mat>),
                 "window: no such path (Mat to Left or Right; Vec to Vec; Acc to Mat)");
    PTO_NPU_RULE((same_element_v<D, S> || at_v<S, TileType::Acc>), "window: both tiles must have the same element type");
    PTO_NPU_RULE((!at_v<D, TileType::Vec> || (is_nd_v<D> && is_nd_v<S>) || (is_nz_v<D> && is_nz_v<S>)),
                 "window: Vec tiles must be both RowMajor without boxes or both Nz");
    PTO_NPU_RULE((!at_v<D, TileType::Left, TileType::Right> || is_nz_v<S> || is_zn_v<S>),
                 "window: a Mat tile must be Nz or Zn");
    PTO_NPU_RULE((!at_v<S, TileType::Acc> || is_nz_v<D>), "window: an Acc tile goes to a Nz tile");
    PTO_NPU_RULE((Relu == ReluPreMode::NoRelu || at_v<S, TileType::Acc>), "window: relu is for Acc tiles");
}

}  // namespace detail

// d(r, c) = s(row + r, col + c).
template <class D, class S, ReluPreMode Relu = ReluPreMode::NoRelu, class... E, detail::if_tiles<D, S> = 0,
          detail::if_events<E...> = 0>
PTO_INSTRUCTION RecordEvent TEXTRACT(D& d, S& s, uint32_t row = 0, uint32_t col = 0, E&... events)
{
    using namespace detail;
    window_rule<Relu, D, S>();
    wait_all(events...);
    fence();
    const int64_t rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s) && require(row + rows <= s.GetValidRow() && col + cols <= s.GetValidCol(),
                                   "TEXTRACT: the window leaves the valid region of the source")) {
        copy_window<Relu>(d, 0, 0, s, row, col, rows, cols);
    }
    fence();
    return {};
}

// d(row + r, col + c) = s(r, c).
template <class D, class S, ReluPreMode Relu = ReluPreMode::NoRelu, class... E, detail::if_tiles<D, S> = 0,
          detail::if_events<E...> = 0>
PTO_INSTRUCTION RecordEvent TINSERT(D& d, S& s, uint32_t row, uint32_t col, E&... events)
{
    using namespace detail;
    window_rule<Relu, D, S>();
    wait_all(events...);
    fence();
    const int64_t rows = s.GetValidRow(), cols = s.GetValidCol();
    if (addressed(d, s) && require(row + rows <= d.GetValidRow() && col + cols <= d.GetValidCol(),
                                   "TINSERT: the window leaves the valid region of the destination")) {
        copy_window<Relu>(d, row, col, s, 0, 0, rows, cols);
    }
    fence();
    return {};
}

// d = (s0, s1): the columns of s0, then those of s1.
template <class D, class A, class B, class... E, detail::if_tiles<D, A, B> = 0>
PTO_INSTRUCTION RecordEvent TCONCAT(D& d, A& s0, B& s1, E&... events)
{
    using namespace detail;
    static_assert(same_element_v<D, A, B>, "TCONCAT: all tiles must have the same element type");
    PTO_NPU_RULE((at_v<D, TileType::Vec> && at_v<A, TileType::Vec> && at_v<B, TileType::Vec>),
                 "TCONCAT: all tiles must be Vec tiles");
    PTO_NPU_RULE((is_nd_v<D> && is_nd_v<A> && is_nd_v<B>), "TCONCAT: all tiles must be RowMajor without boxes");
    wait_all(events...);
    fence();
    const int64_t rows = d.GetValidRow(), left = s0.GetValidCol(), right = s1.GetValidCol();
    if (addressed(d, s0, s1) &&
        require(s0.GetValidRow() == rows && s1.GetValidRow() == rows && d.GetValidCol() >= left + right,
                "TCONCAT: the valid rows of all tiles must be equal, and the columns of the sources fit")) {
        copy_window<ReluPreMode::NoRelu>(d, 0, 0, s0, 0, 0, rows, left);
        copy_window<ReluPreMode::NoRelu>(d, 0, left, s1, 0, 0, rows, right);
    }
    fence();
    return {};
}

}  // namespace pto

#endif
