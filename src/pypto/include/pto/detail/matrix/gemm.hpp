// The multiply kernel behind TMATMUL and TGEMV, on float. Left and Right tiles are read in place: the rows of a Left box are
// contiguous, and so are the rows of a Right box (tile.hpp, kStoredByRow), so that a register block of kMr rows times kNv
// vectors of columns runs over k with one contiguous load per vector and one broadcast per row. bf16, f16 and int8 of the
// Right tile are widened as they are loaded, those of the Left tile once.
#ifndef PTO_DETAIL_GEMM_HPP
#define PTO_DETAIL_GEMM_HPP

#include "amx.hpp"
#include "../transfer/layout_copy.hpp"

namespace pto {
namespace detail {

// Register block: rows of the left tile times vectors of columns, sized to the register file. The columns are whole boxes
// of 16 or an equal part of one.
#if defined(PTO_SCALAR)
constexpr int kMr = 4, kNv = 4;
#elif defined(__AVX512F__)
constexpr int kMr = 8, kNv = 2;
#elif defined(__aarch64__)
constexpr int kMr = 4, kNv = 4;
#elif defined(__AVX__)
constexpr int kMr = 6, kNv = 2;
#else
constexpr int kMr = 4, kNv = 2;
#endif
constexpr int kLanes = kVectorBytes / 4;
constexpr int kNr = kNv * kLanes;
constexpr int kBoxLines = 16;  // rows of a Left box, columns of a Right box
static_assert(kBoxLines % kLanes == 0 && (kNr % kBoxLines == 0 || kBoxLines % kNr == 0), "blocks of columns fit boxes");
// Products of two int8 values are at most 2^14, so sums of 1024 of them are exact in float.
constexpr int64_t kExactTerms = 1024;

// One vector of a Right tile's row as floats.
template <class T>
PTO_INLINE Vec<float, kLanes> load_floats(const T* p)
{
    using V = Vec<float, kLanes>;
    if constexpr (std::is_same<T, float>::value) {
        return load_vec<V>(p);
    } else if constexpr (is_bf16_v<T>) {
        const auto bits = __builtin_convertvector((load_vec<Vec<uint16_t, kLanes>>(p)), Vec<uint32_t, kLanes>);
        return bit_cast<V>(bits << 16);
    } else if constexpr (is_half_v<T>) {
        float wide[kLanes];
        widen(p, wide, kLanes);
        return load_vec<V>(wide);
    } else {
        return __builtin_convertvector((load_vec<Vec<T, kLanes>>(p)), V);
    }
}

// The destination of a register block: vector j of row i is out[i * out_row + j * out_vec], and likewise for the addend
// (in may be nullptr).
struct Sink {
    float* out;
    const float* in;
    int64_t out_row, out_vec, in_row, in_vec;
};

// sum over k in [begin, end) of a(i, k) * b(k, j), with begin at the start of a box.
//   a(i, k) = a[k / C0 * a_step + i * C0 + k % C0]: the boxes of a Left tile.
//   b(k, j) = b[k / C0 * b_step + j / 16 * C0 * 16 + k % C0 * 16 + j % 16]: the boxes of a Right tile.
template <int Mr, int Nv, int C0, class T>
PTO_NOINLINE PTO_FUSED void multiply_block(const float* a, int64_t a_step, const T* b, int64_t b_step, int64_t begin,
                                           int64_t end, const Sink& sink)
{
    PTO_FUSED_BODY
    using V = Vec<float, kLanes>;
    constexpr auto column = [](int j) { return j * kLanes / kBoxLines * C0 * kBoxLines + j * kLanes % kBoxLines; };
    V acc[Mr][Nv];
    if (sink.in != nullptr) {
        PTO_UNROLL
        for (int i = 0; i < Mr; ++i) {
            PTO_UNROLL
            for (int j = 0; j < Nv; ++j) {
                acc[i][j] = load_vec<V>(sink.in + i * sink.in_row + j * sink.in_vec);
            }
        }
        PTO_UNROLL
        for (int i = 0; i < Mr; ++i) {
            PTO_UNROLL
            for (int j = 0; j < Nv; ++j) {
                __builtin_prefetch(sink.in + (Mr + i) * sink.in_row + j * sink.in_vec);
            }
        }
    } else {
        PTO_UNROLL
        for (int i = 0; i < Mr; ++i) {
            PTO_UNROLL
            for (int j = 0; j < Nv; ++j) {
                acc[i][j] = V{};
            }
        }
    }
    for (int64_t box = begin; box < end; box += C0) {
        const float* ak = a + box / C0 * a_step;
        const T* bk = b + box / C0 * b_step;
        __builtin_prefetch(ak + Mr * C0);  // of the next rows
        __builtin_prefetch(ak + Mr * C0 + 16);
        if constexpr (Mr * C0 > 32) {
            __builtin_prefetch(ak + Mr * C0 + 32);
            __builtin_prefetch(ak + Mr * C0 + 48);
        }
        const auto step = [&](int64_t k) __attribute__((always_inline)) {
            V bv[Nv];
            PTO_UNROLL
            for (int j = 0; j < Nv; ++j) {
                bv[j] = load_floats(bk + k * kBoxLines + column(j));
            }
            PTO_UNROLL
            for (int i = 0; i < Mr; ++i) {
                const float x = ak[i * C0 + k];
                PTO_UNROLL
                for (int j = 0; j < Nv; ++j) {
                    acc[i][j] += x * bv[j];
                }
            }
        };
        if (end - box >= C0) {
#if defined(__clang__)
#pragma clang loop unroll_count(4)
#else
#pragma GCC unroll 4
#endif
            for (int k = 0; k < C0; ++k) {
                step(k);
            }
        } else {
            for (int64_t k = 0; k < end - box; ++k) {
                step(k);
            }
        }
    }
    PTO_UNROLL
    for (int i = 0; i < Mr; ++i) {
        PTO_UNROLL
        for (int j = 0; j < Nv; ++j) {
            store_vec(sink.out + i * sink.out_row + j * sink.out_vec, acc[i][j]);
        }
    }
}

template <class T>
PTO_NOINLINE void to_floats(const T* src, float* dst, int64_t n)
{
    if constexpr (is_narrow_v<T>) {
        widen(src, dst, n);
    } else {
        PTO_IVDEP
        for (int64_t i = 0; i < n; ++i) {
            dst[i] = static_cast<float>(src[i]);
        }
    }
}

// The addend of the product.
template <class T>
struct Addend {
    const T* acc;   // an accumulator tile of the same type, or nullptr
    const T* bias;  // one row, or nullptr
};

template <class T>
PTO_INLINE void put_run(T* out, const float* product, const T* addend, int64_t n)
{
    if (addend == nullptr) {
        PTO_IVDEP
        for (int64_t x = 0; x < n; ++x) {
            out[x] = static_cast<T>(product[x]);
        }
    } else {
        PTO_IVDEP
        for (int64_t x = 0; x < n; ++x) {
            out[x] = Add{}(static_cast<T>(product[x]), addend[x]);
        }
    }
}

// Writes rows x cols of a register block to the accumulator tile at (m, n).
template <class C>
PTO_INLINE void put_block_here(elem_t<C>* c, const Addend<elem_t<C>>& addend, const float* block, int64_t m, int64_t n,
                            int64_t rows, int64_t cols)
{
    using T = elem_t<C>;
    using L = TileLines<C>;
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < cols;) {
            // Up to the end of the box.
            const int64_t count = min_of<int64_t>(L::run - (n + j) % L::run, cols - j);
            const int64_t at = L::offset(m + i, n + j);
            const T* in = addend.acc != nullptr    ? addend.acc + at
                          : addend.bias != nullptr ? addend.bias + n + j
                                                   : nullptr;
            put_run(c + at, block + i * kNr + j, in, count);
            j += count;
        }
    }
}

