"""Every exception that PyPTO raises on purpose.

Leaf code raises the fact and, where there is one, the hint; the front end or the pass runner
attaches the span with `PyptoError.at`. User mistakes are `PyptoError`; broken invariants are
`InternalError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

from pypto._src.diagnostics import (
    UNKNOWN_SPAN,
    Diagnostic,
    DiagnosticSeverity,
    Label,
    Span,
    render,
)


class PyptoError(Exception):
    """A mistake in a user's program, with its place.

    ``str(error)`` is the message; `render` gives the message with source excerpt, caret and hint.
    The same text is attached as a note, so that a plain traceback shows it too.
    """

    slug = "error"
    others: tuple[PyptoError, ...] = ()
    """Errors found together with this one, in the order of the source."""

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        hint: str | None = None,
        note: str | None = None,
        source_lines: Sequence[str] | None = None,
        *,
        slug: str | None = None,
        label: str = "",
        related: Iterable[Label] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.note = note
        self.label = label
        self.related = tuple(related)
        self.source_lines = None if source_lines is None else list(source_lines)
        self.place = UNKNOWN_SPAN if span is None else span
        if slug is not None:
            self.slug = slug
        self._attach()

    def _attach(self) -> None:
        self.__notes__ = [self.render()] if self.place is not UNKNOWN_SPAN else []

    def at(self, span: Span, source_lines: Sequence[str] | None = None) -> Self:
        """Give the error its place unless it has one already; return the error."""
        if self.place is UNKNOWN_SPAN:
            self.place = span
            if source_lines is not None:
                self.source_lines = list(source_lines)
            self._attach()
        return self

    @property
    def span(self) -> Any:
        """The place of the mistake, or None."""
        return None if self.place is UNKNOWN_SPAN else self.place

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as data."""
        return Diagnostic(
            DiagnosticSeverity.Error,
            self.slug,
            0,
            self.message,
            self.place,
            self.label,
            self.related,
            self.hint,
            self.note,
        )

    def render(self, *, colour: bool = False) -> str:
        """Return the whole text that a person should see."""
        return render(self.diagnostic, colour=colour, source_lines=self.source_lines)


class OpError(PyptoError, ValueError):
    """An op was called with operands that its type rule refuses.

    ``pl.add(x, m)`` with x [64, 128] and m [64, 64]: make both shapes equal.
    """

    slug = "op-operands"


class OpTypeError(PyptoError, TypeError):
    """An operand or keyword of an op has the wrong kind, such as a float where an int stands."""

    slug = "op-operands"


class ParserError(PyptoError):
    """Base of everything the front end reports about a kernel's source."""

    slug = "parser"

    @property
    def span(self) -> Any:
        """The place as a dict with ``filename line column begin_line begin_column``, or None."""
        if self.place is UNKNOWN_SPAN:
            return None
        name, line, column = self.place.filename, self.place.begin_line, self.place.begin_column
        return {
            "filename": name,
            "file": name,
            "line": line,
            "column": column,
            "begin_line": line,
            "begin_column": column,
        }


class ParserSyntaxError(ParserError):
    """The source has a form that the language does not have: ``for i in [1, 2]``."""

    slug = "syntax"


class ParserTypeError(ParserError):
    """An annotation, dtype, constant or operand has the wrong type: ``x: int``."""

    slug = "type"


class UndefinedVariableError(ParserError):
    """A name is read that nothing defines: write to it first, or correct its spelling."""

    slug = "undefined-name"


class SSAViolationError(ParserError):
    """A name is assigned twice under ``strict_ssa=True``: use a new name."""

    slug = "ssa-redefinition"

    def __init__(self, message: str, *args: Any, previous_span: Any = None, **kwargs: Any) -> None:
        self.previous_span = previous_span
        super().__init__(message, *args, **kwargs)


class UnsupportedFeatureError(ParserError):
    """A Python construct that kernels do not have: ``try``, ``lambda``, comprehensions."""

    slug = "unsupported"


class InvalidOperationError(ParserError):
    """An op that does not exist, or not for these operands: ``pl.ad(x, y)``."""

    slug = "unknown-op"


class ScopeIsolationError(ParserError):
    """A name is used outside the scope that defines it: yield it out of the loop or branch."""

    slug = "scope"


class VerificationError(PyptoError, ValueError):
    """A program breaks a rule of the IR; the message is the verifier's report."""

    slug = "verification"


class PassError(PyptoError, ValueError):
    """A pass cannot go on with this program: the message says what in it is not supported."""

    slug = "pass"


class MemoryPlanError(PyptoError, ValueError):
    """The tiles of a kernel do not fit the on-chip memory: make tiles smaller, or fewer live."""

    slug = "memory-overflow"


class EmitError(PyptoError, ValueError):
    """A program cannot be written in the target's form; the message says which part and why."""

    slug = "emit"


class EvaluationError(PyptoError, RuntimeError):
    """Running a program found a mistake in it: a region out of bounds, a poisoned read."""

    slug = "evaluation"


class CallError(PyptoError, TypeError):
    """A compiled program was called with the wrong arguments."""

    slug = "call"


class InternalError(RuntimeError):
    """A broken invariant of the compiler itself. Please report it with the program."""


InternalError.__module__ = "pypto"


def check(condition: object, message: str) -> None:
    """Raise ValueError with ``message`` unless ``condition`` holds."""
    if not condition:
        raise ValueError(message)


def internal_check(condition: object, message: str) -> None:
    """Raise InternalError with ``message`` unless ``condition`` holds."""
    if not condition:
        raise InternalError(message)
