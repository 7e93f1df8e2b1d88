"""Parallel loops whose iterations depend on each other: one writes what another one touches.

The passes assume that the iterations of ``pl.parallel`` may run in any order. What is reported is
certain, provided that the loop has that many iterations: a value that one iteration passes to the
next, and regions of a tensor that overlap in two of the first iterations, or of the last ones, on
one path through all conditions. Expects functions in SSA form with flattened calls, and follows
calls to what the callees touch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from pypto._src.analysis.affine import Affine, combine, trip_count
from pypto._src.analysis.iteration_accesses import Access, IterationAccesses
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, points_in, read_by
from pypto._src.analysis.tensor_regions import TensorParts
from pypto._src.diagnostics import UNKNOWN_SPAN, Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ForKind
from pypto._src.ir.exprs import Expr, Var, const_value
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.stmts import ForStmt, Function, Program, WhileStmt, YieldStmt, yielded
from pypto._src.ir.traversal.queries import call_order, functions_called, stmts_in, uses
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.lint.uninitialized import in_flat_form
from pypto._src.usage_errors import not_a_program

RULE: Final = "parallel-iterations"
_FIRST: Final = 64
_LAST: Final = 16
"""How many iterations are checked at the beginning of a loop, and at its end."""
_MOST: Final = 1024
"""How many accesses to one tensor are compared with each other."""


def check_parallel(program: Program | Function) -> list[Diagnostic]:
    """Return an error for each dependence between iterations of a parallel loop; see the module.

    The rule is ``parallel-iterations``. A program that cannot be brought into SSA form gives no
    findings: the passes report it.

    Raises:
        CallError: it is neither a program nor a function.
    """
    if isinstance(program, Function):
        program = Program([program], program.name)
    if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise not_a_program(program, "passes.check_parallel")
    if not any(_has_parallel(function) for function in program.functions_):
        return []
    whole = program
    return with_room(lambda: _findings(whole), whole)


def _findings(program: Program) -> list[Diagnostic]:
    flat = in_flat_form(program)
    if flat is None:
        return []
    known: dict[str, TensorParts] = {}
    results: dict[str, tuple[tuple[int, ...], ...]] = {}
    found: dict[str, list[Diagnostic]] = {}
    inner = {name for function in flat.functions_ for name in functions_called(function)}
    for function in call_order(flat):
        if function.name not in inner and not _has_parallel(function):
            continue
        parts = TensorParts(function, results)
        found[function.name] = list(_in(function, parts, known))
        if function.name in inner:
            known[function.name] = parts
            results[function.name] = parts.results_in({p: i for i, p in enumerate(function.params)})
    return [each for function in flat.functions_ for each in found.get(function.name, ())]


def _in(
    function: Function, parts: TensorParts, known: Mapping[str, TensorParts]
) -> Iterator[Diagnostic]:
    if not _has_parallel(function):
        return
    read = _reads(parts.iterations.root)
    for point in points_in(parts.iterations.root):
        stmt = point.stmt
        if not isinstance(stmt, ForStmt) or stmt.kind is not ForKind.Parallel:
            continue
        if trip_count(stmt) not in (0, 1):
            yield from _carried(stmt, read)
            yield from _meetings(parts, point, stmt, known)


def _has_parallel(function: Function) -> bool:
    loops = (stmt for stmt in stmts_in(function.body) if isinstance(stmt, ForStmt))
    return any(loop.kind is ForKind.Parallel for loop in loops)


def _error(stmt: ForStmt, why: str, span: Span, label: Label | None) -> Diagnostic:
    return Diagnostic(
        DiagnosticSeverity.Error,
        RULE,
        0,
        f"the iterations of a parallel loop depend on each other: {why}",
        span,
        related=() if label is None else (label,),
        hint=f"write for {user_name(stmt.loop_var)} in pl.range(...)",
    )


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def _reads(root: Block) -> dict[Var, Span]:
    """Return where variables are read, other than by a yield that only passes them on."""
    found: dict[Var, Span] = {}
    for point in points_in(root):
        stmt = point.stmt
        if isinstance(stmt, YieldStmt):
            continue
        values: list[Expr] = [*read_by(stmt)]
        if isinstance(stmt, ForStmt | WhileStmt):  # without the init values
            values = values[: len(values) - len(stmt.iter_args)]
        for value in values:
            for var in uses([value]):
                found.setdefault(var, stmt.span if value.span is UNKNOWN_SPAN else value.span)
    return found


def _carried(stmt: ForStmt, read: dict[Var, Span]) -> Iterator[Diagnostic]:
    """Yield an error for each carried scalar or tile that is used in the loop or after it."""
    for arg, var, end in zip(stmt.iter_args, stmt.return_vars, yielded(stmt.body), strict=False):
        if isinstance(arg.type, TensorType) or end is arg:
            continue
        name = user_name(var)
        if arg in read:
            label = Label(read[arg], "uses the value of an earlier iteration")
            yield _error(stmt, f"each uses the {name} of the one before", stmt.span, label)
        elif var in read:
            label = Label(read[var], "uses the value of the last iteration")
            yield _error(stmt, f"the {name} of the last one is used", stmt.span, label)


# --------------------------------------------------------------------------------------------
# Tensors
# --------------------------------------------------------------------------------------------


def _meetings(
    parts: TensorParts, loop: ProgramPoint, stmt: ForStmt, known: Mapping[str, TensorParts]
) -> Iterator[Diagnostic]:
    """Yield an error for each tensor that one iteration writes and another one touches."""
    step = const_value(stmt.step)
    if step is None:
        return
    count = trip_count(stmt)
    iterations = range(_FIRST if count is None else count)
    looked = (
        [*iterations]
        if len(iterations) <= _FIRST + _LAST
        else [*iterations[:_FIRST], *iterations[-_LAST:]]
    )
    touched = IterationAccesses(parts, known, loop.blocks[0])
    start = parts.iterations.starts[stmt.loop_var]
    for iteration in looked:
        if touched.is_exhausted and iteration > 1:
            break
        touched.add_iteration(
            iteration, stmt.loop_var, combine(start, Affine(iteration * step, {}), 1)
        )
    by_base: dict[Var, list[Access]] = {}
    for access in touched.found:
        by_base.setdefault(access.root, []).append(access)
    for accesses in by_base.values():
        found = _met(_distinct(accesses, looked[:2])) or _met(_distinct(accesses, looked))
        if found is not None:
            first, second = found
            least = 1 + max(first.iteration, second.iteration) if count is None else 2
            yield _report(stmt, first, second, least)


def _report(stmt: ForStmt, first: Access, second: Access, least: int) -> Diagnostic:
    """Return an error about two accesses, a warning where more than two iterations are needed."""
    name = user_name(first.root)
    label: Label | None = None
    if first.order == second.order and second.writes:
        why = f"each writes elements of {name} that others write"
    elif second.writes:
        why = f"one writes elements of {name} that others write"
        label = Label(second.span, "another write")
    else:
        why = f"one writes elements of {name} that others read"
        label = Label(second.span, "the read")
    if least <= 2:
        return _error(stmt, why, first.span, label)
    found = _error(stmt, f"{why}, if there are {least} iterations or more", first.span, label)
    return found._replace(severity=DiagnosticSeverity.Warning)


def _distinct(accesses: Sequence[Access], iterations: Sequence[int]) -> list[Access]:
    """Return equally many accesses of each of ``iterations``, and only the first of equal ones."""
    most = _MOST // max(len(iterations), 1)
    found: list[Access] = []
    for iteration, each in groupby(accesses, key=lambda access: access.iteration):
        if iteration in iterations:
            unlike: dict[Hashable, Access] = {}
            for access in each:
                key = _offsets(access), access.sizes, access.writes, access.adds, access.path
                unlike.setdefault(key, access)
            found += [*unlike.values()][:most]
    return found


def _offsets(access: Access) -> Hashable:
    return tuple([(o.constant, frozenset(o.terms.items())) for o in access.offsets])


def _met(accesses: Sequence[Access]) -> tuple[Access, Access] | None:
    """Return a write and an overlapping access in another iteration, the first ones in the text.

    Prefers overlaps in the earliest iterations.
    """
    writes = [access for access in accesses if access.writes]
    best: tuple[Access, Access] | None = None
    for group in _comparable(accesses):
        for first, second in _overlapping(group):
            for one, other in ((first, second), (second, first)):
                if one.writes and (best is None or _rank(one, other) < _rank(*best)):
                    best = one, other
    return best if writes else None


def _rank(first: Access, second: Access) -> tuple[int, ...]:
    return (
        max(first.iteration, second.iteration) > 1,
        first.order,
        second.order,
        second.writes,
        max(first.iteration, second.iteration),
        first.iteration,
    )


def _comparable(accesses: Sequence[Access]) -> Iterable[list[Access]]:
    """Return the accesses in groups whose offsets differ by constants."""
    groups: dict[Hashable, list[Access]] = {}
    for access in accesses:
        key = tuple([frozenset(offset.terms.items()) for offset in access.offsets])
        groups.setdefault(key, []).append(access)
    return groups.values()


def _overlapping(group: Sequence[Access]) -> Iterator[tuple[Access, Access]]:
    """Yield the pairs of accesses that overlap.

    Sweeps the dimension with the most distinct offsets, keeping the boxes that are still open.
    """
    axes = range(len(group[0].offsets))
    axis = max(axes, key=lambda i: len({a.offsets[i].constant for a in group}), default=None)
    if axis is None:
        return
    open_: list[Access] = []
    for access in sorted(group, key=lambda each: each.offsets[axis].constant):
        begin = access.offsets[axis].constant
        open_ = [a for a in open_ if a.offsets[axis].constant + a.sizes[axis] > begin]
        yield from [(other, access) for other in open_ if _meet(other, access)]
        open_.append(access)


def _meet(first: Access, second: Access) -> bool:
    """True if two iterations touch one element in a way that needs an order, on one path."""
    if first.iteration == second.iteration or not (first.writes or second.writes):
        return False
    if first.adds and second.adds:
        return False
    if not (first.path <= second.path or second.path <= first.path):
        return False
    extents = zip(first.offsets, second.offsets, first.sizes, second.sizes, strict=True)
    return all(-size < a.constant - b.constant < other for a, b, size, other in extents)
