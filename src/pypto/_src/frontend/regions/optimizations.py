"""Checks ``optimizations=[...]`` of a region; none of them changes a value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from pypto._src.diagnostics import Span
from pypto._src.errors import ParserSyntaxError
from pypto._src.frontend import region_markers
from pypto._src.frontend.state.context import Context


def check_optimizations(ctx: Context, items: Sequence[ast.expr]) -> Span | None:
    """Check the items: ``pl.split`` and ``pl.cross_core_slot``, each at most once.

    Returns:
        The span of ``pl.split``, None if it is not given.

    Raises:
        ParserSyntaxError: an item is something else, is repeated, or has other arguments.
    """
    found: list[Any] = []
    divided: Span | None = None
    for item in items:
        marker = ctx.peek(item.func) if isinstance(item, ast.Call) else None
        if not isinstance(item, ast.Call) or marker not in _CHECKS:
            raise _refused(
                ctx,
                item,
                "optimizations has pl.split and pl.cross_core_slot",
                "write optimizations=[pl.split(pl.SplitMode.UP_DOWN)]",
            )
        if marker in found:
            raise _refused(ctx, item, "each optimization may be listed once", "leave this one out")
        found.append(marker)
        if marker is region_markers.split:
            divided = ctx.span(item)
        words = dict(zip(("mode",), item.args, strict=False))
        words |= {word.arg: word.value for word in item.keywords if word.arg}
        if len(item.args) > 1 or words.keys() - {"mode", "slot_num"}:
            words = {}
        _CHECKS[marker](ctx, item, words)
    return divided


def _check_split(ctx: Context, item: ast.Call, words: dict[str, ast.expr]) -> None:
    mode = ctx.value(words["mode"]) if "mode" in words else None
    if not isinstance(mode, region_markers.SplitMode):
        hint = "write pl.split(pl.SplitMode.UP_DOWN)"
        raise _refused(ctx, item, "pl.split has a mode", hint)
    if "slot_num" in words:
        _check_slots(ctx, words["slot_num"])


def _check_ring(ctx: Context, item: ast.Call, words: dict[str, ast.expr]) -> None:
    if words.keys() != {"slot_num"}:
        hint = "write pl.cross_core_slot(slot_num=2)"
        raise _refused(ctx, item, "pl.cross_core_slot has a number of slots", hint)
    _check_slots(ctx, words["slot_num"])


def _check_slots(ctx: Context, node: ast.expr) -> None:
    slots = ctx.value(node)
    if not isinstance(slots, int) or isinstance(slots, bool) or slots < 1:
        raise _refused(ctx, node, "slot_num is a number from 1 on", "write slot_num=2")


def _refused(ctx: Context, node: ast.expr, wanted: str, hint: str) -> ParserSyntaxError:
    message = f"{wanted}, got {ctx.source.text(node)}"
    return ParserSyntaxError(message, ctx.span(node), hint=hint, slug="region-option")


_CHECKS: Final[dict[Any, Callable[[Context, ast.Call, dict[str, ast.expr]], None]]] = {
    region_markers.split: _check_split,
    region_markers.cross_core_slot: _check_ring,
}