// Rare where whole blocks are written directly.
template <class C>
PTO_COLD void put_part(elem_t<C>* c, const Addend<elem_t<C>>& addend, const float* block, int64_t m, int64_t n, int64_t rows,
                       int64_t cols)
{
    put_block_here<C>(c, addend, block, m, n, rows, cols);
}
template <class C>
PTO_NOINLINE void put_block(elem_t<C>* c, const Addend<elem_t<C>>& addend, const float* block, int64_t m, int64_t n,
                            int64_t rows, int64_t cols)
{
    put_block_here<C>(c, addend, block, m, n, rows, cols);
}

// One block of rows of the product, at row m, in whole registers. Narrow: a block may have fewer vectors.
template <int C0, bool Narrow, class T>
PTO_INLINE void multiply_rows(int step, int vectors, const float* a, int64_t a_step, const T* b, int64_t b_step,
                              int64_t begin, int64_t end, const Sink& sink)
{
    constexpr int rest = 16 % kMr != 0 ? 16 % kMr : kMr;
    if (rest != kMr && step == rest) {
        multiply_block<rest, kNv, C0>(a, a_step, b, b_step, begin, end, sink);
    } else if (Narrow && vectors < kNv) {
        multiply_block<kMr, Narrow && kNr / kBoxLines == 1 ? kNv : kBoxLines / kLanes, C0>(a, a_step, b, b_step, begin, end, sink);
    } else {
        multiply_block<kMr, kNv, C0>(a, a_step, b, b_step, begin, end, sink);
    }
}

