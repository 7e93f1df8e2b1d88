"""Expressions: what each form of Python expression means in a kernel.

An expression means an IR expression, or a Python object where it is made of literals, names from
around the kernel and attributes of these; arithmetic between Python numbers is done at once. Calls
are in `calls`.
"""

from __future__ import annotations

import ast
import operator
from ast import Constant, Name
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType, bounds, holds, not_held
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.frontend import slices
from pypto._src.frontend.calls import call, op_call, text_call
from pypto._src.frontend.context import Context, Forms, body_of, float_begin
from pypto._src.frontend.environment import MISSING
from pypto._src.frontend.messages import (
    PRINT_HINT,
    PRINTING,
    describe,
    did_you_mean,
    dtype_like,
    nearest,
    number_in,
    op_elsewhere,
    part_hint,
    spell_apart,
)
from pypto._src.frontend.repair import integer_text, sides
from pypto._src.frontend.scalars import combine
from pypto._src.frontend.scope import BROKEN, Cascade, same_joined_type, same_value_type
from pypto._src.ir.enums import FunctionType, MemorySpace, PipeType
from pypto._src.ir.nodes import (
    DYNAMIC_DIM,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    ScalarType,
    ShapedType,
    Sub,
    TensorType,
    TileType,
    TupleGetItemExpr,
    TupleType,
    UnaryExpr,
    Var,
    dtype_of,
    same_dims,
    unary,
)
from pypto._src.ir.opdef import REQUIRED, TENSOR, OpDef
from pypto._src.ir.stmts import IfStmt, Stmt, YieldStmt
from pypto._src.ops import rules, tensor
from pypto._src.ops.unified import COMMUTATIVE, Unified, unified

_Operator: TypeAlias = tuple[str, "type[BinaryExpr] | None", Callable[[Any, Any], Any], str]
_Python: Any = operator  # its functions are typed for some operands only


def _is_in(item: Any, container: Any) -> bool:
    return item in container


def _is_not_in(item: Any, container: Any) -> bool:
    return item not in container


# Python's spelling, the node on scalars, the operator on Python values, the unified op.
BINARY: Final[dict[type[ast.operator], _Operator]] = {
    ast.Add: ("+", Add, _Python.add, "add"),
    ast.Sub: ("-", Sub, _Python.sub, "sub"),
    ast.Mult: ("*", Mul, _Python.mul, "mul"),
    ast.Div: ("/", FloatDiv, _Python.truediv, "div"),
    ast.FloorDiv: ("//", FloorDiv, _Python.floordiv, ""),
    ast.Mod: ("%", FloorMod, _Python.mod, "rem"),
    ast.Pow: ("**", Pow, _Python.pow, ""),
    ast.MatMult: ("@", None, _Python.matmul, "matmul"),
    ast.BitAnd: ("&", BitAnd, _Python.and_, "and_"),
    ast.BitOr: ("|", BitOr, _Python.or_, "or_"),
    ast.BitXor: ("^", BitXor, _Python.xor, "xor"),
    ast.LShift: ("<<", BitShiftLeft, _Python.lshift, "shl"),
    ast.RShift: (">>", BitShiftRight, _Python.rshift, "shr"),
}
COMPARE: Final[dict[type[ast.cmpop], tuple[str, type[BinaryExpr] | None, Callable[..., Any]]]] = {
    ast.Eq: ("==", Eq, _Python.eq),
    ast.NotEq: ("!=", Ne, _Python.ne),
    ast.Lt: ("<", Lt, _Python.lt),
    ast.LtE: ("<=", Le, _Python.le),
    ast.Gt: (">", Gt, _Python.gt),
    ast.GtE: (">=", Ge, _Python.ge),
    ast.Is: ("is", None, _Python.is_),
    ast.IsNot: ("is not", None, _Python.is_not),
    ast.In: ("in", None, _is_in),
    ast.NotIn: ("not in", None, _is_not_in),
}
UNARY: Final[dict[type[ast.unaryop], tuple[str, type[UnaryExpr] | None, Any, str]]] = {
    ast.USub: ("-", Neg, _Python.neg, "neg"),
    ast.UAdd: ("+", None, _Python.pos, ""),
    ast.Not: ("not", Not, _Python.not_, ""),
    ast.Invert: ("~", BitNot, _Python.invert, "not_"),
}
_MOST_BITS: Final = 1 << 16  # of a Python integer computed in a kernel
_MOST_ITEMS: Final = 1 << 20
_MOST_LISTED: Final = 4  # items of a list that a hint writes out
_CMP_TYPES: Final = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _constant(ctx: Context, node: ast.Constant) -> Any:
    return node.value


