// Bulk conversion of 16-bit floats: widen (half / bfloat16 -> float) and narrow (the inverse, nearest even) over
// contiguous runs. All arithmetic on 16-bit floats goes through these two, a cache-resident chunk at a time.
#ifndef PTO_DETAIL_HALF_CONVERSION_HPP
#define PTO_DETAIL_HALF_CONVERSION_HPP

#include "types.hpp"

namespace pto {
namespace detail {

// Elements per chunk: two or three float chunks stay in the first-level cache.
constexpr int kChunk = 512;

// Hardware conversion of kHalfStep halves at a time, in vectors as wide as those that read the result.
// (clang before 15 has no _Float16 where the processor does not compute with it.)
#if defined(__F16C__) && !defined(PTO_CPU_SOFT_HALF) && !defined(PTO_SCALAR) && (PTO_NATIVE_HALF || !defined(__clang__))
#define PTO_HAVE_F16C 1
#if defined(__AVX512F__)
constexpr int kHalfStep = 16;
#else
constexpr int kHalfStep = 8;
#endif
PTO_INLINE void widen_step(const half* src, float* dst)
{
#if defined(__clang__)
    typedef _Float16 Halves __attribute__((vector_size(2 * kHalfStep)));
    store_vec(dst, __builtin_convertvector(load_vec<Halves>(src), Vec<float, kHalfStep>));
#elif defined(__AVX512F__)
    const Vec<float, 16> zero = {};
    store_vec(dst, __builtin_ia32_vcvtph2ps512_mask(load_vec<Vec<int16_t, 16>>(src), zero,
                                                    static_cast<unsigned short>(-1), 4));
#else
    store_vec(dst, __builtin_ia32_vcvtph2ps256(load_vec<Vec<int16_t, 8>>(src)));
#endif
}
PTO_INLINE void narrow_step(const float* src, half* dst)
{
#if defined(__clang__)
    typedef _Float16 Halves __attribute__((vector_size(2 * kHalfStep)));
    store_vec(dst, __builtin_convertvector(load_vec<Vec<float, kHalfStep>>(src), Halves));
#elif defined(__AVX512F__)
    const Vec<int16_t, 16> zero = {};
    store_vec(dst, __builtin_ia32_vcvtps2ph512_mask(load_vec<Vec<float, 16>>(src), 0, zero,
                                                    static_cast<unsigned short>(-1)));
#else
    store_vec(dst, __builtin_ia32_vcvtps2ph256(load_vec<Vec<float, 8>>(src), 0));
#endif
}
#else
#define PTO_HAVE_F16C 0
#endif

template <class T>
PTO_INLINE void widen_loop(const T* src, float* dst, int64_t n)
{
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = to_compute(src[i]);
    }
}
template <class T>
PTO_INLINE void narrow_loop(const float* src, T* dst, int64_t n)
{
    PTO_IVDEP
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = from_compute<T>(src[i]);
    }
}

// The remainder of less than a vector.
template <class T>
PTO_COLD void widen_rest(const T* src, float* dst, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = to_compute(src[i]);
    }
}
template <class T>
PTO_COLD void narrow_rest(const float* src, T* dst, int64_t n)
{
    for (int64_t i = 0; i < n; ++i) {
        dst[i] = from_compute<T>(src[i]);
    }
}

template <class T>
PTO_NOINLINE void widen(const T* src, float* dst, int64_t n)
{
#if PTO_HAVE_F16C
    if constexpr (is_half_v<T>) {
        int64_t i = 0;
        for (; i + kHalfStep <= n; i += kHalfStep) {
            widen_step(src + i, dst + i);
        }
        if (i < n) {
            widen_rest(src + i, dst + i, n - i);
        }
        return;
    }
#endif
    widen_loop(src, dst, n);
}

template <class T>
PTO_NOINLINE void narrow(const float* src, T* dst, int64_t n)
{
#if PTO_HAVE_F16C
    if constexpr (is_half_v<T>) {
        int64_t i = 0;
        for (; i + kHalfStep <= n; i += kHalfStep) {
            narrow_step(src + i, dst + i);
        }
        if (i < n) {
            narrow_rest(src + i, dst + i, n - i);
        }
        return;
    }
#endif
    narrow_loop(src, dst, n);
}

}  // namespace detail
}  // namespace pto

#endif
