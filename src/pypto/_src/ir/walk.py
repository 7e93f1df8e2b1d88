"""The one traversal, derived from the field marks: children, walk, rebuild, substitute.

Nothing here lists node classes' fields by hand; a new node is traversed as soon as it exists. What
is asked of a class for every node of a program, such as how its children are read, is worked out
once, when the class is first met.
Symbolic dimensions inside types are not children: they are reached through
`nodes.exprs_of_type`.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import is_
from types import FunctionType
from typing import Any, ClassVar, Final, TypeAlias, TypeVar, cast

from pypto._src.ir.interning import is_plain
from pypto._src.ir.node_base import Field, FieldKind, draft, setter
from pypto._src.ir.nodes import (
    CONSTANTS,
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IRNode,
    IterArg,
    MakeTuple,
    Op,
    Var,
    exprs_of_type,
    symbols_of_type,
)
from pypto._src.ir.stmts import (
    OPERATIONS,
    SIMPLE,
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    OpStmts,
    Program,
    SeqStmts,
    Stmt,
    WhileStmt,
    seq,
    statements,
)

N = TypeVar("N", bound=IRNode)
T = TypeVar("T")

_CALLS: Final = 40
"""More calls of Python than one rewrite has inside each other for one level of statements."""

_DEEP: Final = 60
"""How many visits may be inside each other before expressions are rebuilt from their leaves up."""

_LEAVES: Final = (Var, ConstInt, ConstFloat, ConstBool)
_ATOMS: Final = frozenset({Var, ConstInt, ConstFloat, ConstBool})
_VALUES: Final = _ATOMS | {IterArg}
"""What has no operands."""
_VARIABLES: Final = frozenset({Var, IterArg})

# --------------------------------------------------------------------------------------------
# What is known of node classes
# --------------------------------------------------------------------------------------------


class _ByClass(dict[type, T]):
    """A fact about node classes, found out for each when it is first asked for."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, cls: type) -> T:
        found = self[cls] = self._find(cls)
        return found


def _child_fields(cls: type[IRNode]) -> tuple[Field, ...]:
    return tuple(f for f in cls.FIELDS if f.kind is not FieldKind.IGNORED and f.holds_nodes)


def rebuilt_fields(cls: type[IRNode]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the names of `child_fields`, each with whether it defines variables or is a body."""
    return _REBUILT[cls]


def child_fields(cls: type[IRNode]) -> tuple[str, ...]:
    """Return the names of the fields of ``cls`` that hold nodes, in traversal order."""
    return _CHILD_FIELDS[cls]


# The next functions make functions from texts, as `dataclasses` does for its methods. One that
# names the fields of a class takes a third of the time of a loop over their names with `getattr`,
# and walking and copying nodes is what passes do most. Nothing of a user's gets into the texts:
# they hold names of slots and of declared fields, which Python has accepted for attributes.

_ONE_NODE: Final = frozenset({"Expr", "Stmt", "Var", "IterArg", "MemRef", "Function"})
"""Annotations of fields that hold exactly one node."""


def _held(value: object) -> tuple[IRNode, ...]:
    """Return the nodes that are the value of a field."""
    if value.__class__ is tuple:
        return cast("tuple[IRNode, ...]", value)
    return (value,) if isinstance(value, IRNode) else ()


def _part(field: Field, *, backwards: bool) -> str:
    """Return the text of what ``field`` of ``node`` gives to a list of nodes."""
    if field.annotation in _ONE_NODE:
        return f"node.{field.name}"
    value = f"node.{field.name}" if field.annotation.startswith("tuple[") else ""
    value = value or f"held(node.{field.name})"
    return f"*{value}[::-1]" if backwards else f"*{value}"


def _lister(fields: Sequence[Field]) -> Callable[[Any], list[Any]]:
    """Return the function that lists the nodes in ``fields`` of a node, in their order."""
    text = ", ".join([_part(field, backwards=False) for field in fields])
    return eval(f"lambda node: [{text}]", {"held": _held})


def _pusher(cls: type[IRNode]) -> Callable[[Any], Iterable[IRNode]] | None:
    """Return the function that lists the children of a node, the last one first; None if none."""
    parts = [_part(field, backwards=True) for field in reversed(_child_fields(cls))]
    if not parts:
        return None
    is_one_tuple = len(parts) == 1 and parts[0].startswith("*")
    text = parts[0][1:] if is_one_tuple else f"[{', '.join(parts)}]"
    return eval(f"lambda node: {text}", {"held": _held})


def _operand_pusher(cls: type[IRNode]) -> Callable[[Any], Iterable[IRNode]] | None:
    return None if issubclass(cls, _LEAVES) else _BELOW[cls]


def _rebuilt_fields(cls: type[IRNode]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the names of `child_fields`, each with whether it defines variables or is a body."""
    return tuple(
        (field.name, field.kind is FieldKind.DEFINING, field.holds_statements)
        for field in _child_fields(cls)
    )


def _body_fields(cls: type[IRNode]) -> tuple[str, ...]:
    return tuple(field.name for field in reversed(cls.FIELDS) if field.holds_statements)


def _copier(cls: type[IRNode]) -> tuple[Callable[[Any], Any], dict[str, Callable[..., None]]]:
    """Return a function that copies a node, and what sets the fields of the copy."""
    slots = [name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())]
    names = dict.fromkeys([*slots, *[field.name for field in cls.FIELDS]])
    setters = {name: setter(cls, name) for name in names}
    scope: dict[str, Any] = {f"set_{name}": put for name, put in setters.items()}
    if cls.__dictoffset__:  # of a class with more than the declared fields
        lines = ["new = make(cls)", *[f"set_{name}(new, node.{name})" for name in names]]
        scope |= {"make": object.__new__, "cls": cls}
    else:
        lines = ["new = draft()", *[f"new.{name} = node.{name}" for name in names]]
        lines.append("new.__class__ = cls")
        scope |= {"draft": draft(cls), "cls": cls}
    exec("\n    ".join(["def copy(node):", *lines, "return new"]), scope)
    return scope["copy"], setters


