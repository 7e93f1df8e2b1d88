"""C++ helper functions that a kernel file has before the kernel, if the kernel uses them.

Texts only. Each compiles with the device's compiler, with the CPU model of the tile library and
with the headers of this project.
"""

from __future__ import annotations

from typing import Final

UNROLL_LIMIT: Final = 8
"""The most iterations of a constant loop for which a hint asks for unrolling."""

SCALAR_HELPERS: Final = {
    "floor_div": (
        "static inline __aicore__ int64_t floor_div(int64_t a, int64_t b)",
        "{",
        "    int64_t q = a / b;",
        "    return (q * b != a && (a < 0) != (b < 0)) ? q - 1 : q;",
        "}",
    ),
    "floor_mod": (
        "static inline __aicore__ int64_t floor_mod(int64_t a, int64_t b)",
        "{",
        "    int64_t r = a % b;",
        "    return (r != 0 && (r < 0) != (b < 0)) ? r + b : r;",
        "}",
    ),
    "int_pow": (
        "static inline __aicore__ int64_t int_pow(int64_t a, int64_t n)",
        "{",
        "    uint64_t result = 1, base = static_cast<uint64_t>(a);",
        "    for (; n > 0; n >>= 1) {",
        "        if (n & 1) { result *= base; }",
        "        base *= base;",
        "    }",
        "    return static_cast<int64_t>(result);",
        "}",
    ),
    "int_abs": (
        "template <typename T>",
        "static inline __aicore__ T int_abs(T a)",
        "{",
        "    const uint64_t bits = static_cast<uint64_t>(a);",
        "    return static_cast<T>(a < 0 ? 0 - bits : bits);",
        "}",
    ),
    "int_max": (
        "template <typename T>",
        "static inline __aicore__ T int_max(T a, T b)",
        "{",
        "    return a > b ? a : b;",
        "}",
    ),
    "int_min": (
        "template <typename T>",
        "static inline __aicore__ T int_min(T a, T b)",
        "{",
        "    return a < b ? a : b;",
        "}",
    ),
    "float_abs": (
        "template <typename T>",
        "static inline __aicore__ T float_abs(T a)",
        "{",
        "    return a <= 0 ? static_cast<T>(0 - a) : a;  // -0 becomes 0, too",
        "}",
    ),
    "float_floor_div": (
        "static inline __aicore__ double float_floor_div(double a, double b)",
        "{",
        "    double q = a / b;",
        "    if (!(q > -4503599627370496.0 && q < 4503599627370496.0)) {",
        "        return q;  // whole already, infinite or not a number",
        "    }",
        "    double whole = static_cast<double>(static_cast<int64_t>(q));",
        "    return (whole > q ? whole - 1.0 : whole) + 0.0;",
        "}",
    ),
    "float_floor_mod": (
        "static inline __aicore__ double float_floor_mod(double a, double b)",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    double q = a / b, whole = static_cast<double>(static_cast<int64_t>(q));",
        "    double r = a - whole * b;",
        "#else",
        "    double r = __builtin_fmod(a, b);",
        "#endif",
        "    if (r == 0.0) {",
        "        return b < 0.0 ? -0.0 : 0.0;",
        "    }",
        "    return (r < 0.0) != (b < 0.0) ? r + b : r;",
        "}",
    ),
    "float_max": (
        "static inline __aicore__ double float_max(double a, double b)",
        "{",
        "    return (a != a || b != b) ? a + b : b > a ? b : a;",
        "}",
    ),
    "float_min": (
        "static inline __aicore__ double float_min(double a, double b)",
        "{",
        "    return (a != a || b != b) ? a + b : b < a ? b : a;",
        "}",
    ),
    "float_pow": (
        "static inline __aicore__ double float_pow(double a, double n)",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    int64_t count = static_cast<int64_t>(n < 0.0 ? -n : n);  // whole exponents only",
        "    double result = 1.0;",
        "    for (; count > 0; count >>= 1) {",
        "        if (count & 1) { result *= a; }",
        "        a *= a;",
        "    }",
        "    return n < 0.0 ? 1.0 / result : result;",
        "#else",
        "    return __builtin_pow(a, n);",
        "#endif",
        "}",
    ),
}
"""What C++ lacks or defines differently: floor division, its remainder, powers of integers,
minimum and maximum of floats one of which is NaN; and what would have to repeat its operands."""


def _checked(helper: str, symbol: str, of_minus_one: str) -> tuple[str, ...]:
    """Return a division that reports an undefined result on the CPU instead of crashing."""
    head, brace, *rest = SCALAR_HELPERS[helper]
    return (
        head,
        brace,
        "#if defined(PTO_CPU_NATIVE)",
        "    if (b == 0) {",
        f"        pto::cpu::fail(\"'{symbol}' by zero\");",
        "        return 0;",
        "    }",
        "    if (b == -1) {",
        f"        return {of_minus_one};",
        "    }",
        "#endif",
        *rest,
    )


