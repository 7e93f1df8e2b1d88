"""What kernels exchange with other ranks: transfers to and from windows, and signals.

A peer's part of a window is a view of the tensor that holds the parts of all ranks. So a transfer
is a load or store like any other; only signals have ops of their own.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pypto._src.dtypes import DataType
from pypto._src.errors import ParserSyntaxError, ParserTypeError
from pypto._src.frontend import distributed_markers as markers
from pypto._src.frontend.source.python_names import items_of
from pypto._src.frontend.state.context import Context
from pypto._src.frontend.state.messages import describe
from pypto._src.frontend.state.windows import Window, row_of
from pypto._src.frontend.syntax.annotations import plain_dims
from pypto._src.frontend.syntax.tile_parts import store_op
from pypto._src.ir.array_types import TensorType, TileType, static_shape
from pypto._src.ir.enums import AtomicType, ForKind
from pypto._src.ir.exprs import Add, ConstInt, Expr, Mul, Var, as_expr, binary, const_value
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import EvalStmt, ForStmt, Stmt, seq
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory, tensor
from pypto._src.ops.lazy import signals
from pypto._src.records import NamedTuple

T = TypeVar("T")
_MOST_COPIED: Final = 64 * 1024
"""The most bytes that are copied between ranks in one piece."""


class _Site(NamedTuple):
    """One call of a distributed marker: its node, and the function that builds calls of ops."""

    ctx: Context
    make: Callable[..., Expr]
    node: ast.Call

    def op(self, op: OpDef[..., Any], *args: Any, **words: Any) -> Expr:
        """Return the call of an op."""
        return self.make(self.ctx, op, args, words, self.node)


def call(
    ctx: Context,
    make: Callable[..., Expr],
    callee: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    node: ast.Call,
) -> Any:
    """Return what a call of an object of `distributed_markers` means in a kernel.

    ``make`` builds calls of ops: `calls.op_call`.
    """
    handler = _HANDLERS.get(callee)
    if handler is None:
        raise ParserSyntaxError(
            f"{ctx.source.text(node.func)} belongs in a function of @pl.jit.host",
            ctx.span(node),
            hint="write @pl.jit.host above a function that launches the kernel on each device",
            slug="misplaced",
        )
    names, required = _parameters(callee)
    given = dict(zip(names, args, strict=False))
    unknown = [name for name in kwargs if name not in names or name in given]
    given |= kwargs
    missing = [name for name in required if name not in given]
    if unknown or missing or len(args) > len(names):
        problem = (
            f"has no argument {unknown[0]!r}, or gets it twice"
            if unknown
            else f"misses its argument {missing[0]!r}"
            if missing
            else f"takes {len(names)} arguments, got {len(args)}"
        )
        raise ParserTypeError(
            f"{ctx.source.text(node.func)} {problem}",
            ctx.span(node),
            hint=f"write {ctx.source.text(node.func)}({', '.join(required)})",
            slug="argument-count",
        )
    is_query = callee in _QUERIES
    if not is_query and ctx.region is None and ctx.launches_regions:
        raise ParserSyntaxError(
            f"{ctx.source.text(node.func)} belongs in a region",
            ctx.span(node),
            hint="begin a region: with pl.at(level=pl.Level.CORE_GROUP):",
            slug="misplaced",
        )
    return handler(_Site(ctx, make, node), given)


def _parameters(callee: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of all parameters of a marker, and of those without a default."""
    code, defaults = callee.__code__, callee.__defaults__ or ()
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    optional = {*names[code.co_argcount - len(defaults) : code.co_argcount]}
    optional |= (callee.__kwdefaults__ or {}).keys()
    return names, tuple(name for name in names if name not in optional)


# --------------------------------------------------------------------------------------------
# Windows
# --------------------------------------------------------------------------------------------


