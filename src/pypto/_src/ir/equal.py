"""Structural comparison: equality, hash, and the first difference.

All three read one stream of tokens, in which variables are numbers in the order of their
definition. So they cannot disagree, and what counts as structure is defined once:

* counted: node classes, constants with their element types, types (tile views included, memory
  references and tensor views not), names of called ops and functions, keywords in their order
  with kind and value (a NaN equals itself, 0.0 and -0.0 differ), directions and kinds of
  functions and loops, names and attributes of a program's functions;
* not counted: source ranges; names of variables, of the program, and of a function on its own; how
  statements of a body are grouped into sequences (the outermost node's class does count);
* dimensions compare by value, whatever the element type of the constants.

Expressions may share subexpressions: those of a large statement are numbered by structure, so that
the time depends on the number of objects, not on the length of the text.

A variable scoped to a loop body or function (loop variable, iter_arg, parameter) gets a new
number there; a symbolic dimension is defined by the first signature position that names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, PyptoError
from pypto._src.ir.array_types import MemRef, TensorType, TileType, exprs_of_type
from pypto._src.ir.exprs import ConstInt, Expr, GlobalVar, IRNode, Op, Var
from pypto._src.ir.interning import MOST_TYPES, Key, structure
from pypto._src.ir.node_base import FieldKind, Node
from pypto._src.ir.stmts import Function, OpStmts, Program, SeqStmts, Stmt, statements
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import hashlib
else:
    hashlib = lazy_module("hashlib")

_LARGE: Final = 1000
"""How many nodes of a statement's expressions are read one by one; later ones are numbered."""

_NUMBERED: Final = "expression"

Token: TypeAlias = tuple[Any, ...]
Path: TypeAlias = "tuple[Path, str] | None"


class Difference(NamedTuple):
    """The first point where two structures differ."""

    path: str
    reason: str
    left: str
    right: str


def structural_equal(lhs: Any, rhs: Any, enable_auto_mapping: bool = False) -> bool:
    """True if two nodes, or two types, have equal structure.

    Free variables are equal only to themselves; with ``enable_auto_mapping`` they may correspond
    one to one.

    Raises:
        TypeError: an argument is neither a node nor a type, or one is a node and the other a type.
    """
    _check_kinds(lhs, rhs)
    if lhs is rhs:
        return True
    left, right = _Stream(lhs, enable_auto_mapping), _Stream(rhs, enable_auto_mapping)
    return all(a == b for a, b in zip(left.tokens(), right.tokens(), strict=False))


def structural_hash(node: Any, enable_auto_mapping: bool = False) -> int:
    """Return a 64-bit number that is equal for nodes of equal structure, in every process.

    A free variable is hashed by its name, since its identity means nothing outside of this
    process; with ``enable_auto_mapping`` by the order of first use. Its type and initial value
    do not count.
    """
    _check_kinds(node, node)
    texts = map(_token_text, _Stream(node, enable_auto_mapping, hashing=True).tokens())
    data = "".join(texts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "big")


def assert_structural_equal(lhs: Any, rhs: Any, enable_auto_mapping: bool = False) -> None:
    """Raise an error that locates the first difference unless `structural_equal`.

    Raises:
        ValueError: with the path to the difference, a reason, and both sides as text.
        TypeError: as `structural_equal`.
    """
    difference = first_difference(lhs, rhs, enable_auto_mapping)
    if difference is not None:
        raise ValueError(
            f"structures differ at {difference.path}: {difference.reason}\n"
            f"  left:  {difference.left}\n"
            f"  right: {difference.right}"
        )


def first_difference(lhs: Any, rhs: Any, enable_auto_mapping: bool = False) -> Difference | None:
    """Return the first difference in the order of the printed text, or None."""
    if structural_equal(lhs, rhs, enable_auto_mapping):
        return None
    left = _Stream(lhs, enable_auto_mapping, detailed=True)
    right = _Stream(rhs, enable_auto_mapping, detailed=True)
    right.contents, right.new = left.contents, left.new  # the same numbers for both
    for a, b in zip(left.tokens(), right.tokens(), strict=False):
        while a != b and a[0] == b[0] == _NUMBERED:
            a, b = left.node(left.value), right.node(right.value)
        if a != b:
            path = _path_text(left.path, type(lhs).__name__)
            return Difference(path, _reason(a, b), _show(left.value), _show(right.value))
    raise InternalError("structures differ, and no difference was found")


