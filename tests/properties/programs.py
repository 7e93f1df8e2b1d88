"""Random programs of every kind, and what they are after each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pypto.language as pl
from pypto import ir
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy
from tests.passes.build import random_kernel
from tests.properties.kernels import Pick, random_matrix_source, random_mixed_source, random_source
from tests.properties.launches import random_launches

STRATEGIES = tuple(OptimizationStrategy)
Make = Callable[[Pick, int], ir.Program]


def written(pick: Pick, size: int) -> ir.Program:
    """Return a program as the front end makes it."""
    return pl.parse_program(random_source(pick, size))


def mixed(pick: Pick, size: int) -> ir.Program:
    """Return a program whose operands differ in type and shape, as the front end makes it."""
    return pl.parse_program(random_mixed_source(pick, size))


def multiplied(pick: Pick, size: int) -> ir.Program:
    """Return a program for the matrix unit, as the front end makes it."""
    return pl.parse_program(random_matrix_source(pick, size))


def built(pick: Pick, size: int) -> ir.Program:
    """Return a kernel in SSA form that carries tiles and tensors."""
    function = random_kernel(pick, size)
    return ir.Program([function], "built", entry=function.name)


def launched(pick: Pick, size: int) -> ir.Program:
    """Return a program whose host function launches kernels, as the front end makes it."""
    return pl.parse_program(random_launches(pick, size))


MAKERS: dict[str, Make] = {
    "written": written,
    "mixed": mixed,
    "multiplied": multiplied,
    "built": built,
}
"""What makes programs with one kernel, ``kernel`` or the only function."""

ALL_MAKERS: dict[str, Make] = {**MAKERS, "launched": launched}
"""With what makes programs whose ``main`` runs on the host."""


def stages(program: ir.Program) -> Iterator[tuple[str, ir.Program]]:
    """Yield the program after each pass of each strategy; what two have in common runs once."""
    done: dict[tuple[str, ...], ir.Program] = {(): program}
    for strategy in STRATEGIES:
        path: tuple[str, ...] = ()
        for name, make in PIPELINES[strategy]:
            before, path = done[path], (*path, name)
            if path not in done:
                done[path] = make()(before)
                yield " > ".join(path), done[path]


def changes(program: ir.Program) -> Iterator[tuple[str, ir.Program]]:
    """Yield the stages at which the program is another one.

    A pass that finds nothing to do gives back the program it was given: that one is known.
    """
    known = {id(program): program}
    for stage, after in stages(program):
        if id(after) not in known:
            known[id(after)] = after
            yield stage, after


def meanings(program: ir.Program) -> Iterator[tuple[str, ir.Program]]:
    """Yield the stages at which the program may mean another thing to the interpreter.

    Flags and barriers mean nothing to it: without them, both strategies end with one text.
    """
    known: set[str] = set()
    for stage, after in changes(program):
        text = without_flags(str(after))
        if text not in known:
            known.add(text)
            yield stage, after


def without_flags(text: str) -> str:
    """Return a program's text without its flags and barriers."""
    lines = text.split("\n")
    return "\n".join(line for line in lines if not line.lstrip().startswith("pl.system."))