def bind_windows(
    ctx: Context, shapes: Mapping[str, tuple[int, ...]], rank: str, *, is_remote: bool = False
) -> None:
    """Bind the names of window parameters to the rows of this rank.

    ``rank`` is the name of the parameter with its number. With ``is_remote``, transfers say which
    parts of other rows they access, as these may be on other nodes.
    """
    number = ctx.names.values[rank]
    assert isinstance(number, Var)
    for name, shape in shapes.items():
        whole = ctx.names.values[name]
        assert isinstance(whole, Var)
        window, span = Window(whole, number, shape, is_remote), whole.span
        row, sizes = row_of(window, number, span)
        held = Var(f"{name}_row", row.type, span)
        ctx.note_effects(row)
        ctx.follow(held, row)
        ctx.append(held, row, span)
        own = tensor.reshape_view.build((held, sizes), {}, span)
        ctx.note_effects(own)
        var = ctx.names.define(name, own.type, span)
        ctx.follow(var, own)
        ctx.note_made(var, own)
        ctx.append(var, own, span)
        ctx.windows[var] = window


def window_of(ctx: Context, value: Any, node: ast.AST, name: str = "the target") -> Window:
    """Return the window that a value stands for.

    Raises:
        ParserTypeError: it is not one, or only a part of one.
    """
    windows = ctx.home.windows
    found = windows.get(value) if isinstance(value, Expr) else None
    if found is not None:
        return found
    origin = ctx.origin(value) if isinstance(value, Expr) else None
    whole = next((w for w in windows.values() if origin is not None and w.whole is origin), None)
    hint = "declare the parameter as pld.DistributedTensor[[1, 128], pl.FP32]"
    if whole is not None:
        kind = value.type
        shape = static_shape(kind) if isinstance(kind, TensorType) else None
        if shape is not None and math.prod(shape) == math.prod(whole.shape):
            return whole._replace(shape=shape)  # all of it, perhaps reshaped
        hint = f"name the window {whole.whole.name} itself, and give the offsets"
    what = "a part of a window" if whole is not None else describe(value)
    raise ParserTypeError(
        f"{name} of {ctx.source.text(getattr(node, 'func', node))} is a window, got {what}",
        ctx.span(node),
        hint=hint,
        slug="window",
    )


def _peer(site: _Site, window: Window, peer: Any) -> Var:
    """Return the part of a window that belongs to a rank."""
    ctx, _, node = site
    number = const_value(as_expr(peer)) if isinstance(peer, int | Expr) else None
    kind = window.whole.type
    assert isinstance(kind, TensorType)
    count = const_value(kind.shape[0])
    if isinstance(peer, float | bool) or not isinstance(peer, int | Expr):
        raise ParserTypeError(
            f"a peer is the number of a rank, got {describe(peer)}",
            ctx.span(node),
            hint="write peer=0, or an integer of the kernel",
            slug="peer",
        )
    if number is not None and count is not None and not 0 <= number < count:
        raise ParserTypeError(
            f"peer is {number}; there are ranks 0 to {count - 1}",
            ctx.span(node),
            hint=f"write (rank + 1) % {count} for the next one",
            slug="peer",
        )
    span = ctx.span(node)
    row, sizes = row_of(window, peer, span)
    held = _named(ctx, f"{window.whole.name}_row", row)
    return _named(
        ctx,
        f"{window.whole.name}_of_peer",
        site.op(tensor.reshape_view, held, sizes),
    )


def _named(ctx: Context, name: str, value: Expr) -> Var:
    var = Var(name, value.type, value.span)
    if isinstance(value.type, TensorType):
        ctx.note_effects(value)  # pyright: ignore[reportArgumentType]
        ctx.follow(var, value)
    ctx.append(var, value, value.span)
    return var


def _same(site: _Site, given: Mapping[str, Any]) -> Any:
    """Return the window: any window stands for the group of its ranks."""
    window_of(site.ctx, given["window"], site.node, "the argument")
    return given["window"]


def _rank(site: _Site, given: Mapping[str, Any]) -> Expr:
    return window_of(site.ctx, given["ctx"], site.node, "the argument").rank


def _nranks(site: _Site, given: Mapping[str, Any]) -> Any:
    kind = window_of(site.ctx, given["ctx"], site.node, "the argument").whole.type
    assert isinstance(kind, TensorType)
    return const_value(kind.shape[0])


# --------------------------------------------------------------------------------------------
# Transfers
# --------------------------------------------------------------------------------------------