def _check_kinds(lhs: Any, rhs: Any) -> None:
    both_nodes = isinstance(lhs, IRNode) and isinstance(rhs, IRNode)
    if not both_nodes and not (isinstance(lhs, Type) and isinstance(rhs, Type)):
        raise TypeError(
            "structural comparison takes two IR nodes or two types, "
            f"got {type(lhs).__name__} and {type(rhs).__name__}"
        )


# Work items other than nodes and plain values.


class _Define(NamedTuple):
    var: Var
    scoped: bool  # visible only in a body of the defining node


class _Leave(NamedTuple):
    """Restore the numbers of the enclosing scope."""

    numbers: dict[Var, int]


class _Forget(NamedTuple):
    """Restore the outer numbers of variables that are scoped to a loop body."""

    outer: list[tuple[Var, int | None]]


class _Signature(NamedTuple):
    """From here on free variables are symbolic dimensions, or no longer."""

    on: bool


class _Body(NamedTuple):
    stmts: tuple[Stmt, ...]


class _Dim(NamedTuple):
    expr: Expr


class _Plan(NamedTuple):
    """How one node class is read: its counted fields, and where the scope of its variables ends."""

    fields: tuple[tuple[str, bool, bool], ...]  # name, defining, holds statements
    last_body: int  # index of the last field with statements, -1 if there is none
    values: tuple[str, ...] | None  # the names, last first, where all fields are plain values


_PLANS: dict[type, _Plan] = {}


def _plan(cls: type[Node]) -> _Plan:
    plan = _PLANS.get(cls)
    if plan is None:
        fields = tuple(
            (f.name, f.kind is FieldKind.DEFINING, f.holds_statements)
            for f in cls.FIELDS
            if f.kind is not FieldKind.IGNORED
        )
        bodies = [index for index, (_, _, body) in enumerate(fields) if body]
        names = tuple([name for name, _, _ in reversed(fields)])
        plain = issubclass(cls, IRNode) and not any(defines or body for _, defines, body in fields)
        plan = _Plan(fields, bodies[-1] if bodies else -1, names if plain else None)
        _PLANS[cls] = plan
    return plan


