"""Rewriting: trees rebuilt bottom up, in which unchanged subtrees keep their identity."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from operator import is_
from types import FunctionType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from pypto._src.ir.exprs import Expr, IRNode, IterArg, Var
from pypto._src.ir.stmts import (
    OPERATIONS,
    AssignStmt,
    Function,
    OpStmts,
    Program,
    SeqStmts,
    Stmt,
    seq,
)
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.traversal.walk import (
    ATOMS,
    BODIES,
    LEAVES,
    child_fields,
    children,
    copy_with,
    rebuilt_fields,
)

N = TypeVar("N", bound=IRNode)

_DEEP: Final = 60
"""How many visits may be nested before expressions are rebuilt from their leaves up."""


_OWN: Final = __name__.partition(".")[0] + "._src."
_Replace: TypeAlias = Callable[[Any, Any], Any]


class Mutator:
    """Rebuilds a tree bottom up; unchanged subtrees keep their identity.

    A subclass defines ``visit_<NodeClass>`` methods; a base class name (``visit_BinaryExpr``,
    ``visit_Expr``) serves all subclasses without their own. A statement visitor returns a
    statement, or a list of statements that replace it. Variables at defining positions go
    through `define`, uses through ``visit_Var``.

    Expressions of any depth are rebuilt, except below nodes that a method of the subclass handles;
    for statements that are nested deeper than Python's calls may be, see `with_room`.
    """

    _methods: ClassVar[dict[type, _Replace | None]] = {}
    """What replaces the nodes of each class, None if they stay: one table per subclass.

    It holds functions of the mutator and the node: a table of bound methods in the mutator would be
    a reference cycle.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._methods = {}

    def __init__(self) -> None:
        if type(self) is Mutator or not type(self).__module__.startswith(_OWN):
            # A user may add methods to an object, or to its class, at any time.
            vars(self)["_methods"] = {}
        self._redefined: dict[Var, Var] = {}  # iter_args copied for a new init value
        self._depth = 0
        self._ready: dict[int, list[Any]] = {}  # by identity, the operands rebuilt beforehand

    def _method(self, cls: type[IRNode]) -> _Replace:
        own, of_class = vars(self), type(self)
        for base in cls.__mro__:
            name = f"visit_{base.__name__}"
            method = next((vars(c)[name] for c in of_class.__mro__ if name in vars(c)), None)
            if isinstance(method, FunctionType) and name not in own:
                return method
            if hasattr(self, name):  # not a plain method: a static one, or one of the object
                return lambda mutator, node: getattr(mutator, name)(node)
        return of_class.rebuild

    def visit(self, node: Any) -> Any:
        """Return the replacement of ``node``."""
        cls: type[IRNode] = node.__class__
        try:
            method = self._methods[cls]
        except KeyError:
            method = self._methods[cls] = self._replacing(cls)
        if method is None:
            return node
        if cls in ATOMS:  # not an iter_arg, and without operands
            return method(self, node)
        if self._redefined and node in self._redefined:
            return self._redefined[node]
        if self._ready:
            ready = self._ready.get(id(node))
            if ready:
                return ready.pop(0)
        depth = self._depth
        if depth >= _DEEP and self._is_only_rebuilt(node):
            return self._from_leaves(node)
        self._depth = depth + 1
        try:
            return method(self, node)
        finally:
            self._depth = depth

    def _replacing(self, cls: type[IRNode]) -> _Replace | None:
        """Return what replaces nodes of ``cls``, None if they stay as they are."""
        method = self._method(cls)
        return None if method is Mutator.rebuild and not child_fields(cls) else method

    def _is_only_rebuilt(self, node: IRNode) -> bool:
        if not isinstance(node, Expr) or isinstance(node, LEAVES):
            return False
        return self._method(type(node)) is type(self).rebuild

    def _from_leaves(self, root: Expr) -> Any:
        """Return the replacement of a deep expression, without recursion over its depth.

        The operands are visited from left to right, as `rebuild` visits them.
        """
        outer, self._ready = self._ready, {}
        stack: list[tuple[IRNode, Iterator[IRNode], dict[int, list[Any]]]]
        stack = [(root, children(root), {})]
        try:
            while True:
                node, rest, ready = stack[-1]
                child = next((c for c in rest if not isinstance(c, LEAVES)), None)
                if child is None:
                    stack.pop()
                    new = self._rebuild_with(node, ready)
                    if not stack:
                        return new
                    stack[-1][2].setdefault(id(node), []).append(new)
                elif self._is_only_rebuilt(child):
                    stack.append((child, children(child), {}))
                else:
                    ready.setdefault(id(child), []).append(self.visit(child))
        finally:
            self._ready = outer

    def _rebuild_with(self, node: IRNode, ready: dict[int, list[Any]]) -> Any:
        self._ready = ready
        try:
            return self.rebuild(node)
        finally:
            self._ready = {}

    def visit_Var(self, var: Var) -> Expr:
        """Replace a use of a variable."""
        return var

    def define(self, var: Any) -> Any:
        """Replace a variable at its definition."""
        if isinstance(var, IterArg):
            init = self.visit(var.initValue)
            if init is not var.initValue:
                self._redefined[var] = copy_with(var, {"initValue": init})
            return self._redefined.get(var, var)
        return var

    def body(self, stmt: Stmt) -> Stmt:
        """Return the replacement of a body, which is always one statement."""
        new: Stmt | list[Stmt] = self.visit(stmt)
        return new if isinstance(new, Stmt) else seq(new, stmt.span)

    def rebuild(self, node: Any) -> Any:
        """Visit the fields of ``node``; return it, or a copy where one changed."""
        cls: type[IRNode] = node.__class__
        changes: dict[str, Any] = {}
        for name, defines, is_body in rebuilt_fields(cls):
            old = getattr(node, name)
            if old is None:
                continue
            if type(old) is tuple:
                new = self._several(old, self.define if defines else self.visit)  # pyright: ignore[reportUnknownArgumentType]
            elif defines:  # an assigned iter_arg was defined by its loop
                new = self._redefined.get(old) or self.define(old)
            else:
                new = self.body(old) if is_body else self.visit(old)
            if new is not old:
                changes[name] = new
        return copy_with(node, changes) if changes else node

    def _several(self, old: tuple[Any, ...], visit: Callable[[Any], Any]) -> tuple[Any, ...]:
        new = [visit(item) for item in old]
        return old if all(map(is_, old, new)) else tuple(new)

    def visit_SeqStmts(self, node: SeqStmts) -> Stmt:
        """Visit the statements in order, splicing lists."""
        new = self._spliced(node)
        return node if new is None else SeqStmts(tuple(new), node.span)

    def visit_OpStmts(self, node: OpStmts) -> Stmt | list[Stmt]:
        """Visit the statements in order, splicing lists.

        If some of them cannot be in such a node, for example those of an inlined function, all of
        them replace the node.
        """
        new = self._spliced(node)
        if new is None:
            return node
        return OpStmts(tuple(new), node.span) if OPERATIONS.issuperset(map(type, new)) else new

    def _spliced(self, node: Any) -> list[Stmt] | None:
        """Return the replaced statements of a node, None if they stay."""
        out: list[Stmt] = []
        changed = False
        for stmt in node.stmts:
            new = self.visit(stmt)
            if isinstance(new, list):
                out += new
                changed = True
            else:
                out.append(new)
                changed = changed or new is not stmt
        return out if changed else None

    def function(self, function: Function) -> Function:
        """Return the function with its body replaced."""
        body = self.body(function.body)
        return function if body is function.body else function.with_body(body)

    def program(self, program: Program) -> Program:
        """Return the program with every function replaced."""
        return map_functions(program, self.function)


