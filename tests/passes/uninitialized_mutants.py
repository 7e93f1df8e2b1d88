"""Removes writes from programs on purpose, and compares the check's findings with runs.

Run ``python -m tests.passes.uninitialized_mutants [PROGRAMS]`` for the counts of every example and
of random programs. In each mutant one statement no longer writes:

* *tile*: a tile comes from ``create_tile`` instead of the op that computed it;
* *store*: a store, or another op that writes a tensor, is removed;
* *call*: a call of a kernel with one output is removed.

What a mutant does is decided by the strict interpreter, with outputs prefilled with
a pattern: it reads uninitialized data, or leaves an output unchanged.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np

import pypto.language as pl
from pypto import ir
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, call_of, number, points_in, rewrite
from pypto._src.commands import example_cases
from pypto._src.diagnostics import Diagnostic
from pypto._src.driver import compile_program
from pypto._src.errors import EvaluationError, PyptoError
from pypto._src.interp.pipe_interpreter import StrictEvaluator
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, GlobalVar
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import AssignStmt, Function, Stmt
from pypto._src.lint.uninitialized import check_uninitialized
from pypto._src.ops import new_tiles
from pypto._src.passes.pass_manager import PassManager
from tests.passes.build import random_kernel
from tests.passes.mutants import COUNTS, Choice, FreeEvaluator
from tests.properties.kernels import Pick, random_matrix_source, random_source

CHOICES = 300
"""The most paths through a kernel that are tried to break a mutant."""


class Mutant(NamedTuple):
    """A program in which one statement no longer writes."""

    kind: str  # tile, store or call
    stmt: Stmt
    program: ir.Program

    @property
    def findings(self) -> list[Diagnostic]:
        """Return the findings of the check about it."""
        return check_uninitialized(self.program)


def mutants(program: ir.Program) -> Iterator[Mutant]:
    """Yield the program without each of its writes, in turn."""
    for function in program.functions_:
        root = number(function)
        for point in points_in(root):
            for kind, stmts in _without(point, program):
                new = _replaced(function, root, point, stmts)
                others = [new if each is function else each for each in program.functions_]
                yield Mutant(kind, point.stmt, program.with_functions(others))


def _replaced(function: Function, root: Block, point: ProgramPoint, stmts: list[Stmt]) -> Function:
    return rewrite(function, root, lambda at, stmt: stmts if at is point else [stmt])


def _without(point: ProgramPoint, program: ir.Program) -> Iterator[tuple[str, list[Stmt]]]:
    """Yield the replacements of a statement that no longer write; none for most."""
    stmt, call = point.stmt, call_of(point.stmt)
    op = None if call is None else op_of(call)
    if call is None:
        return
    if op is not None and op.writes and isinstance(call.type, TensorType):
        source = aliased(call)
        assert source is not None
        is_named = isinstance(stmt, AssignStmt)
        yield "store", [AssignStmt(stmt.var, source, stmt.span)] if is_named else []
    elif isinstance(call.op, GlobalVar):
        callee = program.get_function(call.op.name)
        assert callee is not None
        written = [
            arg
            for arg, direction in zip(call.args, callee.param_directions, strict=True)
            if direction is not ParamDirection.In
        ]
        if not isinstance(stmt, AssignStmt):
            yield "call", []
        elif len(written) == 1 and isinstance(stmt.var.type, TensorType):
            yield "call", [AssignStmt(stmt.var, written[0], stmt.span)]
    elif isinstance(stmt, AssignStmt) and isinstance(call.type, TileType):
        made = _created(call)
        if made is not None and made.type == stmt.var.type:
            yield "tile", [AssignStmt(stmt.var, made, stmt.span)]


def _created(call: Call) -> Call | None:
    """Return the call that creates a tile like that of ``call``, uninitialized."""
    op, kind = op_of(call), call.type
    if op is None or call.op is new_tiles.create_tile:
        return None
    assert isinstance(kind, TileType)
    try:
        space = {"target_memory": op.space_of(call)}
        return new_tiles.create_tile.build([list(kind.shape), kind.dtype], space, call.span)
    except PyptoError:
        return None  # a tile without a constant size


# --------------------------------------------------------------------------------------------
# Verdicts
# --------------------------------------------------------------------------------------------


def verdict(case: example_cases.Case, program: ir.Program) -> str:
    """Return what a strict run of a mutant of an example finds: a slug, ``left``, or nothing.

    ``left`` means outputs with unwritten elements, which are the same as before the run.
    """
    compiled = compile_program(program, "interpreter", strict="late")
    ends: list[list[bytes]] = []
    for byte in (0xFF, 0x7F):  # floats that are NaN, and two different integers
        args = case.inputs(np.random.default_rng(0))
        outputs = [args[name] for name in compiled.written]
        for each in outputs:
            each.view(np.uint8)[...] = byte
        try:
            compiled(*args.values())
        except EvaluationError as error:
            return error.slug
        if any(np.isnan(e.astype(np.float64)).any() for e in outputs if e.dtype.kind not in "iu"):
            return "left"
        ends.append([each.tobytes() for each in outputs])
    return "" if ends[0] == ends[1] else "left"


def reads_poison(program: ir.Program, name: str) -> bool:
    """True if a strict run of a kernel reads uninitialized data, on arguments or any path.

    The paths take branches and the iterations of loops with open bounds arbitrarily.
    """
    lowered = PassManager().run_passes(program)
    function = lowered.get_function(name)
    assert function is not None
    for count in COUNTS:
        if _slug(StrictEvaluator(lowered), function, count) == "poison":
            return True
    for seed in range(CHOICES):
        free = FreeEvaluator(lowered)
        free.calls, free.choose = [], Choice(seed)
        if _slug(free, function, 2) == "poison":
            return True
    return False


def _slug(evaluator: StrictEvaluator, function: Function, count: int) -> str:
    try:
        evaluator.call(function.name, arguments(function, count))
    except EvaluationError as error:
        return error.slug
    return ""


def arguments(function: Function, count: int) -> list[Any]:
    """Return arguments of a random kernel; loops and branches depend on ``count``."""
    random = np.random.default_rng(0)
    found: list[Any] = []
    for param in function.params:
        kind = param.type
        if isinstance(kind, TensorType):
            shape = [dim.value for dim in kind.shape if isinstance(dim, ir.ConstInt)]
            found.append(random.integers(0, 4, shape).astype(kind.dtype.numpy))
        else:
            assert isinstance(kind, ir.ScalarType)
            found.append(float(count) if kind.dtype.is_float() else count)
    return found


def _written(pick: Pick, size: int) -> ir.Program:
    return pl.parse_program(random_source(pick, size))


def _multiplied(pick: Pick, size: int) -> ir.Program:
    return pl.parse_program(random_matrix_source(pick, size))


def _built(pick: Pick, size: int) -> ir.Program:
    function = random_kernel(pick, size)
    return ir.Program([function], "built", entry=function.name)


MAKERS: tuple[Callable[[Pick, int], ir.Program], ...] = (_written, _multiplied, _built)


def random_program(seed: int) -> tuple[ir.Program, str]:
    """Return a random program and the name of its kernel."""
    pick = Random(seed)
    program = MAKERS[seed % len(MAKERS)](pick.randrange, 4 + seed % 13)
    function = program.get_function("kernel") or program.functions_[0]
    return program, function.name


def drawn(seed: int, most: int) -> list[tuple[Mutant, str]]:
    """Return up to ``most`` mutants of a random program that lack a tile, and the kernel's name."""
    program, name = random_program(seed)
    found = [each for each in mutants(program) if each.kind == "tile"]
    Random(seed).shuffle(found)
    return [(each, name) for each in found[:most]]


def main(programs: int) -> None:
    """Print how often the check and runs agree."""
    counts: Counter[tuple[str, str, str]] = Counter()
    directory = example_cases.examples_directory()
    assert directory is not None
    for case in example_cases.cases(directory):
        for mutant in mutants(case.program):
            found = ", ".join(dict.fromkeys(each.rule_name for each in mutant.findings))
            counts[mutant.kind, found, verdict(case, mutant.program)] += 1
    for seed in range(programs):
        for mutant, name in drawn(seed, 6):
            found = ", ".join(dict.fromkeys(each.rule_name for each in mutant.findings))
            runs = "poison" if reads_poison(mutant.program, name) else ""
            counts[f"random {mutant.kind}", found, runs] += 1
    for (kind, found, runs), number_of in sorted(counts.items()):
        print(f"{number_of:5}  {kind:<12} check: {found or 'nothing':<36} run: {runs or 'nothing'}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
