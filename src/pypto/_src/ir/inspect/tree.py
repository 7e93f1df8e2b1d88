"""The whole IR for people and for tools: a tree of node classes, and JSON.

Both derive from the declared fields, so a new node class needs no line here. Neither can be read
back: `serialize` is for that. (Notebooks show nodes through `highlight`.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from math import isfinite
from typing import Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, of_type
from pypto._src.ir.exprs import GlobalVar, IRNode, Op
from pypto._src.ir.node_base import Node
from pypto._src.ir.serialization.field_kinds import nodes_in
from pypto._src.ir.types import Type

DEEPEST_MARGIN: Final = 40

JSON_FORMAT: Final = "pypto.ir"
JSON_VERSION: Final = 1


def _fields(node: Node) -> Iterator[tuple[str, Any]]:
    for field in node.fields():
        yield field.name, getattr(node, field.name)


def _check(what: str, node: object) -> None:
    if not isinstance(node, IRNode | Type):
        raise TypeError(f"{what} takes an IR node or a type, got {type(node).__name__}")


# --------------------------------------------------------------------------------------------
# Tree
# --------------------------------------------------------------------------------------------


def dump_tree(node: IRNode | Type, *, spans: bool = False) -> str:
    """Return one line per node: field, class, and the values that are not nodes themselves.

    ::

        AssignStmt
          var: Var y type=pl.Scalar[pl.INT64]
          value: Add type=pl.Scalar[pl.INT64]
            left: Var x #1 type=pl.Scalar[pl.INT64]
            right: Var x #1

    An object that occurs more than once has a number; it is shown whole where it occurs first.
    Fields that are empty or None are left out, and nodes deeper than 40 levels say their depth in
    parentheses in place of more indentation. With ``spans``, known spans follow as
    ``@file:3:4``.

    Raises:
        TypeError: ``node`` is neither a node nor a type.
    """
    _check("dump_tree", node)
    return "\n".join(_tree_lines(node, spans))


def _tree_lines(root: Node, spans: bool) -> Iterator[str]:
    shared = _shared(root)
    numbers: dict[int, int] = {}
    stack: list[tuple[int, str, Node]] = [(0, "", root)]
    while stack:
        depth, label, node = stack.pop()
        words = [f"{_margin(depth)}{label}{type(node).__name__}", *_name(node)]
        again = id(node) in numbers
        if id(node) in shared:
            words.append(f"#{numbers.setdefault(id(node), len(numbers) + 1)}")
        if again:
            yield " ".join(words)
            continue
        yield " ".join([*words, *_values(node, spans)])
        below = [(depth + 1, f"{name}: ", child) for name, child in _below(node)]
        below.reverse()
        stack += below


def _margin(depth: int) -> str:
    """Return the indentation; deeper than `DEEPEST_MARGIN` the depth is given as a number."""
    if depth <= DEEPEST_MARGIN:
        return "  " * depth
    return f"{'  ' * DEEPEST_MARGIN}({depth}) "


def _shared(root: Node) -> set[int]:
    """Return the identities of the nodes that occur more than once."""
    seen: set[int] = set()
    shared: set[int] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if id(node) in seen:
            shared.add(id(node))
        else:
            seen.add(id(node))
            stack += [child for _, child in _below(node)]
    return shared


def _below(node: Node) -> Iterator[tuple[str, IRNode]]:
    """Yield the nodes that have their own lines, each with the name of its field."""
    for name, value in _fields(node):
        if isinstance(value, IRNode):
            yield name, value
        elif _is_of_nodes(value):
            for index, item in enumerate(value):
                yield f"{name}[{index}]", item


def _is_of_nodes(value: Any) -> bool:
    if not isinstance(value, tuple):
        return False
    items = cast("tuple[Any, ...]", value)
    return bool(items) and all(isinstance(item, IRNode) for item in items)


def _name(node: Node) -> list[str]:
    name = getattr(node, "name", None)
    if not isinstance(name, str) or not name:
        return []
    return [name if name.isidentifier() else repr(name)]


def _values(node: Node, spans: bool) -> Iterator[str]:
    """Yield the parts of the line of ``node`` itself."""
    for name, value in _fields(node):
        if isinstance(value, Span):
            if spans and value is not UNKNOWN_SPAN:
                yield f"@{value}"
        elif name == "name" or value is None or isinstance(value, IRNode) or _is_of_nodes(value):
            continue
        elif value or not isinstance(value, tuple | Mapping):
            yield f"{name}={_value_text(value)}"


def _value_text(value: Any) -> str:
    if isinstance(value, Op):
        return value.name
    if isinstance(value, Node | Enum):
        return str(value)
    if isinstance(value, DataType):
        return value.member
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        return "{" + ", ".join(f"{key}={_value_text(item)}" for key, item in items.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value_text(item) for item in cast("Sequence[Any]", value)) + "]"
    return repr(value)


# --------------------------------------------------------------------------------------------
# JSON
# --------------------------------------------------------------------------------------------


def to_json(node: IRNode | Type, *, indent: int | None = None) -> str:
    """Return ``node`` and everything below it as JSON; the same tree gives the same text.

    The whole is ``{"format": "pypto.ir", "version": 1, "root": R, "nodes": [...]}``. A node is
    an object with ``"id"`` (its index, so that references go backwards only), ``"class"`` and
    its fields by name; ``"root"`` is the last id. Types and views are nodes as well. An object
    used twice is one node, and so are two equal types that hold no other. Values of fields are
    null, true, false, integers, finite floats, strings and arrays, as in JSON, or an object
    with one key:

    ========================= ===================================================
    ``{"ref": 3}``            the node with id 3
    ``{"op": "block.add"}``   an op, ``{"function": "f"}`` a function of the program
    ``{"dtype": "FP32"}``     an element type
    ``{"enum": "ForKind.Parallel"}`` a member of an enumeration
    ``{"float": "nan"}``      a float that JSON lacks: ``nan``, ``inf`` or ``-inf``
    ``{"dict": {...}}``       keywords and attributes, in their order
    ``{"span": [...]}``       file, first line and column, last line and column
    ========================= ===================================================

    A field ``span`` is null if it is not known.

    Raises:
        TypeError: ``node`` is neither a node nor a type, or holds a value that is not data.
    """
    _check("to_json", node)
    rows: list[dict[str, Any]] = []
    ids: dict[int, int] = {}
    types: dict[str, int] = {}
    for item in _children_first(node):
        fields = {name: _json_value(value, ids) for name, value in _fields(item)}
        row = {"id": len(rows), "class": type(item).__name__, **fields}
        number = len(rows)
        if isinstance(item, Type) and next(_held(item), None) is None:
            number = types.setdefault(json.dumps({**row, "id": 0}), number)
        ids[id(item)] = number
        if number == len(rows):
            rows.append(row)
    whole = {"format": JSON_FORMAT, "version": JSON_VERSION, "root": ids[id(node)], "nodes": rows}
    return json.dumps(whole, indent=indent, allow_nan=False)


def _children_first(root: Node) -> Iterator[Node]:
    """Yield every object below ``root`` once, after those that it holds; ops are not among them."""
    done: set[int] = set()
    opened: set[int] = {id(root)}
    stack = [(root, _held(root))]
    while stack:
        node, rest = stack[-1]
        child = next((c for c in rest if id(c) not in done), None)
        if child is None:
            stack.pop()
            opened.discard(id(node))
            done.add(id(node))
            yield node
        elif id(child) in opened:
            raise InternalError(f"{of_type(child)} holds itself")
        else:
            opened.add(id(child))
            stack.append((child, _held(child)))


def _held(node: Node) -> Iterator[Node]:
    for _, value in _fields(node):
        yield from (item for item in nodes_in(value) if not isinstance(item, Op))


def _json_value(value: Any, ids: Mapping[int, int]) -> Any:
    match value:
        case GlobalVar():
            return {"function": value.name}
        case Op():
            return {"op": value.name}
        case Node():
            return {"ref": ids[id(value)]}
        case Enum():
            return {"enum": f"{type(value).__name__}.{value.name}"}
        case DataType():
            return {"dtype": value.member}
        case Span():
            return _json_span(value)
        case float() if not isfinite(value):
            return {"float": str(value)}
        case None | bool() | int() | float() | str():
            return value
        case tuple() | list():
            items = cast("Sequence[Any]", value)
            return [_json_value(item, ids) for item in items]
        case Mapping():
            pairs = cast("Mapping[str, Any]", value)
            return {"dict": {key: _json_value(item, ids) for key, item in pairs.items()}}
        case _:
            raise TypeError(f"a value of {type(value).__name__} has no JSON form")


def _json_span(span: Span) -> Any:
    if span is UNKNOWN_SPAN:
        return None
    ends = [span.begin_line, span.begin_column, span.end_line, span.end_column]
    return {"span": [span.filename, *ends]}
