"""Assignments of op calls, read from the text of their line: most statements of a kernel.

What is read here is plain: an op by its path, arguments that are names, numbers and lists of them,
in a call of a form that is known. All else, and all errors, are those of the line's syntax nodes.
"""

from __future__ import annotations

import re
from typing import Any, Final

from pypto._src.errors import PyptoError
from pypto._src.frontend.assignments import assign, assign_value
from pypto._src.frontend.calls import known_call
from pypto._src.frontend.context import Context
from pypto._src.frontend.environment import MISSING
from pypto._src.frontend.lines import Line, argument_texts
from pypto._src.frontend.scope import BROKEN
from pypto._src.ir.nodes import Call, ScalarType
from pypto._src.ir.opdef import OpDef
from pypto._src.ops.unified import Unified

_LETTER: Final = re.compile(r"[A-Za-z_]")


def assign_line(ctx: Context, node: Line) -> None:
    """Parse ``name = op(arguments)``."""
    noted = len(ctx.unplaced)
    value = _call(ctx, node)
    if value is not None:
        try:
            if value.type.__class__ is ScalarType:
                assign_value(ctx, node.name, value, node, is_line=True)
            else:
                ctx.assign(node.name, value, node, is_line=True)
            return
        except PyptoError:
            del ctx.unplaced[noted:]
    assign(ctx, node)


def _call(ctx: Context, node: Line) -> Call | None:
    """Return the call that a line assigns, None if it is not plain."""
    op = ctx.at_path(node.callee)
    if op.__class__ is not Unified and not isinstance(op, OpDef):
        return None
    local = ctx.names.values
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in argument_texts(node):
        value = local.get(text, MISSING)
        if value is MISSING:
            value = _LITERALS.get(text, MISSING)
        if value is MISSING:
            name, _, rest = text.rpartition("=")
            value = _value(ctx, rest)
            if name in kwargs:
                return None  # which is an error
            if name:
                kwargs[name] = value
        if value is MISSING or value is BROKEN:
            return None
        if not kwargs:
            args.append(value)
    end: Any = node.end_col_offset  # the line ends with the call
    return known_call(ctx, op, args, kwargs, ctx.source.part(node.lineno, node.begin, end))


def _value(ctx: Context, text: str) -> Any:
    """Return the meaning of a name, path, number or list of these; `MISSING` if it is not plain."""
    value = _LITERALS.get(text, MISSING)
    if value is not MISSING:
        return value
    if _LETTER.search(text) is None:
        return _literal(text)
    if text[0] != "[":
        return ctx.at_path(text)
    items: list[Any] = []
    for item in text[1:-1].split(", "):
        value = _value(ctx, item)
        if value is MISSING or value is BROKEN:
            return MISSING
        items.append(value)
    return items


_LITERALS: Final[dict[str, Any]] = {}
_MOST_LITERALS: Final = 4096


def _literal(text: str) -> Any:
    """Return a number, or a list of numbers; it is kept, and nobody changes it."""
    if text[0] == "[":
        value: Any = [_literal(item) for item in text[1:-1].split(", ")]
    else:
        value = float(text) if "." in text else int(text)
    if len(_LITERALS) >= _MOST_LITERALS:
        _LITERALS.clear()
    _LITERALS[text] = value
    return value
