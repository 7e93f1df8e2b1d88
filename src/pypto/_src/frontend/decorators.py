"""``@pl.function``, ``@pl.program`` and ``@pl.inline``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from types import FunctionType as PythonFunction
from typing import TYPE_CHECKING, Any, Concatenate, Final, Generic, ParamSpec, TypeVar, overload

from pypto._src.diagnostics import Span, span_of_frame
from pypto._src.errors import ParserError, ParserSyntaxError
from pypto._src.frontend.programs import (
    Options,
    ProgramParser,
    method_nodes,
    parse_function,
    refuse_twice,
)
from pypto._src.frontend.source.python_names import Environment, function_environment
from pypto._src.frontend.source.source import class_source, first_line, function_source
from pypto._src.frontend.state.errors import span_of
from pypto._src.frontend.state.messages import describe, nearest
from pypto._src.ir.enums import FunctionType
from pypto._src.ir.stmts import Function, Program
from pypto._src.suggestions import refuse_keywords
from pypto._src.usage_errors import check_kind

if TYPE_CHECKING:
    from pypto._src.frontend.syntax.inline import InlineFunction

    P = ParamSpec("P")
    Q = ParamSpec("Q")
    R = TypeVar("R")
    Owner = TypeVar("Owner")

    class DeclaredFunction(Function, Generic[P, R]):
        """The type of a decorated function to type checkers: a `Function` with its signature."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...

        def __get__(
            self: DeclaredFunction[Concatenate[Owner, Q], R], owner: Owner, kind: Any = None
        ) -> Callable[Q, R]: ...

    class DeclaredInline(InlineFunction, Generic[P, R]):
        """The type of an inline function to type checkers."""

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


_OPTIONS: Final = "__pypto_options__"
_FRAME: Final = "__pypto_environment__"


@overload
def function(func: Callable[P, R], /) -> DeclaredFunction[P, R]: ...
@overload
def function(
    func: None = None, *, type: FunctionType = ..., strict_ssa: bool = ...
) -> Callable[[Callable[P, R]], DeclaredFunction[P, R]]: ...
def function(
    func: Callable[..., Any] | None = None,
    *,
    type: FunctionType = FunctionType.Opaque,  # noqa: A002  the name in the documents
    strict_ssa: bool = False,
    **unknown: Any,
) -> Any:
    """Turn a Python function into a function of the language.

    ``@pl.function`` or ``@pl.function(type=pl.FunctionType.InCore, strict_ssa=True)``. In a class
    it marks a method for ``@pl.program`` and returns the Python function.

    Raises:
        ParserError: the source has mistakes; this is the first, the others are in its ``others``.
        KeywordError: there is an unknown keyword.
        CallError: a keyword has a value of the wrong kind.
    """
    refuse_keywords("pl.function", unknown, ("type", "strict_ssa"), _caller())
    check_kind("strict_ssa", strict_ssa, bool, "write strict_ssa=True", _caller())
    options = Options(type, strict_ssa)
    if func is None:

        def decorate(func: Callable[..., Any]) -> Any:
            return _function(func, options, _caller())

        return decorate
    return _function(func, options, _caller())


def _caller() -> FrameType:
    """Return the frame that calls the caller of this function."""
    return sys._getframe(2)  # pyright: ignore[reportPrivateUsage]