def _name(ctx: Context, node: ast.Name) -> Any:
    value = ctx.names.values.get(node.id, MISSING)
    if value is MISSING:
        value = ctx.outer.get(node.id, MISSING)
        if value is MISSING:
            value = ctx.lookup(node.id)
            if value is MISSING:
                raise ctx.undefined(node)
    if value is BROKEN:
        raise Cascade
    return value


def _attribute(ctx: Context, node: ast.Attribute) -> Any:
    inner: Any = node.value
    if inner.__class__ is Name:
        name = inner.id
        if name == ctx.self_name:
            return _of_self(ctx, node)
        # Nearly always a module, known already, that no variable hides: pl.
        base = ctx.outer.get(name, MISSING) if name not in ctx.names.values else MISSING
        if base is MISSING:
            base = _name(ctx, inner)
    else:
        base = ctx.forms[inner.__class__](ctx, inner)
    if isinstance(base, Expr):
        return _of_value(ctx, node, base)
    value = getattr(base, node.attr, MISSING)
    if value is not MISSING:
        return value
    return _missing_attribute(ctx, node, base)


def _of_self(ctx: Context, node: ast.Attribute) -> Any:
    method = ctx.functions.method(node.attr)
    if method is not None:
        return method
    value = ctx.functions.attribute(node.attr)
    if value is not MISSING:
        return value
    raise UndefinedVariableError(
        f"the program has no function {node.attr!r}",
        ctx.span(node),
        hint=did_you_mean(node.attr, ctx.functions.names(), "self."),
    )


def _of_value(ctx: Context, node: ast.Attribute, base: Expr) -> Any:
    kind = base.type
    if isinstance(kind, ShapedType):
        if node.attr == "shape":
            return [_dim(ctx, node, base, axis, dim) for axis, dim in enumerate(kind.shape)]
        if node.attr == "dtype":
            return kind.dtype
    if isinstance(kind, ScalarType) and node.attr == "dtype":
        return kind.dtype
    raise UnsupportedFeatureError(
        f"{describe(base)} has no attribute {node.attr!r}; it has "
        f"{'shape and dtype' if isinstance(kind, ShapedType) else 'dtype'}",
        ctx.span(node),
        hint=_attribute_hint(ctx, node, base),
        slug="attribute",
    )


def _attribute_hint(ctx: Context, node: ast.Attribute, base: Expr) -> str | None:
    """Return what an attribute that there is not stands for: an op, a shape, the value itself."""
    text, is_scalar = ctx.source.text(node.value), isinstance(base.type, ScalarType)
    known = ["dtype"] if is_scalar else ["shape", "dtype"]
    if is_scalar and node.attr in _ITSELF:
        return f"write {text}"
    if node.attr in _OF_SHAPE and not is_scalar:
        return f"write {_OF_SHAPE[node.attr].format(text)}"
    name = node.attr if unified(node.attr) is not None else op_elsewhere(node.attr)
    method = None if name is None else unified(name)
    if method is None:
        return did_you_mean(node.attr, known, f"{text}.")
    op: OpDef[..., Any] = method.candidates[0] if isinstance(method, Unified) else method
    others = [p.name for p in op.params[1:] if p.default is REQUIRED]
    return f"write pl.{name}({', '.join([text, *others])})"


_ITSELF: Final = frozenset({"value", "item", "val", "data", "real"})
"""What other libraries call the number of a scalar."""

_OF_SHAPE: Final = {
    "T": "pl.transpose({0}, 0, 1)",
    "ndim": "len({0}.shape)",
    "size": "{0}.shape",
    "rows": "{0}.shape[0]",
    "cols": "{0}.shape[1]",
}
"""What stands for attributes of arrays elsewhere."""


def _dim(ctx: Context, node: ast.Attribute, base: Expr, axis: int, dim: Expr) -> Any:
    """Return a dimension as users compute with it: a number, a variable, or the op that asks."""
    if not isinstance(dim, ConstInt):
        return dim
    if dim.value == DYNAMIC_DIM and isinstance(base.type, TensorType):
        return op_call(ctx, tensor.dim, (base, axis), {}, node)
    return dim.value


_ENUMS: Final = (MemorySpace, FunctionType, PipeType)
"""Enumerations whose members some write as names of the module."""


