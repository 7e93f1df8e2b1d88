"""Sizes that are known only when a kernel is called, in the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.build_output import CCECodegen
from pypto._src.errors import CallError, EmitError, EvaluationError, PyptoError
from pypto._src.frontend.parse_text import parse_program
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.stmts import Function, Program
from pypto._src.passes.pass_manager import PassManager

Array = np.ndarray[Any, Any]
HEAD = 'import pypto.language as pl\n\nM = pl.dynamic("M")\nN = pl.dynamic("N")\n\n'


def run(text: str, *args: Any) -> Any:
    """Evaluate a function or program on the arguments."""
    found = pl.parse(HEAD + text)
    program = Program([found]) if isinstance(found, Function) else found
    return evaluate(program, list(args))


def tensor(*shape: int) -> Array:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


HALVES = """
@pl.function
def f(x: pl.Tensor[[{rows}, 16], pl.FP32], out: pl.Out[pl.Tensor[[{rows}, 16], pl.FP32]]{more}):
    for i in pl.range(0, {count}, 8):
        out[i : i + 8, :] = x[i : i + 8, :] * 0.5
"""


@pytest.mark.parametrize(
    ("rows", "count", "more"),
    [
        ("M", "M", ""),
        ("M", "x.shape[0]", ""),
        ("M", "pl.dim(out, 0)", ""),
        ("-1", "x.shape[0]", ""),
        ("n", "n", ", n: pl.INT64"),
        ("n", "x.shape[0]", ", n: pl.INT32"),
        ("2 * n - 48", "x.shape[0]", ", n: pl.INT64"),
    ],
)
def test_rows_are_known_at_the_call(rows: str, count: str, more: str) -> None:
    """A dimension may be named, unnamed, a scalar parameter, or computed from one."""
    x, out = tensor(48, 16), np.zeros((48, 16), np.float32)
    run(HALVES.format(rows=rows, count=count, more=more), x, out, *([48] if more else []))
    np.testing.assert_array_equal(out, x / 2)


@pytest.mark.parametrize(
    ("rows", "more", "args"), [("M", "", ()), ("n", ", n: pl.INT64", (40,))], ids=["name", "scalar"]
)
def test_sizes_must_agree(rows: str, more: str, args: tuple[int, ...]) -> None:
    """One name is one size: arrays that disagree with each other or a scalar are rejected."""
    text = HALVES.format(rows=rows, count="x.shape[0]", more=more)
    with pytest.raises(PyptoError) as caught:
        run(text, tensor(48, 16), np.zeros((40, 16), np.float32), *args)
    assert isinstance(caught.value, CallError | EvaluationError)
    assert "48" in caught.value.message or "40" in caught.value.message


def test_tiles_smaller_at_the_edge() -> None:
    """A tile's size may be known only at run time: the last one has the remainder."""
    x, out = tensor(44, 16), np.full((44, 16), -1, np.float32)
    run(
        """
@pl.function
def f(x: pl.Tensor[[M, 16], pl.FP32], out: pl.Out[pl.Tensor[[M, 16], pl.FP32]]):
    for i in pl.range(0, M, 16):
        rows = min(16, M - i)
        tile = pl.load(x, [i, 0], [rows, 16])
        out = pl.store(tile + 1, [i, 0], [rows, 16], out)
""",
        x,
        out,
    )
    np.testing.assert_array_equal(out, x + 1)


def test_valid_shape_stands_in_the_type() -> None:
    """Of a tile whose type has a valid shape, only the valid part is computed and stored."""
    x, out = tensor(16, 16), np.zeros((16, 16), np.float32)
    text = """
@pl.function
def f(n: pl.INT64, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
    t: pl.Tile[[16, 16], pl.FP32, pl.TileView(valid_shape=[n, 16])] = x[:]
    out[:] = t * 2
"""
    run(text, 5, x, out)
    np.testing.assert_array_equal(out[:5], x[:5] * 2)
    np.testing.assert_array_equal(out[5:], 0)
    printed = str(pl.parse(HEAD + text))
    assert "pl.TileView(valid_shape=[n, 16]" in printed
    assert str(pl.parse(HEAD + printed)) == printed


