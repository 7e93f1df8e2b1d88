"""The parameters of ``@pl.jit`` kernels: what each takes, and what a compiled program depends on.

Read from the header of the definition, and from the statements ``x.bind_dynamic(0, ROWS)`` of its
body. Knows nothing of calls but what distinguishes arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend.inline_kernels import object_of
from pypto._src.frontend.region_markers import RUNTIME
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.syntax.annotations import parameter_type
from pypto._src.frontend.syntax.inline import Entry, InlineFunction
from pypto._src.ir.annotations import DistributedTensor, InOut, Out, Scalar, Tensor
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.types import ScalarType
from pypto._src.records import NamedTuple

_CONSTANTS: Final = (int, float, bool, str, DataType)


class ArrayParameter(NamedTuple):
    """A tensor parameter; ``kind`` is None where the annotation is a bare ``pl.Tensor``."""

    name: str
    kind: TensorType | None
    default: Any
    is_out: bool = False
    bound: tuple[tuple[int, Var], ...] = ()
    """The dimensions that the body binds to symbolic sizes, whatever the annotation says."""
    is_inout: bool = False

    @property
    def is_fixed(self) -> bool:
        """True if every call has the same shape and element type."""
        if self.kind is None or self.bound:
            return False
        return all(isinstance(dim, ConstInt) for dim in self.kind.shape)

    @property
    def is_dynamic(self) -> bool:
        """True if calls may differ in a named size."""
        if self.bound:
            return True
        return self.kind is not None and any(isinstance(dim, Var) for dim in self.kind.shape)

    def with_symbols(self, kind: TensorType) -> TensorType:
        """Return a type with symbolic sizes in the dimensions bound to them."""
        rank = len(kind.shape)
        found = [(axis, size) for axis, size in self.bound if -rank <= axis < rank]
        if not found:
            return kind
        shape = list(kind.shape)
        for axis, size in found:
            shape[axis] = size
        return TensorType(shape, kind.dtype)


class NumberParameter(NamedTuple):
    """A scalar that the kernel gets at run time: ``n: pl.INT32``."""

    name: str
    kind: ScalarType
    default: Any


class ScalarParameter(NamedTuple):
    """A scalar that is part of the kernel, though calls pass it: ``n: pl.Scalar[pl.INT32]``."""

    name: str
    kind: ScalarType
    default: Any


class ConstantParameter(NamedTuple):
    """A Python value that is part of the kernel: ``n: int``."""

    name: str
    kind: type
    default: Any


class WindowParameter(NamedTuple):
    """Memory that all ranks can access: ``box: pld.DistributedTensor[[1, 128], pl.FP32]``."""

    name: str
    kind: TensorType | None
    default: Any


class WindowArgument(NamedTuple):
    """What a host function passes for a window."""

    rows: Any
    """An array [ranks, elements]: the memory of each rank."""
    shape: tuple[int, ...]
    """The type as which a rank views its row."""
    is_remote: bool = False
    """True if the ranks may have separate memory."""


Parameter = ArrayParameter | NumberParameter | ScalarParameter | ConstantParameter | WindowParameter
REQUIRED: Final = object()
"""The default of a parameter that has none."""


# --------------------------------------------------------------------------------------------
# Read from a definition
# --------------------------------------------------------------------------------------------


def parameters_of(ctx: Context, args: ast.arguments, function: Any) -> list[Parameter]:
    """Return the parameters of a definition, in order.

    Raises:
        ParserTypeError: there is one that no kernel may have.
    """
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    for odd in (args.vararg, args.kwarg):
        if odd is not None:
            raise ParserTypeError(
                "kernels do not have '*' before a parameter", ctx.span(odd), slug="annotation"
            )
    positional = function.__defaults__ or ()
    first = len(args.posonlyargs) + len(args.args) - len(positional)
    defaults = {arg.arg: value for arg, value in zip(listed[first:], positional, strict=False)}
    defaults.update(function.__kwdefaults__ or {})
    bound = _bound_sizes(ctx)
    found: dict[str, Parameter] = {}
    # A dimension may be a scalar parameter that is declared later.
    for arg in sorted(listed, key=lambda arg: isinstance(arg.annotation, ast.Subscript)):
        default = defaults.get(arg.arg, REQUIRED)
        found[arg.arg] = _parameter(ctx, arg, default, tuple(bound.get(arg.arg, ())))
    return [found[arg.arg] for arg in listed]


Bound = list[tuple[int, Var]]
"""The named dimensions of a parameter: axis and size."""


def _bound_sizes(ctx: Context) -> dict[str, Bound]:
    """Return the named dimensions of each parameter.

    They come from statements ``x.bind_dynamic(0, ROWS)`` of the body and of the functions that are
    spliced into it, and from the headers of these.
    """
    found: dict[str, Bound] = {}
    pending: list[tuple[ast.FunctionDef, Callable[[ast.expr], Any], dict[str, str]]] = []
    own = [*ctx.node.args.posonlyargs, *ctx.node.args.args, *ctx.node.args.kwonlyargs]
    pending.append((ctx.node, ctx.peek, {arg.arg: arg.arg for arg in own}))
    seen: set[tuple[Any, ...]] = set()
    while pending:
        node, meant, names = pending.pop()
        for call in [item for item in ast.walk(node) if isinstance(item, ast.Call)]:
            size = _bind_dynamic(call, meant)
            if size is not None and size[0] in names:
                found.setdefault(names[size[0]], []).append(size[1:])
            callee = meant(call.func)
            if isinstance(callee, Entry):
                callee = callee.as_inline()
            if not isinstance(callee, InlineFunction) or not callee.is_spliced:
                continue
            passed = _passed(call, callee, names)
            key = (callee, *sorted(passed.items()))
            if not passed or key in seen:
                continue
            seen.add(key)
            inner = callee.environment
            pending.append((callee.func_def, partial(object_of, inner), passed))
            for name, axis, size_node in _named_sizes(callee):
                value = object_of(inner, size_node)
                if name in passed and isinstance(value, Var):
                    found.setdefault(passed[name], []).append((axis, value))
    return found


def _bind_dynamic(call: ast.Call, meant: Callable[[ast.expr], Any]) -> tuple[str, int, Var] | None:
    """Return parameter, axis and size of ``x.bind_dynamic(0, ROWS)``."""
    match call:
        case ast.Call(
            ast.Attribute(ast.Name(id=name), attr="bind_dynamic"),
            [ast.Constant(value=int(axis)), ast.Name() as size],
        ):
            value = meant(size)
            return (name, axis, value) if isinstance(value, Var) else None
        case _:
            return None


def _passed(call: ast.Call, callee: InlineFunction, names: dict[str, str]) -> dict[str, str]:
    """Return the kernel's parameters that are passed for parameters of a spliced function."""
    pairs = [*zip(callee.param_names, call.args, strict=False)]
    pairs += [(word.arg, word.value) for word in call.keywords if word.arg]
    return {
        name: names[value.id]
        for name, value in pairs
        if isinstance(value, ast.Name) and value.id in names
    }


