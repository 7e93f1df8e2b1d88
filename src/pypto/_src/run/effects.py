"""Effects of functions: which parameters each writes, and which of them it returns.

A store mutates: its value is the tensor it writes. So a parameter without direction may be written,
too, and a returned tensor usually is a parameter. One pass over a program notes for each name which
others it may alias; the result of a loop or branch may alias any value that merges there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, TupleGetItemExpr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import call_order, stmts_in
from pypto._src.records import NamedTuple


class Effects(NamedTuple):
    """What a call of a function does to its tensors."""

    writes: tuple[bool, ...]  # for each parameter
    results: tuple[tuple[int, ...], ...]  # for each result, the parameters that it may be
    reads: tuple[bool, ...]  # for each parameter: false where it is only written, or passed on


def effects(program: Program) -> dict[str, Effects]:
    """Return the effects of all functions by name."""
    found: dict[str, Effects] = {}
    for function in call_order(program):
        found[function.name] = _Analysis(function, found).effects()
    return found


Name = int
"""Stands for a tensor variable, or for one element of a tuple variable."""

WHOLE: Final = -1
"""Stands for the variable itself in place of the number of a tuple's element."""


class _Analysis:
    def __init__(self, function: Function, known: Mapping[str, Effects]) -> None:
        self.function = function
        self.known = known
        self.numbers: dict[Var, dict[int, Name]] = {}
        self.stands_for: list[list[Name]] = []
        self.written: list[Name] = []
        self.read: list[Name] = []
        self.returned: list[list[Name]] = [[] for _ in function.return_types]

    def effects(self) -> Effects:
        params = [self.name(param) for param in self.function.params]
        for stmt in stmts_in(self.function.body):
            self.statement(stmt)
        written = self.reached(self.written)
        writes = tuple(
            direction is not ParamDirection.In or name in written
            for name, direction in zip(params, self.function.param_directions, strict=True)
        )
        read = self.reached(self.read)
        reads = tuple(name in read for name in params)
        results: list[tuple[int, ...]] = []
        for names in self.returned:
            reached = self.reached(names)
            results.append(tuple(i for i, name in enumerate(params) if name in reached))
        return Effects(writes, tuple(results), reads)

    def name(self, var: Var, element: int = WHOLE) -> Name:
        elements = self.numbers.setdefault(var, {})
        if element not in elements:
            elements[element] = len(self.stands_for)
            self.stands_for.append([])
        return elements[element]

    def reached(self, names: Iterable[Name]) -> set[Name]:
        """Return names with all that they may alias, directly or indirectly."""
        pending = list(names)
        found: set[Name] = set()
        while pending:
            name = pending.pop()
            if name not in found:
                found.add(name)
                pending += self.stands_for[name]
        return found

    def statement(self, stmt: Stmt) -> None:
        match stmt:
            case AssignStmt():
                for index, names in self.values(stmt.value).items():
                    self.stands_for[self.name(stmt.var, index)] += names
            case EvalStmt():
                self.values(stmt.expr)
            case IfStmt():
                self.meet(stmt.return_vars, stmt.then_body)
                self.meet(stmt.return_vars, stmt.else_body)
            case ForStmt() | WhileStmt():
                for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
                    self.stands_for[self.name(arg)] += self.names(arg.initValue)
                    self.stands_for[self.name(result)].append(self.name(arg))
                self.meet(stmt.iter_args, stmt.body)
            case ReturnStmt():
                for names, value in zip(self.returned, stmt.value, strict=False):
                    names += self.names(value)
            case _:
                pass

    def meet(self, targets: Iterable[Var], body: Stmt | None) -> None:
        for stmt in statements(body):
            if isinstance(stmt, YieldStmt):
                for target, value in zip(targets, stmt.value, strict=False):
                    self.stands_for[self.name(target)] += self.names(value)

    def names(self, value: Expr) -> list[Name]:
        """Return the names of the buffer that ``value`` denotes."""
        return self.values(value).get(WHOLE, [])

    def values(self, value: Expr) -> dict[int, list[Name]]:
        """Return the names of the buffers of a value or of its elements; note what it writes."""
        match value:
            case Var():
                # A copy of a tuple variable passes on the elements that have been seen so far.
                elements = self.numbers.get(value, {})
                return {WHOLE: [self.name(value)], **{i: [n] for i, n in elements.items()}}
            case TupleGetItemExpr(tuple=Var() as source, index=index):
                return {WHOLE: [self.name(source, index)]}
            case TupleGetItemExpr():
                return {WHOLE: self.values(value.tuple).get(value.index, [])}
            case Call():
                return self.call(value)
            case _:
                return {}

    def call(self, call: Call) -> dict[int, list[Name]]:
        """Return what `values` does for a call; calls may be nested thousands deep."""
        stack: list[tuple[Call, Iterator[Expr], list[list[Name]]]] = [(call, iter(call.args), [])]
        while True:
            outer, rest, args = stack[-1]
            for arg in rest:
                if isinstance(arg, Call):
                    stack.append((arg, iter(arg.args), []))
                    break
                args.append(self.names(arg))
            else:
                stack.pop()
                found = self.of_operands(outer, args)
                if not stack:
                    return found
                stack[-1][2].append(found.get(WHOLE, []))

    def of_operands(self, call: Call, args: Sequence[list[Name]]) -> dict[int, list[Name]]:
        """Return the names of the buffers of a result, given those of the operands."""
        if isinstance(call.op, GlobalVar):
            callee = self.known.get(call.op.name)
            if callee is None:
                return {}
            for names, writes, reads in zip(args, callee.writes, callee.reads, strict=False):
                self.written += names if writes else []
                self.read += names if reads else []
            found = [[n for i in params for n in args[i]] for params in callee.results]
            return {WHOLE: found[0]} if len(found) == 1 else dict(enumerate(found))
        op = op_of(call)
        if op is None:
            return {}
        for index in sorted(op.writes):
            self.written += args[index]
        for index in sorted(op.reads):
            self.read += args[index]
        same = sorted(op.writes) if op.view_of is None else [op.view_of]
        return {WHOLE: [name for index in same for name in args[index]]}