def _function(func: Any, options: Options, frame: FrameType) -> Any:
    wrong = isinstance(func, type | FunctionType)
    if wrong or not isinstance(options.func_type, FunctionType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _misused(func, options, frame)
    func = unwrapped(func)
    environment = function_environment(func, frame)
    if _is_class_body(frame):
        setattr(func, _OPTIONS, options)
        setattr(func, _FRAME, environment)
        return func
    try:
        source, node = function_source(func)
        return parse_function(source, node, environment, options)
    except ParserError as error:
        if not hasattr(func, "__code__"):  # what is decorated has no location of its own
            error.at(span_of_frame(frame))
        raise
    except Exception as error:
        # Values around the kernel have methods of their own, which may raise anything, and the
        # parser may have a fault. The user is told which function was being parsed.
        raise _not_parsed(func, error) from error


def _misused(func: Any, options: Options, frame: FrameType) -> ParserSyntaxError:
    """Return the error for ``@pl.function`` above a class, or given what is no function type."""
    location = span_of_frame(frame)
    if isinstance(func, type):
        return ParserSyntaxError(
            f"@pl.function is for a function, got the class {func.__name__!r}",
            location,
            hint="write @pl.program above a class",
            slug="no-source",
        )
    if isinstance(func, FunctionType):
        return ParserSyntaxError(
            f"the type of a function is given by name, got {describe(func)}",
            location,
            hint=f"write pl.function(type=pl.FunctionType.{func.name})",
            slug="argument-kind",
        )
    found: Any = options.func_type
    meant = nearest(found, FunctionType.__members__) if isinstance(found, str) else None
    return ParserSyntaxError(
        f"the type of a function is a pl.FunctionType, got {describe(found)}",
        location,
        hint=f"write type=pl.FunctionType.{meant or FunctionType.InCore.name}",
        slug="argument-kind",
    )


def _not_parsed(func: Any, error: Exception) -> ParserSyntaxError:
    """Return the error for a function whose parsing raised an error that is not ours."""
    code = func.__code__
    return ParserSyntaxError(
        f"parsing function {func.__name__!r} raises {type(error).__name__}: {error}",
        span_of(error) or Span(code.co_filename, code.co_firstlineno, -1),
        slug="parsing-failed",
    )


def unwrapped(func: Any) -> Any:
    """Return the function that other decorators wrap."""
    while hasattr(func, "__wrapped__"):
        func = func.__wrapped__
    return getattr(func, "__func__", func)  # of a static method or class method


def _is_class_body(frame: FrameType) -> bool:
    names = frame.f_locals
    return "__qualname__" in names and "__module__" in names and names is not frame.f_globals


@overload
def program(cls: type, /) -> Program: ...
@overload
def program(cls: None = None, *, strict_ssa: bool = ...) -> Callable[[type], Program]: ...
def program(cls: type | None = None, *, strict_ssa: bool = False, **unknown: Any) -> Any:
    """Turn a class whose methods are decorated with ``@pl.function`` into a program.

    Raises:
        ParserError: the source has mistakes; this is the first, the others are in its ``others``.
        KeywordError: there is an unknown keyword.
        CallError: ``strict_ssa`` is not a bool.
    """
    refuse_keywords("pl.program", unknown, ("strict_ssa",), _caller())
    check_kind("strict_ssa", strict_ssa, bool, "write strict_ssa=True", _caller())
    if cls is None:

        def decorate(cls: type) -> Program:
            return _program(cls, strict_ssa, _caller())

        return decorate
    return _program(cls, strict_ssa, _caller())


def _program(cls: type, strict_ssa: bool, frame: FrameType) -> Program:
    if not isinstance(cls, type):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParserSyntaxError(
            f"@pl.program is for a class, got {describe(cls)}",
            span_of_frame(frame),
            hint=f"move it above class {frame.f_code.co_name}"
            if _is_class_body(frame)
            else "write @pl.function above a function",
            slug="no-class",
        )
    source, node = class_source(cls, frame)
    found = {first_line(n) + source.offset: n for n in method_nodes(node.body)}
    refuse_twice(cls.__name__, source, node)
    parser = ProgramParser(cls.__name__, vars(cls))
    for value in vars(cls).values():
        func = getattr(value, "__func__", value)  # of a static method or class method
        options: Options | None = getattr(func, _OPTIONS, None)
        if options is None or not isinstance(func, PythonFunction):
            continue
        if strict_ssa:
            options = Options(options.func_type, strict_ssa=True)
        environment: Environment = getattr(func, _FRAME)
        location = found.get(func.__code__.co_firstlineno)
        own = location is not None and location.name == func.__code__.co_name
        method_source, method = (source, location) if own else function_source(func)
        assert method is not None
        parser.add(method_source, method, _with_frame(environment, frame), options)
    if not parser.methods:
        names = [name for name, value in vars(cls).items() if isinstance(value, PythonFunction)]
        raise no_methods(cls.__name__, source.span(node), names)
    return parser.finish(source.span(node))


def no_methods(name: str, span: Span, functions: Sequence[str]) -> ParserSyntaxError:
    """Return the error for a class with these functions, none of which belongs to the language."""
    return ParserSyntaxError(
        f"class {name!r} has no method decorated with @pl.function",
        span,
        hint=f"write @pl.function above def {functions[0] if functions else 'kernel(self, ...):'}",
        slug="empty-program",
    )


def _with_frame(environment: Environment, frame: FrameType) -> Environment:
    """Return a method's environment with the names around its class."""
    return Environment((*environment.layers[:2], frame.f_locals, *environment.layers[2:]), frame)


@overload
def inline(func: Callable[P, R], /) -> DeclaredInline[P, R]: ...
@overload
def inline(func: None = None) -> Callable[[Callable[P, R]], DeclaredInline[P, R]]: ...
def inline(func: Callable[..., Any] | None = None, **unknown: Any) -> Any:
    """Mark a function whose statements are expanded at each call inside a kernel.

    Raises:
        ParserError: its source is not available.
        KeywordError: a keyword is given.
    """
    refuse_keywords("pl.inline", unknown, (), _caller())
    if func is None:

        def decorate(func: Callable[..., Any]) -> Any:
            return _inline(func, _caller())

        return decorate
    return _inline(func, _caller())


def _inline(func: Callable[..., Any], frame: FrameType) -> Any:
    from pypto._src.frontend.syntax.inline import InlineFunction

    func = unwrapped(func)
    source, node = function_source(func)
    environment = function_environment(func, frame)
    environment.frame = None  # the definition outlives the frame
    return InlineFunction(source, node, environment)
