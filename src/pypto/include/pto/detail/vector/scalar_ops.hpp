// The scalar operations that the drivers apply, one small type each.
//  - Integers wrap modulo 2^n. Division truncates toward zero; x / 0 is 0.
//  - Floats follow IEEE 754: x / 0 is infinite or NaN. max and min give NaN if either operand is NaN, and of two
//    equal operands the second: where both are zeros, its sign. relu is max(x, 0), so that -0 becomes 0.
//  - A shift by a negative count or by at least the width gives 0 (right shift of a negative value: -1).
#ifndef PTO_DETAIL_SCALAR_OPS_HPP
#define PTO_DETAIL_SCALAR_OPS_HPP

#include "math.hpp"

namespace pto {
namespace detail {

template <class C>
constexpr bool real_v = std::is_floating_point<C>::value;

struct Identity {
    template <class C>
    PTO_INLINE C operator()(C a) const { return a; }
};
struct Add {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return a + b;
        } else {
            return static_cast<C>(static_cast<wrap_t<C>>(a) + static_cast<wrap_t<C>>(b));
        }
    }
};
struct Sub {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return a - b;
        } else {
            return static_cast<C>(static_cast<wrap_t<C>>(a) - static_cast<wrap_t<C>>(b));
        }
    }
};
struct Mul {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return a * b;
        } else {
            return static_cast<C>(static_cast<wrap_t<C>>(a) * static_cast<wrap_t<C>>(b));
        }
    }
};
struct Div {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return a / b;
        } else if constexpr (std::is_signed<C>::value) {
            if (b == 0) {
                return 0;
            }
            // The one overflow, minimum / -1, wraps: divide by -1 by negating.
            return b == -1 ? static_cast<C>(wrap_t<C>{0} - static_cast<wrap_t<C>>(a)) : static_cast<C>(a / b);
        } else {
            return b == 0 ? C{0} : static_cast<C>(a / b);
        }
    }
};
struct Max {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return ((a > b) | (a != a)) ? a : b;
        } else {
            return a > b ? a : b;
        }
    }
};
struct Min {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        if constexpr (real_v<C>) {
            return ((a < b) | (a != a)) ? a : b;
        } else {
            return a < b ? a : b;
        }
    }
};

struct And {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const { return static_cast<C>(a & b); }
};
struct Or {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const { return static_cast<C>(a | b); }
};
struct Xor {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const { return static_cast<C>(a ^ b); }
};
struct Not {
    template <class C>
    PTO_INLINE C operator()(C a) const { return static_cast<C>(~a); }
};
struct Shl {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        constexpr wrap_t<C> width = sizeof(C) * 8;
        const wrap_t<C> count = static_cast<wrap_t<C>>(b);
        return count < width ? static_cast<C>(static_cast<wrap_t<C>>(a) << (count & (width - 1))) : C{0};
    }
};
struct Shr {
    template <class C>
    PTO_INLINE C operator()(C a, C b) const
    {
        constexpr wrap_t<C> width = sizeof(C) * 8;
        const wrap_t<C> count = static_cast<wrap_t<C>>(b);
        C whole = 0;
        if constexpr (std::is_signed<C>::value) {
            whole = a < 0 ? static_cast<C>(-1) : C{0};
        }
        return count < width ? static_cast<C>(a >> (count & (width - 1))) : whole;
    }
};

struct Abs {
    template <class C>
    PTO_INLINE C operator()(C a) const
    {
        if constexpr (std::is_same<C, float>::value) {
            return __builtin_fabsf(a);
        } else if constexpr (real_v<C>) {
            return __builtin_fabs(a);
        } else {
            return a < 0 ? static_cast<C>(wrap_t<C>{0} - static_cast<wrap_t<C>>(a)) : a;
        }
    }
};
struct Neg {
    template <class C>
    PTO_INLINE C operator()(C a) const
    {
        if constexpr (real_v<C>) {
            return -a;
        } else {
            return static_cast<C>(wrap_t<C>{0} - static_cast<wrap_t<C>>(a));
        }
    }
};
struct Relu {  // NaN stays NaN
    template <class C>
    PTO_INLINE C operator()(C a) const
    {
        if constexpr (std::is_unsigned<C>::value) {
            return a;
        } else {
            return Max{}(a, C{0});
        }
    }
};
struct Recip {
    template <class C>
    PTO_INLINE C operator()(C a) const { return Div{}(C{1}, a); }
};

// Functions of real numbers. On an integer tile they are computed in double and truncated to 32 bits (64 bits for types
// that need them); values out of range become the minimum of that width, as in x86 conversions.
template <class C>
PTO_INLINE C integer_part(double value)
{
    using Wide = std::conditional_t<(sizeof(C) < 4 || std::is_same<C, int32_t>::value), int32_t, int64_t>;
    const double low = static_cast<double>(std::numeric_limits<Wide>::min());
    const bool fits = (value > low - 1) & (value < -low);
    return static_cast<C>(fits ? static_cast<Wide>(value) : std::numeric_limits<Wide>::min());
}

struct Exp {
    using run_tag = void;
    template <class C>
    PTO_INLINE C operator()(C a) const
    {
        return integer_part<C>(exp_value(static_cast<double>(a)));
    }
    template <class C>
    PTO_INLINE void run(C* dst, const C* src, int64_t n) const
    {
        if constexpr (real_v<C>) {
            exp_run(dst, src, n);
        } else {
            for (int64_t i = 0; i < n; ++i) {
                dst[i] = (*this)(src[i]);
            }
        }
    }
};
struct Log {
    template <class C>
    PTO_INLINE C operator()(C a) const
    {
        if constexpr (real_v<C>) {
            return log_value(a);
        } else {
            return integer_part<C>(log_value(static_cast<double>(a)));
        }
    }
};
struct Sqrt {
    using run_tag = void;
    template <class C>
    PTO_INLINE void run(C* dst, const C* src, int64_t n) const { sqrt_run(dst, src, n); }
};
struct Rsqrt {
    using run_tag = void;
    template <class C>
    PTO_INLINE void run(C* dst, const C* src, int64_t n) const
    {
        sqrt_run(dst, src, n);
        PTO_IVDEP
        for (int64_t i = 0; i < n; ++i) {
            dst[i] = C{1} / dst[i];
        }
    }
};

}  // namespace detail
}  // namespace pto

#endif
