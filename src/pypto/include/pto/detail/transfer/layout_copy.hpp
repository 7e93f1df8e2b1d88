// Copying between layouts. Every layout is a set of lines (rows, or columns for the column-oriented ones) cut into runs of
// consecutive elements: a whole line when unboxed, one box width (32 or 64 bytes) when boxed. Moves between two layouts
// with the same line direction go run by run; between different directions they transpose square blocks of one run.
#ifndef PTO_DETAIL_LAYOUT_COPY_HPP
#define PTO_DETAIL_LAYOUT_COPY_HPP

#include <utility>

#include "../vector/elementwise_drivers.hpp"

namespace pto {
namespace detail {

// The lines of a tile type.
template <class Tl>
struct TileLines {
    static constexpr bool by_row = Tl::isBoxedLayout ? Tl::kStoredByRow : Tl::isRowMajor;
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

// The operation on a run that is copied.
template <class T>
struct CopyRun {
    PTO_INLINE void operator()(T* dst, const T* src, int64_t n) const
    {
        std::memcpy(dst, src, static_cast<std::size_t>(n) * sizeof(T));
    }
};

template <class RunOp>
constexpr bool is_copy_v = false;
template <class T>
constexpr bool is_copy_v<CopyRun<T>> = true;

// Copying code is compiled once for all element types and tiles: sizes and steps are run-time numbers, in bytes.
using Bytes = unsigned char;

// A few whole vectors of Size bytes. Not memcpy, because a call costs as much as copying so few.
template <int Size>
PTO_INLINE void copy_vectors(Bytes* dst, const Bytes* src, int64_t bytes)
{
    using V = Vec<uint8_t, Size>;
    for (int64_t i = 0; i < bytes; i += Size) {
        store_vec(dst + i, load_vec<V>(src + i));
    }
}

void copy_line_bytes(Bytes* dst, int64_t dst_step, const Bytes* src, int64_t src_step, int64_t count,
                     int64_t length);

template <class RunOp, class D, class S>
PTO_NOINLINE void convert_plain_lines(RunOp op, D* dst, int64_t dst_step, const S* src, int64_t src_step, int64_t count,
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

// `count` lines of `length` elements from plain lines to plain lines.
template <class RunOp, class D, class S>
PTO_INLINE void copy_lines(const RunOp& op, D* dst, int64_t dst_step, const S* src, int64_t src_step, int64_t count,
                           int64_t length)
{
    if constexpr (is_copy_v<RunOp>) {
        constexpr int64_t size = static_cast<int64_t>(sizeof(D));
        copy_line_bytes(reinterpret_cast<Bytes*>(dst), dst_step * size, reinterpret_cast<const Bytes*>(src),
                        src_step * size, count, length * size);
    } else {
        convert_plain_lines(op, dst, dst_step, src, src_step, count, length);
    }
}

#if defined(__AVX512F__) && !defined(PTO_SCALAR)
// Halves of 32 bytes: (a's Part, b's Part).
template <int Part>
PTO_INLINE Vec<int64_t, 8> pair_halves(const Vec<int64_t, 8>& a, const Vec<int64_t, 8>& b)
{
#if defined(__clang__)
    return __builtin_shufflevector(a, b, Part * 4, Part * 4 + 1, Part * 4 + 2, Part * 4 + 3, Part * 4 + 8, Part * 4 + 9,
                                   Part * 4 + 10, Part * 4 + 11);
#else
    return __builtin_shuffle(a, b, Vec<int64_t, 8>{Part * 4, Part * 4 + 1, Part * 4 + 2, Part * 4 + 3, Part * 4 + 8,
                                                   Part * 4 + 9, Part * 4 + 10, Part * 4 + 11});
#endif
}

#define PTO_HAVE_LINE_PAIRS 1
#else
#define PTO_HAVE_LINE_PAIRS 0
#endif

// `lines` lines of `length` bytes, in runs of Run bytes; the steps are the strides of the lines and runs of both sides.
// Four runs of plain lines at a time, so that whole cache lines are used. (Lines whose stride is a power of two
// compete for the same few sets of the cache.)
template <int Run>
PTO_NOINLINE void copy_runs(Bytes* dst, int64_t dst_line, int64_t dst_run, const Bytes* src, int64_t src_line,
                            int64_t src_run, int64_t lines, int64_t length)
{
    int64_t pos = 0;
#if PTO_HAVE_LINE_PAIRS
    if (Run == 32 && dst_line == Run && src_run == Run && lines % 2 == 0) {  // two lines at a time, in whole vectors
        using V = Vec<int64_t, 8>;
        for (; pos + 4 * Run <= length; pos += 4 * Run, dst += 4 * dst_run, src += 4 * Run) {
            for (int64_t i = 0; i < lines; i += 2) {
                const Bytes* p = src + i * src_line;
                Bytes* t = dst + i * Run;
                const V a = load_vec<V>(p), b = load_vec<V>(p + src_line);
                const V c = load_vec<V>(p + 64), d = load_vec<V>(p + src_line + 64);
                store_vec(t, pair_halves<0>(a, b));
                store_vec(t + dst_run, pair_halves<1>(a, b));
                store_vec(t + 2 * dst_run, pair_halves<0>(c, d));
                store_vec(t + 3 * dst_run, pair_halves<1>(c, d));
            }
        }
    }
#endif
    for (; pos + 4 * Run <= length; pos += 4 * Run, dst += 4 * dst_run, src += 4 * src_run) {
        for (int64_t i = 0; i < lines; ++i) {
            PTO_UNROLL
            for (int j = 0; j < 4; ++j) {
                std::memcpy(dst + i * dst_line + j * dst_run, src + i * src_line + j * src_run, Run);
            }
        }
    }
    for (; pos + Run <= length; pos += Run, dst += dst_run, src += src_run) {
        PTO_ROLLED
        for (int64_t i = 0; i < lines; ++i) {
            std::memcpy(dst + i * dst_line, src + i * src_line, Run);
        }
    }
    if (pos < length) {
        copy_line_bytes(dst, dst_line, src, src_line, lines, length - pos);
    }
}

// The boxes of a tile: `band` lines of one run each; the steps are the strides of the runs of a band and of the bands. In
// bytes, except for the lines.
struct BoxSteps {
    int64_t band, band_step, run_step;
};

// Between plain lines of `length` bytes and the lines first .. first+count of a tile whose boxes hold contiguous runs of
// Run bytes.
template <int Run>
PTO_NOINLINE void copy_box_bytes(bool to_tile, Bytes* dst, const Bytes* src, int64_t plain_step, int64_t first,
                                 int64_t count, int64_t length, const BoxSteps& box)
{
    for (int64_t done = 0; done < count;) {
        // One band of boxes at a time: both sides stay in cache.
        const int64_t line = first + done, n = min_of<int64_t>(box.band - line % box.band, count - done);
        const int64_t t = line / box.band * box.band_step + line % box.band * Run, p = done * plain_step;
        if (to_tile) {
            copy_runs<Run>(dst + t, Run, box.run_step, src + p, plain_step, Run, n, length);
        } else {
            copy_runs<Run>(dst + p, plain_step, Run, src + t, Run, box.run_step, n, length);
        }
        done += n;
    }
}

// Runs that convert_boxed processes side by side, for the same reason.
constexpr int kRunsAbreast = 4;

// A partial run.
template <class RunOp, class D, class S>
PTO_COLD void convert_part(const RunOp& op, D* dst, const S* src, int64_t n)
{
    op(dst, src, n);
}

// Between plain lines (step `plain_step`) and the lines first .. first+count of a boxed tile with layout L.
// ToTile says which side is the destination.
template <bool ToTile, class L, class RunOp, class D, class S>
PTO_NOINLINE void convert_boxed(RunOp op, D* dst, const S* src, int64_t plain_step, int64_t first, int64_t count,
                                int64_t length)
{
    for (int64_t done = 0; done < count;) {
        const int64_t line = first + done;
        const int64_t n = min_of<int64_t>(L::band - line % L::band, count - done);
        const int64_t tile_base = L::start(line), plain_base = done * plain_step;
        for (int64_t from = 0; from < length; from += kRunsAbreast * L::run) {
            const int64_t to = min_of<int64_t>(from + kRunsAbreast * L::run, length);
            for (int64_t i = 0; i < n; ++i) {
                int64_t t = tile_base + from / L::run * L::run_step + i * L::line_step;
                int64_t p = plain_base + i * plain_step + from;
                for (int64_t pos = from; pos < to; pos += L::run, t += L::run_step, p += L::run) {
                    D* d = dst + (ToTile ? t : p);
                    const S* s = src + (ToTile ? p : t);
                    if (__builtin_expect(to - pos >= L::run, 1)) {
                        op(d, s, L::run);
                    } else {
                        convert_part(op, d, s, to - pos);
                    }
                }
            }
        }
        done += n;
    }
}

template <class L, class T>
constexpr BoxSteps box_steps_v = {L::band, L::band_step * static_cast<int64_t>(sizeof(T)),
                                  L::run_step * static_cast<int64_t>(sizeof(T))};

template <bool ToTile, class L, class RunOp, class D, class S>
PTO_INLINE void copy_boxed(const RunOp& op, D* dst, const S* src, int64_t plain_step, int64_t first, int64_t count,
                           int64_t length)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(D)), run = L::run * size;
    if constexpr (is_copy_v<RunOp> && L::line_step == L::run && (run == 32 || run == 64)) {
        copy_box_bytes<run>(ToTile, reinterpret_cast<Bytes*>(dst), reinterpret_cast<const Bytes*>(src), plain_step * size,
                            first, count, length * size, box_steps_v<L, D>);
    } else {
        convert_boxed<ToTile, L>(op, dst, src, plain_step, first, count, length);
    }
}

// ------------------------------------------------------------------------------------------------------ transposition
// Square block of N lines of N elements in vectors of 32 bytes (or 16), in rounds that interleave two vectors 16 bytes
// at a time, which every machine does in one cheap instruction, and a last round that exchanges halves.
template <class T, int N>
struct Interleave {
    static constexpr int lane = 16 / static_cast<int>(sizeof(T));  // elements of 16 bytes
    // Sources of element i of the results: elements of a from 0, of b from N.
    static constexpr int low(int i) { return i / lane * lane + i % lane / 2 + i % 2 * N; }
    static constexpr int high(int i) { return low(i) + lane / 2; }
    static constexpr int first(int i) { return i < lane ? i : i - lane + N; }
    static constexpr int second(int i) { return first(i) + lane; }

#if defined(__clang__)
    template <int... I>
    static PTO_INLINE void pair(const Vec<T, N>& a, const Vec<T, N>& b, Vec<T, N>& x, Vec<T, N>& y,
                                std::integer_sequence<int, I...>)
    {
        x = __builtin_shufflevector(a, b, low(I)...);
        y = __builtin_shufflevector(a, b, high(I)...);
    }
    template <int... I>
    static PTO_INLINE void halves(const Vec<T, N>& a, const Vec<T, N>& b, Vec<T, N>& x, Vec<T, N>& y,
                                  std::integer_sequence<int, I...>)
    {
        x = __builtin_shufflevector(a, b, first(I)...);
        y = __builtin_shufflevector(a, b, (second(I) < 2 * N ? second(I) : 0)...);
    }
#else
    template <int... I>
    static PTO_INLINE void pair(const Vec<T, N>& a, const Vec<T, N>& b, Vec<T, N>& x, Vec<T, N>& y,
                                std::integer_sequence<int, I...>)
    {
        x = __builtin_shuffle(a, b, Vec<T, N>{static_cast<T>(low(I))...});
        y = __builtin_shuffle(a, b, Vec<T, N>{static_cast<T>(high(I))...});
    }
    template <int... I>
    static PTO_INLINE void halves(const Vec<T, N>& a, const Vec<T, N>& b, Vec<T, N>& x, Vec<T, N>& y,
                                  std::integer_sequence<int, I...>)
    {
        x = __builtin_shuffle(a, b, Vec<T, N>{static_cast<T>(first(I))...});
        y = __builtin_shuffle(a, b, Vec<T, N>{static_cast<T>(second(I))...});
    }
#endif
};

template <class T>
struct LaneOf {
    using type = std::conditional_t<sizeof(T) == 4, int32_t, std::conditional_t<sizeof(T) == 2, int16_t, int8_t>>;
};

// dst(j, i) = src(i, j) for one block; steps in elements.
template <class T, int N>
PTO_INLINE void transpose_block(T* dst, int64_t dst_step, const T* src, int64_t src_step)
{
#if defined(PTO_SCALAR)
    for (int i = 0; i < N; ++i) {
        for (int j = 0; j < N; ++j) {
            dst[j * dst_step + i] = src[i * src_step + j];
        }
    }
#else
    using V = Vec<T, N>;
    using Pairs = Interleave<T, N>;
    constexpr int lane = Pairs::lane;
    static_assert(N == lane || N == 2 * lane, "a line of a block has 16 or 32 bytes");
    constexpr auto all = std::make_integer_sequence<int, N>{};
    V a[N], b[N];
    PTO_UNROLL
    for (int i = 0; i < N; ++i) {
        a[i] = load_vec<V>(src + i * src_step);
    }
    // Each group of `lane` lines by itself: afterwards line j has column j in its first 16 bytes, and column lane + j after it.
    PTO_UNROLL
    for (int round = 1; round < lane; round *= 2) {
        PTO_UNROLL
        for (int group = 0; group < N; group += lane) {
            PTO_UNROLL
            for (int i = 0; i < lane / 2; ++i) {
                Pairs::pair(a[group + i], a[group + i + lane / 2], b[group + 2 * i], b[group + 2 * i + 1], all);
            }
        }
        PTO_UNROLL
        for (int i = 0; i < N; ++i) {
            a[i] = b[i];
        }
    }
    if constexpr (N == 2 * lane) {
        PTO_UNROLL
        for (int i = 0; i < lane; ++i) {
            Pairs::halves(a[i], a[i + lane], b[i], b[i + lane], all);
        }
    }
    PTO_UNROLL
    for (int i = 0; i < N; ++i) {
        store_vec(dst + i * dst_step, b[i]);
    }
#endif
}

// dst(j, i) = src(i, j) for `count` blocks of 32-byte lines; `next` of either side is the distance to its next block.
// Step: the stride of lines in dst where it is static, else 0.
template <class T, int N, int Step>
PTO_NOINLINE void transpose_blocks(T* dst, int64_t dst_step, int64_t dst_next, const T* src, int64_t src_step,
                                   int64_t src_next, int64_t count)
{
    for (int64_t i = 0; i < count; ++i) {
        transpose_block<T, N>(dst + i * dst_next, Step != 0 ? Step : dst_step, src + i * src_next, src_step);
    }
}

// dst(j, i) = src(i, j), `rows` x `cols` of src, both plain.
template <class T>
PTO_COLD void transpose_lines(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t rows, int64_t cols)
{
    int64_t whole_rows = 0, whole_cols = 0;
    if constexpr (sizeof(T) <= 4) {
        using Lane = typename LaneOf<T>::type;
        constexpr int n = 32 / static_cast<int>(sizeof(T));
        whole_rows = rows / n * n;
        whole_cols = cols / n * n;
        for (int64_t r = 0; r < whole_rows; r += n) {
            transpose_blocks<Lane, n, 0>(reinterpret_cast<Lane*>(dst + r), dst_step, n * dst_step,
                                      reinterpret_cast<const Lane*>(src + r * src_step), src_step, n, cols / n);
        }
    }
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = r < whole_rows ? whole_cols : 0; c < cols; ++c) {
            dst[c * dst_step + r] = src[r * src_step + c];
        }
    }
}

