"""Source ranges, diagnostics, and the only renderer of both.

Knows nothing of the IR. Everything that reports a problem to a person goes through `render`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import islice, takewhile
from types import FrameType
from typing import Any, Final, NoReturn

from pypto._src.records import NamedTuple


class Span:
    """A source range: 1-based lines, 0-based columns, -1 for unknown.

    Ends are inclusive lines and exclusive columns, as in Python's ``ast``.
    """

    __slots__ = ("begin_column", "begin_line", "end_column", "end_line", "filename")

    filename: str
    begin_line: int
    begin_column: int
    end_line: int
    end_column: int

    def __init__(
        self,
        filename: str,
        begin_line: int,
        begin_column: int,
        end_line: int = -1,
        end_column: int = -1,
    ) -> None:
        put = object.__setattr__
        put(self, "filename", filename)
        put(self, "begin_line", begin_line)
        put(self, "begin_column", begin_column)
        put(self, "end_line", end_line)
        put(self, "end_column", end_column)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Span is immutable: cannot set {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        return (
            Span,
            (self.filename, self.begin_line, self.begin_column, self.end_line, self.end_column),
        )

    @staticmethod
    def unknown() -> Span:
        """Return a span that points nowhere."""
        return UNKNOWN_SPAN

    def is_valid(self) -> bool:
        """True if the begin is known, and the end (if known) is not before it."""
        if self.begin_line <= 0 or not (self.begin_column > 0 or self.begin_column == -1):
            return False
        if self.end_line == -1 or self.end_column == -1:
            return True
        if self.end_line <= 0 or self.end_column <= 0:
            return False
        return (self.end_line, self.end_column) >= (self.begin_line, self.begin_column)

    def up_to(self, last: Span) -> Span:
        """Return the range from here to the end of ``last``, or to its begin if it has no end."""
        if self is UNKNOWN_SPAN or last.begin_line < 0 or last.filename != self.filename:
            return last if self is UNKNOWN_SPAN else self
        line, column = last.end_line, last.end_column
        if line < 0:
            line, column = last.begin_line, last.begin_column
        return span_of(self.filename, self.begin_line, self.begin_column, line, column)

    def to_string(self) -> str:
        """Return ``file:line:column`` of the begin."""
        return f"{self.filename}:{self.begin_line}:{self.begin_column}"

    __str__ = __repr__ = to_string


class SpanDraft:
    """A span under construction: the same slots, which can still be set."""

    __slots__ = Span.__slots__


def span_of(
    filename: str, begin_line: int, begin_column: int, end_line: int, end_column: int
) -> Span:
    """Return a `Span`, in a third of the time: a front end makes several per statement."""
    made: Any = SpanDraft()
    made.filename = filename
    made.begin_line = begin_line
    made.begin_column = begin_column
    made.end_line = end_line
    made.end_column = end_column
    made.__class__ = Span  # from here on it is immutable
    return made


def span_of_frame(frame: FrameType) -> Span:
    """Return the span of the expression that a frame is evaluating."""
    code = frame.f_code
    found = next(islice(code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
    line, end_line, column, end_column = found
    if line is None or end_line is None or column is None or end_column is None:
        return Span(code.co_filename, frame.f_lineno, -1)
    return Span(code.co_filename, line, column, end_line, end_column)


def span_of_caller(frame: FrameType) -> Span:
    """Return the span of the expression outside of this package that led to a frame."""
    outer: FrameType | None = frame
    while outer is not None and outer.f_globals.get("__name__", "").startswith("pypto._src."):
        outer = outer.f_back
    return span_of_frame(outer or frame)


UNKNOWN_SPAN: Final = Span("", -1, -1, -1, -1)


class DiagnosticSeverity(Enum):
    """How bad a diagnostic is."""

    Error = 0
    Warning = 1


class Label(NamedTuple):
    """A second span that a diagnostic points at, with the text to print there."""

    span: Span
    text: str


class Diagnostic(NamedTuple):
    """One finding: what, where, and one thing to type to fix it."""

    severity: DiagnosticSeverity
    rule_name: str  # the stable slug, such as shape-mismatch
    error_code: int
    message: str
    span: Span = UNKNOWN_SPAN
    label: str = ""
    related: tuple[Label, ...] = ()
    hint: str | None = None
    note: str | None = None


class _Paint(NamedTuple):
    red: str = ""
    blue: str = ""
    bold: str = ""
    off: str = ""


_PLAIN = _Paint()
_COLOUR = _Paint("\x1b[1;31m", "\x1b[1;34m", "\x1b[1m", "\x1b[0m")


def wants_colour(stream: Any = None) -> bool:
    """True if ``stream`` (standard error by default) is a terminal that shows colour."""
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    stream = sys.stderr if stream is None else stream
    return bool(getattr(stream, "isatty", lambda: False)())


def _source_line(span: Span, lines: Sequence[str] | None) -> str:
    if lines is None or not 0 < span.begin_line <= len(lines):
        lines = known_lines(span.filename)
    return lines[span.begin_line - 1].rstrip("\n") if 0 < span.begin_line <= len(lines) else ""


def keep_lines(filename: str, lines: Sequence[str]) -> None:
    """Keep the lines of a text, whatever its name, for reports of later stages.

    If a file of that name has these lines, they are its own: they are read again once it changes.
    """
    _WAITING[filename] = lines
    if "linecache" in sys.modules:  # else no line was shown yet; most programs never show one
        show_kept_lines()


_WAITING: Final[dict[str, Sequence[str]]] = {}
"""Lines passed to `keep_lines` that `linecache` does not have yet."""

_KEPT: Final[dict[str, object]] = {}
"""The entries of `linecache` that come from `keep_lines`."""


def show_kept_lines() -> None:
    """Put the lines of texts into `linecache`, where Python itself looks for them, too."""
    import linecache

    while _WAITING:
        try:
            filename, lines = _WAITING.popitem()
        except KeyError:  # another thread was faster
            return
        linecache.checkcache(filename)
        whole = [*lines]
        if whole and not whole[-1].endswith("\n"):
            whole[-1] += "\n"  # as in files
        if linecache.getlines(filename) != whole:
            # No time stamp: not re-read.
            entry = (sum(map(len, whole)), None, whole, filename)
            linecache.cache[filename] = _KEPT[filename] = entry


def known_lines(filename: str) -> list[str]:
    """Return the lines of a text, a file or a notebook cell; empty if not available."""
    import linecache

    show_kept_lines()
    return linecache.getlines(filename)


def lines_of_file(filename: str, module: dict[str, Any] | None = None) -> list[str]:
    """Return the lines of a file or notebook cell, not of a text with the same name.

    Without such a file they are those of the text. Empty if not available.
    """
    import linecache

    show_kept_lines()
    kept = linecache.cache.get(filename)
    if kept is not None and kept is _KEPT.get(filename):
        del linecache.cache[filename]
        if not linecache.getlines(filename, module):
            linecache.cache[filename] = kept
    linecache.checkcache(filename)
    return linecache.getlines(filename, module)


def line_at(span: Span) -> str:
    """Return the source line on which a span begins, "" if not available."""
    return _source_line(span, None) if span.begin_line > 0 else ""


def text_at(span: Span) -> str:
    """Return the source text of a span, "" if it has several lines or is not available."""
    if span.begin_line <= 0 or span.end_line != span.begin_line or span.begin_column < 0:
        return ""
    return _source_line(span, None)[span.begin_column : span.end_column]


def lines_at(span: Span) -> str:
    """Return the source text of a span of one or several lines, "" if not available."""
    if span.begin_line <= 0 or span.begin_column < 0 or span.end_line <= span.begin_line:
        return text_at(span)
    # The span may come from anywhere: it may end far beyond the file.
    lines = known_lines(span.filename)[span.begin_line - 1 : span.end_line]
    if not lines:
        return ""
    if len(lines) > span.end_line - span.begin_line:
        lines[-1] = lines[-1][: span.end_column]
    return "".join([lines[0][span.begin_column :], *lines[1:]])


def _excerpt(
    span: Span, mark: str, text: str, width: int, lines: Sequence[str] | None, paint: _Paint
) -> list[str]:
    source = _source_line(span, lines)
    if not source:
        return []
    begin = max(span.begin_column, 0)
    end = span.end_column if span.end_line == span.begin_line else len(source)
    run = mark * max(1, min(end, len(source)) - begin)
    # Tabs are kept in the padding so that the caret is below its text in any terminal.
    pad = "".join("\t" if c == "\t" else " " for c in source[:begin])
    tone = paint.red if mark == "^" else paint.blue
    gutter = " " * width
    marked = f"{run} {text}" if text else run
    return [
        f"{paint.blue}{span.begin_line:>{width}} |{paint.off} {source}",
        f"{paint.blue}{gutter} |{paint.off} {pad}{tone}{marked}{paint.off}",
    ]


def render(
    diagnostic: Diagnostic, *, colour: bool = False, source_lines: Sequence[str] | None = None
) -> str:
    """Return the text of ``diagnostic`` with excerpt, caret, second spans, hint and note."""
    paint = _COLOUR if colour else _PLAIN
    kind = "error" if diagnostic.severity is DiagnosticSeverity.Error else "warning"
    slug = f"  [{diagnostic.rule_name}]" if diagnostic.rule_name else ""
    out = [f"{paint.red}{kind}{paint.off}: {paint.bold}{diagnostic.message}{paint.off}{slug}"]
    spans = [diagnostic.span, *(label.span for label in diagnostic.related)]
    width = max([len(str(p.begin_line)) for p in spans if p.begin_line > 0], default=1)
    span = diagnostic.span
    if span.begin_line > 0:
        column = f":{span.begin_column + 1}" if span.begin_column >= 0 else ""
        out.append(f"{' ' * width}--> {span.filename}:{span.begin_line}{column}")
        body = _excerpt(span, "^", diagnostic.label, width, source_lines, paint)
        if body:
            out.append(f"{paint.blue}{' ' * width} |{paint.off}")
            out += body
    for label in diagnostic.related:
        if label.span.begin_line <= 0:
            out.append(f"{' ' * width} = note: {label.text}")
            continue
        elsewhere = label.span.filename != span.filename
        if elsewhere:
            out.append(f"{' ' * width}::: {label.span.filename}:{label.span.begin_line}")
        lines = None if elsewhere else source_lines
        out += _excerpt(label.span, "-", label.text, width, lines, paint)
    if diagnostic.hint:
        out.append(f"{' ' * width} = hint: {diagnostic.hint}")
    if diagnostic.note:
        out.append(f"{' ' * width} = note: {diagnostic.note}")
    return "\n".join(out)


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: ``1 value``, ``2 values``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shortened(name: str, most: int = 80) -> str:
    """Return an untrusted name, quoted and cut after ``most`` characters."""
    return repr(name if len(name) <= most else f"{name[:most]}...")


def spelled_like(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name spelled most like ``name``, None if none is similar.

    Of equally similar ones (``add`` and ``and`` for ``adz``) it is the one that begins like it.
    """
    from difflib import SequenceMatcher, get_close_matches

    near = get_close_matches(name, sorted(known), n=5, cutoff=cutoff)

    def likeness(text: str) -> tuple[float, int]:
        begin = takewhile(lambda pair: pair[0] == pair[1], zip(text, name, strict=False))
        return SequenceMatcher(None, text, name).ratio(), len(list(begin))

    return max(near, key=likeness, default=None)
