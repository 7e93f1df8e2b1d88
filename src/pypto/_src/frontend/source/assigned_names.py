"""Which names Python statements assign."""

from __future__ import annotations

import ast
from ast import Assign, Name
from collections.abc import Sequence
from typing import Any, Final


def bound_names(node: ast.AST) -> list[str]:
    """Return all names that a statement gives a meaning to, in whatever way."""
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


_TARGETS: Final = frozenset({ast.AugAssign, ast.AnnAssign, ast.For})
_BLOCKS: Final = frozenset({ast.For, ast.If, ast.While, ast.With})
