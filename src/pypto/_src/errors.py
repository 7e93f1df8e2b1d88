"""Every exception that PyPTO raises on purpose.

Leaf code raises the fact and, where there is one, the hint; the front end or the pass runner
attaches the span with `PyptoError.at`. User mistakes are `PyptoError`; broken invariants are
`InternalError`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Any, ClassVar, Final, Self, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Diagnostic, DiagnosticSeverity, Label, Span, render


class ErrorCategory(Enum):
    """What a mistake in a kernel's source is about; the prefix of its `ErrorCode`."""

    SYNTAX = "E0"
    TYPE = "E1"
    NAME = "E2"
    OPERATION = "E3"


class ErrorCode(StrEnum):
    """Numbers of mistakes in a kernel's source. An error's ``slug`` is more precise."""

    UNSUPPORTED_STATEMENT = "E001"
    INVALID_ASSIGNMENT = "E002"
    INVALID_LOOP_TARGET = "E003"
    INVALID_RANGE_USAGE = "E004"
    MISSING_RANGE_CALL = "E005"
    TUPLE_UNPACKING_ERROR = "E006"
    ITER_ARG_MISMATCH = "E007"
    MISSING_TYPE_ANNOTATION = "E100"
    INVALID_TYPE_ANNOTATION = "E101"
    UNSUPPORTED_TYPE = "E102"
    INCOMPLETE_TYPE = "E103"
    TENSOR_TYPE_ERROR = "E104"
    DTYPE_ERROR = "E105"
    UNDEFINED_VARIABLE = "E200"
    SSA_VIOLATION = "E201"
    SCOPE_ISOLATION_ERROR = "E202"
    UNKNOWN_OPERATION = "E300"
    UNSUPPORTED_OPERATION = "E301"
    INVALID_OPERATION_ARGS = "E302"
    UNSUPPORTED_BINARY_OP = "E303"
    UNSUPPORTED_UNARY_OP = "E304"
    UNSUPPORTED_COMPARISON = "E305"

    @property
    def category(self) -> ErrorCategory:
        """What the mistake is about."""
        return ErrorCategory(self.value[:2])


def as_span(location: Span | Mapping[str, Any] | None) -> Span:
    """Return the span of a location: a span, a dict like `ParserError.span`, or None.

    Raises:
        TypeError: it is none of these kinds.
    """
    if isinstance(location, Span):
        return location
    if location is None:
        return UNKNOWN_SPAN
    if not isinstance(location, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"a location is a Span, a dict or None, got {type(location).__name__}")
    name = location.get("filename", location.get("file", ""))
    line = location.get("begin_line", location.get("line", -1))
    column = location.get("begin_column", location.get("column", -1))
    return Span(name, line, column, location.get("end_line", -1), location.get("end_column", -1))


def _as_dict(location: Span) -> dict[str, Any] | None:
    """Return a location as a dict, None if it is unknown."""
    if location is UNKNOWN_SPAN:
        return None
    name, line, column = location.filename, location.begin_line, location.begin_column
    return {
        "filename": name,
        "file": name,
        "line": line,
        "column": column,
        "begin_line": line,
        "begin_column": column,
    }