// ------------------------------------------------------------------------------------------------- tile to tile
// The layout of a tile as run-time numbers: the rows and columns of a box, and the strides between boxes and
// within one.
struct Places {
    int64_t box_rows, box_cols, rows_out, rows_in, cols_out, cols_in;
    PTO_INLINE int64_t offset(int64_t r, int64_t c) const
    {
        return r / box_rows * rows_out + r % box_rows * rows_in + c / box_cols * cols_out + c % box_cols * cols_in;
    }
};
template <class Tl>
constexpr Places places_of()
{
    if (!Tl::isBoxedLayout) {
        return {1, 1, Tl::RowStride, 0, Tl::ColStride, 0};
    }
    constexpr int64_t rows = Tl::BoxRows, cols = Tl::BoxCols;
    return {rows, cols, Tl::offset(rows, 0), Tl::kStoredByRow ? cols : 1, Tl::offset(0, cols), Tl::kStoredByRow ? 1 : rows};
}
template <class Tl>
constexpr Places places_v = places_of<Tl>();

// d(r, c) = s(r, c), one at a time.
template <class T>
PTO_COLD void move_elements(T* dst, const Places& d, const T* src, const Places& s, int64_t rows, int64_t cols)
{
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
            dst[d.offset(r, c)] = src[s.offset(r, c)];
        }
    }
}

