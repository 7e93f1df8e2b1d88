// Scalar quantisation in stores from an accumulator. The quant word holds a float scale in bits 0-31 and a signed
// 9-bit offset in bits 37-45; whether the result is signed follows from the destination type.
//   integer destination: clamp(rint(v * scale + offset));  float destination: cast(v * scale)
#ifndef PTO_DETAIL_QUANTIZED_STORE_HPP
#define PTO_DETAIL_QUANTIZED_STORE_HPP

#include "../vector/cast.hpp"

namespace pto {
namespace detail {

template <class D, class S, bool WithRelu, bool WithAdd>
struct QuantRun {
    float scale;
    float offset;

    PTO_INLINE explicit QuantRun(uint64_t word) : scale(bit_cast<float>(static_cast<uint32_t>(word & 0xffffffffu)))
    {
        const int field = static_cast<int>((word >> 37) & 0x1ffu);
        offset = is_float_v<D> ? 0.0f : static_cast<float>(field < 256 ? field : field - 512);
    }
    void operator()(D* dst, const S* src, int64_t n) const
    {
        float value[kChunk];
        for (int64_t at = 0; at < n; at += kChunk) {
            const int64_t m = min_of<int64_t>(kChunk, n - at);
            for (int64_t i = 0; i < m; ++i) {
                const float v = static_cast<float>(src[at + i]);
                value[i] = (WithRelu && v < 0.0f ? 0.0f : v) * scale + offset;
            }
            D out[kChunk];
            convert_chunk<D, float, false>(out, value, m, is_float_v<D> ? RoundMode::CAST_NONE : RoundMode::CAST_RINT,
                                           !is_float_v<D>);
            if constexpr (WithAdd) {
                add_run(dst + at, static_cast<const D*>(out), m);
            } else {
                std::memcpy(dst + at, out, static_cast<std::size_t>(m) * sizeof(D));
            }
        }
    }
};

}  // namespace detail
}  // namespace pto

#endif