// c(0..m, 0..n) = a(0..m, 0..k) * b(0..k, 0..n) [+ addend]; a and b are floats, or b is a type that load_floats widens.
template <class C, class A, class B, class T>
PTO_LIGHT void multiply_boxes(elem_t<C>* c, const float* a, const T* b, Addend<elem_t<C>> addend, int64_t m,
                                 int64_t k, int64_t n)
{
    using AL = TileLines<A>;
    using BL = TileLines<B>;
    constexpr int c0 = 32 / static_cast<int>(sizeof(elem_t<A>));
    constexpr bool is_float = std::is_same<elem_t<C>, float>::value;
    constexpr bool narrow = kNr > kBoxLines && B::Cols % kNr != 0;
    constexpr bool direct = is_float && TileLines<C>::run == kBoxLines && TileLines<C>::by_row;
    const int64_t k_step = is_float ? (k > 0 ? k : 1) : kExactTerms;
    alignas(64) float block[kMr * kNr];
    for (int64_t n0 = 0; n0 < n; n0 += kNr) {
        const T* bp = b + B::offset(0, n0);
        const int64_t cols = min_of<int64_t>(kNr, n - n0);
        const int vectors = static_cast<int>(min_of<int64_t>(kNr, B::Cols - n0) / kLanes);  // that the tile has
        for (int64_t m0 = 0; m0 < m;) {
            // Rows up to the end of the box, at most kMr.
            const int64_t step = min_of<int64_t>(kMr, A::BoxRows - m0 % A::BoxRows);
            const int64_t rows = min_of(step, m - m0);
            const float* ap = a + AL::start(m0);
            Addend<elem_t<C>> first = addend;
            for (int64_t k0 = 0; k0 == 0 || k0 < k; k0 += k_step) {
                const int64_t k1 = min_of(k, k0 + k_step);
                Sink sink{block, nullptr, kNr, kLanes, 0, 0};
                bool whole = false;
                if constexpr (direct) {
                    whole = rows == step && cols == vectors * kLanes;
                    if (whole) {
                        constexpr int64_t vec = kNr > kBoxLines ? TileLines<C>::run_step : kLanes;
                        const int64_t at = C::offset(m0, n0);
                        sink = Sink{c + at, nullptr, kBoxLines, vec, kBoxLines, vec};
                        if (first.acc != nullptr) {
                            sink.in = first.acc + at;
                        } else if (first.bias != nullptr) {
                            sink.in = first.bias + n0;
                            sink.in_row = 0;
                            sink.in_vec = kLanes;
                        }
                    }
                }
                if constexpr (A::Rows == 1) {
                    if (narrow && vectors < kNv) {
                        multiply_block<1, narrow && kNr / kBoxLines == 1 ? kNv : kBoxLines / kLanes, c0>(
                            ap, AL::run_step, bp, BL::band_step, k0, k1, sink);
                    } else {
                        multiply_block<1, kNv, c0>(ap, AL::run_step, bp, BL::band_step, k0, k1, sink);
                    }
                } else {
                    multiply_rows<c0, narrow>(static_cast<int>(step), vectors, ap, AL::run_step, bp, BL::band_step, k0, k1,
                                      sink);
                }
                if (direct && !whole) {
                    put_part<C>(c, first, block, m0, n0, rows, cols);
                } else if (!whole) {
                    put_block<C>(c, first, block, m0, n0, rows, cols);
                }
                first = Addend<elem_t<C>>{c, nullptr};
            }
            m0 += step;
        }
    }
}

// Which element types the multiply kernel widens as it reads them; the others are widened before.
template <class T>
constexpr bool widens_on_load_v = !is_half_v<T> || PTO_HAVE_F16C;

template <class C, class A, class B>
PTO_LIGHT void multiply_tiles(elem_t<C>* c, const elem_t<A>* a, const elem_t<B>* b, Addend<elem_t<C>> addend,
                                 int64_t m, int64_t k, int64_t n)
{
    using T = elem_t<A>;
    constexpr int c0 = 32 / static_cast<int>(sizeof(T));
    static_assert(TileLines<A>::run == c0 && TileLines<B>::run == kBoxLines && B::BoxRows == c0,
                  "Left and Right tiles must be boxed with 512-byte fractals");
#if PTO_HAVE_AMX
    if constexpr (is_bf16_v<T> && A::Rows >= 16 && C::InnerCols == 16 && C::InnerRows == 16) {
        // Packing pays from a few rows on. Only whole boxes: in a partial one, only the valid elements may be written.
        if (m % 16 == 0 && n % 16 == 0 && k >= 16 && m > 0 &&
            amx_multiply_boxes({c, addend.acc, addend.bias, 16 * C::Rows}, amx_boxes<A>(a), amx_boxes<B>(b), m, k, n)) {
            return;
        }
    }
#endif
    if constexpr (std::is_same<T, float>::value) {
        multiply_boxes<C, A, B>(c, a, b, addend, m, k, n);
    } else {
        const int64_t a_floats = min_of<int64_t>(A::StorageNumel, round_up(m, A::BoxRows) * A::Cols);
        constexpr int64_t b_floats = widens_on_load_v<T> ? 0 : B::StorageNumel;
        float* work = reinterpret_cast<float*>(work_buffer((round_up(a_floats, 16) + b_floats) * 4));
        if (work == nullptr) {
            return;
        }
        to_floats(a, work, a_floats);
        if constexpr (widens_on_load_v<T>) {
            multiply_boxes<C, A, B>(c, work, b, addend, m, k, n);
        } else {
            float* right = work + round_up(a_floats, 16);
            to_floats(b, right, b_floats);
            multiply_boxes<C, A, B>(c, work, static_cast<const float*>(right), addend, m, k, n);
        }
    }
}

}  // namespace detail
}  // namespace pto

#endif