def _remote_load(site: _Site, given: Mapping[str, Any]) -> Expr:
    window = window_of(site.ctx, given["target"], site.node)
    source = _peer(site, window, given["peer"])
    words: dict[str, Any] = {}
    if given.get("valid_shape") is not None:
        words["valid_shapes"] = given["valid_shape"]
    sizes = words.get("valid_shapes", given["shape"])
    _reach(site, window, signals.fetch, source, given["offsets"], sizes)
    return site.op(memory.load, source, given["offsets"], given["shape"], **words)


def _remote_store(site: _Site, given: Mapping[str, Any]) -> Expr:
    window = window_of(site.ctx, given["target"], site.node)
    ctx = site.ctx
    if given["src"] in ctx.home.windows:
        raise ParserTypeError(
            f"{ctx.source.text(site.node.func)} stores what a region has computed, got a window",
            ctx.span(site.node),
            hint="write pld.tensor.put(target, peer, src)",
            slug="window",
        )
    tile = given["src"] if ctx.region is None else ctx.region.operand(ctx, given["src"], site.node)
    target = _peer(site, window, given["peer"])
    stored = _stored(site, window, tile, given["offsets"], target, given.get("atomic"))
    if not window.is_remote:
        return stored
    stored = _named(ctx, f"{window.whole.name}_of_peer", stored)
    _deliver_stored(site, window, tile, given["offsets"], target, given.get("atomic"))
    return stored


def _reach(
    site: _Site,
    window: Window,
    op: OpDef[..., Any],
    target: Var,
    offsets: Any,
    sizes: Any,
    *,
    adds: bool = False,
) -> None:
    """Append the transfer of a peer's box to or from its node, if the peer may be remote."""
    if window.is_remote:
        words = {"adds": True} if adds else {}
        site.ctx.block.append(_done(site.op(op, target, offsets, sizes, **words)))


def _adds(atomic: Any) -> bool:
    return atomic is AtomicType.Add


def _stored_sizes(tile: Any, target: Var) -> list[Any]:
    """Return the sizes of what the store of a tile writes in a peer's window, one per dimension."""
    kind: TileType = tile.type
    valid = kind.shape if kind.tile_view is None else kind.tile_view.valid_shape or kind.shape
    assert isinstance(target.type, TensorType)
    return [*[1] * (len(target.type.shape) - len(valid)), *plain_dims(valid)]


def _deliver_stored(
    site: _Site, window: Window, tile: Any, offsets: Any, target: Var, atomic: Any
) -> None:
    sizes = _stored_sizes(tile, target)
    _reach(site, window, signals.deliver, target, offsets, sizes, adds=_adds(atomic))


def _stored(site: _Site, window: Window, tile: Any, offsets: Any, target: Var, atomic: Any) -> Expr:
    """Store a tile in a peer's window; its missing leading dimensions are 1."""
    ctx, _, node = site
    if not isinstance(tile, Expr) or not isinstance(tile.type, TileType):
        raise ParserTypeError(
            f"what is stored is a tile, got {describe(tile)}",
            ctx.span(node),
            hint="load it first: tile = x[0:16, :]",
            slug="op-operands",
        )
    assert isinstance(target.type, TensorType)
    sizes = plain_dims(tile.type.shape)
    sizes = [*[1] * (len(target.type.shape) - len(sizes)), *sizes]
    op = store_op(ctx, atomic, node)
    if _adds(atomic):
        _reach(site, window, signals.fetch, target, offsets, _stored_sizes(tile, target), adds=True)
    return site.op(op, tile, offsets, sizes, target)


def _put(site: _Site, given: Mapping[str, Any]) -> None:
    window, source = window_of(site.ctx, given["dst"], site.node), given["src"]
    _check_region(site, given)
    target = _peer(site, window, given["peer"])
    if isinstance(source, Expr) and isinstance(source.type, TileType):
        begins = given.get("dst_offsets") or [0] * len(window.shape)
        stored = _stored(site, window, source, begins, target, given.get("atomic"))
        site.ctx.block.append(_done(stored))
        _deliver_stored(site, window, source, begins, target, given.get("atomic"))
        return
    copy, adds = _Copy(site, source, target, given), _adds(given.get("atomic"))
    _, begins = copy.begins
    if adds:
        _reach(site, window, signals.fetch, target, begins, copy.sizes, adds=True)
    copy.write()
    _reach(site, window, signals.deliver, target, begins, copy.sizes, adds=adds)


