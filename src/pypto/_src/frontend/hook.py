"""How an uncaught error of a kernel is shown: its report, and no traceback of the compiler."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from pypto._src.diagnostics import wants_colour
from pypto._src.errors import PyptoError
from pypto._src.knobs import BACKTRACE, DEBUG

_INSTALLED = "_pypto_hook"


def report(error: PyptoError, *, colour: bool = False) -> str:
    """Return the text of an error and of those found with it."""
    errors = (error, *error.others)
    text = "\n\n".join(e.render(colour=colour) for e in errors)
    return f"{text}\n\n{len(errors)} errors" if len(errors) > 1 else text


class ErrorRenderer:
    """Renders errors of the parser; ``use_color`` None means: where a terminal shows it."""

    def __init__(self, use_color: bool | None = None) -> None:
        self.use_color = wants_colour() if use_color is None else use_color

    def render(self, error: PyptoError) -> str:
        """Return the text that a person should see."""
        return report(error, colour=self.use_color)


def install() -> None:
    """Make Python show uncaught errors of kernels by `report`; others as before.

    ``PTO_BACKTRACE=1`` or ``PYPTO_DEBUG=1`` add the traceback.
    """
    previous: Any = sys.excepthook
    if hasattr(previous, _INSTALLED):
        return

    def hook(
        cls: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, PyptoError):
            previous(cls, error, traceback)
            return
        print(report(error, colour=wants_colour()), file=sys.stderr)
        if BACKTRACE.get() == "1" or DEBUG.get():
            notes, error.__notes__ = error.__notes__, []
            previous(cls, error, traceback)
            error.__notes__ = notes

    setattr(hook, _INSTALLED, True)
    sys.excepthook = hook
