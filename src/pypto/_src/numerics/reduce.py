"""Reduces the text of a failing program as long as it fails in the same way.

Owns which texts are tried, in an order that depends on the text alone; the caller decides what
failing means.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from itertools import islice


def smaller(source: str, keep: Collection[str] = ()) -> Iterator[str]:
    """Yield slightly smaller versions of a program's text, the largest reductions first.

    They lack a statement, have ``pass`` or its body in place of a statement, or have a call
    replaced by one of its arguments. Functions and classes with names in ``keep`` stay.
    """
    tree = ast.parse(source)
    lines = source.split("\n")
    statements: list[ast.stmt] = []
    for node in ast.walk(tree):
        for field in ("body", "orelse"):
            inner: object = getattr(node, field, None)
            if isinstance(inner, list):
                statements += [each for each in inner if isinstance(each, ast.stmt)]  # pyright: ignore[reportUnknownVariableType]
    spans = {
        (_first(each), each.end_lineno or 0)
        for each in statements
        if not (isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name in keep)
    }
    for begin, end in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        rest = [*lines[: begin - 1], *lines[end:]]
        yield "\n".join(rest)
        text = lines[begin - 1]
        indent = text[: len(text) - len(text.lstrip())]
        yield "\n".join([*lines[: begin - 1], f"{indent}pass", *lines[end:]])
        if end > begin and not text.lstrip().startswith(("def ", "class ", "@")):
            inside = [line[4:] if line.startswith("    ") else line for line in lines[begin:end]]
            yield "\n".join([*lines[: begin - 1], *inside, *lines[end:]])
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    for call in sorted(calls, key=lambda call: -len(ast.unparse(call))):
        if call.end_lineno != call.lineno:
            continue
        line = lines[call.lineno - 1]
        for arg in call.args:
            new = ast.get_source_segment(source, arg)
            if new is None:
                continue
            shorter = line[: call.col_offset] + new + line[call.end_col_offset :]
            yield "\n".join([*lines[: call.lineno - 1], shorter, *lines[call.lineno :]])


def _first(node: ast.stmt) -> int:
    decorated = isinstance(node, ast.FunctionDef | ast.ClassDef)
    return min([node.lineno, *(each.lineno for each in (node.decorator_list if decorated else []))])


def reduced(
    source: str,
    fails: Callable[[str], bool],
    *,
    keep: Collection[str] = (),
    found: Callable[[str], None] = lambda _: None,
    is_over: Callable[[], bool] = lambda: False,
) -> str:
    """Return a failing text from which nothing more can be removed.

    Args:
        source: A text that fails.
        fails: Whether a text, which is valid Python, fails in the same way.
        keep: The names of functions and classes that stay.
        found: Called with each smaller text that fails, as soon as it is found.
        is_over: Whether to stop early, with the smallest text found by then.
    """
    changed = True
    while changed:
        changed, at = False, 0
        while at >= 0:
            # Parts that could not be removed are retried only after all others.
            for number, candidate in enumerate(islice(smaller(source, keep), at, None), at):
                if is_over():
                    return source
                if _is_python(candidate) and fails(candidate):
                    source, at, changed = _tidy(candidate, fails), number, True
                    found(source)
                    break
            else:
                at = -1
    return source


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def _tidy(text: str, fails: Callable[[str], bool]) -> str:
    """Return a text without comment lines and runs of empty lines, if it still fails."""
    lines = [line for line in text.split("\n") if not line.lstrip().startswith("#")]
    tidied = re.sub(r"\n{3,}", "\n\n\n", "\n".join(lines))
    return tidied if tidied != text and _is_python(tidied) and fails(tidied) else text
