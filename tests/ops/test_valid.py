"""Partly valid tiles: types, values on every target, errors."""

# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false
# pyright: reportInvalidTypeArguments=false, reportOperatorIssue=false, reportArgumentType=false
# pyright: reportAssignmentType=false, reportReturnType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto._src.dialect.evaluate import evaluate as evaluate_text
from pypto._src.dialect.verify import check, options_of
from pypto._src.driver import compile_program
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EvaluationError, PyptoError
from pypto._src.interp.evaluate import evaluate
from pypto._src.interp.pipe_interpreter import StrictEvaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.native import KernelError
from pypto._src.statement.form import to_statement_form
from tests.natively import deferred
from tests.statement.documents import check as check_statement_form

Array = np.ndarray[Any, Any]
Meaning = Callable[[Array, Array], Array]
Run = Callable[..., object]  # takes the arguments of a kernel, the output last

HEAD = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.{dtype}],
        y: pl.Tensor[[20, 64], pl.{dtype}],
        n: pl.Scalar[pl.INT64],
        m: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ) -> pl.Tensor[[20, 64], pl.FP32]:
"""
HEAD_FP32 = HEAD.format(dtype="FP32")
HEADER = (
    HEAD
    + """\
        s = pl.create_tile([16, 64], dtype=pl.{dtype})
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[{valid}])
        b = pl.load(y, [2, 0], [16, 64], valid_shapes=[{valid}])
        c = {value}
        return pl.store(c, [2, 0], [16, 64], out)
"""
)


def source(value: str, valid: str = "n, m", dtype: str = "FP32") -> str:
    """Return a kernel that computes ``value`` from the valid parts of two tiles."""
    return HEADER.format(value=value, valid=valid, dtype=dtype)


def total(a: Array) -> Array:
    """Return the sums of rows."""
    return a.sum(axis=1, keepdims=True)


OPS: dict[str, Meaning] = {
    "pl.add(a, b)": lambda a, b: a + b,
    "pl.sub(a, b)": lambda a, b: a - b,
    "pl.mul(a, b)": lambda a, b: a * b,
    "pl.div(a, b)": lambda a, b: a / b,
    "pl.maximum(a, b)": np.maximum,
    "pl.minimum(a, b)": np.minimum,
    "pl.add(a, 1.5)": lambda a, b: a + np.float32(1.5),
    "pl.sub(a, 1.5)": lambda a, b: a - np.float32(1.5),
    "pl.mul(a, 1.5)": lambda a, b: a * np.float32(1.5),
    "pl.div(a, 2.0)": lambda a, b: a / 2,
    "pl.maximum(a, 0.5)": lambda a, b: np.maximum(a, np.float32(0.5)),
    "pl.minimum(a, 0.5)": lambda a, b: np.minimum(a, np.float32(0.5)),
    "pl.exp(a)": lambda a, b: np.exp(a),
    "pl.log(a)": lambda a, b: np.log(a),
    "pl.sqrt(a)": lambda a, b: np.sqrt(a),
    "pl.rsqrt(a)": lambda a, b: 1 / np.sqrt(a),
    "pl.recip(a)": lambda a, b: 1 / a,
    "pl.neg(a)": lambda a, b: -a,
    "pl.abs(pl.neg(a))": lambda a, b: a,
    "pl.relu(pl.sub(a, b))": lambda a, b: np.maximum(a - b, 0),
    "pl.block.vec_move(a)": lambda a, b: a,
    "pl.cast(pl.cast(a, pl.FP16), pl.FP32)": lambda a, b: a.astype(np.float16),
    "pl.cast(pl.cast(a, pl.FP32), pl.FP32)": lambda a, b: a,
    "pl.row_expand_add(a, pl.row_sum(b, s))": lambda a, b: a + total(b),
    "pl.row_expand_sub(a, pl.row_max(b, s))": lambda a, b: a - b.max(axis=1, keepdims=True),
    "pl.row_expand_mul(a, pl.row_min(b, s))": lambda a, b: a * b.min(axis=1, keepdims=True),
    "pl.row_expand_div(a, pl.row_sum(b, s))": lambda a, b: a / total(b),
    "pl.row_expand_mul(a, pl.muls(pl.row_sum(pl.fillpad(b), s), 0.5))": lambda a, b: (
        a * total(b) / 2
    ),
    "pl.row_expand_mul(a, pl.rsqrt(pl.add(pl.mul(pl.row_sum(b, s), 0.25), 1.0)))": lambda a, b: (
        a / np.sqrt(total(b) / 4 + 1)
    ),
    "pl.row_expand_sub(a, pl.sub(pl.row_max(a, s), pl.row_min(b, s)))": lambda a, b: (
        a - (a.max(axis=1, keepdims=True) - b.min(axis=1, keepdims=True))
    ),
    "pl.row_expand_add(a, pl.reshape(pl.exp(pl.reshape(pl.row_min(b, s), [1, 16])), [16, 1]))": (
        lambda a, b: a + np.exp(b.min(axis=1, keepdims=True))
    ),
    # A column or row that no instruction accepts there is broadcast over the valid part.
    "pl.sub(pl.row_max(b, s), a)": lambda a, b: b.max(axis=1, keepdims=True) - a,
    "pl.maximum(a, pl.row_min(b, s))": lambda a, b: np.maximum(a, b.min(axis=1, keepdims=True)),
    "pl.sub(pl.load(y, [2, 0], [1, 64]), a)": lambda a, b: b[:1] - a,
    "pl.div(pl.load(y, [2, 0], [1, 64]), a)": lambda a, b: b[:1] / a,
    "pl.minimum(a, pl.load(y, [2, 0], [1, 64]))": lambda a, b: np.minimum(a, b[:1]),
    "pl.sub(pl.reshape(pl.load(y, [2, 0], [1, 64]), [64]), a)": lambda a, b: b[:1] - a,
    "pl.mul(pl.expands(a, 3.0), a)": lambda a, _b: 3 * a,
    "pl.cmp(a, b, cmp_type=2)": lambda a, b: (a < b) * 1.0,
    "pl.cmps(a, 3.0, cmp_type=4)": lambda a, b: (a > 3) * 1.0,
    "pl.sel(pl.cmp(a, b, cmp_type=5), b, a)": np.minimum,
    "pl.sel(pl.sub(a, b), pl.neg(a), b)": lambda a, b: np.where(a == b, b, -a),
    "pl.sels(a, b, n)": lambda a, b: a,
    "pl.lrelu(pl.sub(a, b), 0.5)": lambda a, b: np.where(a > b, a - b, (a - b) / 2),
    "pl.prelu(pl.sub(a, b), a)": lambda a, b: np.where(a > b, a - b, (a - b) * a),
    "pl.rem(a, b)": np.mod,
    "pl.rems(a, 3.0)": lambda a, b: np.mod(a, np.float32(3)),
    "pl.subc(a, b, pl.addsc(a, 1.0, b))": lambda a, b: a - b - (a + 1 + b),
}
SIZES = [(0, 64), (1, 64), (15, 40), (16, 64), (7, 1)]


def untouched(columns: int = 64) -> Array:
    """Return the initial output of a kernel: -1 everywhere."""
    return np.full((20, columns), -1, np.float32)


def text_of(program: ir.Program, strategy: OptimizationStrategy) -> Run:
    """Return a runner of a kernel's PTO text after the passes of ``strategy``."""
    written = PTOCodegen().generate(PassManager.get_strategy(strategy).run_passes(program))
    module = check(written, "kernel", options_of(written, "a3"))
    return lambda *args: evaluate_text(module, "kernel", list(args))


