"""Which names are allowed in programs from outside: from bytes and from texts.

Names reach C++, MLIR, Python and paths. Emitters escape whatever they write, since constructors
take any text; readers refuse odd names in the first place. Knows no node.
"""

from __future__ import annotations

import re
from typing import Final

# Compiled on first use: most names need neither.
_VARIABLE: Final = r"[\w$.]*"
_CONTROL: Final = "[\0-\x1f\x7f-\x9f\u2028\u2029]"


def is_function_name(name: str) -> bool:
    """True for an identifier of Python; files are named after functions."""
    return name.isidentifier()


def is_program_name(name: str) -> bool:
    """True for an identifier of Python, and for "": a program, or its entry, may have no name."""
    return not name or name.isidentifier()


def is_op_name(name: str) -> bool:
    """True for identifiers with dots between them: ``block.add``."""
    return all(map(str.isidentifier, name.split(".")))


def is_variable_name(name: str) -> bool:
    """True for letters, digits, _, $ and . in any order, as in ``%0`` of the statement form."""
    return name.isidentifier() or re.fullmatch(_VARIABLE, name) is not None


def is_file_name(name: str) -> bool:
    """True if no character of the name ends a line or controls a terminal."""
    return name.isprintable() or re.search(_CONTROL, name) is None
