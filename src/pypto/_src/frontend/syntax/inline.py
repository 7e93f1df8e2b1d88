"""Functions decorated with ``@pl.inline``: their statements are expanded at each call."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pypto._src.diagnostics import Label, Span, counted
from pypto._src.errors import ParserTypeError, UnsupportedFeatureError
from pypto._src.frontend.source.python_names import MISSING, Environment
from pypto._src.frontend.source.source import Source
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import held
from pypto._src.frontend.state.scope import Cascade
from pypto._src.ir.array_types import ShapedType, TileType
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.stmts import AssignStmt
from pypto._src.ir.types import ScalarType

_DEEPEST: Final = 50
_MOST: Final = 1 << 14
"""The most expansions in one function: with two calls at each level, the text doubles each time."""


class InlineFunction:
    """A function whose body is expanded where it is called. It is not a function of the program."""

    is_spliced = False
    """True if the caller sees what the body assigns to a part of a parameter."""

    def __init__(self, source: Source, node: ast.FunctionDef, environment: Environment) -> None:
        self.source = source
        self.func_def = node
        self.environment = environment
        self.name = node.name
        self.param_names = [arg.arg for arg in node.args.args]

    def placed(self, *, in_region: bool) -> InlineFunction:
        """Return the function to expand inside or outside a region."""
        return self

    @property
    def span(self) -> Span:
        """The header of the definition."""
        span = self.source.span(self.func_def)
        return Span(span.filename, span.begin_line, span.begin_column)

    @property
    def source_file(self) -> str:
        """The file that holds the definition."""
        return self.source.filename

    @property
    def source_lines(self) -> list[str]:
        """All lines of that file."""
        return list(self.source.lines)

    @property
    def line_offset(self) -> int:
        """The number to add to line numbers in ``func_def`` to get those of the file."""
        return self.source.offset

    @property
    def col_offset(self) -> int:
        """The number to add to columns in ``func_def``: 0."""
        return 0

    @property
    def closure_vars(self) -> dict[str, Any]:
        """The names around the definition."""
        return {name: self.environment.get(name) for name in self.environment.names()}

    def __repr__(self) -> str:
        return f"<inline function {self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: there is nothing to expand into outside a kernel."""
        raise TypeError(f"inline function {self.name!r} is called inside kernels only")


class Entry:
    """A kernel that Python calls; functions of ``@pl.jit.host`` may launch it, others may not."""

    marks_region = True
    __name__ = ""

    def as_inline(self) -> InlineFunction:
        """Return the function to inline into a host function."""
        raise NotImplementedError

    def called(
        self, ctx: Context, node: ast.Call, kwargs: Mapping[str, Any]
    ) -> tuple[InlineFunction, dict[str, Any]]:
        """Return what a call means, without the device, as every device is this machine.

        Raises:
            UnsupportedFeatureError: the caller is not a host function.
            ParserTypeError: the device is not a number.
        """
        if not ctx.home.is_host:
            raise UnsupportedFeatureError(
                f"{self.__name__} is an entry, which Python calls; kernels do not",
                ctx.span(node),
                hint=f"write @pl.jit.inline above def {self.__name__}",
                slug="entry-called",
            )
        for word in node.keywords:
            if word.arg == "device":
                ctx.scalar(word.value, "a device", integer=True)
        return self.as_inline(), {key: v for key, v in kwargs.items() if key != "device"}


def called_by_self(ctx: Context, node: ast.expr) -> ast.expr:
    """Return the plain name for ``self.name`` outside classes; other nodes as they are."""
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return node
    has_self = any(arg.arg == "self" for arg in ctx.node.args.args)
    if has_self or node.value.id != "self" or ctx.peek(node.value) is not MISSING:
        return node
    return ast.copy_location(ast.Name(node.attr, ast.Load()), node)


def in_order(
    ctx: Context,
    function: InlineFunction,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.Call,
) -> tuple[list[Any], list[ast.expr]]:
    """Return the arguments of an inlined function in the order of its parameters, with their nodes.

    Raises:
        ParserTypeError: there is no such parameter, or one has no argument.
    """
    names = [n for n in function.param_names if n != "self"]
    value_nodes: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    value_nodes |= {
        word.arg: word.value for word in node.keywords if word.arg and word.arg in kwargs
    }
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    listed = function.func_def.args
    positional = [*listed.posonlyargs, *listed.args]
    last = positional[len(positional) - len(listed.defaults) :]
    defaults: list[tuple[ast.arg, ast.expr | None]] = [*zip(last, listed.defaults, strict=True)]
    defaults += zip(listed.kwonlyargs, listed.kw_defaults, strict=True)
    for arg, default in defaults:
        if default is not None and arg.arg not in given:
            given[arg.arg] = _inside(ctx, function).value(default)
            value_nodes[arg.arg] = node
    unknown = next((name for name in kwargs if name not in names), None)
    lacking = [name for name in names if name not in given]
    twice = set(names[: len(args)]) & set(kwargs)
    if unknown is not None or lacking or len(args) > len(names) or twice:
        problem = (
            f"has no parameter {unknown!r}"
            if unknown is not None
            else f"gets {', '.join(sorted(twice))} twice"
            if twice
            else f"takes {counted(len(names), 'argument')} ({', '.join(names)}), "
            f"got {len(args) + len(kwargs)}"
        )
        raise ParserTypeError(
            f"{function.name} {problem}",
            ctx.span(node),
            hint=f"write {function.name}({', '.join(names)})",
            slug="argument-count",
            related=(Label(function.span, "the inline function"),),
        )
    return [given[name] for name in names], [value_nodes[name] for name in names]


