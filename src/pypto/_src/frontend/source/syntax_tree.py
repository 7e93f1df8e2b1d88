"""What Python's syntax tree contains: its nodes, and the names that its statements assign."""

from __future__ import annotations

import ast
from ast import Assign, Name
from collections.abc import Collection, Sequence
from typing import Any, Final


def nodes_in(*roots: ast.AST) -> list[ast.AST]:
    """Return nodes and all their descendants, without those that only say "load" or "store".

    `ast.walk` visits these, too, which are two fifths of all nodes, and takes twice the time: as
    long as Python's parser.
    """
    found = [*roots]
    for node in found:
        for field in node._fields:
            value: Any = getattr(node, field, None)
            cls = value.__class__
            if cls is list:
                found += [item for item in value if isinstance(item, ast.AST)]
            elif cls not in _NO_NODES and isinstance(value, ast.AST):
                found.append(value)
    return found


def bound_names(node: ast.AST) -> list[str]:
    """Return all names that a statement binds, in whatever way."""
    found: dict[str, None] = {}
    for item in ast.walk(node):
        match item:
            case ast.Name(id=name, ctx=ast.Store()):
                found[name] = None
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found[name] = None
            case ast.ClassDef(name=name):
                found[name] = None
            case ast.alias(name=name, asname=asname):
                found[asname or name.partition(".")[0]] = None
            case _:
                continue
    return list(found)


def assigned_names(nodes: Sequence[ast.stmt]) -> dict[str, int]:
    """Return how often statements, nested ones included, assign each name."""
    found: dict[str, int] = {}
    stack: list[Any] = [*nodes]
    for node in stack:
        cls = node.__class__
        if cls is Assign:
            for target in node.targets:
                if target.__class__ is Name:
                    found[target.id] = found.get(target.id, 0) + 1
                else:
                    stack.append(target)
            continue
        if cls is Name:
            found[node.id] = found.get(node.id, 0) + 1
        elif cls in _TARGETS:
            stack.append(node.target)
        elif cls is ast.Tuple or cls is ast.List:
            stack += node.elts
        if cls in _BLOCKS:
            stack += node.body
            stack += getattr(node, "orelse", ())
    return found


def names_changed_in_part(nodes: Sequence[ast.stmt]) -> set[str]:
    """Return the names whose values statements may change without assigning to the names.

    These are ``x[0:4, :] = y``, and calls that are statements, such as ``pl.write(x, [0], 1.0)``.
    """
    found: set[str] = set()
    for node in (inner for stmt in nodes for inner in ast.walk(stmt)):
        targets: Sequence[ast.expr] = ()
        match node:
            case ast.Assign():
                targets = [t.value for t in node.targets if isinstance(t, ast.Subscript)]
            case ast.AugAssign(target=ast.Subscript() as target):
                targets = [target.value]
            case ast.Expr(value=ast.Call() as call):
                targets = call.args
            case _:
                continue
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def aliased_names(node: ast.AST, regions: Collection[str]) -> set[str]:
    """Return the names whose values other names may share, as views do.

    A callee may return what it was given. In ``regions``, statements that begin with calls of these
    attributes, a slice is a copy.
    """
    found: set[str] = set()
    stack: list[tuple[ast.AST, bool]] = [(node, False)]
    while stack:
        stmt, inside = stack.pop()
        if isinstance(stmt, ast.Assign | ast.AnnAssign) and stmt.value is not None:
            targets = stmt.targets if isinstance(stmt, ast.Assign) else [stmt.target]
            if not all(isinstance(target, ast.Subscript) for target in targets):
                names = {target.id for target in targets if isinstance(target, ast.Name)}
                found |= _shared(stmt.value, inside) - names
        if isinstance(stmt, ast.With | ast.For):
            call = stmt.items[0].context_expr if isinstance(stmt, ast.With) else stmt.iter
            marker = call.func if isinstance(call, ast.Call) else None
            inside = inside or (isinstance(marker, ast.Attribute) and marker.attr in regions)
        stack += [(child, inside) for child in ast.iter_child_nodes(stmt)]
    return found


def _shared(value: ast.AST, in_region: bool) -> set[str]:
    """Return the names whose value, or a part of it, a value may be."""
    parts: Sequence[ast.AST] = ()
    match value:
        case ast.Name(id=name):
            return {name}
        case ast.Tuple(elts=elements) | ast.List(elts=elements):
            parts = elements
        case ast.IfExp(body=body, orelse=orelse):
            parts = (body, orelse)
        case ast.Subscript(value=whole) if not in_region:
            parts = (whole,)
        case ast.Call(func=ast.Attribute(attr=attr), args=args) if attr in _SHARING:
            parts = () if in_region and attr == "slice" else args[:1]
        case ast.Call(func=ast.Name(), args=args, keywords=keywords):
            parts = [*args, *(word.value for word in keywords)]
        case _:
            pass
    return {name for part in parts for name in _shared(part, in_region)}


_SHARING: Final = frozenset(
    {"assemble", "no_dep", "reinterpret_view", "reshape", "slice", "store", "transpose", "view"}
)
"""The ops whose value shares the memory of an operand."""

_NO_NODES: Final = frozenset({ast.Load, ast.Store, int, str, type(None)})
_TARGETS: Final = frozenset({ast.AugAssign, ast.AnnAssign, ast.For})
_BLOCKS: Final = frozenset({ast.For, ast.If, ast.While, ast.With})