_CHILD_FIELDS: Final = _ByClass(lambda cls: tuple(field.name for field in _child_fields(cls)))
_CHILDREN: Final = _ByClass(lambda cls: _lister(_child_fields(cls)))
_BELOW: Final = _ByClass(_pusher)
_OPERANDS: Final = _ByClass(_operand_pusher)
"""As `_BELOW`, but nothing is below a variable."""
_EXPRS: Final = _ByClass(
    lambda cls: _lister([f for f in _child_fields(cls) if not f.holds_statements])
)
_DEFINED: Final = _ByClass(
    lambda cls: _lister([f for f in _child_fields(cls) if f.kind is FieldKind.DEFINING])
)
_REBUILT: Final = _ByClass(_rebuilt_fields)
_BODIES: Final = _ByClass(_body_fields)
"""The names of the fields that hold bodies, the last one first."""
_COPIERS: Final = _ByClass(_copier)

# --------------------------------------------------------------------------------------------
# Traversal
# --------------------------------------------------------------------------------------------


def child_list(node: IRNode) -> list[IRNode]:
    """Return the nodes directly below ``node``, in traversal order, in a list of the caller's."""
    return _CHILDREN[node.__class__](node)


def children(node: IRNode) -> Iterator[IRNode]:
    """Yield the nodes directly below ``node``, in traversal order."""
    return iter(child_list(node))