def expand(
    ctx: Context,
    function: InlineFunction,
    args: Sequence[Any],
    node: ast.Call,
    value_nodes: Sequence[ast.expr] = (),
) -> Any:
    """Append the statements of ``function`` to those of the caller; return its value.

    Raises:
        ParserTypeError: the number of arguments is not that of the parameters.
        UnsupportedFeatureError: it calls itself.
        Cascade: its body has errors, which have been reported.
    """
    names = [n for n in function.param_names if n != "self"]
    if len(args) != len(names):
        raise ParserTypeError(
            f"{function.name} takes {counted(len(names), 'argument')} ({', '.join(names)}), "
            f"got {len(args)}",
            ctx.span(node),
            hint=_without_rest(ctx, function, node, len(names))
            or _with_rest(ctx, function, node, names),
            slug="argument-count",
            related=(Label(function.span, "the inline function"),),
        )
    if function in ctx.expanding or len(ctx.expanding) >= _DEEPEST:
        raise UnsupportedFeatureError(
            f"inline function {function.name!r} expands itself",
            ctx.span(node),
            hint="use a loop instead",
            slug="recursion",
        )
    ctx.home.expansions += 1
    if ctx.home.expansions > _MOST:
        raise UnsupportedFeatureError(
            f"inline functions expand more than {_MOST} times in {ctx.home.node.name}",
            ctx.span(node),
            hint=f"write @pl.function above def {function.name}",
            slug="recursion",
        )
    inner = _inside(ctx, function)
    inner.called_at = ctx.called_at if ctx.is_foreign else ctx.span(node)
    for name, value, value_node in zip(names, args, value_nodes or node.args, strict=False):
        _bind(ctx, inner, name, value, value_node)
    if function.is_spliced:
        _name_sizes(inner, function)
    errors = len(ctx.errors.found)
    body = function.func_def.body
    last = body[-1]
    returns = isinstance(last, ast.Return)
    inner.run(body[:-1] if returns else body)
    value = None
    if isinstance(last, ast.Return) and last.value is not None and _no_new_errors(ctx, errors):
        value = inner.value(last.value)
    if not _no_new_errors(ctx, errors):
        raise Cascade
    ctx.has_tile_ops = ctx.has_tile_ops or inner.has_tile_ops
    return value


def _with_rest(ctx: Context, function: InlineFunction, node: ast.Call, names: Sequence[str]) -> str:
    """Suggest the call with the names of the missing parameters."""
    texts = [ctx.source.text(arg) for arg in node.args]
    return f"write {function.name}({', '.join([*texts, *names[len(texts) :]])})"


def _without_rest(ctx: Context, function: InlineFunction, node: ast.Call, count: int) -> str | None:
    """Suggest the call without surplus arguments, None if there are none."""
    texts = [ctx.source.text(arg) for arg in node.args]
    return f"write {function.name}({', '.join(texts[:count])})" if len(texts) > count else None


def _no_new_errors(ctx: Context, errors: int) -> bool:
    return len(ctx.errors.found) == errors


def _inside(ctx: Context, function: InlineFunction) -> Context:
    inner = Context(
        function.source,
        function.func_def,
        function.environment.again(),
        ctx.forms,
        ctx.stmt_forms,
        ctx.functions,
        ctx.errors,
        strict_ssa=ctx.strict_ssa,
    )
    inner.block = ctx.block
    inner.around = ctx.home
    inner.memrefs = ctx.memrefs
    inner.constants = ctx.constants
    inner.origins = ctx.origins
    inner.inputs = ctx.inputs
    inner.written = ctx.written
    inner.swapped = ctx.swapped
    inner.evaluated = ctx.evaluated
    inner.unplaced = ctx.unplaced
    inner.zero_divisions = ctx.zero_divisions
    inner.self_name = ctx.self_name
    inner.region = ctx.region
    inner.names.shadow = ctx.names.shadow
    inner.expanding = (*ctx.expanding, function)
    return inner


def _is_scalar(value: Expr) -> bool:
    return isinstance(value.type, ScalarType)


def _name_sizes(inner: Context, function: InlineFunction) -> None:
    """Bind the names of symbolic sizes in annotations to the sizes of the arguments."""
    args = function.func_def.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        value, node = inner.names.values.get(arg.arg), arg.annotation
        if not isinstance(value, Expr) or not isinstance(value.type, ShapedType) or node is None:
            continue
        shapes = [item for item in ast.walk(node) if isinstance(item, ast.List)]
        for dim_node, dim in zip(shapes[0].elts if shapes else (), value.type.shape, strict=False):
            if isinstance(dim_node, ast.Name) and isinstance(inner.lookup(dim_node.id), Var):
                inner.names.bind(dim_node.id, dim.value if isinstance(dim, ConstInt) else dim)


def _bind(ctx: Context, inner: Context, name: str, value: Any, value_node: ast.expr) -> None:
    """Bind a parameter; if the body assigns it or may read it twice, it gets its own variable."""
    value = held(ctx, value, value_node) if isinstance(value, list | tuple) else value
    if isinstance(value, Var) and inner.expanding[-1].is_spliced and not _is_scalar(value):
        inner.names.bind(name, value)  # writes to it go to the caller's variable
        return
    known = isinstance(value, Var) or not isinstance(value, Expr)
    if known and (name not in inner.assigned or not isinstance(value, Expr | int | float)):
        inner.names.bind(name, value)
        return
    expr = ctx.as_expr(value, value_node)
    var = inner.names.define(name, expr.type, ctx.span(value_node))
    inner.follow(var, expr)
    stmt = AssignStmt(var, expr, ctx.span(value_node))
    inner.block.append(stmt)
    if inner.region is not None and isinstance(expr.type, TileType):
        is_only = name not in inner.assigned and name not in inner.changed_in_part
        inner.region.note_load(var, expr, stmt, inner.block, is_only=is_only)
