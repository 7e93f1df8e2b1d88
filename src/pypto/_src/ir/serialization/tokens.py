"""The tokens of serialized IR: decoded from bytes, and taken one by one."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.errors import SerializeError
from pypto._src.ir.node_base import Node
from pypto._src.lazy import lazy_module

msgpack = lazy_module("msgpack")

MAGIC: Final = "pypto.ir"
SCHEMA: Final = 1
"""Version of the byte layout. It increases whenever old readers would misread new bytes."""


class TokenWriter:
    """Tokens of the nodes written so far, and the tables that they point into."""

    def __init__(self) -> None:
        self.out: list[Any] = []  # rows of the nodes
        self.index: dict[int, int] = {}  # by identity: the tree keeps its nodes alive
        self.files: dict[str, int] = {}
        self.spans: dict[tuple[int, ...], int] = {}
        self.where = ""

    def refuse(self, value: Any, wanted: str) -> SerializeError:
        """Return the error for a value that has no serialised form."""
        return SerializeError(f"{self.where} holds {value!r}, wanted {wanted}")

    def span(self, span: Span) -> None:
        """Append the number of a source range, which is added to the tables."""
        file = self.files.setdefault(span.filename, len(self.files))
        row = (file, span.begin_line, span.begin_column, span.end_line, span.end_column)
        self.out.append(self.spans.setdefault(row, len(self.spans)))


class TokenReader:
    """Takes tokens one by one, each only if it is of the expected kind."""

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
        """Return the number of elements that follow; each takes at least one token."""
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


def _no_ir() -> SerializeError:
    return SerializeError(
        "these bytes are not serialised IR", hint="pass what pypto.ir.serialize(program) returned"
    )


def _array_header(data: bytes) -> tuple[int, int]:
    """Return the length of the array in ``data``, and the size of its header; 0, 0 if none."""
    match data[:1]:
        case b"\xdc":
            size = 3
        case b"\xdd":
            size = 5
        case first:
            short = bool(first) and first[0] >> 4 == 9
            return (first[0] & 15, 1) if short else (0, 0)
    return int.from_bytes(data[1:size], "big"), size


def tokens_of(data: bytes) -> list[Any]:
    """Return the tokens after the schema number; memory is proportional to ``data``."""
    # The unpacker sees only the values, and nothing may be nested: so a header that claims many
    # elements allocates nothing.
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
