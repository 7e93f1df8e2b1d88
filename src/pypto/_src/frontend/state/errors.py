"""Errors of one parse: how many are kept, where they arose, how errors of ops are worded."""

from __future__ import annotations

from typing import Final

from pypto._src.diagnostics import Span
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserOpError,
    ParserOpTypeError,
    PyptoError,
)

MOST_ERRORS: Final = 10


class EnoughErrors(Exception):
    """A report's maximum number of errors has been found."""


class Errors:
    """The errors found so far, of all functions of a program."""

    __slots__ = ("found", "has_more")

    def __init__(self) -> None:
        self.found: list[PyptoError] = []
        self.has_more = False

    def add(self, error: PyptoError) -> None:
        """Keep an error; raise `EnoughErrors` when there are too many to show."""
        if len(self.found) >= MOST_ERRORS:
            self.has_more = True
            raise EnoughErrors
        self.found.append(error)

    def raise_first(self) -> None:
        """Raise the first error, with the others in its ``others``; return if there is none."""
        if self.found:
            self.found.sort(key=lambda e: (e.location.filename, e.location.begin_line))
            first, *others = self.found
            first.others = tuple(others)
            first.has_more = self.has_more
            raise first.with_traceback(None) from None


_PLACE: Final = "__pypto_place__"


def note_span(error: Exception, span: Span) -> None:
    """Note where in a kernel an error from outside the front end arose; the first span counts."""
    if not hasattr(error, _PLACE):
        setattr(error, _PLACE, span)
        error.add_note(f"raised while {span.filename}, line {span.begin_line}, was parsed")


def span_of(error: Exception) -> Span | None:
    """Return the span noted by `note_span`."""
    return getattr(error, _PLACE, None)


def as_parser_error(error: PyptoError) -> ParserError:
    """Return an op's error as one of the front end, with the same text."""
    cls: type[ParserError] = ParserOpTypeError if isinstance(error, TypeError) else ParserOpError
    if error.slug == "no-overload":
        cls = InvalidOperationError
    return cls(
        error.message,
        error.location,
        error.hint,
        error.note,
        error.source_lines,
        slug=error.slug,
        label=error.label,
        related=error.related,
    )
