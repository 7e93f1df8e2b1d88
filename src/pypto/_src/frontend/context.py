"""The state of one function being parsed, shared by the handlers of all syntax forms.

Owns names, the statements so far, errors and Out parameters. Knows no syntax: the tables of
handlers are handed in, so that statements, expressions and calls need not import each other.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import (
    InvalidOperationError,
    OpError,
    OpTypeError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UndefinedVariableError,
)
from pypto._src.frontend.environment import MISSING, Environment, items_of
from pypto._src.frontend.messages import describe, did_you_mean
from pypto._src.frontend.scalars import number
from pypto._src.frontend.scope import BROKEN, Cascade, Names, reassigned
from pypto._src.frontend.source import Source
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.nodes import (
    Call,
    Expr,
    MakeTuple,
    MemRef,
    ScalarType,
    TensorType,
    TileType,
    Type,
    Var,
)
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import AssignStmt, Function, Stmt, seq
from pypto._src.ops.unified import unified

MOST_ERRORS: Final = 10
TERMINATORS: Final = frozenset({ast.Return, ast.Break, ast.Continue})


class EnoughErrors(Exception):
    """As many errors as one report shows have been found."""


class Errors:
    """The errors found so far, of all functions of a program."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[PyptoError] = []

    def add(self, error: PyptoError) -> None:
        """Keep an error; raise `EnoughErrors` when there are too many to show."""
        self.found.append(error)
        if len(self.found) >= MOST_ERRORS:
            raise EnoughErrors

    def raise_first(self) -> None:
        """Raise the first error, with the others in its ``others``; return if there is none."""
        if self.found:
            self.found.sort(key=lambda e: (e.place.filename, e.place.begin_line))
            first, *others = self.found
            first.others = tuple(others)
            raise first.with_traceback(None) from None


class Signature(NamedTuple):
    """What callers need to know of a function."""

    name: str
    params: tuple[Var, ...]
    directions: tuple[ParamDirection, ...]
    results: tuple[Type, ...]

    @staticmethod
    def of(function: Function) -> Signature:
        """Return the signature of a finished function."""
        return Signature(
            function.name, function.params, function.param_directions, function.return_types
        )


class Callee:
    """A function of the program, perhaps not parsed yet."""

    def signature(self, span: Span) -> Signature:
        """Return the signature; ``span`` is the call's, for errors."""
        raise NotImplementedError


class Functions(Protocol):
    """What a function sees of the program around it."""

    def method(self, name: str) -> Callee | None:
        """Return the function that ``self.<name>`` is, or None."""
        ...

    def attribute(self, name: str) -> Any:
        """Return the class attribute ``name``, `MISSING` if there is none."""
        ...

    def names(self) -> list[str]:
        """Return the names of all methods."""
        ...

    def use(self, function: Function, span: Span) -> None:
        """Add a function from outside the program."""
        ...


Form: TypeAlias = "Callable[[Context, Any], Any]"


