"""IR as bytes and back: data only, in MessagePack.

A program is one flat array of numbers and strings: magic, schema number, table of files, table of
spans, table of node classes with their field names, then the nodes, children first. A node names
what it holds by position among the earlier nodes. So an object used twice stays one object, no
input can describe a cycle, and nothing here recurses over the depth of a program.

Types, their views, and constants are values: equal ones are written once, whether they are one
object or several, so that the bytes do not depend on it.

This module knows no op; the registry is handed to it by `use_registry`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from struct import pack
from threading import get_ident
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import InternalError, SerializeError, of_type, with_article
from pypto._src.ir.exprs import IRNode, Op
from pypto._src.ir.node_base import Node
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.serialization.field_kinds import ABSTRACT, node_classes, nodes_in, parts
from pypto._src.ir.serialization.rules import RULES, VALUES, check_file, check_name
from pypto._src.ir.serialization.tokens import MAGIC, SCHEMA, TokenReader, TokenWriter, tokens_of
from pypto._src.ir.types import ScalarType, UnknownType, scalar_type
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    from pathlib import Path

msgpack = lazy_module("msgpack")

_put = object.__setattr__


def serialize(node: IRNode) -> bytes:
    """Return ``node`` and everything below it as bytes; the same tree gives the same bytes.

    Raises:
        TypeError: ``node`` is not an IR node; nor is a type alone.
        SerializeError: a keyword or attribute is of a kind that has no serialised form, or a name
            is not an identifier.
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
        SerializeError: ``data`` is damaged, not serialised IR, or of another schema; or a name in
            it is not an identifier, or a file's name has control characters.
        TypeError: ``data`` is not bytes.
    """
    if not isinstance(cast("object", data), bytes | bytearray | memoryview):
        raise TypeError(f"deserialize takes bytes, got {type(data).__name__}")
    return _Reader(tokens_of(bytes(data))).document()


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
    """Make `deserialize` look up registered ops with ``find``, which returns None for others."""
    _Registry.find = staticmethod(find)


def _registered(node: Any) -> Op:
    name: str = node.name
    found = None if _Registry.find is None else _Registry.find(name)
    return Op(name) if found is None else found


_SHARED: Final[dict[type[Node], Callable[[Any], Node]]] = {
    ScalarType: lambda node: scalar_type(node.dtype),
    UnknownType: lambda _node: UnknownType.get(),
    OpDef: _registered,
}
"""Classes with shared objects: for each, what maps a node just read to the shared one."""


def _children(node: Node) -> Iterator[Node]:
    for name, _ in parts(type(node)):
        yield from nodes_in(getattr(node, name))


def _bits(token: Any) -> Any:
    """Return a key that is equal for the same token only: 0.0 == -0.0, and NaN != NaN."""
    return pack("<d", token) if token.__class__ is float else token


class _Writer(TokenWriter):
    """Turns one tree into tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.classes: dict[type[Node], int] = {}
        self.values: dict[tuple[Any, ...], int] = {}  # by their rows
        self.number = 0  # of nodes

    def document(self, root: Node) -> list[Any]:
        """Return all tokens of ``root``."""
        known = node_classes()
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
                raise InternalError(f"{of_type(child)} holds itself")
            else:
                opened.add(id(child))
                stack.append((child, _children(child)))
        return [MAGIC, SCHEMA, *self.tables(), self.number, *self.out]

    def row(self, node: Node, known: Mapping[str, type[Node]]) -> None:
        """Append one node whose children are already written."""
        cls = type(node)
        if known.get(cls.__name__) is not cls:
            raise SerializeError(f"there are two node classes named {cls.__name__}")
        start = len(self.out)
        self.out.append(self.classes.setdefault(cls, len(self.classes)))
        for name, kind in parts(cls):
            self.where = f"{cls.__name__}.{name}"
            kind.write(self, getattr(node, name))
        check_name(node)
        number = self.number
        if isinstance(node, VALUES):
            number = self.values.setdefault(tuple(map(_bits, self.out[start:])), number)
        self.index[id(node)] = number
        if number == self.number:
            self.number += 1
        else:
            del self.out[start:]

    def tables(self) -> Iterator[Any]:
        """Yield the tokens of the tables that rows point into."""
        for name in self.files:
            check_file(name)
        yield len(self.files)
        yield from self.files
        yield len(self.spans)
        for row in self.spans:
            yield from row
        yield len(self.classes)
        for cls in self.classes:
            names = [name for name, _ in parts(cls)]
            yield from (cls.__name__, len(names), *names)


class _Reader(TokenReader):
    """Turns tokens into nodes, each checked before it is made."""

    def document(self) -> IRNode:
        """Return the root: the last node."""
        files = [self.take(str) for _ in range(self.count())]
        for name in files:
            check_file(name)
        self.spans = [self.span_row(files) for _ in range(self.count())]
        known = node_classes()
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
        """Read the name and fields of a node class; return a reader of its nodes."""
        name = self.take(str)
        fields = [self.take(str) for _ in range(self.count())]
        cls = known.get(name)
        if cls is None or cls in ABSTRACT:
            raise self.fail(f"node class {name!r}, which does not exist")
        held = parts(cls)
        if fields != [field for field, _ in held]:
            raise self.fail(f"other fields for {name} than this version of pypto has")
        rules = [(holds, text) for base, holds, text in RULES if issubclass(cls, base)]
        rows = [(field, f"{name}.{field}", kind.read) for field, kind in held]
        return partial(self.fields, cls, rows, rules)

    def fields(
        self,
        cls: type[Node],
        rows: Sequence[tuple[str, str, Callable[[TokenReader], Any]]],
        rules: Sequence[tuple[Callable[[Any], bool], str]],
    ) -> Node:
        """Read the fields of a ``cls``; return it if they are all valid."""
        node: Node = object.__new__(cls)
        for name, where, read in rows:
            self.where = where
            _put(node, name, read(self))
        check_name(node)
        for holds, text in rules:
            if not holds(node):
                what = with_article(cls.__name__)
                raise SerializeError(f"the serialised IR is damaged: {what} {text}, this one not")
        shared = _SHARED.get(cls)
        return node if shared is None else shared(node)
