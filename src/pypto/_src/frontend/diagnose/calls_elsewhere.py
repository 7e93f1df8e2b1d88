"""Calls of other libraries whose arguments have another form here: what to write for each.

Ops that take the same arguments in the same order are recipes of `messages`.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from pypto._src.errors import PyptoError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import dtype_like
from pypto._src.ir.array_types import ShapedType, TileType, static_shape
from pypto._src.ir.enums import FunctionType
from pypto._src.ops.unified import is_number
from pypto._src.records import NamedTuple


class Foreign(NamedTuple):
    """A call of another library: its operands, the object of a method first, and its keywords."""

    ctx: Context
    nodes: Sequence[ast.expr]
    words: Mapping[str, ast.expr]

    def node(self, at: int, *names: str) -> ast.expr | None:
        """Return the argument at a position, or of a keyword."""
        found = (self.words[name] for name in names if name in self.words)
        return self.nodes[at] if at < len(self.nodes) else next(found, None)

    def text(self, at: int) -> str:
        """Return an operand as the user wrote it."""
        return self.ctx.source.text(self.nodes[at])

    def value(self, node: ast.expr | None) -> Any:
        """Return what an argument means, None if it means nothing."""
        try:
            return None if node is None else self.ctx.value(node)
        except PyptoError:
            return None

    def kind(self, at: int) -> ShapedType | None:
        """Return the type of a tile or tensor, None for other operands."""
        found = getattr(self.value(self.node(at)), "type", None)
        return found if isinstance(found, ShapedType) else None

    def integers(self, first: int, *names: str) -> list[int] | None:
        """Return the integers in a list, or in arguments one by one, None if some are not known."""
        one = self.node(first, *names)
        nodes = one.elts if isinstance(one, ast.List | ast.Tuple) else self.nodes[first:]
        values = [self.value(each) for each in nodes or [one]]
        return values if all(isinstance(each, int) for each in values) else None


Meaning: TypeAlias = Callable[[Foreign], str | None]


def meant_elsewhere(
    ctx: Context, name: str, nodes: Sequence[ast.expr], keywords: Sequence[ast.keyword]
) -> str | None:
    """Return what is written for a call of another library, None if there is no form for it."""
    meaning = _MEANINGS.get(name)
    if meaning is None or not nodes:
        return None
    return meaning(Foreign(ctx, nodes, {word.arg or "": word.value for word in keywords}))


def _rounded_up(call: Foreign) -> str | None:
    if len(call.nodes) != 2:
        return None
    a, b = map(call.ctx.source.operand, call.nodes)
    return f"write (({a} + {b} - 1) // {b})"


def _full_of(number: int) -> Meaning:
    def filled(call: Foreign) -> str | None:
        sizes = call.value(call.nodes[0])
        shape, rest = call.text(0), call.nodes[1:]
        if isinstance(sizes, int):  # zeros(64, 64)
            counted = [node for node in call.nodes if isinstance(call.value(node), int)]
            shape = f"[{', '.join(map(call.ctx.source.text, counted))}]"
            rest = call.nodes[len(counted) :]
        node = rest[0] if rest else call.words.get("dtype")
        dtype = None if node is None else dtype_like(call.ctx.peek(node))
        member = "FP32" if dtype is None else dtype.member
        value = str(number if dtype is not None and dtype.is_int() else float(number))
        full = f"pl.full({shape}, pl.{member}, {value})"
        if call.ctx.region is None and call.ctx.func_type is FunctionType.Orchestration:
            return f"in a region or an InCore function, store {full}"
        return f"write {full}"

    return filled


def _joined(axis: int | None) -> Meaning:
    """Return the join of tiles on an axis; on that of the call if it is None."""

    def joined(call: Foreign) -> str | None:
        parts = call.nodes[0]
        if not isinstance(parts, ast.List | ast.Tuple) or not parts.elts:
            return None
        along = call.node(1, "dim", "axis")
        found = axis if axis is not None else 0 if along is None else call.value(along)
        if found not in (1, -1):
            return _TO_ROWS
        text, *others = map(call.ctx.source.text, parts.elts)
        for other in others:
            text = f"pl.concat({text}, {other})"
        return f"write {text}"

    return joined


_TO_ROWS: Final = "pl.concat joins columns: store each part to rows of its own in the output"


def _clamped(call: Foreign) -> str | None:
    text = call.text(0)
    low, high = call.node(1, "min", "a_min"), call.node(2, "max", "a_max")
    for op, bound in (("maximum", low), ("minimum", high)):
        if bound is not None and getattr(bound, "value", 0) is not None:
            text = f"pl.{op}({text}, {call.ctx.source.text(bound)})"
    return None if text == call.text(0) else f"write {text}"


def _reshape(call: Foreign, shape: Sequence[int]) -> str | None:
    return f"write pl.reshape({call.text(0)}, {list(shape)})" if shape else None


def _shape(call: Foreign) -> list[int] | None:
    kind = call.kind(0)
    shape = None if kind is None else static_shape(kind)
    return None if shape is None else [*shape]


def _resized(call: Foreign) -> str | None:
    """Return a reshape with the size that -1 stands for."""
    sizes, shape = call.integers(1, "shape", "size"), _shape(call)
    if sizes is None:
        return None
    if sizes.count(-1) == 1 and shape is not None:
        others = math.prod(size for size in sizes if size != -1)
        if others <= 0 or math.prod(shape) % others:
            return None
        sizes = [math.prod(shape) // others if size == -1 else size for size in sizes]
    return None if any(size < 1 for size in sizes) else _reshape(call, sizes)


def _flat(call: Foreign) -> str | None:
    shape = _shape(call)
    is_whole = shape is not None and len(call.nodes) == 1 and not call.words
    return _reshape(call, [math.prod(shape)]) if shape is not None and is_whole else None


def _unsqueezed(call: Foreign) -> str | None:
    shape, axis = _shape(call), call.value(call.node(1, "dim", "axis"))
    if shape is None or not isinstance(axis, int):
        return None
    shape.insert(axis if axis >= 0 else len(shape) + 1 + axis, 1)
    return _reshape(call, shape)


def _permuted(call: Foreign) -> str | None:
    """Return the transpose that swaps two axes."""
    axes, kind = call.integers(1, "dims", "axes"), call.kind(0)
    if axes is None or kind is None or sorted(axes) != [*range(len(kind.shape))]:
        return None
    moved = [at for at, axis in enumerate(axes) if at != axis]
    if len(moved) != 2:
        return f"write {call.text(0)}" if not moved else None
    return f"write pl.transpose({call.text(0)}, {moved[0]}, {moved[1]})"


def _stride(call: Foreign) -> str | None:
    """Return how many elements are between two that follow each other on an axis."""
    kind, axis = call.kind(0), call.value(call.node(1, "dim"))
    if kind is None or not isinstance(axis, int) or not -len(kind.shape) <= axis < len(kind.shape):
        return None
    behind = range(axis % len(kind.shape) + 1, len(kind.shape))
    sizes = [f"{call.text(0)}.shape[{each}]" for each in behind]
    return f"write ({' * '.join(sizes)})" if len(sizes) > 1 else f"write {(*sizes, '1')[0]}"


def _element(call: Foreign) -> str | None:
    kind = call.kind(0)
    if kind is None or len(call.nodes) > 1:
        return None
    return f"write {call.text(0)}[{', '.join(['0'] * len(kind.shape))}]"


def _chosen(call: Foreign) -> str | None:
    """Return ``pl.sel`` with tiles in place of numbers."""
    if len(call.nodes) != 3 or not isinstance(call.kind(0), TileType):
        return None
    return f"write {selected(call.ctx, *call.nodes)}"


def selected(ctx: Context, test: ast.expr, if_so: ast.expr, if_not: ast.expr) -> str:
    """Return the choice between two tiles, of which one or both may be numbers."""
    call = Foreign(ctx, [test, if_so, if_not], {})
    kind = call.kind(1) or call.kind(2) or call.kind(0)
    texts = [call.text(at) for at in range(3)]
    for at in (1, 2):
        if kind is not None and is_number(call.value(call.nodes[at])):
            shape = static_shape(kind)
            size = f"{texts[0]}.shape" if shape is None else str([*shape])
            texts[at] = f"pl.full({size}, pl.{kind.dtype.member}, {texts[at]})"
    return f"pl.sel({', '.join(texts)})"


_MEANINGS: Final[Mapping[str, Meaning]] = {
    "cat": _joined(None),
    "cdiv": _rounded_up,
    "clamp": _clamped,
    "clip": _clamped,
    "concatenate": _joined(None),
    "flatten": _flat,
    "hstack": _joined(1),
    "item": _element,
    "ones": _full_of(1),
    "permute": _permuted,
    "ravel": _flat,
    "reshape": _resized,
    "stride": _stride,
    "unsqueeze": _unsqueezed,
    "view": _resized,
    "vstack": _joined(0),
    "where": _chosen,
    "zeros": _full_of(0),
}
"""By name."""