class _Substitute(Mutator):
    def __init__(self, mapping: Mapping[Var, Expr]) -> None:
        super().__init__()
        self.mapping = mapping

    def visit_Var(self, var: Var) -> Expr:
        return self.mapping.get(var, var)


def substitute(node: N, mapping: Mapping[Var, Expr]) -> N:
    """Return ``node`` with uses (not definitions) of the given variables replaced."""
    return with_room(lambda: _Substitute(mapping).visit(node), node) if mapping else node


class Without(Mutator):
    """Removes assignments."""

    def __init__(self, dead: Container[Stmt]) -> None:
        super().__init__()
        self._dead = dead

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        """Return nothing for an assignment to remove."""
        return [] if stmt in self._dead else stmt


def as_list(new: Stmt | list[Stmt]) -> list[Stmt]:
    """Return the replacement of a statement as a list."""
    return new if isinstance(new, list) else [new]


def map_bodies(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return ``stmt`` with ``change(body)`` for each of its bodies, itself if they all stay.

    The bodies are changed in the order of the text.
    """
    changes: dict[str, Stmt] = {}
    for name in reversed(BODIES[stmt.__class__]):
        old = getattr(stmt, name)
        new = None if old is None else change(old)
        if new is not None and new is not old:
            changes[name] = new
    return copy_with(stmt, changes) if changes else stmt


def map_functions(program: Program, change: Callable[[Function], Function]) -> Program:
    """Return ``program`` with ``change(function)`` for each function, itself if they all stay."""
    new = [change(function) for function in program.functions_]
    return program if all(map(is_, new, program.functions_)) else program.with_functions(new)
