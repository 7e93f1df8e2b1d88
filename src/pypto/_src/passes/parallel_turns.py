"""Parallel loops whose turns are not independent: what one writes, another one writes or reads.

The passes rely on it that the turns of ``pl.parallel`` may run in any order. What is reported is
certain, if the loop has two turns at all: a value that one turn hands on to the next, and parts of
a tensor that meet in the first two turns and are touched in every turn. Looks at functions in SSA
form whose calls stand alone, and through calls at what those functions touch whenever they run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from pypto._src.diagnostics import UNKNOWN_SPAN, Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.enums import ForKind
from pypto._src.ir.nodes import (
    Call,
    Expr,
    GlobalVar,
    TensorType,
    Var,
    const_value,
    valid_part,
)
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    Program,
    ScopeStmt,
    WhileStmt,
    YieldStmt,
    yielded,
)
from pypto._src.ir.user_text import user_name
from pypto._src.ir.walk import call_order, functions_called, stmts_in, uses, with_room
from pypto._src.passes.boxes import Affine, combine, encloses, trip_count
from pypto._src.passes.regions import Block, Site, call_of, read_by, sites_in
from pypto._src.passes.tensor_parts import TensorParts, moved
from pypto._src.passes.unwritten import in_flat_form

RULE: Final = "parallel-turns"
_MOST: Final = 32
"""How many accesses to one tensor are compared with each other."""

_NOTHING: Final[Mapping[Expr, Affine]] = {}


class _Access(NamedTuple):
    """What a call touches of a tensor, whenever the code around it runs."""

    root: Var
    offsets: tuple[Affine, ...]
    sizes: tuple[int, ...]
    writes: bool
    span: Span


class _Summary(NamedTuple):
    """What every call of a function does with the tensors that it is given.

    The roots of the accesses are its parameters, the offsets linear forms of them.
    """

    accesses: Sequence[_Access]
    positions: Mapping[Expr, int]  # of the parameters


_Known: TypeAlias = "Mapping[str, _Summary]"


def check_parallel(program: Program | Function) -> list[Diagnostic]:
    """Return an error for what makes turns of parallel loops depend on each other; see the module.

    The rule is ``parallel-turns``. Nothing is said of a program that cannot be brought into SSA
    form, which the passes report.
    """
    if isinstance(program, Function):
        program = Program([program], program.name)
    if not any(_has_parallel(function) for function in program.functions_):
        return []
    whole = program
    return with_room(lambda: _findings(whole), whole)


def _findings(program: Program) -> list[Diagnostic]:
    flat = in_flat_form(program)
    if flat is None:
        return []
    known: dict[str, _Summary] = {}
    results: dict[str, tuple[tuple[int, ...], ...]] = {}
    found: dict[str, list[Diagnostic]] = {}
    inner = {name for function in flat.functions_ for name in functions_called(function)}
    for function in call_order(flat):
        if function.name not in inner and not _has_parallel(function):
            continue
        parts = TensorParts(function, results)
        found[function.name] = list(_in(function, parts, known))
        if function.name in inner:
            summary = known[function.name] = _summary(function, parts, known)
            results[function.name] = parts.results_in(summary.positions)
    return [each for function in flat.functions_ for each in found.get(function.name, ())]


def _summary(function: Function, parts: TensorParts, known: _Known) -> _Summary:
    positions: dict[Expr, int] = {param: i for i, param in enumerate(function.params)}
    counts: dict[Var, int] = {}
    accesses: list[_Access] = []
    for access in _accesses(parts, parts.turns.root, known):
        offsets = _resolved(parts, access.offsets, lambda var: var in positions)
        count = counts[access.root] = counts.get(access.root, 0) + 1
        if offsets is not None and access.root in positions and count <= _MOST:
            accesses.append(access._replace(offsets=tuple(offsets)))
    return _Summary(accesses, positions)


def _in(function: Function, parts: TensorParts, known: _Known) -> Iterator[Diagnostic]:
    if not _has_parallel(function):
        return
    read = _reads(parts.turns.root)
    for site in sites_in(parts.turns.root):
        stmt = site.stmt
        if not isinstance(stmt, ForStmt) or stmt.kind is not ForKind.Parallel:
            continue
        if trip_count(stmt) not in (0, 1):
            yield from _carried(stmt, read)
            yield from _meetings(parts, site, stmt, known)


def _has_parallel(function: Function) -> bool:
    loops = (stmt for stmt in stmts_in(function.body) if isinstance(stmt, ForStmt))
    return any(loop.kind is ForKind.Parallel for loop in loops)


def _error(stmt: ForStmt, why: str, span: Span, label: Label | None) -> Diagnostic:
    return Diagnostic(
        DiagnosticSeverity.Error,
        RULE,
        0,
        f"the turns of a parallel loop depend on each other: {why}",
        span,
        related=() if label is None else (label,),
        hint=f"write for {user_name(stmt.loop_var)} in pl.range(...)",
    )


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def _reads(root: Block) -> dict[Var, Span]:
    """Return where variables are read for more than to be handed on."""
    found: dict[Var, Span] = {}
    for site in sites_in(root):
        stmt = site.stmt
        if isinstance(stmt, YieldStmt):
            continue
        values: list[Expr] = [*read_by(stmt)]
        if isinstance(stmt, ForStmt | WhileStmt):  # without what it hands on to its first turn
            values = values[: len(values) - len(stmt.iter_args)]
        for value in values:
            for var in uses([value]):
                found.setdefault(var, stmt.span if value.span is UNKNOWN_SPAN else value.span)
    return found


def _carried(stmt: ForStmt, read: dict[Var, Span]) -> Iterator[Diagnostic]:
    """Yield an error for each number or tile that goes from one turn to the next, or out of it."""
    for arg, var, end in zip(stmt.iter_args, stmt.return_vars, yielded(stmt.body), strict=False):
        if isinstance(arg.type, TensorType) or end is arg:
            continue
        name = user_name(var)
        if arg in read:
            label = Label(read[arg], "what an earlier turn has made of it")
            yield _error(stmt, f"each uses the {name} of the one before", stmt.span, label)
        elif var in read:
            label = Label(read[var], "what the last turn has made of it")
            yield _error(stmt, f"the {name} of the last one is used", stmt.span, label)


# --------------------------------------------------------------------------------------------
# Tensors
# --------------------------------------------------------------------------------------------


def _meetings(parts: TensorParts, loop: Site, stmt: ForStmt, known: _Known) -> Iterator[Diagnostic]:
    """Yield an error for each tensor that two turns write, or one writes and another one reads."""
    step = const_value(stmt.step)
    if step is None:
        return
    by_root: dict[Var, list[_Access]] = {}
    own = {
        site.stmt.var for site in sites_in(loop.blocks[0]) if isinstance(site.stmt, AssignStmt)
    }  # a tensor that a turn makes is its own
    for access in _accesses(parts, loop.blocks[0], known):
        if access.root in own:
            continue
        seen = by_root.setdefault(access.root, [])
        if len(seen) < _MOST:
            seen.append(access)
    start = parts.turns.starts[stmt.loop_var]
    for accesses in by_root.values():
        found = next(
            _met(parts, loop, accesses, (start, combine(start, Affine(step, {}), 1))), None
        )
        if found is not None:
            yield _report(stmt, *found)


def _report(stmt: ForStmt, first: _Access, second: _Access) -> Diagnostic:
    name = user_name(first.root)
    if first is second:
        return _error(stmt, f"each writes elements of {name} that others write", first.span, None)
    if second.writes:
        why, text = f"one writes elements of {name} that others write", "another write"
    else:
        why, text = f"one writes elements of {name} that others read", "the read"
    return _error(stmt, why, first.span, Label(second.span, text))


def _accesses(parts: TensorParts, body: Block, known: _Known) -> Iterator[_Access]:
    """Yield the accesses to parts of tensors that are made whenever ``body`` runs."""
    pending = [*reversed(body.sites)]
    while pending:
        site = pending.pop()
        call = call_of(site.stmt)
        op = None if call is None else op_of(call)
        if isinstance(site.stmt, ScopeStmt) or (
            isinstance(site.stmt, ForStmt) and _runs(site.stmt)
        ):
            pending += reversed(site.blocks[0].sites)
        if call is not None and isinstance(call.op, GlobalVar):
            callee = known.get(call.op.name)
            if callee is not None:
                yield from _made_by(callee, call, parts, site.block)
        if call is None or op is None or op.view_of is not None:
            continue
        if any(valid_part(arg.type) is not None for arg in call.args):
            continue  # a store of so much as is known when it runs
        for index in sorted(op.reads | op.writes):
            arg = call.args[index]
            roots = parts.roots_of(arg) if isinstance(arg.type, TensorType) else ()
            box, base = parts.box(call, op, index, site.block), parts.base(arg)
            if len(roots) != 1 or box is None or base is None:
                continue
            offsets = moved(base, box[0])
            sizes = [size for size in box[1] if size is not None]
            if offsets is not None and len(sizes) == len(offsets):
                writes = index in op.writes
                yield _Access(roots[0], offsets, tuple(sizes), writes, call.span)


def _made_by(callee: _Summary, call: Call, parts: TensorParts, block: Block) -> Iterator[_Access]:
    """Yield what a call of a function touches of its arguments."""
    for access in callee.accesses:
        arg = call.args[callee.positions[access.root]]
        roots, base = parts.roots_of(arg), parts.base(arg)
        if len(roots) != 1 or base is None:
            continue
        by = [parts.bound(form, callee.positions, call, block) for form in access.offsets]
        offsets = moved(base, tuple(by))
        if offsets is not None:
            yield access._replace(root=roots[0], offsets=offsets, span=call.span)


def _runs(stmt: ForStmt) -> bool:
    return bool(trip_count(stmt))


def _met(
    parts: TensorParts, loop: Site, accesses: list[_Access], turns: tuple[Affine, Affine]
) -> Iterator[tuple[_Access, _Access]]:
    """Yield the writes of one turn that meet an access of another one, with that."""
    places = [[_offsets(parts, loop, access, turn) for turn in turns] for access in accesses]
    for first, (here, later) in zip(accesses, places, strict=True):
        if not first.writes:
            continue
        for second, (other_here, other_later) in zip(accesses, places, strict=True):
            if _meet(first, here, second, other_later) or _meet(first, later, second, other_here):
                yield first, second


def _offsets(parts: TensorParts, loop: Site, access: _Access, turn: Affine) -> list[Affine] | None:
    """Return where an access is in one turn and in the first turns of the loops inside it.

    None where that may be another place each time.
    """
    assert isinstance(loop.stmt, ForStmt)
    body, home = loop.blocks[0], parts.turns.integers.home
    return _resolved(
        parts,
        access.offsets,
        lambda var: _is_outside(home.get(var), body),
        {loop.stmt.loop_var: turn},
    )


def _resolved(
    parts: TensorParts,
    offsets: Sequence[Affine],
    stays: Callable[[Expr], bool],
    given: Mapping[Expr, Affine] = _NOTHING,
) -> list[Affine] | None:
    """Return offsets as they are in first turns, as linear forms of what ``stays``.

    ``given`` has the values of variables that are in another turn. None if one may be another place
    each time.
    """
    found: list[Affine] = []
    for form in offsets:
        while True:
            var = next((v for v in form.terms if not stays(v)), None)
            if var is None:
                break
            value = given.get(var) or parts.turns.starts.get(var)  # pyright: ignore[reportArgumentType]
            if value is None:
                return None
            rest = {atom: factor for atom, factor in form.terms.items() if atom is not var}
            form = combine(Affine(form.constant, rest), value, form.terms[var])
        found.append(form)
    return found


def _is_outside(home: Block | None, body: Block) -> bool:
    return home is not None and not encloses(body, home)


def _meet(
    first: _Access, here: list[Affine] | None, second: _Access, there: list[Affine] | None
) -> bool:
    """True if two boxes surely have an element in common."""
    if here is None or there is None or len(here) != len(there):
        return False
    for a, b, size, other in zip(here, there, first.sizes, second.sizes, strict=True):
        distance = combine(a, b, -1)
        if distance.terms or not -size < distance.constant < other:
            return False
    return True
