"""Operators on whole tensors of any size, in ``with pl.incore():``: gathering, sorting, filling.

Each program runs in the interpreter, with its kernels as compiled C++, and in the evaluator of its
texts for the assembler; all compute the formula.
"""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false

from __future__ import annotations

import linecache
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np
import pytest

from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.native import NativeKernel
from tests.examples.emitted import Emitted
from tests.language.rows import Array, runs, scattered, updated
from tests.language.test_levels import Compiled
from tests.natively import batches, compile_together, compiler


class Form(NamedTuple):
    """The lines of a program on ``x0``, ``x1``, ... that compute ``r``, and its formula."""

    lines: str
    shapes: Sequence[tuple[int, ...]]
    means: Callable[..., Any]
    dtypes: Sequence[str] = ("float32",)
    dynamic: bool = False
    """The first operand's number of rows, and the result's, are known only at the call."""


def records(a: Array, size: int) -> Array:
    """Return rows as records with their positions, sorted in runs of ``size``."""
    index = np.arange(a.shape[1], dtype=np.uint32)[None]
    return np.concatenate([runs(row[None], index, size) for row in a])


SORT: Final = "p = pl.sort32(x0, pl.tensor.arange(0, [1, {}], dtype=pl.UINT32))\n"

FORMS: Final = [
    Form("r = pl.concat(x0, x1)", [(37, 5), (37, 10)], lambda a, b: np.concatenate([a, b], 1)),
    Form(
        "r = pl.concat(x0, x1)",
        [(19, 700), (19, 33)],
        lambda a, b: np.concatenate([a, b], 1),
        ("bfloat16", "bfloat16"),
    ),
    Form(
        "r = pl.concat(pl.mul(x0, 2), x1)",
        [(300, 64), (300, 64)],
        lambda a, b: np.concatenate([2 * a, b], 1),
        ("int32", "int32"),
        dynamic=True,
    ),
    Form(
        "r = pl.fillpad_expand(x0, [40, 100])",
        [(37, 93)],
        lambda a: np.pad(a, ((0, 3), (0, 7))),
    ),
    Form(
        "r = pl.fillpad_expand(x0, [40, 96], pad_value=pl.PadValue.min)",
        [(37, 93)],
        lambda a: np.pad(a, ((0, 3), (0, 3)), constant_values=-np.inf),
    ),
    Form(
        "r = pl.fillpad_expand(x0, [16, 64], pad_value=pl.PadValue.max)",
        [(3, 33)],
        lambda a: np.pad(a, ((0, 13), (0, 31)), constant_values=127),
        ("int8",),
    ),
    Form("r = pl.row_argmax(x0)", [(300, 77)], lambda a: a.argmax(1)[:, None]),
    Form("r = pl.row_argmin(x0)", [(21, 500)], lambda a: a.argmin(1)[:, None], dynamic=True),
    Form("r = pl.col_argmax(x0)", [(61, 203)], lambda a: a.argmax(0)[None]),
    Form("r = pl.col_argmin(x0)", [(100, 64)], lambda a: a.argmin(0)[None], ("float16",)),
    Form(
        "r = pl.row_expand(x0, pl.row_max(x1))",
        [(300, 77), (300, 40)],
        lambda a, b: np.broadcast_to(b.max(1, keepdims=True), a.shape),
    ),
    Form(
        "r = pl.col_expand(x0, x1)",
        [(300, 77), (1, 77)],
        np.broadcast_arrays,
        dynamic=True,
    )._replace(means=lambda a, b: np.broadcast_to(b, a.shape)),
    Form("r = pl.expands(x0, 3)", [(7, 4000)], lambda a: a * 0 + 3),
    Form("r = pl.sin(x0)", [(37, 93)], np.sin),
    Form("r = pl.cos(pl.mul(x0, 2.0))", [(200, 256)], lambda a: np.cos(2 * a), dynamic=True),
    Form("r = pl.fmod(x0, 1.5)", [(37, 93)], lambda a: np.fmod(a, 1.5)),
    Form("r = pl.fmods(x0, 1.5)", [(37, 93)], lambda a: np.fmod(a, 1.5)),
    Form("r = pl.part_max(x0, x1)", [(37, 93), (37, 93)], np.maximum),
    Form("r = pl.add(x0, pl.tensor.full([37, 93], pl.FP32, 2.5))", [(37, 93)], lambda a: a + 2.5),
    Form("r = pl.tensor.full([5, 70000], pl.BF16, -1.0)", [(2, 2)], lambda _: -np.ones((5, 70000))),
    Form("r = pl.tensor.full([33, 65], pl.INT8, -7)", [(2, 2)], lambda _: -7 * np.ones((33, 65))),
    Form(
        "r = pl.add(x0, pl.tensor.arange(3, [1, 93], dtype=pl.INT32))",
        [(37, 93)],
        lambda a: a + np.arange(3, 96),
        ("int32",),
    ),
    Form(
        "r = pl.tensor.arange(7, [1, 100000], dtype=pl.INT32, descending=True)",
        [(2, 2)],
        lambda _: 7 - np.arange(100000)[None],
        ("int32",),
    ),
    Form(
        "r = pl.gather(x0, dim=-1, index=x1)",
        [(300, 93), (300, 40)],
        lambda a, i: np.take_along_axis(a, i.astype(int) % 93, 1),
        ("float32", "int32"),
    ),
    Form(
        "r = pl.gather(x0, mask_pattern=pl.tile.MaskPattern.P1010)",
        [(77, 48)],
        lambda a: a[:, 1::2],
        dynamic=True,
    ),
    Form(
        "r = pl.scatter(x0, dim=-1, index=x1, src=x2)",
        [(100, 96), (100, 3), (100, 3)],
        lambda a, i, s: scattered(a, i, s),
        ("float32", "int32", "float32"),
    ),
    Form(
        "r = pl.scatter_update(x0, -2, x1, x2)",
        [(90, 200), (1, 5), (5, 200)],
        lambda a, i, s: updated(a, i, s),
        ("float32", "int32", "float32"),
    ),
    Form(SORT.format(96) + "r = p", [(37, 96)], lambda a: records(a, 32)),
    Form(
        SORT.format(128) + "r = pl.mrgsort(p, block_len=64)",
        [(37, 128)],
        lambda a: records(a, 128),
        dynamic=True,
    ),
    Form(
        SORT.format(64)
        + "r = pl.mrgsort(pl.view(p, [9, 64], [0, 0]), pl.view(p, [9, 64], [0, 64]))",
        [(9, 64)],
        lambda a: records(a, 64),
    ),
    Form(
        SORT.format(128)
        + "p = pl.mrgsort(p, block_len=64)\n"
        + "r = pl.gather(pl.view(p, [37, 16], [0, 0]), mask_pattern=pl.tile.MaskPattern.P0101)",
        [(37, 128)],
        lambda a: -np.sort(-a, axis=1)[:, :8],
    ),
]


