// The functions that transfer/layout_copy.hpp declares and that are the same in every kernel.
#ifndef PTO_DETAIL_ONCE_LAYOUT_COPY_HPP
#define PTO_DETAIL_ONCE_LAYOUT_COPY_HPP

#include "../transfer/layout_copy.hpp"

namespace pto {
namespace detail {

PTO_NOINLINE PTO_ONCE void copy_line_bytes(Bytes* dst, int64_t dst_step, const Bytes* src, int64_t src_step, int64_t count,
                                           int64_t length)
{
    if (dst_step == length && src_step == length) {
        length *= count;
        count = count > 0 ? 1 : 0;
    }
    constexpr int vector = kVectorBytes < 16 ? 16 : kVectorBytes;
    const bool few = length <= 4 * vector && length % vector == 0;
    for (int64_t i = 0; i < count; ++i, dst += dst_step, src += src_step) {
        if (few) {
            copy_vectors<vector>(dst, src, length);
        } else {
            std::memcpy(dst, src, static_cast<std::size_t>(length));
        }
    }
}

PTO_NOINLINE PTO_ONCE void move_boxes(Bytes* dst, const BoxSteps& d, const Bytes* src, const BoxSteps& s, int64_t run,
                                      int64_t count, int64_t length)
{
    const int64_t band = min_of(d.band, s.band);
    for (int64_t line = 0; line < count; line += band) {
        Bytes* to = dst + line / d.band * d.band_step + line % d.band * run;
        const Bytes* from = src + line / s.band * s.band_step + line % s.band * run;
        const int64_t bytes = run * min_of(band, count - line);
        for (int64_t pos = 0; pos < length; pos += run, to += d.run_step, from += s.run_step) {
            copy_vectors<32>(to, from, bytes);
        }
    }
}

}  // namespace detail
}  // namespace pto

#endif