class Context:
    """One function being parsed."""

    __slots__ = (
        "_assigned",
        "block",
        "broken",
        "declared",
        "environment",
        "errors",
        "expanding",
        "forms",
        "functions",
        "loops",
        "memrefs",
        "names",
        "node",
        "origins",
        "outer",
        "outputs",
        "parts",
        "returns",
        "self_name",
        "source",
        "stmt_forms",
        "strict_ssa",
        "wanted",
        "written",
    )  # fmt: skip

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        environment: Environment,
        forms: Mapping[type, Form],
        stmt_forms: Mapping[type, Form],
        functions: Functions,
        errors: Errors,
        *,
        strict_ssa: bool = False,
    ) -> None:
        self.source = source
        self.node = node
        self.environment = environment
        self.forms = forms
        self.stmt_forms = stmt_forms
        self.functions = functions
        self.errors = errors
        self.strict_ssa = strict_ssa
        self.names = Names()
        self.outer: dict[str, Any] = {}  # names of the environment, looked up once
        self.block: list[Stmt] = []
        self.self_name = ""  # the name of the first parameter of a method
        self.memrefs: dict[Any, MemRef] = {}
        self.declared: dict[str, Type] = {}  # `x: TYPE` without a value
        self.loops: list[Any] = []
        self.wanted: tuple[Type, ...] | None = None  # declared result types
        self.returns: list[tuple[tuple[Expr, ...], Span]] = []
        self.origins: dict[Expr, Var] = {}  # the Out or InOut parameter whose buffer it is
        self.parts: dict[Expr, list[Var | None]] = {}  # the same of each part of a tuple
        self.outputs: dict[str, Var] = {}
        self.written: set[Var] = set()
        self.expanding: tuple[Any, ...] = ()  # inline functions around this one
        self._assigned: frozenset[str] | None = None
        self.broken = False  # True once a statement was given up

    # ------------------------------------------------------------------ expressions

    def value(self, node: ast.expr) -> Any:
        """Return what an expression means: an IR expression, or a Python object."""
        return self.forms[node.__class__](self, node)

    def span(self, node: Any) -> Span:
        """Return the place of a syntax node."""
        return self.source.span(node)

    def expr(self, node: ast.expr, dtype: Any = None) -> Expr:
        """Return an expression as IR; a bare number gets ``dtype`` if that has its value."""
        return self.as_expr(self.value(node), node, dtype)

    def as_expr(self, value: Any, node: ast.expr, dtype: Any = None) -> Expr:
        """Return a value as IR.

        Raises:
            ParserTypeError: it is a Python object without meaning in a kernel.
        """
        if isinstance(value, Expr):
            return value
        if isinstance(value, bool | int | float):
            return self.number(value, dtype, node)
        items = items_of(value)
        if items is not None:
            return MakeTuple([self.as_expr(item, node) for item in items], self.span(node))
        raise ParserTypeError(
            f"a value of the kernel was wanted, got {describe(value)}",
            self.span(node),
            slug="not-a-value",
        )

    def number(self, value: float, dtype: Any, node: ast.expr) -> Expr:
        """Return a Python number as a constant.

        Raises:
            ParserTypeError: it has no 64 bits.
        """
        try:
            return number(value, dtype, self.span(node))
        except TypeError as error:
            raise ParserTypeError(str(error), self.span(node), slug="constant-range") from None

    def scalar(self, node: ast.expr, what: str, *, integer: bool = False) -> Expr:
        """Return an expression that must be a scalar.

        Raises:
            ParserTypeError: it is none, or no integer where one is wanted.
        """
        found = self.expr(node)
        kind = found.type
        if isinstance(kind, ScalarType) and (not integer or kind.dtype.is_int()):
            return found
        wanted = "an integer" if integer else "a scalar"
        raise ParserTypeError(
            f"{what} is {wanted}, got {describe(found)}", self.span(node), slug="scalar-wanted"
        )

    def peek(self, node: ast.expr) -> Any:
        """Return the object behind a name or ``module.name``, `MISSING` if it is not plain."""
        if isinstance(node, ast.Name):
            value = self.names.values.get(node.id, MISSING)
            return self.lookup(node.id) if value is MISSING else value
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            base = self.peek(node.value)
            return MISSING if isinstance(base, Expr) else getattr(base, node.attr, MISSING)
        return MISSING

    def lookup(self, name: str) -> Any:
        """Return what a name means outside the function, `MISSING` if nothing."""
        value = self.outer.get(name, MISSING)
        if value is MISSING and name not in self.assigned and name not in self.names.lost:
            value = self.environment.get(name)
            if value is not MISSING:
                self.outer[name] = value
        return value

    @property
    def assigned(self) -> frozenset[str]:
        """The names that the function assigns anywhere: its locals, as in Python."""
        if self._assigned is None:
            self._assigned = frozenset(assigned_names(self.node.body))
        return self._assigned

    def undefined(self, node: ast.Name) -> ParserError:
        """Return the error for a name that means nothing here."""
        name, span = node.id, self.span(node)
        lost = self.names.lost.get(name)
        if lost is not None:
            return UndefinedVariableError(
                f"{name!r} is defined only {lost.place}",
                span,
                hint=lost.hint or f"assign {name} before it as well, or use the value there",
                related=(Label(lost.span, f"{name} is defined here"),),
            )
        if name in self.assigned:
            return UndefinedVariableError(
                f"{name!r} is read before the function assigns it", span, slug="undefined-name"
            )
        if unified(name) is not None:
            hint: str | None = f"write pl.{name}"
        else:
            hint = did_you_mean(name, [*self.names.values, *self.environment.names()])
        return UndefinedVariableError(f"{name!r} is not defined", span, hint=hint)

    # ------------------------------------------------------------------- statements

    def run(self, nodes: Sequence[ast.stmt]) -> None:
        """Parse statements in order; after an error go on with the next statement."""
        forms = self.stmt_forms
        for index, node in enumerate(nodes):
            level, mark, block = self.names.level, len(self.names.journal), self.block
            try:
                forms[node.__class__](self, node)
            except PyptoError as error:
                self.recover(node, level, mark, block)
                self.report(error, node)
            except Cascade:
                self.recover(node, level, mark, block)
            if node.__class__ in TERMINATORS and index + 1 < len(nodes):
                self.report(_unreachable(self, node, nodes[index + 1]), node)
                return

    def recover(self, node: ast.stmt, level: int, mark: int, block: list[Stmt]) -> None:
        """After an error, go back to the block of ``node`` and mark what it assigns as broken."""
        self.broken = True
        while self.names.level > level:
            self.names.close(mark)
        self.names.level = level
        self.block = block
        for name in assigned_names([node]):
            if name not in self.names.values:
                self.names.bind(name, BROKEN)

    def report(self, error: PyptoError, node: Any) -> None:
        """Keep an error, with the place of ``node`` if it has none."""
        self.errors.add(self.located(error, self.span(node)))

    def located(self, error: PyptoError, span: Span) -> PyptoError:
        """Return an error as one of the front end, with place and source text."""
        if isinstance(error, OpError | OpTypeError):
            error = as_parser_error(error)
        error.at(span)
        if error.source_lines is None and error.place.filename == self.source.filename:
            error.source_lines = list(self.source.lines)
            error.__notes__ = [error.render()]
        return error

    def body(self, nodes: Sequence[ast.stmt]) -> list[Stmt]:
        """Parse the statements of a block into a list of their own."""
        outside, self.block = self.block, []
        try:
            self.run(nodes)
            return self.block
        finally:
            self.block = outside

    def assign(
        self,
        name: str,
        value: Expr,
        node: Any,
        *,
        kind: Type | None = None,
        source: ast.expr | None = None,
    ) -> Var:
        """Append ``name = value``.

        ``kind`` is the variable's type if it is not the value's; ``source`` is where the value
        stands, for errors.

        Raises:
            ParserTypeError: the name must keep its type, or be what it is.
            SSAViolationError: a second assignment under ``strict_ssa``.
        """
        span = self.span(node)
        self.check_assignable(name, value, span, source)
        try:
            var = self.names.define(name, value.type if kind is None else kind, span)
        except ParserTypeError as error:
            raise error.at(span) from None
        self.follow(var, value)
        whole = span if source is None else _from_to(span, self.span(source))
        self.block.append(AssignStmt(var, value, whole))
        return var

    def append(self, var: Var, value: Expr, span: Span) -> None:
        """Append ``var = value``."""
        self.block.append(AssignStmt(var, value, span))

    def check_assignable(
        self, name: str, value: Expr | None, span: Span, source: ast.expr | None = None
    ) -> None:
        """Raise what forbids to assign ``value`` to ``name``."""
        old = self.names.values.get(name, MISSING)
        if old is MISSING or old is BROKEN:
            return
        if self.strict_ssa:
            raise reassigned(name, old, span)
        output = self.outputs.get(name)
        if output is None or not isinstance(old, Var) or self.origins.get(old) is not output:
            return
        if value is None or self.origin(value) is not output:
            raise self._rebound(name, output, value, span, source)

    def _rebound(
        self, name: str, output: Var, value: Expr | None, span: Span, source: ast.expr | None
    ) -> ParserTypeError:
        hint = f"use another name: {name}2 = ..."
        if value is not None and isinstance(value.type, TileType):
            hint = f"write {store_line(name, output, self.source.text(source) if source else '')}"
        return ParserTypeError(
            f"{name!r} is an output; this gives its name to a value that is not stored in it",
            span,
            hint=hint,
            slug="out-rebound",
            related=(Label(output.span, "the parameter"),),
        )

    # --------------------------------------------------------------------- outputs

    def origin(self, value: Expr) -> Var | None:
        """Return the Out or InOut parameter whose buffer ``value`` is."""
        return self.origins.get(value)

    def follow(self, var: Expr, value: Expr) -> None:
        """Note that ``var`` now names the buffer that ``value`` is."""
        if value in self.parts:
            self.parts[var] = self.parts[value]
        if not isinstance(var.type, TensorType):
            return
        origin = self.origins.get(value)
        if origin is not None:
            self.origins[var] = origin
        elif var in self.origins and var is not self.origins[var]:
            del self.origins[var]

    def note_effects(self, call: Call) -> None:
        """Note which outputs an op call writes, and whose buffer its value is."""
        op = call.op
        if not isinstance(op, OpDef):
            return
        for index in op.writes:
            origin = self.origins.get(call.args[index])
            if origin is not None:
                self.written.add(origin)
                self.origins[call] = origin
        if op.view_of is not None:
            origin = self.origins.get(call.args[op.view_of])
            if origin is not None:
                self.origins[call] = origin


