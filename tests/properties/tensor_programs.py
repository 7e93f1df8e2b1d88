"""Draws programs on whole tensors: scopes, loops, branches, views, assembled parts, scalars.

Every op in them is exact: whole numbers wrap, and floats are computed element by element in one
order, so that whatever computes a program has to give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

Pick = Callable[[int], int]
"""Returns a number below its argument."""


class Sizes(NamedTuple):
    """Rows and columns of the tensors of a program."""

    rows: int
    columns: int


SIZES: Final = (Sizes(16, 32), Sizes(40, 64), Sizes(72, 104), Sizes(24, 8), Sizes(8, 4096))
"""Sizes of one tile, of several, with a tail, of one block; and of rows too long for one tile."""
_PART: Final = 8  # rows of a part that is taken out, or put in
_BIG, _COLUMN, _ROW = "ab", "pq", "uw"

HEADER: Final = """\
import pypto.language as pl

@pl.program
class Random:
    @pl.function
    def main(
        self,
        n: pl.Scalar[pl.INT64],
        f: pl.Scalar[pl.{dtype}],
        x: pl.Tensor[[{rows}, {columns}], pl.{dtype}],
        y: pl.Tensor[[{rows}, {columns}], pl.{dtype}],
        c: pl.Tensor[[{rows}, 1], pl.{dtype}],
        v: pl.Tensor[[1, {columns}], pl.{dtype}],
        out: pl.InOut[pl.Tensor[[{rows}, {columns}], pl.{dtype}]],
    ) -> tuple[pl.Tensor[[{rows}, {columns}], pl.{dtype}], pl.Tensor[[{rows}, 1], pl.{dtype}]]:
        s = n + 1
        h = pl.view(out, [8, {columns}], [{last}, 0])
        with pl.incore():
            a = pl.add(x, c)
            b = pl.mul(y, v)
            p = pl.row_max(x)
            q = pl.mul(c, 3)
            u = pl.row_max(y, axis=0)
            w = pl.add(v, v)