class _Stream:
    """The tokens of one side, and where the last one came from."""

    def __init__(
        self, root: Any, auto: bool, *, detailed: bool = False, hashing: bool = False
    ) -> None:
        self.auto = auto
        self.detailed = detailed
        self.hashing = hashing
        self.types: dict[int, int | None] = {}  # by identity, the number in `contents`
        self.contents: dict[Token, int] = {}
        self.new: list[Token] = []  # the keys of `contents`
        self.path: Path = None
        self.value: Any = root
        self.numbers: dict[Var, int] = {}
        self.count = 0
        self.signature = False
        self.size = 0  # expressions met in this statement
        self.exprs: dict[int, int] = {}  # by identity, the numbers of expressions in `contents`
        self.met: set[int] = set()  # expressions whose variables have numbers
        self.stack: list[tuple[Any, Path]] = [(root, None)]

    def tokens(self) -> Iterator[Token]:
        root = self.value
        if isinstance(root, SeqStmts | OpStmts):
            yield (root.__class__,)
        stack = self.stack
        steps = _STEPS
        while stack:
            self.value, self.path = stack.pop()
            step = steps.get(self.value.__class__)
            if step is None:
                step = steps[self.value.__class__] = _step(self.value.__class__)
            token = step(self, self.value)
            if token is not None:
                yield token

    def push(self, items: Sequence[Any], labels: Sequence[str]) -> None:
        """Take ``items`` next, in their order."""
        path = self.path
        if self.detailed:
            pairs = zip(reversed(items), reversed(labels), strict=True)
            self.stack += [(item, (path, label)) for item, label in pairs]
        else:  # no paths are needed
            self.stack += [(item, path) for item in reversed(items)]

    def push_all(self, items: Sequence[Any]) -> None:
        self.push(items, [f"[{index}]" for index in range(len(items))] if self.detailed else ())

    # ---------------------------------------------------------------------------- nodes

    def node(self, node: Node) -> Token:
        self.fields(node)
        return (node.__class__,)

    def stmt(self, node: Stmt) -> Token:
        self.size = 0
        self.forget_exprs()
        self.fields(node)
        return (node.__class__,)

    def op(self, node: Op) -> Token:
        return ("op", node.name)

    def sequence(self, node: SeqStmts | OpStmts) -> None:
        self.stack.append((_Body(statements(node)), self.path))

    def program(self, node: Program) -> Token:
        self.fields(node)
        return ("names", *[function.name for function in node.functions_])

    def type(self, kind: Type) -> Token:
        """Return one token for a type without symbolic dimensions, unless details are wanted.

        Such types are numbered; the token that introduces a number includes what it stands for.
        """
        if self.detailed:
            return self.node(kind)
        number = self.types.get(id(kind))
        if number is not None:
            return ("type", number)
        known = len(self.new)
        number = self.type_number(kind)
        return self.node(kind) if number is None else ("type", number, *self.new[known:])

    def type_number(self, kind: Type) -> int | None:
        """Return the number of ``kind``, None if it has symbolic dimensions."""
        types = self.types
        stack = [kind]
        while stack:
            kind = stack[-1]
            if id(kind) not in types:  # the types live as long as the comparison
                if isinstance(kind, TupleType):
                    below = [item for item in kind.types if id(item) not in types]
                    if below:
                        stack += below
                        continue
                    content = self.tuple_content(kind)
                else:
                    content = _constant_type(kind)
                types[id(kind)] = None if content is None else self.content_number(content)
            stack.pop()
        return types[id(kind)]

    def content_number(self, content: Token) -> int:
        number = self.contents.setdefault(content, len(self.contents))
        if number == len(self.new):
            self.new.append(content)
        return number

    def tuple_content(self, kind: TupleType) -> Token | None:
        numbers = [self.types[id(item)] for item in kind.types]
        return None if None in numbers else (TupleType, *numbers)

    # ---------------------------------------------------------------------- expressions

    def expr(self, node: Expr) -> Token:
        self.size += 1
        if self.size > _LARGE:
            return self.numbered(node)
        self.fields(node)
        return (node.__class__,)

    def forget_exprs(self) -> None:
        """Forget the numbers of expressions: their variables mean something else from here on."""
        if self.exprs:
            self.exprs.clear()
            self.met.clear()

    def numbered(self, node: Expr) -> Token:
        """Return one token for a whole expression, as `type` does for a type."""
        known = len(self.new)
        first_uses = self.meet(node) if self.auto or self.signature else ()
        number = self.expr_number(node)
        if self.detailed:
            return (_NUMBERED, number, *first_uses)
        return (_NUMBERED, number, *first_uses, *self.new[known:])

    def meet(self, root: Expr) -> list[Token]:
        """Number the variables that are first read in ``root``; return their tokens."""
        found: list[Var] = []
        stack: list[Expr] = [root]
        while stack:
            node = stack.pop()
            if isinstance(node, Var) and not isinstance(node, MemRef):
                if node not in self.numbers:
                    self.number(node)
                    found.append(node)
                    stack += reversed(_dims(node.type))
            elif id(node) not in self.met:
                self.met.add(id(node))
                stack += reversed(_parts(node))
        return [self.first_use(var) for var in found]

    def first_use(self, var: Var) -> Token:
        for part in _parts_of(var):
            self.expr_number(part)
        fields = [self.content(getattr(var, name)) for name, _, _ in _plan(var.__class__).fields]
        return ("new", self.numbers[var], var.__class__, *fields)

    def expr_number(self, root: Expr) -> int:
        """Return the number of ``root``; every object in it is visited once."""
        exprs = self.exprs
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) not in exprs:
                below = [part for part in _parts(node) if id(part) not in exprs]
                if below:
                    stack += below
                    continue
                exprs[id(node)] = self.content_number(self.expr_content(node))
            stack.pop()
        return exprs[id(root)]

    def expr_content(self, node: Expr) -> Token:
        if isinstance(node, Var):
            number = self.numbers.get(node)
            if number is not None:
                return ("var", number)
            if not isinstance(node, MemRef):
                return ("free", node.name) if self.hashing else ("free", id(node))
        names = [name for name, _, _ in _plan(node.__class__).fields]
        return (node.__class__, *[self.content(getattr(node, name)) for name in names])

    def content(self, value: Any) -> Token:
        """Return one token for a field's whole value, whose expressions have numbers."""
        if isinstance(value, Expr):
            return (_NUMBERED, self.exprs[id(value)])
        if isinstance(value, Op):
            return self.op(value)
        if isinstance(value, Mapping):
            entries = cast("Mapping[Any, Any]", value)
            return ("keys", *entries, *[self.content(entries[key]) for key in entries])
        if isinstance(value, tuple | list):
            items = cast("Sequence[Any]", value)
            return ("length", *[self.content(item) for item in items])
        if isinstance(value, Node):
            number = self.type_number(value) if isinstance(value, Type) else None
            return self.symbolic(value) if number is None else ("type", number)
        return self.plain(value)

    def symbolic(self, value: Any) -> Token:
        """Return one token for a type with symbolic dimensions, or for a part of it."""
        if isinstance(value, ConstInt):
            return ("dim", value.value)
        if isinstance(value, tuple):
            items = cast("Sequence[Any]", value)
            return ("length", *[self.symbolic(item) for item in items])
        if isinstance(value, Expr) or not isinstance(value, Node):
            return self.content(value)
        names = [name for name, _, _ in _plan(value.__class__).fields]
        return (value.__class__, *[self.symbolic(getattr(value, name)) for name in names])

    def fields(self, node: Node) -> None:
        fields, last_body, values = _plan(node.__class__)
        if values is not None and not self.detailed:
            path = self.path
            self.stack += [(getattr(node, name), path) for name in values]
            return
        in_type = not isinstance(node, IRNode)
        items: list[Any] = []
        labels: list[str] = []
        forget = _Forget([])
        for index, (name, defines, body) in enumerate(fields):
            value = getattr(node, name)
            label = f".{name}"
            if body:
                value = _Body(statements(value))
            elif defines:
                value = self.definitions(value, index < last_body, forget)
            elif in_type and isinstance(value, tuple):
                value = tuple([_dim(item) for item in value])  # pyright: ignore[reportUnknownVariableType]
            elif in_type:
                value = _dim(value)
            items.append(value)
            labels.append(label)
            if index == last_body and forget.outer:
                items.append(forget)
                labels.append("")
        self.push(items, labels)

    def definitions(self, value: Any, scoped: bool, forget: _Forget) -> Any:
        if scoped:
            variables = cast("Sequence[Var]", value if isinstance(value, tuple) else (value,))
            forget.outer.extend((var, self.numbers.get(var)) for var in variables)
        if isinstance(value, tuple):
            return tuple([_Define(var, scoped) for var in value])  # pyright: ignore[reportUnknownVariableType]
        return _Define(value, scoped)

    def function(self, node: Function) -> Token:
        """Number the parameters first: a dimension may be a later parameter."""
        outside = self.numbers
        self.forget_exprs()
        self.numbers = dict(outside)
        for var in node.params:
            self.number(var)
        types = tuple([var.type for var in node.params])
        self.push(
            [
                _Signature(True),
                types,
                node.param_directions,
                node.return_types,
                _Signature(False),
                node.func_type,
                _Body(statements(node.body)),
                _Leave(outside),
            ],
            ["", ".params", ".param_directions", ".return_types", "", ".func_type", ".body", ""],
        )
        return (Function, len(node.params))

    def number(self, var: Var) -> int:
        self.count += 1
        self.numbers[var] = self.count
        return self.count

    def use(self, var: Var) -> Token:
        number = self.numbers.get(var)
        if number is not None:
            return ("var", number)
        if isinstance(var, MemRef):  # identified by space, address and size
            return self.node(var)
        if not (self.auto or self.signature):
            return ("free", var.name) if self.hashing else ("free", id(var))
        if not self.hashing:
            self.stack += self.parts(var)
        return ("new", self.number(var), var.__class__)

    def parts(self, var: Var) -> list[tuple[Any, Path]]:
        path = self.path
        names = [name for name, _, _ in _plan(var.__class__).fields]
        return [(getattr(var, name), (path, f".{name}")) for name in reversed(names)]

    # ----------------------------------------------------------------------- work items

    def define(self, item: _Define) -> Token:
        var = item.var
        self.value = var
        known = self.numbers.get(var)
        if known is not None and not item.scoped:
            return ("var", known)
        # What the definition itself holds, such as an init value, does not see the new variable.
        self.stack.append((_Bind(var), self.path))
        self.stack += self.parts(var)
        return ("define", var.__class__)

    def bind(self, item: _Bind) -> Token:
        self.value = item.var
        self.forget_exprs()
        return ("bound", self.number(item.var))

    def leave(self, item: _Leave) -> None:
        self.numbers = item.numbers

    def forget(self, item: _Forget) -> None:
        for var, number in reversed(item.outer):
            if number is None:
                self.numbers.pop(var, None)
            else:
                self.numbers[var] = number

    def set_signature(self, item: _Signature) -> None:
        self.signature = item.on

    def body(self, item: _Body) -> Token:
        self.value = SeqStmts(item.stmts)
        self.push_all(item.stmts)
        return ("statements", len(item.stmts))

    def dim(self, item: _Dim) -> Token | None:
        if isinstance(item.expr, ConstInt):
            self.value = item.expr
            return ("dim", item.expr.value)
        self.stack.append((item.expr, self.path))
        return None

    def items(self, item: Sequence[Any]) -> Token:
        self.push_all(item)
        return ("length", len(item))

    def mapping(self, item: Mapping[Any, Any]) -> Token:
        keys = list(item)
        self.push([item[key] for key in keys], [f"[{key!r}]" for key in keys])
        return ("keys", *keys)

    def plain(self, value: Any) -> Token:
        if isinstance(value, IntEnum):
            return (int, int(value))
        if isinstance(value, float):
            return (float, value.hex())
        return (value.__class__, value)