def _get(site: _Site, given: Mapping[str, Any]) -> None:
    window = window_of(site.ctx, given["src"], site.node, "the source")
    _check_region(site, given)
    source = _peer(site, window, given["peer"])
    copy = _Copy(site, source, given["dst"], given)
    _reach(site, window, signals.fetch, source, copy.begins[0], copy.sizes)
    copy.write()


def _check_region(site: _Site, given: Mapping[str, Any]) -> None:
    """Check that offsets and shape come together, and the size that the pieces are to have."""
    ctx, _, node = site
    text = ctx.source.text(node.func)
    told = [name for name in ("dst_offsets", "src_offsets", "shape") if given.get(name) is not None]
    if told and len(told) < 3:
        raise ParserTypeError(
            f"{text} takes dst_offsets, src_offsets and shape together, got {', '.join(told)}",
            ctx.span(node),
            hint="give all three, or none for the whole",
            slug="argument-count",
        )
    rows, columns = given.get("chunk_rows", 0), given.get("chunk_cols", 0)
    for value in (rows, columns):
        if not isinstance(value, int) or value < 0:
            raise ParserTypeError(
                f"a piece of {text} has a number of rows and columns, got {describe(value)}",
                ctx.span(node),
                hint="leave chunk_rows and chunk_cols out",
                slug="region-option",
            )
    if given.get("pipeline") and not (rows and columns):
        raise ParserTypeError(
            f"{text} with pipeline=True needs chunk_rows and chunk_cols",
            ctx.span(node),
            hint="leave pipeline out: it changes no value",
            slug="region-option",
        )


