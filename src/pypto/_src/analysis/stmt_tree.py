"""The statements of one function as a numbered tree of blocks, and rewriting with that tree.

A `ProgramPoint` is one occurrence of a statement: one statement object may occur several times. The
point of a compound statement holds `Block`s. Every point and every end of a block has a number in
textual order. Does not know what statements mean.

A block holds its points, and a point its blocks. Parents are weak references, so that the tree has
no reference cycles: to ask for a parent, keep the root alive, which is the function's block.
"""

from __future__ import annotations

from _weakref import ref  # that of `weakref`, which takes 1 ms to import
from collections.abc import Callable, Container, Sequence
from operator import is_
from typing import Any, Final

from pypto._src.ir.exprs import CONSTANTS, Call, Expr, IterArg, MakeTuple, Var
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    OpStmts,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    checked_assign,
    checked_eval,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.walk import copy_with, rebuilt_fields
from pypto._src.ir.types import Type
from pypto._src.ir.unchecked import checked_var, with_args


class ProgramPoint:
    """One occurrence of a statement; ``begin`` and ``end`` differ for compound statements."""

    __slots__ = ("__weakref__", "begin", "blocks", "end", "home", "index", "stmt")

    def __init__(self, stmt: Stmt, home: ref[Block], index: int, begin: int) -> None:
        self.stmt = stmt
        self.home = home  # of `block`; one object for all points of a block
        self.index = index  # in ``block.points``
        self.begin = begin
        self.end = begin
        self.blocks: Sequence[Block] = ()

    @property
    def block(self) -> Block:
        """The block that holds the point."""
        block = self.home()
        assert block is not None, "the tree of a point is gone"
        return block

    @property
    def is_loop(self) -> bool:
        """True for a statement whose block runs any number of times."""
        return isinstance(self.stmt, ForStmt | WhileStmt)


class Block:
    """A straight line of points: a function's body, a loop's body, or one arm of a branch."""

    __slots__ = ("__weakref__", "_owner", "begin", "depth", "end", "is_flat", "points")

    def __init__(self, owner: ProgramPoint | None, begin: int) -> None:
        self.is_flat = True  # no point holds blocks
        self._owner = None if owner is None else ref(owner)
        self.begin = begin
        self.end = begin
        self.depth: int = 0 if owner is None else owner.block.depth + 1
        self.points: list[ProgramPoint] = []

    @property
    def owner(self) -> ProgramPoint | None:
        """The statement that holds the block, None for the body of the function."""
        if self._owner is None:
            return None
        owner = self._owner()
        assert owner is not None, "the tree of a block is gone"
        return owner

    @property
    def is_loop(self) -> bool:
        """True for the body of a loop."""
        owner = self.owner
        return owner is not None and owner.is_loop

    @property
    def last_yield(self) -> ProgramPoint | None:
        """The yield that ends the block, if one does."""
        if self.points and isinstance(self.points[-1].stmt, YieldStmt):
            return self.points[-1]
        return None


def owner_of(block: Block) -> ProgramPoint:
    """Return the statement that holds a block other than the function's body."""
    owner = block.owner
    assert owner is not None
    return owner


def bodies(stmt: Stmt) -> tuple[Stmt, ...]:
    """Return the bodies of a compound statement; an absent else branch is left out."""
    if stmt.__class__ in SIMPLE:
        return ()
    match stmt:
        case IfStmt():
            return (stmt.then_body,) if stmt.else_body is None else (stmt.then_body, stmt.else_body)
        case ForStmt() | WhileStmt() | ScopeStmt():
            return (stmt.body,)
        case _:
            return ()


def number(function: Function) -> Block:
    """Return the tree of ``function``; numbers start at 1, the parameters have 0."""
    return _block(function.body, None, 1)


def _block(body: Stmt, owner: ProgramPoint | None, now: int) -> Block:
    block = Block(owner, now)
    home, points = ref(block), block.points
    now += 1
    for index, stmt in enumerate(statements(body)):
        point = ProgramPoint(stmt, home, index, now)
        points.append(point)
        if stmt.__class__ not in SIMPLE:
            now = _number_below(point)
        now += 1
    block.end = now
    return block