def _missing_attribute(ctx: Context, node: ast.Attribute, base: Any) -> Any:
    """Return the op that a name of the language means, though the module does not export it."""
    text = ctx.source.text(node)
    module = getattr(base, "__name__", "")
    members: Any = getattr(base, "__members__", ())  # of an enumeration, older names included
    known = [name for name in (*dir(base), *members) if not name.startswith("_")]
    if module.split(".")[0] == "pypto":
        found = unified(node.attr) if module == "pypto.language" else None
        if found is not None:
            return found
        cls: type[ParserError] = InvalidOperationError
        message = f"there is no {text}"
    else:
        cls = UndefinedVariableError
        message = f"{ctx.source.text(node.value)} has no attribute {node.attr!r}"
    prefix = f"{ctx.source.text(node.value)}."
    hint = did_you_mean(node.attr, known, prefix)
    if cls is InvalidOperationError and node.attr in PRINTING:
        hint = hint or PRINT_HINT
    elif cls is InvalidOperationError:
        member = next(
            (f"{e.__name__}.{node.attr}" for e in _ENUMS if node.attr in e.__members__), None
        )
        hint = hint if member is None else f"did you mean {prefix}{member}?"
    raise cls(message, ctx.span(node), hint=hint)


def _list(ctx: Context, node: ast.List) -> list[Any]:
    forms = ctx.forms
    items: list[Any] = node.elts
    return [
        item.value if item.__class__ is Constant else forms[item.__class__](ctx, item)
        for item in items
    ]


def _tuple(ctx: Context, node: ast.Tuple) -> tuple[Any, ...]:
    forms = ctx.forms
    return tuple([forms[item.__class__](ctx, item) for item in node.elts])


def _python(ctx: Context, node: ast.expr, compute: Callable[..., Any], *args: Any) -> Any:
    """Compute with Python objects; what that raises is an error of the kernel."""
    try:
        return compute(*args)
    except Exception as error:
        raise ParserTypeError(
            f"computing {ctx.source.text(node)!r} raises {type(error).__name__}: {error}",
            ctx.span(node),
            hint=_last_item(ctx, node, args),
            slug="constant-expression",
        ) from None


def _last_item(ctx: Context, node: ast.expr, args: Sequence[Any]) -> str | None:
    """Return the last item of a list that is read beyond its end, the key meant of a dict."""
    if not isinstance(node, ast.Subscript):
        return None
    text, (container, key) = ctx.source.text(node.value), args
    if isinstance(container, list | tuple) and container and isinstance(key, int):
        return f"write {text}[{len(cast('Sequence[Any]', container)) - 1}]"
    if isinstance(container, dict) and isinstance(key, str):
        meant = nearest(key, [k for k in cast("dict[Any, Any]", container) if isinstance(k, str)])
        return None if meant is None else f"write {text}[{meant!r}]"
    return None


def _binary(ctx: Context, node: ast.BinOp) -> Any:
    chain = [node]  # a sum of many terms nests on the left; no recursion over them
    left = node.left
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    forms, local = ctx.forms, ctx.names.values
    value = local.get(left.id, BROKEN) if isinstance(left, ast.Name) else BROKEN
    if value is BROKEN:
        value = forms[left.__class__](ctx, left)
    while chain:
        link = chain.pop()
        item: Any = link.right
        right = item.value if item.__class__ is Constant else forms[item.__class__](ctx, item)
        value = apply_binary(ctx, link, link.op.__class__, value, right)
    return value