CALLS = """
@pl.program
class Scale:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self,
        x: pl.Tensor[[M, N], pl.FP32],
        factor: pl.FP32,
        out: pl.Out[pl.Tensor[[M, N], pl.FP32]],
    ) -> pl.Tensor[[M, N], pl.FP32]:
        for i in pl.range(M):
            for j in pl.range(0, N, 8):
                out[i : i + 1, j : j + 8] = x[i : i + 1, j : j + 8] * factor
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, n: pl.INT64, x: pl.Tensor[[M, 16], pl.FP32], out: pl.Out[pl.Tensor[[M, 16], pl.FP32]]
    ):
        whole = pl.create_tensor([x.shape[0], 16], dtype=x.dtype)
        whole = self.scale(x, 3.0 if n > 8 else 4.0, whole)
        self.scale(whole[:n], 2.0, out[:n])
        self.scale(whole[n:, 0:8], 5.0, out[n:, 0:8])
"""


def test_kernels_take_views_of_any_size() -> None:
    """A kernel is called for the parts of a tensor before and after a row given as argument."""
    x, out = tensor(24, 16), np.zeros((24, 16), np.float32)
    run(CALLS, 10, x, out)
    np.testing.assert_array_equal(out[:10], x[:10] * 6)
    np.testing.assert_array_equal(out[10:, :8], x[10:, :8] * 15)
    np.testing.assert_array_equal(out[10:, 8:], 0)


def test_part_outside_is_found_at_run_time() -> None:
    """A view that leaves its tensor is an error when its bounds are evaluated."""
    x, out = tensor(24, 16), np.zeros((24, 16), np.float32)
    with pytest.raises(EvaluationError) as caught:
        run(CALLS, 30, x, out)
    assert caught.value.slug == "out-of-bounds"
    assert str(parse_program(HEAD + CALLS).get_function("main")).count("pl.tensor.view(") == 4


@pytest.mark.parametrize(("n", "expected"), [(0, 2.0), (2, 18.0), (5, 54.0)])
def test_conditional_tiles(n: int, expected: float) -> None:
    """Conditional expressions select tiles and scalars at run time, in loops as well."""
    x, out = np.ones((8, 16), np.float32), np.zeros((8, 16), np.float32)
    run(
        """
@pl.function
def f(n: pl.INT64, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]):
    t = x[:] * 2
    for i in pl.range(3):
        t = t * 3 if i < n else t
    out[:] = t
""",
        n,
        x,
        out,
    )
    np.testing.assert_array_equal(out, np.full((8, 16), expected, np.float32))


UNNAMED = """
@pl.program
class Unnamed:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[-1, 64], pl.FP32], out: pl.Out[pl.Tensor[[-1, 64], pl.FP32]]
    ):
        for i in pl.range(0, x.shape[0], 8):
            out[i : i + 8] = x[i : i + 8] + 1.0
"""


def test_dimension_without_a_name() -> None:
    """Passes and interpreter accept a dimension -1; for C++ the error says what to write."""
    whole = parse_program(UNNAMED)
    x = np.arange(24 * 64, dtype=np.float32).reshape(24, 64)
    out = np.zeros_like(x)
    runtime.compile(whole, target="interpreter")(x, out)
    assert (out == x + 1).all()
    lowered = PassManager.get_strategy().run_passes(whole)
    kind = lowered.functions_[0].params[0].type
    assert isinstance(kind, ir.TensorType)
    assert kind.memref is not None
    assert kind.memref.size_ == 0  # known at the call
    with pytest.raises(EmitError) as caught:
        CCECodegen().generate(lowered)
    assert caught.value.hint == 'declare it: n = pl.dynamic("n"), and write n for -1'
