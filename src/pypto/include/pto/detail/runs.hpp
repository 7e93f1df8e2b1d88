// Copying between layouts. Every layout is a set of lines (rows, or columns for the column-oriented ones) cut into runs of
// consecutive elements: a whole line when unboxed, one box width (32 or 64 bytes) when boxed. Moves between two layouts
// with the same line direction go run by run; between different directions they transpose square blocks of one run.
#ifndef PTO_DETAIL_RUNS_HPP
#define PTO_DETAIL_RUNS_HPP

#include <utility>

#include "loops.hpp"

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

// Runs that copy_boxed does side by side: so many boxes are written, or read, as one plain line is, which is thereby
// passed in whole cache lines. (Lines whose distance is a power of two compete for the same few places of the cache.)
constexpr int kRunsAbreast = 4;

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

// Four adjacent runs of `Run` bytes of `lines` lines, into boxes whose lines lie behind one another. Steps in bytes.
template <int Run>
PTO_INLINE void copy_four_runs(unsigned char* dst, int64_t run_step, const unsigned char* src, int64_t plain_step,
                               int64_t lines)
{
    int64_t i = 0;
#if PTO_HAVE_LINE_PAIRS
    if constexpr (Run == 32) {  // two lines at a time, in whole vectors
        using V = Vec<int64_t, 8>;
        for (; i + 2 <= lines; i += 2) {
            const unsigned char* p = src + i * plain_step;
            unsigned char* t = dst + i * Run;
            const V a = load_vec<V>(p), b = load_vec<V>(p + plain_step);
            const V c = load_vec<V>(p + 64), d = load_vec<V>(p + plain_step + 64);
            store_vec(t, pair_halves<0>(a, b));
            store_vec(t + run_step, pair_halves<1>(a, b));
            store_vec(t + 2 * run_step, pair_halves<0>(c, d));
            store_vec(t + 3 * run_step, pair_halves<1>(c, d));
        }
    }
#endif
    for (; i < lines; ++i) {
        PTO_UNROLL
        for (int j = 0; j < 4; ++j) {
            std::memcpy(dst + i * Run + j * run_step, src + i * plain_step + j * Run, Run);
        }
    }
}

// Plain lines of `bytes` bytes into the lines first .. first+count of a tile whose boxes have `band` lines of one run. One
// function for all tiles: it is what takes the time when a kernel with several is compiled.
template <int Run>
PTO_NOINLINE void copy_into_boxes(unsigned char* dst, const unsigned char* src, int64_t plain_step, int64_t first,
                                  int64_t count, int64_t bytes, int64_t band, int64_t band_step, int64_t run_step)
{
    for (int64_t done = 0; done < count;) {
        // One band of boxes at a time: both sides stay in cache.
        const int64_t line = first + done, n = min_of<int64_t>(band - line % band, count - done);
        unsigned char* to = dst + line / band * band_step + line % band * Run;
        const unsigned char* from = src + done * plain_step;
        int64_t pos = 0;
        for (; pos + 4 * Run <= bytes; pos += 4 * Run, to += 4 * run_step) {
            copy_four_runs<Run>(to, run_step, from + pos, plain_step, n);
        }
        for (; pos < bytes; pos += Run, to += run_step) {
            const std::size_t size = static_cast<std::size_t>(min_of<int64_t>(Run, bytes - pos));
            for (int64_t i = 0; i < n; ++i) {
                std::memcpy(to + i * Run, from + i * plain_step + pos, size);
            }
        }
        done += n;
    }
}

// `Count` adjacent runs of `lines` lines.
template <bool ToTile, class L, int Count, class RunOp, class D, class S>
PTO_INLINE void copy_abreast(const RunOp& op, D* dst, const S* src, int64_t plain_step, int64_t lines)
{
    for (int64_t i = 0; i < lines; ++i) {
        PTO_UNROLL
        for (int j = 0; j < Count; ++j) {
            const int64_t t = i * L::line_step + j * L::run_step, p = i * plain_step + j * L::run;
            op(dst + (ToTile ? t : p), src + (ToTile ? p : t), L::run);
        }
    }
}