def kind_of(dtype: Any) -> str:
    """Return the name of an element type in programs."""
    name = np.dtype(dtype).name
    return {"float32": "FP32", "float16": "FP16"}.get(name, name.upper())


def integers(value: str, dtype: Any) -> str:
    """Return a kernel of `BITS` for whole rows."""
    return BITS.format(value=value, dtype=kind_of(dtype), columns=64, valid="m")


def bits_of_columns(value: str, dtype: Any) -> str:
    """Return a kernel of `BITS` for columns."""
    return BITS.format(value=value, dtype=kind_of(dtype), columns=1, valid=1)


@cache
def together() -> dict[str, Run]:
    """Return runners of programs, by their texts; their kernels are compiled together."""
    texts = [source(value) for value in OPS]
    texts += [integers(value, dtype) for value, _, dtype in INTEGERS]
    texts += [bits_of_columns(value, dtype) for value, _, dtype in COLUMNS]
    texts += [
        BOTH.format(rows=rows, columns=columns, value=value)
        for value in COLUMN_AND_ROW
        for rows, columns in VALID_PARTS
    ]
    with deferred():
        return {text: compile_program(pl.parse_program(text)) for text in texts}


def targets(
    text: str, strategies: Sequence[OptimizationStrategy] = tuple(OptimizationStrategy)
) -> list[Run]:
    """Return runners of a kernel, per target: NumPy, C++, a core's pipes, PTO texts."""
    program = pl.parse_program(text)
    lowered = PassManager.get_strategy().run_passes(program)
    return [
        compile_program(program, "interpreter"),
        together().get(text) or compile_program(program),
        lambda *args: StrictEvaluator(lowered).call("kernel", list(args)),
        *(text_of(program, strategy) for strategy in strategies),
    ]


def outputs(runs: Sequence[Run], *args: Any, columns: int = 64) -> list[Array]:
    """Return what each run leaves in the last argument, which was `untouched`."""
    found: list[Array] = []
    for run in runs:
        out = untouched(columns)
        run(*args, out)
        found.append(out)
    return found


def on_all_targets(text: str, *args: Any) -> list[Array]:
    """Return what a kernel leaves in its last argument on each target; it was filled with -1."""
    return outputs(targets(text), *args)


def tensors(dtype: Any = np.float32) -> tuple[Array, Array]:
    """Return two arrays of small positive numbers."""
    random = np.random.default_rng(7)
    x, y = (random.integers(1, 9, (20, 64)).astype(dtype) for _ in range(2))
    return x, y


@pytest.mark.parametrize("value", OPS)
def test_values_of_the_valid_part(value: str) -> None:
    """Only the valid part is read and written, and all targets agree with NumPy on it."""
    x, y = tensors()
    runs = targets(source(value), [OptimizationStrategy.Default])
    for rows, columns in SIZES:
        part = slice(2, 2 + rows), slice(0, columns)
        wanted = untouched()
        wanted[part] = OPS[value](x[part], y[part])
        for out in outputs(runs, x, y, rows, columns):
            np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)
            np.testing.assert_array_equal(out == -1, wanted == -1)


BITS = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, {columns}], pl.{dtype}],
        y: pl.Tensor[[20, {columns}], pl.{dtype}],
        n: pl.Scalar[pl.INT64],
        m: pl.Scalar[pl.INT64],
        out: pl.InOut[pl.Tensor[[20, {columns}], pl.{dtype}]],
    ):
        a = pl.load(x, [2, 0], [16, {columns}], valid_shapes=[n, {valid}])
        b = pl.load(y, [2, 0], [16, {columns}], valid_shapes=[n, {valid}])
        return pl.store({value}, [2, 0], [16, {columns}], out)