def walk(node: IRNode) -> Iterator[IRNode]:
    """Yield ``node`` and everything below it, parents first, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        below = _BELOW[current.__class__]
        if below is not None:
            stack += below(current)


def copy_with(node: N, changes: Mapping[str, Any]) -> N:
    """Return a copy of ``node`` with the given fields replaced; types are not derived anew."""
    copy, setters = _COPIERS[node.__class__]
    new = copy(node)
    for name, value in changes.items():
        setters[name](new, value)
    return new


_OWN: Final = __name__.partition(".")[0] + "._src."
_Replace: TypeAlias = Callable[[Any, Any], Any]


class Mutator:
    """Rebuilds a tree bottom up; unchanged subtrees keep their identity.

    A subclass defines ``visit_<NodeClass>`` methods; a base class name (``visit_BinaryExpr``,
    ``visit_Expr``) serves all subclasses without their own. A statement visitor returns a
    statement, or a list of statements to stand in its place. Variables at defining positions go
    through `define`, uses through ``visit_Var``.

    Expressions of any depth are rebuilt, as far as no method of the subclass stands in between;
    for statements that are nested deeper than Python's calls may be, see `with_room`.
    """

    _methods: ClassVar[dict[type, _Replace | None]] = {}
    """For each class of nodes what replaces them, None where they stay: a fact of a subclass.

    Functions, which get the mutator and the node: methods bound to the mutator, in a table of the
    mutator, would be a cycle of references.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._methods = {}

    def __init__(self) -> None:
        if type(self) is Mutator or not type(self).__module__.startswith(_OWN):
            # A user's object, or the class of one, may get methods at any time.
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
            if hasattr(self, name):  # no plain method: a static one, or one of the object
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
        if cls in _ATOMS:  # neither an iter_arg nor with operands
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
        """Return what replaces nodes of ``cls``, None where they stay as they are."""
        method = self._method(cls)
        return None if method is Mutator.rebuild and not child_fields(cls) else method

    def _is_only_rebuilt(self, node: IRNode) -> bool:
        if not isinstance(node, Expr) or isinstance(node, _LEAVES):
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
                child = next((c for c in rest if not isinstance(c, _LEAVES)), None)
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
        for name, defines, is_body in _REBUILT[cls]:
            old = getattr(node, name)
            if old is None:
                continue
            if type(old) is tuple:
                new = self._several(old, self.define if defines else self.visit)  # pyright: ignore[reportUnknownArgumentType]
            elif defines:  # an assigned iter_arg has been defined by its loop
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

        Statements that such a node cannot hold, say of a function that is put into another, take
        its place with those around them.
        """
        new = self._spliced(node)
        if new is None:
            return node
        return OpStmts(tuple(new), node.span) if OPERATIONS.issuperset(map(type, new)) else new

    def _spliced(self, node: Any) -> list[Stmt] | None:
        """Return what the statements of a node become, None if they stay."""
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


def with_room(action: Callable[[], T], root: IRNode) -> T:
    """Return ``action()``, which recurses over the statements of ``root`` and may begin again.

    Python's limit of nested calls is raised only where it was too low, and while it is needed. The
    calls are Python's own, which do not use up the stack of the thread.
    """
    try:
        return action()
    except RecursionError:
        depth = nesting(root)
    with room(depth):
        return action()


@contextmanager
def room(depth: int) -> Generator[None, None, None]:
    """Raise Python's limit of nested calls as `with_room` does, for statements ``depth`` deep."""
    with _Room.lock:
        if not _Room.users:
            _Room.before = sys.getrecursionlimit()
        _Room.users += 1
        sys.setrecursionlimit(max(sys.getrecursionlimit(), _Room.before + depth * _CALLS))
    try:
        yield
    finally:
        with _Room.lock:
            _Room.users -= 1
            if not _Room.users:
                sys.setrecursionlimit(_Room.before)


class _Room:
    """The threads that need a higher limit of nested calls now, and the limit before them."""

    lock = threading.Lock()
    users = 0
    before = 0


def nesting(root: IRNode) -> int:
    """Return how many statements, and then operators and calls, are at most inside each other."""
    deepest = 0
    heights: dict[int, int] = {}  # of expressions, by identity
    stack: list[tuple[IRNode, int]] = [(root, 0)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, Expr):
            if node.__class__ not in _VALUES:
                depth += _height(node, heights)
        elif isinstance(node, Stmt | Function | Program):
            stack += [(child, depth + 1) for child in children(node)]
            if isinstance(node, Function):
                dims = (dim for param in node.params for dim in exprs_of_type(param.type))
                stack += [(dim, depth + 1) for dim in dims]
        else:
            continue
        deepest = max(deepest, depth)
    return deepest


def _height(root: Expr, known: dict[int, int]) -> int:
    """Return how many operators and calls are at most inside the outermost one of an expression."""
    stack: list[IRNode] = [root]
    while stack:
        node = stack[-1]
        operands = _OPERANDS[node.__class__]
        parts = () if operands is None else operands(node)
        below = [part for part in parts if _OPERANDS[part.__class__] is not None]
        pending = [part for part in below if id(part) not in known]
        if pending:
            stack += pending
        else:
            known[id(node)] = max((known[id(part)] + 1 for part in below), default=0)
            stack.pop()
    return known[id(root)]


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
            for name in _BODIES[cls]:
                stack += reversed(statements(getattr(stmt, name)))
    return iter(found)


