"""What the user's source calls the variables and calls of a program, for messages.

Passes rename variables and make new ones; the spans still say where each came from. Reads source
text through `diagnostics`; where it is not available, the names of the IR are used.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Final

from pypto._src.diagnostics import Span, known_lines, lines_at, text_at
from pypto._src.ir.exprs import BinaryExpr, Call, ConstInt, Expr, UnaryExpr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, Stmt
from pypto._src.python_parser import parse_python

_DEFINED: Final = r"([^\W\d]\w*)\s*(?:$|:|=(?!=)|,)"
_MADE: Final = r"_|\w+_(copy|iter|col|row|tile|mat)\d*$"  # names that passes give
_LONGEST: Final = 60  # of an expression in place of a name
_LONGEST_SLICE: Final = 30
_MOST_PARTS: Final = 12  # of the expression of a size


def user_name(var: Var) -> str:
    """Return what the source calls a variable: its name there, or the expression that it holds."""
    text = text_at(var.span)
    defined = re.match(_DEFINED, text)
    if defined is not None:
        return defined[1]
    whole = text and len(text) <= _LONGEST and re.match(_MADE, var.name)
    return text if whole and _is_expression(text) else var.name


def size_text(dim: Expr) -> str:
    """Return a dimension for a message: ``64``, ``n``, ``n + 1``; ``?`` where that is long."""
    if isinstance(dim, ConstInt):
        return str(dim.value)
    if isinstance(dim, Var):
        return user_name(dim) if dim.name.startswith("_") else dim.name
    pending, count = [dim], 0
    while pending:
        part = pending.pop()
        count += 1
        if count > _MOST_PARTS:
            return "?"
        if isinstance(part, BinaryExpr):
            pending += (part.left, part.right)
        elif isinstance(part, UnaryExpr):
            pending.append(part.operand)
    return str(dim)


def _is_expression(text: str) -> bool:
    try:
        parse_python(text, mode="eval")
    except SyntaxError:
        return False
    return True


def user_call(call: Call) -> str:
    """Return how the source writes the op of a call: ``pl.load``, ``'+'``, ``x[0:16]``.

    Without the source, or if that is not Python, it is the op's name in the IR; where the source
    has something else, such as the head of a loop, the name that users know the op by.
    """
    text = lines_at(call.span)
    found = None
    for form in (f"({text})", text):  # in parentheses an expression may have several lines
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            found = parse_python(form).body
            break
    op = op_of(call)
    if not text or not found or op is None:
        return call.op.name
    node = found[0].value if isinstance(found[0], ast.Expr) else found[0]
    spelling = _spelling(node, text) or f"pl.{op.overload}"
    is_slice = isinstance(node, ast.Subscript)
    return f"{spelling} = ..." if is_slice and op.writes else spelling


def _spelling(node: ast.AST, text: str) -> str | None:
    """Return the text of a function, slice or operator, None for any other syntax tree."""
    one = ast.Name("_")
    match node:
        case ast.Call(func=func):
            return ast.unparse(func)
        case ast.Subscript(value=value):
            return text if len(text) <= _LONGEST_SLICE else f"{ast.unparse(value)}[...]"
        case ast.BinOp(op=op):
            alone: ast.AST = ast.BinOp(one, op, one)
        case ast.Compare(ops=[op]):
            alone = ast.Compare(one, [op], [one])
        case ast.UnaryOp(op=op):
            alone = ast.UnaryOp(op, one)
        case ast.AugAssign(op=op):
            alone = ast.AugAssign(one, op, one)
        case _:
            return None
    return f"'{ast.unparse(alone).strip('_ ')}'"


def statement_lines(span: Span) -> tuple[int, int]:
    """Return the first and last line of the source statement that contains a span.

    Both are the span's first line where the source is not available or not Python.
    """
    line = span.begin_line
    if line <= 0:
        return line, line
    return _many_lines("".join(known_lines(span.filename))).get(line, (line, line))


@lru_cache(maxsize=4)
def _many_lines(text: str) -> dict[int, tuple[int, int]]:
    """Map each line of a simple multi-line statement to the statement's first and last line."""
    found: dict[int, tuple[int, int]] = {}
    with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        for node in ast.walk(parse_python(text)):
            if isinstance(node, ast.stmt) and not hasattr(node, "body"):
                last = node.end_lineno or node.lineno
                if last > node.lineno:
                    lines = range(node.lineno, last + 1)
                    found |= dict.fromkeys(lines, (node.lineno, last))
    return found


def user_value(stmt: Stmt) -> str | None:
    """Return the text of the value that a statement assigns, None if the source has none."""
    text = text_at(stmt.span)
    if not text.isascii():
        return None
    try:
        node = parse_python(text).body[0]
    except (SyntaxError, IndexError):
        return None
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else None
    return None if value is None else ast.get_source_segment(text, value)


def user_line(stmt: AssignStmt) -> str | None:
    """Return an assignment as the source has it, None if the source has no such line."""
    text = text_at(stmt.span)
    return text if text.partition(" = ")[0] == user_name(stmt.var) else None


def resized(text: str, argument: tuple[int, str], sizes: Mapping[int, int]) -> str | None:
    """Return the text of a call or slice with new ``sizes``, by dimension; None if it has none.

    ``argument`` is the position and the name of the list of sizes among the arguments of a call.
    """
    try:
        node = parse_python(text, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(node, ast.Call):
        named = [w.value for w in node.keywords if w.arg == argument[1]]
        found = [*node.args[argument[0] : argument[0] + 1], *named]
        items = found[0].elts if found and isinstance(found[0], ast.List | ast.Tuple) else []
    elif isinstance(node, ast.Subscript):
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    else:
        return None
    if any(axis >= len(items) for axis in sizes):
        return None
    for axis in sorted(sizes, reverse=True):
        item = items[axis]
        new = str(sizes[axis])
        if isinstance(node, ast.Subscript):
            if not isinstance(item, ast.Slice):
                return None
            begin = "" if item.lower is None else ast.unparse(item.lower)
            new = f"{begin}:{begin} + {new}" if begin not in ("", "0") else f"{begin}:{new}"
        text = f"{text[: item.col_offset]}{new}{text[item.end_col_offset :]}"
    return text