def _number_below(point: ProgramPoint) -> int:
    """Number what a point holds; return the number of its end."""
    found: list[Block] = []
    now = point.begin
    for inner in bodies(point.stmt):
        found.append(_block(inner, point, now + 1))
        now = found[-1].end
    if found:
        now += 1
        point.end = now
        point.blocks = found
        point.block.is_flat = False
    return now


def points_in(block: Block) -> Sequence[ProgramPoint]:
    """Return all points of a tree in textual order, a compound one before its contents."""
    if block.is_flat:
        return block.points
    found: list[ProgramPoint] = []
    stack = block.points[::-1]
    while stack:
        point = stack.pop()
        found.append(point)
        for inner in reversed(point.blocks):
            stack += reversed(inner.points)
    return found


def call_of(stmt: Stmt) -> Call | None:
    """Return the call that a statement makes: the value of an assignment, or one for its effect."""
    value: Expr | None = None
    if isinstance(stmt, AssignStmt):
        value = stmt.value
    elif isinstance(stmt, EvalStmt):
        value = stmt.expr
    return value if isinstance(value, Call) else None


def read_by(stmt: Stmt) -> Sequence[Expr]:
    """Return the expressions that a statement itself reads, an iter_arg's init value included."""
    match stmt:
        case AssignStmt():
            return (stmt.value,)
        case EvalStmt():
            return (stmt.expr,)
        case YieldStmt() | ReturnStmt():
            return stmt.value
        case ForStmt():
            return (stmt.start, stmt.stop, stmt.step, *(a.initValue for a in stmt.iter_args))
        case WhileStmt():
            return (stmt.condition, *(a.initValue for a in stmt.iter_args))
        case IfStmt():
            return (stmt.condition,)
        case _:
            return ()


Edit = Callable[[ProgramPoint, Stmt], Sequence[Stmt]]


def rewrite(
    function: Function, root: Block, edit: Edit, only: Container[ProgramPoint] | None = None
) -> Function:
    """Return ``function`` with each statement replaced by what ``edit(point, statement)`` returns.

    The statement given is the point's, with its nested bodies already replaced. Bodies in which
    nothing changes keep their identity. ``edit`` is called for the statements in ``only``, for all
    if that is None.
    """
    body = _rewritten(function.body, root, edit, only)
    return function if body is function.body else function.with_body(body)


def _rewritten(body: Stmt, block: Block, edit: Edit, only: Container[ProgramPoint] | None) -> Stmt:
    out: list[Stmt] = []
    changed = False
    for point in block.points:
        stmt = _with_bodies(point, edit, only) if point.blocks else point.stmt
        if only is not None and point not in only:
            changed = changed or stmt is not point.stmt
            out.append(stmt)
            continue
        new = edit(point, stmt)
        changed = changed or len(new) != 1 or new[0] is not point.stmt
        out += new
    return seq(out, body.span) if changed else body


def _with_bodies(point: ProgramPoint, edit: Edit, only: Container[ProgramPoint] | None) -> Stmt:
    old = bodies(point.stmt)
    new = [_rewritten(b, block, edit, only) for b, block in zip(old, point.blocks, strict=True)]
    if all(a is b for a, b in zip(old, new, strict=True)):
        return point.stmt
    names = ("then_body", "else_body") if isinstance(point.stmt, IfStmt) else ("body",)
    return copy_with(point.stmt, dict(zip(names, new, strict=False)))


_ATOMS: Final = CONSTANTS | {Var}
"""Expressions without operands and without an init value."""


