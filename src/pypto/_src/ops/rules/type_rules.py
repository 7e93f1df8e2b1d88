"""Building blocks of type rules: checks of operands, and wording of errors about them.

Knows element types, shapes and memory spaces; knows no particular op. A rule gets `Operands` and
returns the result type, or raises `OpError` that says what was found, what was wanted, and one
thing to type.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pypto._src.diagnostics import Label, Span
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.errors import EvaluationError, OpError
from pypto._src.ir.array_types import (
    DYNAMIC_DIM,
    ShapedType,
    TensorType,
    TileType,
    TileView,
    for_types,
    same_dim,
    same_dims,
    static_shape,
)
from pypto._src.ir.enums import MemorySpace, TileLayout
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.op_params import ATTR, REQUIRED, TILE
from pypto._src.ir.opdef import Complete, OpDef, Operands, op_of
from pypto._src.ir.types import ScalarType, Type
from pypto._src.lazy import lazy_module
from pypto._src.ops.define import ARITHMETIC

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.inspect import source_names as user_text
else:
    np = lazy_module("numpy")
    user_text = lazy_module("pypto._src.ir.inspect.source_names")  # only errors need it

RoundMode = int | str
"""How a cast rounds: none, rint, round, floor, ceil, trunc or odd."""

_ROW, _COL = TileLayout.row_major, TileLayout.col_major
BOXED: Final = {
    MemorySpace.Mat: for_types(TileView(blayout=_COL, slayout=_ROW)),
    MemorySpace.Left: for_types(TileView(blayout=_ROW, slayout=_ROW)),
    MemorySpace.Right: for_types(TileView(blayout=_ROW, slayout=_COL)),
    MemorySpace.Acc: for_types(TileView(blayout=_COL, slayout=_ROW, fractal=1024)),
}
"""Layouts of tiles in the memories of the matrix unit. A tile in vector memory has no view."""
FROM_MAT: Final = (MemorySpace.Left, MemorySpace.Right, MemorySpace.Bias)
"""Memories from which the matrix unit takes operands; they are filled from Mat."""


# --------------------------------------------------------------------------------------------
# Wording of errors
# --------------------------------------------------------------------------------------------


def called(op: OpDef[..., Any]) -> str:
    """Return the name under which users call ``op``."""
    return f"pl.{op.overload}" if op.level in ("block", "tensor") else f"pl.{op.name}"


def dims(shape: Sequence[Expr]) -> str:
    """Return a shape as text: ``[64, n]``."""
    return f"[{', '.join(map(user_text.size_text, shape))}]"


def known_size(dim: Expr) -> int | None:
    """Return a dimension that is a constant, None if it is symbolic or `DYNAMIC_DIM`."""
    value = const_value(dim)
    return None if value == DYNAMIC_DIM else value


def describe(kind: Type) -> str:
    """Return a type as errors show it: ``Tile[[64, 128], FP32]``."""
    match kind:
        case TileType():
            return f"Tile[{dims(kind.shape)}, {kind.dtype.member}]"
        case TensorType():
            return f"Tensor[{dims(kind.shape)}, {kind.dtype.member}]"
        case ScalarType():
            return f"Scalar[{kind.dtype.member}]"
        case _:
            return type(kind).__name__


def operand_name(o: Operands, index: int) -> str:
    """Return the user's name or source text of an operand, else the name of the parameter."""
    return o.name(index)


def operand_label(o: Operands, indices: Iterable[int] | None = None) -> str:
    """Return operands with their types: ``x is Tile[...], m is Tile[...]``."""
    shown = _data(o) if indices is None else indices
    parts = [f"{operand_name(o, i)} is {describe(o.args[i].type)}" for i in shown]
    return ", ".join(dict.fromkeys(parts))


def refuse(
    o: Operands,
    message: str,
    slug: str,
    hint: str | None = None,
    note: str | None = None,
    shown: Iterable[int] | None = None,
) -> NoReturn:
    """Raise `OpError` with the operands in the label and the spans of their definitions."""
    indices = list(_data(o) if shown is None else shown)
    values = {o.args[i]: operand_name(o, i) for i in indices}
    spans = [(v.span, n) for v, n in values.items() if isinstance(v, Var) and v.span.is_valid()]
    related = [Label(span, f"{name} is defined here") for span, name in spans]
    raise OpError(
        message,
        hint=hint,
        note=note,
        slug=slug,
        label=operand_label(o, indices),
        related=related,
    )


