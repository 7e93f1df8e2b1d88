"""How much of a tile is valid: names for valid sizes that are given as expressions.

Types name valid sizes, so each is a number or a variable. Knows whether a variable still has the
value of an expression; knows no op.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import ParserTypeError, PyptoError
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.signatures import Signature
from pypto._src.ir.array_types import DYNAMIC_DIM, TileType, same_dim, valid_part
from pypto._src.ir.exprs import Call, ConstInt, Expr, TupleGetItemExpr, Var, const_value
from pypto._src.ir.stmts import AssignStmt
from pypto._src.ir.traversal.queries import defined_by, stmts_in, uses
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType

_SIZE_NAME: Final = "_valid_tmp"
_CALLED_SIZE: Final = "_size"
_MOST_LOOKED_AT: Final = 64  # statements searched before a call, for the name of its valid size


def with_new_names(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Call | None:
    """Return the call with variables for its computed valid sizes, assigned before the call.

    ``valid_shapes=[pl.min(m - i, 16), 64]`` means ``valid = pl.min(m - i, 16)`` and its name; so
    does ``pl.set_validshape(x, pl.min(m - i, 16), 64)``. None if the op still refuses.
    """
    count = len(ctx.block)

    def named(item: Any) -> Any:
        return named_size(ctx, item, span) if _is_computed(item) else item

    sizes = {key: _each(named, value) for key, value in kwargs.items()}
    first, *others = args
    # Offsets need no names: arguments get them only if named keywords are not enough.
    for tried in (args, [first, *[_each(named, named(each)) for each in others]]):
        try:
            return op.build(tried, sizes, span)
        except (PyptoError, TypeError, ValueError):
            continue
    del ctx.block[count:]
    return None


def named_size(ctx: Context, item: Expr, span: Span) -> Var:
    """Return a variable with the value of ``item``, assigned before the call at ``span``."""
    if isinstance(item, Var):
        return item
    held = next((var for var in _holders(ctx, item) if var.name == _SIZE_NAME), None)
    if held is None:
        held = Var(_SIZE_NAME, item.type, item.span)  # the name in messages
        ctx.append(held, item, span)
    return held


def with_called_sizes(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Call | None:
    """Return the call of a tensor op with variables for sizes that contain calls.

    ``pl.create_tensor([pl.tensor.dim(x, 0) * 4, 64], pl.FP32)`` means ``size = pl.tensor.dim(x, 0)
    * 4`` and its name: the tensor's type names the size, and passes move calls but change no type.
    None if the lists contain no calls.
    """
    count = len(ctx.block)

    def named(item: Any) -> Any:
        if not _is_computed(item) or Call not in map(type, walk(item)):
            return item
        held = Var(_CALLED_SIZE, item.type, item.span)
        ctx.append(held, item, span)
        return held

    sizes = [_each(named, arg) for arg in args]
    words = {key: _each(named, value) for key, value in kwargs.items()}
    return op.build(sizes, words, span) if len(ctx.block) > count else None


def with_known_names(
    ctx: Context, op: Any, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Call | None:
    """Return the call with its tiles' valid sizes in place of equal sizes computed in its lists.

    A tile loaded with ``valid_shapes=[pl.min(8, n), 64]`` is stored to a region of the size
    ``[pl.min(8, n), 64]``. None if the lists contain no such size, or the op still refuses.
    """
    values = (*args, *kwargs.values())
    parts = (valid_part(value.type) or () for value in values if isinstance(value, Expr))
    sizes = frozenset(size for part in parts for size in part if isinstance(size, Var))
    if not sizes:
        return None

    def known(item: Any) -> Any:
        return known_size(ctx, item, sizes)

    try:
        return op.build(
            [_each(known, arg) for arg in args],
            {key: _each(known, value) for key, value in kwargs.items()},
            span,
        )
    except (PyptoError, TypeError, ValueError):
        return None


def known_size(ctx: Context, item: Any, sizes: Collection[Expr]) -> Any:
    """Return the variable among ``sizes`` that has the value of ``item``, else ``item``."""
    if not _is_computed(item):
        return item
    names = {id(size) for size in sizes}
    return next((var for var in _holders(ctx, item) if id(var) in names), item)


def _each(change: Callable[[Any], Any], value: Any) -> Any:
    """Return a list with each item changed, anything else as it is."""
    if not isinstance(value, list | tuple):
        return value
    return [change(item) for item in cast("Sequence[Any]", value)]


def _is_computed(item: Any) -> bool:
    computed = isinstance(item, Expr) and not isinstance(item, Var | ConstInt)
    return computed and isinstance(item.type, ScalarType)


def _holders(ctx: Context, item: Expr) -> Iterator[Var]:
    """Yield the variables that were assigned ``item`` in this block and still have its value."""
    used, later = frozenset(uses([item])), set[Var]()
    left = _MOST_LOOKED_AT
    for stmt in reversed(ctx.block):
        inside = [*stmts_in(stmt)]
        left -= len(inside)
        defined = {var for each in inside for var in defined_by(each)}
        if left < 0 or not used.isdisjoint(defined):
            return
        if isinstance(stmt, AssignStmt) and stmt.var not in later and _is_same(stmt.value, item):
            yield stmt.var
        later |= defined


def _is_same(a: Expr, b: Expr) -> bool:
    """True if two expressions compute the same from the same variables."""
    if isinstance(a, TupleGetItemExpr) and isinstance(b, TupleGetItemExpr):
        return a.tuple is b.tuple and a.index == b.index
    return same_dim(a, b)


def bind_valid_sizes(
    ctx: Context,
    called: Signature,
    operands: list[Expr],
    sizes: dict[Var, Expr],
    span: Span,
) -> None:
    """Add to ``sizes`` the valid sizes that results have at this call.

    As types name them, an argument that computes one gets a name.

    Raises:
        ParserTypeError: the caller does not know one of them, or a number is outside the tile.
    """
    parts = [
        pair
        for kind in called.results
        if isinstance(kind, TileType)
        for pair in zip(valid_part(kind) or (), kind.shape, strict=False)
    ]
    if not parts:
        return
    places = {param: at for at, param in enumerate(called.params) if param in called.kept}
    for size, whole in parts:
        if not isinstance(size, Var):
            continue
        defined = (Label(size.span, f"{size} is defined here"),) if size.span.begin_line > 0 else ()
        at = places.get(size)
        value = sizes.get(size) if at is None else operands[at]
        number, limit = None if value is None else const_value(value), const_value(whole)
        if value is None or (at is None and number == DYNAMIC_DIM):
            raise ParserTypeError(
                f"{called.name} returns a tile of which {size} is valid, a size that only "
                f"{called.name} knows",
                span,
                hint=f"in {called.name}, return pl.fillpad(...) of the tile; or make {size} a "
                f"parameter that {called.name} does not assign",
                slug="valid-shape",
                related=defined,
            )
        beyond = number is not None and limit is not None and not 0 <= number <= limit
        if beyond:
            raise ParserTypeError(
                f"{called.name} returns a tile with {number} valid of {limit} elements",
                span,
                hint=f"pass a tensor whose {size} is at most {limit}"
                if at is None
                else f"give a number from 0 to {limit} for {size}",
                slug="valid-shape",
                related=defined,
            )
        sizes[size] = named_size(ctx, value, span) if number is None else ConstInt(number)
        if at is not None and number is None:
            operands[at] = sizes[size]