class _Bind(NamedTuple):
    """The definition is complete: the variable has its number from here on."""

    var: Var


def _step(cls: type) -> Any:
    """Return the method for a class that `_STEPS` does not list."""
    for base, step in (
        (Var, _Stream.use),
        (Expr, _Stream.expr),
        (Stmt, _Stream.stmt),
        (Op, _Stream.op),
        (Type, _Stream.type),
        (Node, _Stream.node),
        (Mapping, _Stream.mapping),
        ((tuple, list), _Stream.items),
    ):
        if issubclass(cls, base):
            return step
    return _Stream.plain


_STEPS: Final[dict[type, Any]] = {
    SeqStmts: _Stream.sequence,
    OpStmts: _Stream.sequence,
    Function: _Stream.function,
    Program: _Stream.program,
    _Define: _Stream.define,
    _Bind: _Stream.bind,
    _Leave: _Stream.leave,
    _Forget: _Stream.forget,
    _Signature: _Stream.set_signature,
    _Body: _Stream.body,
    _Dim: _Stream.dim,
    tuple: _Stream.items,
    list: _Stream.items,
    dict: _Stream.mapping,
}


def _parts(node: Expr) -> list[Expr]:
    """Return the operands of ``node``, none for a variable; see `_parts_of`."""
    return [] if isinstance(node, Var) and not isinstance(node, MemRef) else _parts_of(node)


