"""Draws kernels as users write them: assignment, branches, loops with jumps, calls, nested calls.

Every op in them is exact, so that whatever computes a kernel has to give the same bits, except
that the sign of a zero is open where the larger or smaller of two zeros is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
Pick = Callable[[int], int]
"""Returns a number below its argument."""

ROWS, COLS = 16, 32
PARAMETERS: Final = ("x", "y", "z", "n", "f", "out")

BEGIN: Final = """\
import pypto.language as pl

@pl.program
class Random:
    @pl.function(type=pl.FunctionType.InCore)
    def twist(
        self,
        p: pl.Tile[[16, 32], pl.FP32],
        q: pl.Tile[[16, 32], pl.FP32],
        m: pl.Scalar[pl.INT64],
    ) -> tuple[pl.Tile[[16, 32], pl.FP32], pl.Scalar[pl.INT64]]:
        if m % 2 == 0:
            p = pl.sub(p, q)
        else:
            m = m - 3
        return p, m + 1

"""
"""A helper that kernels call; it returns a tile and a number."""

SIGNATURE: Final = """\
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        y: pl.Tensor[[64, 32], pl.FP32],
        z: pl.Tensor[[64, 1], pl.FP32],
        n: pl.Scalar[pl.INT64],
        f: pl.Scalar[pl.FP32],
        out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ) -> pl.Tensor[[64, 32], pl.FP32]:
"""

START: Final = """\
        s = n + 1
        r = s * 3
        a = pl.load(x, [0, 0], [16, 32])
        b = pl.load(y, [16, 0], [16, 32])
        scratch = pl.create_tile([16, 32], pl.FP32)
        a, r = self.twist(a, b, r)
        v = pl.row_max(a, scratch)
        w = pl.row_min(b, scratch)
        h = pl.cast(a, pl.FP16)
        g = pl.full([16, 32], dtype=pl.FP16, value=1.5)
        i = pl.cast(b, pl.INT32, mode="floor")
        j = pl.full([16, 32], dtype=pl.INT32, value=7)