def _division(name: str, symbol: str, of_minus_one: str | None = None) -> tuple[str, ...]:
    """Return a division of two numbers of one type; C++ leaves lowest / -1 undefined."""
    operator = "%" if symbol == "%" else "/"
    overflow = (
        ("    if (T(-1) < T(0) && b == T(-1)) {", f"        return {of_minus_one};", "    }")
        if of_minus_one is not None
        else ()
    )
    return (
        "template <typename T>",
        f"static inline __aicore__ T {name}(T a, T b)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (b == 0) {",
        f"        pto::cpu::fail(\"'{symbol}' by zero\");",
        "        return 0;",
        "    }",
        *overflow,
        "#endif",
        f"    return static_cast<T>(a {operator} b);",
        "}",
    )


HELPERS: Final[dict[str, tuple[str, ...]]] = {
    **SCALAR_HELPERS,
    "floor_div": _checked("floor_div", "//", "static_cast<int64_t>(0 - static_cast<uint64_t>(a))"),
    "floor_mod": _checked("floor_mod", "%", "0"),
    "int_pow": (
        *SCALAR_HELPERS["int_pow"][:2],
        "#if defined(PTO_CPU_NATIVE)",
        "    if (n < 0) {",
        "        pto::cpu::fail(\"'**' of integers with a negative exponent\");",
        "    }",
        "#endif",
        *SCALAR_HELPERS["int_pow"][2:],
    ),
    "int_div": _division("int_div", "/", "static_cast<T>(0 - static_cast<uint64_t>(a))"),
    "unsigned_div": _division("unsigned_div", "//"),
    "unsigned_mod": _division("unsigned_mod", "%"),
    "shift_count": (
        "static inline __aicore__ int64_t shift_count(int64_t count, int64_t bits)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (count < 0 || count >= bits) {",
        '        pto::cpu::fail("a shift by less than 0 or by as many bits as there are");',
        "        return 0;",
        "    }",
        "#endif",
        "    return count;",
        "}",
    ),
    "float_to_int": (
        "template <typename T, typename F>",
        "static inline __aicore__ T float_to_int(F value)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    return pto::cpu::nearest_integer<T>(static_cast<double>(value));",
        "#else",
        "    return static_cast<T>(value);",
        "#endif",
        "}",
    ),
    "element_index": (
        "static inline __aicore__ int64_t element_index(int64_t index, int64_t size)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (index < 0 || index >= size) {",
        "        pto::cpu::fail_index(index, size);",
        "        return 0;",
        "    }",
        "#endif",
        "    return index;",
        "}",
    ),
    "loop_step": (
        "static inline __aicore__ int64_t loop_step(int64_t step)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (step == 0) {",
        '        pto::cpu::fail("the step of a loop is zero");',
        "    }",
        "#endif",
        "    return step;",
        "}",
    ),
    "region_begin": (
        "static inline __aicore__ int64_t region_begin(",
        "    int64_t dimension, int64_t begin, int64_t size, int64_t limit)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (begin < 0 || begin > limit - size) {",
        "        pto::cpu::fail_region(dimension, begin, size, limit);",
        "    }",
        "#endif",
        "    return begin;",
        "}",
    ),
    "view_begin": (
        "static inline __aicore__ int64_t view_begin(int64_t begin, int64_t size, int64_t limit)",
        "{",
        "#if defined(PTO_CPU_NATIVE)",
        "    if (begin < 0 || size < 0 || begin > limit - size) {",
        "        pto::cpu::fail_view(begin, size, limit);",
        "        return 0;",
        "    }",
        "#endif",
        "    return begin;",
        "}",
    ),
    "PYPTO_UNROLL": (
        "#if defined(__clang__)",
        '#define PYPTO_UNROLL _Pragma("unroll")',
        "#elif defined(__GNUC__)",
        f'#define PYPTO_UNROLL _Pragma("GCC unroll {UNROLL_LIMIT}")',
        "#else",
        "#define PYPTO_UNROLL",
        "#endif",
    ),
    "PYPTO_PRINT": (
        "#if defined(__CCE_AICORE__)",
        "#define PYPTO_PRINT(...) cce::printf(__VA_ARGS__)",
        "#else",
        "#define PYPTO_PRINT(...) std::printf(__VA_ARGS__)",
        "#endif",
    ),
    "profile_clock": (
        "static inline __aicore__ int64_t profile_clock()",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    return static_cast<int64_t>(get_sys_cnt());",
        "#else",
        "    return std::chrono::steady_clock::now().time_since_epoch().count();",
        "#endif",
        "}",
        "",
        "static inline __aicore__ void profile_add(__gm__ int64_t* slot, int64_t count)",
        "{",
        "#if defined(__CCE_AICORE__)",
        "    *slot += count;",
        "#else",
        "    __atomic_fetch_add(slot, count, __ATOMIC_RELAXED);",
        "#endif",
        "}",
    ),
}
"""Helper texts by the name that requests them; written in the order of the names."""

_HEADERS: Final = {"PYPTO_PRINT": "cstdio", "profile_clock": "chrono"}


def header_lines(helpers: dict[str, None]) -> list[str]:
    """Return the includes that helpers need besides those of every kernel."""
    found = sorted({_HEADERS[name] for name in helpers if name in _HEADERS})
    if not found:
        return []
    return ["#if !defined(__CCE_AICORE__)", *(f"#include <{name}>" for name in found), "#endif"]


def helper_lines(helpers: dict[str, None]) -> list[str]:
    """Return the texts of helpers, each followed by an empty line."""
    return [line for name in sorted(helpers) for line in (*HELPERS[name], "")]
