// The multiply kernel behind TMATMUL and TGEMV, on float. Left tiles are read in place (or widened once), a panel of
// the right tile is repacked k-major, and a register block of kMr x (kNv vectors) runs over k.
#ifndef PTO_DETAIL_GEMM_HPP
#define PTO_DETAIL_GEMM_HPP

#include "runs.hpp"

namespace pto {
namespace detail {

// Register block: rows of the left tile times vectors of columns, sized to the register file.
constexpr int kNv = 2;
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int kMr = 8;
#elif defined(__AVX__)
constexpr int kMr = 6;
#else
constexpr int kMr = 4;
#endif
constexpr int kLanes = kVectorBytes / 4;
constexpr int kNr = kNv * kLanes;
// Products of two int8 values are at most 2^14, so sums of 1024 of them are exact in float.
constexpr int64_t kExactTerms = 1024;

// out[i][n] = sum over k in [begin, end) of a(i, k) * b[k][n].
//   a(i, k) = a[k / C0 * a_step + i * C0 + k % C0]: the boxes of a Left tile.
template <int Mr, int C0>
PTO_NOINLINE PTO_FUSED void multiply_block(const float* a, int64_t a_step, const float* b, int64_t begin, int64_t end,
                                           float* out)
{
    PTO_FUSED_BODY
    using V = Vec<float, kLanes>;
    V acc[Mr][kNv] = {};
    for (int64_t box = begin; box < end; box += C0) {
        const float* ak = a + box / C0 * a_step;
        const float* bk = b + box * kNr;
        const int64_t n = end - box < C0 ? end - box : C0;
        if (n == C0) {
#if defined(__clang__)
#pragma clang loop unroll_count(4)
#else
#pragma GCC unroll 4
#endif
            for (int k = 0; k < C0; ++k) {
                V bv[kNv];
                PTO_UNROLL
                for (int j = 0; j < kNv; ++j) {
                    std::memcpy(&bv[j], bk + k * kNr + j * kLanes, sizeof(V));
                }
                PTO_UNROLL
                for (int i = 0; i < Mr; ++i) {
                    const float x = ak[i * C0 + k];
                    PTO_UNROLL
                    for (int j = 0; j < kNv; ++j) {
                        acc[i][j] += x * bv[j];
                    }
                }
            }
        } else {
            for (int64_t k = 0; k < n; ++k) {
                V bv[kNv];
                PTO_UNROLL
                for (int j = 0; j < kNv; ++j) {
                    std::memcpy(&bv[j], bk + k * kNr + j * kLanes, sizeof(V));
                }
                PTO_UNROLL
                for (int i = 0; i < Mr; ++i) {
                    const float x = ak[i * C0 + k];
                    PTO_UNROLL
                    for (int j = 0; j < kNv; ++j) {
                        acc[i][j] += x * bv[j];
                    }
                }
            }
        }
    }
    PTO_UNROLL
    for (int i = 0; i < Mr; ++i) {
        PTO_UNROLL
        for (int j = 0; j < kNv; ++j) {
            std::memcpy(out + i * kNr + j * kLanes, &acc[i][j], sizeof(V));
        }
    }
}

template <class T>
PTO_INLINE void to_floats(const T* src, float* dst, int64_t n)
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

// panel[k][0 .. kNr) = b(k, n0 ..), for whole boxes of k. Columns beyond the physical tile are zero.
//   b(k, n) = b[k / C0 * cols * C0 + n * C0 + k % C0]: the boxes of a Right tile.
template <class T>
PTO_NOINLINE void pack_panel(const T* b, int64_t cols, int64_t k_boxes, int64_t n0, float* panel)
{
    constexpr int c0 = 32 / static_cast<int>(sizeof(T));
    for (int64_t box = 0; box < k_boxes; ++box) {
        for (int64_t g = 0; g < kNr; g += 8) {
            float* dst = panel + box * c0 * kNr + g;
            if (n0 + g >= cols) {
                for (int k = 0; k < c0; ++k) {
                    std::memset(dst + k * kNr, 0, 8 * sizeof(float));
                }
                continue;
            }
            const T* src = b + box * cols * c0 + (n0 + g) * c0;
            float wide[8 * c0];
            const float* rows = wide;
            if constexpr (std::is_same<T, float>::value) {
                rows = src;
            } else {
                to_floats(src, wide, 8 * c0);
            }
            for (int k = 0; k < c0; k += 8) {
                transpose_block<int32_t, 8>(reinterpret_cast<int32_t*>(dst + k * kNr), kNr,
                                            reinterpret_cast<const int32_t*>(rows + k), c0);
            }
        }
    }
}

// What the product is added to.
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
PTO_NOINLINE void put_block(elem_t<C>* c, const Addend<elem_t<C>>& addend, const float* block, int64_t m, int64_t n,
                            int64_t rows, int64_t cols)
{
    using T = elem_t<C>;
    using L = TileLines<C>;
    for (int64_t j = 0; j < cols; j += L::run) {
        const int64_t base = L::offset(m, n + j);
        for (int64_t i = 0; i < rows; ++i) {
            const float* p = block + i * kNr + j;
            T* out = c + base + i * L::line_step;
            const T* in = addend.acc != nullptr    ? addend.acc + base + i * L::line_step
                          : addend.bias != nullptr ? addend.bias + n + j
                                                   : nullptr;
            if (cols - j >= L::run) {
                put_run(out, p, in, L::run);
            } else {
                put_run(out, p, in, cols - j);
            }
        }
    }
}

// c(0..m, 0..n) = a(0..m, 0..k) * b(0..k, 0..n) [+ addend].
template <class C, class A, class B>
PTO_NOINLINE void multiply_tiles(elem_t<C>* c, const elem_t<A>* a, const elem_t<B>* b, Addend<elem_t<C>> addend,
                                 int64_t m, int64_t k, int64_t n)
{
    using T = elem_t<A>;
    using AL = TileLines<A>;
    constexpr int c0 = 32 / static_cast<int>(sizeof(T));
    static_assert(AL::run == c0, "Left tile must be boxed with 512-byte fractals");
    constexpr bool in_place = std::is_same<T, float>::value && A::Rows >= 16;
    constexpr int64_t a_floats = in_place ? 0 : A::StorageNumel + kMr * c0;
    const int64_t k_boxes = (k + c0 - 1) / c0;
    const int64_t panel_floats = k_boxes * c0 * kNr;
    float* work = reinterpret_cast<float*>(work_buffer((round_up(a_floats, 16) + panel_floats) * 4));
    if (work == nullptr) {
        return;
    }
    float* panel = work + round_up(a_floats, 16);
    const float* left = work;
    if constexpr (in_place) {
        left = a;
    } else {
        to_floats(a, work, A::StorageNumel);
        std::memset(work + A::StorageNumel, 0, kMr * c0 * sizeof(float));
    }
    const int64_t k_step = std::is_same<elem_t<C>, float>::value ? (k > 0 ? k : 1) : kExactTerms;
    alignas(64) float block[kMr * kNr];
    for (int64_t n0 = 0; n0 < n; n0 += kNr) {
        if constexpr (B::BoxRows == c0) {
            pack_panel(b, B::Cols, k_boxes, n0, panel);
        } else {  // a Right tile of a single row
            for (int64_t j = 0; j < kNr; ++j) {
                panel[j] = n0 + j < n ? static_cast<float>(to_compute(b[B::offset(0, n0 + j)])) : 0.0f;
            }
        }
        const int64_t cols = min_of<int64_t>(kNr, n - n0);
        for (int64_t m0 = 0; m0 < m;) {
            // Rows up to the end of the box, at most kMr.
            const int64_t rest = A::BoxRows - m0 % A::BoxRows;
            const int64_t step = min_of<int64_t>(kMr, rest);
            const int64_t rows = min_of(step, m - m0);
            const float* ap = left + AL::start(m0);
            Addend<elem_t<C>> first = addend;
            for (int64_t k0 = 0; k0 == 0 || k0 < k; k0 += k_step) {
                const int64_t k1 = min_of(k, k0 + k_step);
                if constexpr (A::Rows == 1) {
                    multiply_block<1, c0>(ap, AL::run_step, panel, k0, k1, block);
                } else {
                    if (16 % kMr != 0 && step == 16 % kMr) {
                        multiply_block<(16 % kMr != 0 ? 16 % kMr : kMr), c0>(ap, AL::run_step, panel, k0, k1, block);
                    } else {
                        multiply_block<kMr, c0>(ap, AL::run_step, panel, k0, k1, block);
                    }
                }
                put_block<C>(c, first, block, m0, n0, rows, cols);
                first = Addend<elem_t<C>>{c, nullptr};
            }
            m0 += step;
        }
    }
}

}  // namespace detail
}  // namespace pto

#endif