"""


class _Drawer:
    """Draws lines of a body; ``pick`` decides everything."""

    def __init__(self, pick: Pick, size: int, sizes: Sizes, whole: bool) -> None:
        self.pick = pick
        self.left = size
        self.sizes = sizes
        self.whole = whole  # INT32: sums are exact in any order
        self.number = 0
        self.counters: list[str] = []

    def one(self, values: Sequence[str]) -> str:
        return values[self.pick(len(values))]

    def index(self) -> str:
        return self.one(["n", "s", "2", *self.counters, *self.counters])

    def condition(self) -> str:
        return f"{self.index()} {self.one(['<', '==', '>'])} {self.one(['0', '1', 'n'])}"

    def row(self) -> str:
        """Return the first row of a part."""
        last = self.sizes.rows - _PART
        return self.one(["0", str(last), f"({self.index()}) % {last + 1}"])

    def pair(self) -> str:
        return self.one(["add", "sub", "mul", "maximum", *(() if self.whole else ("div",))])

    def big(self, depth: int = 2) -> str:
        """Return a tensor of all rows and columns."""
        if depth == 0 or self.pick(4) == 0:
            return self.one([*_BIG, *_BIG, "x", "y", "out"])
        left = self.big(depth - 1)
        right = self.one([self.big(0), self.big(depth - 1), self.column(0), self.line(0)])
        number = self.one(["f", "2", "-3"])
        turned = f"[{self.sizes.columns}, {self.sizes.rows}]"
        whole = f"[{self.sizes.rows}, {self.sizes.columns}]"
        kinds = [f"pl.{self.pair()}({left}, {right})"] * 3
        kinds += [f"pl.{self.one(['add', 'sub', 'mul'])}({left}, {number})"] * 2
        kinds += [
            f"pl.reshape(pl.mul(pl.reshape({left}, {turned}), 2), {whole})",
            f"pl.transpose(pl.add(pl.transpose({left}, 0, 1), 1), 0, 1)",
        ]
        return self.one(kinds)

    def column(self, depth: int = 1) -> str:
        """Return a tensor of one column."""
        if depth == 0:
            return self.one([*_COLUMN, "c"])
        ops = ["row_max", "row_sum"] if self.whole else ["row_max"]
        kept = f"pl.{self.one(ops)}({self.big(1)}"
        return self.one(
            [
                f"{kept})",
                f"{kept}, axis=1)",
                f"pl.reshape({kept}, keep_dim=False), [{self.sizes.rows}, 1])",
                f"pl.{self.pair()}({self.column(0)}, {self.column(0)})",
                f"pl.add({self.column(0)}, {self.one(['f', '1'])})",
            ]
        )

    def line(self, depth: int = 1) -> str:
        """Return a tensor of one row."""
        if depth == 0:
            return self.one([*_ROW, "v"])
        ops = ["row_max", "row_sum"] if self.whole else ["row_max"]
        return self.one(
            [
                f"pl.{self.one(ops)}({self.big(1)}, axis=0)",
                f"pl.{self.pair()}({self.line(0)}, {self.line(0)})",
                f"pl.mul({self.line(0)}, {self.one(['f', '2'])})",
            ]
        )

    def statement(self, inside: bool) -> list[str]:
        """Return statements without others inside.

        What a branch or loop of a scope computes for the host can only be tensors.
        """
        kind = self.pick(7 if inside else 8)
        if kind <= 2:
            value = self.big()
            return [f"{self.one(_BIG)} = {'pl.add(out, 0)' if value == 'out' else value}"]
        if kind == 3:
            return [f"{self.one(_COLUMN)} = {self.column()}"]
        if kind == 4:
            return [f"{self.one(_ROW)} = {self.line()}"]
        if kind == 5:
            return [f"out = pl.assemble(out, {self.big(1)}, [0, 0])"]
        if kind == 6:
            shape = f"[{_PART}, {self.sizes.columns}]"
            part = f"pl.view({self.one(['x', 'y', 'a', 'out'])}, {shape}, [{self.row()}, 0])"
            return [
                f"t = {self.one([part, part, 'h'])}",
                f"t = pl.{self.pair()}(t, {self.line(0)})",
                f"out = pl.assemble(out, t, [{self.row()}, 0])",
            ]
        return [f"s = (s + {self.index()}) % 7"]

    def body(self, depth: int, indent: str, scoped: int = 0) -> list[str]:
        """Return statements, which stand ``scoped`` levels inside of a scope, 0 for outside."""
        lines: list[str] = []
        for _ in range(1 + self.pick(3)):
            if self.left <= 0:
                break
            self.left -= 1
            kind = self.pick(6)
            if depth < 2 and kind == 0:
                lines += self.loop(depth, indent, scoped)
            elif depth < 2 and kind == 1:
                lines += self.branch(depth, indent, scoped)
            elif scoped:
                lines += [indent + line for line in self.statement(scoped > 1)]
            else:
                lines.append(f"{indent}with pl.incore():")
                lines += self.body(depth + 1, indent + "    ", 1)
        return lines or [f"{indent}a = pl.add(a, 1)" if scoped else f"{indent}s = s + 1"]

    def loop(self, depth: int, indent: str, scoped: int) -> list[str]:
        self.number += 1
        counter = f"i{self.number}"
        head = f"{indent}for {counter} in pl.range({self.one(['2', 'n', '3'])}):"
        self.counters.append(counter)
        lines = [head, *self.body(depth + 1, indent + "    ", scoped + (scoped > 0))]
        self.counters.pop()
        return lines

    def branch(self, depth: int, indent: str, scoped: int) -> list[str]:
        lines = [f"{indent}if {self.condition()}:"]
        lines += self.body(depth + 1, indent + "    ", scoped + (scoped > 0))
        if self.pick(2):
            lines += [
                f"{indent}else:",
                *self.body(depth + 1, indent + "    ", scoped + (scoped > 0)),
            ]
        return lines


def _header(dtype: str, sizes: Sizes) -> str:
    last = sizes.rows - _PART
    return HEADER.format(dtype=dtype, rows=sizes.rows, columns=sizes.columns, last=last).rstrip()


def random_tensor_source(pick: Pick, size: int = 8) -> str:
    """Return a program of up to ``size`` statements whose entry is ``main``."""
    sizes = SIZES[pick(len(SIZES))]
    whole = pick(2) == 0
    drawer = _Drawer(pick, size, sizes, whole)
    indent = " " * 8
    dtype = "INT32" if whole else "FP32"
    lines = [_header(dtype, sizes)]
    while drawer.left > 0:
        lines += drawer.body(0, indent)
    lines += [f"{indent}with pl.incore():", f"{indent}    r = pl.sub(a, b)"]
    lines += [f"{indent}    q = pl.add(p, q)", f"{indent}    out = pl.assemble(out, r, [0, 0])"]
    lines += [f"{indent}return out, q"]
    return "\n".join(lines) + "\n"
