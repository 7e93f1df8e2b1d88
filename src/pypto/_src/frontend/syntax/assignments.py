"""Assignments, and expressions that are statements of their own.

Owns what an assignment does with each form of target, and which values may be dropped. Does not
know blocks: what happens to names at the end of one is in `scope`, `branches` and `loops`.
"""

from __future__ import annotations

import ast
from ast import Name
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.diagnostics import counted
from pypto._src.dtypes import DataType
from pypto._src.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto._src.frontend.source.python_names import MISSING, items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.effects import has_effect, parts_of
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.state.scope import OF_THE_FUNCTION
from pypto._src.frontend.syntax.annotations import declared_type, type_of
from pypto._src.frontend.syntax.calls import is_python_object
from pypto._src.frontend.syntax.operators import BINARY, apply_binary
from pypto._src.ir.array_types import TensorType, TileType, same_dims
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.stmts import EvalStmt
from pypto._src.ir.types import ScalarType, TupleType, Type, UnknownType
from pypto._src.ops.rules.type_rules import called


def assign(ctx: Context, node: ast.Assign) -> None:
    """Parse ``target = value``, with one target or several."""
    value = ctx.forms[node.value.__class__](ctx, node.value)
    targets = node.targets
    first = targets[0]
    _assign_to(ctx, first, value, node.value)
    if len(targets) > 1:
        again = ctx.names.values[first.id] if isinstance(first, ast.Name) else value
        for target in targets[1:]:
            _assign_to(ctx, target, again, node.value)


def _assign_to(ctx: Context, target: ast.expr, value: Any, source: ast.expr) -> None:
    if isinstance(target, Name):
        if isinstance(value, Expr) and value.type.__class__ in _ARRAYS:
            ctx.assign(target.id, value, target, source=source)
        else:
            _assign_name(ctx, target, value, source)
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(ctx, target, value, source)
    elif isinstance(target, ast.Subscript):
        from pypto._src.frontend.syntax import slices

        slices.write(ctx, target, value, source)
    else:
        raise bad_target(ctx, target)


_ARRAYS: Final = frozenset({TensorType, TileType})


def bad_target(ctx: Context, target: ast.expr) -> ParserError:
    """Return the error for an invalid target of an assignment."""
    text = ctx.source.text(target)
    hint = None
    if isinstance(target, ast.Attribute):
        hint = f"assign to a name: {target.attr} = ..."
    elif isinstance(target, ast.Starred):
        hint = "write one name for each value"
    elif isinstance(target, ast.Subscript):
        hint = f"leave out the annotation: {text} = ..."
    return UnsupportedFeatureError(
        f"{text} cannot be assigned in this way", ctx.span(target), hint=hint, slug="target"
    )


def _assign_name(ctx: Context, target: ast.Name, value: Any, source: ast.expr) -> None:
    if isinstance(value, Expr):
        if value.type.__class__ is UnknownType:
            refuse_no_value(ctx, value, source)
        number = _constant(ctx, target.id, value) if value.type.__class__ is ScalarType else None
        var = ctx.assign(target.id, value, target, source=source)
        if number is not None:
            ctx.constants[var] = number
    elif value.__class__ in OF_THE_FUNCTION:
        ctx.names.bind(target.id, value)
    elif not isinstance(value, int | float) and is_python_object(value):
        ctx.check_assignable(target.id, None, target)
        ctx.names.bind_constant(target.id, value, ctx.span(target))
    else:
        number = _constant(ctx, target.id, value)
        expr = ctx.as_expr(value, source, _scalar_of(ctx, target.id))
        var = ctx.assign(target.id, expr, target)
        if number is not None:
            ctx.constants[var] = number


def _constant(ctx: Context, name: str, value: Any) -> int | None:
    """Return the number that ``name`` has wherever it is read, None if it is not constant."""
    if isinstance(value, Expr):
        kind = value.type
        if not (ctx.constants or value.__class__ is ConstInt) or not isinstance(kind, ScalarType):
            return None
        value = ctx.known_number(value) if kind.dtype.is_int() else None
    is_anew = name in ctx.anew and ctx.names.values.get(name, MISSING) is MISSING
    return value if value.__class__ is int and (is_anew or ctx.is_only(name)) else None


