"""Python's own parser. Knows nothing of kernels."""

from __future__ import annotations

import ast
from typing import Any, Final

_ATTEMPTS: Final = 20


def parse_python(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Return the result of ``ast.parse``, even while other threads parse.

    CPython 3.11 has one recursion counter for all threads: if one is suspended inside, such as by
    code that the garbage collector calls, a parse in another may end with a SystemError. A retry
    does not, except by the same coincidence.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(text, filename, mode)
        except SystemError:
            continue
    return ast.parse(text, filename, mode)
