// Compiler and target configuration: which vectors exist here, how a loop is made to vectorise, and the
// qualifier macros of the NPU tool chain (all empty on a CPU). Nothing in this file depends on another one.
#ifndef PTO_DETAIL_CONFIG_HPP
#define PTO_DETAIL_CONFIG_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// Function qualifiers of the NPU compiler. Kernels are `__aicore__ __attribute__((always_inline)) void f(...)` without
// `inline`, which cannot be inlined into a shared object as long as another object could replace f. Protected visibility
// rules that out and still exports the entry point.
//
// A kernel's own code is calls of instructions. What -O3 finds out about thousands of calls in one function helps none of
// them, and some of it (points-to sets, the growth of inlining) takes time quadratic in their number; so g++ optimises the
// kernel function as at -O1. The instructions are separate functions and keep their level.
#if defined(__GNUC__) && !defined(__clang__)
#define PTO_KERNEL_LEVEL , optimize(1, "no-tree-pta")
#else
#define PTO_KERNEL_LEVEL
#endif
#define __global__
#if defined(__ELF__)
#define __aicore__ __attribute__((visibility("protected") PTO_KERNEL_LEVEL))
#elif defined(_WIN32)
#define __aicore__ __attribute__((dllexport))
#else
#define __aicore__ __attribute__((visibility("default")))
#endif
#define AICORE __aicore__
#if defined(_WIN32)
#define PTO_SHARED
#else
#define PTO_SHARED __attribute__((visibility("default")))
#endif
// Memory qualifiers.
#define __gm__
#define __ubuf__
#define __cbuf__
#define __ca__
#define __cb__
#define __cc__
#define __fbuf__
#define __biasbuf__
#define __in__
#define __out__
#define __tf__

// g++ warns about such functions (-Wattributes: might not be inlinable). Off for the rest of the unit on purpose.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wattributes"
// Passing wide vectors between our own inlined helpers is not an ABI boundary.
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#if defined(__clang__)
// An unoptimised build does not vectorise, and clang would say so at every PTO_IVDEP.
#pragma clang diagnostic ignored "-Wpass-failed"
// As above: our own inlined helpers pass wide vectors.
#pragma clang diagnostic ignored "-Wpsabi"
#endif

#define PTO_INLINE inline __attribute__((always_inline))
// noclone: g++ would compile variants of such functions for the arguments of some calls.
#if defined(__GNUC__) && !defined(__clang__)
#define PTO_NOINLINE __attribute__((noinline, noclone))
#else
#define PTO_NOINLINE __attribute__((noinline))
#endif
// An instruction is one function for each combination of operand types: expanding its loops at every use would make the
// compile time of a kernel grow with the square of its length, and a call costs nothing compared to the loops.
#define PTO_INSTRUCTION PTO_NOINLINE
// Functions that are compiled in every kernel and whose own run time is negligible: optimised like the kernel. These are
// instructions that only inspect their operands and call what does the work; what is done once or twice for a tile; what
// hardly ever runs (PTO_COLD); what runs once, or to report an error (PTO_LEAST).
#if defined(__clang__)
#define PTO_LIGHT PTO_NOINLINE
#define PTO_LEAST __attribute__((noinline, cold, optnone))
#else
#define PTO_LIGHT __attribute__((noinline, noclone PTO_KERNEL_LEVEL))
#define PTO_LEAST __attribute__((noinline, cold, optimize(0)))
#endif
#define PTO_COLD PTO_LIGHT __attribute__((cold))

// PTO_ONCE, before a definition in detail/once: a function that is the same in every kernel. For many kernels
// (run/objects/precompiled.py) these are compiled once and linked to each: with PTO_COMPILED_AHEAD they are only declared, and
// PTO_COMPILES_AHEAD makes the object that defines them. Otherwise each kernel has its own copies of those that it calls.
#if defined(PTO_COMPILES_AHEAD)
#define PTO_ONCE
#else
#define PTO_ONCE inline
#endif

// PTO_CPU_NATIVE says that these headers are the ones in use: a kernel may then report its own errors (pto::cpu::fail).
#define PTO_CPU_NATIVE 1

// PTO_CPU_LAX (default off): accept operand locations and layouts that only a CPU model can execute (an Acc to Vec move,
// arithmetic on a Mat tile). If off, a kernel is rejected here for the same reasons as by the NPU headers.
#if defined(PTO_CPU_LAX) && PTO_CPU_LAX
#define PTO_LAX true
#else
#define PTO_LAX false
#endif
#define PTO_NPU_RULE(condition, message) static_assert(PTO_LAX || (condition), message)

// PTO_FUSED, PTO_FUSED_BODY: on a function and at the start of its body; products and sums there may fuse into FMA
// (whatever the command line says) and vectors keep their full width.
// PTO_IVDEP: before a loop whose iterations touch distinct elements (or the very same element through two names):
// elementwise work in place stays vectorised.
#if defined(__clang__)
#define PTO_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#define PTO_UNROLL _Pragma("clang loop unroll(full)")
#define PTO_ROLLED _Pragma("clang loop unroll(disable)")
#if defined(__AVX512F__)
#define PTO_FUSED __attribute__((__min_vector_width__(512)))
#else
#define PTO_FUSED
#endif
#define PTO_FUSED_BODY _Pragma("clang fp contract(fast)")
#elif defined(__GNUC__)
#define PTO_IVDEP _Pragma("GCC ivdep")
#define PTO_UNROLL _Pragma("GCC unroll 32")
#define PTO_ROLLED _Pragma("GCC unroll 1")
#define PTO_FUSED __attribute__((optimize("fp-contract=fast")))
#define PTO_FUSED_BODY
#else
#define PTO_IVDEP
#define PTO_UNROLL
#define PTO_ROLLED
#define PTO_FUSED
#define PTO_FUSED_BODY
#endif

namespace pto {
namespace detail {

// PTO_SCALAR (default off): vectors of one float, and no code for a particular instruction set.
#if defined(PTO_SCALAR)
constexpr int kVectorBytes = 4;
#elif defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// Vector of N elements of T (GCC / Clang vector extension).
template <class T, int N>
struct VectorOf {
    typedef T type __attribute__((vector_size(sizeof(T) * N)));
};
template <class T, int N>
using Vec = typename VectorOf<T, N>::type;

template <class V, class T>
PTO_INLINE V load_vec(const T* p)
{
    V v;
    std::memcpy(&v, p, sizeof(V));
    return v;
}
template <class V, class T>
PTO_INLINE void store_vec(T* p, const V& v)
{
    std::memcpy(p, &v, sizeof(V));
}

template <class To, class From>
PTO_INLINE To bit_cast(From from)
{
    static_assert(sizeof(To) == sizeof(From), "bit_cast: sizes differ");
    To to;
    std::memcpy(&to, &from, sizeof(To));
    return to;
}

// a*b+c, with one rounding where the target has an instruction for that.
PTO_INLINE float mul_add(float a, float b, float c)
{
#if defined(__FP_FAST_FMAF) || defined(__FMA__)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

// Tile memory is accessed as different element types at the same address. An instruction therefore begins and ends
// with a compiler fence, so that no access moves across an instruction on the strength of type-based aliasing.
PTO_INLINE void fence()
{
    __asm__ __volatile__("" ::: "memory");
}

constexpr int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}
template <class T>
constexpr T min_of(T a, T b)
{
    return a < b ? a : b;
}

}  // namespace detail
}  // namespace pto

#endif