"""
INTEGERS: list[tuple[str, Meaning, Any]] = [
    ("a & b", lambda a, b: a & b, np.int32),
    ("pl.xor(pl.or_(a, b), 5)", lambda a, b: (a | b) ^ 5, np.int32),
    ("pl.not_(pl.xor(pl.and_(a, 6), b))", lambda a, b: ~((a & 6) ^ b), np.int16),
    ("pl.xor(pl.ors(a, 9), 5)", lambda a, b: (a | 9) ^ 5, np.uint8),
    ("pl.shl(pl.shr(a, 1), b)", lambda a, b: (a >> 1) << b, np.int32),
    ("pl.shr(pl.shl(a, b), b)", lambda a, b: a, np.uint16),
    ("pl.maximum(a, 3)", lambda a, b: np.maximum(a, 3), np.int32),
    ("pl.sel(pl.cmp(a, b, cmp_type=2), pl.rem(b, a), a)", lambda a, b: np.where(a < b, b % a, a),
     np.int32),
    ("pl.cmps(a, 4, cmp_type=3)", lambda a, b: (a <= 4) * 1, np.int16),
]  # fmt: skip


@pytest.mark.parametrize(("value", "meaning", "dtype"), INTEGERS)
def test_integers_of_the_valid_part(value: str, meaning: Meaning, dtype: Any) -> None:
    """Logic, shifts and selects do not change the invalid part, on every target."""
    x, y = tensors(dtype)
    for run in targets(integers(value, dtype)):
        for rows, columns in SIZES:
            part = slice(2, 2 + rows), slice(0, columns)
            wanted, out = np.full((2, 20, 64), 99, dtype)
            wanted[part] = meaning(x[part], y[part])
            run(x, y, rows, columns, out)
            np.testing.assert_array_equal(out, wanted)


COLUMNS: list[tuple[str, Meaning, Any]] = [
    ("pl.sel(pl.cmp(a, b, cmp_type=4), a, pl.add(b, b))", lambda a, b: np.where(a > b, a, b + b),
     np.float32),
    ("pl.cmps(pl.prelu(pl.sub(a, b), a), 3.0, cmp_type=4)",
     lambda a, b: (np.where(a > b, a - b, (a - b) * a) > 3) * 1.0, np.float32),
    ("pl.cast(pl.maximum(a, pl.const(2.5, pl.FP32)), pl.FP16)", lambda a, b: np.maximum(a, 2.5),
     np.float16),
    ("pl.xor(pl.and_(a, pl.maximum(b, 3)), 5)", lambda a, b: (a & np.maximum(b, 3)) ^ 5, np.int32),
    ("pl.shl(a, b)", lambda a, b: a << b, np.uint16),
]  # fmt: skip


@pytest.mark.parametrize(("value", "meaning", "dtype"), COLUMNS)
def test_choices_and_bits_of_columns(value: str, meaning: Meaning, dtype: Any) -> None:
    """They view a column's bytes as a row, also where the assembler plans memory."""
    x, y = (each[:, :1].copy() for each in tensors(dtype))
    for run in targets(bits_of_columns(value, dtype)):
        for rows in (0, 5, 16):
            wanted, out = np.full((2, 20, 1), 99, dtype)
            wanted[2 : 2 + rows] = meaning(x, y)[2 : 2 + rows]
            run(x, y, rows, 1, out)
            np.testing.assert_array_equal(out, wanted)


def test_narrow_tiles_are_compared_in_part() -> None:
    """Rows of fewer than 32 elements, a few of which are valid."""
    x, y = (each[:, :16].copy() for each in tensors(np.float32))
    text = BITS.format(value="pl.cmp(a, b)", dtype="FP32", columns=16, valid="m")
    for run in targets(text):
        wanted, out = np.full((2, 20, 16), 99, np.float32)
        wanted[2:9, :3] = x[2:9, :3] == y[2:9, :3]
        run(x, y, 7, 3, out)
        np.testing.assert_array_equal(out, wanted)


BOTH = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        y: pl.Tensor[[20, 1], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ):
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[{rows}, {columns}])
        c = pl.load(y, [2, 0], [16, 1], valid_shapes=[{rows}, 1])
        r = pl.load(x, [4, 0], [1, 64], valid_shapes=[1, {columns}])
        return pl.store({value}, [2, 0], [16, 64], out)
"""
COLUMN_AND_ROW: dict[str, Meaning] = {
    "pl.sub(c, r)": lambda c, r: c - r,
    "r / c": lambda c, r: r / c,
    "pl.maximum(r, pl.cast(c, pl.FP16))": lambda c, r: np.maximum(r, c),
    "pl.col_expand(a, r) * c": lambda c, r: r * c,
}
VALID_PARTS = [("n", "64"), ("16", "n")]


@pytest.mark.parametrize("value", COLUMN_AND_ROW)
@pytest.mark.parametrize(("rows", "columns"), VALID_PARTS)
def test_a_column_and_a_row_of_which_one_is_valid_in_part(
    value: str, rows: str, columns: str
) -> None:
    """The result is valid where the partly valid one is; the other is broadcast over that part."""
    x, y = tensors()
    column = y[:, :1].copy()
    runs = targets(BOTH.format(rows=rows, columns=columns, value=value))
    for n in (0, 1, 16):
        part = slice(2, 2 + (n if rows == "n" else 16)), slice(0, n if columns == "n" else 64)
        wanted = untouched()
        wanted[part] = COLUMN_AND_ROW[value](column[2:18], x[4:5])[: part[0].stop - 2, part[1]]
        for out in outputs(runs, x, column, n):
            np.testing.assert_array_equal(out, wanted)


COLUMN = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 1], pl.FP32]],
    ) -> pl.Tensor[[20, 1], pl.FP32]:
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[{rows}, 64])
        c = pl.mul(pl.sqrt(pl.row_sum(a)), 0.5)
        for _ in pl.range(2):
            c = pl.add(c, 1.0)
        return pl.store(c, [2, 0], [16, 1], out)
"""


