// Left and Right tiles from Mat tiles by other means than moving boxes: from global memory, where the load of the Mat tile is
// still deferred (deferred.hpp), and in the format that the tile registers read (amx.hpp).
#ifndef PTO_DETAIL_MATRIX_OPERANDS_HPP
#define PTO_DETAIL_MATRIX_OPERANDS_HPP

#include "amx.hpp"
#include "../transfer/transfer.hpp"

namespace pto {
namespace detail {

// The part outside whole blocks, for the function below.
template <class T>
PTO_COLD void transpose_rest(T* dst, const Places& d, const T* src, int64_t step, int64_t rows, int64_t cols,
                             int64_t whole_rows, int64_t whole_cols)
{
    for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) {
            dst[d.offset(r, c)] = src[c * step + r];
        }
    }
}

// d(r, c) = line c, element r of plain lines `step` elements apart; d is boxed with contiguous rows.
template <int Run, class T>
PTO_NOINLINE void transpose_to_boxes(T* dst, const Places& d, const T* src, int64_t step, int64_t rows, int64_t cols)
{
    int64_t whole_rows = 0, whole_cols = 0;
    constexpr int block = 32 / static_cast<int>(sizeof(T));
    if constexpr (sizeof(T) <= 4 && Run % block == 0) {
        using Lane = typename LaneOf<T>::type;
        whole_rows = d.box_rows % block == 0 ? rows / block * block : 0;
        whole_cols = cols / block * block;
        const bool one = d.box_rows == block;  // a box is one block high
        for (int64_t c = 0; c < whole_cols; c += block) {
            const Lane* from = reinterpret_cast<const Lane*>(src + c * step);
            Lane* to = reinterpret_cast<Lane*>(dst) + c / Run * d.cols_out + c % Run;
            const int64_t band = one ? whole_rows : d.box_rows, next = one ? d.rows_out : block * Run;
            for (int64_t r = 0; r < whole_rows; r += band, to += d.rows_out) {
                transpose_blocks<Lane, block, Run>(to, Run, next, from + r, step, block, min_of(band, whole_rows - r) / block);
            }
        }
    }
    if (whole_rows < rows || whole_cols < cols) {
        transpose_rest(dst, d, src, step, rows, cols, whole_rows, whole_cols);
    }
}

// d(r, c) = s(row + r, col + c), if that can be done without the bytes of s.
template <class D, class S>
PTO_INLINE bool fill_operand(D& d, S& s, int64_t row, int64_t col, int64_t rows, int64_t cols)
{
    if constexpr (line_boxes_v<S> && at_v<D, TileType::Left, TileType::Right> && D::isBoxedLayout &&
                  TileLines<D>::by_row && D::SFractalSize == 512 && same_element_v<D, S>) {
        using T = elem_t<D>;
        constexpr bool by_row = TileLines<S>::by_row;
        const Waiting load = waiting_load(s, row, col, rows, cols);
        const T* from = reinterpret_cast<const T*>(load.from);
        const int64_t step = load.step / static_cast<int64_t>(sizeof(T));
#if PTO_HAVE_AMX
        if constexpr ((amx_left_v<D> && by_row) || amx_right_v<D>) {
            const bool whole = from != nullptr ? step % 2 == 0 : row % 16 == 0 && col % 16 == 0;
            if (whole) {
                const AmxSource lines =
                    from != nullptr ? amx_plain(from, step) : amx_boxes<S>(elements(s) + S::offset(row, col));
                if (amx_write(amx_left_v<D>, by_row, d.GetAddress(), D::StorageNumel, amx_form<D>(), lines, rows, cols)) {
                    return true;
                }
            }
        }
#endif
        if (from != nullptr) {
            if constexpr (by_row) {
                copy_boxed<true, TileLines<D>>(CopyRun<T>{}, elements(d), from, step, 0, rows, cols);
            } else {
                transpose_to_boxes<TileLines<D>::run>(elements(d), places_v<D>, from, step, rows, cols);
            }
            return true;
        }
    }
    return false;
}

}  // namespace detail
}  // namespace pto

#endif
