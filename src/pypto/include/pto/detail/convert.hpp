// Bulk conversion of 16-bit floats: widen (half / bfloat16 -> float) and narrow (the way back, nearest even) over
// contiguous runs. All arithmetic on 16-bit floats goes through these two, a cache-resident chunk at a time.
#ifndef PTO_DETAIL_CONVERT_HPP
#define PTO_DETAIL_CONVERT_HPP

#include "types.hpp"

namespace pto {
namespace detail {

// Elements per chunk: two or three float chunks stay in the first-level cache.
constexpr int kChunk = 512;

#if defined(__F16C__) && !defined(PTO_CPU_SOFT_HALF)
#define PTO_HAVE_F16C 1
PTO_INLINE Vec<float, 8> widen8(const half* src)
{
#if defined(__clang__)
    typedef _Float16 Half8 __attribute__((vector_size(16)));
    return __builtin_convertvector(load_vec<Half8>(src), Vec<float, 8>);
#else
    return __builtin_ia32_vcvtph2ps256(load_vec<Vec<int16_t, 8>>(src));
#endif
}
PTO_INLINE void narrow8(Vec<float, 8> value, half* dst)
{
    store_vec(dst, __builtin_ia32_vcvtps2ph256(value, 0));
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

template <class T>
PTO_NOINLINE void widen(const T* src, float* dst, int64_t n)
{
#if PTO_HAVE_F16C
    if constexpr (is_half_v<T>) {
        int64_t i = 0;
        for (; i + 16 <= n; i += 16) {
            store_vec(dst + i, widen8(src + i));
            store_vec(dst + i + 8, widen8(src + i + 8));
        }
        widen_loop(src + i, dst + i, n - i);
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
        for (; i + 16 <= n; i += 16) {
            narrow8(load_vec<Vec<float, 8>>(src + i), dst + i);
            narrow8(load_vec<Vec<float, 8>>(src + i + 8), dst + i + 8);
        }
        narrow_loop(src + i, dst + i, n - i);
        return;
    }
#endif
    narrow_loop(src, dst, n);
}

}  // namespace detail
}  // namespace pto

#endif
