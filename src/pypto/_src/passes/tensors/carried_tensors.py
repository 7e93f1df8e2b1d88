"""Tensors that loops and branches carry by name: each name gets one tensor, filled by copies.

    for i, (a, b) in ...:               for i, (a, b) in ...:
        with pl.incore():                   with pl.incore():
            b1 = store(..., b)                  b1 = store(..., b)
        a, b = pl.yield_(b1, a)   ->        with pl.incore():
                                                kept = assemble(spare, b1)
                                            with pl.incore():
                                                b2 = assemble(b, a)
                                            with pl.incore():
                                                a2 = assemble(a, kept)
                                            a, b = pl.yield_(a2, b2)

A host function carries tensors: after ``a, b = b, a`` each name stands for one tensor or the
other, depending on the number of iterations. Kernels, and the scheduler that orders them, must know
which. A copy has the same meaning if the tensors have no other names: after they are passed on,
they are used only under the carried names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from pypto._src.analysis.accesses import AliasBases
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import ScopeKind
from pypto._src.ir.exprs import Expr, IterArg, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.opdef import aliased, op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
    yielded,
)
from pypto._src.ir.traversal.mutator import Mutator, substitute
from pypto._src.ir.traversal.queries import uses, variable_names
from pypto._src.ir.traversal.walk import children, copy_with
from pypto._src.ir.types import same_type
from pypto._src.ops import tensor, tensor_math
from pypto._src.records import NamedTuple

_Merge: TypeAlias = "ForStmt | WhileStmt | IfStmt"


def with_copies(
    function: Function, roots: Mapping[Var, AliasBases], written: Collection[Var]
) -> Function:
    """Return a host function in which each name of a written tensor stands for one tensor.

    ``roots`` are the tensors that each variable may be, ``written`` those that are written. Where
    a tensor is also used under another name, the function stays as it is.
    """
    survey = _Survey(function, _ambiguous(roots, written))
    if not all(survey.may_copy(merge, written) for merge in survey.merges):
        return function
    return function.with_body(_Copies(function, survey).body(function.body))


def _ambiguous(roots: Mapping[Var, AliasBases], written: Collection[Var]) -> set[Var]:
    """Return the variables that may be several tensors, one of which is written, or copied to."""
    several = {var: names for var, names in roots.items() if len(names) > 1}
    changed = {*written}
    found: set[Var] = set()
    while True:
        more = [v for v, names in several.items() if v not in found and changed & {*names}]
        if not more:
            return found
        found.update(more)
        changed.update(name for var in more for name in several[var])


class _Made(NamedTuple):
    """Where a tensor is made: the enclosing loops, and the number of the statement."""

    loops: tuple[Stmt, ...]
    number: int


class _Survey:
    """Which tensor each name stands for, and where it is used.

    A result of a loop or branch with an ambiguous name counts as a separate tensor.
    """

    def __init__(self, function: Function, ambiguous: Collection[Var]) -> None:
        self.merges: list[_Merge] = []
        self.made: dict[Var, _Made] = {}
        self.begin: dict[Stmt, int] = {}
        self._ambiguous = ambiguous
        self._params = {p for p in function.params if isinstance(p.type, TensorType)}
        self._base: dict[Expr, Var] = {p: p for p in self._params}
        self._uses: dict[Var, list[int]] = {}  # by number of statement
        self._end: dict[Stmt, int] = {}
        self._loops: dict[Stmt, tuple[Stmt, ...]] = {}
        self._number = 0
        self._visit(function.body, ())

    def base(self, value: Expr) -> Var | None:
        """Return the tensor of a value: a parameter, a new one, or an ambiguous carried name."""
        return self._base.get(value)

    def is_param(self, value: Expr) -> bool:
        """True for a parameter of the function, or a part of one."""
        return self.base(value) in self._params

    def slots(self, merge: _Merge) -> list[int]:
        """Return the positions of a statement's results that have ambiguous names."""
        return [at for at, var in enumerate(merge.return_vars) if var in self._ambiguous]

    def _visit(self, body: Stmt | None, loops: tuple[Stmt, ...]) -> None:
        for stmt in statements(body):
            self._number += 1
            self.begin[stmt], self._loops[stmt] = self._number, loops
            if not isinstance(stmt, YieldStmt):
                self._note_uses(stmt)
            match stmt:
                case AssignStmt() if isinstance(stmt.var.type, TensorType):
                    self._assign(stmt, loops)
                case ForStmt() | WhileStmt():
                    inside = (*loops, stmt)
                    for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=True):
                        self._hand_on(arg, [arg.initValue], inside, var in self._ambiguous)
                    self._visit(stmt.body, inside)
                    self._results(stmt, loops, [yielded(stmt.body)])
                case IfStmt():
                    self._visit(stmt.then_body, loops)
                    self._visit(stmt.else_body, loops)
                    arms = [yielded(stmt.then_body), yielded(stmt.else_body)]
                    self._results(stmt, loops, arms)
                case ScopeStmt():
                    self._visit(stmt.body, loops)
                case _:
                    pass
            self._end[stmt] = self._number

    def _assign(self, stmt: AssignStmt, loops: tuple[Stmt, ...]) -> None:
        source = aliased(stmt.value)
        base = None if source is None else self._base.get(source)
        self._base[stmt.var] = stmt.var if base is None else base
        if base is None and op_of(stmt.value) is not None:
            self.made[stmt.var] = _Made(loops, self._number)

    def _note_uses(self, stmt: Stmt) -> None:
        for child in children(stmt):
            if isinstance(child, Stmt | IterArg):
                continue
            for var in uses([child]):
                if var in self._base:
                    self._use(self._base[var])

    def _use(self, base: Var) -> None:
        self._uses.setdefault(base, []).append(self._number)

    def _results(
        self, stmt: _Merge, loops: tuple[Stmt, ...], yields: Sequence[Sequence[Expr]]
    ) -> None:
        if self.slots(stmt):
            self.merges.append(stmt)
        self._number += 1
        for at, (var, *values) in enumerate(zip(stmt.return_vars, *yields, strict=True)):
            is_own = var in self._ambiguous
            if not is_own and not isinstance(stmt, IfStmt):
                values = [stmt.iter_args[at]]  # the loop's initial tensor
            self._hand_on(var, values, loops, is_own)

    def _hand_on(
        self, var: Var, values: Sequence[Expr], loops: tuple[Stmt, ...], is_own: bool
    ) -> None:
        if not isinstance(var.type, TensorType):
            return
        bases = [base for value in values if (base := self._base.get(value)) is not None]
        for base in bases:
            self._use(base)
        self._base[var] = var if is_own or not bases else bases[0]
        if is_own:
            self.made[var] = _Made(loops, self._number)

    # ----- what may be copied ---------------------------------------------------------------

    def may_copy(self, merge: _Merge, written: Collection[Var]) -> bool:
        """Return whether copies have the same meaning as carrying tensors."""
        slots = self.slots(merge)
        shapes = [merge.return_vars[at].type for at in slots]
        if any(not isinstance(t, TensorType) or static_shape(t) is None for t in shapes):
            return False
        begin, end, loops = self.begin[merge], self._end[merge], self._loops[merge]
        if isinstance(merge, IfStmt):
            arms = [[arm[at] for at in slots] for arm in _arms(merge)]
            return self._are_over(arms, end, loops, written)
        starts = [merge.iter_args[at].initValue for at in slots]
        ends = [yielded(merge.body)[at] for at in slots]
        return self._are_over([starts], begin, loops, written) and self._are_over(
            [ends], end, (*loops, merge), written
        )

    def _are_over(
        self,
        ways: Sequence[Sequence[Expr]],
        number: int,
        loops: tuple[Stmt, ...],
        written: Collection[Var],
    ) -> bool:
        """Return whether values have no use from ``number`` on except to be passed on."""
        handed: dict[Var, int] = {}
        for way in ways:
            bases = [self.base(value) for value in way]
            if len(set(bases)) < len(bases):
                return False
            for base in bases:
                if base is None:
                    return False
                handed[base] = handed.get(base, 0) + 1
        for base, times in handed.items():
            if base in self._params:
                if base in written:
                    return False
                continue
            made = self.made.get(base)
            later = sum(used >= number for used in self._uses.get(base, ()))
            if made is None or made.loops != loops or later != times:
                return False
        return True