def arguments(form: Form) -> list[Array]:
    """Return the arrays of a call, the last one for the result."""
    rng = np.random.default_rng(7)
    given: list[Array] = []
    for shape, name in zip(form.shapes, [*form.dtypes] + ["float32"] * 3, strict=False):
        dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
        is_int = np.issubdtype(dtype, np.integer)
        given.append(
            (rng.integers(0, 60, shape) if is_int else rng.permutation(np.prod(shape)) / 64 - 3)
            .reshape(shape)
            .astype(dtype)
        )
    return given


def source(form: Form, given: Sequence[Array], result: Array) -> str:
    """Return the text of the program."""

    def kind(array: Array, rows: Any) -> str:
        name = _NAMES[str(array.dtype)]
        return f"pl.Tensor[[{rows}, {array.shape[1]}], pl.{name}]"

    def rows(array: Array) -> Any:
        return "M" if form.dynamic and len(array) == len(given[0]) else len(array)

    params = [f"x{i}: {kind(a, rows(a))}" for i, a in enumerate(given)]
    params.append(f"out: pl.Out[{kind(result, rows(result))}]")
    lines = [*form.lines.split("\n"), "out = pl.assemble(out, r, [0, 0])"]
    body = "\n".join(f"            {line}" for line in lines)
    return f"""import pypto.language as pl

M = pl.dynamic("M")


@pl.program
class Whole:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, {", ".join(params)}):
        with pl.incore():
{body}
        return out
"""