class PyptoError(Exception):
    """A mistake in a user's program, with its location in the source.

    ``str(error)`` is the message; `render` gives the message with source excerpt, caret and hint.
    The same text is attached as a note, so that a plain traceback shows it too.
    """

    slug = "error"
    others: tuple[PyptoError, ...] = ()
    """Errors found together with this one, in the order of the source."""
    has_more: bool = False
    """True if the search ended before all errors were found."""

    def __init__(
        self,
        message: str,
        span: Span | Mapping[str, Any] | None = None,
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
        self.location = as_span(span)
        if slug is not None:
            self.slug = slug
        self._attach()

    def _attach(self) -> None:
        self.__notes__ = [self.render()] if self.location is not UNKNOWN_SPAN else []

    def at(self, span: Span, source_lines: Sequence[str] | None = None) -> Self:
        """Give the error its location unless it has one already; return the error."""
        if self.location is UNKNOWN_SPAN:
            self.location = span
            if source_lines is not None:
                self.source_lines = list(source_lines)
            self._attach()
        return self

    def noted(self, note: str) -> Self:
        """Give the error a note unless it has one already; return the error."""
        if self.note is None:
            self.note = note
            self._attach()
        return self

    @property
    def span(self) -> Any:
        """The location of the mistake, or None."""
        return None if self.location is UNKNOWN_SPAN else self.location

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as data."""
        return Diagnostic(
            DiagnosticSeverity.Error,
            self.slug,
            0,
            self.message,
            self.location,
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


class OpTypeError(OpError, TypeError):
    """An operand or keyword of an op has the wrong kind, such as a float in place of an int."""


class ParserError(PyptoError):
    """Base of everything the front end reports about a kernel's source."""

    slug = "parser"
    code: ClassVar[ErrorCode | None] = None

    @property
    def span(self) -> dict[str, Any] | None:
        """The location: ``filename line column`` and ``file begin_line begin_column``; or None.

        Lines count from 1, columns from 0. `location` is the same as a `Span`.
        """
        return _as_dict(self.location)


class ParserSyntaxError(ParserError):
    """The source has a form that is not in the language: ``for i in [1, 2]``."""

    slug = "syntax"
    code = ErrorCode.UNSUPPORTED_STATEMENT


class ParserTypeError(ParserError):
    """An annotation, dtype, constant or operand has the wrong type: ``x: int``."""

    slug = "type"
    code = ErrorCode.INVALID_TYPE_ANNOTATION


class UndefinedVariableError(ParserError):
    """A name is read that is not defined: write to it first, or correct its spelling."""

    slug = "undefined-name"
    code = ErrorCode.UNDEFINED_VARIABLE


class SSAViolationError(ParserError):
    """A name is assigned twice under ``strict_ssa=True``: use a new name."""

    slug = "ssa-redefinition"
    code = ErrorCode.SSA_VIOLATION

    def __init__(
        self,
        message: str,
        *args: Any,
        previous_span: Span | Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        self.previous_place = as_span(previous_span)
        if previous_span is not None:
            related = cast("Iterable[Label]", kwargs.pop("related", ()))
            first = Label(self.previous_place, "first assigned here")
            kwargs["related"] = (*related, first)
        super().__init__(message, *args, **kwargs)

    @property
    def previous_span(self) -> dict[str, Any] | None:
        """Where the name was assigned before, in the form of `span`, or None."""
        return _as_dict(self.previous_place)


class UnsupportedFeatureError(ParserError):
    """A Python construct that kernels do not support: ``try``, ``lambda``, comprehensions."""

    slug = "unsupported"
    code = ErrorCode.UNSUPPORTED_OPERATION


class InvalidOperationError(ParserError):
    """An op that does not exist, or not for these operands: ``pl.ad(x, y)``."""

    slug = "unknown-op"
    code = ErrorCode.UNKNOWN_OPERATION


class ScopeIsolationError(ParserError):
    """A name is used outside the scope that defines it: yield it out of the loop or branch."""

    slug = "scope"


class LostVariableError(ScopeIsolationError, UndefinedVariableError):
    """A name of a loop or branch is read after it; code catching either class sees it."""

    slug = "undefined-name"


class ParserOpError(ParserTypeError, ParserSyntaxError, OpError):
    """`OpError` of a call in a kernel's source; code catching any of the classes sees it."""


class ParserOpTypeError(ParserTypeError, ParserSyntaxError, OpTypeError):
    """`OpTypeError` of a call in a kernel's source; code catching any of the classes sees it."""


def get_error_code(cls: type) -> ErrorCode | None:
    """Return the code of a class of parser errors, such as ``E200``; None for other classes."""
    return cls.code if issubclass(cls, ParserError) else None


class TextError(ParserError, ValueError):
    """A text defines no kernel, or more than the one expected: split it into two texts."""

    slug = "text"


class NotExecutedError(ParserError):
    """A text needs Python that is not executed: give the value, or say that the text is trusted.

    ``pl.parse(text, names={"ROWS": 64})`` or ``pl.parse(text, trusted=True)``
    """

    slug = "not-executed"


class TextRunError(ParserError, RuntimeError):
    """Python around the kernels of a text fails: the message says where and how."""

    slug = "text-run"


class VerificationError(PyptoError, ValueError):
    """A program breaks a rule of the IR; the message is the verifier's report."""

    slug = "verification"


class PassError(PyptoError, ValueError):
    """A pass does not support this program: the message says which part of it."""

    slug = "pass"


class ConversionError(PyptoError, RuntimeError):
    """A registered conversion of a tensor op returned no expression or statement."""

    slug = "conversion"


class MemoryPlanError(PyptoError, ValueError):
    """The tiles of a kernel do not fit the on-chip memory: make tiles smaller, or fewer live."""

    slug = "memory-overflow"


class EmitError(PyptoError, ValueError):
    """A program cannot be emitted for the target; the message says which part and why."""

    slug = "emit"


class OutputError(PyptoError, OSError):
    """A file cannot be written: it would be outside of its folder, or the disk refuses it."""

    slug = "output"


class AssemblerError(PyptoError, RuntimeError):
    """The PTO assembler refuses a kernel's text, or does not terminate on it."""

    slug = "assembler"


class EvaluationError(PyptoError, RuntimeError):
    """Running a program found a mistake in it: a region out of bounds, a poisoned read."""

    slug = "evaluation"


class SerializeError(PyptoError, ValueError):
    """Bytes that are not serialised IR of this version, or IR that cannot be serialised."""

    slug = "serialize"


class UnknownNameError(PyptoError, AttributeError):
    """A module or enumeration is asked for a name that it does not have: ``pl.FLOAT32``."""

    slug = "unknown-name"


class KeywordError(PyptoError, TypeError):
    """A decorator gets a keyword that it does not have: ``@pl.function(typ=...)``."""

    slug = "unknown-keyword"


class CallError(PyptoError, TypeError):
    """A compiled program was called with the wrong arguments."""

    slug = "call"


class PyptoWarning(UserWarning):
    """A program states something untrue but harmless: it is read as the warning says.

    ``warnings.simplefilter("error", pypto.PyptoWarning)`` refuses it.
    """


def warn(message: str, span: Span, *, hint: str | None, slug: str) -> None:
    """Warn of something at a location in the user's source, once per location and text."""
    advice = "" if hint is None else f"; {hint}"
    text = f"{message}{advice} [{slug}]"
    line = max(span.begin_line, 1)
    shown = _WARNED.setdefault(span.filename, {})  # Python's own key has no file
    warnings.warn_explicit(text, PyptoWarning, span.filename, line, registry=shown)


_WARNED: Final[dict[str, dict[Any, Any]]] = {}
"""Python's registries of warnings already shown, by source file."""


class InternalError(RuntimeError):
    """A broken invariant of the compiler itself. Please report it with the program."""


InternalError.__module__ = "pypto"


_WITH_AN: Final = re.compile(r"[aeioAEIO]|[Uu]n[^ai]|FP\d|f\d|nd")
"""How names of types begin that are spoken with a vowel: ``int``, ``UnknownType``, ``ndarray``."""


def with_article(kind: str) -> str:
    """Return the name of a type with its article: ``an int``."""
    return f"{'an' if _WITH_AN.match(kind) else 'a'} {kind}"


def of_type(value: object) -> str:
    """Return the type of a value with its article: ``an int``."""
    return with_article(type(value).__name__)


def check(condition: object, message: str) -> None:
    """Raise ValueError with ``message`` unless ``condition`` holds."""
    if not condition:
        raise ValueError(message)


def internal_check(condition: object, message: str) -> None:
    """Raise InternalError with ``message`` unless ``condition`` holds."""
    if not condition:
        raise InternalError(message)