def column(x: Array, rows: int) -> Array:
    """Return the output of `COLUMN`."""
    wanted = untouched(columns=1)
    wanted[2 : 2 + rows] = np.sqrt(total(x[2 : 2 + rows])) / 2 + 2
    return wanted


@pytest.mark.parametrize("rows", [1, 13, 16])
def test_columns_are_computed_and_stored(rows: int) -> None:
    """A computed column keeps its valid rows, also through a loop, and only these are stored."""
    x = tensors()[0]
    runs = targets(COLUMN.format(rows="n"))
    for out in outputs(runs, x, rows, columns=1):
        np.testing.assert_allclose(out, column(x, rows), rtol=1e-6)


def test_columns_where_the_assembler_plans_memory() -> None:
    """A row view of a column has a constant valid part: it is computed as a whole."""
    x = tensors()[0]
    for rows in ("13", "n"):
        run = text_of(pl.parse_program(COLUMN.format(rows=rows)), OptimizationStrategy.PTOAS)
        for out in outputs([run], x, 13, columns=1):
            np.testing.assert_allclose(out, column(x, 13), rtol=1e-6)


ROWS_OF_COLUMNS = (
    HEAD_FP32
    + """\
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[n, 64])
        b = pl.load(y, [2, 0], [16, 64], valid_shapes=[m, 64])
        c = pl.add(pl.row_sum(a), pl.row_max(a))
        d = pl.exp(pl.neg(pl.row_max(b)))
        c = pl.mul(c, pl.add(c, 1.0))
        if n > 4:
            c = pl.sub(c, 3.0)
        out = pl.store(pl.row_expand_mul(b, d), [2, 0], [16, 64], out)
        out = pl.store(pl.row_expand_sub(a, c), [2, 0], [16, 64], out)
        return out
"""
)


@pytest.mark.parametrize(("n", "m"), [(3, 16), (16, 5), (0, 1), (9, 9)])
def test_rows_of_columns_of_different_sizes(n: int, m: int) -> None:
    """Columns with different valid parts share nothing, on every target."""
    x, y = tensors()
    wanted = untouched()
    part = y[2 : 2 + m]
    wanted[2 : 2 + m] = part * np.exp(-part.max(1, keepdims=True))
    part = x[2 : 2 + n]
    c = part.sum(1, keepdims=True) + part.max(1, keepdims=True) if n else np.zeros((0, 1))
    wanted[2 : 2 + n] = part - (c * (c + 1) - (3 if n > 4 else 0))
    for out in on_all_targets(ROWS_OF_COLUMNS, x, y, n, m):
        np.testing.assert_allclose(out, wanted, rtol=1e-6)


SEEN_ROW = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ) -> pl.Tensor[[20, 64], pl.FP32]:
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[n, 64])
        row = pl.reshape(pl.sqrt(pl.row_sum(a)), [1, 16])
        return {result}
"""


@pytest.mark.parametrize(
    "result",
    [
        "pl.store(row, [0, 0], [1, 16], out)",
        "pl.store(pl.neg(row), [0, 0], [1, 16], out)",
        "pl.store(pl.add(row, pl.load(x, [0, 0], [1, 16], valid_shapes=[1, n])), [0, 0], [1, 16], "
        "out)",
    ],
)
def test_rows_that_are_seen_are_refused_there(result: str) -> None:
    """A row whose valid part matters is not computed as a whole: the text has no form for it."""
    with pytest.raises(PyptoError) as caught:
        text_of(pl.parse_program(SEEN_ROW.format(result=result)), OptimizationStrategy.PTOAS)
    assert caught.value.message == (
        "the bytes of a column whose valid part is known only at run time are read as a row, "
        "which the PTO dialect cannot say where the assembler plans memory"
    )


LOADED_COLUMN = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        divisors: pl.Tensor[[20, 1], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ) -> pl.Tensor[[20, 64], pl.FP32]:
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[{rows}, 64])
        c = pl.load(divisors, [2, 0], [16, 1], valid_shapes=[{rows}, 1])
        return pl.store(pl.row_expand_div(a, c), [2, 0], [{region}, 64], out)
"""


@pytest.mark.parametrize("region", ["16", "n"])
@pytest.mark.parametrize("rows", [1, 13, 16])
def test_columns_are_loaded_in_part(rows: int, region: str) -> None:
    """Only a column's valid rows are read; a store's region is the tile, or its valid part."""
    x, y = tensors()
    divisors = np.full((20, 1), np.nan, np.float32)
    divisors[2 : 2 + rows] = y[2 : 2 + rows, :1]
    wanted = untouched()
    wanted[2 : 2 + rows] = (x / y[:, :1])[2 : 2 + rows]
    for out in on_all_targets(LOADED_COLUMN.format(rows="n", region=region), x, divisors, rows):
        np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_columns_are_loaded_in_constant_part() -> None:
    """The number of valid rows may be constant, even equal to the region's size."""
    x, y = tensors()
    wanted = untouched()
    wanted[2:15] = (x / y[:, :1])[2:15]
    for region in "16", "13":
        text = LOADED_COLUMN.format(rows="13", region=region)
        for out in on_all_targets(text, x, y[:, :1].copy(), 0):
            np.testing.assert_allclose(out, wanted, rtol=1e-6)


