// TQUANT and TDEQUANT: between floats and integers with one scale (and offset) for each row. TPRINT prints a tile.
#ifndef PTO_DETAIL_QUANTIZE_HPP
#define PTO_DETAIL_QUANTIZE_HPP

#include "cast.hpp"

namespace pto {

enum class QuantType { INT8_SYM, INT8_ASYM };
enum class PrintFormat { Width8_Precision4, Width8_Precision2, Width10_Precision6 };

namespace detail {

// The parameter of row r: a column, or the first column of a row-major tile.
template <class P>
PTO_INLINE float row_parameter(const P& parameters, int64_t r)
{
    return static_cast<float>(to_compute(elements(parameters)[P::offset(r, 0)]));
}

template <QuantType Type, class D, class S, class P>
PTO_INLINE void quant_rule()
{
    static_assert(is_tile_data_v<D> && is_tile_data_v<S> && is_tile_data_v<P>, "TQUANT: operands must be tiles");
    static_assert(std::is_same<typename S::DType, float>::value && std::is_same<typename P::DType, float>::value,
                  "TQUANT: source and scale must be float");
    static_assert(std::is_same<typename D::DType, std::conditional_t<Type == QuantType::INT8_SYM, int8_t, uint8_t>>::value,
                  "TQUANT: the destination must be int8_t (INT8_SYM) or uint8_t (INT8_ASYM)");
    static_assert(is_nd_v<D> && is_nd_v<S>, "TQUANT: source and destination must be RowMajor without boxes");
}

template <class D, class S, class Scale, class Offset>
PTO_INLINE RecordEvent quantize(D& d, S& s, Scale& scale, Offset* offset)
{
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s, scale) && covers(s, rows, cols) && covers(scale, rows, 1) &&
        (offset == nullptr || (addressed(*offset) && covers(*offset, rows, 1)))) {
        for (int64_t r = 0; r < rows; ++r) {
            const float factor = row_parameter(scale, r);
            const float shift = offset == nullptr ? 0.0f : row_parameter(*offset, r);
            for (int64_t c = 0; c < cols; c += kChunk) {
                const int64_t n = min_of<int64_t>(kChunk, cols - c);
                float value[kChunk];
                const float* from = elements(s) + r * S::Cols + c;
                for (int64_t i = 0; i < n; ++i) {
                    value[i] = from[i] * factor + shift;
                }
                convert_chunk<elem_t<D>, float, false>(elements(d) + r * D::Cols + c, value, n, RoundMode::CAST_RINT, true);
            }
        }
    }
    fence();
    return {};
}

}  // namespace detail

// d = clamp(rint(s * scale + offset)), scale and offset by row; without offset for INT8_SYM. The NPU needs a scratch tile and
// overwrites s.
template <QuantType Type, class D, class S, class P, class... E, detail::if_tiles<D, S, P> = 0,
          detail::if_events<E...> = 0>
PTO_INSTRUCTION RecordEvent TQUANT(D& d, S& s, P& scale, E&... events)
{
    detail::quant_rule<Type, D, S, P>();
    static_assert(Type == QuantType::INT8_SYM, "TQUANT: INT8_ASYM needs an offset tile");
    detail::wait_all(events...);
    return detail::quantize(d, s, scale, static_cast<P*>(nullptr));
}
template <QuantType Type, class D, class S, class P, class O, class... E, detail::if_tiles<D, S, P, O> = 0>
PTO_INSTRUCTION RecordEvent TQUANT(D& d, S& s, P& scale, O* offset, E&... events)
{
    detail::quant_rule<Type, D, S, P>();
    detail::wait_all(events...);
    return detail::quantize(d, s, scale, offset);
}
template <QuantType Type, class D, class S, class P, class T, class... E, detail::if_tiles<D, S, P, T> = 0>
PTO_INSTRUCTION RecordEvent TQUANT(D& d, S& s, P& scale, T&, E&&... rest)
{
    return TQUANT<Type>(d, s, scale, rest...);
}

// d = (s - offset) * scale, scale and offset by row.
template <class D, class S, class P, class O, class... E, detail::if_tiles<D, S, P, O> = 0>
PTO_INSTRUCTION RecordEvent TDEQUANT(D& d, S& s, P& scale, O& offset, E&... events)
{
    using namespace detail;
    static_assert(std::is_same<typename D::DType, float>::value, "TDEQUANT: the destination must be float");
    static_assert(is_any_v<typename S::DType, int8_t, int16_t>, "TDEQUANT: the source must be int8_t or int16_t");
    static_assert(std::is_same<typename P::DType, float>::value && std::is_same<typename O::DType, float>::value,
                  "TDEQUANT: scale and offset must be float");
    static_assert(is_nd_v<D> && is_nd_v<S>, "TDEQUANT: source and destination must be RowMajor without boxes");
    wait_all(events...);
    fence();
    const int rows = d.GetValidRow(), cols = d.GetValidCol();
    if (addressed(d, s, scale, offset) && covers(s, rows, cols) && covers(scale, rows, 1) && covers(offset, rows, 1)) {
        for (int64_t r = 0; r < rows; ++r) {
            const float factor = row_parameter(scale, r), shift = row_parameter(offset, r);
            const elem_t<S>* from = elements(s) + r * S::Cols;
            float* to = elements(d) + r * D::Cols;
            for (int64_t c = 0; c < cols; ++c) {
                to[c] = (static_cast<float>(from[c]) - shift) * factor;
            }
        }
    }
    fence();
    return {};
}

// Prints the valid region: a header line, then one line for each row.
template <PrintFormat Format = PrintFormat::Width8_Precision4, class Tl, class... E, detail::if_tiles<Tl> = 0>
PTO_INSTRUCTION RecordEvent TPRINT(Tl& tile, E&...)
{
    using namespace detail;
    fence();
    const int rows = tile.GetValidRow(), cols = tile.GetValidCol();
    if (addressed(tile)) {
        constexpr int width = Format == PrintFormat::Width10_Precision6 ? 10 : 8;
        constexpr int digits = Format == PrintFormat::Width10_Precision6  ? 6
                               : Format == PrintFormat::Width8_Precision2 ? 2
                                                                          : 4;
        __builtin_printf("TPRINT %dx%d\n", rows, cols);
        for (int r = 0; r < rows; ++r) {
            for (int c = 0; c < cols; ++c) {
                const auto value = to_compute(elements(tile)[Tl::offset(r, c)]);
                if constexpr (real_v<compute_t<elem_t<Tl>>>) {
                    __builtin_printf("%*.*f ", width, digits, static_cast<double>(value));
                } else {
                    __builtin_printf("%*lld ", width, static_cast<long long>(value));
                }
            }
            __builtin_printf("\n");
        }
    }
    return {};
}

}  // namespace pto

#endif
