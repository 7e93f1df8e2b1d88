// Enumerations and small constants of the instruction set, with the values of the real headers.
#ifndef PTO_DETAIL_ENUMS_HPP
#define PTO_DETAIL_ENUMS_HPP

#include "config.hpp"

namespace pto {

enum class TileType { Vec, Mat, Left, Right, Acc, Bias, Scaling, ScaleLeft, ScaleRight, Ctrl };
enum class BLayout { RowMajor = 0, ColMajor = 1 };
enum class SLayout { NoneBox = 0, RowMajor = 1, ColMajor = 2 };
enum class Layout {
    ND, DN, NZ, SCALE, MX_A_ND, MX_A_DN, MX_A_ZZ, MX_B_ND, MX_B_DN, MX_B_NN, HIF4_A_ZZ, HIF4_B_NN, NC1HWC0, GNC1HWC0,
    NCHW, GNCHW, NHWC, NDC1HWC0, NCDHW, FRACTAL_Z, FRACTAL_Z_S16S8, FRACTAL_Z_3D, MAX
};
enum class CompactMode { Null, Normal, RowPlusOne, RowAlignedPadding };
enum class PadValue : uint64_t { Null = 0, Zero = 1, Max = 2, Min = 3 };

// A custom pad value carries the bits of a float below bit 32. The bits are computed by hand, because C++17 has no
// constexpr bit cast: scale into [1, 2), then read off 23 fraction bits. Subnormals become zero.
constexpr uint32_t PadFloatBits(float value)
{
    uint32_t sign = value < 0 ? 0x80000000u : 0u;
    float magnitude = value < 0 ? -value : value;
    if (!(magnitude >= 1.17549435e-38f)) {
        return magnitude == magnitude ? sign : 0x7fc00000u;
    }
    if (magnitude > 3.40282347e+38f) {
        return sign | 0x7f800000u;
    }
    int exponent = 127;
    while (magnitude >= 2.0f) {
        magnitude *= 0.5f;
        ++exponent;
    }
    while (magnitude < 1.0f) {
        magnitude *= 2.0f;
        --exponent;
    }
    const uint32_t fraction = static_cast<uint32_t>((magnitude - 1.0f) * 8388608.0f);
    return sign | (static_cast<uint32_t>(exponent) << 23) | fraction;
}
constexpr PadValue PadValueCustom(float value)
{
    return static_cast<PadValue>((1ull << 32) | PadFloatBits(value));
}
template <uint32_t Bits>
constexpr PadValue PadCustom = static_cast<PadValue>((1ull << 32) | Bits);

enum class RoundMode { CAST_NONE, CAST_RINT, CAST_ROUND, CAST_FLOOR, CAST_CEIL, CAST_TRUNC, CAST_ODD };
enum class SaturationMode { ON = 0, OFF = 1 };
enum class AtomicType { AtomicNone = 0, AtomicAdd = 1 };
enum class ReluPreMode { NoRelu = 0, NormalRelu = 1 };
enum class AccPhase { Unspecified = 0, Partial = 2, Final = 3 };
enum class STPhase { Unspecified = 0, Partial = 2, Final = 3 };
enum class CmpMode { EQ, NE, LT, LE, GT, GE };
enum class TFillPadMode { Normal, InPlace, Expand };

enum class ExpAlgorithm { DEFAULT, HIGH_PRECISION };
enum class LogAlgorithm { DEFAULT, HIGH_PRECISION };
enum class SqrtAlgorithm { DEFAULT, HIGH_PRECISION };
enum class RsqrtAlgorithm { DEFAULT, HIGH_PRECISION };
enum class RecipAlgorithm { DEFAULT, HIGH_PRECISION };
enum class DivAlgorithm { DEFAULT, HIGH_PRECISION };
enum class PowAlgorithm { DEFAULT, HIGH_PRECISION };

constexpr int DYNAMIC = -1;

}  // namespace pto

#endif
