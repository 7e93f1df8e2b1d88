"""What statements hold, define, use and call, in the order of the text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from pypto._src.ir.array_types import symbols_of_type
from pypto._src.ir.exprs import (
    CONSTANTS,
    BinaryExpr,
    Call,
    Expr,
    GlobalVar,
    IRNode,
    IterArg,
    MakeTuple,
    Op,
    Var,
)
from pypto._src.ir.interning import is_plain
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    Program,
    Stmt,
    WhileStmt,
    statements,
)
from pypto._src.ir.traversal.walk import (
    BODIES,
    DEFINED,
    EXPRS,
    OPERANDS,
    VALUES,
    VARIABLES,
    children,
    walk,
)


def stmts_in(body: Stmt | None) -> Iterator[Stmt]:
    """Yield every statement of a body in textual order, nested ones included, sequences not."""
    stmts = statements(body)
    if SIMPLE.issuperset(map(type, stmts)):
        return iter(stmts)
    found: list[Stmt] = []
    stack = [*reversed(stmts)]
    while stack:
        stmt = stack.pop()
        found.append(stmt)
        cls = stmt.__class__
        if cls not in SIMPLE:
            for name in BODIES[cls]:
                stack += reversed(statements(getattr(stmt, name)))
    return iter(found)


def has_pipelined_loops(body: Stmt) -> bool:
    """True if a loop in a body is to have several iterations in flight at a time."""
    stack = [statements(body)]
    while stack:
        stmts = stack.pop()
        for stmt in () if SIMPLE.issuperset(map(type, stmts)) else stmts:
            cls = stmt.__class__
            if cls in SIMPLE:
                continue
            if isinstance(stmt, ForStmt) and stmt.stages > 1:
                return True
            stack += [statements(getattr(stmt, name)) for name in BODIES[cls]]
    return False


def exprs_in(stmt: Stmt) -> Iterator[Expr]:
    """Yield the expressions directly held by one statement (not by statements inside it)."""
    return iter(EXPRS[stmt.__class__](stmt))


def defined_by(stmt: Stmt) -> Sequence[Var]:
    """Return the variables that one statement defines, without those of statements inside it."""
    return DEFINED[stmt.__class__](stmt)


def held_by(stmt: Stmt) -> Sequence[Expr]:
    """Return what `exprs_in` gives, and the init values of what a loop carries."""
    given: Any = stmt
    cls = stmt.__class__
    if cls is AssignStmt:
        return (given.value,)
    if cls is EvalStmt:
        return (given.expr,)
    found = EXPRS[cls](stmt)
    if cls is ForStmt or cls is WhileStmt:
        found += [arg.initValue for arg in given.iter_args]
    return found


def calls_in(body: Stmt) -> Iterator[Call]:
    """Yield every call of a body once, in textual order, a call before those in its operands."""
    for stmt in stmts_in(body):
        yield from calls_of(stmt)


def calls_of(stmt: Stmt) -> Sequence[Call]:
    """Return the calls of one statement as `calls_in` does, without those of its bodies."""
    given: Any = stmt
    value: Any = given.value if stmt.__class__ is AssignStmt else None
    value = given.expr if stmt.__class__ is EvalStmt else value
    if value.__class__ is Call and is_flat(value):
        return (value,)
    held = held_by(stmt)
    if VALUES.issuperset(map(type, held)) or all(map(is_arithmetic, held)):
        return ()
    stack: list[IRNode] = [*held]
    stack.reverse()
    found: list[Call] = []
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        below = OPERANDS[node.__class__]
        if below is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Call):
            found.append(node)
        stack += below(node)
    return found


def uses(exprs: Iterable[IRNode]) -> Iterator[Var]:
    """Yield the variables that occur in expressions, an IterArg's init value not included.

    In large expressions, which may share objects, each object is visited once.
    """
    roots: list[Any] = list(exprs)
    stack = roots[::-1]
    found: list[Var] = []
    parts = 0
    while stack:
        node = stack.pop()
        cls = node.__class__
        if cls in VARIABLES:
            found.append(node)
        elif cls not in CONSTANTS:
            below = OPERANDS[cls]
            if below is not None:
                parts += 1
                if parts > _MANY:
                    return iter(_uses_of_many(roots))
                stack += below(node)
            elif isinstance(node, Var):
                found.append(node)
    return iter(found)


def _uses_of_many(roots: Sequence[IRNode]) -> Sequence[Var]:
    """Return what `uses` yields, visiting each object once."""
    stack = [*reversed(roots)]
    found: dict[Var, None] = {}
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        below = OPERANDS[node.__class__]
        if isinstance(node, Var):
            found[node] = None
        elif below is not None and id(node) not in seen:
            seen.add(id(node))
            stack += below(node)
    return [*found]


def is_arithmetic(expr: Expr) -> bool:
    """True for a small tree of operators on variables and constants, without calls and tuples."""
    if not isinstance(expr, BinaryExpr):
        return False
    rest: list[Any] = [expr.left, expr.right]
    for node in rest:  # grows meanwhile
        if node.__class__ not in VALUES:
            if not isinstance(node, BinaryExpr) or len(rest) > _FEW:
                return False
            rest += (node.left, node.right)
    return True


_MANY: Final = 1024
"""The most parts of expressions from which variables are collected without a visited set."""

_FEW: Final = 64
"""The most operands that are visited, whether they are the same objects or not."""


def occurring(stmt: Stmt) -> Sequence[Var]:
    """Return the variables in the result of `held_by` for a statement, in any order."""
    given: Any = stmt
    value: Any = given.value if stmt.__class__ is AssignStmt else None
    value = given.expr if stmt.__class__ is EvalStmt else value
    if value.__class__ is not Call:
        return [*uses(held_by(stmt))]
    found: list[Var] = []
    others: list[Expr] = []
    for arg in value.args:
        cls = arg.__class__
        if cls is Var or cls is IterArg:
            found.append(arg)
        elif cls is MakeTuple:
            for item in arg.elements:
                if item.__class__ not in CONSTANTS:
                    others.append(arg)
                    break
        elif cls not in CONSTANTS:
            others.append(arg)
    return [*found, *uses(others)] if others else found


def variable_names(function: Function) -> set[str]:
    """Return the names of all variables of a function, for choosing new ones.

    The variables are its definitions, and the symbolic sizes of its parameters.
    """
    kinds = [param.type for param in function.params if not is_plain(param.type)]
    symbols = [expr for kind in kinds for expr in symbols_of_type(kind)]
    names = {var.name for var in (*function.params, *uses(symbols))}
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        if stmt.__class__ is AssignStmt:
            names.add(stmt.var.name)
        elif stmt.__class__ is not EvalStmt:
            names.update([e.name for e in EXPRS[stmt.__class__](stmt) if isinstance(e, Var)])
    return names


class ParentStmtAnalysis:
    """Which statement directly holds which, in one function."""

    def __init__(self) -> None:
        self._parents: dict[Stmt, Stmt] = {}

    def build_map(self, function: Function) -> None:
        """Analyse ``function``; forget the previous one."""
        self.clear()
        for node in walk(function.body):
            if isinstance(node, Stmt):
                for child in children(node):
                    if isinstance(child, Stmt):
                        self._parents[child] = node

    def get_parent(self, stmt: Stmt) -> Stmt | None:
        """Return the statement that holds ``stmt``, None for the body of the function."""
        return self._parents.get(stmt)

    def has_parent(self, stmt: Stmt) -> bool:
        """True if some statement holds ``stmt``."""
        return stmt in self._parents

    def clear(self) -> None:
        """Forget everything."""
        self._parents.clear()


def ops_called(stmts: Iterable[Stmt], *, flat: bool = False) -> dict[Op, Call]:
    """Return the ops and functions that statements call, each with its first call, in order.

    To ask for facts about ops, callers need not look at every call: a long body calls few ops
    often. With ``flat`` each call is the right side of an assignment, or a statement.
    """
    found: dict[Op, Call] = {}
    given: Iterable[Any] = stmts
    for stmt in given:
        value: Any = stmt.value if stmt.__class__ is AssignStmt else None
        value = stmt.expr if stmt.__class__ is EvalStmt else value
        if value.__class__ is Call and (flat or is_flat(value)):
            if value.op not in found:
                found[value.op] = value
        elif not flat:
            for call in calls_of(stmt):
                found.setdefault(call.op, call)
    return found


def is_flat(call: Call) -> bool:
    """True if the operands are variables, constants and tuples of these, as in most calls."""
    args: Any = call.args
    for arg in args:
        if arg.__class__ in VALUES:
            continue
        if arg.__class__ is not MakeTuple or not VALUES.issuperset(map(type, arg.elements)):
            return False
    return True


def functions_called(function: Function) -> list[str]:
    """Return the names of program functions that ``function`` calls, each once, in order."""
    names = [op.name for op in ops_called(stmts_in(function.body)) if isinstance(op, GlobalVar)]
    return list(dict.fromkeys(names))


def call_order(program: Program) -> Sequence[Function]:
    """Return the functions with callees before callers; name order on ties and cycles."""
    done: dict[str, Function] = {}
    visiting: set[str] = set()
    by_name = {f.name: f for f in program.functions_}
    for root in program.functions_:
        stack: list[tuple[Function, bool]] = [(root, False)]
        while stack:
            function, leave = stack.pop()
            if leave:
                done[function.name] = function
                continue
            if function.name in done or function.name in visiting:
                continue
            visiting.add(function.name)
            stack.append((function, True))
            callees = [n for n in functions_called(function) if n in by_name]
            stack += [(by_name[n], False) for n in sorted(callees, reverse=True)]
    return list(done.values())