def _data(o: Operands) -> list[int]:
    """Return the indices of operands that are tensors, tiles or scalars."""
    kinds = (ShapedType, ScalarType)
    return [i for i, value in enumerate(o.args) if isinstance(value.type, kinds)]


def members(dtypes: Iterable[DataType]) -> str:
    """Return element types as text, in the order of the table of types."""
    wanted = frozenset(dtypes)
    return ", ".join(d.member for d in MEMBERS.values() if d in wanted)


def unsupported_reason(dtype: DataType) -> str | None:
    """Return why no tile can have elements of ``dtype``, None if tiles can."""
    if dtype.get_bit() < 8 and dtype is not DataType.BOOL:
        return f"elements of {dtype.member} are narrower than a byte"
    if dtype is DataType.BOOL:
        return "the vector unit keeps conditions as packed bits, not as BOOL elements"
    if dtype.get_bit() == 8 and dtype.is_float():
        return "the A2/A3 chip has no 8-bit floats"
    if dtype is DataType.FP64:
        return "the A2/A3 chip has no 64-bit floats"
    return None


# --------------------------------------------------------------------------------------------
# Casts
# --------------------------------------------------------------------------------------------

D = DataType
CASTS: Final[dict[DataType, frozenset[DataType]]] = {
    D.FP32: frozenset({D.FP16, D.BF16, D.INT16, D.INT32, D.INT64}),
    D.FP16: frozenset({D.FP32, D.INT32, D.INT16, D.INT8, D.UINT8}),
    D.BF16: frozenset({D.FP32, D.INT32}),
    D.INT16: frozenset({D.FP16, D.FP32}),
    D.INT32: frozenset({D.FP32, D.INT16, D.INT64, D.FP16}),
    D.INT64: frozenset({D.FP32, D.INT32}),
    D.INT8: frozenset({D.FP16}),
    D.UINT8: frozenset({D.FP16}),
}
"""Maps element types to those that A2/A3 casts them to in one step."""


def cast_steps(source: DataType, target: DataType) -> tuple[DataType, ...] | None:
    """Return the types of a shortest chain of casts, ``target`` last; None if there is none."""
    paths: list[tuple[DataType, ...]] = [(source,)]
    seen = {source}
    for path in paths:  # grows as longer paths are found
        for dtype in CASTS:  # floats first: a path through integers loses fractions
            if dtype in CASTS.get(path[-1], ()) and dtype not in seen:
                if dtype is target:
                    return (*path[1:], dtype)
                seen.add(dtype)
                paths.append((*path, dtype))
    return None


def cast_code(name: str, source: DataType, target: DataType) -> str | None:
    """Return the code that casts the tile ``name`` to ``target``, None if there is no cast."""
    steps = cast_steps(source, target)
    if steps is None:
        return None
    for dtype in steps:
        name = f"pl.cast({name}, pl.{dtype.member})"
    return name


# --------------------------------------------------------------------------------------------
# Memory spaces
# --------------------------------------------------------------------------------------------


def known_space(value: Expr) -> MemorySpace | None:
    """Return the memory space of a tile expression, None if the expression does not tell."""
    kind = value.type
    if isinstance(kind, ShapedType) and kind.memref is not None:
        return kind.memref.memory_space_
    op = op_of(value)
    if op is not None and isinstance(value, Call):
        return op.space_of(value)
    if isinstance(kind, TileType) and kind.tile_view is not None:
        view = kind.tile_view
        for space, boxed in BOXED.items():
            same = (view.blayout, view.slayout, view.fractal)
            if same == (boxed.blayout, boxed.slayout, boxed.fractal):
                return space
    return None


def names_of(spaces: Iterable[MemorySpace]) -> str:
    """Return memory spaces as text."""
    wanted = frozenset(spaces)
    return " or ".join(s.name for s in MemorySpace if s in wanted)