def _from_to(first: Span, last: Span) -> Span:
    """Return the range from the begin of one to the end of another."""
    return Span(
        first.filename, first.begin_line, first.begin_column, last.end_line, last.end_column
    )


def _unreachable(ctx: Context, last: ast.stmt, following: ast.stmt) -> ParserError:
    word = type(last).__name__.lower()
    return ParserSyntaxError(
        f"this statement stands after {word!r} and never runs",
        ctx.span(following),
        hint=f"delete it, or move it before the {word}",
        slug="unreachable",
    )


def store_line(name: str, output: Var, tile: str = "") -> str:
    """Return a statement that stores a tile into an output, as a reader could type it."""
    shape = output.type.shape if isinstance(output.type, TensorType) else ()
    zeros = ", ".join("0" for _ in shape)
    dims = ", ".join(str(dim) for dim in shape)
    return f"{name} = pl.store({tile or 'tile'}, [{zeros}], [{dims}], {name})"


def as_parser_error(error: PyptoError) -> ParserError:
    """Return an op's error as one of the front end, with the same text."""
    unknown = error.slug == "no-overload"
    cls = InvalidOperationError if unknown else ParserTypeError
    return cls(
        error.message,
        error.place,
        error.hint,
        error.note,
        error.source_lines,
        slug=error.slug,
        label=error.label,
        related=error.related,
    )


def body_of(stmts: list[Stmt], span: Span) -> Stmt:
    """Return statements as one body."""
    return seq(stmts, span)


def assigned_names(nodes: Sequence[ast.stmt]) -> Iterator[str]:
    """Yield the names that statements assign, nested ones included."""
    stack: list[ast.AST] = list(reversed(nodes))
    while stack:
        node = stack.pop()
        match node:
            case ast.Assign():
                stack += reversed(node.targets)
            case ast.AugAssign() | ast.AnnAssign():
                stack.append(node.target)
            case ast.Name():
                yield node.id
            case ast.Tuple() | ast.List():
                stack += reversed(node.elts)
            case ast.For():
                stack += [*reversed(node.orelse), *reversed(node.body), node.target]
            case ast.If() | ast.While():
                stack += [*reversed(node.orelse), *reversed(node.body)]
            case ast.With():
                stack += reversed(node.body)
            case _:
                continue
