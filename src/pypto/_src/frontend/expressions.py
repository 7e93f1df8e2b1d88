"""Expressions: what each form of Python expression means in a kernel.

An expression means an IR expression, or a Python object where it is made of literals, names from
around the kernel and attributes of these; arithmetic between Python numbers is done at once. Calls
are in `calls`.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.calls import call, op_call
from pypto._src.frontend.context import Context, Form
from pypto._src.frontend.environment import MISSING
from pypto._src.frontend.messages import describe, did_you_mean
from pypto._src.frontend.scalars import combine
from pypto._src.frontend.scope import BROKEN, Cascade
from pypto._src.ir.nodes import (
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
    TupleGetItemExpr,
    TupleType,
    UnaryExpr,
    unary,
)
from pypto._src.ops.unified import COMMUTATIVE, unified

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
    ast.BitXor: ("^", BitXor, _Python.xor, ""),
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
_CMP_TYPES: Final = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}


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
    inner = node.value
    if isinstance(inner, ast.Name) and inner.id == ctx.self_name:
        return _of_self(ctx, node)
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
            return [dim.value if isinstance(dim, ConstInt) else dim for dim in kind.shape]
        if node.attr == "dtype":
            return kind.dtype
    if isinstance(kind, ScalarType) and node.attr == "dtype":
        return kind.dtype
    method = unified(node.attr)
    hint = f"write pl.{node.attr}({ctx.source.text(node.value)}, ...)" if method else None
    raise UnsupportedFeatureError(
        f"{describe(base)} has no attribute {node.attr!r}; it has shape and dtype",
        ctx.span(node),
        hint=hint,
        slug="attribute",
    )


def _missing_attribute(ctx: Context, node: ast.Attribute, base: Any) -> Any:
    """Return the op that a name of the language means, though the module does not export it."""
    text = ctx.source.text(node)
    module = getattr(base, "__name__", "")
    known = [name for name in dir(base) if not name.startswith("_")]
    if module.split(".")[0] == "pypto":
        found = unified(node.attr) if module == "pypto.language" else None
        if found is not None:
            return found
        cls: type[ParserError] = InvalidOperationError
        message = f"there is no {text}"
    else:
        cls, message = UndefinedVariableError, f"{describe(base)} has no attribute {node.attr!r}"
    prefix = f"{ctx.source.text(node.value)}."
    raise cls(message, ctx.span(node), hint=did_you_mean(node.attr, known, prefix))


def _list(ctx: Context, node: ast.List) -> list[Any]:
    forms = ctx.forms
    return [forms[item.__class__](ctx, item) for item in node.elts]


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
            slug="constant-expression",
        ) from None


def _binary(ctx: Context, node: ast.BinOp) -> Any:
    chain = [node]  # a sum of many terms nests on the left; no recursion over them
    left = node.left
    while isinstance(left, ast.BinOp):
        chain.append(left)
        left = left.left
    value = ctx.forms[left.__class__](ctx, left)
    while chain:
        link = chain.pop()
        value = apply_binary(ctx, link, type(link.op), value, ctx.value(link.right))
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
    is_expr = isinstance(left, Expr), isinstance(right, Expr)
    if is_expr == (False, False):
        return _python(ctx, node, python, left, right)  # pyright: ignore[reportArgumentType]
    if _is_shaped(left) or _is_shaped(right):
        return _on_tiles(ctx, node, symbol, name, left, right)
    if kind is None:
        raise _no_operator(ctx, node, symbol, left, right)
    return _on_scalars(ctx, node, kind, symbol, left, right)


def _is_shaped(value: Any) -> bool:
    return isinstance(value, Expr) and isinstance(value.type, ShapedType)


def _on_scalars(
    ctx: Context, node: Any, kind: type[BinaryExpr], symbol: str, left: Any, right: Any
) -> Expr:
    for side in (left, right):
        scalar = isinstance(side, Expr) and isinstance(side.type, ScalarType)
        if not scalar and not isinstance(side, int | float):
            raise _no_operator(ctx, node, symbol, left, right)
    try:
        return combine(kind, left, right, ctx.span(node))
    except TypeError as error:
        raise ParserTypeError(
            str(error), ctx.span(node), hint=_cast_hint(left, right), slug="scalar-operands"
        ) from None


def _cast_hint(left: Any, right: Any) -> str | None:
    """Return the cast that makes an integer and a float meet."""
    for side, other in ((left, right), (right, left)):
        if not isinstance(side, Expr) or not isinstance(side.type, ScalarType):
            continue
        wanted = getattr(other.type, "dtype", None) if isinstance(other, Expr) else None
        dtype = "FP32" if wanted is None else wanted.member
        floats = isinstance(other, float) or (wanted is not None and wanted.is_float())
        if side.type.dtype.is_int() and floats:
            name = getattr(side, "name", "...")
            return f"write pl.cast({name}, pl.{dtype})"
    return None


def _no_operator(ctx: Context, node: Any, symbol: str, left: Any, right: Any) -> ParserError:
    return InvalidOperationError(
        f"there is no {symbol!r} between {describe(left)} and {describe(right)}",
        ctx.span(node),
        slug="no-operator",
    )


def _on_tiles(ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any) -> Any:
    """Return the op that an operator on tiles or tensors means."""
    op = unified(name) if name else None
    if op is None:
        raise _no_operator(ctx, node, symbol, left, right)
    args = (left, right)
    if not _is_shaped(left):
        if name not in COMMUTATIVE:
            raise _number_first(ctx, node, symbol, name, left, right)
        args = (right, left)
    return op_call(ctx, op, args, {}, node)


def _number_first(
    ctx: Context, node: Any, symbol: str, name: str, left: Any, right: Any
) -> ParserError:
    error = _no_operator(ctx, node, symbol, left, right)
    if isinstance(node, ast.BinOp):
        number_text, tile = ctx.source.text(node.left), ctx.source.text(node.right)
        if name == "sub":
            error.hint = f"write pl.neg({tile}) + {number_text}"
        if name == "div":
            times = "" if left == 1 else f" * {number_text}"
            error.hint = f"write pl.recip({tile}){times}"
    return error


def _unary(ctx: Context, node: ast.UnaryOp) -> Any:
    value = ctx.value(node.operand)
    symbol, kind, python, name = UNARY[type(node.op)]
    if not isinstance(value, Expr):
        return _python(ctx, node, python, value)
    if _is_shaped(value):
        op = unified(name) if name else None
        if op is None:
            raise InvalidOperationError(
                f"there is no {symbol!r} of {describe(value)}", ctx.span(node), slug="no-operator"
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
        if isinstance(value, Expr) or isinstance(other, Expr):
            value = _on_scalars(ctx, node, kind, symbol, value, other)
        else:
            value = (value and other) if is_and else (value or other)
    return value


def _compare(ctx: Context, node: ast.Compare) -> Any:
    if len(node.ops) > 1:
        raise _chain(ctx, node)
    left, right = ctx.value(node.left), ctx.value(node.comparators[0])
    symbol, kind, python = COMPARE[type(node.ops[0])]
    if not isinstance(left, Expr) and not isinstance(right, Expr):
        return _python(ctx, node, python, left, right)
    if kind is None:
        raise _no_operator(ctx, node, symbol, left, right)
    if _is_shaped(left) or _is_shaped(right):
        error = _no_operator(ctx, node, symbol, left, right)
        name = "cmp" if _is_shaped(left) and _is_shaped(right) else "cmps"
        a, b = ctx.source.text(node.left), ctx.source.text(node.comparators[0])
        error.hint = f"write pl.{name}({a}, {b}, cmp_type={_CMP_TYPES[symbol]})"
        raise error
    return _on_scalars(ctx, node, kind, symbol, left, right)


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
    raise UnsupportedFeatureError(
        "a conditional expression needs a condition known while parsing",
        ctx.span(node),
        hint="assign the name in both branches of an if statement",
        slug="conditional-expression",
    )


def _subscript(ctx: Context, node: ast.Subscript) -> Any:
    base, index = ctx.value(node.value), ctx.value(node.slice)
    if not isinstance(base, Expr):
        if isinstance(index, Expr):
            raise ParserTypeError(
                f"{describe(base)} is read at an index known only at run time",
                ctx.span(node),
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
    hint = None
    if isinstance(base.type, ShapedType):
        text = ctx.source.text(node.value)
        hint = f"write pl.load({text}, offsets, shape), or pl.tensor.read({text}, indices)"
    raise ParserTypeError(
        f"{describe(base)} is not read with [...]", ctx.span(node), hint=hint, slug="subscript"
    )


def _slice(ctx: Context, node: ast.Slice) -> slice:
    parts: Sequence[ast.expr | None] = (node.lower, node.upper, node.step)
    return slice(*[None if part is None else ctx.value(part) for part in parts])


_WAYS_OUT: Final[dict[type[ast.expr], tuple[str, str | None]]] = {
    ast.Lambda: ("lambda", "write a function, with @pl.inline above"),
    ast.ListComp: ("comprehensions", "compute the list outside the kernel, or write it out"),
    ast.SetComp: ("comprehensions", None),
    ast.DictComp: ("comprehensions", None),
    ast.GeneratorExp: ("generators", None),
    ast.JoinedStr: ("f-strings", None),
    ast.NamedExpr: ("':='", "assign in a statement before this one"),
    ast.Starred: ("'*' before an argument", "write the arguments out"),
    ast.Await: ("await", None),
    ast.Dict: ("dicts", "make it outside the kernel"),
    ast.Set: ("sets", "write a list"),
    ast.Yield: ("yield here", "yield as the last statement of a loop body or branch"),
}


def _unsupported(ctx: Context, node: ast.expr) -> Any:
    what, hint = _WAYS_OUT.get(type(node), (type(node).__name__, None))
    raise UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


class _Forms(dict[type, Form]):
    """The handlers by syntax class; a class without one is not part of the language."""

    def __missing__(self, key: type) -> Form:
        return _unsupported


FORMS: Final = _Forms(
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
    }
)