def check_space(
    op: OpDef[..., Any], kwargs: Mapping[str, Any], index: int, name: str, space: MemorySpace
) -> None:
    """Check that tile operand ``index``, called ``name``, may live in ``space``.

    Raises:
        OpError: the op does not take it from that space.
    """
    allowed = op.operand_spaces(kwargs).get(index)
    if allowed is None or space in allowed:
        return
    hint = None
    if len(allowed) == 1:
        hint = _space_hint(name, space, next(iter(allowed)))
    elif MemorySpace.Vec in allowed:
        hint = _space_hint(name, space, MemorySpace.Vec)
    elif MemorySpace.Mat in allowed:
        hint = f"load {name} with target_memory=pl.MemorySpace.Mat"
    raise OpError(
        f"{called(op)} takes {name} from {names_of(allowed)} memory, it is in {space.name}",
        hint=hint,
        slug="memory-space",
    )


def _space_hint(name: str, space: MemorySpace, target: MemorySpace) -> str | None:
    if target is MemorySpace.Mat and space is MemorySpace.Vec:
        return f"load {name} with target_memory=pl.MemorySpace.Mat"
    if target is MemorySpace.Vec and space is MemorySpace.Acc:
        return f"store {name} to a tensor, and load that"
    if target not in FROM_MAT:
        return None
    if space is MemorySpace.Mat:
        return f"pl.move({name}, target_memory=pl.MemorySpace.{target.name})"
    return (
        f"load {name} with target_memory=pl.MemorySpace.Mat, then "
        f"pl.move({name}, target_memory=pl.MemorySpace.{target.name})"
    )


# --------------------------------------------------------------------------------------------
# Checks
# --------------------------------------------------------------------------------------------


def check_element(op: OpDef[..., Any], name: str, dtype: DataType, hint: str | None = None) -> None:
    """Check that ``op`` executes elements of ``dtype``.

    Raises:
        OpError: it does not; the text names the types that it takes.
    """
    if dtype not in op.dtypes:
        raise OpError(
            f"{called(op)} takes elements of {members(op.dtypes)}, {name} has {dtype.member}",
            hint=hint,
            note=unsupported_reason(dtype),
            slug="element-type",
        )


def check_spaces(o: Operands) -> None:
    """Check memory spaces of all tile operands against the op's facts.

    Raises:
        OpError: an operand is in a memory that the op does not take it from.
    """
    for index, param in enumerate(o.op.operands):
        space = known_space(o.args[index]) if param.kind == TILE else None
        if space is not None:
            check_space(o.op, o.kwargs, index, operand_name(o, index), space)


def check_operands(o: Operands) -> None:
    """Check element types and memory spaces of all tile operands against the op's facts.

    Raises:
        OpError: an operand has an element type or a memory space that the op does not take.
    """
    op = o.op
    for index, param in enumerate(op.operands):
        if param.kind != TILE:
            continue
        value, dtype = o.args[index], o.tile(index).dtype
        space = known_space(value)
        if space is not None:
            check_space(op, o.kwargs, index, operand_name(o, index), space)
        if dtype not in op.dtypes:
            name, floats = operand_name(o, index), DataType.FP32 in op.dtypes
            hint = cast_operand(o, index, DataType.FP32) if floats else None
            check_element(op, name, dtype, hint)


def check_same_dtype(o: Operands, first: int, second: int) -> None:
    """Check that two operands (tiles or scalars) have one element type.

    Raises:
        OpError: they differ; the hint casts the second, or the narrower of two tiles.
    """
    a, b = _element(o, first), _element(o, second)
    if a is b:
        return
    wider = a if a.get_bit() >= b.get_bit() else b
    if isinstance(o.args[second].type, ScalarType) or wider is a:
        index, dtype = second, a
    else:
        index, dtype = first, b
    refuse(
        o,
        f"operands of {called(o.op)} have different element types",
        "dtype-mismatch",
        cast_operand(o, index, dtype),
        shown=(first, second),
    )


def cast_operand(o: Operands, index: int, dtype: DataType) -> str | None:
    """Return the code that casts an operand to ``dtype``, None if there is no cast."""
    value = o.args[index]
    name, kind = operand_name(o, index), value.type
    op = op_of(value)
    inner = value.args[0] if isinstance(value, Call) and value.args else None
    if op is not None and op.overload == "cast" and isinstance(inner, Var):
        name, kind = inner.name, inner.type  # two casts would keep the loss of the first
    if isinstance(kind, TileType):
        return name if kind.dtype is dtype else cast_code(name, kind.dtype, dtype)
    return f"pl.cast({name}, pl.{dtype.member})"


