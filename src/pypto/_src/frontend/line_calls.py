"""Assignments of calls and sums, read from the text of their line: most statements of a kernel.

What is read here is plain: ops by their paths, arguments that are names, numbers, lists and sums of
them, and other such calls. All else, and all errors, are those of the line's syntax nodes.

Brackets are read from the innermost outwards: in place of each group that is read stands a name as
long, so that columns stay what they are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import BuiltinFunctionType
from typing import Any, Final, cast

from pypto._src.diagnostics import Span
from pypto._src.errors import PyptoError
from pypto._src.frontend.assignments import assign, assign_value, expression, parts_of
from pypto._src.frontend.call_forms import part_of
from pypto._src.frontend.calls import keyed_call, text_python_call
from pypto._src.frontend.context import Callee, Context
from pypto._src.frontend.environment import MISSING
from pypto._src.frontend.function_calls import text_function_call
from pypto._src.frontend.lines import (
    CallLine,
    Line,
    items_of_text,
    names_assigned,
    paths_read,
)
from pypto._src.frontend.operators import text_binary
from pypto._src.frontend.scope import BROKEN
from pypto._src.ir.nodes import Expr, ScalarType, TupleType, UnknownType, Var
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import EvalStmt
from pypto._src.ops.unified import Unified

_LETTER: Final = re.compile(r"[A-Za-z_]")
_GROUP: Final = re.compile(r"\(([^()]*+)\)")
_OF_NUMBERS: Final = frozenset("-0123456789")
_SUMMED: Final = re.compile(r" [-+*/%]")
_MARKS: Final = 0x100
"""The letters from here on, which no line has, stand for groups that are read."""
_LONGEST: Final = 1000  # text with groups, which is looked at once for each of them

_Inner = Mapping[str, Any]


class _Unread(Exception):
    """A line's nodes tell what it means."""


def assign_line(ctx: Context, node: Line) -> None:
    """Parse ``names = values``."""
    noted, count = len(ctx.unplaced), len(ctx.block)
    name = node.names
    line, begin, end = node.lineno, node.col_offset, node.end_col_offset
    assert end is not None
    try:
        value = _values(ctx, line, node.text[len(name) + 3 :], begin + len(name) + 3)
        if ", " in name:
            _assign_several(ctx, node, value)
            return
        if not isinstance(value, Expr) or value.type.__class__ is UnknownType:
            raise _Unread
        span = ctx.source.part(line, begin, end)
        if value.type.__class__ is ScalarType:
            assign_value(ctx, name, value, node, span=span)
        else:
            ctx.assign(name, value, node, span=span)
    except (_Unread, PyptoError):
        del ctx.unplaced[noted:], ctx.block[count:]
        assign(ctx, node)


def call_line(ctx: Context, node: CallLine) -> None:
    """Parse ``self.method(...)``."""
    count = len(ctx.block)
    try:
        value = _values(ctx, node.lineno, node.text, node.col_offset)
        ctx.block.append(EvalStmt(value, value.span))
    except (_Unread, PyptoError):
        del ctx.block[count:]
        expression(ctx, node)


def _assign_several(ctx: Context, node: Line, values: Any) -> None:
    """Parse a line with several names and as many values, which do not read what is assigned."""
    if ctx.strict_ssa:
        raise _Unread  # else names would be assigned when a later one is refused
    names = names_assigned(node)
    known = ctx.names.values.keys() & names
    if known and not known.isdisjoint([path.partition(".")[0] for path in paths_read(node)]):
        raise _Unread
    parts: Any = values
    begin: int = node.col_offset
    end: Any = node.end_col_offset
    if isinstance(values, Expr) and isinstance(values.type, TupleType):
        place = ctx.source.part(node.lineno, begin + len(node.names) + 3, end)
        parts = parts_of(ctx, values, place)
    elif values.__class__ is not tuple:
        raise _Unread
    if len(parts) != len(names):
        raise _Unread
    for part in parts:
        if not isinstance(part, Expr) or part.type.__class__ is UnknownType:
            raise _Unread
    for name, value in zip(names, parts, strict=True):
        assign_value(ctx, name, value, node, span=ctx.source.part(node.lineno, begin, end))
        begin += len(name) + 2


