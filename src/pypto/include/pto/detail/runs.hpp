// Copying between layouts. Every layout is a set of lines (rows, or columns for the column-oriented ones) cut into runs of
// consecutive elements: a whole line when unboxed, one box width (32 or 64 bytes) when boxed. Moves between two layouts
// with the same line direction go run by run; between different directions they transpose square blocks of one run.
#ifndef PTO_DETAIL_RUNS_HPP
#define PTO_DETAIL_RUNS_HPP

#include "loops.hpp"

namespace pto {
namespace detail {

// The lines of a tile type.
template <class Tl>
struct TileLines {
    static constexpr bool by_row = Tl::isBoxedLayout ? Tl::isInnerRowMajor : Tl::isRowMajor;
    static constexpr int count = by_row ? Tl::Rows : Tl::Cols;
    static constexpr int length = by_row ? Tl::Cols : Tl::Rows;
    // Elements per run, lines per box.
    static constexpr int run = !Tl::isBoxedLayout ? length : by_row ? Tl::BoxCols : Tl::BoxRows;
    static constexpr int band = !Tl::isBoxedLayout ? 1 : by_row ? Tl::BoxRows : Tl::BoxCols;

    static constexpr int64_t offset(int64_t line, int64_t pos)
    {
        return by_row ? Tl::offset(line, pos) : Tl::offset(pos, line);
    }
    // offset(line, pos) for a pos at a run start = (line / band) * band_step + (line % band) * line_step
    //                                              + pos / run * run_step
    static constexpr int64_t line_step = Tl::isBoxedLayout ? run : length;
    static constexpr int64_t band_step = count > band ? offset(band, 0) : band * line_step;
    static constexpr int64_t run_step = length > run ? offset(0, run) : run;
    static PTO_INLINE int64_t start(int64_t line) { return line / band * band_step + line % band * line_step; }
};

// What happens to a run on its way.
template <class T>
struct CopyRun {
    PTO_INLINE void operator()(T* dst, const T* src, int64_t n) const
    {
        std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
    }
};

// `count` lines of `length` elements between plain lines and plain lines.
template <class RunOp, class D, class S>
PTO_NOINLINE void copy_lines(RunOp op, D* dst, int64_t dst_step, const S* src, int64_t src_step, int64_t count,
                             int64_t length)
{
    if (dst_step == length && src_step == length) {
        length *= count;
        count = count > 0 ? 1 : 0;
    }
    for (int64_t i = 0; i < count; ++i) {
        op(dst + i * dst_step, src + i * src_step, length);
    }
}

// Between plain lines (step `plain_step`) and the lines first .. first+count of a boxed tile with layout L.
// ToTile says which side is the destination.
template <bool ToTile, class L, class RunOp, class D, class S>
PTO_NOINLINE void copy_boxed(RunOp op, D* dst, const S* src, int64_t plain_step, int64_t first, int64_t count,
                             int64_t length)
{
    const int64_t whole = length / L::run * L::run;
    int64_t done = 0;
    while (done < count) {
        // One band of boxes at a time: both sides stay in cache.
        const int64_t line = first + done;
        const int64_t n = min_of<int64_t>(L::band - line % L::band, count - done);
        const int64_t tile_base = L::start(line), plain_base = done * plain_step;
        for (int64_t pos = 0; pos < whole; pos += L::run) {
            const int64_t tile_run = tile_base + pos / L::run * L::run_step;
            for (int64_t i = 0; i < n; ++i) {
                const int64_t t = tile_run + i * L::line_step, p = plain_base + i * plain_step + pos;
                op(dst + (ToTile ? t : p), src + (ToTile ? p : t), L::run);
            }
        }
        if (whole < length) {
            const int64_t tile_run = tile_base + whole / L::run * L::run_step;
            for (int64_t i = 0; i < n; ++i) {
                const int64_t t = tile_run + i * L::line_step, p = plain_base + i * plain_step + whole;
                op(dst + (ToTile ? t : p), src + (ToTile ? p : t), length - whole);
            }
        }
        done += n;
    }
}

// ------------------------------------------------------------------------------------------------------ transposition
// Square block of N lines of N elements, N * sizeof(T) = 32 bytes, through log2(N) rounds of interleaving whole vectors.
template <class T, int N>
PTO_INLINE void interleave(const Vec<T, N>& a, const Vec<T, N>& b, Vec<T, N>& low, Vec<T, N>& high)
{
#if defined(__clang__)
    if constexpr (N == 8) {
        low = __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
        high = __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
    } else if constexpr (N == 16) {
        low = __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        high = __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
    } else {
        low = __builtin_shufflevector(a, b, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9, 41, 10, 42,
                                      11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
        high = __builtin_shufflevector(a, b, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55, 24, 56, 25,
                                       57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
    }
#else
    Vec<T, N> low_mask, high_mask;
    PTO_UNROLL
    for (int i = 0; i < N; ++i) {
        low_mask[i] = static_cast<T>(i / 2 + (i % 2) * N);
        high_mask[i] = static_cast<T>(N / 2 + i / 2 + (i % 2) * N);
    }
    low = __builtin_shuffle(a, b, low_mask);
    high = __builtin_shuffle(a, b, high_mask);
#endif
}

template <class T>
struct LaneOf {
    using type = std::conditional_t<sizeof(T) == 4, int32_t, std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>;
};

// dst(j, i) = src(i, j) for one block; steps in elements.
template <class T, int N>
PTO_INLINE void transpose_block(T* dst, int64_t dst_step, const T* src, int64_t src_step)
{
    using V = Vec<T, N>;
    V a[N], b[N];
    PTO_UNROLL
    for (int i = 0; i < N; ++i) {
        a[i] = load_vec<V>(src + i * src_step);
    }
    PTO_UNROLL
    for (int round = 1; round < N; round *= 2) {
        PTO_UNROLL
        for (int i = 0; i < N / 2; ++i) {
            interleave<T, N>(a[i], a[i + N / 2], b[2 * i], b[2 * i + 1]);
        }
        PTO_UNROLL
        for (int i = 0; i < N; ++i) {
            a[i] = b[i];
        }
    }
    PTO_UNROLL
    for (int i = 0; i < N; ++i) {
        store_vec(dst + i * dst_step, a[i]);
    }
}

// dst(j, i) = src(i, j), `rows` x `cols` of src, both plain.
template <class T>
PTO_NOINLINE void transpose_lines(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t rows, int64_t cols)
{
    int64_t whole_rows = 0, whole_cols = 0;
    if constexpr (sizeof(T) <= 4) {
        using Lane = typename LaneOf<T>::type;
        constexpr int n = 32 / static_cast<int>(sizeof(T));
        whole_rows = rows / n * n;
        whole_cols = cols / n * n;
        for (int64_t r = 0; r < whole_rows; r += n) {
            for (int64_t c = 0; c < whole_cols; c += n) {
                transpose_block<Lane, n>(reinterpret_cast<Lane*>(dst + c * dst_step + r), dst_step,
                                         reinterpret_cast<const Lane*>(src + r * src_step + c), src_step);
            }
        }
    }
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c) {
            dst[c * dst_step + r] = src[r * src_step + c];
        }
    }
}

// ------------------------------------------------------------------------------------------------- tile to tile
// d(r, c) = s(r, c) for the given region, equal element types.
template <class D, class S>
PTO_NOINLINE void move_tile(elem_t<D>* dst, const elem_t<S>* src, int64_t rows, int64_t cols)
{
    using T = elem_t<D>;
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    constexpr int block = 32 / static_cast<int>(sizeof(T));
    if constexpr (DL::by_row == SL::by_row) {
        const int64_t count = DL::by_row ? rows : cols, length = DL::by_row ? cols : rows;
        constexpr int64_t step = min_of<int64_t>(DL::run, SL::run);
        if constexpr (D::isBoxedLayout && S::isBoxedLayout && DL::run == SL::run) {
            // Whole runs; the last one may reach beyond the region, up to the end of its box.
            for (int64_t line = 0; line < count; ++line) {
                T* to = dst + DL::start(line);
                const T* from = src + SL::start(line);
                for (int64_t pos = 0; pos < length; pos += DL::run) {
                    std::memcpy(to, from, sizeof(T) * DL::run);
                    to += DL::run_step;
                    from += SL::run_step;
                }
            }
        } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && DL::run % step == 0 && SL::run % step == 0) {
            for (int64_t line = 0; line < count; ++line) {
                for (int64_t pos = 0; pos < length; pos += step) {
                    CopyRun<T>{}(dst + DL::offset(line, pos), src + SL::offset(line, pos), min_of(step, length - pos));
                }
            }
        } else if constexpr (D::isBoxedLayout && !S::isBoxedLayout) {
            copy_boxed<true, DL>(CopyRun<T>{}, dst, src, SL::line_step, 0, count, length);
        } else if constexpr (!D::isBoxedLayout && S::isBoxedLayout) {
            copy_boxed<false, SL>(CopyRun<T>{}, dst, src, DL::line_step, 0, count, length);
        } else {
            copy_lines(CopyRun<T>{}, dst, DL::line_step, src, SL::line_step, count, length);
        }
    } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && sizeof(T) <= 4 && DL::run == block &&
                         SL::run == block && D::Rows % block == 0 && D::Cols % block == 0 && same_physical_v<D, S>) {
        // Boxes of different direction: square blocks of one run each way, complete ones.
        using Lane = typename LaneOf<T>::type;
        const int64_t up_rows = round_up(rows, block), up_cols = round_up(cols, block);
        for (int64_t r = 0; r < up_rows; r += block) {
            for (int64_t c = 0; c < up_cols; c += block) {
                transpose_block<Lane, block>(reinterpret_cast<Lane*>(dst + D::offset(r, c)), DL::line_step,
                                             reinterpret_cast<const Lane*>(src + S::offset(r, c)), SL::line_step);
            }
        }
    } else {
        for (int64_t r = 0; r < rows; ++r) {
            for (int64_t c = 0; c < cols; ++c) {
                dst[D::offset(r, c)] = src[S::offset(r, c)];
            }
        }
    }
}

}  // namespace detail
}  // namespace pto

#endif