_NAMES: Final = {
    "float32": "FP32",
    "float16": "FP16",
    "bfloat16": "BF16",
    "int32": "INT32",
    "int8": "INT8",
}
_RESULTS: Final = {"argm": "int32", "BF16": "bfloat16", "INT8": "int8", "INT32": "int32"}
"""Element types of results that differ from the first operand's, by a word in the text."""
IDS: Final = [f"{index}-{form.lines}" for index, form in enumerate(FORMS)]


def wanted(form: Form, given: Sequence[Array]) -> Array:
    """Return the result of the formula, in the element type of the result."""
    wide = [a.astype(np.int64 if np.issubdtype(a.dtype, np.integer) else np.float64) for a in given]
    exact = [a.astype(np.float32) for a in given] if "sort32" in form.lines else wide
    found: Array = form.means(*exact)
    last = form.lines.split("\n")[-1]
    name = next((t for word, t in _RESULTS.items() if word in last), str(given[0].dtype))
    name = str(given[0].dtype) if last.startswith("r = pl.add") else name
    return np.asarray(found).astype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


class Case(NamedTuple):
    program: Program
    given: list[Array]
    wanted: Array


@cache
def case(index: int) -> Case:
    form = FORMS[index]
    given = arguments(form)
    result = wanted(form, given)
    text, name = source(form, given, result), f"<whole {index}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "whole"}
    exec(compile(text, name, "exec"), names)
    return Case(names["Whole"], given, result)


def check(index: int, evaluator: Evaluator) -> None:
    """Run a program, and compare its result with the formula's."""
    _, given, result = case(index)
    out = np.zeros(result.shape, result.dtype)
    evaluator.run("main", [*(a.copy() for a in given), out])
    exact = np.issubdtype(out.dtype, np.integer) or "sort32" in FORMS[index].lines
    if exact:
        assert np.array_equal(out.view(np.uint8), result.view(np.uint8))
    else:
        np.testing.assert_allclose(out.astype(float), result.astype(float), 2e-5, 2e-5)


BATCHES = batches(dict.fromkeys(map(str, range(len(FORMS))), 6))


@cache
def compiled(batch: tuple[str, ...]) -> Mapping[str, Compiled]:
    """Return programs whose kernels are compiled together."""
    passes = PassManager(OptimizationStrategy.Default)
    lowered = {name: passes.run_passes(case(int(name)).program) for name in batch}
    parts = [(name, kernel) for name, each in lowered.items() for kernel in kernels(each)]
    natives = compile_together([kernel for _, kernel in parts], compiler())
    found: dict[str, dict[str, NativeKernel]] = {name: {} for name in batch}
    for (name, kernel), native in zip(parts, natives, strict=True):
        found[name][kernel.name] = native
    return {name: Compiled(lowered[name], found[name]) for name in batch}


@pytest.mark.parametrize("index", range(len(FORMS)), ids=IDS)
def test_interpreter(index: int) -> None:
    """The interpreter computes the formula."""
    check(index, Evaluator(case(index).program))


@pytest.mark.parametrize("index", range(len(FORMS)), ids=IDS)
def test_assembler_text(index: int) -> None:
    """The text for the assembler is accepted, and computes the formula."""
    check(index, Emitted(case(index).program))


@pytest.mark.parametrize("index", range(len(FORMS)), ids=IDS)
def test_compiled(index: int) -> None:
    """Compiled C++ computes the formula."""
    check(index, compiled(BATCHES[str(index)])[str(index)])