class _Copy:
    """A copy from one tensor in global memory to another, by way of vector memory."""

    def __init__(self, site: _Site, source: Any, target: Any, given: Mapping[str, Any]) -> None:
        ctx, _, node = site
        self.site, self.ctx, self.node = site, ctx, node
        for tensor_, name in ((source, "src"), (target, "dst")):
            if not isinstance(tensor_, Expr) or not isinstance(tensor_.type, TensorType):
                raise ParserTypeError(
                    f"{name} of {ctx.source.text(node.func)} is a tensor, got {describe(tensor_)}",
                    ctx.span(node),
                    hint="write pld.tile.remote_store(tile, target, peer, [0, 0])",
                    slug="op-operands",
                )
        self.source, self.target = source, target
        self.op: OpDef[..., Any] = store_op(ctx, given.get("atomic"), node)
        rank = len(source.type.shape)
        shape = given.get("shape")
        dims = source.type.shape if shape is None else items_of(shape) or ()
        sizes = [const_value(dim) if shape is None else ctx.known_number(dim) for dim in dims]
        if source.type.dtype is not target.type.dtype:
            raise ParserTypeError(
                f"{ctx.source.text(node.func)} copies elements of {source.type.dtype.member} to a "
                f"tensor of {target.type.dtype.member}",
                ctx.span(node),
                hint="give both the same element type",
                slug="dtype-mismatch",
            )
        if None in sizes or len(sizes) != rank:
            raise ParserTypeError(
                f"{ctx.source.text(node.func)} copies a region of constant size, with a size for "
                f"each of {rank} dimensions",
                ctx.span(node),
                hint="write dst_offsets=[0, 0], src_offsets=[0, 0], shape=[16, 64]",
                slug="slice-size",
            )
        self.sizes = [size for size in sizes if size is not None]
        if shape is None and static_shape(target.type) != tuple(self.sizes):
            raise ParserTypeError(
                f"{ctx.source.text(node.func)} copies {self.sizes} to a tensor of another shape, "
                f"{describe(target)}",
                ctx.span(node),
                hint="write dst_offsets=, src_offsets= and shape= for a part",
                slug="shape-mismatch",
            )
        zeros = [0] * rank
        self.begins = [
            items_of(given.get(name) or zeros) or zeros for name in ("src_offsets", "dst_offsets")
        ]

    def write(self) -> None:
        """Append the statements that copy."""
        self._from(0, [ConstInt(0)] * len(self.sizes), self.sizes)

    def _from(self, axis: int, at: list[Expr], sizes: list[int]) -> None:
        """Copy a region; from dimension ``axis`` on it may be too large for one piece."""
        element = self.source.type.dtype.bytes
        if math.prod(sizes) * element <= _MOST_COPIED:
            self._piece(at, sizes)
            return
        inner = math.prod(sizes[axis + 1 :]) * element
        step = max(1, min(sizes[axis], _MOST_COPIED // inner))
        if axis == len(sizes) - 1 and step >= 32:
            step = step // 32 * 32
        count = sizes[axis] // step
        index = Var("piece", scalar_type(DataType.INDEX), self.ctx.span(self.node))
        ctx, outside = self.ctx, self.ctx.block
        ctx.block = []
        begin = binary(Mul, index, ConstInt(step)) if step > 1 else index
        self._from(axis + 1, _replaced(at, axis, begin), _replaced(sizes, axis, step))
        body, ctx.block = ctx.block, outside
        self._loop(index, count, body)
        if count * step < sizes[axis]:
            rest = _replaced(at, axis, ConstInt(count * step))
            self._from(axis + 1, rest, _replaced(sizes, axis, sizes[axis] - count * step))

    def _loop(self, index: Var, count: int, body: Sequence[Stmt]) -> None:
        span = self.ctx.span(self.node)
        bounds = (ConstInt(0), ConstInt(count), ConstInt(1))
        whole = seq(list(body), span)
        self.ctx.block.append(ForStmt(index, *bounds, (), whole, (), span, ForKind.Sequential))

    def _piece(self, at: Sequence[Expr], sizes: Sequence[int]) -> None:
        source, target = (
            [_plus(begin, by) for begin, by in zip(begins, at, strict=True)]
            for begins in self.begins
        )
        tile = self.site.op(memory.load, self.source, source, sizes)
        held = _named(self.ctx, "moved", tile)
        stored = self.site.op(self.op, held, target, sizes, self.target)
        self.ctx.block.append(_done(stored))


def _plus(begin: Any, by: Expr) -> Any:
    known, more = const_value(as_expr(begin)), const_value(by)
    if known is not None and more is not None:
        return known + more
    if more == 0:
        return begin
    return by if known == 0 else binary(Add, as_expr(begin), by)


def _done(value: Expr) -> Stmt:
    return EvalStmt(value, value.span)


# --------------------------------------------------------------------------------------------
# Signals
# --------------------------------------------------------------------------------------------


def _notify(site: _Site, given: Mapping[str, Any]) -> Expr:
    window = window_of(site.ctx, given["target"], site.node)
    op = _word(site, given["op"], markers.NotifyOp, "op")
    target = _peer(site, window, given["peer"])
    words = {"adds": op is markers.NotifyOp.AtomicAdd}
    return site.op(signals.notify, target, given["offsets"], given["value"], **words)


def _wait(site: _Site, given: Mapping[str, Any]) -> Expr:
    window_of(site.ctx, given["signal"], site.node, "the signal")
    cmp = _word(site, given["cmp"], markers.WaitCmp, "cmp")
    line = site.ctx.span_at_home(site.node).begin_line
    words = {"at_least": cmp is markers.WaitCmp.Ge, "line": line}
    operands = (given["signal"], given["offsets"], given["expected"])
    return site.op(signals.wait, *operands, **words)


def _word(site: _Site, value: Any, words: Any, name: str) -> Any:
    if isinstance(value, words):
        return value
    ctx, _, node = site
    kind = words.__name__
    raise ParserTypeError(
        f"{name} is one of pld.{kind}'s members, got {describe(value)}",
        ctx.span(node),
        hint=f"write {name}=pld.{kind}.{next(iter(words)).name}",
        slug="region-option",
    )


def _replaced(values: Sequence[T], axis: int, value: T) -> list[T]:
    return [*values[:axis], value, *values[axis + 1 :]]


_QUERIES: Final = (markers.get_comm_ctx, markers.rank, markers.nranks)
"""What the non-region part of a kernel may call, too."""

_HANDLERS: Final[dict[Any, Callable[[_Site, Mapping[str, Any]], Any]]] = {
    markers.get_comm_ctx: _same,
    markers.rank: _rank,
    markers.nranks: _nranks,
    markers.remote_load: _remote_load,
    markers.remote_store: _remote_store,
    markers.put: _put,
    markers.get: _get,
    markers.notify: _notify,
    markers.wait: _wait,
    markers.defer_wait: _wait,
}
