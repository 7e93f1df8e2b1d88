"""Programs of rows: the text of a row at each level, its arrays, and its expected result there."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from pypto._src.dtypes import DataType
from pypto._src.ir.stmts import Program
from tests.language.rows import LOCAL, REGION, TENSOR, TILE, Array, Row

D = DataType
_HEAD = "import pypto.language as pl\n\n"


NAMESPACES = {REGION: ("pl", "pl.tensor"), TENSOR: ("pl", "pl.tensor"), TILE: ("pl", "pl.tile")}
"""Namespaces of a level's operators: one that dispatches on operands, and the level's own."""


class Subject(NamedTuple):
    """A row with one element type, at one level."""

    row: Row
    dtype: DataType
    level: str

    def __str__(self) -> str:
        return f"{self.level}-{self.dtype.member}-{self.row.name}"

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces that have the row's operators."""
        return tuple(
            name
            for name, has in zip(NAMESPACES[self.level], self.row.namespaces, strict=True)
            if has
        )


def levels_of(row: Row) -> list[str]:
    """Return the levels at which a row is tested."""
    local = not LOCAL.isdisjoint(row.operators)
    return [level for level in row.levels if level != TENSOR or not local]


def subjects(rows: Sequence[Row]) -> Iterator[Subject]:
    """Yield each row at each of its levels, with each of its element types in regions.

    For kernels on tiles the table of ops tests all element types: here only two are used.
    """
    for row in rows:
        for level in levels_of(row):
            for dtype in row.dtypes if level == REGION else row.dtypes[:2]:
                yield Subject(row, dtype, level)


def arguments(subject: Subject) -> list[Array]:
    """Return the arrays of a call, the last one for the result."""
    row = subject.row
    rng = np.random.default_rng(5)
    low, high = row.values
    made: list[Array] = []
    for index, shape in enumerate(row.shapes):
        dtype = _dtype(subject, index)
        if dtype.is_float():
            made.append(rng.uniform(low, high, shape).astype(dtype.numpy))
            made[-1].reshape(-1)[::7] = made[-1].reshape(-1)[0]
        else:
            bottom = 0 if dtype.is_unsigned_int() else int(np.ceil(low))
            made.append(rng.integers(bottom, int(high) + 1, shape).astype(dtype.numpy))
    out = np.zeros(wanted(subject, made).shape, (row.result or subject.dtype).numpy)
    return [*made, out]


def wanted(subject: Subject, given: Sequence[Array]) -> Array:
    """Return the result of the row's formula, in the element type of the result."""
    row = subject.row
    wide = [
        a.astype(np.float64 if a.dtype.kind not in "iu" else np.int64)
        for a in given[: len(row.shapes)]
    ]
    found: Array = cast("Any", row.means)(*wide)
    dtype = (row.result or subject.dtype).numpy
    return found if found.dtype == dtype else found.astype(dtype)


def _dtype(subject: Subject, index: int) -> DataType:
    own = subject.row.operand_dtypes
    return (own[index] if index < len(own) else None) or subject.dtype


def _annotation(shape: Sequence[int], dtype: DataType) -> str:
    return f"pl.Tensor[{[*shape]}, pl.{dtype.member}]"


def text(subject: Subject, namespace: str, shape: Sequence[int]) -> str:
    """Return the program of a row at its level, with operators of a namespace."""
    row, level = subject.row, subject.level
    count = len(row.shapes)
    lines = row.text.replace("f.", f"{namespace}.")
    for index in range(count):
        lines = lines.replace(f"x{index}.dtype", f"pl.{_dtype(subject, index).member}")
    lines = lines.split("\n")
    params = [f"x{i}: {_annotation(s, _dtype(subject, i))}" for i, s in enumerate(row.shapes)]
    result = row.result or subject.dtype
    if level == REGION:
        params.append(f"out: pl.Out[{_annotation(shape, result)}]")
        inside = [*lines, f"out[{', '.join(':' for _ in shape)}] = r"]
        return (
            _HEAD
            + "\n".join(
                [
                    "@pl.jit",
                    f"def main({', '.join(params)}):",
                    "    with pl.at(level=pl.Level.CORE_GROUP):",
                    *(f"        {line}" for line in inside),
                    "    return out",
                ]
            )
            + "\n"
        )
    if level == TENSOR:
        inside = [*lines, "return r"]
        kind = f" -> {_annotation(shape, result)}"
        params = ["self", *params]
    else:
        params = ["self", *params, f"out: pl.Out[{_annotation(shape, result)}]"]
        loads = [
            f"t{i} = {namespace}.load(x{i}, {[0] * len(s)}, {[*s]})"
            for i, s in enumerate(row.shapes)
        ]
        for index in range(count):
            lines = [line.replace(f"x{index}", f"t{index}") for line in lines]
        kind = ""
        store = "pl.tile" if namespace == "pl.tile" else "pl"
        inside = [
            *loads,
            *lines,
            f"out = {store}.store(r, {[0] * len(shape)}, {[*shape]}, out)",
            "return out",
        ]
    return (
        _HEAD
        + "\n".join(
            [
                "@pl.program",
                "class Kernel:",
                "    @pl.function(type=pl.FunctionType.InCore)",
                f"    def main({', '.join(params)}){kind}:",
                *(f"        {line}" for line in inside),
            ]
        )
        + "\n"
    )


def program(subject: Subject, namespace: str, given: Sequence[Array]) -> Program:
    """Return the parsed program of a row."""
    source = text(subject, namespace, given[-1].shape)
    name = f"<{subject} {namespace}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "levels"}
    exec(compile(source, name, "exec"), names)
    if subject.level == REGION:
        return names["main"].lower(*given)
    return names["Kernel"]