def _scalar_of(ctx: Context, name: str) -> DataType | None:
    """Return the element type of a scalar variable, which a bare number assigned to it gets."""
    old = ctx.names.values.get(name)
    return old.type.dtype if isinstance(old, Var) and isinstance(old.type, ScalarType) else None


def refuse_no_value(ctx: Context, value: Expr, source: ast.expr) -> None:
    """Raise an error for a call without a value where one is wanted."""
    if isinstance(value.type, UnknownType) and isinstance(value, Call):
        raise ParserTypeError(
            f"{ctx.source.text(source).partition('(')[0]} has no value to assign",
            ctx.span(source),
            hint=f"write {ctx.source.text(source)}",
            slug="no-value",
        )


def _unpack(ctx: Context, target: ast.Tuple | ast.List, value: Any, source: ast.expr) -> None:
    targets = target.elts
    values = items_of(value)
    if values is not None:
        count = len(values)
    elif isinstance(value, Expr) and isinstance(value.type, TupleType):
        count = _part_count(value)
    else:
        raise ParserTypeError(
            f"{describe(value)} is one value and cannot be unpacked",
            ctx.span(target),
            hint=f"write {ctx.source.text(targets[0])} = {ctx.source.text(source)}",
            slug="unpack",
        )
    starred = next((each for each in targets if isinstance(each, ast.Starred)), None)
    if starred is not None:
        raise UnsupportedFeatureError(
            "kernels do not have '*' before a name that is assigned to",
            ctx.span(starred),
            hint=_as_many(ctx, targets, count),
        )
    if count != len(targets):
        raise ParserTypeError(
            f"{counted(count, 'value')} cannot be unpacked into {counted(len(targets), 'name')}",
            ctx.span(target),
            hint=_as_many(ctx, targets, count),
            slug="unpack",
        )
    if values is None:
        parts = parts_of(ctx, value, ctx.span(source))
    else:
        parts = _independent(ctx, targets, values, source)
    for item, part in zip(targets, parts, strict=True):
        _assign_to(ctx, item, part, source)


def _as_many(ctx: Context, targets: Sequence[ast.expr], count: int) -> str:
    """Suggest as many names as there are values: fewer, or additional unused ones."""
    texts = [ctx.source.text(target).lstrip("*") for target in targets[:count]]
    texts += [f"_{at}" for at in range(len(texts) + 1, count + 1)]
    return f"write {', '.join(texts)}{',' if count == 1 else ''}"


def _part_count(value: Expr) -> int:
    return len(value.type.types) if isinstance(value.type, TupleType) else 1


def _independent(
    ctx: Context, targets: Sequence[ast.expr], values: list[Any], source: ast.expr
) -> list[Any]:
    """Copy values that assigning the targets one by one could change: ``a, b = b, a``."""
    names = {t.id for t in targets if isinstance(t, ast.Name) and t.id in ctx.names.values}
    if not names or not any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(source)):
        return values
    safe: list[Any] = []
    for value in values:
        if isinstance(value, Expr):
            var = Var("_tmp", value.type, ctx.span(source))
            ctx.follow(var, value)
            ctx.append(var, value, ctx.span(source))
            value = var
        safe.append(value)
    return safe


def ann_assign(ctx: Context, node: ast.AnnAssign) -> None:
    """Parse ``name: TYPE = value``, or the declaration alone."""
    if not isinstance(node.target, ast.Name):
        raise bad_target(ctx, node.target)
    if _is_of_tasks(ctx, node.annotation):
        if node.value is not None:
            _assign_name(ctx, node.target, ctx.value(node.value), node.value)
        return
    declared = type_of(ctx, node.annotation)
    name = node.target.id
    if node.value is None:
        ctx.declared[name] = declared
        return
    dtype = declared.dtype if isinstance(declared, ScalarType) else None
    value = ctx.expr(node.value, dtype)
    kind = _declared(ctx, node.annotation, declared, value, node.value)
    number = _constant(ctx, name, value)
    var = ctx.assign(name, value, node.target, kind=kind, source=node.value)
    if number is not None:
        ctx.constants[var] = number