def test_integers() -> None:
    """Integer tiles behave like floats; a cast keeps the valid part."""
    x, y = tensors(np.int32)
    text = source("pl.cast(pl.add(pl.mul(a, b), pl.neg(a)), pl.FP32)", dtype="INT32")
    wanted = untouched()
    wanted[2:11, :33] = (x * y - x)[2:11, :33]
    for out in on_all_targets(text, x, y, 9, 33):
        np.testing.assert_array_equal(out, wanted)


def test_constant_sizes() -> None:
    """Valid sizes may be constants; a tensor of exactly that size is not read out of bounds."""
    text = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[5, 40], pl.FP32], out: pl.Out[pl.Tensor[[20, 64], pl.FP32]]
    ) -> pl.Tensor[[20, 64], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 64], valid_shapes=[5, 40])
        return pl.store(pl.add(a, 1.0), [12, 24], [16, 64], out)
"""
    x = np.arange(200, dtype=np.float32).reshape(5, 40)
    wanted = untouched()
    wanted[12:17, 24:] = x + 1
    for out in on_all_targets(text, x):
        np.testing.assert_array_equal(out, wanted)


TAIL = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ) -> pl.Tensor[[20, 64], pl.FP32]:
        for i in pl.range(0, {stop}, 8):
            rows = pl.min(8, n - i)
            a = pl.load(x, [i, 0], [8, 64], valid_shapes=[rows, 64])
            out = pl.store(pl.mul(a, 2.0), [i, 0], [8, 64], out)
        return out
"""


@pytest.mark.parametrize("rows", [1, 7, 8, 19, 20])
def test_a_ragged_tail(rows: int) -> None:
    """One loop handles whole blocks and the last rows; each iteration has its own valid size."""
    x = tensors()[0]
    wanted = untouched()
    wanted[:rows] = x[:rows] * 2
    for out in on_all_targets(TAIL.format(stop="n"), x, rows):
        np.testing.assert_array_equal(out, wanted)


VECTORS = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1280], pl.FP32],
        y: pl.Tensor[[1280], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ):
        flat = pl.tensor.reshape_view(out, [1280])
        for i in pl.range(0, n, 128):
            count = pl.min(128, n - i)
            a = pl.load(x, [i], [128], valid_shapes=[count])
            b = pl.load(y, [i], [128], valid_shapes=[count])
            flat = pl.store({value}, [i], [128], flat)
        return out
"""
OF_VECTORS = [
    "pl.add(a, b)",
    "pl.maximum(a, 0.5)",
    "pl.exp(a)",
    "pl.sel(pl.cmp(a, b, cmp_type=5), b, a)",
    "pl.rem(a, b)",
    "pl.cast(pl.cast(a, pl.FP16), pl.FP32)",
    "pl.block.vec_move(a)",
]


@pytest.mark.parametrize("value", OF_VECTORS)
def test_vectors_have_a_valid_part(value: str) -> None:
    """A 1-D tile is a row: only its last part is loaded, computed and stored."""
    x, y = (array.reshape(-1) for array in tensors())
    runs = targets(VECTORS.format(value=value), [OptimizationStrategy.Default])
    for count in (0, 1, 128, 1000, 1280):
        wanted = untouched().reshape(-1)
        wanted[:count] = OPS[value](x[:count], y[:count])
        for out in outputs(runs, x, y, count):
            np.testing.assert_allclose(out.reshape(-1), wanted, rtol=1e-6, atol=1e-6)


def test_passes_keep_the_part() -> None:
    """Unrolling, folding, CSE and hoisting keep the valid size of each tile."""
    x = tensors()[0]
    wanted = untouched()
    wanted[:13] = x[:13] * 2
    program = pl.parse_program(TAIL.format(stop="16"))
    for make in (
        passes.convert_to_ssa,
        passes.flatten_call_expr,
        passes.unroll_loops,
        passes.simplify,
        passes.common_subexpr,
        passes.loop_invariant_motion,
        passes.dead_code,
    ):
        program = make()(program)
    assert "pl.range" not in str(program)
    for out in on_all_targets(str(program), x, 13):
        np.testing.assert_array_equal(out, wanted)


REASSIGNED = [
    (
        "rows = n\n        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[rows, 64])\n"
        "        b = pl.load(y, [2, 0], [16, 64], valid_shapes=[rows, 64])\n"
        "        rows = 2\n        a = pl.mul(a, b)"
    ),
    "a = pl.mul(a, b)\n        n = n - 2",
    "for i in pl.range(2):\n            k = n - 1\n            a = pl.add(a, pl.sub(b, b))\n"
    "        a = pl.mul(a, b)",
]


@pytest.mark.parametrize("lines", REASSIGNED)
def test_a_tile_keeps_the_size_that_a_variable_had(lines: str) -> None:
    """Assigning to the variable later does not change the tile's valid size."""
    x, y = tensors()
    text = source("a", "n, 64").replace("c = a\n", f"{lines}\n        c = a\n")
    wanted = untouched()
    wanted[2:9] = (x * y)[2:9]
    for out in on_all_targets(text, x, y, 7, 64):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("size", [17, -1, 1 << 40])
def test_sizes_beyond_the_tile(size: int) -> None:
    """More rows than the tile has, or a negative number, are an error; nothing is stored."""
    program = pl.parse_program(source("pl.add(a, b)"))
    x, y = tensors()
    out = untouched()
    with pytest.raises(EvaluationError) as caught:
        compile_program(program, "interpreter")(x, y, size, 64, out)
    assert caught.value.message == f"pl.load has [{size}, 64] valid elements in a tile [16, 64]"
    assert caught.value.slug == "valid-shape"
    if abs(size) < 1 << 31:
        with pytest.raises(KernelError, match="valid size larger than the physical size"):
            compile_program(program)(x, y, size, 64, out)
    np.testing.assert_array_equal(out, -1)


