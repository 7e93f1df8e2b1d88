"""The kernel calls in the text of a host function, for programs without arguments.

Lists loops, branches, calls and what each call reads and writes, with names where numbers are known
only at run time. Knows nothing of how this is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pypto._src.emit.writer import source_comment
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ForKind, ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, MakeTuple, Var, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    statements,
)
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.walk import walk
from pypto._src.ops import tensor as tensor_ops
from pypto._src.ops.rules.type_rules import known_size
from pypto._src.records import NamedTuple
from pypto._src.run.effects import Effects, effects


class CallRow(NamedTuple):
    """A call, or the head of a loop or branch whose rows follow at a greater depth."""

    depth: int
    text: str
    location: str | None  # file and line, without the folder
    is_call: bool
    details: tuple[str, ...]  # what a call reads and writes


class Calls(NamedTuple):
    """The calls of a function in textual order."""

    entry: str
    rows: tuple[CallRow, ...]

    def as_data(self) -> dict[str, Any]:
        """Return the rows as data that JSON can represent."""
        return {"entry": self.entry, "calls": [row._asdict() for row in self.rows]}


def depends_on_values(program: Program, entry: str) -> bool:
    """True if the tasks of a run may depend on more than the program's text.

    That is so if the call supplies a size or a scalar, or if the host reads elements of tensors.
    """
    function = program.get_function(entry)
    assert function is not None
    for param in function.params:
        if not isinstance(param.type, TensorType):
            return True
        if any(known_size(dim) is None for dim in param.type.shape):
            return True
    hosts = [f for f in program.functions_ if role(f) is Role.HOST]
    return any(op_of(node) is tensor_ops.read for host in hosts for node in walk(host))


def calls_of(program: Program, entry: str) -> Calls:
    """Return the calls of the function ``entry`` of ``program``."""
    function = program.get_function(entry)
    assert function is not None
    return Calls(entry, tuple(_Reader(program).rows(function)))


class _Reader:
    def __init__(self, program: Program) -> None:
        self.functions = {f.name: f for f in program.functions_}
        self.effects = effects(program)
        self.regions: dict[Var, str] = {}  # texts of views, by their variables

    def rows(self, function: Function) -> Iterator[CallRow]:
        """Yield the rows of a function; not recursive, as branches nest without limit."""
        pending: list[tuple[int, Stmt | str]] = _reversed(0, statements(function.body))
        while pending:
            depth, stmt = pending.pop()
            if isinstance(stmt, str):
                yield CallRow(depth, stmt, None, False, ())
                continue
            head = _head(stmt)
            if head is not None:
                yield CallRow(depth, head, source_comment(stmt.span), False, ())
            match stmt:
                case AssignStmt(var=var, value=value):
                    yield from self._calls(depth, value)
                    if op_of(value) is tensor_ops.view:
                        self.regions[var] = self._region(value)
                case EvalStmt(expr=value):
                    yield from self._calls(depth, value)
                case ReturnStmt():
                    for value in stmt.value:
                        yield from self._calls(depth, value)
                case IfStmt():
                    if stmt.else_body is not None and statements(stmt.else_body):
                        pending += _reversed(depth + 1, statements(stmt.else_body))
                        pending.append((depth, "else:"))
                    pending += _reversed(depth + 1, statements(stmt.then_body))
                case ForStmt() | WhileStmt():
                    pending += _reversed(depth + 1, statements(stmt.body))
                case ScopeStmt():
                    pending += _reversed(depth, statements(stmt.body))
                case _:
                    pass

    def _calls(self, depth: int, value: Expr) -> Iterator[CallRow]:
        """Yield the calls in an expression, inner ones first."""
        found = [n for n in walk(value) if isinstance(n, Call) and isinstance(n.op, GlobalVar)]
        for call in reversed(found):
            location = source_comment(call.span)
            yield CallRow(depth, call.op.name, location, True, self._details(call))

    def _details(self, call: Call) -> tuple[str, ...]:
        callee = self.functions.get(call.op.name)
        effect = self.effects.get(call.op.name)
        if callee is None or effect is None:
            return ()
        return tuple(self._accesses(call, callee, effect))

    def _accesses(self, call: Call, callee: Function, effect: Effects) -> Iterator[str]:
        reads: list[str] = []
        writes: list[str] = []
        scalars: list[str] = []
        rows = zip(callee.params, callee.param_directions, effect.writes, call.args, strict=False)
        for param, direction, is_written, arg in rows:
            if not isinstance(param.type, TensorType):
                scalars.append(f"{param.name}={python_print(arg)}")
                continue
            if direction is not ParamDirection.Out:
                reads.append(self._text(arg))
            if is_written:
                writes.append(self._text(arg))
        for verb, texts in (("with", scalars), ("reads", reads), ("writes", writes)):
            if texts:
                yield f"{verb} {', '.join(texts)}"

    def _text(self, value: Expr) -> str:
        if isinstance(value, Var):
            return self.regions.get(value, value.name)
        return self._region(value) if op_of(value) is tensor_ops.view else python_print(value)

    def _region(self, value: Expr) -> str:
        """Return a view as a slice of its tensor."""
        assert isinstance(value, Call)
        source, shape, offset = value.args
        assert isinstance(shape, MakeTuple)
        assert isinstance(offset, MakeTuple)
        pairs = zip(offset.elements, shape.elements, strict=True)
        return f"{self._text(source)}[{', '.join(_slice(*pair) for pair in pairs)}]"


def _slice(begin: Expr, size: Expr) -> str:
    first, length = const_value(begin), const_value(size)
    if first is not None and length is not None:
        return f"{first}:{first + length}"
    text = python_print(begin)
    return f"{text}:{text} + {python_print(size)}"


def _reversed(depth: int, stmts: Sequence[Stmt]) -> list[tuple[int, Stmt | str]]:
    return [(depth, stmt) for stmt in reversed(stmts)]


def _head(stmt: Stmt) -> str | None:
    """Return the first line of a loop or branch as in the source, None for other statements."""
    match stmt:
        case ForStmt():
            name = "parallel" if stmt.kind is ForKind.Parallel else "range"
            bounds = [python_print(each) for each in (stmt.start, stmt.stop, stmt.step)]
            if bounds[2] == "1":
                bounds = bounds[1:2] if bounds[0] == "0" else bounds[:2]
            return f"for {stmt.loop_var.name} in pl.{name}({', '.join(bounds)}):"
        case WhileStmt():
            return f"while {python_print(stmt.condition)}:"
        case IfStmt():
            return f"if {python_print(stmt.condition)}:"
        case _:
            return None