def map_bodies(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return ``stmt`` with ``change(body)`` for each of its bodies, itself if they all stay.

    The bodies are changed in the order of the text.
    """
    changes: dict[str, Stmt] = {}
    for name in reversed(_BODIES[stmt.__class__]):
        old = getattr(stmt, name)
        new = None if old is None else change(old)
        if new is not None and new is not old:
            changes[name] = new
    return copy_with(stmt, changes) if changes else stmt


def map_functions(program: Program, change: Callable[[Function], Function]) -> Program:
    """Return ``program`` with ``change(function)`` for each function, itself if they all stay."""
    new = [change(function) for function in program.functions_]
    return program if all(map(is_, new, program.functions_)) else program.with_functions(new)


def exprs_in(stmt: Stmt) -> Iterator[Expr]:
    """Yield the expressions directly held by one statement (not by statements inside it)."""
    return iter(_EXPRS[stmt.__class__](stmt))


def defined_by(stmt: Stmt) -> Sequence[Var]:
    """Return the variables that one statement defines, without those of statements inside it."""
    return _DEFINED[stmt.__class__](stmt)


def held_by(stmt: Stmt) -> Sequence[Expr]:
    """Return what `exprs_in` gives, and the init values of what a loop carries."""
    given: Any = stmt
    cls = stmt.__class__
    if cls is AssignStmt:
        return (given.value,)
    if cls is EvalStmt:
        return (given.expr,)
    found = _EXPRS[cls](stmt)
    if cls is ForStmt or cls is WhileStmt:
        found += [arg.initValue for arg in given.iter_args]
    return found


def calls_in(body: Stmt) -> Iterator[Call]:
    """Yield every call of a body once, in textual order, a call before those in its operands."""
    for stmt in stmts_in(body):
        yield from calls_of(stmt)


def calls_of(stmt: Stmt) -> Sequence[Call]:
    """Return the calls of one statement, as `calls_in`, without those of its bodies."""
    given: Any = stmt
    value: Any = given.value if stmt.__class__ is AssignStmt else None
    value = given.expr if stmt.__class__ is EvalStmt else value
    if value.__class__ is Call and is_flat(value):
        return (value,)
    held = held_by(stmt)
    if _VALUES.issuperset(map(type, held)) or all(map(is_arithmetic, held)):
        return ()
    stack: list[IRNode] = [*held]
    stack.reverse()
    found: list[Call] = []
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        below = _OPERANDS[node.__class__]
        if below is None or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Call):
            found.append(node)
        stack += below(node)
    return found


def uses(exprs: Iterable[IRNode]) -> Iterator[Var]:
    """Yield the variables that occur in expressions, an IterArg's init value not included.

    Of many parts, which may be the same objects, each is looked at once.
    """
    roots: list[Any] = list(exprs)
    stack = roots[::-1]
    found: list[Var] = []
    parts = 0
    while stack:
        node = stack.pop()
        cls = node.__class__
        if cls in _VARIABLES:
            found.append(node)
        elif cls not in CONSTANTS:
            below = _OPERANDS[cls]
            if below is not None:
                parts += 1
                if parts > _MANY:
                    return iter(_uses_of_many(roots))
                stack += below(node)
            elif isinstance(node, Var):
                found.append(node)
    return iter(found)


def _uses_of_many(roots: Sequence[IRNode]) -> Sequence[Var]:
    """Return what `uses` yields, of each object once."""
    stack = [*reversed(roots)]
    found: dict[Var, None] = {}
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        below = _OPERANDS[node.__class__]
        if isinstance(node, Var):
            found[node] = None
        elif below is not None and id(node) not in seen:
            seen.add(id(node))
            stack += below(node)
    return [*found]


def is_arithmetic(expr: Expr) -> bool:
    """True for a few operators on variables and constants: no call or tuple is part of that."""
    if not isinstance(expr, BinaryExpr):
        return False
    rest: list[Any] = [expr.left, expr.right]
    for node in rest:  # grows meanwhile
        if node.__class__ not in _VALUES:
            if not isinstance(node, BinaryExpr) or len(rest) > _FEW:
                return False
            rest += (node.left, node.right)
    return True


_MANY: Final = 1024
"""Of how many parts of expressions the variables are collected without a look at what was met."""

_FEW: Final = 64
"""How many operands are looked at, whether they are the same objects or not."""


def occurring(stmt: Stmt) -> Sequence[Var]:
    """Return the variables in what `held_by` gives for a statement, in any order."""
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
    """Return the names of all variables of a function, for those who need a new one.

    They are what it defines, and the sizes that its parameters give.
    """
    kinds = [param.type for param in function.params if not is_plain(param.type)]
    symbols = [expr for kind in kinds for expr in symbols_of_type(kind)]
    names = {var.name for var in (*function.params, *uses(symbols))}
    stmts: Any = stmts_in(function.body)
    for stmt in stmts:
        if stmt.__class__ is AssignStmt:
            names.add(stmt.var.name)
        elif stmt.__class__ is not EvalStmt:
            names.update([e.name for e in _EXPRS[stmt.__class__](stmt) if isinstance(e, Var)])
    return names


class ParentStmtAnalysis:
    """Which statement directly holds which, in one function."""

    def __init__(self) -> None:
        self._parents: dict[Stmt, Stmt] = {}

    def build_map(self, function: Function) -> None:
        """Look at ``function``; what was known before is forgotten."""
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

    Who asks for facts of ops need not look at every call: a long body calls few ops often. With
    ``flat`` each call is the right side of an assignment, or a statement.
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
    """True if the operands are variables, constants and tuples of these, as most are."""
    args: Any = call.args
    for arg in args:
        if arg.__class__ in _VALUES:
            continue
        if arg.__class__ is not MakeTuple or not _VALUES.issuperset(map(type, arg.elements)):
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