def _arms(stmt: IfStmt) -> list[Sequence[Expr]]:
    return [yielded(stmt.then_body), yielded(stmt.else_body)]


class _Copy(NamedTuple):
    """A copy of one tensor to another."""

    slot: int
    target: Expr
    source: Expr
    into: Var
    """The tensor that holds the target; ``of`` is the one that holds the source."""
    of: Var | None


class _Copies(Mutator):
    """Copies tensors where loops and branches pass them on."""

    def __init__(self, function: Function, survey: _Survey) -> None:
        super().__init__()
        self._survey = survey
        self._names = FreshNames(variable_names(function))
        self._memory: dict[Var, Var] = {}  # the tensor that holds a carried name

    def _memory_of(self, value: Expr) -> Var | None:
        base = self._survey.base(value)
        return None if base is None else self._memory.get(base, base)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt | list[Stmt]:
        """Return a loop that yields the same tensors that it starts with."""
        return self._loop(stmt)

    def visit_WhileStmt(self, stmt: WhileStmt) -> Stmt | list[Stmt]:
        """Return a loop that yields the same tensors that it starts with."""
        return self._loop(stmt)

    def _loop(self, stmt: ForStmt | WhileStmt) -> Stmt | list[Stmt]:
        slots = self._survey.slots(stmt)
        before: list[Stmt] = []
        begins: dict[int, Expr] = {}
        for at in slots:
            arg = stmt.iter_args[at]
            memory = self._memory_of(arg.initValue)
            if self._survey.is_param(arg.initValue):
                memory = self._made(arg, before)
                begins[at] = self._copied(memory, arg.initValue, before)
            assert memory is not None
            self._memory[arg] = self._memory[stmt.return_vars[at]] = memory
        new = self.rebuild(stmt)
        if not slots:
            return new
        args: list[IterArg] = list(new.iter_args)
        changed: dict[Var, Expr] = {}
        for at, begin in begins.items():
            arg = args[at]
            args[at] = changed[arg] = IterArg(arg.name, arg.type, begin, arg.span)
        ends = yielded(stmt.body)
        pairs = [
            _Copy(at, args[at], end, self._memory[stmt.iter_args[at]], self._memory_of(end))
            for at, end in ((at, ends[at]) for at in slots)
        ]
        body = self._with_copies(new.body, pairs, before)
        return [
            *before,
            substitute(copy_with(new, {"iter_args": tuple(args), "body": body}), changed),
        ]

    def visit_IfStmt(self, stmt: IfStmt) -> Stmt | list[Stmt]:
        """Return a branch whose arms yield the same tensor."""
        slots = self._survey.slots(stmt)
        new = self.rebuild(stmt)
        if not slots:
            return new
        before: list[Stmt] = []
        targets = self._targets(stmt, slots, before)
        bodies: list[Stmt] = []
        for body, values in zip((new.then_body, new.else_body), _arms(stmt), strict=True):
            pairs = [
                _Copy(at, to, values[at], into, self._memory_of(values[at]))
                for at, (to, into) in zip(slots, targets, strict=True)
            ]
            bodies.append(self._with_copies(body, pairs, before))
        for at, (_, into) in zip(slots, targets, strict=True):
            self._memory[stmt.return_vars[at]] = into
        return [*before, copy_with(new, {"then_body": bodies[0], "else_body": bodies[1]})]

    def _targets(
        self, stmt: IfStmt, slots: Sequence[int], before: list[Stmt]
    ) -> list[tuple[Expr, Var]]:
        """Return a branch's result tensors, made before it: those of an arm where possible."""
        survey = self._survey
        found: list[tuple[Expr, Var]] = []
        taken: set[Var] = set()
        for at in slots:
            for values in reversed(_arms(stmt)):
                base, memory = survey.base(values[at]), self._memory_of(values[at])
                if base is None or memory is None or memory in taken:
                    continue
                made = survey.made.get(base)
                is_before = made is not None and made.number < survey.begin[stmt]
                if is_before and same_type(base.type, values[at].type):
                    found.append((base, memory))
                    break
            else:
                own = self._made(stmt.return_vars[at], before)
                found.append((own, own))
            taken.add(found[-1][1])
        return found

    def _with_copies(self, body: Stmt, pairs: Sequence[_Copy], before: list[Stmt]) -> Stmt:
        """Return a body that copies before its yield, and yields the copies."""
        *stmts, last = statements(body)
        assert isinstance(last, YieldStmt)
        values = list(last.value)
        pending = [pair for pair in pairs if pair.into is not pair.of]
        while pending:
            for pair in pending:
                if all(other.of is not pair.into for other in pending if other is not pair):
                    values[pair.slot] = self._copied(pair.target, pair.source, stmts)
                    pending.remove(pair)
                    break
            else:  # a cycle: save one of them elsewhere
                first = pending[0]
                own = self._made(first.source, before)
                held = self._copied(own, first.source, stmts)
                pending[0] = first._replace(source=held, of=own)
        return seq([*stmts, YieldStmt(tuple(values), last.span)], body.span)

    def _made(self, like: Expr, before: list[Stmt]) -> Var:
        """Return a new tensor, made before a loop or branch."""
        kind = like.type
        assert isinstance(kind, TensorType)
        call = tensor.create.build((list(kind.shape),), {"dtype": kind.dtype}, like.span)
        var = Var(self._names.like(_name(like)), call.type, like.span)
        before.append(AssignStmt(var, call, like.span))
        return var

    def _copied(self, target: Expr, source: Expr, stmts: list[Stmt]) -> Var:
        """Append the copy of ``source`` to ``target``; return its result."""
        kind, span = target.type, source.span
        assert isinstance(kind, TensorType)
        zeros = [0] * len(kind.shape)
        call = tensor_math.assemble.build((target, source, zeros), {}, span)
        var = Var(self._names.like(_name(target)), kind, span)
        stmts.append(ScopeStmt(ScopeKind.InCore, AssignStmt(var, call, span), span))
        return var


def _name(value: Expr) -> str:
    return value.name if isinstance(value, Var) else "held"