def _element(o: Operands, index: int) -> DataType:
    kind = o.args[index].type
    assert isinstance(kind, ShapedType | ScalarType)
    return kind.dtype


def check_same_shape(o: Operands, first: int, second: int, note: str | None = None) -> None:
    """Check that two tile operands have equal shapes; ``note`` says why they have to.

    Raises:
        OpError: they differ; where one is a column or row of the other the hint broadcasts it.
    """
    a, b = o.tile(first).shape, o.tile(second).shape
    if same_dims(a, b):
        return
    if o.op.complete is not None and second in o.op.writes:
        refuse(
            o,
            f"scratch tile {operand_name(o, second)} of {called(o.op)} has the shape {dims(b)}, "
            f"{dims(a)} was wanted",
            "scratch-size",
            without(o, second),
            shown=(first, second),
        )
    refuse(
        o,
        f"operands of {called(o.op)} have different shapes",
        "shape-mismatch",
        _spread(o, first, second) or _same_size(o, first, second),
        note,
        (first, second),
    )


def check_sizes(o: Operands, kind: ShapedType, shape: Sequence[Expr]) -> None:
    """Check that no size of a reshape of operand 0 is -1, which elsewhere means an inferred size.

    Raises:
        OpError: one is; the hint has the inferred size.
    """
    sizes, whole = [const_value(dim) for dim in shape], static_shape(kind)
    if -1 not in sizes:
        return
    known, hint = [size for size in sizes if size is not None and size > 0], None
    if whole is not None and len(known) == len(sizes) - 1:
        size, rest = divmod(math.prod(whole), math.prod(known))
        found = [size if each == -1 else each for each in sizes]
        hint = f"write {called(o.op)}({operand_name(o, 0)}, {found})" if not rest else None
    refuse(
        o,
        f"{called(o.op)} does not infer sizes, got {dims(shape)}",
        "tile-shape",
        hint,
        None,
        (0,),
    )


def without(o: Operands, scratch: int, more: str = "") -> str:
    """Return the hint to leave out a scratch tile; ``more`` are arguments that follow instead."""
    names = [operand_name(o, at) for at in range(len(o.args)) if at != scratch]
    return f"leave it out: {called(o.op)}({', '.join(names)}{more})"


def _spread(o: Operands, first: int, second: int) -> str | None:
    """Return code that broadcasts the operand that is a column or row, None if neither is."""
    for big, small in ((first, second), (second, first)):
        whole, part = o.tile(big), o.tile(small)
        name, dtype = operand_name(o, small), part.dtype
        if len(whole.shape) != 2 or len(part.shape) != 2 or dtype not in ARITHMETIC:
            continue
        room = f"{dims(whole.shape)}, pl.{dtype.member}"
        if same_dims(whole.shape[:1], part.shape[:1]) and const_value(part.shape[1]) == 1:
            one = "1.0" if dtype.is_float() else "1"  # 1 * x is x, exactly
            return f"pl.row_expand_mul(pl.full({room}, {one}), {name})"
        if same_dims(whole.shape[1:], part.shape[1:]) and const_value(part.shape[0]) == 1:
            return f"pl.col_expand(pl.create_tile({room}), {name})"
    return None


def _same_size(o: Operands, first: int, second: int) -> str | None:
    shape, other = o.tile(first).shape, o.tile(second).shape
    if len(shape) > 1 and same_dims(shape[:-1], other):  # reduced rows without their last dimension
        return f"write pl.reshape({operand_name(o, second)}, {dims([*other, ConstInt(1)])})"
    if any(const_value(dim) == 1 for dim in shape):
        return None  # the first is the smaller, and nothing suggests shrinking the other
    return (
        f"give {operand_name(o, second)} the shape of {operand_name(o, first)}, "
        f"as in pl.load(tensor, {dims([ConstInt(0)] * len(shape))}, {dims(shape)})"
    )


def _broadcast_dim(a: Expr, b: Expr) -> Expr | None:
    """Return the size that two sizes broadcast to, None if they do not."""
    if same_dim(a, b) or const_value(b) == 1:
        return a
    return b if const_value(a) == 1 else None


