"""Casts round as ml_dtypes does, for all 16-bit patterns, on the interpreter and compiled."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime

ROWS = 256
PATTERNS = np.arange(1 << 16, dtype=np.uint16).reshape(ROWS, 256)
LOW_BITS = (0x0, 0x1, 0x0FFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
"""Near, at and past the midpoints between neighbours of BF16, and of FP16."""


@pl.program
class Casts:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        wide: pl.Tensor[[ROWS, 256], pl.FP32],
        brain: pl.Tensor[[ROWS, 256], pl.BF16],
        half: pl.Tensor[[ROWS, 256], pl.FP16],
        to_brain: pl.Out[pl.Tensor[[ROWS, 256], pl.BF16]],
        to_half: pl.Out[pl.Tensor[[ROWS, 256], pl.FP16]],
        from_brain: pl.Out[pl.Tensor[[ROWS, 256], pl.FP32]],
        from_half: pl.Out[pl.Tensor[[ROWS, 256], pl.FP32]],
        to_bytes: pl.Out[pl.Tensor[[ROWS, 256], pl.INT8]],
    ):
        for r in pl.range(0, ROWS, 16):
            x = pl.load(wide, [r, 0], [16, 256])
            b = pl.load(brain, [r, 0], [16, 256])
            h = pl.load(half, [r, 0], [16, 256])
            to_brain = pl.store(pl.cast(x, pl.BF16, mode="rint"), [r, 0], [16, 256], to_brain)
            to_half = pl.store(pl.cast(x, pl.FP16, mode="rint"), [r, 0], [16, 256], to_half)
            from_brain = pl.store(pl.cast(b, pl.FP32), [r, 0], [16, 256], from_brain)
            from_half = pl.store(pl.cast(h, pl.FP32), [r, 0], [16, 256], from_half)
            to_bytes = pl.store(pl.cast(h, pl.INT8, mode="rint"), [r, 0], [16, 256], to_bytes)
        return to_brain, to_half, from_brain, from_half, to_bytes


def same(found: Any, wanted: Any) -> bool:
    """True if all elements are equal, zeros including their signs; all NaNs are equal."""
    x, y = found.astype(np.float64), wanted.astype(np.float64)
    signs = np.signbit(x) == np.signbit(y)
    return bool((((x == y) & signs) | (np.isnan(x) & np.isnan(y))).all())


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_every_pattern(target: Any) -> None:
    """All BF16 and FP16 numbers are kept; FP32 rounds to the nearest, ties to even.

    Integers are the nearest whole number, of which INT8 keeps the lowest 8 bits.
    """
    compiled = runtime.compile(Casts, target)
    brain, half = PATTERNS.view(ml_dtypes.bfloat16), PATTERNS.view(np.float16)
    with np.errstate(all="ignore"):
        for low in LOW_BITS:
            wide = ((PATTERNS.astype(np.uint32) << 16) | low).view(np.float32)
            empty = [np.zeros(PATTERNS.shape, p.type.dtype.numpy) for p in _results()]
            compiled(wide, brain, half, *empty)
            to_brain, to_half, from_brain, from_half, to_bytes = empty
            assert same(to_brain, wide.astype(ml_dtypes.bfloat16))
            assert same(to_half, wide.astype(np.float16))
            assert same(from_brain, brain.astype(np.float32))
            assert same(from_half, half.astype(np.float32))
            whole = np.nan_to_num(np.rint(half.astype(np.float64)), nan=0, posinf=0, neginf=0)
            assert same(to_bytes, whole.astype(np.int64).astype(np.int8))


def _results() -> list[Any]:
    function = Casts.get_function("kernel")
    assert function is not None
    return list(function.params[3:])