def _parts_of(node: Expr) -> list[Expr]:
    """Return the expressions in the counted fields of ``node``, in order."""
    found: list[Expr] = []
    for name, _, _ in _plan(node.__class__).fields:
        value: Any = getattr(node, name)
        if isinstance(value, Mapping):
            value = tuple(cast("Mapping[Any, Any]", value).values())
        items = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
        for item in items:
            if isinstance(item, Expr):
                found.append(item)
            elif isinstance(item, Type):
                found += _dims(item)
    return found


def _dims(kind: Type) -> list[Expr]:
    return [dim for dim in exprs_of_type(kind) if not isinstance(dim, ConstInt)]


def _constant_type(kind: Type) -> Token | None:
    """Return one token for all of ``kind``, None if it names a symbolic dimension."""
    if isinstance(kind, ScalarType):
        key = (ScalarType, kind.dtype)
    elif isinstance(kind, TileType | TensorType):
        key = structure(kind)
    else:
        key = None
    if key is None:
        return _tokens_of_type(kind)
    found = _TYPE_TOKENS.get(key)
    if found is None:
        if len(_TYPE_TOKENS) >= MOST_TYPES:
            _TYPE_TOKENS.clear()
        found = _TYPE_TOKENS[key] = _tokens_of_type(kind)
    return found