def _values(ctx: Context, line: int, text: str, begin: int) -> Any:
    """Return what a line assigns, a tuple of several values; ``begin`` is their column."""
    callee, has_groups, arguments = text.partition("(")
    if arguments[-1:] == ")" and "(" not in arguments and callee and " " not in callee:
        return _call(ctx, line, callee, arguments[:-1], begin, begin + len(text), _NOTHING)
    inner: dict[str, Any] = {}
    group = _GROUP.search(text) if has_groups else None
    if len(text) > _LONGEST and group is not None:
        raise _Unread
    while group is not None:
        start, end = group.span()
        if start and (text[start - 1].isalnum() or text[start - 1] == "_"):
            callee = text[:start].rpartition(" ")[2].rpartition("(")[2]
            start -= len(callee)
            value = _call(ctx, line, callee, group[1], begin + start, begin + end, inner)
            if end - start == len(text):
                return value
        elif end - start == len(text):
            raise _Unread  # the value ends before the bracket does
        else:
            value = _value(ctx, line, group[1], begin + start + 1, inner)
        mark = chr(_MARKS + len(inner)).ljust(end - start, "_")
        inner[mark] = value
        text = f"{text[:start]}{mark}{text[end:]}"
        group = _GROUP.search(text)
    if ", " not in text:
        return _value(ctx, line, text, begin, inner)
    parts = _placed(items_of_text(text), begin)
    return tuple([_value(ctx, line, *part, inner) for part in parts])


_NOTHING: Final[_Inner] = {}


def _placed(items: Sequence[str], begin: int) -> list[tuple[str, int]]:
    """Return the items of a list, each with its column; ``begin`` is that of the first one."""
    found: list[tuple[str, int]] = []
    for item in items:
        found.append((item, begin))
        begin += len(item) + 2
    return found


def _call(
    ctx: Context, line: int, callee: str, arguments: str, begin: int, end: int, inner: _Inner
) -> Expr:
    """Return the call of an op that stands between two columns of a line."""
    op: Any = ctx.at_path(callee)
    key: list[Any] = [id(op)]  # of the call's form; see `CallForms`
    is_op = op.__class__ is Unified or isinstance(op, OpDef)
    if not is_op:
        op = _other(ctx, callee, op)
    local, fixed, fixed_args = ctx.names.values, ctx.fixed, ctx.fixed_args
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    items = items_of_text(arguments)
    for text in items:
        value = local.get(text, MISSING)
        if value.__class__ is Var:  # most are, or were met before
            args.append(value)
            key.append(id(value.type))
            continue
        if value is MISSING:
            known = fixed_args.get(text)
            if known is not None:
                args.append(known[0])
                key.append(known[1])
                continue
        if value is MISSING or value is BROKEN:
            name, _, rest = text.rpartition("=")
            column = None
            if " " in rest and _SUMMED.search(rest) is not None:  # which are at places of their own
                _, column = _placed(items, begin + len(callee) + 1)[len(args) + len(kwargs)]
                column += len(text) - len(rest)
            value = _value(ctx, line, rest, column, inner)
            if name:
                if name in kwargs:
                    raise _Unread  # which is an error
                kwargs[name] = value
                key += name, part_of(op, name, value) if is_op else None
                continue
        part = part_of(op, len(args), value) if is_op else None
        if part is not None and text in fixed and not _has_values(value):
            fixed_args[text] = value, part
        args.append(value)
        key.append(part)
    span = ctx.source.part(line, begin, end)
    if is_op:
        made = keyed_call(ctx, None if None in key else tuple(key), op, args, kwargs, span)
    elif kwargs:
        made = None
    elif isinstance(op, Callee):
        made = text_function_call(ctx, op.signature(span), args, span)
    else:
        made = text_python_call(ctx, op, args, span)
    if made is None:
        raise _Unread
    return made


def _has_values(value: Any) -> bool:
    """True for a list of which the op decides what a form has of it."""
    return isinstance(value, list | tuple) and not _NUMBERS.issuperset(
        map(type, cast("Sequence[Any]", value))
    )