def _named_sizes(callee: InlineFunction) -> Iterator[tuple[str, int, ast.expr]]:
    """Yield parameter, axis and name of the sizes in a header that may be symbolic."""
    args = callee.func_def.args
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs):
        lists = [] if arg.annotation is None else [
            item for item in ast.walk(arg.annotation) if isinstance(item, ast.List)
        ]  # fmt: skip
        for axis, dim in enumerate(lists[0].elts if lists else ()):
            if isinstance(dim, ast.Name):
                yield arg.arg, axis, dim


def _parameter(
    ctx: Context, arg: ast.arg, default: Any, bound: tuple[tuple[int, Var], ...]
) -> Parameter:
    node = arg.annotation
    if node is None:
        kind = next((each for each in _CONSTANTS if type(default) is each), None)
        raise ParserTypeError(
            f"parameter {arg.arg!r} has no type",
            ctx.span(arg),
            hint=f"write {arg.arg}: {kind.__name__} = {default!r}"
            if kind is not None
            else f"write {arg.arg}: pl.Tensor, or {arg.arg}: int for a constant",
            slug="annotation",
        )
    inner = _inside(ctx, node)
    meant = ctx.peek(inner)
    direction = ctx.peek(node.value) if isinstance(node, ast.Subscript) else None
    is_out, is_inout = direction is Out, direction is InOut
    if meant is Tensor:
        return ArrayParameter(arg.arg, None, default, is_out, bound, is_inout)
    if isinstance(meant, type) and meant in _CONSTANTS:
        return ConstantParameter(arg.arg, meant, default)
    if _is_window(ctx, inner, meant):
        found = None if meant is DistributedTensor else parameter_type(ctx, node)[0]
        kind = found if isinstance(found, TensorType) else None
        return WindowParameter(arg.arg, kind, default)
    kind, _ = parameter_type(ctx, node)
    if isinstance(kind, TensorType):
        return ArrayParameter(arg.arg, kind, default, is_out, bound, is_inout)
    if isinstance(kind, ScalarType) and is_out:
        raise ParserTypeError(
            "a Scalar parameter cannot be Out: kernels get scalars by value",
            ctx.span(node),
            hint=f"write pl.Out[pl.Tensor[[1], pl.{kind.dtype.member}]]",
            slug="scalar-out",
        )
    if isinstance(kind, ScalarType):
        ctx.names.bind(arg.arg, Var(arg.arg, kind, ctx.span(arg)))
        is_part = isinstance(node, ast.Subscript) and ctx.peek(node.value) is Scalar
        return (ScalarParameter if is_part else NumberParameter)(arg.arg, kind, default)
    raise ParserTypeError(
        f"parameter {arg.arg!r} is neither an array nor a number: Python cannot pass it",
        ctx.span(node),
        hint=f"write {arg.arg}: pl.Tensor",
        slug="annotation",
    )