// Between plain lines (step `plain_step`) and the lines first .. first+count of a boxed tile with layout L.
// ToTile says which side is the destination.
template <bool ToTile, class L, class RunOp, class D, class S>
PTO_NOINLINE void copy_boxed_by_run(RunOp op, D* dst, const S* src, int64_t plain_step, int64_t first, int64_t count,
                             int64_t length)
{
    const int64_t whole = length / L::run * L::run;
    int64_t done = 0;
    while (done < count) {
        // One band of boxes at a time: both sides stay in cache.
        const int64_t line = first + done;
        const int64_t n = min_of<int64_t>(L::band - line % L::band, count - done);
        const int64_t tile_base = L::start(line), plain_base = done * plain_step;
        int64_t pos = 0;
        for (; pos + kRunsAbreast * L::run <= whole; pos += kRunsAbreast * L::run) {
            const int64_t t = tile_base + pos / L::run * L::run_step, p = plain_base + pos;
            copy_abreast<ToTile, L, kRunsAbreast>(op, dst + (ToTile ? t : p), src + (ToTile ? p : t), plain_step, n);
        }
        for (; pos < whole; pos += L::run) {
            const int64_t t = tile_base + pos / L::run * L::run_step, p = plain_base + pos;
            copy_abreast<ToTile, L, 1>(op, dst + (ToTile ? t : p), src + (ToTile ? p : t), plain_step, n);
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

template <bool ToTile, class L, class RunOp, class D, class S>
PTO_INLINE void copy_boxed(RunOp op, D* dst, const S* src, int64_t plain_step, int64_t first, int64_t count, int64_t length)
{
    constexpr int64_t size = static_cast<int64_t>(sizeof(D)), run = L::run * size;
    if constexpr (ToTile && std::is_same<RunOp, CopyRun<D>>::value && std::is_same<D, S>::value &&
                  L::line_step == L::run && (run == 32 || run == 64)) {
        copy_into_boxes<run>(reinterpret_cast<unsigned char*>(dst), reinterpret_cast<const unsigned char*>(src),
                             plain_step * size, first, count, length * size, L::band, L::band_step * size,
                             L::run_step * size);
    } else {
        copy_boxed_by_run<ToTile, L>(op, dst, src, plain_step, first, count, length);
    }
}

// ------------------------------------------------------------------------------------------------------ transposition
// Square block of N lines of N elements in vectors of 32 bytes (or 16), through rounds that interleave two vectors 16 bytes
// at a time, which every machine does in one cheap instruction, and a last one that exchanges halves.
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
    // Each group of `lane` lines for itself: afterwards line j has column j in its first 16 bytes, and column lane + j.
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
// Bytes of a whole box. By hand, because g++ makes a string instruction of a memcpy of such a size.
template <int64_t Bytes, class T>
PTO_INLINE void copy_piece(T* dst, const T* src)
{
    if constexpr (Bytes % kVectorBytes == 0 && Bytes <= 1024) {
        using V = Vec<uint8_t, kVectorBytes>;
        PTO_UNROLL
        for (int64_t i = 0; i < Bytes / kVectorBytes; ++i) {
            store_vec(reinterpret_cast<uint8_t*>(dst) + i * kVectorBytes,
                      load_vec<V>(reinterpret_cast<const uint8_t*>(src) + i * kVectorBytes));
        }
    } else {
        std::memcpy(dst, src, Bytes);
    }
}

// `count` <= Count lines of `length` <= Step elements.
template <int64_t Step, int64_t Count, class T>
PTO_INLINE void copy_pieces(T* dst, int64_t dst_step, const T* src, int64_t src_step, int64_t count, int64_t length)
{
    if (length == Step && count == Count) {
        PTO_UNROLL
        for (int64_t i = 0; i < Count; ++i) {
            std::memcpy(dst + i * dst_step, src + i * src_step, sizeof(T) * Step);
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            CopyRun<T>{}(dst + i * dst_step, src + i * src_step, length);
        }
    }
}

// d(r, c) = s(r, c) for the given region, equal element types.
template <class D, class S>
PTO_NOINLINE void move_tile(elem_t<D>* dst, const elem_t<S>* src, int64_t rows, int64_t cols)
{
    using T = elem_t<D>;
    using DL = TileLines<D>;
    using SL = TileLines<S>;
    constexpr int block = static_cast<int>(min_of<int64_t>(32 / sizeof(T), min_of<int64_t>(DL::run, SL::run)));
    if constexpr (DL::by_row == SL::by_row) {
        const int64_t count = DL::by_row ? rows : cols, length = DL::by_row ? cols : rows;
        constexpr int64_t step = min_of<int64_t>(DL::run, SL::run);
        if constexpr (D::isBoxedLayout && S::isBoxedLayout && DL::run == SL::run) {
            // Whole runs; the last one may reach beyond the region, up to the end of its box. The runs of a box are
            // contiguous, so that boxes of the same height are copied as one piece.
            constexpr int64_t band = min_of<int64_t>(DL::band, SL::band);
            static_assert(DL::band % band == 0 && SL::band % band == 0, "bands of lines must fit into both boxes");
            for (int64_t line = 0; line < count; line += band) {
                T* to = dst + DL::start(line);
                const T* from = src + SL::start(line);
                const int64_t lines = min_of(band, count - line);
                for (int64_t pos = 0; pos < length; pos += DL::run) {
                    if (lines == band) {
                        copy_piece<sizeof(T) * DL::run * band>(to, from);
                    } else {
                        std::memcpy(to, from, sizeof(T) * DL::run * lines);
                    }
                    to += DL::run_step;
                    from += SL::run_step;
                }
            }
        } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && DL::run % step == 0 && SL::run % step == 0) {
            constexpr int64_t band = min_of<int64_t>(DL::band, SL::band);
            static_assert(DL::band % band == 0 && SL::band % band == 0, "bands of lines must fit into both boxes");
            for (int64_t line = 0; line < count; line += band) {
                const int64_t lines = min_of(band, count - line);
                for (int64_t pos = 0; pos < length; pos += step) {
                    copy_pieces<step, band>(dst + DL::offset(line, pos), DL::line_step, src + SL::offset(line, pos), SL::line_step,
                                      lines, min_of(step, length - pos));
                }
            }
        } else if constexpr (D::isBoxedLayout && !S::isBoxedLayout) {
            copy_boxed<true, DL>(CopyRun<T>{}, dst, src, SL::line_step, 0, count, length);
        } else if constexpr (!D::isBoxedLayout && S::isBoxedLayout) {
            copy_boxed<false, SL>(CopyRun<T>{}, dst, src, DL::line_step, 0, count, length);
        } else {
            copy_lines(CopyRun<T>{}, dst, DL::line_step, src, SL::line_step, count, length);
        }
    } else if constexpr (D::isBoxedLayout && S::isBoxedLayout && sizeof(T) <= 4 && block >= 8 &&
                         DL::run % block == 0 && DL::band % block == 0 && SL::run % block == 0 &&
                         SL::band % block == 0 && D::Rows % block == 0 && D::Cols % block == 0 && same_physical_v<D, S>) {
        // Boxes of different direction: square blocks within both, complete ones.
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
