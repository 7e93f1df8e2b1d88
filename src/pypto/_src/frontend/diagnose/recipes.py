"""What functions of other libraries are composed of here: texts with places for their operands.

``{x}``, ``{y}`` and ``{z}`` are operands; ``{o}`` is the first one, in brackets if it needs them.
"""

from __future__ import annotations

from typing import Final

_TWICE: Final = "pl.mul({x}, pl.add(pl.mul(pl.mul({x}, {x}), 0.2018), 2.2568))"  # erf as tanh
_SHIFTED: Final = "pl.exp(pl.row_expand_sub({x}, pl.row_max({x})))"
_BARRIER: Final = "pl.system.bar_all()"
_ROUNDED: Final = 'pl.cast(pl.cast({x}, pl.INT32, mode="MODE"), {o}.dtype)'
_FULL: Final = "pl.full({o}.shape, {o}.dtype, "

X: Final = "x|a|input"
"""A first operand, by its names elsewhere; `calls_elsewhere` says how parameters are written."""

RECIPES: Final = {
    X: {
        "bfloat16": "pl.cast({x}, pl.BF16)",
        "erf": f"pl.add(pl.mul(pl.recip(pl.add(pl.exp({_TWICE}), 1.0)), -2.0), 1.0)",
        "exp2": "pl.exp(pl.mul({x}, 0.6931471805599453))",
        "float": "pl.cast({x}, pl.FP32)",
        "gelu": "pl.div({x}, pl.add(pl.exp(pl.mul({x}, -1.702)), 1.0))",
        "half": "pl.cast({x}, pl.FP16)",
        "isnan": "({x} != {x})",
        "log10": "pl.mul(pl.log({x}), 0.4342944819032518)",
        "log2": "pl.mul(pl.log({x}), 1.4426950408889634)",
        "ones_like": f"{_FULL}1)",
        "sigmoid": "pl.recip(pl.add(pl.exp(pl.neg({x})), 1.0))",
        "sign": "pl.sub({x} > 0, {x} < 0)",
        "silu": "pl.div({x}, pl.add(pl.exp(pl.neg({x})), 1.0))",
        "square": "pl.mul({x}, {x})",
        "tanh": "pl.add(pl.mul(pl.recip(pl.add(pl.exp(pl.mul({x}, 2.0)), 1.0)), -2.0), 1.0)",
        "zeros_like": f"{_FULL}0)",
    },
    f"{X} y|value|fill_value": dict.fromkeys(("fill", "fill_", "full_like"), f"{_FULL}{{y}})"),
    "x y z": {
        "fma": "pl.add(pl.mul({x}, {y}), {z})",
        "set_flag": "pl.system.sync_src({x}, {y}, {z})",
        "wait_flag": "pl.system.sync_dst({x}, {y}, {z})",
    },
    "[*pipes]": dict.fromkeys(("barrier", "pipe_barrier", "sync"), _BARRIER),
}
"""By parameters, then by name."""

ROUNDED: Final = {
    name: _ROUNDED.replace("MODE", mode)
    for name, mode in (("ceil", "ceil"), ("floor", "floor"), ("round", "rint"), ("trunc", "trunc"))
}
_SOFTMAX: Final = f"pl.row_expand_div({_SHIFTED}, pl.row_sum({_SHIFTED}))"
POWER: Final = "pl.exp(pl.mul(pl.log({x}), {y}))"


def _moments(total: str, share: str, centred: str) -> dict[str, str]:
    """Return the recipes for mean, variance and deviation, from those of a sum and a difference."""
    mean = f"pl.mul({total.format('{x}')}, {share})"
    difference = centred.format(mean)
    var = f"pl.mul({total.format(f'pl.mul({difference}, {difference})')}, {share})"
    return {"mean": mean, "var": var, "std": f"pl.sqrt({var})"}


_MOMENTS: Final = {
    "row": _moments("pl.row_sum({})", "1.0 / {o}.shape[1]", "pl.row_expand_sub({{x}}, {})"),
    "col": _moments("pl.col_sum({})", "1.0 / {o}.shape[0]", "pl.col_expand_sub({{x}}, {})"),
    "all": _moments(
        "pl.col_sum(pl.row_sum({}))",
        "1.0 / ({o}.shape[0] * {o}.shape[1])",
        "pl.sub({{x}}, {}[0, 0])",
    ),
}
ALONG: Final = {
    **{
        name: {line: texts[name] for line, texts in _MOMENTS.items()}
        for name in ("mean", "var", "std")
    },
    **{
        f"{line}_{name}": {"all": text}
        for line in ("row", "col")
        for name, text in _MOMENTS[line].items()
    },
    **{
        name: {line: f"pl.{line}_{name}({{x}})" for line in ("row", "col")}
        for name in ("argmax", "argmin")
    },
    "softmax": {"row": _SOFTMAX, "all": _SOFTMAX},
}
"""By name, then by what is reduced of a matrix: each row, each column, or all if no axis is given.

What is reduced to one element is a tile of one.
"""