class Retype(Mutator):
    """Gives variables new types where they are defined, and uses the new variables everywhere.

    ``new_type`` returns the type of a variable; None, or the one that it has, where it stays.

    Calls on variables and constants, which most statements are, are handled in place; anything else
    that uses a changed variable is left to the general traversal.
    """

    def __init__(self, new_type: Callable[[Var], Type | None]) -> None:
        super().__init__()
        self._new_type = new_type
        self.renamed: dict[Var, Var] = {}
        self._changed = self.renamed.keys()

    def visit_Var(self, var: Var) -> Expr:
        """Return the new variable."""
        return self.renamed.get(var, var)

    def visit_SeqStmts(self, node: SeqStmts) -> Stmt:
        """Visit the statements in order."""
        return self._in_order(node)

    def visit_OpStmts(self, node: OpStmts) -> Stmt:
        """Visit the statements in order."""
        return self._in_order(node)

    def _in_order(self, node: Any) -> Any:
        old: tuple[Any, ...] = node.stmts
        new = self.each(old)
        return node if all(map(is_, old, new)) else node.__class__(tuple(new), node.span)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt:
        """Return the assignment of the new value to the new variable."""
        return self.each((stmt,))[0]

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt:
        """Return the statement with the new expression."""
        return self.each((stmt,))[0]

    def visit_Stmt(self, stmt: Any) -> Stmt:
        """Return a compound statement, or one that ends a body, with its variables replaced."""
        changes: dict[str, Any] = {}
        for name, defines, is_body in rebuilt_fields(stmt.__class__):
            old = getattr(stmt, name)
            if old is None:
                continue
            if is_body:
                new = self.body(old)
            else:
                replace = self.define if defines else self._other
                new = self._several(old, replace) if old.__class__ is tuple else replace(old)
            if new is not old:
                changes[name] = new
        return copy_with(stmt, changes) if changes else stmt

    def each(self, stmts: Sequence[Any]) -> list[Stmt]:
        """Return the statements with their variables replaced; most of a rewrite's time is here."""
        renamed: dict[Any, Var] = self.renamed
        new_type = self._new_type
        new: list[Stmt] = []
        for stmt in stmts:
            if stmt.__class__ is EvalStmt:
                old = stmt.expr
                if old.__class__ is not Call or old.args:  # flags and barriers have none
                    value = self._value(old)
                    stmt = stmt if value is old else checked_eval(value, stmt.span)
                new.append(stmt)
                continue
            if stmt.__class__ is not AssignStmt:
                new.append(self.visit(stmt))
                continue
            old, var = stmt.value, stmt.var
            value = self._value(old)
            if var.__class__ is not Var:
                var = self.define(var)
            else:
                kind = new_type(var)
                if kind is not None and kind is not var.type:
                    renamed[var] = var = checked_var(var.name, kind, var.span)
            if var is not stmt.var or value is not old:
                stmt = checked_assign(var, value, stmt.span)
            new.append(stmt)
        return new

    def _value(self, old: Any) -> Expr:
        """Return what a statement assigns or evaluates, with its variables replaced."""
        if old.__class__ is not Call:
            return self._other(old)
        renamed: dict[Any, Var] = self.renamed
        args: list[Expr] = []
        changed = False
        for arg in old.args:
            other = renamed.get(arg)
            if other is not None:
                args.append(other)
                changed = True
            elif arg.__class__ in _ATOMS or (
                arg.__class__ is MakeTuple and CONSTANTS.issuperset(map(type, arg.elements))
            ):
                args.append(arg)
            else:
                other = self._other(arg)
                args.append(other)
                changed = changed or other is not arg
        return with_args(old, tuple(args)) if changed else old

    def _other(self, expr: Expr) -> Expr:
        """Return an expression with changed variables replaced; itself if there are none."""
        renamed: dict[Any, Var] = self.renamed
        if expr in renamed:
            return renamed[expr]
        if expr.__class__ in _ATOMS:
            return expr
        if expr.__class__ is MakeTuple:
            whole: Any = expr
            items: tuple[Any, ...] = whole.elements
            if _ATOMS.issuperset(map(type, items)):
                return expr if self._changed.isdisjoint(items) else self.visit(expr)
        return expr if self._changed.isdisjoint(uses((expr,))) else self.visit(expr)

    def define(self, var: Any) -> Any:
        """Return the variable with its new type; the same object if nothing changes."""
        kind = self._new_type(var)
        if var.__class__ is Var:
            if kind is not None and kind is not var.type:
                self.renamed[var] = var = checked_var(var.name, kind, var.span)
            return var
        changes: dict[str, Any] = {}
        if kind is not None and kind is not var.type:
            changes["type"] = kind
        if isinstance(var, IterArg):
            init = self.initial(var)
            if init is not var.initValue:
                changes["initValue"] = init
        if not changes:
            return var
        new = self.renamed[var] = copy_with(var, changes)
        return new

    def initial(self, var: IterArg) -> Expr:
        """Return the value that a loop starts with."""
        return self.visit(var.initValue)

    def function(self, function: Function) -> Function:
        """Return the function with parameters and body rewritten."""
        params = [self.define(p) for p in function.params]
        body = self.body(function.body)
        same = all(a is b for a, b in zip(params, function.params, strict=True))
        if same and body is function.body:
            return function
        return function.with_body(body, params=params)
