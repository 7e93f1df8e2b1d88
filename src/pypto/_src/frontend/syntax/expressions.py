"""Expressions: what each form of Python expression means in a kernel.

An expression means an IR expression, or a Python object if it consists of literals, outside names
and their attributes. Operators are in `operators`, calls in `calls`.
"""

from __future__ import annotations

import ast
import operator
from ast import Constant, Name
from collections.abc import Sequence
from typing import Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.errors import (
    InvalidOperationError,
    ParserError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.source.python_names import MISSING, items_of
from pypto._src.frontend.state.context import Context, Forms
from pypto._src.frontend.state.effects import alone, held, held_before
from pypto._src.frontend.state.messages import (
    PRINT_HINT,
    PRINTING,
    describe,
    did_you_mean,
    op_elsewhere,
    part_hint,
    spell_apart,
)
from pypto._src.frontend.state.scope import (
    BROKEN,
    OF_THE_FUNCTION,
    Cascade,
    same_joined_type,
    same_value_type,
)
from pypto._src.frontend.syntax.calls import call, op_call, too_large
from pypto._src.frontend.syntax.operators import (
    binary_op,
    bool_op,
    compare,
    computed,
    unary_op,
)
from pypto._src.ir.array_types import DYNAMIC_DIM, ShapedType, TensorType, TileType, same_dims
from pypto._src.ir.enums import FunctionType, MemorySpace, PipeType
from pypto._src.ir.exprs import ConstInt, Expr, TupleGetItemExpr, Var
from pypto._src.ir.op_params import REQUIRED
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import IfStmt, YieldStmt, seq
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType
from pypto._src.ops import tensor
from pypto._src.ops.rules import type_rules
from pypto._src.ops.unified import Unified, on_tiles, unified


def _constant(ctx: Context, node: ast.Constant) -> Any:
    return node.value


def _name(ctx: Context, node: ast.Name) -> Any:
    value = ctx.names.values.get(node.id, MISSING)
    if value is MISSING:
        value = ctx.outer.get(node.id, MISSING)
        if value is MISSING:
            value = ctx.lookup(node.id)
            if value is MISSING:
                value = ctx.still_there(node.id)
            if value is MISSING:
                from pypto._src.frontend.diagnose.missing_names import undefined

                raise undefined(ctx, node)
    if value is BROKEN:
        raise Cascade
    return value


def _attribute(ctx: Context, node: ast.Attribute) -> Any:
    inner: Any = node.value
    if inner.__class__ is Name:
        name = inner.id
        if name == ctx.self_name:
            return _of_self(ctx, node)
        # Nearly always a module that is already known and that no variable hides: pl.
        base = ctx.outer.get(name, MISSING) if name not in ctx.names.values else MISSING
        if base is MISSING:
            base = _name(ctx, inner)
    else:
        base = ctx.forms[inner.__class__](ctx, inner)
    if isinstance(base, Expr):
        return _of_value(ctx, node, base)
    reading = ctx.environment.reading
    if reading is not None and not reading.may_read(base, node.attr):
        raise reading.refused(f"{ctx.source.text(node)} is an attribute of Python", ctx.span(node))
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
    reading = ctx.environment.reading
    unread = None if reading is None else reading.refused_name(f"self.{node.attr}", ctx.span(node))
    if unread is not None:
        raise unread
    raise UndefinedVariableError(
        f"the program has no function {node.attr!r}",
        ctx.span(node),
        hint=did_you_mean(node.attr, ctx.functions.names(), "self.")
        or (None if unified(node.attr) is None else f"write pl.{node.attr}"),
    )


def _of_value(ctx: Context, node: ast.Attribute, base: Expr) -> Any:
    base = held(ctx, base, node.value)
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
    """Suggest what an unknown attribute stands for: an op, a shape, the value itself."""
    text, is_scalar = ctx.source.text(node.value), isinstance(base.type, ScalarType)
    known = ["dtype"] if is_scalar else ["shape", "dtype"]
    if is_scalar and node.attr in _ITSELF:
        return f"write {text}"
    if isinstance(base.type, TileType) and node.attr in _COPIES:  # ops do not change values
        return f"write {text}"
    if isinstance(base.type, ShapedType) and node.attr == "numel":
        sizes = [f"{text}.shape[{axis}]" for axis in range(len(base.type.shape))]
        return f"write ({' * '.join(sizes) or 1})"
    if node.attr in _OF_SHAPE and not is_scalar:
        return f"write {_OF_SHAPE[node.attr].format(text)}"
    from pypto._src.frontend.diagnose.calls_elsewhere import FORMS, meant_elsewhere

    if node.attr in FORMS:
        return meant_elsewhere(ctx, f".{node.attr}", [node.value], [])
    name = node.attr if unified(node.attr) is not None else op_elsewhere(node.attr)
    method = None if name is None else unified(name)
    if method is None:
        return did_you_mean(node.attr, known, f"{text}.")
    op: OpDef[..., Any] = method.candidates[0] if isinstance(method, Unified) else method
    others = [_USUAL.get(p.name, p.name) for p in op.params[1:] if p.default is REQUIRED]
    return f"write pl.{name}({', '.join([text, *others])})"


_USUAL: Final = {"axis": "-1"}
"""Usual arguments, by parameter name."""

_ITSELF: Final = frozenset({"value", "item", "val", "data", "real"})
"""What other libraries call the number in a scalar."""

_COPIES: Final = frozenset({"clone", "contiguous", "copy", "detach"})
"""What other libraries call a value that no longer depends on others."""

_OF_SHAPE: Final = {
    "T": "pl.transpose({0}, 0, 1)",
    "ndim": "len({0}.shape)",
    "size": "{0}.shape",
    "rows": "{0}.shape[0]",
    "cols": "{0}.shape[1]",
}
"""What to write for attributes that arrays have elsewhere."""


def _dim(ctx: Context, node: ast.Attribute, base: Expr, axis: int, dim: Expr) -> Any:
    """Return a dimension as users compute with it: a number, a variable, or the op for it."""
    if not isinstance(dim, ConstInt):
        return dim
    if dim.value == DYNAMIC_DIM and isinstance(base.type, TensorType):
        return op_call(ctx, tensor.dim, (base, axis), {}, node)
    return dim.value


_ENUMS: Final = (MemorySpace, FunctionType, PipeType)
"""Enumerations whose members some users write as names of the module."""


_OF_BOTH: Final = frozenset(
    {"slice", "create_l1", "gather_row", "get_block_num", "get_subblock_idx", "dump_tag", "no_dep"}
)
_LEVELS: Final = ("pypto.language.tensor", "pypto.language.block")


def _of_both_levels(ctx: Context, module: str, name: str) -> Any:
    """Return the meaning of a name in one level that is an op of the other one; None if none.

    The same names take parts of tensors and of tiles, and in a region tensors are tiles.
    """
    if name in _OF_BOTH or (name == "transpose_view" and module == _LEVELS[1]):
        from pypto._src.frontend import region_markers

        return getattr(region_markers, name)
    if module == _LEVELS[0]:
        return on_tiles(name) if ctx.region is not None else None
    return unified(name) if name == "assemble" else None


def _missing_attribute(ctx: Context, node: ast.Attribute, base: Any) -> Any:
    """Return the op meant by a name of the language that the module does not export."""
    text = ctx.source.text(node)
    module = getattr(base, "__name__", "")
    members: Any = getattr(base, "__members__", ())  # of an enumeration, including older names
    known = [name for name in (*dir(base), *members) if not name.startswith("_")]
    if module.split(".")[0] == "pypto":
        found = unified(node.attr) if module == "pypto.language" else None
        if module in _LEVELS:
            found = _of_both_levels(ctx, module, node.attr)
        if found is not None:
            return found
        from pypto._src.frontend.diagnose.absent_ops import ABSENT

        absent = ABSENT.get(node.attr)
        if absent is not None:
            raise InvalidOperationError(
                f"there is no {text}: {absent.reason}", ctx.span(node), hint=absent.hint
            )
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
    return _items(ctx, node)


def _tuple(ctx: Context, node: ast.Tuple) -> tuple[Any, ...]:
    return tuple(_items(ctx, node))


def _items(ctx: Context, node: ast.List | ast.Tuple) -> list[Any]:
    forms, items = ctx.forms, list[Any]()
    for item in node.elts:
        if isinstance(item, Constant):
            items.append(item.value)
            continue
        count = len(ctx.block)
        value = forms[item.__class__](ctx, item)
        if len(ctx.block) > count:
            items = held_before(ctx, count, items, node)
        items.append(value)
    # Nested lists may share items, and so be far longer than their text.
    if any(isinstance(item, list | tuple) for item in items):
        from pypto._src.frontend.source.limits import MOST_ITEMS, item_count

        if item_count(items) > MOST_ITEMS:
            raise too_large(ctx, node)
    return items


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
    """Suggest the op that chooses element by element."""
    parts = ", ".join(ctx.source.text(part) for part in (node.test, node.body, node.orelse))
    return f"write pl.sel({parts})"


def _branches(ctx: Context, node: ast.IfExp, condition: Expr) -> Expr:
    """Append an if statement whose branches yield one value; return its result."""
    span = ctx.span(node)
    then, a = alone(ctx, node.body)
    orelse, b = alone(ctx, node.orelse)
    kind = next((value.type for value in (a, b) if isinstance(value, Expr)), None)
    dtype = kind.dtype if isinstance(kind, ScalarType) else None
    if kind is None and (isinstance(a, float) or isinstance(b, float)):
        dtype = DataType.FP32
    a, b = ctx.as_expr(a, node.body, dtype), ctx.as_expr(b, node.orelse, dtype)
    if not same_joined_type(a.type, b.type):
        from pypto._src.frontend.diagnose.operator_hints import common_cast

        one, two = spell_apart(a.type, b.type)
        texts = [ctx.source.text(part) for part in (node.body, node.orelse)]
        parts = same_value_type(a.type, b.type)
        raise ParserTypeError(
            f"the values of a conditional expression are {one} and {two}",
            span,
            hint=part_hint(a.type, texts[0], b.type, texts[1])
            if parts
            else common_cast(ctx, a, b) or _cast_tiles(ctx, node, a, b),
            slug="valid-shape" if parts else "conditional-expression",
        )
    then.append(YieldStmt((a,), ctx.span(node.body)))
    orelse.append(YieldStmt((b,), ctx.span(node.orelse)))
    var = Var("_if_tmp", a.type, span)
    if ctx.origin(a) is ctx.origin(b):
        ctx.follow(var, a)
    ctx.block.append(IfStmt(condition, seq(then, span), seq(orelse, span), (var,), span))
    return var


def _cast_tiles(ctx: Context, node: ast.IfExp, a: Expr, b: Expr) -> str | None:
    """Suggest a choice between tiles that differ only in element type, with one of them cast."""
    if not (isinstance(a.type, TileType) and isinstance(b.type, TileType)):
        return None
    if not same_dims(a.type.shape, b.type.shape):
        return None
    body, test, orelse = (ctx.source.text(part) for part in (node.body, node.test, node.orelse))
    cast_code = type_rules.cast_code(orelse, b.type.dtype, a.type.dtype)
    return None if cast_code is None else f"write {body} if {test} else {cast_code}"


def _subscript(ctx: Context, node: ast.Subscript) -> Any:
    base = ctx.value(node.value)
    if isinstance(base, Expr) and isinstance(base.type, ShapedType):
        from pypto._src.frontend.syntax import slices

        return slices.read(ctx, node, base)
    if base.__class__ in OF_THE_FUNCTION:
        from pypto._src.frontend.regions.tasks import item

        return item(ctx, node, cast("Any", base))
    index = ctx.value(node.slice)
    if not isinstance(base, Expr):
        if isinstance(index, Expr):
            raise ParserTypeError(
                f"{describe(base)} is read at an index known only at run time",
                ctx.span(node),
                hint=_chosen(ctx, node, base),
                slug="subscript",
            )
        chosen = computed(ctx, node, operator.getitem, base, index)
        if isinstance(node.value, ast.Name | ast.Attribute):  # evaluated when it was assigned
            return chosen
        if isinstance(chosen, Expr) and isinstance(chosen.type, UnknownType):
            # A call without a value is the whole statement.
            held(ctx, [item for item in base if item is not chosen], node.value)
            return chosen
        base = held(ctx, base, node.value)
        return computed(ctx, node, operator.getitem, base, index)
    if isinstance(base.type, TupleType) and type(index) is int:
        count = len(base.type.types)
        if -count <= index < count:
            return TupleGetItemExpr(base, index % count, ctx.span(node))
        raise ParserTypeError(
            f"index {index} is outside a tuple of {count}", ctx.span(node), slug="subscript"
        )
    if isinstance(base.type, TupleType) and isinstance(index, Expr):
        raise ParserTypeError(
            f"the tuple {ctx.source.text(node.value)} is read at an index known only at run time",
            ctx.span(node),
            hint=_chosen_part(ctx, node, base.type.types),
            slug="subscript",
        )
    raise ParserTypeError(
        f"{describe(base)} is not read with [...]",
        ctx.span(node),
        hint=f"write {ctx.source.text(node.value)}" if isinstance(base.type, ScalarType) else None,
        slug="subscript",
    )


def _chosen_part(ctx: Context, node: ast.Subscript, types: Sequence[Type]) -> str | None:
    """Suggest a choice at run time among a tuple's few parts, all of the same type."""
    text, index = ctx.source.text(node.value), ctx.source.operand(node.slice)
    last = len(types) - 1
    if not 0 < last < _MOST_CHOSEN or any(not same_joined_type(types[0], t) for t in types):
        return None
    tests = "".join(f"{text}[{at}] if {index} == {at} else " for at in range(last))
    return f"write ({tests}{text}[{last}])"


_MOST_CHOSEN: Final = 4


def _chosen(ctx: Context, node: ast.Subscript, base: Any) -> str | None:
    """Suggest how to read a list of numbers at run time, or a choice of two kernel values."""
    text, index = ctx.source.text(node.value), ctx.source.text(node.slice)
    items: list[Any] = [*base] if isinstance(base, list | tuple) else []
    if not any(isinstance(item, Expr) for item in items):
        read = f"pass it as a tensor, and write pl.tensor.read({text}, [{index}])"
        if (
            not isinstance(ctx.value(node.slice), Var)
            or ctx.value(node.slice) not in ctx.names.fixed
        ):
            return read
        is_named = isinstance(node.value, ast.Name)
        return f"let {index} count with pl.unroll{f', or {read}' if is_named else ''}"
    items = node.value.elts if isinstance(node.value, ast.List | ast.Tuple) else []
    if len(items) != 2:
        return None
    return f"write {ctx.source.text(items[0])} if {index} == 0 else {ctx.source.text(items[1])}"


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
    if isinstance(node, ast.Starred):
        hint = _written_out(ctx, node.value) or hint
    raise UnsupportedFeatureError(f"kernels do not have {what}", ctx.span(node), hint=hint)


def _written_out(ctx: Context, node: ast.expr) -> str | None:
    """Suggest the arguments that ``*node`` stands for, one by one."""
    if isinstance(node, ast.List | ast.Tuple):
        return f"write {', '.join(ctx.source.text(item) for item in node.elts)}"
    items = items_of(ctx.value(node)) if isinstance(node, ast.Name) else None
    if not items:
        return None
    return f"write {', '.join(f'{ctx.source.text(node)}[{at}]' for at in range(len(items)))}"


FORMS: Final = Forms(
    {
        ast.Constant: _constant,
        ast.Name: _name,
        ast.Attribute: _attribute,
        ast.List: _list,
        ast.Tuple: _tuple,
        ast.BinOp: binary_op,
        ast.UnaryOp: unary_op,
        ast.BoolOp: bool_op,
        ast.Compare: compare,
        ast.IfExp: _if_exp,
        ast.Subscript: _subscript,
        ast.Slice: _slice,
        ast.Call: call,
    },
    _unsupported,
)