def _is_window(ctx: Context, node: ast.expr, meant: Any) -> bool:
    """True for the annotation of a window, with or without a shape."""
    if isinstance(node, ast.Subscript | ast.Call):
        meant = ctx.peek(node.value if isinstance(node, ast.Subscript) else node.func)
    return meant is DistributedTensor or isinstance(meant, DistributedTensor)


def _inside(ctx: Context, node: ast.expr) -> ast.expr:
    """Return the annotation inside ``pl.Out[...]`` or ``pl.InOut[...]``, else ``node``."""
    if isinstance(node, ast.Subscript) and ctx.peek(node.value) in (Out, InOut):
        return node.slice
    return node


# --------------------------------------------------------------------------------------------
# What a compiled program depends on
# --------------------------------------------------------------------------------------------


def key_function(parameter: Parameter, *, any_size: bool) -> Callable[[Any], Any]:
    """Return the function from an argument to the part of it that specialisations depend on.

    With ``any_size`` they do not depend on named sizes.
    """
    match parameter:
        case ArrayParameter(kind=None):
            if any_size and parameter.bound:
                return _kind_but_for([axis for axis, _ in parameter.bound])
            return kind_of_array
        case ArrayParameter():
            free = parameter.is_fixed or (any_size and parameter.is_dynamic)
            return nothing if free else _shape_of_array
        case ConstantParameter():
            return _constant_key
        case ScalarParameter():
            return _scalar_key
        case NumberParameter():
            return nothing
        case WindowParameter():
            return _window_key


def kind_of_array(arg: Any) -> Any:
    """Return shape and element type."""
    return arg.shape, arg.dtype


def _kind_but_for(axes: Sequence[int]) -> Callable[[Any], Any]:
    def key(arg: Any) -> Any:
        shape: list[int | None] = list(arg.shape)
        rank = len(shape)
        for axis in axes:
            if -rank <= axis < rank:
                shape[axis] = None
        return tuple(shape), arg.dtype

    return key


def _shape_of_array(arg: Any) -> Any:
    return arg.shape


def _constant_key(arg: Any) -> Any:
    return type(arg), arg  # 1, 1.0 and True are different constants


def _scalar_key(arg: Any) -> Any:
    if arg is RUNTIME:  # not an argument of a call
        raise TypeError
    return type(arg), arg.hex() if isinstance(arg, float) else arg  # -0.0 is not 0.0


def _window_key(arg: Any) -> Any:
    return arg.rows.shape, arg.rows.dtype, arg.shape, arg.is_remote


def nothing(_arg: Any) -> None:
    """Return None: nothing depends on the argument."""
    return
