"""The source of one specialisation of a ``@pl.jit`` kernel, and the meaning of its names.

Annotations are replaced by the types of arguments, under names that no program can spell;
constants are removed from the parameters.
"""

from __future__ import annotations

import ast
import copy
import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from pypto._src.frontend.source.python_names import Environment
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var

BOTH_WAYS: Final = "both ways"
"""The direction of windows: ranks read what others write, whatever the annotation says."""


class Around(Environment):
    """The meaning of names around one specialisation."""

    __slots__ = ("_sizes",)

    def __init__(self, outer: Environment, names: Mapping[str, Any], sizes: dict[Var, int]) -> None:
        super().__init__((names, *outer.layers), outer.frame)
        self._sizes = sizes

    def get(self, name: str) -> Any:
        """Return the value of ``name``; a symbolic dimension with a known size is that size."""
        value = super().get(name)
        return self._sizes.get(value, value) if isinstance(value, Var) else value


def hidden(name: str) -> str:
    """Return the name under which a specialisation finds a parameter's type."""
    return f"type of {name}"


def rank_names() -> Iterator[str]:
    """Yield candidate names for the number of the rank, the plainest first."""
    yield "rank"
    yield from (f"rank_{number}" for number in itertools.count(1))


def specialised_source(
    node: ast.FunctionDef,
    constants: Mapping[str, Any],
    kinds: Mapping[str, TensorType],
    windows: Collection[str],
    rank_name: str,
) -> ast.FunctionDef:
    """Return a definition without its constant parameters, with the types it is called with.

    One with windows gets the number of its rank as its last parameter, and returns nothing.
    """

    def one(arg: ast.arg) -> ast.arg:
        annotation = arg.annotation
        if arg.arg not in kinds or annotation is None:
            return arg
        name = ast.Name(hidden(arg.arg), ast.Load())
        made = copy.copy(arg)
        if arg.arg in windows:
            direction = ast.copy_location(ast.Name(BOTH_WAYS, ast.Load()), annotation)
            inner = ast.copy_location(name, annotation)
            made.annotation = ast.copy_location(
                ast.Subscript(direction, inner, ast.Load()), annotation
            )
        elif isinstance(annotation, ast.Subscript) and not isinstance(annotation.slice, ast.Tuple):
            ast.copy_location(name, annotation.slice)
            made.annotation = copy.copy(annotation)
            made.annotation.slice = name
        else:
            made.annotation = ast.copy_location(name, annotation)
        return made

    args = node.args
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    made = copy.copy(node)
    kept = [one(arg) for arg in listed if arg.arg not in constants]
    if windows:
        last = listed[-1]
        annotation = ast.copy_location(ast.Name(hidden(rank_name), ast.Load()), last)
        kept.append(ast.copy_location(ast.arg(rank_name, annotation), last))
        made.returns = None
        if isinstance(made.body[-1], ast.Return):  # a launch has no value
            made.body = made.body[:-1] or [ast.copy_location(ast.Pass(), made.body[-1])]
    made.args = ast.arguments(posonlyargs=[], args=kept, kwonlyargs=[], kw_defaults=[], defaults=[])
    return made
