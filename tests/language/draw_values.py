"""Generates values of regions, as expressions, with known facts about them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Final, NamedTuple

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]

NUMPY: Final[dict[str, Any]] = {
    "FP32": np.float32,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "INT32": np.int32,
    "INT8": np.int8,
}
MANTISSA: Final = {"FP32": 24, "FP16": 11, "BF16": 8, "INT32": 31, "INT8": 7}
VECTOR: Final = ("FP32", "FP32", "FP32", "FP16", "INT32")
"""Element types of computations, weighted by repetition."""
LARGEST_ROUGH: Final = 100.0


class Fact(NamedTuple):
    """What is known about a value."""

    shape: Shape
    dtype: str
    bound: float = 8.0
    step: int = 0  # elements are multiples of 2 ** -step
    rough: bool = False

    @property
    def fits(self) -> bool:
        """True if all such numbers are exact in the element type."""
        if self.rough:
            return self.bound <= LARGEST_ROUGH
        return self.bound * 2**self.step <= 2 ** MANTISSA[self.dtype] - 1


class Drawn(NamedTuple):
    """An expression and what is known about its value."""

    text: str
    fact: Fact


@dataclass
class Tensor:
    """A tensor in memory."""

    name: str
    fact: Fact
    writable: bool = False
    filled: bool = True


class Number(NamedTuple):
    """A nonnegative integer, and its upper bound."""

    text: str
    largest: int


@dataclass
class Helper:
    """A function that is inlined into regions: its parameters and result."""

    name: str
    takes: list[tuple[str, Fact]]
    options: list[str]  # of keyword arguments
    gives: list[Fact]


@dataclass
class Writer:
    """A function that is inlined into the body: it writes rows of its second parameter."""

    name: str
    source: Fact
    target: Fact
    returns: bool


@dataclass
class Scope:
    """The names that are visible where a statement is generated."""

    tensors: list[Tensor]
    values: dict[str, Fact] = field(default_factory=dict[str, Fact])  # of the region
    kept: dict[str, Fact] = field(default_factory=dict[str, Fact])  # of earlier regions
    numbers: list[Number] = field(default_factory=list[Number])
    own: Number | None = None
    """The first of the rows that this block may write; None if it may write all."""
    shared: set[str] = field(default_factory=set[str])
    """Tensors that other blocks write concurrently."""
    outer: frozenset[str] = frozenset()
    """Values of the enclosing blocks: what is known about them must stay true."""
    times: int = 1  # most times that the statement runs

    def inner(self, **changes: Any) -> Scope:
        """Return a scope whose names go out of scope with it."""
        copy = replace(
            self,
            tensors=list(self.tensors),
            values=dict(self.values),
            kept=dict(self.kept),
            numbers=list(self.numbers),
        )
        return replace(copy, **{"outer": frozenset(self.values), **changes})


class Program(NamedTuple):
    """A generated program: its text, and arguments for two calls."""

    source: str
    calls: list[list[Any]]
    rough: tuple[int, ...]
    """Which arguments hold inexact numbers after a call."""


def joined(op: str, a: Fact, b: Fact) -> Fact:
    """Return what is known about the result of an op."""
    rough = a.rough or b.rough
    step = max(a.step, b.step)
    if op in ("add", "sub"):
        bound = a.bound + b.bound
    elif op == "mul":
        bound, step = a.bound * b.bound, a.step + b.step
    elif op in ("and_", "or_", "xor"):
        bound = 2.0 ** max(1, int(max(a.bound, b.bound)).bit_length())
    else:
        bound = max(a.bound, b.bound)
    return Fact(a.shape, a.dtype, bound, step, rough)


class Values:
    """Generates values; ``lines`` are the statements so far."""

    def __init__(self, random: Random, size: int) -> None:
        self.random = random
        self.left: int = size
        self.lines: list[str] = []
        self.depth = 1
        self.count = 0
        self.tile = self.one((8, 16, 16, 24))
        self.rows = self.tile * self.one((2, 3, 4))
        self.columns = self.one((16, 32, 64, 64, 40, 20))
        self.width = self.one((16, 32, 64, 24))
        self.ragged = self.chance(5)
        self.rough = self.chance(3)
        self.helpers: list[Helper] = []
        self.writers: list[Writer] = []
        self.in_lanes = False
        self.apart = False  # in a function that has none of the entry's names

    # ---------------------------------------------------------------- chance and text

    def one(self, values: Sequence[Any]) -> Any:
        return values[self.random.randrange(len(values))]

    def chance(self, below: int) -> bool:
        return self.random.randrange(below) == 0

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def add(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    @contextmanager
    def block(self, head: str) -> Generator[None]:
        """Add a statement with a body; an empty body becomes ``pass``."""
        self.add(head)
        self.depth += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self.add("pass")
        self.depth -= 1

    # ---------------------------------------------------------------- numbers

    def number(self, scope: Scope) -> Number:
        known = [*scope.numbers, Number("1", 1), Number("2", 2)]
        if not self.apart:
            known += [Number("n", 3), Number("k", 3)]
        first = self.one(known)
        match self.random.randrange(8):
            case 0:
                other = self.one(known)
                return Number(f"({first.text} + {other.text})", first.largest + other.largest)
            case 1:
                return Number(f"({first.text} * 2)", first.largest * 2)
            case 2:
                return Number(f"pl.min({first.text}, 2)", min(first.largest, 2))
            case 4:
                other = self.one(known)
                name = self.fresh("p")
                self.add(f"{name} = {first.text} if {other.text} > 0 else 1")
                return Number(name, max(1, first.largest))
            case 3:
                other = self.one(known)
                largest = max(first.largest, other.largest)
                return Number(f"pl.max({first.text}, {other.text})", largest)
            case _:
                return first

    def condition(self, scope: Scope) -> str:
        number = self.number(scope).text
        other = self.one(("0", "1", "2" if self.apart else "n", "2"))
        test = f"{number} {self.one(('<', '==', '>', '>=', '!='))} {other}"
        match self.random.randrange(6):
            case 0:
                return f"{test} {self.one(('and', 'or'))} {self.number(scope).text} > 0"
            case 1:
                return f"not ({test})"
            case 2:
                return f"{number} % 2 == {self.one((0, 1))}"
            case _:
                return test

    def offset(self, scope: Scope, size: int, of: int) -> str:
        """Return an offset for a part of ``size`` within ``of`` elements."""
        last = of - size
        if last <= 0:
            return "0"
        number = self.number(scope)
        match self.random.randrange(6):
            case 0:
                return str(self.one((last, last // 2, last // size * size)))
            case 1:
                return f"{number.text} % {last + 1}"
            case 2:
                return f"pl.min({number.text} * {self.one((4, size))}, {last})"
            case 3 if number.largest * size <= last:
                return f"{number.text} * {size}"
            case 4 if scope.numbers and scope.numbers[-1].largest * size <= last:
                return f"{scope.numbers[-1].text} * {size}"
            case _:
                return "0"

    # ---------------------------------------------------------------- values

    def fit(self, drawn: Drawn, target: Fact) -> Drawn:
        """Return the value clamped and rounded to what is known about the target."""
        text, fact = drawn
        dtype = fact.dtype
        whole = dtype.startswith("INT")
        if fact.bound > target.bound:
            high = int(target.bound) if whole else float(target.bound)
            text = f"pl.maximum(pl.minimum({text}, {high}), -{high})"
            fact = fact._replace(bound=target.bound)
        if fact.step > target.step and not fact.rough and not target.rough:
            mode = self.one(("rint", "floor", "ceil", "trunc", "round"))
            if dtype == "FP16":
                text = f"pl.cast({text}, pl.FP32)"
            text = f'pl.cast(pl.cast({text}, pl.INT32, mode="{mode}"), pl.FP32)'
            if dtype == "FP16":
                text = f"pl.cast({text}, pl.FP16)"
            fact = fact._replace(step=target.step)
            if fact.bound > int(target.bound):
                fact = fact._replace(bound=target.bound)
        return Drawn(text, fact._replace(rough=fact.rough or target.rough))

    def sure(self, make: Callable[[Drawn, Drawn], Drawn], a: Drawn, b: Drawn) -> Drawn:
        """Return the result of an op, with smaller operands if it would not be exact."""
        found = make(a, b)
        if not found.fact.fits:
            small = Fact((), "", 8.0, 0)
            found = make(self.fit(a, small), self.fit(b, small))
        if not found.fact.fits:
            assert found.fact.rough, found
            found = self.fit(found, Fact((), "", 8.0, 0, rough=True))
        return found

    def value(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        """Return a value of a region."""
        found = self._value(scope, shape, dtype, depth, rough)
        if depth > 0 and self.chance(6):
            name = self.fresh("t")
            self.add(f"{name} = {found.text}")
            scope.values[name] = found.fact
            return Drawn(name, found.fact)
        return found

    def _value(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        if depth <= 0:
            return self.leaf(scope, shape, dtype, rough)
        makers: list[Callable[[], Drawn]] = [
            *[lambda: self.leaf(scope, shape, dtype, rough)] * 2,
            *[lambda: self.binary(scope, shape, dtype, depth, rough)] * 4,
            *[lambda: self.with_number(scope, shape, dtype, depth, rough)] * 3,
            lambda: self.unary(scope, shape, dtype, depth, rough),
            lambda: self.expanded(scope, shape, dtype, depth, rough),
            lambda: self.converted(scope, shape, dtype, depth),
            lambda: self.moved(scope, shape, dtype, depth, rough),
            lambda: self.compared(scope, shape, dtype, depth),
            lambda: self.part(scope, shape, dtype, depth, rough),
        ]
        if shape[1] == 1 or shape[0] == 1:
            makers += [lambda: self.reduced(scope, shape, dtype, depth, rough)] * 5
        if dtype in ("FP32", "INT32") and shape[0] <= 64 and min(shape) > 1:
            makers += [lambda: self.product(scope, shape, dtype, depth)]
        if rough and dtype == "FP32":
            makers += [lambda: self.inexact(scope, shape, depth)] * 3
        return self.one(makers)()

    def leaf(self, scope: Scope, shape: Shape, dtype: str, rough: bool) -> Drawn:
        known = [
            Drawn(name, fact)
            for name, fact in scope.values.items()
            if fact.shape == shape and fact.dtype == dtype and fact.rough <= rough
        ]
        if known and self.random.randrange(3):
            return self.one(known)
        loads = self.loads(scope, shape, dtype, rough)
        if loads and self.random.randrange(8):
            return self.one(loads)
        if known:
            return self.one(known)
        if dtype == "INT32" and shape[0] == 1 and shape[1] <= 64 and self.chance(2):
            return Drawn(f"pl.arange(0, {list(shape)}, dtype=pl.INT32)", Fact(shape, dtype, 64))
        number = self.one((1, 2, -3)) if dtype.startswith("INT") else self.one((0.5, 2.0, -1.0))
        text = f"pl.full({list(shape)}, dtype=pl.{dtype}, value={number})"
        return Drawn(text, Fact(shape, dtype, 3, 1 if number == 0.5 else 0))

    def loads(self, scope: Scope, shape: Shape, dtype: str, rough: bool) -> list[Drawn]:
        """Return parts of tensors."""
        found: list[Drawn] = []
        for tensor in scope.tensors:
            fact = tensor.fact
            if fact.dtype != dtype or fact.rough > rough or not tensor.filled:
                continue
            if len(fact.shape) != len(shape):
                continue
            if any(size < wanted for size, wanted in zip(fact.shape, shape, strict=True)):
                continue
            if tensor.name in scope.shared:
                if scope.own is None or shape[0] > self.tile or fact.shape[0] != self.rows:
                    continue
                row = scope.own.text
                if self.chance(2) and shape[0] < self.tile:
                    row = f"{row} + {self.one((self.tile - shape[0], 0))}"
            elif scope.own is not None and self.chance(2) and shape[0] <= self.tile:
                row = scope.own.text if fact.shape[0] == self.rows else "0"
            else:
                row = self.offset(scope, shape[0], fact.shape[0])
            column = self.offset(scope, shape[1], fact.shape[1]) if self.chance(2) else "0"
            found.append(
                Drawn(
                    self.load(tensor.name, fact.shape, shape, row, column),
                    fact._replace(shape=shape),
                )
            )
        for name, fact in scope.kept.items():
            if fact.dtype == dtype and fact.rough <= rough and fact.shape == shape:
                found.append(Drawn(self.one((name, f"{name}[:]")), fact))
        return found

    def load(self, name: str, whole: Shape, shape: Shape, row: str, column: str) -> str:
        size = list(shape)
        if tuple(whole) == tuple(shape) and row == column == "0" and not self.ragged:
            return self.one((name, f"{name}[:]", f"{name}[:, :]"))
        rows = f"{row} : {row} + {shape[0]}" if row != "0" else f"0:{shape[0]}"
        columns = f"{column} : {column} + {shape[1]}" if column != "0" else f"0:{shape[1]}"
        if whole[1] == shape[1] and column == "0":
            columns = ":"
        match self.random.randrange(8):
            case 0:
                return f"pl.slice({name}, {size}, [{row}, {column}])"
            case 1:
                return f"pl.load({name}, [{row}, {column}], {size})"
            case 2 if min(shape) > 1:
                valid = [str(self.one((n, n - 1, 1))) for n in shape]
                if self.chance(3):
                    valid[0] = f"pl.min(n + 1, {shape[0]})"
                part = (
                    f"pl.slice({name}, {size}, [{row}, {column}], valid_shape=[{', '.join(valid)}])"
                )
                return f"pl.fillpad({part}, pad_value=pl.PadValue.zero)"
            case _:
                return f"{name}[{rows}, {columns}]"

    def binary(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        op = self.one(("add", "sub", "mul", "maximum", "minimum"))
        if dtype == "INT32" and self.chance(4):
            op = self.one(("and_", "or_", "xor"))
        a = self.value(scope, shape, dtype, depth - 1, rough)
        b = self.value(scope, shape, dtype, depth - self.one((1, 2)), rough)
        signs = {"add": "+", "sub": "-", "mul": "*"}

        def make(a: Drawn, b: Drawn) -> Drawn:
            text = f"pl.{op}({a.text}, {b.text})"
            if op in signs and f"{a.text}{b.text}".isalnum() and a.text[0] in "tv":
                text = self.one((text, f"({a.text} {signs[op]} {b.text})"))
            return Drawn(text, joined(op, a.fact, b.fact))

        return self.sure(make, a, b)

    def with_number(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        op = self.one(("add", "sub", "mul", "mul", "maximum", "minimum"))
        a = self.value(scope, shape, dtype, depth - 1, rough)
        numbers = (2, 3, -1) if dtype == "INT32" else (2.0, 0.5, -1.0, 3.0, 0.25)
        number = self.one(numbers)
        fact = Fact((), dtype, abs(number), {0.5: 1, 0.25: 2}.get(number, 0))
        text = str(number)
        if dtype == "FP32" and self.chance(5) and not self.apart:
            text, fact = "f", Fact((), dtype, 2, 1)
        elif self.chance(6):
            scalar = self.number(scope)
            text = f"pl.cast({scalar.text}, pl.{dtype})"
            fact = Fact((), dtype, scalar.largest)
        b = Drawn(text, fact)

        def make(a: Drawn, b: Drawn) -> Drawn:
            return Drawn(f"pl.{op}({a.text}, {text})", joined(op, a.fact, b.fact))

        found = make(a, b)
        if not found.fact.fits:
            found = make(self.fit(a, Fact((), "", 8.0, 0)), b)
        return found if found.fact.fits else a

    def unary(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        a = self.value(scope, shape, dtype, depth - 1, rough)
        ops = ("neg", "abs", "relu") if dtype != "INT32" else ("neg", "neg")
        return Drawn(f"pl.{self.one(ops)}({a.text})", a.fact)

    def expanded(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        """Return a value combined with a column or a row."""
        if min(shape) == 1:
            return self.leaf(scope, shape, dtype, rough)
        by_row = self.chance(2)
        a = self.value(scope, shape, dtype, depth - 1, rough)
        line = (shape[0], 1) if by_row else (1, shape[1])
        b = self.value(scope, line, dtype, depth - 1, rough)
        op: str = self.one(("add", "sub", "mul", "max", "min", ""))
        long: str = {"max": "maximum", "min": "minimum"}.get(op, op)
        named = f"{'row' if by_row else 'col'}_expand{'_' if op else ''}{op}"
        if op and self.chance(3):
            named = long

        def make(a: Drawn, b: Drawn) -> Drawn:
            fact = joined(long, a.fact, b.fact) if op else b.fact._replace(shape=shape)
            if not op:
                fact = fact._replace(rough=fact.rough or a.fact.rough)
            return Drawn(f"pl.{named}({a.text}, {b.text})", fact._replace(shape=shape))

        return self.sure(make, a, b)

    def converted(self, scope: Scope, shape: Shape, dtype: str, depth: int) -> Drawn:
        """Return a value cast from another element type."""
        if dtype == "INT32":
            a = self.value(scope, shape, "FP32", depth - 1, False)
            mode = self.one(("rint", "floor", "ceil", "trunc", "round"))
            bound = a.fact.bound + 1
            if bound >= 2**23:
                a = self.fit(a, Fact((), "", 8.0, 0))
            return Drawn(
                f'pl.cast({a.text}, pl.INT32, mode="{mode}")',
                Fact(shape, dtype, a.fact.bound + 1),
            )
        of = self.one(("FP16", "INT32", "BF16") if dtype == "FP32" else ("FP32",))
        a = (
            self.leaf(scope, shape, of, False)
            if of == "BF16"
            else self.value(scope, shape, of, depth - 1, False)
        )
        fact = a.fact._replace(dtype=dtype)
        if not fact.fits:
            a = self.fit(a, Fact((), "", 8.0, 0))
        return Drawn(f"pl.cast({a.text}, pl.{dtype})", a.fact._replace(dtype=dtype))

    def moved(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        """Return a value that was transposed, reshaped or assembled from two parts."""
        rows, columns = shape
        kinds: list[Callable[[], Drawn]] = []

        def transposed() -> Drawn:
            a = self.value(scope, (columns, rows), dtype, depth - 1, rough)
            return Drawn(f"pl.transpose({a.text}, 0, 1)", a.fact._replace(shape=shape))

        def reshaped(of: Shape) -> Drawn:
            a = self.value(scope, of, dtype, depth - 1, rough)
            return Drawn(f"pl.reshape({a.text}, {list(shape)})", a.fact._replace(shape=shape))

        def joined() -> Drawn:
            half = (rows, columns // 2)
            a = self.value(scope, half, dtype, depth - 1, rough)
            b = self.value(scope, half, dtype, depth - 1, rough)
            fact = Fact(
                shape,
                dtype,
                max(a.fact.bound, b.fact.bound),
                max(a.fact.step, b.fact.step),
                a.fact.rough or b.fact.rough,
            )
            return Drawn(f"pl.concat({a.text}, {b.text})", fact)

        if columns <= 64 and rows <= 64 and min(shape) > 1:
            kinds.append(transposed)
        if rows % 2 == 0 and rows > 2 and columns % 32 == 0 and columns <= 64:
            kinds.append(lambda: reshaped((rows // 2, columns * 2)))
        if columns == 1 or rows == 1:
            kinds.append(lambda: reshaped((columns, rows)))
        if columns % 32 == 0:
            kinds.append(joined)
        return self.one(kinds)() if kinds else self.leaf(scope, shape, dtype, rough)

    def compared(self, scope: Scope, shape: Shape, dtype: str, depth: int) -> Drawn:
        a = self.value(scope, shape, dtype, depth - 1, False)
        b = self.value(scope, shape, dtype, depth - 1, False).text
        if self.chance(2):
            b = "1" if dtype == "INT32" else "0.5"
        return Drawn(
            f"pl.cmp({a.text}, {b}, cmp_type={self.random.randrange(6)})", Fact(shape, dtype, 1)
        )

    def part(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        """Return a part of a larger value."""
        larger = [
            Drawn(name, fact)
            for name, fact in scope.values.items()
            if fact.dtype == dtype
            and fact.rough <= rough
            and fact.shape != shape
            and all(a >= b for a, b in zip(fact.shape, shape, strict=True))
        ]
        if not larger:
            return self.binary(scope, shape, dtype, depth, rough)
        of = self.one(larger)
        row = self.offset(scope, shape[0], of.fact.shape[0])
        column = self.offset(scope, shape[1], of.fact.shape[1])
        if self.chance(2):
            text = f"pl.slice({of.text}, {list(shape)}, [{row}, {column}])"
        else:
            text = f"{of.text}[{row} : {row} + {shape[0]}, {column} : {column} + {shape[1]}]"
        return Drawn(text, of.fact._replace(shape=shape))

    def reduced(self, scope: Scope, shape: Shape, dtype: str, depth: int, rough: bool) -> Drawn:
        kind = self.one(("sum", "max", "min"))
        by_row = shape[1] == 1 and (shape[0] > 1 or self.chance(2))
        size = self.one((self.columns, 16) if by_row else (self.tile, 8))
        of = (shape[0], size) if by_row else (size, shape[1])
        a = self.value(scope, of, dtype, depth - 1, rough)
        named = f"pl.{'row' if by_row else 'col'}_{kind}"
        if kind == "sum":
            fact = a.fact._replace(bound=a.fact.bound * size)
            if not fact.fits:
                a = self.fit(a, Fact((), "", 8.0, 0))
                fact = a.fact._replace(bound=a.fact.bound * size)
            found = Drawn(f"{named}({a.text})", fact._replace(shape=shape))
            return found if fact.fits else self.fit(found, Fact((), "", 8.0, 0, True))
        return Drawn(f"{named}({a.text})", a.fact._replace(shape=shape))

    def inexact(self, scope: Scope, shape: Shape, depth: int) -> Drawn:
        a = self.value(scope, shape, "FP32", depth - 1, True)
        small = self.fit(a, Fact((), "", 4.0, a.fact.step, True)).text
        positive = f"pl.add(pl.abs({a.text}), 1.0)"
        bound = a.fact.bound
        text, bound = self.one(
            [
                (f"pl.exp({small})", 55.0),
                (f"pl.sqrt(pl.abs({a.text}))", bound + 1),
                (f"pl.recip({positive})", 1.0),
                (f"pl.rsqrt({positive})", 1.0),
                (f"pl.log({positive})", bound),
                (f"pl.div(1.0 * {small}, {positive})", 4.0)
                if small.isalnum()
                else (f"pl.div({small}, {positive})", 4.0),
            ]
        )
        found = Drawn(text, Fact(shape, "FP32", bound, 0, True))
        return found if found.fact.fits else self.fit(found, Fact((), "", 8.0, 0, True))

    def operand(self, scope: Scope, shape: Shape, dtype: str, turned: bool, depth: int) -> str:
        """Return an operand of a product, with small integers."""
        stored = (shape[1], shape[0]) if turned else shape
        loads = self.loads(scope, stored, dtype, False)
        if loads and self.random.randrange(3):
            return self.one(loads).text
        if dtype == "INT8":
            return (
                f"pl.full({list(stored)}, dtype=pl.INT8, value=2)" if not loads else loads[0].text
            )
        a = self.value(scope, stored, "FP32", depth - 1, False)
        a = self.fit(a, Fact((), "", 8.0, 0))
        return a.text if dtype == "FP32" else f"pl.cast({a.text}, pl.{dtype})"

    def product(self, scope: Scope, shape: Shape, dtype: str, depth: int) -> Drawn:
        rows, columns = shape
        inner = self.one((self.columns, self.columns, 32, 16))
        kind = "INT8" if dtype == "INT32" else self.one(("BF16", "FP16", "FP32"))
        left, right = self.chance(4), self.chance(2)
        a = self.operand(scope, (rows, inner), kind, left, depth)
        b = self.operand(scope, (inner, columns), kind, right, depth)
        how = f"{', a_trans=True' if left else ''}{', b_trans=True' if right else ''}"
        fact = Fact(shape, dtype, 64 * inner)
        if self.chance(3):
            acc = self.fit(self.value(scope, shape, dtype, depth - 1, False), Fact((), "", 64, 0))
            name = self.fresh("a")
            self.add(f"{name} = {acc.text}")
            return Drawn(
                f"pl.matmul_acc({name}, {a}, {b}{how})", fact._replace(bound=64 * inner + 64)
            )
        out = f", out_dtype=pl.{dtype}" if kind != "FP32" or self.chance(2) else ""
        return Drawn(f"pl.matmul({a}, {b}{how}{out})", fact)
