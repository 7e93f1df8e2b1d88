"""What the user's source calls the variables and calls of a program, for messages.

Passes rename variables and make new ones; the spans still say where each came from. Reads source
text through `diagnostics`; where nobody has it, the names of the IR stand.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final

from pypto._src.diagnostics import text_at
from pypto._src.ir.nodes import Var
from pypto._src.ir.stmts import AssignStmt, Stmt

_DEFINED: Final = re.compile(r"([^\W\d]\w*)\s*(?:$|:|=(?!=)|,)")
_MADE: Final = re.compile(r"_|\w+_(copy|iter|col|row|tile|mat)\d*$")  # names that passes give
_LONGEST: Final = 60  # of an expression that stands for a name


def user_name(var: Var) -> str:
    """Return what the source calls a variable: its name there, or the expression that it holds."""
    text = text_at(var.span)
    defined = _DEFINED.match(text)
    if defined is not None:
        return defined[1]
    whole = text and len(text) <= _LONGEST and _MADE.match(var.name)
    return text if whole and _is_expression(text) else var.name


def _is_expression(text: str) -> bool:
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return False
    return True


def user_value(stmt: Stmt) -> str | None:
    """Return the text of the value that a statement assigns, None if the source has none."""
    text = text_at(stmt.span)
    if not text.isascii():
        return None
    try:
        node = ast.parse(text).body[0]
    except (SyntaxError, IndexError):
        return None
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr) else None
    return None if value is None else ast.get_source_segment(text, value)


def user_line(stmt: AssignStmt) -> str | None:
    """Return an assignment as the source has it, None if it is no line of its own there."""
    text = text_at(stmt.span)
    return text if text.partition(" = ")[0] == user_name(stmt.var) else None


def resized(text: str, argument: tuple[int, str], sizes: Mapping[int, int]) -> str | None:
    """Return the text of a call or slice with other sizes, by dimension; None if it has none.

    ``argument`` is the position and the name of the list of sizes among the arguments of a call.
    """
    try:
        node = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(node, ast.Call):
        named = [w.value for w in node.keywords if w.arg == argument[1]]
        found = [*node.args[argument[0] : argument[0] + 1], *named]
        places = found[0].elts if found and isinstance(found[0], ast.List | ast.Tuple) else []
    elif isinstance(node, ast.Subscript):
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    else:
        return None
    if any(axis >= len(places) for axis in sizes):
        return None
    for axis in sorted(sizes, reverse=True):
        place = places[axis]
        new = str(sizes[axis])
        if isinstance(node, ast.Subscript):
            if not isinstance(place, ast.Slice):
                return None
            begin = "" if place.lower is None else ast.unparse(place.lower)
            new = f"{begin}:{begin} + {new}" if begin not in ("", "0") else f"{begin}:{new}"
        text = f"{text[: place.col_offset]}{new}{text[place.end_col_offset :]}"
    return text