"""
"""What the statements of a kernel work on."""

TOP: Final = 3
"""How deep compound statements nest."""
_BIG, _COLUMN, _HALF, _WHOLE, _INDEX = "ab", "vw", "hg", "ij", "sr"


class Drawer:
    """Draws lines of a body; ``pick`` decides everything."""

    returned = "out"

    def __init__(self, pick: Pick, size: int) -> None:
        self.pick = pick
        self.left = size
        self.number = 0
        self.counters: list[str] = []

    def one(self, values: Sequence[T]) -> T:
        return values[self.pick(len(values))]

    # ----- expressions ----------------------------------------------------------------------

    def index(self, depth: int = 2) -> str:
        """Return a whole number."""
        if depth == 0 or self.pick(3) == 0:
            return self.one([*_INDEX, "n", *self.counters, *self.counters, "1", "2", "-3"])
        left, right = self.index(depth - 1), self.index(depth - 1)
        divisor = self.one(["2", "3", "-2", "-5"])
        return self.one(
            [
                f"({left} + {right})",
                f"({left} - {right})",
                f"({left} * {right})",
                f"min({left}, {right})",
                f"max({left}, {right})",
                f"({left} // {divisor})",
                f"({left} % {divisor})",
                f"(-{left})",
            ]
        )

    def condition(self) -> str:
        sign = self.one(["<", "<=", "==", "!=", ">", ">="])
        text = f"{self.index(1)} {sign} {self.index(1)}"
        other = f"{self.index(1)} {self.one(['<', '=='])} {self.index(1)}"
        return self.one([text, text, f"{text} and {other}", f"{text} or {other}", f"not {text}"])

    def row(self) -> str:
        """Return the first row of a box of 16 rows out of 64."""
        return self.one(["0", "16", "32", f"({self.index()}) % 4 * 16", f"({self.index()}) % 49"])

    def big(self, depth: int = 2) -> str:
        """Return a tile [16, 32] of FP32."""
        if depth == 0 or self.pick(4) == 0:
            return self.one(_BIG)
        left, right = self.big(depth - 1), self.one(_BIG)
        column, half, whole = self.column(0), self.half(0), self.whole(0)
        tensor, number = self.one(["x", "y", "out"]), self.one(["f", "0.5", "-3.0"])
        pair = self.one(["add", "sub", "mul", "div", "maximum", "minimum"])
        single = self.one(["neg", "abs", "relu", "sqrt"])
        spread = self.one(["row_expand_add", "row_expand_sub", "row_expand_mul"])
        return self.one(
            [
                f"pl.load({tensor}, [{self.row()}, 0], [16, 32])",
                f"pl.{pair}({left}, {right})",
                f"pl.{single}({left})",
                f"pl.{self.one(['add', 'mul', 'sub', 'div'])}({left}, {number})",
                f"pl.{spread}({left}, {column})",
                f"pl.cast({half}, pl.FP32)",
                f"pl.cast({whole}, pl.FP32)",
                f"pl.reshape(pl.neg(pl.reshape({left}, [32, 16])), [16, 32])",
                f"pl.move({left}, target_memory=pl.MemorySpace.Vec)",
            ]
        )

    def column(self, depth: int = 1) -> str:
        """Return a tile [16, 1] of FP32."""
        if depth == 0:
            return self.one(_COLUMN)
        left, right = self.column(depth - 1), self.one(_COLUMN)
        return self.one(
            [
                f"pl.{self.one(['row_max', 'row_min'])}({self.one(_BIG)}, scratch)",
                f"pl.{self.one(['add', 'sub', 'mul', 'maximum'])}({left}, {right})",
                f"pl.{self.one(['neg', 'abs', 'sqrt'])}({left})",
                f"pl.{self.one(['add', 'mul'])}({left}, {self.one(['f', '0.25'])})",
                f"pl.load(z, [{self.row()}, 0], [16, 1])",
            ]
        )

    def half(self, depth: int = 1) -> str:
        """Return a tile [16, 32] of FP16."""
        if depth == 0:
            return self.one(_HALF)
        left, right = self.half(depth - 1), self.one(_HALF)
        return self.one(
            [
                f"pl.cast({self.one(_BIG)}, pl.FP16)",
                f"pl.{self.one(['add', 'sub', 'mul', 'minimum'])}({left}, {right})",
                f"pl.{self.one(['add', 'mul'])}({left}, {self.one(['0.1', '-2.0'])})",
            ]
        )

    def whole(self, depth: int = 1) -> str:
        """Return a tile [16, 32] of INT32."""
        if depth == 0:
            return self.one(_WHOLE)
        left, right = self.whole(depth - 1), self.one(_WHOLE)
        mode = self.one(["rint", "round", "floor", "ceil", "trunc", "odd"])
        return self.one(
            [
                f'pl.cast({self.one(_BIG)}, pl.INT32, mode="{mode}")',
                f"pl.{self.one(['add', 'sub', 'mul', 'maximum'])}({left}, {right})",
                f"pl.{self.one(['add', 'mul', 'div'])}({left}, {self.one(['3', '-2'])})",
            ]
        )

    # ----- statements -----------------------------------------------------------------------

    def block(self, depth: int, most: int, *, loop: bool) -> list[str]:
        """Return up to ``most`` statements, at least one."""
        lines: list[str] = []
        for _ in range(1 + self.pick(most)):
            if lines and self.left <= 0:
                break
            self.left -= 1
            lines += self.statement(depth, loop=loop)
        return lines

    def statement(self, depth: int, *, loop: bool) -> list[str]:
        kind = self.pick(16)
        match kind:
            case 0 | 1 | 2:
                return [f"{self.one(_BIG)} = {self.big()}"]
            case 3:
                return [f"{self.one(_COLUMN)} = {self.column()}"]
            case 4:
                return [f"{self.one(_HALF)} = {self.half()}"]
            case 5:
                return [f"{self.one(_WHOLE)} = {self.whole()}"]
            case 6:
                return [f"{self.one(_INDEX)} = min(max({self.index()}, -40), 40)"]
            case 7 | 8:
                return [f"out = pl.store({self.big(1)}, [{self.row()}, 0], [16, 32], out)"]
            case 9:
                return [self.one(["a, b = b, a", "v, w = w, v", "s, r = r, s", "a = b"])]
            case 10:
                return [f"{self.one(_BIG)}, {self.one(_INDEX)} = self.twist(a, b, {self.index(1)})"]
            case 11 if loop:
                word = self.one(["break", "continue"])
                return [f"if {self.condition()}:", *indented([*self.some(), word])]
            case 12 if depth == TOP and self.pick(2):  # elsewhere a return is refused
                last = f"return {self.returned}"
                return [f"if {self.condition()}:", *indented([*self.some(), last])]
            case _ if depth == 0:
                return [f"{self.one(_BIG)} = {self.big()}"]
            case 12 | 13:
                return self.branch(depth, loop=loop)
            case 14:
                return self.while_loop(depth)
            case _:
                return self.for_loop(depth)

    def some(self) -> list[str]:
        """Return no statement or a simple one."""
        return self.statement(0, loop=False) if self.pick(2) else []

    def branch(self, depth: int, *, loop: bool) -> list[str]:
        lines = [f"if {self.condition()}:", *indented(self.block(depth - 1, 3, loop=loop))]
        if self.pick(2):
            lines += ["else:", *indented(self.block(depth - 1, 3, loop=loop))]
        return lines

    def counter(self, stem: str) -> str:
        self.number += 1
        return f"{stem}{self.number}"

    def for_loop(self, depth: int) -> list[str]:
        name = self.counter("k")
        stop = self.one(["n", "2", "3", f"min({self.one(_INDEX)}, 3)"])
        bounds = self.one([stop, f"1, {stop}", f"{stop}, -1, -1", f"0, {stop}, 2"])
        self.counters.append(name)
        body = self.block(depth - 1, 5, loop=True)
        self.counters.pop()
        return [f"for {name} in pl.range({bounds}):", *indented(body)]

    def while_loop(self, depth: int) -> list[str]:
        name = self.counter("t")
        self.counters.append(name)
        condition = f"{name} < 3 and ({self.condition()})" if self.pick(2) else f"{name} < 2"
        body = [f"{name} = {name} + 1", *self.block(depth - 1, 5, loop=True)]
        self.counters.pop()
        return [f"{name} = 0", f"while {condition}:", *indented(body)]


class _MixedDrawer(Drawer):
    """Also draws operands of several element types and shapes beside each other."""

    def big(self, depth: int = 2) -> str:
        if depth == 0 or self.pick(2) == 0:
            return super().big(depth)
        left, tensor = self.big(depth - 1), self.one(["x", "y", "out"])
        other = self.one(
            [
                self.half(0),
                self.whole(0),
                self.column(0),
                f"pl.load({tensor}, [{self.row()}, 0], [1, 32])",
            ]
        )
        pair = self.one(["add", "sub", "mul", "div", "maximum", "minimum"])
        left, right = self.one([(left, other), (other, left)])
        return self.one(
            [
                f"pl.{pair}({left}, {right})",
                f"pl.{pair}({left}, {right})",
                f"pl.{pair}({self.column(0)}, pl.load({tensor}, [{self.row()}, 0], [1, 32]))",
                f"pl.{self.one(['row_expand_add', 'row_expand_sub', 'row_expand_mul'])}"
                f"({self.one([self.half(0), self.whole(0)])}, {self.column(0)})",
            ]
        )

    def half(self, depth: int = 1) -> str:
        if depth == 0 or self.pick(2) == 0:
            return super().half(depth)
        pair = self.one(["add", "sub", "mul", "minimum"])
        left, right = self.one([(self.half(0), self.whole(0)), (self.whole(0), self.half(0))])
        return f"pl.{pair}({left}, {right})"


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def random_mixed_source(pick: Pick, size: int = 20) -> str:
    """Return a program like `random_source`, with operands of several element types and shapes."""
    return random_source(pick, size, _MixedDrawer)


def random_source(pick: Pick, size: int = 20, draw: type[Drawer] = Drawer) -> str:
    """Return a program whose function ``kernel`` has about ``size`` statements.

    ``n`` may be any number up to 3.
    """
    drawer = draw(pick, size)
    body: list[str] = []
    while drawer.left > 0:
        body += drawer.block(TOP, size, loop=False)
    body += [
        "c = pl.add(a, b)",
        "e = pl.row_expand_add(c, pl.maximum(v, w))",
        "d = pl.add(pl.cast(pl.add(h, g), pl.FP32), pl.cast(pl.add(i, j), pl.FP32))",
        "out = pl.store(e, [0, 0], [16, 32], out)",
        "out = pl.store(d, [48, 0], [16, 32], out)",
        "c = pl.mul(c, pl.cast(s + r, pl.FP32))",
        "out = pl.store(c, [32, 0], [16, 32], out)",
        "return out",
    ]
    head = BEGIN + SIGNATURE + START
    return head + "\n".join(f"        {line}" for line in body) + "\n"


# --------------------------------------------------------------------------------------------
# Matrix kernels
# --------------------------------------------------------------------------------------------

_MATRIX_HEADER: Final = """\
import pypto.language as pl

