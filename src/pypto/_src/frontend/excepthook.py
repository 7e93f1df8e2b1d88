"""How an uncaught error of a kernel is shown: its report, without the compiler's traceback."""

from __future__ import annotations

import re
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import wants_colour
from pypto._src.errors import PyptoError
from pypto._src.knobs import BACKTRACE, DEBUG
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import traceback
else:
    traceback = lazy_module("traceback")

_INSTALLED = "_pypto_hook"
_NOTEBOOK = "_render_traceback_"
"""The method that IPython looks for in exceptions."""
_PAGE = "_repr_html_"
"""The method that notebooks look for in values; here it shows an error."""
_MARKS = {
    "\x1b[1;31m": '<span style="color:#d0402f;font-weight:bold">',
    "\x1b[1;34m": '<span style="color:#2f7fd0;font-weight:bold">',
    "\x1b[1m": "<b>",
}
_LOCATION = r"^( *--> )(.+):(\d+:\d+)$"
_HOME = __file__.partition("_src")[0] + "_src"


def report(error: PyptoError, *, colour: bool = False) -> str:
    """Return the report of an error and of those found with it."""
    errors = (error, *error.others)
    text = "\n\n".join(e.render(colour=colour) for e in errors)
    if "IPython" in sys.modules:
        text = re.sub(_LOCATION, _in_cell, text, flags=re.MULTILINE)
    if len(errors) == 1:
        return text
    more = "; there are more, which are not shown" if error.has_more else ""
    return f"{text}\n\n{len(errors)} errors{more}"


def _in_cell(found: re.Match[str]) -> str:
    """Return the location of an error; in a notebook the number of the cell, not its file."""
    shell: Any = sys.modules["IPython"].get_ipython()
    find: Any = getattr(getattr(shell, "compile", None), "format_code_name", None)
    name: Any = None if find is None else find(found[2])
    return found[0] if name is None else f"{found[1]}{' '.join(name)}:{found[3]}"


class ErrorRenderer:
    """Renders errors of the parser; with ``use_color`` None, in colour if a terminal shows it."""

    def __init__(self, use_color: bool | None = None) -> None:
        self.use_color = wants_colour() if use_color is None else use_color

    def render(self, error: PyptoError) -> str:
        """Return the text to show to a person."""
        return report(error, colour=self.use_color)


def wants_frames() -> bool:
    """True if the user asks for tracebacks: ``PTO_BACKTRACE=1`` or ``PYPTO_DEBUG=1``."""
    return BACKTRACE.get() == "1" or DEBUG.get()


def notebook_lines(error: PyptoError) -> list[str]:
    """Return the lines that IPython shows in place of the traceback of an error."""
    lines = report(error, colour=wants_colour()).split("\n")
    if not wants_frames():
        return lines
    notes, error.__notes__ = error.__notes__, []
    frames = "".join(traceback.format_exception(error)).rstrip("\n").split("\n")
    error.__notes__ = notes
    return [*lines, *frames]


def notebook_html(error: PyptoError) -> str:
    """Return the report of an error with its excerpt and caret as one element of HTML."""
    text = report(error, colour=True)
    for letter, name in (("&", "amp"), ("<", "lt"), (">", "gt")):
        text = text.replace(letter, f"&{name};")
    for mark, begin in _MARKS.items():
        end = "</b>" if begin == "<b>" else "</span>"
        first, *painted = text.split(mark)
        text = first + "".join(begin + part.replace("\x1b[0m", end, 1) for part in painted)
    return f'<pre class="pypto-error">{text}</pre>'


def _without_ours(calls_made: TracebackType | None) -> TracebackType | None:
    """Return a traceback cut off where the user's code calls into the compiler."""
    calls: list[TracebackType] = []
    while calls_made is not None:
        if calls_made.tb_frame.f_code.co_filename.startswith(_HOME):
            break
        calls.append(calls_made)
        calls_made = calls_made.tb_next
    found: TracebackType | None = None
    for call in reversed(calls):
        found = TracebackType(found, call.tb_frame, call.tb_lasti, call.tb_lineno)
    return found


def install() -> None:
    """Make Python and IPython show uncaught errors of kernels as a `report`, and others as before.

    Text that is not valid Python is shown as Python does it, without the compiler's frames.
    ``PTO_BACKTRACE=1`` or ``PYPTO_DEBUG=1`` add the traceback.
    """
    setattr(PyptoError, _NOTEBOOK, notebook_lines)
    setattr(PyptoError, _PAGE, notebook_html)
    previous: Any = sys.excepthook
    if hasattr(previous, _INSTALLED):
        return

    def hook(cls: type[BaseException], error: BaseException, calls: TracebackType | None) -> None:
        if isinstance(error, SyntaxError) and not wants_frames():
            calls = error.__traceback__ = _without_ours(calls)
        if not isinstance(error, PyptoError):
            previous(cls, error, calls)
            return
        print(report(error, colour=wants_colour()), file=sys.stderr)
        if wants_frames():
            notes, error.__notes__ = error.__notes__, []
            previous(cls, error, calls)
            error.__notes__ = notes

    setattr(hook, _INSTALLED, True)
    sys.excepthook = hook