def test_filled_tiles_are_whole() -> None:
    """The copy has zeros where the tile is invalid, and all of it is stored."""
    x, y = tensors()
    wanted = untouched()
    wanted[2:18] = 0
    wanted[2:5, :10] = x[2:5, :10]
    for out in on_all_targets(source("pl.fillpad(a)"), x, y, 3, 10):
        np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(("dtype", "poison"), [(np.float32, np.nan), (np.int32, -1)])
def test_padding_is_poison(dtype: Any, poison: float) -> None:
    """Outside the valid part an interpreted tile has no values of its tensor."""
    kind = "FP32" if dtype is np.float32 else "INT32"
    text = f"""
import pypto.language as pl

@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[20, 64], pl.{kind}], n: pl.Scalar[pl.INT64]
) -> pl.Tile[[16, 64], pl.{kind}]:
    a = pl.load(x, [2, 0], [16, 64], valid_shapes=[n, 10])
    return pl.add(a, a)
"""
    x = tensors(dtype)[0]
    found = evaluate(pl.parse(text), [x, 3])
    np.testing.assert_array_equal(found[:3, :10], 2 * x[2:5, :10])
    found[:3, :10] = poison
    np.testing.assert_array_equal(found, np.full((16, 64), poison, dtype))


CALLED = (
    HEAD_FP32
    + """\
        t = self.part(y, {argument}, x)
        return pl.store(pl.add(t, 1.0), [2, 0], [16, 64], out)

    @pl.function(type=pl.FunctionType.InCore)
    def part(
        self,
        y: pl.Tensor[[20, 64], pl.FP32],
        m: pl.Scalar[pl.INT64],
        x: pl.Tensor[[20, 64], pl.FP32],
    ){results}:
        a = pl.load(x, [2, 0], [16, 64], valid_shapes=[m, 10])
        return pl.add(a, a)
"""
)


@pytest.mark.parametrize(
    ("argument", "rows", "stated"),
    [("n", 3, "n"), ("n + m", 5, "_valid_tmp"), ("7", 7, "7"), ("16", 16, "16")],
)
@pytest.mark.parametrize(
    "results",
    [
        "",
        " -> pl.Tile[[16, 64], pl.FP32]",
        " -> pl.Tile[[16, 64], pl.FP32, pl.TileView(valid_shape=[m, 10])]",
    ],
)
def test_results_of_functions(argument: str, rows: int, stated: str, results: str) -> None:
    """A call's result is valid where the callee's is, in terms of the caller's variables."""
    text = CALLED.format(argument=argument, results=results)
    program = pl.parse_program(text)
    lines = [line.strip() for line in str(program).splitlines()]
    view = "pl.Tile[[16, 64], pl.FP32, pl.TileView(valid_shape=[{}, 10])]"
    assert any(line.startswith(f"t: {view.format(stated)} = self.part(") for line in lines)
    assert any(line.startswith("def part(") and view.format("m") in line for line in lines)
    ir.assert_structural_equal(pl.parse_program(str(program)), program)
    lowered = PassManager.get_strategy().run_passes(program)
    x, y = tensors()
    wanted, out = untouched(), untouched()
    wanted[2 : 2 + rows, :10] = 2 * x[2 : 2 + rows, :10] + 1
    compile_program(lowered, "interpreter")(x, y, 3, 2, out)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (
            "-> {}:\n        a:",
            "the result of part is a Tile[[16, 64], FP32] valid throughout, what it returns is a "
            "Tile[[16, 64], FP32] valid in [m, 10]",
        ),
        (
            "t: {} = self",
            "the call's type is a Tile[[16, 64], FP32] valid throughout, a result of part is a "
            "Tile[[16, 64], FP32] valid in [m, 10]",
        ),
    ],
)
def test_types_that_hide_padding(place: str, message: str) -> None:
    """IR in which a function's result type, or its call's type, hides padding is rejected."""
    text = str(pl.parse_program(CALLED.format(argument="m", results="")))
    told = place.format("pl.Tile[[16, 64], pl.FP32, pl.TileView(valid_shape=[m, 10])]")
    assert text.count(told) == 1
    program = pl.parse_program(text.replace(told, place.format("pl.Tile[[16, 64], pl.FP32]")))
    found = ir.IRVerifier.create_default().verify(program)
    assert message in [each.message for each in found]


@pytest.mark.parametrize("column", ["pl.row_max(b, s)", "pl.neg(pl.row_max(b, s))"])
def test_texts_and_bytes(column: str) -> None:
    """Both texts and the bytes are read back as the same program, before and after the passes."""
    program = pl.parse_program(source(f"pl.row_expand_sub(a, {column})"))
    assert "pl.block.load(x, [2, 0], [16, 64], target_memory=" in str(program)
    assert "valid_shapes=[n, m])" in str(program)
    lowered = PassManager.get_strategy().run_passes(program)
    for each in (program, lowered):
        ir.assert_structural_equal(pl.parse_program(str(each)), each)
        ir.assert_structural_equal(ir.deserialize(ir.serialize(each)), each)
        whole = to_statement_form(each)
        check_statement_form(whole, whole)


def test_whole_sizes_are_no_sizes() -> None:
    """Valid sizes equal to the whole tile give the type of a whole tile."""
    program = pl.parse_program(source("pl.add(a, b)", "16, 64"))
    assert "TileView" not in str(program)