def _other(ctx: Context, path: str, found: Any) -> Any:
    """Return what is called that is no op: Python's own, or a function of the program."""
    if found.__class__ is BuiltinFunctionType:
        return found
    first, _, name = path.partition(".")
    method = ctx.functions.method(name) if first == ctx.self_name else None
    if method is None:
        raise _Unread
    return method


def _value(ctx: Context, line: int, text: str, begin: int | None, inner: _Inner) -> Any:
    """Return the meaning of a name, path, number, sum or list of these, or of what is in ``inner``.

    ``begin`` is the column, None if there is no sum in the text.
    """
    value = ctx.fixed.get(text, MISSING)
    if value is MISSING and inner:
        value = inner.get(text, MISSING)
    if value is not MISSING:
        return value
    value = _LITERALS.get(text, MISSING)
    if value is not MISSING:
        ctx.fixed[text] = value
        return value
    if text[0] == "[":
        return _list(ctx, line, text, begin, inner)
    if begin is not None and " " in text:
        return _sum(ctx, line, text, begin, inner)
    if text[0] in _OF_NUMBERS:
        return _literal(text)
    value = ctx.at_path(text)
    if value is MISSING or value is BROKEN:
        raise _Unread
    if text in ctx.paths and text not in ctx.names.values:
        ctx.fixed[text] = value
    return value


def _list(ctx: Context, line: int, text: str, begin: int | None, inner: _Inner) -> list[Any]:
    """Return the values of a list; it is kept if it is one of numbers from around the function."""
    if begin is None and _LETTER.search(text) is None:
        return _literal(text)
    items = text[1:-1].split(", ")
    if begin is not None:
        return [_value(ctx, line, *part, inner) for part in _placed(items, begin + 1)]
    found = [_value(ctx, line, item, None, inner) for item in items]
    own = ctx.names.values, inner  # a group of another line may have the same letter
    is_fixed = "." not in text and all(names.keys().isdisjoint(items) for names in own)
    if is_fixed and _NUMBERS.issuperset(map(type, found)):  # a call may set attributes
        ctx.fixed[text] = found
    return found


_NUMBERS: Final = frozenset({int})


def _sum(ctx: Context, line: int, text: str, begin: int, inner: _Inner) -> Any:
    """Return what operators between names, numbers and groups compute, products first."""
    words = iter(text.split(" "))
    part, local, fixed = ctx.source.part, ctx.names.values, ctx.fixed
    start = end = begin
    term: Any = None
    total: Any = None
    pending = symbol = ""
    for word in words:
        after = end + len(symbol) + 2 if symbol else begin
        value = local.get(word, MISSING)
        if value is MISSING:
            value = fixed.get(word, MISSING)
        if value is MISSING or value is BROKEN:
            value = _value(ctx, line, word, after, inner)
        if symbol in _ADDING:
            total = _applied(ctx, pending, total, term, part(line, begin, end)) if pending else term
            pending, term, start = symbol, value, after
        elif symbol:
            term = _applied(ctx, symbol, term, value, part(line, start, after + len(word)))
        else:
            term = value
        end = after + len(word)
        symbol = next(words, "")
    return _applied(ctx, pending, total, term, part(line, begin, end)) if pending else term


_ADDING: Final = frozenset({"+", "-"})


def _applied(ctx: Context, symbol: str, left: Any, right: Any, span: Span) -> Any:
    """Return what one operator computes."""
    value = text_binary(ctx, symbol, left, right, span)
    if value is None:
        raise _Unread
    return value


_CONSTANTS: Final = {"True": True, "False": False, "None": None}
_LITERALS: Final[dict[str, Any]] = {**_CONSTANTS}
_MOST_LITERALS: Final = 4096


def _literal(text: str) -> Any:
    """Return a number, or a list of numbers; it is kept, and nobody changes it."""
    if text[0] == "[":
        value: Any = [_literal(item) for item in text[1:-1].split(", ")]
    else:
        value = float(text) if "." in text else int(text)
    if len(_LITERALS) >= _MOST_LITERALS:
        _LITERALS.clear()
        _LITERALS.update(_CONSTANTS)
    _LITERALS[text] = value
    return value