@pl.program
class Random:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.{dtype}],
        y: pl.Tensor[[64, 64], pl.{dtype}],
        n: pl.Scalar[pl.INT64],
        out: pl.InOut[pl.Tensor[[64, 64], pl.{result}]],
    ) -> pl.Tensor[[64, 64], pl.{result}]:
        s = n + 1
        r = s * 3
        a = pl.load(x, [0, 0], [32, 32], target_memory=pl.MemorySpace.Mat)
        b = pl.load(y, [32, 32], [32, 32], target_memory=pl.MemorySpace.Mat)
        left = pl.move(a, target_memory=pl.MemorySpace.Left)
        right = pl.move(b, target_memory=pl.MemorySpace.Right)
        acc = pl.matmul(left, right)
"""


class _MatrixDrawer(Drawer):
    """Draws statements on the matrix unit's tiles, all [32, 32]."""

    def box(self) -> str:
        """Return the first row or column of a box of 32 out of 64."""
        return self.one(["0", "32", f"({self.index(1)}) % 3 * 16"])

    def statement(self, depth: int, *, loop: bool) -> list[str]:
        kind = self.pick(14)
        match kind:
            case 0 | 1:
                where = f"[{self.box()}, {self.box()}], [32, 32]"
                tensor = self.one(["x", "y"])
                load = f"pl.load({tensor}, {where}, target_memory=pl.MemorySpace.Mat)"
                return [f"{self.one('ab')} = {load}"]
            case 2 | 3:
                name = self.one(["left", "right"])
                flags = self.one(["", "", ", transpose=True"])
                space = f"target_memory=pl.MemorySpace.{name.capitalize()}"
                return [f"{name} = pl.move({self.one('ab')}, {space}{flags})"]
            case 4:
                return ["acc = pl.matmul(left, right)"]
            case 5 | 6 | 7:
                return ["acc = pl.matmul_acc(acc, left, right)"]
            case 8:
                where = f"[{self.box()}, {self.box()}], [32, 32]"
                return [f"out = pl.store(acc, {where}, out)"]
            case 9:
                return [f"{self.one(_INDEX)} = min(max({self.index()}, -40), 40)"]
            case 10 if loop:
                word = self.one(["break", "continue"])
                return [f"if {self.condition()}:", *indented([*self.some(), word])]
            case _ if depth == 0:
                return ["s, r = r, s"]  # tiles in Mat cannot be copied where both are needed
            case 10 | 11:
                return self.branch(depth, loop=loop)
            case 12:
                return self.while_loop(depth)
            case _:
                return self.for_loop(depth)


def random_matrix_source(pick: Pick, size: int = 16) -> str:
    """Return a program whose function ``kernel`` multiplies tiles, of whole numbers.

    Products of numbers below 8 add up exactly. ``n`` may be any number up to 3.
    """
    dtype, result = (("INT8", "INT32"), ("FP16", "FP32"), ("BF16", "FP32"), ("FP32", "FP32"))[
        pick(4)
    ]
    drawer = _MatrixDrawer(pick, size)
    body: list[str] = []
    while drawer.left > 0:
        body += drawer.block(TOP, size, loop=False)
    body += ["out = pl.store(acc, [32, 0], [32, 32], out)", "return out"]
    header = _MATRIX_HEADER.format(dtype=dtype, result=result)
    return header + "\n".join(f"        {line}" for line in body) + "\n"
