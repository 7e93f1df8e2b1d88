"""Sine and cosine, which no instruction computes: range reduction by pi, then a polynomial.

One sequence of steps is both the meaning on arrays and the decomposition in a kernel, so that the
two round alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import DataType
from pypto._src.ir.exprs import Call, Expr
from pypto._src.ir.opdef import OpDef
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import Tile, block_op
from pypto._src.ops.elementwise import add, adds, cast, mul, muls, sub
from pypto._src.ops.rules.type_rules import one_tile
from pypto._src.ops.rules.valid_parts import same_part

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import Let

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

D = DataType
_INVERSE: Final = 0.3183098861837907
_PI: Final = (
    3.140625,
    9.670257568359375e-4,
    6.2771141529083251953125e-7,
    1.21644916362129151821e-10,
    -1.0290623200529979163e-13,
)
"""A sum equal to pi: products of the leading terms and a small integer are exact."""
_HALF_PI: Final = (1.57079637050628662109375, -4.371139000189375e-8)
_POLYNOMIAL: Final = (2.604926501e-6, -1.980894471e-4, 8.333049340e-3, -1.666665792e-1, 1.0)


class _OnArrays:
    """The arithmetic of the sequence, on arrays."""

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def sub(self, a: Any, b: Any) -> Any:
        return a - b

    def mul(self, a: Any, b: Any) -> Any:
        return a * b

    def adds(self, a: Any, number: float) -> Any:
        return a + np.float32(number)

    def muls(self, a: Any, number: float) -> Any:
        return a * np.float32(number)

    def rounded(self, a: Any, mode: str) -> Any:
        compute = cast.numpy
        assert compute is not None
        return compute(a, D.INT32, mode).astype(np.float32)


class _OnTiles(_OnArrays):
    """The same on tiles: each step is a call bound to a variable."""

    def __init__(self, call: Call, let: Let) -> None:
        self._span = call.span
        self._let = let

    def _made(self, op: OpDef[..., Any], *args: Any, **words: Any) -> Expr:
        return self._let("part", op.build(args, words, self._span))

    def add(self, a: Any, b: Any) -> Any:
        return self._made(add, a, b)

    def sub(self, a: Any, b: Any) -> Any:
        return self._made(sub, a, b)

    def mul(self, a: Any, b: Any) -> Any:
        return self._made(mul, a, b)

    def adds(self, a: Any, number: float) -> Any:
        return self._made(adds, a, number)

    def muls(self, a: Any, number: float) -> Any:
        return self._made(muls, a, number)

    def rounded(self, a: Any, mode: str) -> Any:
        return self._made(cast, self._made(cast, a, D.INT32, mode=mode), D.FP32, mode="none")


def _periodic(x: Any, on: _OnArrays, *, cosine: bool) -> Any:
    """Return (-1)^k sin(t) with t = x - k pi, or x + pi/2 - k pi for the cosine, in +-pi/2."""
    quotient = on.muls(x, _INVERSE)
    k = on.rounded(on.adds(quotient, 0.5), "rint") if cosine else on.rounded(quotient, "round")
    t = x
    for index, part in enumerate(_PI):
        t = on.sub(t, on.muls(k, part))
        if cosine and index == 1:
            t = on.adds(t, _HALF_PI[0])
    if cosine:
        t = on.adds(t, _HALF_PI[1])
    halves = on.muls(on.rounded(on.muls(k, 0.5), "floor"), 4.0)
    sign = on.adds(on.add(on.muls(k, -2.0), halves), 1.0)
    square = on.mul(t, t)
    value = on.adds(on.muls(square, _POLYNOMIAL[0]), _POLYNOMIAL[1])
    for factor in _POLYNOMIAL[2:]:
        value = on.adds(on.mul(value, square), factor)
    return on.mul(on.mul(t, value), sign)


def _on_array(x: Array, *, cosine: bool) -> Array:
    with np.errstate(all="ignore"):
        return _periodic(x, _OnArrays(), cosine=cosine)


@block_op(
    types=one_tile,
    valid=same_part,
    dtypes=[D.FP32],
    numpy=lambda tile: _on_array(tile, cosine=False),
    decomposition=lambda call, let: _periodic(call.args[0], _OnTiles(call, let), cosine=False),
)
def sin(tile: Tile) -> Tile:
    """Return the sine of each element of ``tile`` [R, C], accurate to 1e-5 up to 6000."""
    ...


@block_op(
    types=one_tile,
    valid=same_part,
    dtypes=[D.FP32],
    numpy=lambda tile: _on_array(tile, cosine=True),
    decomposition=lambda call, let: _periodic(call.args[0], _OnTiles(call, let), cosine=True),
)
def cos(tile: Tile) -> Tile:
    """Return the cosine of each element of ``tile`` [R, C], accurate to 1e-5 up to 6000."""
    ...
