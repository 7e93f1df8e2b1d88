"""How fields are written and read: derived from annotations, so that a node class needs no line.

Values of keywords and attributes, which are of any kind, are written with a tag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import BY_CODE, DataType
from pypto._src.errors import InternalError
from pypto._src.ir import enums
from pypto._src.ir.array_types import ShapedType
from pypto._src.ir.exprs import BinaryExpr, Expr, IRNode, Op, UnaryExpr
from pypto._src.ir.node_base import Node
from pypto._src.ir.serialization.tokens import TokenReader, TokenWriter
from pypto._src.ir.stmts import Stmt
from pypto._src.ir.types import Type

_DEEPEST: Final = 32
"""How deep lists may be nested in the value of a keyword or attribute."""


class Kind:
    """How values of one annotation are written and read."""

    def __init__(
        self, write: Callable[[TokenWriter, Any], None], read: Callable[[TokenReader], Any]
    ) -> None:
        self.write = write
        self.read = read


_Part: TypeAlias = tuple[str, Kind]

ABSTRACT: Final = (Node, IRNode, Type, ShapedType, Expr, Stmt, BinaryExpr, UnaryExpr)
_ENUMS: Final[dict[str, type[Enum]]] = {
    name: value
    for name, value in vars(enums).items()
    if isinstance(value, type) and issubclass(value, Enum) and value.__members__
}
_PARTS: Final[dict[type[Node], tuple[_Part, ...]]] = {}


def node_classes() -> dict[str, type[Node]]:
    """Return the node classes by name; of two with one name the one defined first."""
    found: dict[str, type[Node]] = {}
    queue: list[type[Node]] = [Node]
    for cls in queue:
        found.setdefault(cls.__name__, cls)
        queue += cls.__subclasses__()
    return found


def parts(cls: type[Node]) -> tuple[_Part, ...]:
    """Return the fields of ``cls`` with their kinds, also those that traversal does not know."""
    parts = _PARTS.get(cls)
    if parts is None:
        texts = {field.name: field.annotation for field in cls.FIELDS}
        if not issubclass(cls, Op):  # a registered op is written as its name alone
            for base in cls.__mro__:
                own: dict[str, str] = getattr(base, "__annotations__", {})
                slots: tuple[str, ...] = base.__dict__.get("__slots__", ())
                texts.update({n: own[n] for n in slots if n in own and n not in texts})
        classes = node_classes()
        parts = tuple((name, _kind(text, classes)) for name, text in texts.items())
        _PARTS[cls] = parts
    return parts


def _kind(text: str, classes: Mapping[str, type[Node]]) -> Kind:
    if text.endswith(" | None"):
        return _optional(_kind(text.removesuffix(" | None"), classes))
    if text.startswith("tuple[") and text.endswith(", ...]"):
        return _several(_kind(text[len("tuple[") : -len(", ...]")], classes))
    if text.startswith("Mapping[str, ") and text.endswith("]"):
        return _mapping(_kind(text[len("Mapping[str, ") : -1], classes))
    if text in _ATOMS:
        return _ATOMS[text]
    if text in _ENUMS:
        return _enum(_ENUMS[text])
    name = text.rpartition(".")[2]  # a class of another package writes `ir.Var`
    if name in classes:
        return _node(classes[name])
    raise InternalError(f"a field annotated {text!r} has no serialised form")


def _plain(wanted: type) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise writer.refuse(value, wanted.__name__)
        writer.out.append(wanted(value))  # the plain value of a subclass, such as an IntEnum

    return Kind(write, lambda reader: reader.take(wanted))


def _optional(kind: Kind) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if value is None:
            writer.out.append(None)
        else:
            kind.write(writer, value)

    return Kind(write, lambda reader: None if reader.skip_none() else kind.read(reader))


def _several(kind: Kind) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if not isinstance(value, tuple):
            raise writer.refuse(value, "a tuple")
        items = cast("tuple[Any, ...]", value)
        writer.out.append(len(items))
        for item in items:
            kind.write(writer, item)

    return Kind(write, lambda reader: tuple([kind.read(reader) for _ in range(reader.count())]))


def _mapping(kind: Kind) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise writer.refuse(value, "a mapping")
        items = cast("Mapping[Any, Any]", value)
        writer.out.append(len(items))
        for key, item in items.items():
            _STR.write(writer, key)
            kind.write(writer, item)

    return Kind(write, lambda reader: _read_items(reader, lambda: kind.read(reader)))


def _read_items(reader: TokenReader, read: Callable[[], Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(reader.count()):
        key: str = reader.take(str)
        if key in found:
            raise reader.fail(f"key {key!r} twice")
        found[key] = read()
    return found


def _enum(cls: type[Enum]) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if not isinstance(value, cls):
            raise writer.refuse(value, cls.__name__)
        writer.out.append(int(value.value))

    return Kind(write, lambda reader: reader.member(cls))


def _node(cls: type[Node]) -> Kind:
    def write(writer: TokenWriter, value: Any) -> None:
        if not isinstance(value, cls):
            raise writer.refuse(value, cls.__name__)
        writer.out.append(writer.index[id(value)])

    return Kind(write, lambda reader: reader.node(cls))


def _write_dtype(writer: TokenWriter, value: Any) -> None:
    if not isinstance(value, DataType):
        raise writer.refuse(value, "DataType")
    writer.out.append(value.code())


def _read_dtype(reader: TokenReader) -> DataType:
    code = reader.take(int)
    if code not in BY_CODE:
        raise reader.fail(f"element type {code}, which does not exist")
    return BY_CODE[code]


def _write_span(writer: TokenWriter, value: Any) -> None:
    if not isinstance(value, Span):
        raise writer.refuse(value, "Span")
    writer.span(value)


_BOOL, _INT, _FLOAT, _STR = _plain(bool), _plain(int), _plain(float), _plain(str)
_DTYPE: Final = Kind(_write_dtype, _read_dtype)
_NODE: Final = _node(Node)


# Values of keywords and attributes are tagged with their kind.
def _write_any(writer: TokenWriter, value: Any, depth: int = 0) -> None:
    if depth > _DEEPEST:
        raise writer.refuse("lists", f"no more than {_DEEPEST} in each other")
    tag = next((t for t, (types, _) in enumerate(_TAGGED) if isinstance(value, types)), None)
    if tag is None:
        raise writer.refuse(value, "a number, text, enumeration, DataType, list, dict or node")
    writer.out.append(tag)
    _, kind = _TAGGED[tag]
    if kind is not None:
        kind.write(writer, value)
    elif isinstance(value, Enum):
        cls = type(value)
        if _ENUMS.get(cls.__name__) is not cls:
            raise writer.refuse(value, "an enumeration of the IR")
        writer.out += (cls.__name__, int(value.value))
    elif isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value)
        writer.out.append(len(items))
        for key, item in items.items():
            _STR.write(writer, key)
            _write_any(writer, item, depth + 1)
    elif value is not None:
        writer.out.append(len(value))
        for item in value:
            _write_any(writer, item, depth + 1)


def _read_any(reader: TokenReader, depth: int = 0) -> Any:
    tag: int = reader.take(int)
    if not 0 <= tag < len(_TAGGED) or depth > _DEEPEST:
        raise reader.fail(f"value kind {tag} at depth {depth}")
    types, kind = _TAGGED[tag]
    if kind is not None:
        return kind.read(reader)
    if types is Enum:
        name = reader.take(str)
        if name not in _ENUMS:
            raise reader.fail(f"enumeration {name!r}, which does not exist")
        return reader.member(_ENUMS[name])
    if types is type(None):
        return None
    if types is Mapping:
        return _read_items(reader, lambda: _read_any(reader, depth + 1))
    return types([_read_any(reader, depth + 1) for _ in range(reader.count())])


# In this order: a PipeType is an int too, and so is True.
_TAGGED: tuple[tuple[type[Any], Kind | None], ...] = (
    (type(None), None),
    (Enum, None),
    (bool, _BOOL),
    (int, _INT),
    (float, _FLOAT),
    (str, _STR),
    (DataType, _DTYPE),
    (Node, _NODE),
    (tuple, None),
    (list, None),
    (Mapping, None),
)
_ATOMS: dict[str, Kind] = {
    "bool": _BOOL,
    "int": _INT,
    "float": _FLOAT,
    "str": _STR,
    "DataType": _DTYPE,
    "Span": Kind(_write_span, lambda reader: reader.span()),
    "Any": Kind(_write_any, _read_any),
}


def nodes_in(value: Any, depth: int = 0) -> Iterator[Node]:
    """Yield the nodes in the value of a field: itself, or those in its lists and mappings."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple | list | Mapping) and depth <= _DEEPEST + 1:
        held = cast("Mapping[Any, Any] | Sequence[Any]", value)
        for item in held.values() if isinstance(held, Mapping) else held:
            yield from nodes_in(item, depth + 1)