def _is_of_tasks(ctx: Context, annotation: ast.expr) -> bool:
    """True for ``pl.Scalar[pl.TASK_ID]``, and lists of these or of numbers: no types of the IR."""
    items = [annotation]
    if isinstance(annotation, ast.Subscript):
        given = annotation.slice
        items = [annotation.value, *(given.elts if isinstance(given, ast.Tuple) else [given])]
    return any(getattr(ctx.peek(item), "marks_tasks", False) is True for item in items)


def _declared(ctx: Context, node: ast.expr, declared: Type, value: Expr, source: ast.expr) -> Type:
    """Return the type of a declared variable; in a region a tile may be declared as a tensor."""
    found = value.type
    if (
        ctx.region is None
        or not isinstance(declared, TensorType)
        or not isinstance(found, TileType)
    ):
        return declared_type(ctx, node, declared, found, source)
    is_same = declared.dtype is found.dtype and same_dims(declared.shape, found.shape)
    return found if is_same else declared_type(ctx, node, declared, found, source)


def aug_assign(ctx: Context, node: ast.AugAssign) -> None:
    """Parse ``name += value`` and the like."""
    if not isinstance(node.target, ast.Name):
        text, symbol = ctx.source.text(node.target), BINARY[type(node.op)][0]
        error = bad_target(ctx, node.target)
        error.hint = f"write {text} = {text} {symbol} {ctx.source.operand(node.value)}"
        raise error
    read = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
    old = ctx.value(read)
    new = apply_binary(ctx, node, type(node.op), old, ctx.value(node.value))
    if not isinstance(new, Expr | int | float):
        symbol = BINARY[type(node.op)][0]
        raise ParserTypeError(
            f"'{symbol}=' takes values of the kernel, got {describe(old)}",
            ctx.span(node),
            slug="scalar-operands",
        )
    if _is_updated_in_place(ctx, old):
        from pypto._src.frontend.syntax import slices

        whole = ast.copy_location(ast.Subscript(read, ast.Slice(), ast.Store()), node.target)
        slices.write(ctx, whole, new, node.value)
    else:
        try:
            _assign_name(ctx, node.target, new, node.value)
        except ParserError as error:
            if error.slug == "out-rebound":
                from pypto._src.frontend.diagnose.operator_hints import stored

                error.hint = stored(ctx, node, BINARY[type(node.op)][0])
            raise


def _is_updated_in_place(ctx: Context, old: Any) -> bool:
    """True for a tensor that a region may write and that other names may share.

    As in Python these names see ``name += value``. Inputs are not written: there the name gets a
    new value, as it does if no other name has the tensor.
    """
    if ctx.region is None or not isinstance(old, Var) or not isinstance(old.type, TensorType):
        return False
    return old not in ctx.inputs and old not in ctx.made_here


def expression(ctx: Context, node: ast.Expr) -> None:
    """Parse an expression used as a statement: it must have an effect."""
    if isinstance(node.value, ast.Constant):
        return  # a docstring, or `...`
    if _is_bind_dynamic(ctx, node.value):
        return
    count = len(ctx.block)
    value = ctx.value(node.value)
    if len(ctx.block) > count and not has_effect(value):
        return  # the statements of an inline function are the effect
    if value.__class__ in OF_THE_FUNCTION:
        return
    if not isinstance(value, Call):
        raise ParserSyntaxError(
            "this statement has no effect",
            ctx.span(node),
            hint="assign the value to a name, or delete the line",
            slug="no-effect",
        )
    if not has_effect(value):
        op: OpDef[..., Any] | None = op_of(value)
        assert op is not None
        raise ParserSyntaxError(
            f"the value of {called(op)} is not used, and computing it changes nothing",
            ctx.span(node),
            hint=f"write x = {ctx.source.text(node)}, or delete the line",
            slug="no-effect",
        )
    ctx.block.append(EvalStmt(value, ctx.span(node)))


def _is_bind_dynamic(ctx: Context, node: ast.expr) -> bool:
    """Parse ``x.bind_dynamic(0, ROWS)``, which names a size; return False for anything else."""
    func = node.func if isinstance(node, ast.Call) else None
    if not isinstance(func, ast.Attribute) or func.attr != "bind_dynamic":
        return False
    from pypto._src.frontend.syntax.dynamic_sizes import bind_dynamic

    assert isinstance(node, ast.Call)
    bind_dynamic(ctx, node, func)
    return True
