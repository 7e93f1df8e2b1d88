"""IR as bytes and back: data only, in MessagePack.

A program is one flat array of numbers and texts: magic, schema number, table of files, table of
spans, table of node classes with their field names, then the nodes, children first. A node names
what it holds by position among the earlier nodes. So an object used twice stays one object, no
input can describe a circle, and nothing here recurses over the depth of a program.

Types, their views, and constants are values: equal ones are written once, whoever made them. So
bytes do not show which of them happened to be one object.

What a field holds is read from its annotation: a new node class needs no line here. This module
knows no op; the registry is handed to it by `use_registry`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import partial
from struct import pack
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import BY_CODE, DataType
from pypto._src.errors import InternalError, SerializeError
from pypto._src.ir import enums
from pypto._src.ir.array_types import MEMREF_NAMES, MemRef, ShapedType, TensorView, TileView
from pypto._src.ir.exprs import (
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IRNode,
    MakeTuple,
    Op,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.name_rules import (
    is_file_name,
    is_function_name,
    is_op_name,
    is_program_name,
    is_variable_name,
)
from pypto._src.ir.node_base import Node
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, OpStmts, Program, Stmt
from pypto._src.ir.types import (
    MemRefType,
    ScalarType,
    TupleType,
    Type,
    UnknownType,
    same_type,
    scalar_type,
)
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    from pathlib import Path

msgpack = lazy_module("msgpack")

MAGIC: Final = "pypto.ir"
SCHEMA: Final = 1
"""Number of the layout of the bytes. It grows whenever old readers would misread new bytes."""

_DEEPEST: Final = 32
"""How deep lists may be nested in the value of a keyword or attribute."""

_put = object.__setattr__


# --------------------------------------------------------------------------------------------
# Public functions
# --------------------------------------------------------------------------------------------


def serialize(node: IRNode) -> bytes:
    """Return ``node`` and everything below it as bytes; the same tree gives the same bytes.

    Raises:
        TypeError: ``node`` is no IR node; a type alone is none.
        SerializeError: a keyword or attribute is of a kind that has no serialised form, or a name
            is no identifier.
    """
    if not isinstance(cast("object", node), IRNode):
        raise TypeError(f"serialize takes an IR node, got {type(node).__name__}")
    tokens = _Writer().document(node)
    try:
        return msgpack.packb(tokens, unicode_errors="surrogatepass")
    except OverflowError as error:
        raise SerializeError("an integer does not fit 64 bits") from error


def deserialize(data: bytes | bytearray | memoryview) -> IRNode:
    """Return the node that `serialize` turned into ``data``.

    Registered ops come back as the registered objects, unknown ones as bare `Op`.

    Raises:
        SerializeError: ``data`` is damaged, no serialised IR, or of another schema; or a name in it
            is no identifier, or a file's name has control characters.
        TypeError: ``data`` is not bytes.
    """
    if not isinstance(cast("object", data), bytes | bytearray | memoryview):
        raise TypeError(f"deserialize takes bytes, got {type(data).__name__}")
    return _Reader(_tokens(bytes(data))).document()


def serialize_to_file(node: IRNode, path: str | os.PathLike[str]) -> None:
    """Write ``node`` to the file ``path``; readers see the old file or the whole new one.

    Raises:
        SerializeError: the file cannot be written, or as for `serialize`.
    """
    data = serialize(node)
    from pathlib import Path

    target = Path(path)
    temporary = Path(f"{target}.{os.getpid()}.{get_ident()}.tmp")
    try:
        temporary.write_bytes(data)
        temporary.replace(target)
    except (OSError, ValueError) as error:
        _remove(temporary)
        raise SerializeError(
            f"cannot write {str(target)!r}: {error}", hint="give a file in an existing folder"
        ) from error
    except BaseException:
        _remove(temporary)
        raise


def deserialize_from_file(path: str | os.PathLike[str]) -> IRNode:
    """Return the node in the file ``path``.

    Raises:
        SerializeError: the file cannot be read, or as for `deserialize`.
    """
    from pathlib import Path

    try:
        data = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise SerializeError(
            f"cannot read {str(path)!r}: {error}",
            hint="give a file that serialize_to_file has written",
        ) from error
    return deserialize(data)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except (OSError, ValueError):
        return  # the error that led here is the one to report


class _Registry:
    find: Callable[[str], Op | None] | None = None


def use_registry(find: Callable[[str], Op | None]) -> None:
    """Let `deserialize` look registered ops up with ``find``, which returns None for no op."""
    _Registry.find = staticmethod(find)


def _registered(node: Any) -> Op:
    name: str = node.name
    found = None if _Registry.find is None else _Registry.find(name)
    return Op(name) if found is None else found


# --------------------------------------------------------------------------------------------
# What fields hold
# --------------------------------------------------------------------------------------------


class _Kind:
    """How values of one annotation are written and read."""

    def __init__(
        self, write: Callable[[_Writer, Any], None], read: Callable[[_Reader], Any]
    ) -> None:
        self.write = write
        self.read = read


_Part: TypeAlias = tuple[str, _Kind]

_ABSTRACT: Final = (Node, IRNode, Type, ShapedType, Expr, Stmt, BinaryExpr, UnaryExpr)
_ENUMS: Final[dict[str, type[Enum]]] = {
    name: value
    for name, value in vars(enums).items()
    if isinstance(value, type) and issubclass(value, Enum) and value.__members__
}
_PARTS: Final[dict[type[Node], tuple[_Part, ...]]] = {}


def _node_classes() -> dict[str, type[Node]]:
    """Return the node classes by name; of two with one name the one defined first."""
    found: dict[str, type[Node]] = {}
    queue: list[type[Node]] = [Node]
    for cls in queue:
        found.setdefault(cls.__name__, cls)
        queue += cls.__subclasses__()
    return found


def _parts(cls: type[Node]) -> tuple[_Part, ...]:
    """Return the fields of ``cls`` with their kinds, also those that traversal does not know."""
    parts = _PARTS.get(cls)
    if parts is None:
        texts = {field.name: field.annotation for field in cls.FIELDS}
        if not issubclass(cls, Op):  # a registered op is its name; the rest are the facts
            for base in cls.__mro__:
                own: dict[str, str] = getattr(base, "__annotations__", {})
                slots: tuple[str, ...] = base.__dict__.get("__slots__", ())
                texts.update({n: own[n] for n in slots if n in own and n not in texts})
        classes = _node_classes()
        parts = tuple((name, _kind(text, classes)) for name, text in texts.items())
        _PARTS[cls] = parts
    return parts


def _kind(text: str, classes: Mapping[str, type[Node]]) -> _Kind:
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
    name = text.rpartition(".")[2]  # a class of another package says `ir.Var`
    if name in classes:
        return _node(classes[name])
    raise InternalError(f"a field annotated {text!r} has no serialised form")


def _plain(wanted: type) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise writer.refuse(value, wanted.__name__)
        writer.out.append(wanted(value))  # the plain value of a subclass, such as an IntEnum

    return _Kind(write, lambda reader: reader.take(wanted))


def _optional(kind: _Kind) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if value is None:
            writer.out.append(None)
        else:
            kind.write(writer, value)

    return _Kind(write, lambda reader: None if reader.skip_none() else kind.read(reader))


def _several(kind: _Kind) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if not isinstance(value, tuple):
            raise writer.refuse(value, "a tuple")
        items = cast("tuple[Any, ...]", value)
        writer.out.append(len(items))
        for item in items:
            kind.write(writer, item)

    return _Kind(write, lambda reader: tuple([kind.read(reader) for _ in range(reader.count())]))


def _mapping(kind: _Kind) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if not isinstance(value, Mapping):
            raise writer.refuse(value, "a mapping")
        items = cast("Mapping[Any, Any]", value)
        writer.out.append(len(items))
        for key, item in items.items():
            _STR.write(writer, key)
            kind.write(writer, item)

    return _Kind(write, lambda reader: _read_items(reader, lambda: kind.read(reader)))


def _read_items(reader: _Reader, read: Callable[[], Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(reader.count()):
        key: str = reader.take(str)
        if key in found:
            raise reader.fail(f"key {key!r} twice")
        found[key] = read()
    return found


def _enum(cls: type[Enum]) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if not isinstance(value, cls):
            raise writer.refuse(value, cls.__name__)
        writer.out.append(int(value.value))

    return _Kind(write, lambda reader: reader.member(cls))


def _node(cls: type[Node]) -> _Kind:
    def write(writer: _Writer, value: Any) -> None:
        if not isinstance(value, cls):
            raise writer.refuse(value, cls.__name__)
        writer.out.append(writer.index[id(value)])

    return _Kind(write, lambda reader: reader.node(cls))


def _write_dtype(writer: _Writer, value: Any) -> None:
    if not isinstance(value, DataType):
        raise writer.refuse(value, "DataType")
    writer.out.append(value.code())


def _read_dtype(reader: _Reader) -> DataType:
    code = reader.take(int)
    if code not in BY_CODE:
        raise reader.fail(f"element type {code}, which does not exist")
    return BY_CODE[code]


def _write_span(writer: _Writer, value: Any) -> None:
    if not isinstance(value, Span):
        raise writer.refuse(value, "Span")
    file = writer.files.setdefault(value.filename, len(writer.files))
    row = (file, value.begin_line, value.begin_column, value.end_line, value.end_column)
    writer.out.append(writer.spans.setdefault(row, len(writer.spans)))


_BOOL, _INT, _FLOAT, _STR = _plain(bool), _plain(int), _plain(float), _plain(str)
_DTYPE: Final = _Kind(_write_dtype, _read_dtype)
_NODE: Final = _node(Node)


# Values of keywords and attributes say their kind themselves.
def _write_any(writer: _Writer, value: Any, depth: int = 0) -> None:
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


def _read_any(reader: _Reader, depth: int = 0) -> Any:
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
_TAGGED: tuple[tuple[type[Any], _Kind | None], ...] = (
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
_ATOMS: dict[str, _Kind] = {
    "bool": _BOOL,
    "int": _INT,
    "float": _FLOAT,
    "str": _STR,
    "DataType": _DTYPE,
    "Span": _Kind(_write_span, lambda reader: reader.span()),
    "Any": _Kind(_write_any, _read_any),
}


# --------------------------------------------------------------------------------------------
# What constructors guarantee beyond the kinds of fields
# --------------------------------------------------------------------------------------------


def _is_scalar(node: Any) -> bool:
    return isinstance(node.type, ScalarType)


def _are_integers(values: Sequence[Expr]) -> bool:
    for value in values:
        kind = value.type
        if kind is not _INDEX and not (isinstance(kind, ScalarType) and kind.dtype.is_int()):
            return False
    return True


def _has_types(node: MakeTuple) -> bool:
    kind = node.type
    if not isinstance(kind, TupleType) or len(kind.types) != len(node.elements):
        return False
    pairs = zip(kind.types, node.elements, strict=True)
    return all(part is item.type or same_type(part, item.type) for part, item in pairs)


def _has_item(node: TupleGetItemExpr) -> bool:
    kind = node.tuple.type
    if not isinstance(kind, TupleType) or not 0 <= node.index < len(kind.types):
        return False
    part = kind.types[node.index]
    return part is node.type or same_type(part, node.type)


def _is_memref(node: MemRef) -> bool:
    named = node.name == f"{MEMREF_NAMES[node.memory_space_]}{node.id_}"
    return named and node.size_ >= 0 and isinstance(node.type, MemRefType)


def _names_agree(program: Program) -> bool:
    names = [function.name for function in program.functions_]
    ordered = all(names) and names == sorted(set(names))
    return ordered and names == [op.name for op in program.globals_.values()] == list(
        program.globals_
    )


_RULES: Final[tuple[tuple[type[Node], Callable[[Any], bool], str], ...]] = (
    (ConstInt, lambda n: -(1 << 63) <= n.value < 1 << 63, "holds a signed 64-bit value"),
    (ConstInt, _is_scalar, "has a scalar type"),
    (ConstFloat, _is_scalar, "has a scalar type"),
    (ConstBool, lambda n: _is_scalar(n) and n.type.dtype is DataType.BOOL, "has type BOOL"),
    (BinaryExpr, _is_scalar, "has a scalar type"),
    (UnaryExpr, _is_scalar, "has a scalar type"),
    (ShapedType, lambda n: _are_integers(n.shape), "has integers as dimensions"),
    (TensorView, lambda n: _are_integers(n.stride), "has integers as strides"),
    (TileView, lambda n: _are_integers(n.valid_shape), "has integers as valid sizes"),
    (TileView, lambda n: _are_integers(n.stride), "has integers as strides"),
    (
        TileView,
        lambda n: n.start_offset is None or _are_integers((n.start_offset,)),
        "has an integer as offset",
    ),
    (MemRef, _is_memref, "has a MemRefType, a size, and a name that follows from space and number"),
    (MakeTuple, _has_types, "has the type of each element"),
    (TupleGetItemExpr, _has_item, "names an item of a tuple, with its type"),
    (
        OpStmts,
        lambda n: all(isinstance(s, AssignStmt | EvalStmt) for s in n.stmts),
        "holds assignments and evaluations",
    ),
    (
        Function,
        lambda n: len(n.params) == len(n.param_directions),
        "has a direction for each parameter",
    ),
    (Program, _names_agree, "has functions in name order, each name once"),
)

_INDEX: Final = scalar_type(DataType.INDEX)

_NAMES: Final[tuple[tuple[type[Node], Callable[[str], bool], str], ...]] = (
    (Var, is_variable_name, "letters, digits, _, $ and ."),
    (GlobalVar, is_function_name, "an identifier"),
    (Op, is_op_name, "identifiers with dots between them"),
    (Function, is_function_name, "an identifier"),
    (Program, is_program_name, "an identifier"),
)
"""What names are, by the first class that fits. It holds of what is written and of what is read."""


_NAME_OF: Final[dict[type[Node], tuple[Callable[[str], bool], str] | None]] = {}
"""The row of `_NAMES` for each class that was seen, None for classes without names."""


def _check_name(node: Any) -> None:
    """Raise SerializeError if a node has a name that programs from outside may not have."""
    cls = cast("type[Node]", type(node))
    if cls not in _NAME_OF:
        rows = ((holds, wanted) for base, holds, wanted in _NAMES if issubclass(cls, base))
        _NAME_OF[cls] = next(rows, None)
    row = _NAME_OF[cls]
    if row is None:
        return
    holds, wanted = row
    if not holds(node.name):
        raise _misnamed(f"a {cls.__name__}", node.name, wanted)
    if cls is Program and node.entry is not None and not holds(node.entry):
        raise _misnamed("the entry of a program", node.entry, wanted)


def _misnamed(what: str, name: str, wanted: str) -> SerializeError:
    return SerializeError(
        f"{what} is called {_shortened(name)}, wanted {wanted}", hint="give it another name"
    )


def _check_file(name: str) -> None:
    if not is_file_name(name):
        raise SerializeError(f"a file is called {_shortened(name)}, which has control characters")


def _shortened(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}...")


_LONGEST_SHOWN: Final = 60


_VALUES: Final = (Type, TensorView, TileView, ConstInt, ConstFloat, ConstBool)
"""Classes whose objects are told apart by nothing but what they hold."""

_SHARED: Final[dict[type[Node], Callable[[Any], Node]]] = {
    ScalarType: lambda node: scalar_type(node.dtype),
    UnknownType: lambda _node: UnknownType.get(),
    OpDef: _registered,
}
"""Classes whose objects exist once in a process: from a node just read to that object."""


# --------------------------------------------------------------------------------------------
# Writing
# --------------------------------------------------------------------------------------------


def nodes_in(value: Any, depth: int = 0) -> Iterator[Node]:
    """Yield the nodes in the value of a field: itself, or those in its lists and mappings."""
    if isinstance(value, Node):
        yield value
    elif isinstance(value, tuple | list | Mapping) and depth <= _DEEPEST + 1:
        held = cast("Mapping[Any, Any] | Sequence[Any]", value)
        for item in held.values() if isinstance(held, Mapping) else held:
            yield from nodes_in(item, depth + 1)


def _children(node: Node) -> Iterator[Node]:
    for name, _ in _parts(type(node)):
        yield from nodes_in(getattr(node, name))


def _bits(token: Any) -> Any:
    """Return a token such that equal ones mean the same: 0.0 equals -0.0, and NaN no NaN."""
    return pack("<d", token) if token.__class__ is float else token


class _Writer:
    """Turns one tree into tokens."""

    def __init__(self) -> None:
        self.out: list[Any] = []  # rows of the nodes
        self.index: dict[int, int] = {}  # by identity: the tree keeps its nodes alive
        self.files: dict[str, int] = {}
        self.spans: dict[tuple[int, ...], int] = {}
        self.classes: dict[type[Node], int] = {}
        self.values: dict[tuple[Any, ...], int] = {}  # by their rows
        self.number = 0  # of nodes
        self.where = ""

    def refuse(self, value: Any, wanted: str) -> SerializeError:
        """Return the error for a value that has no serialised form."""
        return SerializeError(f"{self.where} holds {value!r}, wanted {wanted}")

    def document(self, root: Node) -> list[Any]:
        """Return all tokens of ``root``."""
        known = _node_classes()
        opened: set[int] = {id(root)}
        stack = [(root, _children(root))]
        while stack:
            node, rest = stack[-1]
            child = next((c for c in rest if id(c) not in self.index), None)
            if child is None:
                stack.pop()
                opened.discard(id(node))
                self.row(node, known)
            elif id(child) in opened:
                raise InternalError(f"a {type(child).__name__} holds itself")
            else:
                opened.add(id(child))
                stack.append((child, _children(child)))
        return [MAGIC, SCHEMA, *self.tables(), self.number, *self.out]

    def row(self, node: Node, known: Mapping[str, type[Node]]) -> None:
        """Append one node whose children are written."""
        cls = type(node)
        if known.get(cls.__name__) is not cls:
            raise SerializeError(f"there are two node classes named {cls.__name__}")
        start = len(self.out)
        self.out.append(self.classes.setdefault(cls, len(self.classes)))
        for name, kind in _parts(cls):
            self.where = f"{cls.__name__}.{name}"
            kind.write(self, getattr(node, name))
        _check_name(node)
        number = self.number
        if isinstance(node, _VALUES):
            number = self.values.setdefault(tuple(map(_bits, self.out[start:])), number)
        self.index[id(node)] = number
        if number == self.number:
            self.number += 1
        else:
            del self.out[start:]

    def tables(self) -> Iterator[Any]:
        """Yield the tokens of the tables that rows point into."""
        for name in self.files:
            _check_file(name)
        yield len(self.files)
        yield from self.files
        yield len(self.spans)
        for row in self.spans:
            yield from row
        yield len(self.classes)
        for cls in self.classes:
            names = [name for name, _ in _parts(cls)]
            yield from (cls.__name__, len(names), *names)


# --------------------------------------------------------------------------------------------
# Tokens from bytes
# --------------------------------------------------------------------------------------------


def _no_ir() -> SerializeError:
    return SerializeError(
        "these bytes are no serialised IR", hint="pass what pypto.ir.serialize(program) returned"
    )


def _array_header(data: bytes) -> tuple[int, int]:
    """Return the length of the array that ``data`` is, and the bytes that say so; 0, 0 if none."""
    match data[:1]:
        case b"\xdc":
            size = 3
        case b"\xdd":
            size = 5
        case first:
            short = bool(first) and first[0] >> 4 == 9
            return (first[0] & 15, 1) if short else (0, 0)
    return int.from_bytes(data[1:size], "big"), size


def _tokens(data: bytes) -> list[Any]:
    """Return the tokens after the schema number; memory is proportional to ``data``."""
    # The unpacker sees the values only and nothing may be nested: a header that claims many
    # elements then allocates nothing.
    nothing = dict.fromkeys(("max_array_len", "max_map_len", "max_ext_len", "max_bin_len"), 0)
    limits = {"max_buffer_size": len(data) + 1, "max_str_len": len(data), **nothing}
    unpacker = msgpack.Unpacker(raw=False, unicode_errors="surrogatepass", **limits)
    count, start = _array_header(data)
    try:
        unpacker.feed(memoryview(data)[start:])
        magic: Any = unpacker.unpack() if start else None
        schema: Any = unpacker.unpack() if magic == MAGIC else None
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise _no_ir() from error
    if type(schema) is not int:
        raise _no_ir()
    if schema != SCHEMA:
        raise SerializeError(
            f"the bytes have schema {schema}, this version of pypto reads schema {SCHEMA}",
            hint="write them anew with pypto.ir.serialize of this version",
        )
    try:
        tokens: list[Any] = list(unpacker)
    except (ValueError, msgpack.exceptions.UnpackException) as error:
        raise SerializeError("the serialised IR is damaged: it is not MessagePack") from error
    if len(tokens) != count - 2 or unpacker.tell() != len(data) - start:
        raise SerializeError(
            f"the serialised IR is damaged: {count} values announced, {len(tokens) + 2} found"
        )
    return tokens


# --------------------------------------------------------------------------------------------
# Nodes from tokens
# --------------------------------------------------------------------------------------------


class _Reader:
    """Turns tokens into nodes, each checked before it is made."""

    def __init__(self, tokens: list[Any]) -> None:
        self.tokens = tokens
        self.position = 0
        self.nodes: list[Node] = []
        self.spans: list[Span] = []
        self.where = "the header"

    def fail(self, found: str) -> SerializeError:
        """Return the error for damaged input."""
        return SerializeError(f"the serialised IR is damaged: {self.where} holds {found}")

    def take(self, wanted: type) -> Any:
        """Return the next token, which must be exactly of type ``wanted``."""
        if self.position >= len(self.tokens):
            raise self.fail(f"nothing, wanted {wanted.__name__}")
        token = self.tokens[self.position]
        self.position += 1
        if type(token) is not wanted:
            raise self.fail(f"{type(token).__name__}, wanted {wanted.__name__}")
        return token

    def skip_none(self) -> bool:
        """True if the next token is None, which is then taken."""
        absent = self.position < len(self.tokens) and self.tokens[self.position] is None
        self.position += absent
        return absent

    def count(self) -> int:
        """Return the number of elements that follow; each takes one token at least."""
        number = self.take(int)
        if not 0 <= number <= len(self.tokens) - self.position:
            raise self.fail(f"{number} elements, which are not there")
        return number

    def entry(self, table: Sequence[Any], what: str) -> Any:
        """Return the element of ``table`` that the next token names."""
        number = self.take(int)
        if not 0 <= number < len(table):
            raise self.fail(f"{what} {number} of {len(table)}")
        return table[number]

    def member(self, cls: type[Enum]) -> Enum:
        """Return a member of an enumeration."""
        value = self.take(int)
        try:
            return cls(value)
        except ValueError as error:
            raise self.fail(f"{value}, which is no {cls.__name__}") from error

    def node(self, cls: type[Node]) -> Node:
        """Return an earlier node, which must be a ``cls``."""
        node: Node = self.entry(self.nodes, "node")
        if not isinstance(node, cls):
            raise self.fail(f"{type(node).__name__}, wanted {cls.__name__}")
        return node

    def span(self) -> Span:
        """Return a span of the table."""
        return self.entry(self.spans, "span")

    def document(self) -> IRNode:
        """Return the root: the last node."""
        files = [self.take(str) for _ in range(self.count())]
        for name in files:
            _check_file(name)
        self.spans = [self.span_row(files) for _ in range(self.count())]
        known = _node_classes()
        classes = [self.class_row(known) for _ in range(self.count())]
        for _ in range(self.count()):
            self.where = "a node"
            read: Callable[[], Node] = self.entry(classes, "class")
            self.nodes.append(read())
        self.where = "the end"
        if self.position != len(self.tokens):
            raise self.fail(f"{len(self.tokens) - self.position} values too many")
        root = self.nodes[-1] if self.nodes else None
        if not isinstance(root, IRNode):
            raise self.fail(f"{type(root).__name__}, wanted an IR node")
        return root

    def span_row(self, files: Sequence[str]) -> Span:
        """Read one source range."""
        filename: str = self.entry(files, "file")
        begin_line, begin_column, end_line, end_column = (self.take(int) for _ in range(4))
        if (filename, begin_line, begin_column, end_line, end_column) == ("", -1, -1, -1, -1):
            return UNKNOWN_SPAN
        return Span(filename, begin_line, begin_column, end_line, end_column)

    def class_row(self, known: Mapping[str, type[Node]]) -> Callable[[], Node]:
        """Read the name and fields of a node class; return what reads a node of it."""
        name = self.take(str)
        fields = [self.take(str) for _ in range(self.count())]
        cls = known.get(name)
        if cls is None or cls in _ABSTRACT:
            raise self.fail(f"node class {name!r}, which does not exist")
        parts = _parts(cls)
        if fields != [field for field, _ in parts]:
            raise self.fail(f"other fields for {name} than this version of pypto has")
        rules = [(holds, text) for base, holds, text in _RULES if issubclass(cls, base)]
        rows = [(field, f"{name}.{field}", kind.read) for field, kind in parts]
        return partial(self.fields, cls, rows, rules)

    def fields(
        self,
        cls: type[Node],
        rows: Sequence[tuple[str, str, Callable[[_Reader], Any]]],
        rules: Sequence[tuple[Callable[[Any], bool], str]],
    ) -> Node:
        """Read the fields of a ``cls``; return it when all hold what they should."""
        node: Node = object.__new__(cls)
        for name, where, read in rows:
            self.where = where
            _put(node, name, read(self))
        _check_name(node)
        for holds, text in rules:
            if not holds(node):
                message = f"the serialised IR is damaged: a {cls.__name__} {text}, this one not"
                raise SerializeError(message)
        shared = _SHARED.get(cls)
        return node if shared is None else shared(node)
