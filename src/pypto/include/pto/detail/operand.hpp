// Left and Right tiles from Mat tiles in other ways than by moving boxes: from global memory, where the load of the Mat tile
// still waits (held.hpp), and in the form that the tile registers read (amx.hpp).
#ifndef PTO_DETAIL_OPERAND_HPP
#define PTO_DETAIL_OPERAND_HPP

#include "amx.hpp"
#include "transfer.hpp"

namespace pto {
namespace detail {

// d(r, c) = line c, element r of plain lines `step` elements apart; d boxed with rows behind one another.
template <class D, class T>
PTO_NOINLINE void transpose_to_boxes(T* dst, const T* src, int64_t step, int64_t rows, int64_t cols)
{
    using L = TileLines<D>;
    int64_t whole_rows = 0, whole_cols = 0;
    constexpr int block = 32 / static_cast<int>(sizeof(T));
    if constexpr (sizeof(T) <= 4 && L::run % block == 0 && L::band % block == 0) {
        using Lane = typename LaneOf<T>::type;
        whole_rows = rows / block * block;
        whole_cols = cols / block * block;
        // The columns of one run after another, so that what is written are whole cache lines.
        for (int64_t first = 0; first < whole_cols; first += L::run) {
            const int64_t last = min_of<int64_t>(first + L::run, whole_cols);
            for (int64_t r = 0; r < whole_rows; r += block) {
                for (int64_t c = first; c < last; c += block) {
                    transpose_block<Lane, block>(reinterpret_cast<Lane*>(dst + D::offset(r, c)), L::line_step,
                                                 reinterpret_cast<const Lane*>(src + c * step + r), step);
                }
            }
        }
    }
    for (int64_t c = 0; c < cols; ++c) {
        for (int64_t r = c < whole_cols ? whole_rows : 0; r < rows; ++r) {
            dst[D::offset(r, c)] = src[c * step + r];
        }
    }
}

// d(r, c) = s(row + r, col + c), if there is a better way than through the bytes of s.
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
            bool done = false;
            if (from == nullptr) {
                if (row % 16 == 0 && col % 16 == 0) {
                    const uint16_t* boxes = reinterpret_cast<const uint16_t*>(elements(s) + S::offset(row, col));
                    const BoxedLines lines{boxes, TileLines<S>::band_step, TileLines<S>::run_step};
                    done = amx_write<D, by_row>(d, lines, rows, cols);
                }
            } else if (step % 2 == 0) {
                done = amx_write<D, by_row>(d, PlainLines{reinterpret_cast<const uint16_t*>(from), step}, rows, cols);
            }
            if (done) {
                return true;
            }
        }
#endif
        if (from != nullptr) {
            if constexpr (by_row) {
                copy_boxed<true, TileLines<D>>(CopyRun<T>{}, elements(d), from, step, 0, rows, cols);
            } else {
                transpose_to_boxes<D>(elements(d), from, step, rows, cols);
            }
            return true;
        }
    }
    return false;
}

}  // namespace detail
}  // namespace pto

#endif