COMPUTED = (
    HEAD_FP32
    + """\
        for i in pl.range(0, n, 16):
            a = pl.load(x, [i, 0], [16, 64], valid_shapes=[pl.min(n - i, 16), m * 2])
            b = pl.load(y, [i, 0], [16, 64], valid_shapes=[pl.min(n - i, 16), m * 2])
            out = pl.store(pl.add(a, b), [i, 0], [16, 64], out)
            if i > 0:
                n = n - 1
                c = pl.load(x, [i, 0], [16, 64], valid_shapes=[pl.min(n - i, 16), m * 2])
                n = n + 1
                out = pl.store(pl.neg(c), [i, 0], [16, 64], out)
        return out
"""
)


@pytest.mark.parametrize("rows", [1, 16, 19, 20])
def test_computed_sizes(rows: int) -> None:
    """A valid size computed in the call is evaluated there, whatever changes later."""
    x, y = tensors()
    wanted = untouched()
    wanted[:rows, :40] = x[:rows, :40] + y[:rows, :40]
    wanted[16 : max(rows - 1, 16), :40] = -x[16 : max(rows - 1, 16), :40]
    for out in on_all_targets(COMPUTED, x, y, rows, 20):
        np.testing.assert_array_equal(out, wanted)


def test_computed_sizes_have_names() -> None:
    """Each computed size is named once, and the text with the names gives an equal program."""
    program = pl.parse_program(COMPUTED)
    text = ir.python_print(program)
    assert re.findall(r"(\w+): pl.Scalar\[pl.INT64\] = (min.*|m .*)", text) == [
        ("_valid_tmp", "min(n - i, 16)"),
        ("_valid_tmp_1", "m * 2"),
        ("_valid_tmp_2", "min(n - i, 16)"),
        ("_valid_tmp_3", "m * 2"),
    ]
    assert text.count("valid_shapes=[_valid_tmp, _valid_tmp_1]") == 2
    ir.assert_structural_equal(pl.parse_program(text), program)


BETWEEN = {
    "nothing": "",
    "a loop": "for j in pl.range(2):\n                a = pl.add(a, a)",
    "a size of its own": "rest = n - i",
}
REGIONS = ["out = pl.store(a, [i, 0], [{}, 64], out)", "out[i : i + {}] = a"]


def stored(load: str, between: str, store: str) -> str:
    """Return a kernel that stores the valid part of ``a``, at rows from i on of ``x``."""
    lines = ["for i in pl.range(0, n, 16):", *(f"    {line}" for line in (load, between, store))]
    return HEAD_FP32 + "".join(f"        {line}\n" for line in (*lines, "return out"))


LOAD = "a = pl.load(x, [i, 0], [16, 64], valid_shapes=[{}, 64])"


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN)
@pytest.mark.parametrize("store", REGIONS, ids=["call", "slice"])
def test_a_size_may_be_computed_twice(between: str, store: str) -> None:
    """A region with the valid size is the valid part, even if the size is computed again."""
    size = "pl.min(n - i, 16)"
    once = stored(f"rows = {size}\n            {LOAD.format('rows')}", between, store.format(size))
    twice = stored(LOAD.format(size), between, store.format(size))
    x, y = tensors()
    wanted = untouched()
    wanted[:19] = x[:19] * (4 if "add" in between else 1)
    for text in (once, twice):
        for out in on_all_targets(text, x, y, 19, 64):
            np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("store", REGIONS, ids=["call", "slice"])
@pytest.mark.parametrize("between", [
    "n = n - 1", "for j in pl.range(2):\n                n = n - 1",
    "if m > 3:\n                n = n - 1",
])  # fmt: skip
def test_a_size_of_changed_numbers_is_another(between: str, store: str) -> None:
    """The same expression is another size once a variable in it, at any depth, has changed."""
    size = "pl.min(n - i, 16)"
    with pytest.raises(PyptoError) as caught:
        pl.parse_program(stored(LOAD.format(size), between, store.format(size)))
    assert caught.value.slug == "shape-mismatch"
    assert caught.value.message.endswith("to a region [min(n - i, 16), 64]") or (
        caught.value.message.endswith("written to a region of size [min(n - i, 16), 64]")
    )


def test_a_variable_that_is_assigned_again_is_no_size() -> None:
    """A variable that held the size before it was reassigned is no longer that size."""
    load = LOAD.format("rows")
    lines = f"rows = pl.min(n - i, 16)\n            rows = rows - 1\n            {load}"
    with pytest.raises(PyptoError) as caught:
        pl.parse_program(stored(lines, "", REGIONS[0].format("pl.min(n - i, 16)")))
    assert caught.value.message == (
        "pl.store of a tile [16, 64], valid in [rows, 64], to a region [min(n - i, 16), 64]"
    )
    assert caught.value.hint == "give the tile's shape as the size of the region: [16, 64]"


VARIANCE = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[20, 64], pl.FP32],
        y: pl.Tensor[[20, 64], pl.FP32],
        n: pl.Scalar[pl.INT64],
        m: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 64], valid_shapes=[n, 64])
        d = pl.col_expand_sub(a, pl.load(y, [0, 0], [1, 64]))
        v = VALUE
        out = pl.store(v, [0, 0], [1, 64], out)