// Boxes of runs of `run` bytes: whole runs, the last one to the end of its box. The runs of a box are contiguous, so that
// boxes, or parts of them as high as the boxes of the other side, are copied in one piece.
void move_boxes(Bytes* dst, const BoxSteps& d, const Bytes* src, const BoxSteps& s, int64_t run,
                int64_t count, int64_t length);

// Boxes with runs of 32 bytes on one side and of a multiple on the other.
template <class D, class S, class T>
PTO_NOINLINE void split_boxes(T* dst, const T* src, int64_t count, int64_t length)
{
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    constexpr int64_t band = min_of<int64_t>(DL::band, SL::band), step = min_of<int64_t>(DL::run, SL::run);
    for (int64_t line = 0; line < count; line += band) {
        const int64_t lines = min_of(band, count - line);
        for (int64_t pos = 0; pos < length; pos += step) {
            T* to = dst + DL::offset(line, pos);
            const T* from = src + SL::offset(line, pos);
            if (lines == band && pos + step <= length) {
                PTO_UNROLL
                for (int64_t i = 0; i < band; ++i) {
                    std::memcpy(to + i * DL::line_step, from + i * SL::line_step, sizeof(T) * step);
                }
            } else {
                copy_lines(CopyRun<T>{}, to, DL::line_step, from, SL::line_step, lines, min_of(step, length - pos));
            }
        }
    }
}

