"""Optional additions to a kernel's C++. Data only; all of them off by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.records import NamedTuple
from pypto._src.usage_errors import check_kind, users_frame


class _Options(NamedTuple):
    """The fields of `CppOptions`."""

    fold_constants: bool = False
    """Fold scalar expressions of constants, and leave out ``+ 0`` and ``* 1``."""

    remove_dead_code: bool = False
    """Leave out branches never taken, loops that never iterate, and what only they need."""

    share_expressions: bool = False
    """Compute an integer expression that recurs in a block once, into a variable."""

    scheduling_hints: bool = False
    """Name each instruction's pipe in a comment, and unroll short loops of constant length."""

    debug_prints: bool = False
    """Print each scalar, and each tile in vector memory, once it is computed."""

    profile: bool = False
    """Count calls and time in two 64-bit words, whose address is an additional last argument."""

    source_lines: bool = False
    """Put the text of the source line into the comment that names it."""


class CppOptions(_Options):
    """Additions to the text of a kernel: ``CppOptions(fold_constants=True)``."""

    __slots__ = ()

    if not TYPE_CHECKING:  # the parameters are the fields

        def __new__(cls, *args: Any, **options: Any) -> Any:
            made = super().__new__(cls, *args, **options)
            for name, value in zip(cls._fields, made, strict=True):
                check_kind(name, value, bool, f"CppOptions({name}=True)", users_frame())
            return made


DEFAULT = CppOptions()
