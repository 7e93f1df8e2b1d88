"""Python's own parser. Knows nothing of kernels."""

from __future__ import annotations

import ast
from typing import Any, Final

_ATTEMPTS: Final = 20


def parse_python(text: str, filename: str = "<unknown>", mode: str = "exec") -> Any:
    """Return what ``ast.parse`` does, also while other threads parse.

    CPython 3.11 counts how deep it is for all threads at once: where one waits within, as for what
    the garbage collector calls, another one's parse may end with a SystemError. The next one does
    not, but for the same accident.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: as ``ast.parse``.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return ast.parse(text, filename, mode)
        except SystemError:
            continue
    return ast.parse(text, filename, mode)