// Boxes of different directions: complete square blocks within both.
template <class D, class S, int N, class T>
PTO_NOINLINE void transpose_boxes(T* dst, const T* src, int64_t rows, int64_t cols)
{
    using Lane = typename LaneOf<T>::type;
    constexpr int64_t dst_step = TileLines<D>::line_step, src_step = TileLines<S>::line_step;
    for (int64_t r = 0; r < rows; r += N) {
        for (int64_t c = 0; c < cols; c += N) {
            transpose_blocks<Lane, N, dst_step>(reinterpret_cast<Lane*>(dst + D::offset(r, c)), dst_step, 0,
                                                reinterpret_cast<const Lane*>(src + S::offset(r, c)), src_step, 0, 1);
        }
    }
}

// d(r, c) = s(r, c) for the given region, equal element types.
template <class D, class S>
PTO_INLINE void move_tile(elem_t<D>* dst, const elem_t<S>* src, int64_t rows, int64_t cols)
{
    using T = elem_t<D>;
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    constexpr int64_t size = static_cast<int64_t>(sizeof(T));
    constexpr int block = static_cast<int>(min_of<int64_t>(32 / size, min_of<int64_t>(DL::run, SL::run)));
    if constexpr (DL::by_row == SL::by_row) {
        const int64_t count = DL::by_row ? rows : cols, length = DL::by_row ? cols : rows;
        if constexpr (D::isBoxedLayout && S::isBoxedLayout && DL::run == SL::run && DL::run * size % 32 == 0) {
            constexpr int64_t band = min_of<int64_t>(DL::band, SL::band);
            static_assert(DL::band % band == 0 && SL::band % band == 0, "bands of lines must fit into both boxes");
            move_boxes(reinterpret_cast<Bytes*>(dst), box_steps_v<DL, T>, reinterpret_cast<const Bytes*>(src),
                       box_steps_v<SL, T>, DL::run * size, count, length * size);
        } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && min_of<int64_t>(DL::run, SL::run) * size == 32 &&
                             DL::run * size % 32 == 0 && SL::run * size % 32 == 0) {
            split_boxes<D, S>(dst, src, count, length);
        } else if constexpr (D::isBoxedLayout && S::isBoxedLayout) {
            move_elements(dst, places_v<D>, src, places_v<S>, rows, cols);
        } else if constexpr (D::isBoxedLayout) {
            copy_boxed<true, DL>(CopyRun<T>{}, dst, src, SL::line_step, 0, count, length);
        } else if constexpr (S::isBoxedLayout) {
            copy_boxed<false, SL>(CopyRun<T>{}, dst, src, DL::line_step, 0, count, length);
        } else {
            copy_lines(CopyRun<T>{}, dst, DL::line_step, src, SL::line_step, count, length);
        }
    } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && sizeof(T) <= 4 && block >= 8 &&
                         DL::run % block == 0 && DL::band % block == 0 && SL::run % block == 0 &&
                         SL::band % block == 0 && D::Rows % block == 0 && D::Cols % block == 0 && same_physical_v<D, S>) {
        transpose_boxes<D, S, block>(dst, src, rows, cols);
    } else {
        move_elements(dst, places_v<D>, src, places_v<S>, rows, cols);
    }
}

}  // namespace detail
}  // namespace pto

#endif
