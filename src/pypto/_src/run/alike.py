"""Kernels that are one kernel but for names, of which one is compiled for all.

The regions of a model's layers are such kernels. Two are alike if their IR has one structure and
their C++ differs, one to one, in identifiers alone that it declares itself: then one object serves
both, and only what it reports of itself has to be renamed. Knows nothing of compilers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from pypto._src.ir.equal import structural_equal
from pypto._src.ir.stmts import Function

_TOKEN: Final = re.compile(r'//[^\n]*|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\s+|\d[\w.]*|.', re.DOTALL)

# What stands behind a type and before an initializer, arguments or the end: a declaration, or an
# operand of `return` and the like, which a declaration has to precede.
_DECLARED: Final = re.compile(
    r"\busing (\w+) =|(?<!\breturn)(?<!\belse)(?<!\bcase)(?:\w|(?<=\S)>)[*&]? +(\w+)\s*[=(;,){\[]"
)


def representatives(functions: Sequence[Function], texts: Mapping[str, str]) -> dict[str, Function]:
    """Return, for the name of each kernel, the first one that is like it.

    Args:
        functions: Kernels after the passes.
        texts: All the C++ of each, by its name.
    """
    found: dict[str, Function] = {}
    candidates: dict[str, list[Function]] = {}
    for function in functions:
        same_text = candidates.setdefault(without_names(texts[function.name]), [])
        like = next((other for other in same_text if _is_alike(other, function)), function)
        if like is function:
            same_text.append(function)
        found[function.name] = like
    return found


def without_names(text: str) -> str:
    """Return a C++ text without comments, with a number for each identifier that it declares.

    What the headers declare keeps its name: functions, types, pipes, layouts.
    """
    declared = {name for pair in _DECLARED.findall(text) for name in pair}
    numbers: dict[str, str] = {}
    parts: list[str] = []
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token.startswith("//") or token.isspace():
            continue
        if token in declared:
            token = numbers.setdefault(token, f"@{len(numbers)}")
        parts.append(token)
    return " ".join(parts)


def renamed(like: Function, function: Function) -> dict[str, str]:
    """Return what to call the parameters that ``like`` names in reports."""
    if like is function:
        return {}
    return {a.name: b.name for a, b in zip(like.params, function.params, strict=True)}


def _is_alike(a: Function, b: Function) -> bool:
    return structural_equal(a, b, enable_auto_mapping=True)
