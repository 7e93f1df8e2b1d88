"""Loops and branches as scf ops, nested as the assembler accepts them.

Trap: the assembler rejects an scf.while whose body has an scf.if or scf.for if it is inside
another scf op or contains another while, and dies on one that carries nothing. Such a loop contains
only whiles: a branch is one that runs at most once, a counted loop one that carries its counter.
Knows no statements: a callback writes each body.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from pypto._src.emit.pto.function_body import Body
from pypto._src.records import NamedTuple

Write = Callable[[Sequence[str]], Sequence[str]]
"""Writes a body, given the names of its incoming values; returns the values it yields."""


class Carried(NamedTuple):
    """Values that a loop carries or a branch returns: the type and initial name of each."""

    types: Sequence[str]
    inits: Sequence[str]


class Range(NamedTuple):
    """The bounds of a counted loop, ``index`` values."""

    low: str
    high: str
    step: str


class Regions:
    """Writes loops and branches into a `Body`."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._depth = 0  # number of enclosing scf ops
        self.only_whiles = False
        """Set where neither scf.if nor scf.for may be used."""

    @contextmanager
    def _inside(self) -> Generator[None]:
        self._depth += 1
        with self._body.indented():
            yield
        self._depth -= 1

    def _fresh(self, count: int) -> list[str]:
        return [self._body.fresh() for _ in range(count)]

    def _yield(self, values: Sequence[str], types: Sequence[str]) -> None:
        if values:
            self._body.emit(f"scf.yield {', '.join(values)} : {', '.join(types)}")

    def counted(self, bounds: Range, carried: Carried, write: Write) -> list[str]:
        """Write a counted loop; ``write`` gets the counter after the carried values.

        Where only whiles are allowed, the bounds are not negative.
        """
        if self.only_whiles:
            return self._counting_while(bounds, carried, write)
        names, counter = self._fresh(len(carried.types)), self._body.fresh()
        inside = self._fresh(len(names))
        head = f"scf.for {counter} = {bounds.low} to {bounds.high} step {bounds.step}"
        if names:
            types = ", ".join(carried.types)
            head = f"{', '.join(names)} = {head} iter_args({_pairs(inside, carried)}) -> ({types})"
        self._body.emit(head + " {")
        with self._inside():
            self._yield(write([*inside, counter]), carried.types)
        self._body.emit("}")
        return names

    def _counting_while(self, bounds: Range, carried: Carried, write: Write) -> list[str]:
        """Write a counted loop as a while.

        The counter is carried last: the C++ assigns in this order, and a value may be the counter.
        """

        def test(inside: Sequence[str]) -> str:
            return self._body.assign(f"arith.cmpi slt, {inside[-1]}, {bounds.high} : index")

        def step(inside: Sequence[str]) -> list[str]:
            values = write(inside)
            count = self._body.assign(f"arith.addi {inside[-1]}, {bounds.step} : index")
            return [*values, count]

        whole = Carried([*carried.types, "index"], [*carried.inits, bounds.low])
        return self._loop(whole, test, step)[:-1]

    def conditional(
        self,
        carried: Carried,
        test: Callable[[Sequence[str]], str],
        write: Write,
        *,
        has_whiles: bool,
    ) -> list[str]:
        """Write a loop that runs while ``test`` holds for what it carries."""
        outer = self.only_whiles
        self.only_whiles = outer or self._depth > 0 or has_whiles or not carried.types
        try:
            return self._loop(carried, test, write)
        finally:
            self.only_whiles = outer

    def _loop(
        self, carried: Carried, test: Callable[[Sequence[str]], str], write: Write
    ) -> list[str]:
        types, count = ", ".join(carried.types), len(carried.types)
        names, before, after = self._fresh(count), self._fresh(count), self._fresh(count)
        self._body.emit(
            f"{', '.join(names)} = scf.while ({_pairs(before, carried)}) : "
            f"({types}) -> ({types}) {{"
            if names
            else "scf.while : () -> () {"
        )
        with self._inside():
            condition = test(before)
            passed = f" {', '.join(before)} : {types}" if names else ""
            self._body.emit(f"scf.condition({condition}){passed}")
        self._body.emit("} do {")
        if names:
            arguments = (f"{n}: {t}" for n, t in zip(after, carried.types, strict=True))
            self._body.emit(f"^bb0({', '.join(arguments)}):")
        with self._inside():
            values = write(after)
            self._yield(values, carried.types)
            if not values:
                self._body.emit("scf.yield")
        self._body.emit("}")
        return names

    def branch(
        self,
        condition: str,
        types: Sequence[str],
        zeros: Callable[[], Sequence[str]],
        then: Write,
        other: Write | None,
    ) -> list[str]:
        """Write a branch; ``zeros`` makes values of the types, ``other`` is None for no else."""
        if self.only_whiles:
            return self._branching_whiles(condition, Carried(types, zeros()), then, other)
        names = self._fresh(len(types))
        head = f"scf.if {condition}"
        if names:
            head = f"{', '.join(names)} = {head} -> ({', '.join(types)})"
        self._body.emit(head + " {")
        with self._inside():
            self._yield(then([]), types)
        if other is not None:
            self._body.emit("} else {")
            with self._inside():
                self._yield(other([]), types)
        self._body.emit("}")
        return names

    def _branching_whiles(
        self, condition: str, carried: Carried, then: Write, other: Write | None
    ) -> list[str]:
        no, yes = self._body.boolean(False), self._body.boolean(True)
        otherwise = ""
        if other is not None:
            otherwise = self._body.assign(f"arith.select {condition}, {no}, {yes} : i1")

        def once(condition: str, carried: Carried, write: Write) -> list[str]:
            """Write a while that runs once if ``condition`` holds, else not at all."""
            whole = Carried([*carried.types, "i1"], [*carried.inits, condition])
            found = self._loop(whole, lambda inside: inside[-1], lambda _: [*write([]), no])
            return found[:-1]

        results = once(condition, carried, then)
        if other is not None:
            results = once(otherwise, carried._replace(inits=results), other)
        return results


def _pairs(names: Sequence[str], carried: Carried) -> str:
    return ", ".join(f"{a} = {b}" for a, b in zip(names, carried.inits, strict=True))