def broadcast(a: Sequence[Expr], b: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """Return the shape that two shapes, aligned at their ends, broadcast to; None if they do not.

    A dimension of 1 stretches; a symbolic dimension matches only itself.
    """
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    first = len(longer) - len(shorter)
    found = [_broadcast_dim(x, y) for x, y in zip(longer[first:], shorter, strict=True)]
    known = [dim for dim in found if dim is not None]
    return (*longer[:first], *known) if len(known) == len(found) else None


# --------------------------------------------------------------------------------------------
# Rules
# --------------------------------------------------------------------------------------------


def plain_tile(kind: TileType) -> TileType:
    """Return the type of a vector-memory tile with the shape and element type of ``kind``."""
    return TileType(kind.shape, kind.dtype)


def ignoring(*names: str, scratch: int | None = None) -> Complete:
    """Return a completer that drops arguments without effect: keywords, and a scratch tile.

    The scratch tile is the last positional argument, at index ``scratch``.
    """

    def complete(
        args: Sequence[Any], kwargs: Mapping[str, Any], _span: Span
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        last = args[-1] if scratch is not None and len(args) == scratch + 1 else None
        if isinstance(last, Expr) and isinstance(last.type, TileType):
            args = args[:scratch]
        return args, {key: value for key, value in kwargs.items() if key not in names}

    return complete


def one_tile(o: Operands) -> Type:
    """Return the type of an elementwise op on one tile: [R, C] -> [R, C]."""
    check_operands(o)
    return plain_tile(o.tile(0))


def two_tiles(o: Operands) -> Type:
    """Return the type of an elementwise op on two tiles: [R, C], [R, C] -> [R, C]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    check_same_shape(o, 0, 1)
    return plain_tile(o.tile(0))


def three_operands(o: Operands) -> Type:
    """Return the type of an op on a tile, a tile or number, and a tile: [R, C]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    check_same_dtype(o, 0, 2)
    if isinstance(o.args[1].type, TileType):
        check_same_shape(o, 0, 1)
    check_same_shape(o, 0, 2)
    return plain_tile(o.tile(0))


def tile_and_scalar(o: Operands) -> Type:
    """Return the type of an op on a tile and a number of its element type: [R, C], s -> [R, C]."""
    check_operands(o)
    check_same_dtype(o, 0, 1)
    return plain_tile(o.tile(0))


def attribute(o: Operands, name: str) -> Any:
    """Return keyword ``name`` of the call, or its default.

    Raises:
        OpError: it is missing and has no default.
    """
    if name in o.kwargs:
        return o.kwargs[name]
    for param in o.op.params:
        if param.kind == ATTR and param.name == name and param.default is not REQUIRED:
            return param.default
    raise OpError(f"{called(o.op)} misses its argument {name!r}", slug="argument-count")


# --------------------------------------------------------------------------------------------
# Arrays
# --------------------------------------------------------------------------------------------


def new_array(shape: Sequence[int], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Return memory for a tensor whose sizes are known only at run time.

    Raises:
        EvaluationError: a size is negative, or memory does not suffice (slugs ``tensor-size`` and
            ``out-of-memory``, as in the runtime of compiled programs).
    """
    try:
        return np.empty(tuple(shape), dtype)
    except ValueError:
        sizes = [int(size) for size in shape]
        raise EvaluationError(
            f"cannot allocate a tensor of shape {sizes}", slug="tensor-size"
        ) from None
    except MemoryError:
        count = math.prod(int(size) for size in shape) * dtype.itemsize
        raise EvaluationError(
            f"cannot allocate a tensor of {count} bytes", slug="out-of-memory"
        ) from None


def poison(shape: Sequence[int], dtype: DataType) -> np.ndarray[Any, Any]:
    """Return memory marked as uninitialized: NaN for floats, else only the highest bit set."""
    array = new_array(shape, dtype.numpy)
    if dtype.is_float():
        array.fill(float("nan"))
    elif dtype is DataType.BOOL:
        array.fill(True)
    else:
        array.view(f"u{dtype.bytes}").fill(1 << (dtype.get_bit() - 1))
    return array