_TYPE_TOKENS: Final[dict[Key, Token | None]] = {}
"""Results of `_constant_type` by the structure of the type, for all programs."""


def _tokens_of_type(kind: Type) -> Token | None:
    for expr in exprs_of_type(kind):
        if not isinstance(expr, ConstInt):
            return None
    return tuple(_Stream(kind, False, detailed=True).tokens())


@lru_cache(MOST_TYPES)  # most tokens recur
def _token_text(token: Token) -> str:
    """Return ``token`` as text, the same in every process; no text is a prefix of another."""
    return f"{len(token)}:" + "".join([_part_text(part) for part in token])


def _part_text(part: Any) -> str:
    if isinstance(part, type):
        return f"c{part.__qualname__},"
    if isinstance(part, str):
        return f"s{len(part)}:{part}"
    if isinstance(part, Enum):
        return f"e{type(part).__qualname__}.{part.name},"
    if isinstance(part, int):
        return f"i{int(part):x},"
    if isinstance(part, DataType):
        return f"d{part.code()},"
    if isinstance(part, tuple):
        return f"t{_token_text(cast('Token', part))}"
    return f"o{type(part).__qualname__},"  # all that equal objects of other classes surely share


def _dim(value: Any) -> Any:
    return _Dim(value) if isinstance(value, Expr) else value


def _path_text(path: Path, root: str) -> str:
    labels: list[str] = []
    while path is not None:
        path, label = path
        labels.append(label)
    return root + "".join(reversed(labels))


_REASONS: Final = {
    "names": "the functions have other names",
    "statements": "the numbers of statements differ",
    "length": "the lengths differ",
    "keys": "the keywords differ",
    "op": "other ops are called",
    "dim": "the dimensions differ",
}


def _reason(a: Token, b: Token) -> str:
    kinds = a[0], b[0]
    if kinds == ("free", "free"):
        return "free variables differ; enable_auto_mapping=True lets them correspond"
    if any(kind in ("var", "free", "new", "bound") for kind in kinds):
        return "the variables do not correspond"
    if kinds[0] == kinds[1] and kinds[0] in _REASONS:
        return _REASONS[kinds[0]]
    if kinds[0] == kinds[1]:
        return "the values differ"
    return f"{_kind_text(kinds[0])} is not {_kind_text(kinds[1])}"


def _kind_text(kind: Any) -> str:
    return kind.__name__ if isinstance(kind, type) else str(kind)


def _show(value: Any) -> str:
    if isinstance(value, GlobalVar):
        return value.name
    if isinstance(value, Node):
        try:
            return str(value)
        except PyptoError as error:  # too deep; the path to the difference still helps
            return f"({error.message})"
    if isinstance(value, Enum):
        return str(value)
    return repr(value)
