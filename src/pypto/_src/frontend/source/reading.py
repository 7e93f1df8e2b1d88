"""What a text that is read, not executed, may use: the language, constants, names it is given.

A kernel's text is Python, and Python's names lead everywhere: from any function to its module, and
from there to the file system. So an untrusted text may read only attributes of the language's
modules and enumerations, and may call only what makes values.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from enum import Enum, EnumMeta
from types import ModuleType
from typing import Any, Final

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import NotExecutedError
from pypto._src.frontend import markers
from pypto._src.ir.annotations import Scalar, Tensor, Tile
from pypto._src.records import NamedTuple

LANGUAGE: Final = "pypto.language"
PACKAGE: Final = "pypto"
IR: Final = "pypto.ir"
_READABLE: Final = frozenset(
    {IR, LANGUAGE, *(f"{LANGUAGE}.{name}" for name in ("block", "system", "tensor"))}
)
"""The modules whose names a text may read; it may not call most of these."""
_BUILTINS: Final = (
    "abs bool divmod enumerate float int isinstance len list max min pow range reversed round "
    "sorted str sum tuple zip"
)
_CALLABLE: Final = frozenset(
    {
        *map(id, (markers.dynamic, markers.DynVar, markers.Tuple, Tensor, Tile, Scalar)),
        *map(id, (Span, Span.unknown)),
        *(id(getattr(builtins, name)) for name in _BUILTINS.split()),
    }
)
"""The identities of what may be called: an object that claims to be equal does not count."""


class Unread(NamedTuple):
    """A statement whose names have no value: only its execution would tell."""

    span: Span
    what: str
    hint: str | None = None


class Reading:
    """What one text may use, and the names that its unread statements would have defined.

    ``given`` has names that the text does not define; ``call`` is the call by which the user had it
    read, up to the closing bracket, for hints.
    """

    __slots__ = ("call", "given", "unread")

    def __init__(self, given: Mapping[str, Any], call: str) -> None:
        self.given = given
        self.call = call
        self.unread: dict[str, Unread] = {}

    def may_read(self, base: Any, attribute: str) -> bool:
        """True if an attribute of a Python object may be read."""
        if attribute.startswith("_"):
            return False
        if isinstance(base, ModuleType):
            name = base.__name__
            return name in _READABLE or (name == PACKAGE and f"{name}.{attribute}" in _READABLE)
        return base in (DataType, Span) or isinstance(base, Enum | EnumMeta | DataType)

    def may_call(self, callee: Any) -> bool:
        """True if a Python object that is not part of the language may be called."""
        return id(callee) in _CALLABLE or any(callee is value for value in self.given.values())

    def may_pass(self, value: Any) -> bool:
        """True if a Python object may be an argument: the callee may call it, as a sort key."""
        return not callable(value) or self.may_call(value)

    def forget(self, prefix: str) -> None:
        """Forget the unread names with this prefix, as those of another class."""
        self.unread = {name: it for name, it in self.unread.items() if not name.startswith(prefix)}

    def refused(self, what: str, span: Span, hint: str | None = None) -> NotExecutedError:
        """Return the error for a part of the text that would have to be executed."""
        return NotExecutedError(
            f"{what}: the text is read, not executed", span, hint=hint or self.trusting
        )

    def refused_name(self, name: str, span: Span) -> NotExecutedError | None:
        """Return the error for a name that an unread statement defines, None for other names."""
        unread = self.unread.get(name)
        if unread is None:
            return None
        return NotExecutedError(
            f"{name!r} is {unread.what}, and the text is read, not executed",
            span,
            hint=unread.hint or self.giving(name),
            related=(Label(unread.span, "not executed"),),
        )

    @property
    def trusting(self) -> str:
        """How to execute the text."""
        if self.call.startswith("pypto "):
            return f"if you trust it: {self.call} --execute"
        return f"if you trust it: {self.call}, trusted=True)"

    def giving(self, name: str) -> str:
        """Return how to give a name its value."""
        if self.call.startswith("pypto "):
            return self.trusting
        return f'give it: {self.call}, names={{"{name}": ...}})'


def given_names(names: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the names that a caller gives to a text.

    Raises:
        TypeError: they are not a mapping, or one is not an identifier.
    """
    if names is None:
        return {}
    if not isinstance(names, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f'names is a dict, as in {{"ROWS": 64}}, got {type(names).__name__}')
    for name in names:
        if not isinstance(name, str) or not name.isidentifier():  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"a name is an identifier, got {name!r}")
    return dict(names)
