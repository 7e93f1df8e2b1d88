"""C++ of our own that a kernel file carries in front of the kernel, when the kernel uses it.

Texts only. Each compiles with the device's compiler, with the CPU model of the tile library and
with the headers of this project.
"""

from __future__ import annotations

from typing import Final

from pypto._src.emit.cpp_types import FLOOR_HELPERS

UNROLL_LIMIT: Final = 8
"""Turns of a constant loop up to which a hint asks for unrolling."""


def _checked(helper: str, symbol: str, of_minus_one: str) -> tuple[str, ...]:
    """Return a division that does not end the process on the CPU where it has no result."""
    head, brace, *rest = FLOOR_HELPERS[helper]
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


HELPERS: Final[dict[str, tuple[str, ...]]] = {
    **FLOOR_HELPERS,
    "floor_div": _checked("floor_div", "//", "static_cast<int64_t>(0 - static_cast<uint64_t>(a))"),
    "floor_mod": _checked("floor_mod", "%", "0"),
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
"""Texts by the name that asks for them; written in the order of the names."""

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
