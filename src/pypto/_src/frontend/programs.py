"""Whole functions and programs: signatures, results, and which function calls which."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    PyptoError,
    UnsupportedFeatureError,
    warn,
)
from pypto._src.frontend.source.python_names import MISSING, Environment
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.errors import EnoughErrors, Errors
from pypto._src.frontend.state.messages import cast_hint, part_hint, spell, spell_apart, store_line
from pypto._src.frontend.state.scope import Cascade, same_joined_type, same_value_type
from pypto._src.frontend.state.signatures import Callee, Functions, Signature
from pypto._src.frontend.syntax.annotations import declared_join, parameter_type, result_types
from pypto._src.frontend.syntax.expressions import FORMS
from pypto._src.frontend.syntax.statements import STATEMENT_FORMS
from pypto._src.ir.annotations import Scalar
from pypto._src.ir.array_types import TensorType, TileType, symbols_of_type
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import Function, Program, ScopeStmt, Stmt, seq, statements
from pypto._src.ir.traversal.queries import calls_of, uses
from pypto._src.ir.traversal.walk import children
from pypto._src.ir.types import Type
from pypto._src.ir.unchecked import checked_var
from pypto._src.ops.rules.type_rules import called

if TYPE_CHECKING:
    from pypto._src.frontend.syntax.inline import InlineFunction

_CALLED_OUTSIDE: Final[dict[Function, tuple[Function, ...]]] = {}
"""Functions that a function outside any program calls; a program that uses it takes these, too."""


class Options:
    """The arguments of ``@pl.function(...)``."""

    __slots__ = ("func_type", "strict_ssa")

    def __init__(self, func_type: FunctionType, strict_ssa: bool) -> None:
        self.func_type = func_type
        self.strict_ssa = strict_ssa


class Method(Callee):
    """One function being parsed: its header when first needed, then its body."""

    def __init__(
        self,
        source: Source,
        node: ast.FunctionDef,
        environment: Environment,
        options: Options,
        functions: Functions,
        errors: Errors,
    ) -> None:
        self.name = node.name
        self.source = source
        self.node = node
        self.environment = environment
        self.options = options
        self.errors = errors
        self.function: Function | None = None
        self.params: list[tuple[Var, ParamDirection]] = []
        self.wanted: tuple[Type, ...] | None = None  # declared result types
        self.context = Context(
            source,
            node,
            environment,
            FORMS,
            STATEMENT_FORMS,
            functions,
            errors,
            strict_ssa=options.strict_ssa,
            func_type=options.func_type,
        )
        self._declared: bool | None = None  # False if the header has an error
        self._begun = False
        self._ended = False

    def signature(self, span: Span) -> Signature:
        """Return what callers need; parses the body if only that determines the result types.

        Raises:
            ParserTypeError: the function calls itself and does not declare its results, or is a
                kernel.
            Cascade: its header has an error.
        """
        self.declare()
        if not self._declared:
            raise Cascade
        results = self.wanted
        if results is not None and self.needs_body:
            _parse_after_callees(self)
            if self._ended and self.function is None:
                raise Cascade
        if self.function is not None:
            return Signature.of(self.function)
        if results is None:
            if self._begun and not self._ended:
                if self.options.func_type is FunctionType.InCore:
                    raise ParserTypeError(
                        f"the kernel {self.name!r} calls itself",
                        span,
                        hint="write a loop in place of the recursion",
                        slug="recursion",
                    )
                raise ParserTypeError(
                    f"{self.name} calls itself, so its result types must be declared",
                    span,
                    hint="declare them after its parameters, as in -> pl.INT64",
                    slug="recursive-results",
                )
            _parse_after_callees(self)
            if self.function is None:
                raise Cascade
            return Signature.of(self.function)
        directions = tuple(direction for _, direction in self.params)
        return Signature(self.name, tuple(var for var, _ in self.params), directions, results)

    def of_blocks(self) -> InlineFunction | None:
        """Return the function for a launch to expand, None if it does not ask for its block index.

        The block index is known in the launch; a kernel of its own would not have it.
        """
        asks = any(
            isinstance(node, ast.Attribute) and node.attr == "get_block_idx"
            for node in ast.walk(self.node)
        )
        if not asks:
            return None
        from pypto._src.frontend.syntax.inline import InlineFunction

        return InlineFunction(self.source, self.node, self.environment)

    @property
    def needs_body(self) -> bool:
        """True if the header leaves results open: missing types, or how much of a tile is valid."""
        return self.wanted is None or TileType in map(type, self.wanted)

    def callees(self) -> list[Method]:
        """Return the functions that it calls whose callers need more than the header.

        Empty once it is parsed: then they are, too.
        """
        self.declare()
        if self._begun or not self._declared:
            return []
        named = (self.context.functions.method(name) for name in _names_of_self(self.node))
        found = [callee for callee in named if isinstance(callee, Method)]
        return [callee for callee in found if callee.needs_body]

    def declare(self) -> None:
        """Parse the header, once; errors are collected."""
        if self._declared is not None:
            return
        self._declared = False
        try:
            self._parameters()
            if self.node.returns is not None:
                self.wanted = result_types(self.context, self.node.returns)
                self.context.wanted = self.wanted
            self._declared = True
        except PyptoError as error:
            self.context.report(error, self.node)
        except Cascade:
            pass

    def _parameters(self) -> None:
        ctx, args = self.context, self.node.args
        listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
        for odd in (args.vararg, args.kwarg, *args.defaults, *filter(None, args.kw_defaults)):
            if odd is not None:
                raise _odd_parameter(ctx, odd)
        if listed and listed[0].arg == "self":
            ctx.self_name = "self"
            listed = listed[1:]
        found: dict[str, tuple[Var, ParamDirection]] = {}
        # A dimension may be a scalar parameter that comes later.
        for arg in sorted(listed, key=lambda arg: not _is_scalar(ctx, arg)):
            if arg.arg in found:
                self._refuse_twice(arg, listed)
            found[arg.arg] = self._parameter(arg)
        self.params = [found[arg.arg] for arg in listed]

    def _refuse_twice(self, arg: ast.arg, listed: Sequence[ast.arg]) -> NoReturn:
        """Raise the error for two parameters of one name, which Python reports on compiling."""
        first, second, *_ = [other for other in listed if other.arg == arg.arg]
        raise ParserSyntaxError(
            f"two parameters are called {arg.arg!r}",
            self.context.span(second),
            hint=f"call this one {arg.arg}2",
            slug="parameter-name",
            related=(Label(self.context.span(first), "the first one"),),
        )

    def _parameter(self, arg: ast.arg) -> tuple[Var, ParamDirection]:
        ctx = self.context
        if arg.annotation is None:
            raise ParserTypeError(
                f"parameter {arg.arg!r} has no type",
                ctx.span(arg),
                hint=f"write {arg.arg}: pl.Tensor[[64, 64], pl.FP32]",
                slug="annotation",
            )
        kind, direction = parameter_type(ctx, arg.annotation)
        var = checked_var(arg.arg, kind, ctx.span(arg))
        ctx.names.bind(arg.arg, var)
        if direction is not ParamDirection.In and isinstance(kind, TensorType):
            ctx.outputs[arg.arg] = var
            ctx.origins[var] = var
        elif isinstance(kind, TensorType):
            ctx.inputs[var] = None
        return var, direction

    def parse(self) -> None:
        """Parse the function, once; ``function`` stays None if it has errors."""
        self.declare()
        if self._begun or not self._declared:
            return
        self._begun = True
        self._body()
        self._ended = True
        del self.context  # it knows the program around it, as the program knows this function

    def _body(self) -> None:
        ctx = self.context
        errors = len(self.errors.found)
        ctx.run(self.node.body)
        if ctx.unplaced:
            from pypto._src.frontend.diagnose.misplaced_operands import misplaced_operands
            from pypto._src.frontend.state.matrix_operands import placed

            body = seq(ctx.block, ctx.span(self.node))
            body, ctx.unplaced = placed(body, ctx.unplaced)
            ctx.block = [*statements(body)]
            for error in misplaced_operands(ctx, seq(ctx.block, ctx.span(self.node))):
                ctx.report(error, self.node)
        if ctx.zero_divisions:
            body = seq(ctx.block, ctx.span(self.node))
            from pypto._src.frontend.syntax.zero_divisions import zero_divisions

            for error in zero_divisions(body):
                ctx.report(error, self.node)
        if ctx.broken or len(self.errors.found) > errors:
            return
        try:
            results = self._results()
            self._check_symbolic()
            self._check_outputs()
            span = ctx.span(self.node)
            body = seq(ctx.block, span)
            if self.options.func_type is FunctionType.Orchestration and ctx.has_tile_ops:
                _check_host(self.name, body)
        except ParserError as error:
            ctx.report(error, self.node)
            return
        self.function = Function(
            self.name, self.params, results, body, span, self.options.func_type
        )

    def _return_hint(self, wanted: Sequence[Type]) -> str:
        """Return the return statement for the outputs, if their types are those declared."""
        outputs = [p for p, direction in self.params if direction is not ParamDirection.In]
        if len(outputs) != len(wanted) or not all(
            same_value_type(p.type, kind) for p, kind in zip(outputs, wanted, strict=True)
        ):
            return "write return and the value as its last statement"
        return f"write return {', '.join(p.name for p in outputs)} at the end"

    def _results(self) -> tuple[Type, ...]:
        ctx = self.context
        if ctx.wanted is not None:
            if ctx.wanted and not ctx.returns:
                assert self.node.returns is not None
                raise ParserTypeError(
                    f"{self.name} declares a result and never returns one",
                    ctx.span(self.node.returns),
                    hint=self._return_hint(ctx.wanted),
                    slug="return-type",
                )
            if any(map(_has_no_valid_part, ctx.wanted)):
                return self._with_parts(ctx.wanted)
            return ctx.wanted
        if not ctx.returns:
            return ()
        first, first_span = ctx.returns[0]
        for values, span in ctx.returns[1:]:
            agree = len(values) == len(first) and all(
                same_joined_type(a.type, b.type) for a, b in zip(first, values, strict=True)
            )
            if not agree:
                _check_parts(first, values, first_span, span)
                raise ParserTypeError(
                    f"this returns {_spell_all(values)}, an earlier return {_spell_all(first)}",
                    span,
                    hint=_returned_as(ctx, first, values, span),
                    slug="return-type",
                    related=(Label(first_span, "the earlier return"),),
                )
        return tuple(value.type for value in first)

    def _with_parts(self, wanted: Sequence[Type]) -> tuple[Type, ...]:
        """Return the declared results; a tile declared without a view is valid where returned."""
        ctx = self.context
        first, first_span = ctx.returns[0]
        for values, span in ctx.returns[1:]:
            _check_parts(first, values, first_span, span)
        pairs = zip(wanted, first, strict=True)
        return tuple(declared_join(ctx, self.node, kind, value.type) for kind, value in pairs)

    def _write_hint(self, output: Var) -> str:
        if self.options.func_type is not FunctionType.Orchestration:
            return f"write {store_line(output.name, output)}"
        name = output.name
        return f"pass {name} itself to a kernel that writes it; pl.reshape({name}, ...) is a copy"

    def _check_outputs(self) -> None:
        """Raise an error for an Out parameter that is never written, or an input that is.

        A function that declares no directions at all may write each of its tensors.
        """
        ctx = self.context
        for var, direction in self.params:
            unwritten = var.name in ctx.outputs and var not in ctx.written
            if direction is ParamDirection.Out and unwritten and var in ctx.swapped:
                raise ctx.swapped_error(var)
            if direction is ParamDirection.Out and unwritten:
                location = self._annotation(var.name)
                if any(var is value for values, _ in ctx.returns for value in values):
                    warn(
                        f"output {var.name!r} of {self.name} is returned as it came, never written",
                        var.span if location is None else ctx.span(location),
                        hint=self._write_hint(var),
                        slug="out-never-written",
                    )
                    continue
                raise ParserTypeError(
                    f"output {var.name!r} of {self.name} is never written",
                    var.span if location is None else ctx.span(location),
                    hint=self._write_hint(var),
                    slug="out-never-written",
                )
        self._check_returned()
        for var, call in ctx.inputs.items():
            if call is not None:
                location = self._annotation(var.name if isinstance(var, Var) else "")
                text = "..." if location is None else ctx.source.text(location)
                raise ParserTypeError(
                    f"{var} is written, although it is not declared as an output",
                    call.span,
                    hint=f"write {var}: pl.InOut[{text}]",
                    slug="input-written",
                    related=(Label(var.span, "the parameter"),),
                )

    def _check_returned(self) -> None:
        """Warn of an input that is returned while an output of its type is not."""
        ctx = self.context
        inputs = [var for var, direction in self.params if direction is ParamDirection.In]
        for values, span in ctx.returns:
            returned = {ctx.origin(value) or value for value in values}
            left = [var for var in ctx.outputs.values() if var not in returned]
            for value in values:
                output = next((var for var in left if same_value_type(var.type, value.type)), None)
                if output is None or not any(value is var for var in inputs):
                    continue
                warn(
                    f"{self.name} returns its input {value}, and not its output {output.name!r}",
                    span,
                    hint=f"write return {output.name}" if len(values) == 1 else None,
                    slug="input-returned",
                )

    def _check_symbolic(self) -> None:
        """Raise an error for a symbolic size that the body reads and no parameter determines."""
        ctx = self.context
        if not ctx.environment.has_symbols:
            return
        outside = {name: value for name, value in ctx.outer.items() if isinstance(value, Var)}
        determined = set(
            uses([size for var, _ in self.params for size in symbols_of_type(var.type)])
        )
        unknown = {name for name, var in outside.items() if var not in determined}
        if not unknown:
            return
        for statement in self.node.body:
            for item in ast.walk(statement):
                if isinstance(item, ast.Name) and item.id in unknown:
                    raise ParserTypeError(
                        f"{item.id} is a symbolic size, and no parameter of {self.name} has it",
                        ctx.span(item),
                        hint=f"declare a parameter with it, as in x: pl.Tensor[[{item.id}, 64], "
                        "pl.FP32], or a scalar: n: pl.INDEX",
                        slug="symbolic-size",
                    )

    def _annotation(self, name: str) -> ast.expr | None:
        """Return the annotation of a parameter."""
        return next((arg.annotation for arg in self.node.args.args if arg.arg == name), None)


def _parse_after_callees(method: Method) -> None:
    """Parse a function after those that it calls, so that a chain of calls needs no recursion."""
    looked_at: set[Method] = set()
    pending = [method]
    while pending:
        last = pending[-1]
        if last in looked_at:
            pending.pop().parse()
            continue
        looked_at.add(last)
        pending += [callee for callee in last.callees() if callee not in looked_at]


def _names_of_self(node: ast.FunctionDef) -> list[str]:
    """Return the attributes of ``self`` that a function reads, each once."""
    found: dict[str, None] = {}
    for item in ast.walk(node):
        match item:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                found[name] = None
            case _:
                continue
    return list(found)


def _check_host(name: str, body: Stmt) -> None:
    """Raise an error for ops on tiles outside the scopes of a host function."""
    pending: list[Stmt] = [body]
    while pending:
        stmt = pending.pop()
        for call in calls_of(stmt):
            op = op_of(call)
            if op is not None and op.level == "block":
                raise InvalidOperationError(
                    f"{called(op)} works on tiles, and {name} is an Orchestration function, which "
                    "has none",
                    call.span,
                    hint="write it in an InCore function, or inside with pl.incore():",
                    slug="host-tile",
                )
        if not isinstance(stmt, ScopeStmt):
            inner = [child for child in children(stmt) if isinstance(child, Stmt)]
            pending += reversed(inner)


def _check_parts(
    first: Sequence[Expr], values: Sequence[Expr], first_span: Span, span: Span
) -> None:
    """Raise an error if the values of two returns differ only in the valid part of a tile."""
    if len(first) != len(values):
        return
    pairs = list(zip(values, first, strict=True))
    if not all(same_value_type(a.type, b.type) for a, b in pairs):
        return
    apart = [(a, b) for a, b in pairs if not same_joined_type(a.type, b.type)]
    if not apart:
        return
    a, b = apart[0]
    one, other = spell_apart(a.type, b.type)
    names = [value.name if isinstance(value, Var) else "tile" for value in (a, b)]
    raise ParserTypeError(
        f"this returns {one}, an earlier return {other}",
        span,
        hint=part_hint(a.type, names[0], b.type, names[1]),
        slug="valid-shape",
        related=(Label(first_span, "the earlier return"),),
    )


def _has_no_valid_part(kind: Type) -> bool:
    """True for a tile declared without a view: how much of it is valid follows from the values."""
    return isinstance(kind, TileType) and kind.tile_view is None


def _returned_as(
    ctx: Context, first: Sequence[Expr], values: Sequence[Expr], span: Span
) -> str | None:
    """Return a cast that gives a returned value the type of an earlier return."""
    if len(first) != 1 or len(values) != 1 or span.begin_line != span.end_line:
        return None
    line = ctx.source.lines[span.begin_line - 1][span.begin_column : span.end_column]
    return cast_hint(first[0].type, values[0].type, line.removeprefix("return").strip())


def _spell_all(values: Sequence[Expr]) -> str:
    return ", ".join(spell(value.type) for value in values) or "nothing"


def _is_scalar(ctx: Context, arg: ast.arg) -> bool:
    node = arg.annotation
    if isinstance(node, ast.Subscript):
        inner = node.slice.__class__
        if inner is ast.Tuple or inner is ast.Subscript:  # a shape and an element type, a type
            return False
        return ctx.peek(node.value) is Scalar
    return isinstance(node, (ast.Name, ast.Attribute))


def _odd_parameter(ctx: Context, node: ast.AST) -> ParserError:
    if isinstance(node, ast.arg):
        what, hint = "'*' before a parameter", "write each parameter out, with its type"
    else:
        what, hint = "default values", "leave the value out, and pass it in each call"
    return UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


class Alone:
    """The surroundings of a function outside any program: other such functions only."""

    def __init__(self) -> None:
        self.name = ""
        self.used: dict[Function, None] = {}

    def method(self, name: str) -> None:
        """Return None: there are no methods."""

    def attribute(self, name: str) -> Any:
        """Return `MISSING`: there is no class."""
        return MISSING

    def names(self) -> list[str]:
        """Return no names."""
        return []

    def use(self, function: Function, span: Span) -> None:
        """Note a function that the program also needs."""
        self.used[function] = None


def parse_function(
    source: Source, node: ast.FunctionDef, environment: Environment, options: Options
) -> Function:
    """Return a function that belongs to no program.

    Raises:
        ParserError: the first of the errors found; the others are in its ``others``.
    """
    errors = Errors()
    around = Alone()
    method = Method(source, node, environment, options, around, errors)
    with suppress(EnoughErrors):
        method.parse()
    errors.raise_first()
    assert method.function is not None
    if around.used:
        _CALLED_OUTSIDE[method.function] = tuple(around.used)
    return method.function


class ProgramParser:
    """A program being parsed: its methods, and the outside functions that they call."""

    def __init__(self, name: str, attributes: Mapping[str, Any]) -> None:
        self.name = name
        self.attributes = attributes
        self.errors = Errors()
        self.methods: dict[str, Method] = {}
        self.outside: dict[str, Function] = {}

    def add(
        self, source: Source, node: ast.FunctionDef, environment: Environment, options: Options
    ) -> None:
        """Add a method; a later one of the same name replaces it, as in Python."""
        self.methods[node.name] = Method(source, node, environment, options, self, self.errors)

    def method(self, name: str) -> Method | None:
        """Return the function that ``self.<name>`` is, or None."""
        return self.methods.get(name)

    def attribute(self, name: str) -> Any:
        """Return a class attribute, `MISSING` if there is none."""
        return self.attributes.get(name, MISSING)

    def names(self) -> list[str]:
        """Return the names of all methods."""
        return list(self.methods)

    def use(self, function: Function, span: Span) -> None:
        """Add an outside function and those that it calls, each once.

        Raises:
            ParserSyntaxError: another function of the program has its name.
        """
        known = self.outside.get(function.name)
        if known is function:
            return
        if known is not None or function.name in self.methods:
            what = "another function from outside" if known else "a method of the program"
            raise ParserSyntaxError(
                f"function {function.name!r} from outside has the name of {what}",
                span,
                hint=f"rename one of the two {function.name}",
                slug="name-conflict",
                related=(Label(function.span, "the function from outside"),),
            )
        self.outside[function.name] = function
        for inner in _CALLED_OUTSIDE.get(function, ()):
            self.use(inner, span)

    def finish(
        self,
        span: Span,
        *,
        attrs: Mapping[str, Any] | None = None,
        entry: str | None = None,
    ) -> Program:
        """Parse all methods and return the program.

        Raises:
            ParserError: the first of the errors found; the others are in its ``others``.
        """
        methods: Sequence[Method] = list(self.methods.values())
        with suppress(EnoughErrors):
            for method in methods:
                method.declare()
            for method in methods:
                method.parse()
        self.errors.raise_first()
        done = [m.function for m in methods if m.function is not None]
        return Program([*done, *self.outside.values()], self.name, span, attrs=attrs, entry=entry)


def method_nodes(body: Iterable[ast.stmt]) -> list[ast.FunctionDef]:
    """Return the functions in a class body, those under ``if`` and ``with`` included."""
    found: list[ast.FunctionDef] = []
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.append(node)
        elif isinstance(node, ast.If):
            found += method_nodes([*node.body, *node.orelse])
        elif isinstance(node, ast.With):
            found += method_nodes(node.body)
    return found


def refuse_twice(name: str, source: Source, node: ast.ClassDef) -> None:
    """Raise the error for two methods of one name, of which Python keeps the last one.

    Methods in branches do not count: only one of them may be defined.

    Raises:
        ParserSyntaxError: there are such methods.
    """
    known: dict[str, Span] = {}
    for method in node.body:
        if not isinstance(method, ast.FunctionDef):
            continue
        span = _name_span(source, method)
        first = known.setdefault(method.name, span)
        if first is not span:
            names = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            free = next(n for n in count(2) if f"{method.name}{n}" not in names)
            raise ParserSyntaxError(
                f"class {name!r} has two methods {method.name!r}, and Python keeps the last alone",
                span,
                hint=f"write {method.name}{free}",
                slug="function-twice",
                related=(Label(first, "the first one"),),
            )


def _name_span(source: Source, node: ast.FunctionDef) -> Span:
    """Return the span of the name in a definition."""
    span = source.span(node)
    begin = span.begin_column + len("def ")
    line = span.begin_line
    return Span(span.filename, line, begin, line, begin + len(node.name))
