"""All executions of every op agree: NumPy, interpreter before and after passes, compiled C++."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from pypto._src.dtypes import DataType
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.stmts import Function
from pypto._src.ops import elementwise, matmul, reduce
from pypto._src.ops.lazy import axis_reductions, columns
from pypto._src.run.native import NativeKernel
from tests import effort
from tests.cases import CASES, Array, BuiltKernel, Case, Shape, build_call, kernel_for
from tests.natively import (
    assert_close,
    batches,
    compile_together,
    compiler,
    lowered,
    with_scratch,
    words,
)
from tests.ops.arrays import apply_call

D = DataType

# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------

_SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan]
# Rounding ties, and the limits of the integers that floats are cast to, on both sides.
_TIES = [0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 126.5, 127.5, 254.5, 255.5, -128.5, 32767.5]
_LIMITS = [127, 128, -129, 255, 256, 32767, 32768, -32769, 65504, 65520, 65535, 65536]
_WIDE = [2.0**24 + 1, 2.0**31 - 128, 2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64]
# Sums are accumulated in the machine's order, so their terms neither cancel nor overflow.
_SUMS = (
    *(reduce.row_sum, axis_reductions.sum, columns.col_sum, columns.col_prod, columns.row_prod),
    *(matmul.matmul, matmul.matmul_acc, matmul.gemv),
)
EXTREMES = (
    reduce.row_max,
    reduce.row_min,
    axis_reductions.max,
    axis_reductions.min,
    columns.col_max,
    columns.col_min,
)


def edges(dtype: DataType) -> Array:
    """Return the edge values of an element type."""
    if not dtype.is_float():
        limits = np.iinfo(dtype.numpy)
        low, high = int(limits.min), int(limits.max)
        near = [low, low + 1, high, high - 1, *range(-3, 4)]
        powers = [s * 2**p + d for p in (7, 8, 15, 16, 24, 31) for s in (1, -1) for d in (-1, 0, 1)]
        return np.array(sorted({v for v in near + powers if low <= v <= high}), dtype.numpy)
    with np.errstate(over="ignore"):
        ordinary = np.array([*_SPECIAL, *_TIES, *_LIMITS, *_WIDE, 1.0, -1.0, 3.0, -7.0])
        typed = ordinary.astype(dtype.numpy)
    width = np.dtype(f"u{dtype.bytes}")
    infinity = int(np.array([np.inf]).astype(dtype.numpy).view(width)[0])
    one = int(np.ones(1, dtype.numpy).view(width)[0])
    # By bit patterns: smallest and largest finite values, the neighbours of one.
    patterns = np.array([1, 2, infinity - 1, one - 1, one + 1], width).view(dtype.numpy)
    return np.concatenate([typed, patterns, -patterns])


def arguments(case: Case, kernel: BuiltKernel) -> Iterator[list[Array]]:
    """Yield inputs: the row's own, edge values alone, and edge values among the row's."""
    yield kernel.arguments(case.values)
    for seed in range(1, 5):
        rng = np.random.default_rng(seed)
        mixed = kernel.arguments(case.values, seed)
        for index, (array, (shape, dtype)) in enumerate(zip(mixed, kernel.inputs, strict=False)):
            if index in case.indices:
                continue
            special = edges(dtype)
            if dtype.is_float() and sums(case):
                special = np.array(_SPECIAL).astype(dtype.numpy)
            share = 1.0 if seed < 3 and not sums(case) else 1 / 64
            chosen = rng.choice(special, shape)
            array[...] = np.where(rng.random(shape) < share, chosen, array)
        yield mixed


def sums(case: Case) -> bool:
    """True if the kernel of the row accumulates products or elements."""
    return case.op in _SUMS or case.build is not None


# --------------------------------------------------------------------------------------------
# Kernels
# --------------------------------------------------------------------------------------------

LARGE: Shape = (64, 96)


class Subject(NamedTuple):
    """One kernel to compare."""

    case: Case
    dtype: DataType
    shapes: tuple[Shape, ...]
    built: BuiltKernel
    after: Function

    def __str__(self) -> str:
        return f"{self.case.name} {self.dtype.member} {self.shapes}"


def shapes_of(case: Case) -> Iterator[tuple[Shape, ...]]:
    """Yield the shapes of a row, and large ones where an op takes tiles of any shape."""
    yield from case.shapes
    if ((16, 1),) in case.shapes or ((16, 1), (16, 1)) in case.shapes:
        yield (LARGE,) * len(case.shapes[0])


def subjects(cases: list[Case]) -> list[Subject]:
    """Return the kernels of rows: each element type, with some or all of the shapes."""
    found: list[Subject] = []
    for case in cases:
        for first, dtype in enumerate(effort.part(case.dtypes, 3)):
            for shapes in effort.part([*shapes_of(case)], 4, first=first):
                built = kernel_for(case, dtype, shapes)
                found.append(Subject(case, dtype, shapes, built, lowered(built.function)))
    return found


def groups() -> dict[str, list[Case]]:
    """Return the rows by op; those of casts also by source type."""
    found: dict[str, list[Case]] = {}
    for case in CASES:
        if not case.no_kernel:
            suffix = f"-{case.dtypes[0].member}" if case.op is elementwise.cast else ""
            found.setdefault(case.op.name + suffix, []).append(case)
    return found


GROUPS = groups()


# --------------------------------------------------------------------------------------------
# Comparisons
# --------------------------------------------------------------------------------------------


def copies(args: list[Array]) -> list[Array]:
    return [array.copy() for array in args]


def compare(subject: Subject, native: NativeKernel) -> None:
    case = subject.case
    bounds, signed_zero = case.tolerance(subject.dtype), case.op not in EXTREMES
    for number, args in enumerate(arguments(case, subject.built)):
        note = f"{subject}, inputs {number}"
        direct, after, compiled = copies(args), copies(args), copies(args)
        evaluate(subject.built.function, direct)
        evaluate(subject.after, with_scratch(after, subject.after))
        scratch = with_scratch(compiled, subject.after)
        native(words(scratch))
        for array, wanted in zip(after, direct, strict=True):
            assert_close(array, wanted, signed_zero=signed_zero, note=f"{note}: passes")
        for array, wanted in zip(compiled, direct, strict=True):
            assert_close(array, wanted, bounds, signed_zero=signed_zero, note=f"{note}: C++")
        if subject.built.output is not None and case.build is None:
            assert_close(direct[-1], meaning(subject, args), note=f"{note}: interpreter")


def meaning(subject: Subject, args: list[Array]) -> Array:
    """Return the result of the op's array semantics on the inputs."""
    call: Any = build_call(subject.case, subject.dtype, subject.shapes)
    given = [*copies(args)[:-1], np.zeros(subject.shapes[0], subject.dtype.numpy)]
    return apply_call(call, subject.case.op, given).astype(args[-1].dtype)


BATCHES = batches(
    {
        name: sum(len(case.dtypes) * len(list(shapes_of(case))) for case in cases)
        for name, cases in GROUPS.items()
    }
)


@cache
def compiled(batch: tuple[str, ...]) -> dict[str, list[tuple[Subject, NativeKernel]]]:
    """Return the kernels of each group of a batch, and their compiled form."""
    found = {name: subjects(GROUPS[name]) for name in batch}
    kernels = [subject.after for each in found.values() for subject in each]
    natives = iter(compile_together(kernels, compiler()))
    return {name: [(subject, next(natives)) for subject in each] for name, each in found.items()}


@pytest.mark.parametrize("name", GROUPS)
def test_meanings_agree(name: str) -> None:
    """NumPy, interpreter, lowered program and compiled C++ give the same, on edge values too."""
    for subject, native in compiled(BATCHES[name])[name]:
        compare(subject, native)