def apply_binary(
    ctx: Context, node: ast.expr | ast.AugAssign, op: type[ast.operator], left: Any, right: Any
) -> Any:
    """Return ``left op right`` for scalars, tiles, tensors or Python objects.

    Raises:
        ParserTypeError: scalars without a common type.
        InvalidOperationError: there is no such operator on tiles or tensors.
    """
    symbol, kind, python, name = BINARY[op]
    on_left, on_right = isinstance(left, Expr), isinstance(right, Expr)
    if (
        on_left
        and left.type.__class__ is ScalarType
        and kind is not None
        and (right.__class__ is int or (on_right and right.type.__class__ is ScalarType))
    ):  # most are
        return _on_scalars(ctx, node, kind, symbol, left, right)
    if not on_left and not on_right:
        if _is_huge(op, left, right):
            raise ParserTypeError(
                f"the value of {ctx.source.text(node)!r} is too large",
                ctx.span(node),
                slug="constant-expression",
            )
        return _python(ctx, node, python, left, right)  # pyright: ignore[reportArgumentType]
    if (on_left and isinstance(left.type, ShapedType)) or (
        on_right and isinstance(right.type, ShapedType)
    ):
        return _on_tiles(ctx, node, symbol, name, left, right)
    if kind is None:
        hint = _other_operator(ctx, node, symbol, left, right)
        raise _no_operator(ctx, node, symbol, left, right, hint)
    if not _is_scalar(left) or not _is_scalar(right):
        raise _no_operator(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


_BY_SYMBOL: Final = {entry[0]: entry for entry in BINARY.values()}
_NUMBERS: Final = frozenset({int, float})


def text_binary(ctx: Context, symbol: str, left: Any, right: Any, span: Span) -> Any:
    """Return what `apply_binary` does for what has no nodes, None if it takes these."""
    _, kind, python, name = _BY_SYMBOL[symbol]
    on_left = isinstance(left, Expr)
    try:
        if not on_left and left.__class__ in _NUMBERS and right.__class__ in _NUMBERS:
            return python(left, right)
        if on_left and isinstance(left.type, ShapedType):
            op = _op_named(name) if name else None
            fits = op is not None and _exists_for(op, left)
            return text_call(ctx, op, (left, right), {}, span) if fits else None
        if kind is None or not (on_left or isinstance(right, Expr)):
            return None
        return combine(kind, left, right, span) if _is_scalar(left) and _is_scalar(right) else None
    except (ArithmeticError, TypeError):
        return None


_POWERS: Final = {-1: "recip", -0.5: "rsqrt", 0.5: "sqrt"}
"""The ops that are a power of a tile."""
_ROOTED: Final = frozenset({DataType.FP16, DataType.FP32})
"""The elements that they take."""


def _other_operator(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return the operator that there is in place of one that there is not."""
    if isinstance(node, ast.AugAssign) and symbol == "//" and left.type.dtype.is_float():
        return f"write {ctx.source.text(node.target)} /= {ctx.source.text(node.value)}"
    if not isinstance(node, ast.BinOp):
        return None
    a, b = ctx.source.text(node.left), ctx.source.text(node.right)
    if symbol == "@":
        return f"write {a} * {b}"
    if symbol == "//" and _is_shaped(left) and left.type.dtype.is_float():
        return f"write {a} / {b}"
    if symbol == "**" and isinstance(right, int | float):
        if right == 2:
            return f"write {a} * {a}" if isinstance(node.left, ast.Name | ast.Subscript) else None
        kind = getattr(left, "type", None)
        if right in _POWERS and isinstance(kind, TileType) and kind.dtype in _ROOTED:
            return f"write pl.{_POWERS[right]}({a})"
    return None


def _is_huge(op: type[ast.operator], left: Any, right: Any) -> bool:
    """True if computing with Python values would take minutes or gigabytes."""
    if not isinstance(right, int):
        left, right = right, left
    if not isinstance(right, int):
        return False
    if isinstance(left, list | tuple | str):
        return op is ast.Mult and len(cast("Sequence[Any]", left)) * right > _MOST_ITEMS
    if not isinstance(left, int):
        return False
    return (op is ast.LShift and right > _MOST_BITS) or (
        op is ast.Pow and right * left.bit_length() > _MOST_BITS
    )


def _is_shaped(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, ShapedType)


def _on_scalars(
    ctx: Context, node: Any, kind: type[BinaryExpr], symbol: str, left: Any, right: Any
) -> Expr:
    try:
        return combine(kind, left, right, ctx.span(node))
    except TypeError as error:
        _refuse_too_large(ctx, node, left, right)
        hint = _cast_hint(ctx, left, right) or _integers_hint(ctx, node, symbol, left, right)
        raise ParserTypeError(
            str(error), ctx.span(node), hint=hint, slug="scalar-operands"
        ) from None


def _refuse_too_large(ctx: Context, node: Any, left: Any, right: Any) -> None:
    """Raise the error for a number that no constant beside the other operand can be."""
    for value, other, place in zip((left, right), (right, left), sides(node), strict=False):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        beside_int = isinstance(value, int) and not (
            isinstance(other, Expr) and dtype_of(other).is_float()
        )
        dtype = DataType.INT64 if beside_int else DataType.FP32
        if not holds(value, dtype):
            raise ParserTypeError(
                not_held(value, dtype),
                ctx.span(place),
                hint=f"write {bounds(dtype)[value > 0]}",
                slug="constant-range",
            )


def _integers_hint(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> str | None:
    """Return an operator on integers with casts of the operands that are floats."""
    if not isinstance(node, ast.BinOp):
        return None
    texts: list[str] = []
    for value, place in ((left, node.left), (right, node.right)):
        is_int = isinstance(value, int) or (isinstance(value, Expr) and dtype_of(value).is_int())
        text = _factor(ctx, place)
        texts.append(text if is_int else integer_text(ctx, place, value))
    return f"write {f' {symbol} '.join(texts)}"


def _is_scalar(value: Any) -> bool:
    if isinstance(value, Expr):
        return value.type.__class__ is ScalarType
    return isinstance(value, (int, float))


def _cast_hint(ctx: Context, left: Any, right: Any) -> str | None:
    """Return the cast that makes an integer and a float meet."""
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, Expr) or not isinstance(side.type, ScalarType):
            continue
        wanted = getattr(other.type, "dtype", None) if isinstance(other, Expr) else None
        dtype = "FP32" if wanted is None else wanted.member
        floats = isinstance(other, float) or (wanted is not None and wanted.is_float())
        if side.type.dtype.is_int() and floats:
            name = getattr(side, "name", "...")
            return float_begin(ctx, side) or f"write pl.cast({name}, pl.{dtype})"
    return None


def _unquoted(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Return an operation with the number that a string beside the operator holds."""
    if not isinstance(node, ast.BinOp):
        return None
    whole = ctx.source.text(node)  # has brackets around an operand, which its own text has not
    for place, value in ((node.left, left), (node.right, right)):
        number = number_in(value) if isinstance(value, str) else None
        text = ctx.source.text(place)
        if number is not None and isinstance(place, ast.Constant) and whole.count(text) == 1:
            return f"write {whole.replace(text, str(number))}"
    return None


def _no_operator(
    ctx: Context, node: Any, symbol: str, left: Any, right: Any, hint: str | None = None
) -> ParserError:
    return InvalidOperationError(
        f"there is no {symbol!r} between {describe(left)} and {describe(right)}",
        ctx.span(node),
        hint=hint or _unquoted(ctx, node, left, right) or _as_parameter(ctx, node, left, right),
        slug="no-operator",
    )


def _as_parameter(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Suggest a parameter for an array from outside of the kernel."""
    if not isinstance(node, ast.BinOp):
        return None
    for value, place in ((left, node.left), (right, node.right)):
        dtype = dtype_like(getattr(value, "dtype", None))
        if isinstance(place, ast.Name) and dtype is not None and hasattr(value, "__array__"):
            kind = f"pl.Tensor[{list(value.shape)}, pl.{dtype.member}]"
            return f"make it a parameter, {place.id}: {kind}"
    return None


@cache
def _op_named(name: str) -> OpDef[..., Any] | Unified | None:
    """Return the op that an operator stands for: one object, so that its calls have one form."""
    return unified(name)


def _on_tiles(ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any) -> Any:
    """Return the op that an operator on tiles or tensors means."""
    op = _op_named(name) if name else None
    if op is None or not _exists_for(op, left if _is_shaped(left) else right):
        hint = _other_operator(ctx, node, symbol, left, right)
        raise _no_operator(ctx, node, symbol, left, right, hint)
    args = (left, right)
    if not _is_shaped(left):
        if name not in COMMUTATIVE:
            raise _number_first(ctx, node, symbol, name, left, right)
        args = (right, left)
    try:
        return op_call(ctx, op, args, {}, node)
    except ParserError as error:
        error.hint = error.hint or _load_hint(ctx, node, left, right)
        if error.slug == "argument-kind":  # which names an argument; an operator has none
            raise _no_operator(ctx, node, symbol, left, right, error.hint) from None
        raise


def _load_hint(ctx: Context, node: Any, left: Any, right: Any) -> str | None:
    """Return the slice that makes a tile of the tensor beside a tile."""
    if not (_is_shaped(left) and _is_shaped(right) and isinstance(node, ast.BinOp)):
        return None
    if isinstance(left.type, TensorType) == isinstance(right.type, TensorType):
        return None
    place = node.left if isinstance(left.type, TensorType) else node.right
    return f"write {ctx.source.text(place)}[:]" if isinstance(place, ast.Name) else None


def _exists_for(op: OpDef[..., Any] | Unified, value: Expr) -> bool:
    """True if an op of that name takes ``value`` first; every operator's op takes tiles."""
    if not isinstance(value.type, TensorType):
        return True
    ops = op.candidates if isinstance(op, Unified) else (op,)
    return any(each.params[0].kind == TENSOR for each in ops)


def _number_first(
    ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any
) -> ParserError:
    error = _no_operator(ctx, node, symbol, left, right)
    if isinstance(node, ast.BinOp):
        number_text, tile = ctx.source.text(node.left), ctx.source.text(node.right)
        is_tile = isinstance(right.type, TileType)
        if name == "sub":
            negated = f"pl.neg({tile})" if is_tile else f"{_factor(ctx, node.right)} * -1"
            error.hint = f"write {negated} + {number_text}"
        if name == "div" and is_tile and right.type.dtype.is_float():
            times = "" if left == 1 else f" * {number_text}"
            error.hint = f"write pl.recip({tile}){times}"
    return error


def _factor(ctx: Context, node: ast.expr) -> str:
    """Return the text of an expression as it stands before ``*``."""
    text = ctx.source.text(node)
    simple = isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Constant)
    return text if simple else f"({text})"


def _unary(ctx: Context, node: ast.UnaryOp) -> Any:
    value = ctx.value(node.operand)
    symbol, kind, python, name = UNARY[type(node.op)]
    if not isinstance(value, Expr):
        return _python(ctx, node, python, value)
    if _is_shaped(value):
        op = _op_named(name) if name else None
        if op is None or not _exists_for(op, value):
            hint = f"write {_factor(ctx, node.operand)} * -1" if op is not None else None
            raise InvalidOperationError(
                f"there is no {symbol!r} of {describe(value)}",
                ctx.span(node),
                hint=hint,
                slug="no-operator",
            )
        return op_call(ctx, op, (value,), {}, node)
    if kind is None:
        return value
    try:
        return unary(kind, value, ctx.span(node))
    except TypeError as error:
        raise ParserTypeError(str(error), ctx.span(node), slug="scalar-operands") from None


def _bool_op(ctx: Context, node: ast.BoolOp) -> Any:
    is_and = isinstance(node.op, ast.And)
    kind, symbol = (And, "and") if is_and else (Or, "or")
    value = ctx.value(node.values[0])
    for item in node.values[1:]:
        other = ctx.value(item)
        if _is_shaped(value) or _is_shaped(other):
            raise _no_operator(ctx, node, symbol, value, other, _of_masks(ctx, node, value, other))
        if isinstance(value, Expr) or isinstance(other, Expr):
            value = _on_scalars(ctx, node, kind, symbol, value, other)
        else:
            value = (value and other) if is_and else (value or other)
    return value


def _of_masks(ctx: Context, node: ast.BoolOp, left: Any, right: Any) -> str | None:
    """Return what ``and`` and ``or`` are on two comparisons of tiles, which are 1 or 0."""
    kinds = [getattr(each, "type", None) for each in (left, right)]
    dtypes = [kind.dtype for kind in kinds if isinstance(kind, TileType)]
    if len(node.values) != 2 or len(dtypes) != 2 or dtypes[0] is not dtypes[1]:
        return None
    if not all(isinstance(value, ast.Compare) for value in node.values):
        return None
    if isinstance(node.op, ast.And):
        return f"write {' * '.join(_factor(ctx, value) for value in node.values)}"
    return f"write max({', '.join(ctx.source.text(value) for value in node.values)})"


def _compare(ctx: Context, node: ast.Compare) -> Any:
    if len(node.ops) > 1:
        raise _chain(ctx, node)
    left, right = ctx.value(node.left), ctx.value(node.comparators[0])
    symbol, kind, python = COMPARE[type(node.ops[0])]
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        return _python(ctx, node, python, left, right)
    if kind is None:
        raise _no_identity(ctx, node, symbol, left, right)
    if _is_shaped(left) or _is_shaped(right):
        return _compare_tiles(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


def _no_identity(
    ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any
) -> ParserError:
    """Return the error for ``is`` and ``in``, with the comparisons that they mean."""
    error = _no_operator(ctx, node, symbol, left, right)
    text, items = ctx.source.text(node.left), node.comparators[0]
    equal, word = ("!=", "and") if "not" in symbol else ("==", "or")
    if isinstance(items, ast.List | ast.Tuple) and 0 < len(items.elts) <= _MOST_LISTED:
        links = [f"{text} {equal} {ctx.source.text(item)}" for item in items.elts]
        error.hint = f"write {f' {word} '.join(links)}"
    elif isinstance(right, Expr):
        error.hint = f"write {text} {equal} {ctx.source.text(items)}"
    elif right is None:
        error.hint = f"leave the test out: {text} is never None"
    return error


def _compare_tiles(ctx: Context, node: ast.Compare, symbol: str, left: Any, right: Any) -> Expr:
    """Return the op that a comparison with a tile means; a number may stand on either side."""
    args, meant = (left, right), symbol
    if not _is_shaped(left):
        args, meant = (right, left), _MIRRORED.get(symbol, symbol)
    op = _op_named("cmp" if _is_shaped(args[1]) else "cmps")
    if op is None or not _exists_for(op, args[0]):
        raise _no_operator(ctx, node, symbol, left, right, _of_tiles(ctx, node))
    return op_call(ctx, op, args, {"cmp_type": _CMP_TYPES[meant]}, node)


def _of_tiles(ctx: Context, node: ast.Compare) -> str:
    """Return a comparison of the tiles that tensors hold, or where such a one may stand."""
    if not slices.computes_with_tiles(ctx.home):
        return "write it in an InCore function, or inside with pl.incore():"
    places = [node.left, node.comparators[0]]
    tensors = [isinstance(getattr(ctx.value(p), "type", None), TensorType) for p in places]
    texts = [
        f"{ctx.source.text(p)}[:]" if t else ctx.source.text(p)
        for p, t in zip(places, tensors, strict=True)
    ]
    return f"write {texts[0]} {COMPARE[type(node.ops[0])][0]} {texts[1]}"


def _chain(ctx: Context, node: ast.Compare) -> ParserError:
    operands = [ctx.source.text(item) for item in (node.left, *node.comparators)]
    symbols = [COMPARE[type(op)][0] for op in node.ops]
    links = [
        f"{a} {symbol} {b}" for a, symbol, b in zip(operands, symbols, operands[1:], strict=False)
    ]
    return ParserSyntaxError(
        "comparisons cannot be chained",
        ctx.span(node),
        hint=f"write {' and '.join(links)}",
        slug="comparison-chain",
    )


def _if_exp(ctx: Context, node: ast.IfExp) -> Any:
    condition = ctx.value(node.test)
    if not isinstance(condition, Expr):
        return ctx.value(node.body if condition else node.orelse)
    if not isinstance(condition.type, ScalarType):
        raise ParserTypeError(
            f"the condition of a conditional expression is a scalar, got {describe(condition)}",
            ctx.span(node.test),
            hint=_choice_hint(ctx, node) if isinstance(condition.type, TileType) else None,
            slug="scalar-wanted",
        )
    return _branches(ctx, node, condition)


def _choice_hint(ctx: Context, node: ast.IfExp) -> str:
    """Return the op that chooses each element on its own."""
    parts = ", ".join(ctx.source.text(part) for part in (node.test, node.body, node.orelse))
    return f"write pl.sel({parts})"


def _branches(ctx: Context, node: ast.IfExp, condition: Expr) -> Expr:
    """Return the result of an if statement, which is appended, whose branches yield one value."""
    span = ctx.span(node)
    then, a = _alone(ctx, node.body)
    orelse, b = _alone(ctx, node.orelse)
    kind = next((value.type for value in (a, b) if isinstance(value, Expr)), None)
    dtype = kind.dtype if isinstance(kind, ScalarType) else None
    if kind is None and (isinstance(a, float) or isinstance(b, float)):
        dtype = DataType.FP32
    a, b = ctx.as_expr(a, node.body, dtype), ctx.as_expr(b, node.orelse, dtype)
    if not same_joined_type(a.type, b.type):
        one, two = spell_apart(a.type, b.type)
        texts = [ctx.source.text(part) for part in (node.body, node.orelse)]
        parts = same_value_type(a.type, b.type)
        raise ParserTypeError(
            f"the values of a conditional expression are {one} and {two}",
            span,
            hint=part_hint(a.type, texts[0], b.type, texts[1])
            if parts
            else _cast_hint(ctx, a, b) or _cast_tiles(ctx, node, a, b),
            slug="valid-shape" if parts else "conditional-expression",
        )
    then.append(YieldStmt((a,), ctx.span(node.body)))
    orelse.append(YieldStmt((b,), ctx.span(node.orelse)))
    var = Var("_if_tmp", a.type, span)
    if ctx.origin(a) is ctx.origin(b):
        ctx.follow(var, a)
    ctx.block.append(IfStmt(condition, body_of(then, span), body_of(orelse, span), (var,), span))
    return var


def _cast_tiles(ctx: Context, node: ast.IfExp, a: Expr, b: Expr) -> str | None:
    """Return a choice between tiles that differ in their element types only, with one cast."""
    if not (isinstance(a.type, TileType) and isinstance(b.type, TileType)):
        return None
    if not same_dims(a.type.shape, b.type.shape):
        return None
    body, test, orelse = (ctx.source.text(part) for part in (node.body, node.test, node.orelse))
    cast_text = rules.cast_text(orelse, b.type.dtype, a.type.dtype)
    return None if cast_text is None else f"write {body} if {test} else {cast_text}"


def _alone(ctx: Context, node: ast.expr) -> tuple[list[Stmt], Any]:
    """Return the value of an expression, and the statements that computing it takes."""
    outside, ctx.block = ctx.block, []
    try:
        value = ctx.value(node)
        return ctx.block, value
    finally:
        ctx.block = outside


def _subscript(ctx: Context, node: ast.Subscript) -> Any:
    base = ctx.value(node.value)
    if isinstance(base, Expr) and isinstance(base.type, ShapedType):
        return slices.read(ctx, node, base)
    index = ctx.value(node.slice)
    if not isinstance(base, Expr):
        if isinstance(index, Expr):
            raise ParserTypeError(
                f"{describe(base)} is read at an index known only at run time",
                ctx.span(node),
                hint=_chosen(ctx, node, base),
                slug="subscript",
            )
        return _python(ctx, node, operator.getitem, base, index)
    if isinstance(base.type, TupleType) and type(index) is int:
        count = len(base.type.types)
        if -count <= index < count:
            return TupleGetItemExpr(base, index % count, ctx.span(node))
        raise ParserTypeError(
            f"index {index} is outside a tuple of {count}", ctx.span(node), slug="subscript"
        )
    raise ParserTypeError(
        f"{describe(base)} is not read with [...]", ctx.span(node), slug="subscript"
    )


def _chosen(ctx: Context, node: ast.Subscript, base: Any) -> str | None:
    """Return what reads a list of numbers at run time; a choice of two values of the kernel."""
    text, index = ctx.source.text(node.value), ctx.source.text(node.slice)
    items: list[Any] = [*base] if isinstance(base, list | tuple) else []
    if not any(isinstance(item, Expr) for item in items):
        return f"pass it as a tensor, and write pl.tensor.read({text}, [{index}])"
    places = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else []
    if len(places) != 2:
        return None
    return f"write {ctx.source.text(places[0])} if {index} == 0 else {ctx.source.text(places[1])}"


def _slice(ctx: Context, node: ast.Slice) -> slice:
    parts: list[Any] = []
    for part in (node.lower, node.upper, node.step):
        if part is None:
            parts.append(None)
        elif isinstance(part, ast.Constant):
            parts.append(part.value)
        else:
            parts.append(ctx.forms[part.__class__](ctx, part))
    return slice(*parts)


_WAYS_OUT: Final[dict[type[ast.expr], tuple[str, str | None]]] = {
    ast.Lambda: ("lambda", "write a function, with @pl.inline above"),
    ast.ListComp: ("comprehensions", "compute the list outside the kernel, or write it out"),
    ast.SetComp: ("comprehensions", "compute the set outside the kernel"),
    ast.DictComp: ("comprehensions", "compute the dict outside the kernel"),
    ast.GeneratorExp: ("generators", "compute the values in a loop: for i in pl.range(4):"),
    ast.JoinedStr: ("f-strings", "make the text outside the kernel"),
    ast.NamedExpr: ("':='", "assign in a statement before this one"),
    ast.Starred: ("'*' before an argument", "write the arguments out"),
    ast.Await: ("await", "leave it out: calls of a kernel end before the next statement"),
    ast.YieldFrom: ("yield from", "yield the values one by one: a, b = pl.yield_(x, y)"),
    ast.Dict: ("dicts", "make it outside the kernel"),
    ast.Set: ("sets", "write a list"),
    ast.Yield: ("yield", "write pl.yield_(...) as the last statement of a loop body or branch"),
}


def _unsupported(ctx: Context, node: ast.expr) -> Any:
    what, hint = _WAYS_OUT.get(type(node), (type(node).__name__, None))
    raise UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


FORMS: Final = Forms(
    {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.List: _list,
        ast.Tuple: _tuple,
        ast.BinOp: _binary,
        ast.UnaryOp: _unary,
        ast.BoolOp: _bool_op,
        ast.Compare: _compare,
        ast.IfExp: _if_exp,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.Call: call,
    },
    _unsupported,
)