"""


def test_the_hint_gives_the_right_variance() -> None:
    """The hinted code sums the squares of the valid rows, and no others."""
    value = "pl.sum(pl.mul(d, d), axis=0, keepdim=True)"
    with pytest.raises(PyptoError) as caught:
        pl.parse_program(VARIANCE.replace("VALUE", value))
    assert caught.value.hint == "write pl.sum(pl.fillpad(pl.mul(d, d)), axis=0, keepdim=True)"
    x, y = tensors()
    wanted = untouched()
    wanted[0] = ((x[:13] - y[0]) ** 2).sum(axis=0)
    text = VARIANCE.replace("VALUE", caught.value.hint.removeprefix("write "))
    for out in on_all_targets(text, x, y, 13, 64):
        np.testing.assert_array_equal(out, wanted)


def test_the_op_takes_names_only() -> None:
    """Types refer to valid sizes by name, so the op itself rejects an expression in its call."""
    x = ir.Var("x", ir.TensorType([20, 64], pl.FP32), ir.Span.unknown())
    n = ir.Var("n", ir.ScalarType(pl.INT64), ir.Span.unknown())
    with pytest.raises(PyptoError, match="valid size in dimension 0 is computed") as caught:
        ir.op.block.load(x, [0, 0], [16, 64], valid_shapes=[n + 1, 64])
    assert caught.value.slug == "valid-computed"


REFUSED = [
    ("pl.transpose(a, 0, 1)", "n, m", "pl.transpose takes tiles that are valid throughout"),
    ("pl.reshape(a, [1, 1024])", "n, m", "pl.reshape of a partly valid tile to [1, 1024], and"),
    ("pl.cmp(a, pl.exp(s))", "n, m", "operands of pl.cmp have different valid parts"),
    ("pl.max(a, axis=1, keepdim=True)", "n, m", "pl.max takes tiles that are valid throughout, a"),
    ("pl.sum(a, axis=0, keepdim=True)", "n, m", "pl.sum takes tiles that are valid throughout"),
    ("pl.add(a, pl.exp(s))", "n, m", "operands of pl.add have different valid parts"),
    ("pl.row_max(a, b)", "n, m", None),
    ("pl.fillpad(pl.row_sum(a, s))", "n, m", "pl.fillpad does not take partly valid columns"),
    ("pl.add(a, b)", "17, 64", "pl.load has 17 valid of 16 elements in dimension 0"),
    ("pl.add(a, b)", "16", "makes partly valid tiles of at most two"),
]


@pytest.mark.parametrize(("value", "valid", "message"), REFUSED)
def test_what_is_refused(value: str, valid: str, message: str | None) -> None:
    """Ops that do not support valid parts, and differing parts, are errors with a hint."""
    with pytest.raises(PyptoError, match=message and re.escape(message)) as caught:
        pl.parse_program(source(value, valid))
    assert caught.value.slug in ("valid-shape", "shape-mismatch")


def test_unsigned_ones_are_not_compared_in_part() -> None:
    """They are viewed as signed ones, for which the dialect has no dynamic valid part."""
    text = source("pl.cast(pl.cmps(a, 3), pl.FP32)", dtype="UINT16")
    words = "pl.cmp of elements of UINT16 takes tiles that are valid throughout, a is valid in"
    with pytest.raises(PyptoError, match=words) as caught:
        pl.parse_program(text)
    assert caught.value.slug == "valid-shape"
    assert caught.value.hint == "write pl.cmps(pl.fillpad(a), 3)"


RAGGED_SUM = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[16, 64], pl.{dtype}],
        r: pl.Tensor[[1, 64], pl.{dtype}],
        n: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[16, 64], pl.{dtype}]],
    ):
        y = pl.load(x, [0, 0], [16, 64], valid_shapes=[n, 64])
        row = pl.load(r, [0, 0], [1, 64])
        out = pl.store({value}, [0, 0], [16, 64], out)
"""


@pytest.mark.parametrize("value", ["y + row", "pl.add(row, y)"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_a_row_is_added_exactly(dtype: Any, value: str) -> None:
    """The sum with a row is a difference of its negative, with signs of zeros and wrapping."""
    word = "FP32" if dtype is np.float32 else "INT32"
    program = pl.parse_program(RAGGED_SUM.format(dtype=word, value=value))
    low = -0.0 if dtype is np.float32 else np.iinfo(np.int32).min
    x, r = np.full((16, 64), low, dtype), np.full((1, 64), low, dtype)
    x[:, 1], r[:, 2] = 3, 5
    wanted = np.zeros((16, 64), dtype)
    wanted[:7] = x[:7] + r
    for target in ("interpreter", "cpu"):
        out = np.zeros((16, 64), dtype)
        compile_program(program, target)(x, r, 7, out)
        assert out.tobytes() == wanted.tobytes()


INNER = """
import pypto.language as pl

Mat = pl.MemorySpace.Mat

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[16, 64], pl.FP16],
        y: pl.Tensor[[64, 64], pl.FP16],
        k: pl.Scalar[pl.INT64],
        out: pl.Out[pl.Tensor[[20, 64], pl.FP32]],
    ):
        a = pl.load(x, [0, 0], [16, 64], target_memory=Mat, valid_shapes=[16, k])
        b = pl.load(y, [0, 0], [64, 64], target_memory=Mat, valid_shapes=[k, 64])
        left = pl.move(a, target_memory=pl.MemorySpace.Left)
        right = pl.move(b, target_memory=pl.MemorySpace.Right)
        out = pl.store(pl.matmul(left, right), [0, 0], [16, 64], out)
"""


@pytest.mark.parametrize("k", [1, 17, 64])
def test_a_product_of_a_part_of_k(k: int) -> None:
    """The valid part of K may be known only at run time; the rest has no effect."""
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((16, 64), (64, 64)))
    wanted = x[:, :k].astype(np.float32) @ y[:k].astype(np.float32)
    for found in on_all_targets(INNER, x, y, k):
        np.testing.assert_array_equal(found[:16], wanted)
