"""The short names of the ops, as type checkers and editors see them.

Written by `make generate` from the definitions of the ops.
"""

from typing import Any, overload

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import AtomicType, TilePad
from pypto._src.ir.exprs import Expr
from pypto._src.ir.static_names import Integer, T
from pypto._src.ops.compare_select import cmps, prelu, sel
from pypto._src.ops.define import Axis, Ints, Offsets, Scalar, Tensor, Tile
from pypto._src.ops.elementwise import adds, divs, lrelu, maxs, mins, muls, subs
from pypto._src.ops.elementwise import maxs as maximums
from pypto._src.ops.elementwise import mins as minimums
from pypto._src.ops.matmul import batch_matmul, gemv, gemv_acc, gemv_bias, matmul_bias
from pypto._src.ops.memory import extract, l0c_store, load, move
from pypto._src.ops.new_tiles import alloc, create_tile, vec_move
from pypto._src.ops.new_tiles import create_tile as create
from pypto._src.ops.new_tiles import fillpad as fillpad_inplace
from pypto._src.ops.rules.type_rules import RoundMode
from pypto._src.ops.system import get_block_idx
from pypto._src.ops.tensor import dim, reshape_view
from pypto._src.ops.unified import Unified

@overload
def abs(tile: Tile) -> Tile:
    """Return the absolute value of each element of ``tile`` [R, C]."""
    ...

@overload
def abs(input: Tensor) -> Tensor:
    """Return the absolute values of ``input``; the smallest signed integer stays unchanged."""
    ...

@overload
def abs(scalar: Integer) -> Integer:
    """Return the magnitude of a scalar."""
    ...

@overload
def abs(scalar: Scalar) -> Scalar:
    """Return the magnitude of a scalar."""
    ...

@overload
def abs(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def add(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs + rhs`` [R, C], element by element; integers wrap."""
    ...

@overload
def add(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs + rhs`` [R, C]; integers wrap."""
    ...

@overload
def add(lhs: Scalar, rhs: Tile) -> Tile:
    """Return ``lhs + rhs`` [R, C]; integers wrap."""
    ...

@overload
def add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs + rhs``, element by element, broadcast and promoted; integers wrap."""
    ...

@overload
def add(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs + rhs`` with a number, promoted; integers wrap."""
    ...

@overload
def add(lhs: Scalar, rhs: Tensor) -> Tensor:
    """Return ``lhs + rhs`` with a number, promoted; integers wrap."""
    ...

@overload
def add(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def add(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def addc(lhs: Tile, rhs: Tile, rhs2: Tile) -> Tile:
    """Return ``lhs + rhs + rhs2`` [R, C], element by element; integers wrap."""
    ...

@overload
def addc(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def addsc(lhs: Tile, rhs: Scalar, rhs2: Tile) -> Tile:
    """Return ``lhs + rhs + rhs2`` [R, C] with a number ``rhs``; integers wrap."""
    ...

@overload
def addsc(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def and_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bitwise AND of ``lhs`` and ``rhs`` [R, C], element by element."""
    ...

@overload
def and_(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise AND of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def and_(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bitwise AND of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def and_(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise AND of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...

@overload
def and_(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise AND of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def and_(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def and_(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def ands(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise AND of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def ands(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bitwise AND of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def ands(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise AND of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def ands(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def ands(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def arange(
    start: Scalar, shape: Ints, dtype: DataType = DataType.INT32, descending: bool = False
) -> Tile:
    """Return the row ``start``, ``start`` + 1, ... of ``shape`` [1, C].

    ``start`` has the element type ``dtype``, an integer of 16 or 32 bits. The elements decrease if
    ``descending``.
    """
    ...

@overload
def arange(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def assemble(target: Tensor, source: Tensor, offset: Offsets) -> Tensor:
    """Write ``source`` to the region of ``target`` at ``offset``; return the target.

    The value is ``target`` itself, whose other elements are unchanged. A source of FP16 or BF16 is
    cast to FP32 for a target of that type.
    """
    ...

@overload
def assemble(
    target: Tensor, source: Tensor | Tile, offset: Offsets, *, atomic: AtomicType
) -> Tensor:
    """Add ``source`` to the region of ``target`` at ``offset``; return the target."""
    ...

@overload
def assemble(target: Tile, source: Tensor | Tile, offset: Offsets) -> Tile:
    """Return a tile like ``target`` with ``source`` at ``offset``."""
    ...

@overload
def cast(tile: Tile, target_type: DataType, mode: RoundMode = "round") -> Tile:
    """Return ``tile`` [R, C] with elements of ``target_type``.

    ``mode`` rounds floats to integers: "rint" to the nearest, ties to even; "round" to the
    nearest, ties away from zero; "floor", "ceil"; "trunc" and "none" toward zero; "odd" to the odd
    neighbour. Casts between floats round to nearest, ties to even. Floats cast to integers of 32
    and 64 bits saturate, to narrower ones wrap; NaN gives 0. A cast to the same type is a copy.
    """
    ...

@overload
def cast(input: Tensor, target_type: DataType, mode: RoundMode = "round") -> Tensor:
    """Return ``input`` with elements of ``target_type``, rounded as `elementwise.cast` does."""
    ...

@overload
def cast(scalar: Scalar, target_type: type[T]) -> T:
    """Return a scalar as a value of ``target_type``."""
    ...

@overload
def cast(scalar: Scalar, target_type: DataType) -> Scalar:
    """Return a scalar as a value of ``target_type``."""
    ...

@overload
def cast(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def cmp(lhs: Tile, rhs: Tile, cmp_type: int = 0) -> Tile:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and ``rhs`` [R, C], else 0.

    The result has their element type. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3 less or
    equal, 4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less nor
    greater.
    """
    ...

@overload
def cmp(lhs: Tile, rhs: Scalar, cmp_type: int = 0) -> Tile:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` [R, C] and ``rhs``, else 0.

    The result has the element type of ``lhs``. See `cmp`.
    """
    ...

@overload
def cmp(lhs: Tensor, rhs: Tensor, cmp_type: int = 0) -> Tensor:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and ``rhs``, else 0.

    The operands are broadcast and promoted. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3
    less or equal, 4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less
    nor greater.
    """
    ...

@overload
def cmp(lhs: Tensor, rhs: Scalar, cmp_type: int = 0) -> Tensor:
    """Return 1 where comparison ``cmp_type`` holds for ``lhs`` and the number ``rhs``, else 0.

    The operands are promoted. ``cmp_type`` is 0 for equal, 1 not equal, 2 less, 3 less or equal,
    4 greater, 5 greater or equal. A NaN is unequal to everything, and neither less nor greater.
    """
    ...

@overload
def cmp(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_argmax(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the largest element of each column of ``tile`` [R, C]: [1, C] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def col_argmax(input: Tensor) -> Tensor:
    """Return the index of the largest element of each column of ``input`` [M, N]: [1, N] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...

@overload
def col_argmax(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_argmin(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the smallest element of each column of ``tile`` [R, C]: [1, C] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def col_argmin(input: Tensor) -> Tensor:
    """Return the index of the smallest element of each column of ``input`` [M, N]: [1, N] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...

@overload
def col_argmin(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand(target: Tile, col_vec: Tile) -> Tile:
    """Return the row ``col_vec`` [1, C] broadcast to the shape of ``target`` [R, C].

    The elements of ``target`` are not read.
    """
    ...

@overload
def col_expand(target: Tensor, col_vec: Tensor) -> Tensor:
    """Return the row ``col_vec`` [.., 1, N] broadcast to the shape of ``target``.

    The elements of ``target`` [.., M, N] are not read.
    """
    ...

@overload
def col_expand(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_add(tile: Tile, col_vec: Tile) -> Tile:
    """Return the sum of ``tile`` [R, C] and the row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_add(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] plus the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_add(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_div(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_div(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] divided by the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_div(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_expdif(tile: Tile, col_vec: Tile) -> Tile:
    """Return exp(x - v) of ``tile`` [R, C] and the row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_expdif(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return exp(x - v) of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_expdif(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_max(tile: Tile, col_vec: Tile) -> Tile:
    """Return the larger of ``tile`` [R, C] and row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_max(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return the larger of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_min(tile: Tile, col_vec: Tile) -> Tile:
    """Return the smaller of ``tile`` [R, C] and row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_min(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return the smaller of ``tensor`` [.., M, N] and the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_mul(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_mul(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] times the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_mul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_expand_sub(tile: Tile, col_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the row ``col_vec`` [1, C], one value per column."""
    ...

@overload
def col_expand_sub(tensor: Tensor, col_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] minus the row ``col_vec`` [.., 1, N]."""
    ...

@overload
def col_expand_sub(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_max(tile: Tile) -> Tile:
    """Return the largest element of each column of ``tile`` [R, C]: [1, C]; NaN if any."""
    ...

@overload
def col_max(input: Tensor) -> Tensor:
    """Return the largest elements of columns of ``input`` [.., M, N]: [.., 1, N]; NaN if any."""
    ...

@overload
def col_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_min(tile: Tile) -> Tile:
    """Return the smallest element of each column of ``tile`` [R, C]: [1, C]; NaN if any."""
    ...

@overload
def col_min(input: Tensor) -> Tensor:
    """Return the smallest elements of columns of ``input`` [.., M, N]: [.., 1, N]; NaN if any."""
    ...

@overload
def col_min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_prod(tile: Tile) -> Tile:
    """Return the product of each column of ``tile`` [R, C]: [1, C]; integers wrap."""
    ...

@overload
def col_prod(input: Tensor) -> Tensor:
    """Return the product of each column of ``input`` [.., M, N]: [.., 1, N]; integers wrap."""
    ...

@overload
def col_prod(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def col_sum(tile: Tile) -> Tile:
    """Return the sum of each column of ``tile`` [R, C]: [1, C]; FP16 is accumulated in 32 bits."""
    ...

@overload
def col_sum(input: Tensor) -> Tensor:
    """Return the sum of each column of ``input`` [.., M, N]: [.., 1, N]; integers wrap."""
    ...

@overload
def col_sum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def concat(src0: Tile, src1: Tile) -> Tile:
    """Return the columns of ``src0`` [R, C], then those of ``src1`` [R, D]: [R, C + D]."""
    ...

@overload
def concat(src0: Tensor, src1: Tensor) -> Tensor:
    """Return the columns of ``src0`` [M, N], then those of ``src1`` [M, K]: [M, N + K]."""
    ...

@overload
def concat(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def cos(tile: Tile) -> Tile:
    """Return the cosine of each element of ``tile`` [R, C], accurate to 1e-5 up to 6000."""
    ...

@overload
def cos(input: Tensor) -> Tensor:
    """Return the cosine of each element of ``input``; integers become FP32."""
    ...

@overload
def cos(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def create_tensor(shape: Ints, dtype: DataType) -> Tensor:
    """Return a new, uninitialized tensor of ``shape`` with elements of ``dtype``."""
    ...

@overload
def create_tensor(
    shape: Ints,
    dtype: DataType,
    layout: Any = None,
    manual_dep: bool = False,
    init_value: Scalar | None = None,
) -> Tensor:
    """Return a new tensor of ``shape`` whose elements are ``init_value``, if that is given."""
    ...

@overload
def div(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs / rhs`` [R, C] for floats, element by element."""
    ...

@overload
def div(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs / rhs`` [R, C]; integers truncate toward zero, and x / 0 is 0."""
    ...

@overload
def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs / rhs``, element by element, broadcast and promoted.

    Integers truncate toward zero, and x / 0 is 0. The vector unit divides only floats: cast
    integers where this becomes a block op.
    """
    ...

@overload
def div(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs / rhs`` with a number, promoted; integers truncate toward zero."""
    ...

@overload
def div(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def exp(tile: Tile) -> Tile:
    """Return e to the power of each element of ``tile`` [R, C]."""
    ...

@overload
def exp(input: Tensor) -> Tensor:
    """Return e to the power of each element of ``input``; integers become FP32."""
    ...

@overload
def exp(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def expands(target: Tile, scalar: Scalar) -> Tile:
    """Return a tile like ``target`` [R, C] filled with ``scalar``.

    The elements of ``target`` are not read.
    """
    ...

@overload
def expands(target: Tensor, scalar: Scalar) -> Tensor:
    """Return a tensor like ``target``, which is not read, filled with ``scalar``."""
    ...

@overload
def expands(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def fillpad(tile: Tile, pad_value: TilePad | None = None) -> Tile:
    """Return a copy of ``tile`` [R, C] with zeros where it has no valid elements.

    With ``pad_value=pl.PadValue.max`` or ``min`` the padding is the largest or smallest element of
    the type, which is an infinity for floats.

    The copy is entirely valid. Load a tile with ``valid_shapes`` to make it partly valid.
    """
    ...

@overload
def fillpad(input: Tensor, pad_value: TilePad | None = None) -> Tensor:
    """Return a copy of ``input`` with zeros, or as told, where it holds no valid elements."""
    ...

@overload
def fillpad_expand(tile: Tile, shape: Ints, pad_value: TilePad | None = None) -> Tile:
    """Return the valid elements of ``tile`` [R, C] padded to a larger tile of ``shape``.

    The padding is 0, or with ``pad_value`` the largest or the smallest element.
    """
    ...

@overload
def fillpad_expand(input: Tensor, shape: Ints, pad_value: TilePad | None = None) -> Tensor:
    """Return ``input`` [M, N] padded at the end to a larger tensor of ``shape``.

    The padding is 0, or with ``pad_value`` the largest or the smallest element.
    """
    ...

@overload
def fillpad_expand(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def fmod(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - trunc(lhs / rhs) * rhs`` [R, C], which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmod(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - trunc(lhs / rhs) * rhs`` [R, C], which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmod(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs - trunc(lhs / rhs) * rhs``, which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmod(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs - trunc(lhs / rhs) * rhs``, which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmod(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def fmods(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - trunc(lhs / rhs) * rhs`` [R, C], which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmods(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs - trunc(lhs / rhs) * rhs``, which has the sign of ``lhs``; NaN over 0."""
    ...

@overload
def fmods(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def full(shape: Ints, dtype: DataType, value: Scalar) -> Tile:
    """Return a tile of ``shape`` with elements of ``dtype``, filled with ``value``."""
    ...

@overload
def full(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def gather(tile: Tile, indices: Tile, tmp: Tile | None = None) -> Tile:
    """Return the elements of ``tile`` [R, C] at ``indices``, in the shape of ``indices``.

    Indices are into the whole tile in row-major order; one out of bounds gives 0. ``tmp`` is a
    scratch tile like ``indices``, created if omitted.
    """
    ...

@overload
def gather(input: Tile, dim: int, index: Tile) -> Tile:
    """Return the elements of each row of ``input`` [R, C] at the indices ``index`` [R, K]: [R, K].

    The result for an index outside the row is undefined; the interpreter gives 0. ``dim`` is the
    last dimension.
    """
    ...

@overload
def gather(tile: Tile, mask_pattern: int, output_dtype: DataType | None = None) -> Tile:
    """Return the columns of ``tile`` [R, C] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...

@overload
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the elements of each row of ``input`` [M, N] at positions ``index`` [M, K]: [M, K].

    The result for a position outside the row is undefined; the interpreter gives 0. ``dim`` is the
    last dimension.
    """
    ...

@overload
def gather(input: Tensor, mask_pattern: int, output_dtype: DataType | None = None) -> Tensor:
    """Return the columns of ``input`` [M, N] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...

@overload
def gather(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def gather_along(input: Tile, dim: int, index: Tile) -> Tile:
    """Return the elements of each row of ``input`` [R, C] at the indices ``index`` [R, K]: [R, K].

    The result for an index outside the row is undefined; the interpreter gives 0. ``dim`` is the
    last dimension.
    """
    ...

@overload
def gather_along(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def gather_mask(tile: Tile, mask_pattern: int, output_dtype: DataType | None = None) -> Tile:
    """Return the columns of ``tile`` [R, C] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...

@overload
def gather_mask(input: Tensor, mask_pattern: int, output_dtype: DataType | None = None) -> Tensor:
    """Return the columns of ``input`` [M, N] that a pattern selects, side by side.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one. With ``output_dtype`` their bits are reinterpreted as elements of that type.
    """
    ...

@overload
def gather_mask(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def log(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return the natural logarithm of each element of ``tile`` [R, C]; NaN below zero.

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...

@overload
def log(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return the natural logarithm of each element of ``input``; NaN below zero.

    Integers become FP32. ``high_precision`` has no effect.
    """
    ...

@overload
def log(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def matmul(lhs: Tile, rhs: Tile) -> Tile:
    """Return the product of ``lhs`` [M, K] in Left and ``rhs`` [K, N] in Right: [M, N] in Acc.

    Floats give FP32, INT8 gives INT32; products are accumulated in that type.
    """
    ...

@overload
def matmul(
    lhs: Tensor,
    rhs: Tensor,
    out_dtype: DataType | None = None,
    a_trans: bool = False,
    b_trans: bool = False,
    c_matrix_nz: bool = False,
) -> Tensor:
    """Return the product of ``lhs`` [M, K] and ``rhs`` [K, N]: [M, N].

    With ``a_trans``, ``lhs`` is [K, M]; with ``b_trans``, ``rhs`` is [N, K]. A vector [K] on either
    side drops its dimension from the result; dimensions before the last two are batch dimensions
    and broadcast. Floats accumulate in 32 bits; the result has the element type ``out_dtype``, else
    the promoted one. ``c_matrix_nz`` asks for a fractal result, which changes no value.
    """
    ...

@overload
def matmul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def matmul_acc(acc: Tile, lhs: Tile, rhs: Tile) -> Tile:
    """Return ``acc`` [M, N] plus the product of ``lhs`` [M, K] and ``rhs`` [K, N], in Acc.

    The result overwrites ``acc``, which must not be used afterwards.
    """
    ...

@overload
def matmul_acc(
    acc: Tensor,
    lhs: Tensor | Tile,
    rhs: Tensor | Tile,
    a_trans: bool = False,
    b_trans: bool = False,
    init_cond: Scalar | None = None,
) -> Tensor:
    """Return ``acc`` plus the product, the product alone where ``init_cond`` holds."""
    ...

@overload
def max(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the largest elements of ``tile`` along dimension ``axis``; NaN where there is any.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. On scalars, `pl.max` is the larger one.
    """
    ...

@overload
def max(lhs: Integer, rhs: Integer) -> Integer:
    """Return the larger of two scalars."""
    ...

@overload
def max(lhs: Scalar, rhs: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    ...

@overload
def max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def maximum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the larger of ``lhs`` and ``rhs`` [R, C], element by element; NaN if either is."""
    ...

@overload
def maximum(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the larger of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...

@overload
def maximum(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the larger of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...

@overload
def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of ``lhs`` and ``rhs``, broadcast and promoted; NaN if either is NaN."""
    ...

@overload
def maximum(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the larger of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...

@overload
def maximum(lhs: Scalar, rhs: Tensor) -> Tensor:
    """Return the larger of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...

@overload
def maximum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def maximum(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def min(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the smallest elements of ``tile`` along dimension ``axis``; NaN where there is any.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. On scalars, `pl.min` is the smaller one.
    """
    ...

@overload
def min(lhs: Integer, rhs: Integer) -> Integer:
    """Return the smaller of two scalars."""
    ...

@overload
def min(lhs: Scalar, rhs: Scalar) -> Scalar:
    """Return the smaller of two scalars."""
    ...

@overload
def min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def minimum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the smaller of ``lhs`` and ``rhs`` [R, C], element by element; NaN if either is."""
    ...

@overload
def minimum(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the smaller of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...

@overload
def minimum(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the smaller of each element of ``lhs`` [R, C] and ``rhs``; NaN if either is NaN."""
    ...

@overload
def minimum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller of ``lhs`` and ``rhs``, broadcast and promoted; NaN if either is NaN."""
    ...

@overload
def minimum(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the smaller of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...

@overload
def minimum(lhs: Scalar, rhs: Tensor) -> Tensor:
    """Return the smaller of each element of ``lhs`` and ``rhs``; NaN if either is NaN."""
    ...

@overload
def minimum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def minimum(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def mrgsort(src: Tile, block_len: int) -> Tile:
    """Return ``src`` [1, C] with every four sorted runs of ``block_len`` columns merged into one.

    The runs hold records of `sort32`, two columns each.
    """
    ...

@overload
def mrgsort(src0: Tile, src1: Tile) -> Tile:
    """Return the sorted lists ``src0`` and ``src1`` [1, C] of records as one sorted list."""
    ...

@overload
def mrgsort(src0: Tile, src1: Tile, src2: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1`` and ``src2`` [1, C] of records as one."""
    ...

@overload
def mrgsort(src0: Tile, src1: Tile, src2: Tile, src3: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1``, ``src2``, ``src3`` [1, C] of records as one."""
    ...

@overload
def mrgsort(src: Tensor, block_len: int) -> Tensor:
    """Return ``src`` with every four sorted runs of ``block_len`` columns of a row merged into one.

    The runs hold records of `sort32`, two columns each.
    """
    ...

@overload
def mrgsort(src0: Tensor, src1: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0`` and ``src1`` merged."""
    ...

@overload
def mrgsort(src0: Tensor, src1: Tensor, src2: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1`` and ``src2`` merged."""
    ...

@overload
def mrgsort(src0: Tensor, src1: Tensor, src2: Tensor, src3: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1``, ``src2`` and ``src3`` merged."""
    ...

@overload
def mrgsort(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def mrgsort2(src0: Tile, src1: Tile) -> Tile:
    """Return the sorted lists ``src0`` and ``src1`` [1, C] of records as one sorted list."""
    ...

@overload
def mrgsort2(src0: Tensor, src1: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0`` and ``src1`` merged."""
    ...

@overload
def mrgsort2(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def mrgsort3(src0: Tile, src1: Tile, src2: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1`` and ``src2`` [1, C] of records as one."""
    ...

@overload
def mrgsort3(src0: Tensor, src1: Tensor, src2: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1`` and ``src2`` merged."""
    ...

@overload
def mrgsort3(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def mrgsort4(src0: Tile, src1: Tile, src2: Tile, src3: Tile) -> Tile:
    """Return the sorted lists ``src0``, ``src1``, ``src2``, ``src3`` [1, C] of records as one."""
    ...

@overload
def mrgsort4(src0: Tensor, src1: Tensor, src2: Tensor, src3: Tensor) -> Tensor:
    """Return the sorted rows of records ``src0``, ``src1``, ``src2`` and ``src3`` merged."""
    ...

@overload
def mrgsort4(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def mul(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs * rhs`` [R, C], element by element; integers wrap."""
    ...

@overload
def mul(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs * rhs`` [R, C]; integers wrap."""
    ...

@overload
def mul(lhs: Scalar, rhs: Tile) -> Tile:
    """Return ``lhs * rhs`` [R, C]; integers wrap."""
    ...

@overload
def mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs * rhs``, element by element, broadcast and promoted; integers wrap."""
    ...

@overload
def mul(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs * rhs`` with a number, promoted; integers wrap."""
    ...

@overload
def mul(lhs: Scalar, rhs: Tensor) -> Tensor:
    """Return ``lhs * rhs`` with a number, promoted; integers wrap."""
    ...

@overload
def mul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def mul(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def neg(tile: Tile) -> Tile:
    """Return ``-tile`` [R, C]; the smallest signed integer stays unchanged, unsigned ones wrap."""
    ...

@overload
def neg(input: Tensor) -> Tensor:
    """Return ``-input``; the smallest signed integer stays unchanged, unsigned ones wrap."""
    ...

@overload
def neg(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def not_(tile: Tile) -> Tile:
    """Return each element of ``tile`` [R, C] with its bits inverted."""
    ...

@overload
def not_(input: Tensor) -> Tensor:
    """Return the bitwise NOT of each element of ``input``."""
    ...

@overload
def not_(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def or_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bitwise OR of ``lhs`` and ``rhs`` [R, C], element by element."""
    ...

@overload
def or_(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise OR of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def or_(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bitwise OR of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def or_(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise OR of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...

@overload
def or_(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise OR of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def or_(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def or_(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def ors(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bitwise OR of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def ors(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bitwise OR of each element of ``lhs`` [R, C] and ``rhs``."""
    ...

@overload
def ors(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise OR of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def ors(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def ors(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def part_add(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs + rhs`` [R, C] where both are valid, elsewhere the one that is."""
    ...

@overload
def part_add(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs + rhs``: a tensor is entirely valid."""
    ...

@overload
def part_add(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def part_max(lhs: Tile, rhs: Tile) -> Tile:
    """Return the larger of ``lhs`` and ``rhs`` [R, C] where both are valid, else the valid one."""
    ...

@overload
def part_max(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of ``lhs`` and ``rhs``: a tensor is entirely valid."""
    ...

@overload
def part_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def part_min(lhs: Tile, rhs: Tile) -> Tile:
    """Return the smaller of ``lhs`` and ``rhs`` [R, C] where both are valid, else the valid one."""
    ...

@overload
def part_min(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the smaller of ``lhs`` and ``rhs``: a tensor is entirely valid."""
    ...

@overload
def part_min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def part_mul(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs * rhs`` [R, C] where both are valid, elsewhere the one that is."""
    ...

@overload
def part_mul(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs * rhs``: a tensor is entirely valid."""
    ...

@overload
def part_mul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def read(tile: Tile, indices: Offsets) -> Scalar:
    """Return the element of ``tile`` at ``indices``, one index per dimension.

    A bare number is an index in row-major order.
    """
    ...

@overload
def read(tensor: Tensor, indices: Offsets) -> Scalar:
    """Return the element of ``tensor`` at ``indices``, one index per dimension.

    A bare number is an index in row-major order.
    """
    ...

@overload
def read(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def recip(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return 1 / x for each element x of ``tile`` [R, C].

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...

@overload
def recip(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return 1 / x for each element x of ``input``; integers become FP32.

    ``high_precision`` has no effect: the quotient is already exact to the last place.
    """
    ...

@overload
def recip(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def reinterpret_view(tile: Tile, dtype: DataType) -> Tile:
    """Return the bits of each element of ``tile`` [R, C] as a ``dtype`` of the same width.

    Nothing is converted.
    """
    ...

@overload
def reinterpret_view(input: Tensor, dtype: DataType) -> Tensor:
    """Return the bits of each element of ``input`` [M, N] as a ``dtype`` of the same width."""
    ...

@overload
def reinterpret_view(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def relu(tile: Tile) -> Tile:
    """Return each element of ``tile`` [R, C], or 0 where it is negative; NaN stays NaN."""
    ...

@overload
def relu(input: Tensor) -> Tensor:
    """Return each element of ``input``, or 0 where it is negative; NaN stays NaN."""
    ...

@overload
def relu(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def rem(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    A divisor of 0 gives 0 for integers and NaN for floats. On A2/A3, integer results are exact
    up to magnitudes of 2**24.
    """
    ...

@overload
def rem(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    A divisor of 0 gives 0 for integers and NaN for floats. On A2/A3, integer results are exact
    up to magnitudes of 2**24.
    """
    ...

@overload
def rem(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def rems(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    A divisor of 0 gives 0 for integers and NaN for floats. On A2/A3, integer results are exact
    up to magnitudes of 2**24.
    """
    ...

@overload
def rems(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def reshape(tile: Tile, shape: Ints) -> Tile:
    """Return the bytes of ``tile`` [R, C] as a tile of ``shape``, which has as many elements.

    Elements keep their row-major order. Nothing is copied. A column [N, 1] reshapes to a row
    [1, N], and back. In Mat memory, where boxes keep their rows and columns, only leading
    dimensions of 1 change: [1, R, C] to [R, C], and back.
    """
    ...

@overload
def reshape(tensor: Tensor, shape: Ints) -> Tensor:
    """Return the elements of ``tensor`` as a new tensor of ``shape``, which has as many.

    Elements keep their row-major order.
    """
    ...

@overload
def reshape(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_argmax(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the largest element of each row of ``tile`` [R, C]: [R, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def row_argmax(input: Tensor) -> Tensor:
    """Return the index of the largest element of each row of ``input`` [M, N]: [M, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...

@overload
def row_argmax(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_argmin(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the index of the smallest element of each row of ``tile`` [R, C]: [R, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it comes first. ``tmp_tile`` [R, C]
    is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def row_argmin(input: Tensor) -> Tensor:
    """Return the index of the smallest element of each row of ``input`` [M, N]: [M, 1] of INT32.

    The first of equal elements wins; a NaN wins only if it is the first element.
    """
    ...

@overload
def row_argmin(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand(src: Tile) -> Tile:
    """Return ``src`` [R, C] with each row filled with its first element."""
    ...

@overload
def row_expand(target: Tile, row_vec: Tile) -> Tile:
    """Return the column ``row_vec`` [R, 1] broadcast to the shape of ``target``.

    The elements of ``target`` are not read.
    """
    ...

@overload
def row_expand(target: Tensor, row_vec: Tensor) -> Tensor:
    """Return the column ``row_vec`` [.., M, 1] broadcast to the shape of ``target``.

    The elements of ``target`` [.., M, N] are not read.
    """
    ...

@overload
def row_expand(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_add(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] plus the column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_add(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] plus the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_add(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_div(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] divided by the column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_div(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] divided by the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_div(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_expdif(tile: Tile, row_vec: Tile) -> Tile:
    """Return exp(x - v) of ``tile`` [R, C] and the column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_expdif(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return exp(x - v) of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_expdif(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_max(tile: Tile, row_vec: Tile) -> Tile:
    """Return the larger of ``tile`` [R, C] and column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_max(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return the larger of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_min(tile: Tile, row_vec: Tile) -> Tile:
    """Return the smaller of ``tile`` [R, C] and column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_min(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return the smaller of ``tensor`` [.., M, N] and the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_mul(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] times the column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_mul(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] times the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_mul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_sub(tile: Tile, row_vec: Tile) -> Tile:
    """Return ``tile`` [R, C] minus the column ``row_vec`` [R, 1], one value per row."""
    ...

@overload
def row_expand_sub(tensor: Tensor, row_vec: Tensor) -> Tensor:
    """Return ``tensor`` [.., M, N] minus the column ``row_vec`` [.., M, 1]."""
    ...

@overload
def row_expand_sub(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_expand_to(target: Tile, row_vec: Tile) -> Tile:
    """Return the column ``row_vec`` [R, 1] broadcast to the shape of ``target``.

    The elements of ``target`` are not read.
    """
    ...

@overload
def row_expand_to(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_max(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the largest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is any.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def row_max(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the largest element of each row of ``input``; NaN if there is any.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_min(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the smallest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is any.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def row_min(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the smallest element of each row of ``input``; NaN if there is any.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_prod(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the product of each row of ``tile`` [R, C]: [R, 1]; integers wrap.

    ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def row_prod(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the product of each row of ``input``; integers wrap.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_prod(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_sum(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the sum of each row of ``tile`` [R, C]: [R, 1]; FP16 is accumulated in 32 bits.

    Integers wrap. ``tmp_tile`` [R, C] is a scratch tile of the same element type, created if
    omitted.
    """
    ...

@overload
def row_sum(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the sum of each row of ``input``; 16-bit floats are accumulated in 32 bits.

    A row runs along ``axis``, by default the last. Its dimension becomes 1, or is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_sum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def rsqrt(tile: Tile, high_precision: bool | None = None) -> Tile:
    """Return 1 / sqrt(x) for each element x of ``tile`` [R, C].

    ``high_precision`` has no effect: results are already exact to the last place.
    """
    ...

@overload
def rsqrt(input: Tensor, high_precision: bool = False) -> Tensor:
    """Return 1 / sqrt(x) for each element x of ``input``; integers become FP32.

    ``high_precision`` has no effect: the result is already exact to the last place.
    """
    ...

@overload
def rsqrt(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def scatter(dst: Tile, src: Tile, indexes: Tile) -> Tile:
    """Return a tile like ``dst``: ``src`` [R, C] at the indices ``indexes`` [R, C], else 0.

    Indices are into ``dst`` in row-major order; of equal indices the last wins.
    """
    ...

@overload
def scatter(input: Tile, dim: int, index: Tile, src: Tile) -> Tile:
    """Return ``input`` [R, C] with ``src`` [R, K] at the indices ``index`` [R, K] of each row.

    Of equal indices the last one wins. ``dim`` is the last dimension.
    """
    ...

@overload
def scatter(input: Tile, dst: Tile, mask_pattern: int) -> Tile:
    """Return ``dst`` [R, C] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...

@overload
def scatter(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``input`` [M, N] with ``src`` [M, K] at the positions ``index`` [M, K] of each row.

    Of equal positions the last one wins. ``dim`` is the last dimension.
    """
    ...

@overload
def scatter(input: Tensor, dst: Tensor, mask_pattern: int) -> Tensor:
    """Return ``dst`` [M, N] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...

@overload
def scatter(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def scatter_along(input: Tile, dim: int, index: Tile, src: Tile) -> Tile:
    """Return ``input`` [R, C] with ``src`` [R, K] at the indices ``index`` [R, K] of each row.

    Of equal indices the last one wins. ``dim`` is the last dimension.
    """
    ...

@overload
def scatter_along(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def scatter_mask(input: Tile, dst: Tile, mask_pattern: int) -> Tile:
    """Return ``dst`` [R, C] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...

@overload
def scatter_mask(input: Tensor, dst: Tensor, mask_pattern: int) -> Tensor:
    """Return ``dst`` [M, N] with the columns that a pattern selects replaced by those of ``input``.

    ``pl.tile.MaskPattern.P0101`` selects columns 0, 2, 4, ..., P1010 1, 3, 5, ...; P0001 to P1000
    every fourth one.
    """
    ...

@overload
def scatter_mask(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def scatter_update(input: Tile, dim: int, index: Tile, src: Tile) -> Tile:
    """Return ``input`` [R, C] with the rows of ``src`` [K, C] at the row numbers ``index``.

    ``index`` has K elements; of equal ones the last wins. ``dim`` is -2.
    """
    ...

@overload
def scatter_update(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Return ``input`` [M, N] with the rows of ``src`` [K, N] at the row numbers ``index``.

    ``index`` has K elements; of equal ones the last wins. ``dim`` is -2.
    """
    ...

@overload
def scatter_update(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sel_or_number(mask: Tile, src: Tile, tmp: Tile, scalar: Scalar) -> Tile:
    """Return the elements of ``src`` [R, C] where ``mask`` is not 0, else the number ``scalar``.

    ``mask`` [R, C] is a result of `cmp` or `cmps`. ``tmp`` is scratch that is not used.
    """
    ...

@overload
def sel_or_number(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sels(lhs: Tile, rhs: Tile, select_mode: Scalar) -> Tile:
    """Return all of ``lhs`` [R, C] if the number ``select_mode`` is not 0, else all of ``rhs``."""
    ...

@overload
def sels(mask: Tile, src: Tile, tmp: Tile, scalar: Scalar) -> Tile:
    """Return the elements of ``src`` [R, C] where ``mask`` is not 0, else the number ``scalar``.

    ``mask`` [R, C] is a result of `cmp` or `cmps`. ``tmp`` is scratch that is not used.
    """
    ...

@overload
def sels(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def set_validshape(tile: Tile, valid_shape: Ints) -> Tile:
    """Return ``tile`` [R, C] with only ``valid_shape``, its first rows and columns, valid.

    ``pl.set_validshape(tile, rows, columns)`` is the same.
    """
    ...

@overload
def set_validshape(input: Tensor | Tile, rows: Scalar, columns: Scalar) -> Tensor:
    """Return ``input`` of which so many ``rows`` and ``columns`` are valid."""
    ...

@overload
def set_validshape(input: Tensor, valid_shape: Ints) -> Tensor:
    """Return ``input`` of which ``valid_shape`` is valid."""
    ...

@overload
def set_validshape(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shl(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted left by ``rhs`` [R, C] bits, element by element.

    Bits shifted out are lost. A negative count, or one of at least the element's width, gives 0.
    """
    ...

@overload
def shl(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted left by ``rhs`` bits.

    Bits shifted out are lost. A constant count must not be negative; at run time a negative count,
    or one of at least the element's width, gives 0.
    """
    ...

@overload
def shl(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs`` shifted left by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shl(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted left by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shl(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shls(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted left by ``rhs`` bits.

    Bits shifted out are lost. A constant count must not be negative; at run time a negative count,
    or one of at least the element's width, gives 0.
    """
    ...

@overload
def shls(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted left by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shls(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shr(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted right by ``rhs`` [R, C] bits, element by element.

    The shift is arithmetic for signed elements and logical for unsigned ones. A negative count, or
    one of at least the element's width, gives 0, or -1 for a negative element.
    """
    ...

@overload
def shr(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted right by ``rhs`` bits.

    The shift is arithmetic for signed elements and logical for unsigned ones. A constant count must
    not be negative; at run time a negative count, or one of at least the element's width, gives 0,
    or -1 for a negative element.
    """
    ...

@overload
def shr(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs`` shifted right by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shr(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted right by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shr(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shrs(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted right by ``rhs`` bits.

    The shift is arithmetic for signed elements and logical for unsigned ones. A constant count must
    not be negative; at run time a negative count, or one of at least the element's width, gives 0,
    or -1 for a negative element.
    """
    ...

@overload
def shrs(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs`` shifted right by ``rhs`` bits, as the op on tiles does."""
    ...

@overload
def shrs(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sin(tile: Tile) -> Tile:
    """Return the sine of each element of ``tile`` [R, C], accurate to 1e-5 up to 6000."""
    ...

@overload
def sin(input: Tensor) -> Tensor:
    """Return the sine of each element of ``input``; integers become FP32."""
    ...

@overload
def sin(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sort32(src: Tile, idx: Tile) -> Tile:
    """Return ``src`` [R, C], each 32 columns sorted in descending order, with numbers: [R, 2 C].

    Even columns are the values, odd ones the bits of their numbers in ``idx`` [R, C] or [1, C], of
    UINT32. The sort is stable; a NaN is the largest.
    """
    ...

@overload
def sort32(src: Tensor, idx: Tensor) -> Tensor:
    """Return ``src`` [M, N], each 32 columns sorted in descending order, with numbers: [M, 2 N].

    Even columns are the values, odd ones the bits of their numbers in ``idx`` [M, N] or [1, N], of
    UINT32. The sort is stable; a NaN is the largest.
    """
    ...

@overload
def sort32(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sqrt(tile: Tile) -> Tile:
    """Return the square root of each element of ``tile`` [R, C]; NaN below zero."""
    ...

@overload
def sqrt(input: Tensor) -> Tensor:
    """Return the square root of each element of ``input``; integers become FP32."""
    ...

@overload
def sqrt(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def store(tile: Tile, offsets: Offsets, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Write ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor.

    ``shapes`` is the size of the region: the shape of the tile, or of its valid part. Only the
    valid part is written. ``pl.store(tile, offsets, output_tensor)`` uses the tile's shape. The
    value is ``output_tensor`` itself, whose other elements are unchanged. A tile in Acc may be
    stored as a narrower float.
    """
    ...

@overload
def store(
    tile: Tensor | Tile,
    offsets: Offsets,
    output_tensor: Tensor,
    shapes: Ints | None = None,
    *,
    atomic: AtomicType | None = None,
) -> Tensor:
    """Store the valid part of ``tile`` in ``output_tensor`` at ``offsets``; return that."""
    ...

@overload
def store_add(tile: Tile, offsets: Offsets, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Add ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor.

    ``shapes`` is the size of the region, as in `store`. No update is lost where several blocks add
    to the same region; the order of additions is unspecified, so sums of floats may differ in the
    last bits.
    """
    ...

@overload
def store_add(tile: Tile, offsets: Offsets, shapes: Ints) -> Tensor:
    """Add ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor."""
    ...

@overload
def store_add(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sub(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - rhs`` [R, C], element by element; integers wrap."""
    ...

@overload
def sub(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - rhs`` [R, C]; integers wrap."""
    ...

@overload
def sub(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs - rhs``, element by element, broadcast and promoted; integers wrap."""
    ...

@overload
def sub(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs - rhs`` with a number, promoted; integers wrap."""
    ...

@overload
def sub(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def subc(lhs: Tile, rhs: Tile, rhs2: Tile) -> Tile:
    """Return ``lhs - rhs - rhs2`` [R, C], element by element; integers wrap."""
    ...

@overload
def subc(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def subsc(lhs: Tile, rhs: Scalar, rhs2: Tile) -> Tile:
    """Return ``lhs - rhs - rhs2`` [R, C] with a number ``rhs``; integers wrap."""
    ...

@overload
def subsc(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def sum(tile: Tile, axis: int, keepdim: bool = False) -> Tile:
    """Return the sums of ``tile`` along dimension ``axis``; FP16 is accumulated in 32 bits.

    ``axis`` is the first or the last dimension, and may be negative. The dimension is
    dropped, or becomes 1 with ``keepdim``. Integers wrap.
    """
    ...

@overload
def sum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def transpose(tile: Tile, tmp_tile: Tile, axis1: int = 0, axis2: int = 1) -> Tile:
    """Return ``tile`` [R, C] with rows and columns swapped: [C, R].

    In a tile of more than two dimensions, two of them are swapped, which no target executes.

    ``tmp_tile`` is a scratch tile of the same element type for [C, R] elements, with R rounded up
    to 16 (to 32 for elements of one byte); ``transpose(tile, 0, 1)`` creates one. Operands of a
    matrix product are transposed by `move` instead.
    """
    ...

@overload
def transpose(tile: Tile, axis1: int, axis2: int) -> Tile:
    """Return ``tile`` [R, C] with rows and columns swapped: [C, R]."""
    ...

@overload
def transpose(tensor: Tensor, axis1: Axis, axis2: Axis) -> Tensor:
    """Return ``tensor`` with two dimensions swapped; ``axis1`` and ``axis2`` may be negative."""
    ...

@overload
def transpose(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def tri(
    diagonal: Scalar, shape: Ints, dtype: DataType = DataType.INT32, upper: bool = False
) -> Tile:
    """Return a tile of ``shape`` [R, C]: 1 on and below the diagonal (``upper``: above), else 0.

    The diagonal is where the column index is the row index plus ``diagonal``.
    """
    ...

@overload
def tri(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def view(tile: Tile, shape: Ints, offset: Offsets) -> Tile:
    """Return the part of ``tile`` [R, C] of size ``shape`` that begins at ``offset``.

    Sizes are constant. Whole rows, or part of one row from a multiple of 32 bytes on, are not
    copied; columns of several rows of a matrix are copied, by two transposes.
    """
    ...

@overload
def view(tensor: Tensor, shape: Ints, offset: Offsets) -> Tensor:
    """Return the region of ``tensor`` of size ``shape`` at ``offset``; it shares the bytes."""
    ...

@overload
def view(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def write(tile: Tile, indices: Offsets, value: Scalar) -> None:
    """Set the element of ``tile`` at ``indices`` to ``value``, which has its element type.

    The tile is changed in place. A bare number is an index in row-major order.
    """
    ...

@overload
def write(tensor: Tensor, indices: Offsets, value: Scalar) -> None:
    """Set the element of ``tensor`` at ``indices`` to ``value``, which has its element type.

    The tensor is changed in place. A bare number is an index in row-major order.
    """
    ...

@overload
def write(operand: Expr, /, *others: Any, **named: Any) -> None: ...
@overload
def xor(lhs: Tile, rhs: Tile, tmp: Tile | None = None) -> Tile:
    """Return the bitwise XOR of ``lhs`` and ``rhs`` [R, C], element by element.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def xor(lhs: Tile, rhs: Scalar, tmp: Tile | None = None) -> Tile:
    """Return the bitwise XOR of each element of ``lhs`` [R, C] and ``rhs``.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def xor(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the bitwise XOR of ``lhs`` and ``rhs``, broadcast and promoted."""
    ...

@overload
def xor(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise XOR of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def xor(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def xors(lhs: Tile, rhs: Scalar, tmp: Tile | None = None) -> Tile:
    """Return the bitwise XOR of each element of ``lhs`` [R, C] and ``rhs``.

    ``tmp`` [R, C] is a scratch tile of the same element type, created if omitted.
    """
    ...

@overload
def xors(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return the bitwise XOR of each element of ``lhs`` and the number ``rhs``."""
    ...

@overload
def xors(operand: Expr, /, *others: Any, **named: Any) -> Any: ...

block_addc: Unified
block_addsc: Unified
block_and_: Unified
block_ands: Unified
block_arange: Unified
block_col_argmax: Unified
block_col_argmin: Unified
block_col_expand_add: Unified
block_col_expand_expdif: Unified
block_col_expand_max: Unified
block_col_expand_min: Unified
block_col_max: Unified
block_col_min: Unified
block_col_prod: Unified
block_col_sum: Unified
block_concat: Unified
block_cos: Unified
block_fillpad_expand: Unified
block_fmod: Unified
block_fmods: Unified
block_gather: Unified
block_gather_along: Unified
block_gather_mask: Unified
block_max: Unified
block_min: Unified
block_mrgsort: Unified
block_mrgsort2: Unified
block_mrgsort3: Unified
block_mrgsort4: Unified
block_not_: Unified
block_or_: Unified
block_ors: Unified
block_part_add: Unified
block_part_max: Unified
block_part_min: Unified
block_part_mul: Unified
block_read: Unified
block_reinterpret_view: Unified
block_rem: Unified
block_rems: Unified
block_row_argmax: Unified
block_row_argmin: Unified
block_row_expand: Unified
block_row_expand_expdif: Unified
block_row_expand_max: Unified
block_row_expand_min: Unified
block_row_expand_to: Unified
block_row_prod: Unified
block_scatter: Unified
block_scatter_along: Unified
block_scatter_mask: Unified
block_scatter_update: Unified
block_sel_or_number: Unified
block_sels: Unified
block_set_validshape: Unified
block_shl: Unified
block_shls: Unified
block_shr: Unified
block_shrs: Unified
block_sin: Unified
block_sort32: Unified
block_store_add: Unified
block_subc: Unified
block_subsc: Unified
block_sum: Unified
block_tri: Unified
block_write: Unified
block_xor: Unified
block_xors: Unified
system_deliver: Unified
system_fetch: Unified
system_notify: Unified
system_wait: Unified
tensor_abs: Unified
tensor_add: Unified
tensor_and_: Unified
tensor_ands: Unified
tensor_arange: Unified
tensor_cmp: Unified
tensor_cmps: Unified
tensor_col_argmax: Unified
tensor_col_argmin: Unified
tensor_col_expand: Unified
tensor_col_expand_add: Unified
tensor_col_expand_div: Unified
tensor_col_expand_expdif: Unified
tensor_col_expand_max: Unified
tensor_col_expand_min: Unified
tensor_col_expand_mul: Unified
tensor_col_expand_sub: Unified
tensor_col_max: Unified
tensor_col_min: Unified
tensor_col_prod: Unified
tensor_col_sum: Unified
tensor_concat: Unified
tensor_cos: Unified
tensor_div: Unified
tensor_expands: Unified
tensor_fillpad_expand: Unified
tensor_fmod: Unified
tensor_fmods: Unified
tensor_full: Unified
tensor_gather: Unified
tensor_gather_mask: Unified
tensor_log: Unified
tensor_maximum: Unified
tensor_maximums: Unified
tensor_minimum: Unified
tensor_minimums: Unified
tensor_mrgsort: Unified
tensor_mrgsort2: Unified
tensor_mrgsort3: Unified
tensor_mrgsort4: Unified
tensor_mul: Unified
tensor_neg: Unified
tensor_not_: Unified
tensor_or_: Unified
tensor_ors: Unified
tensor_part_add: Unified
tensor_part_max: Unified
tensor_part_min: Unified
tensor_part_mul: Unified
tensor_recip: Unified
tensor_reinterpret_view: Unified
tensor_relu: Unified
tensor_row_argmax: Unified
tensor_row_argmin: Unified
tensor_row_expand: Unified
tensor_row_expand_add: Unified
tensor_row_expand_div: Unified
tensor_row_expand_expdif: Unified
tensor_row_expand_max: Unified
tensor_row_expand_min: Unified
tensor_row_expand_mul: Unified
tensor_row_expand_sub: Unified
tensor_row_min: Unified
tensor_row_prod: Unified
tensor_rsqrt: Unified
tensor_scatter: Unified
tensor_scatter_mask: Unified
tensor_scatter_update: Unified
tensor_shl: Unified
tensor_shls: Unified
tensor_shr: Unified
tensor_shrs: Unified
tensor_sin: Unified
tensor_sort32: Unified
tensor_sqrt: Unified
tensor_sub: Unified
tensor_write: Unified
tensor_xor: Unified
tensor_xors: Unified
LATE: dict[str, str]

__all__ = [
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "alloc",
    "and_",
    "ands",
    "arange",
    "assemble",
    "batch_matmul",
    "cast",
    "cmp",
    "cmps",
    "col_argmax",
    "col_argmin",
    "col_expand",
    "col_expand_add",
    "col_expand_div",
    "col_expand_expdif",
    "col_expand_max",
    "col_expand_min",
    "col_expand_mul",
    "col_expand_sub",
    "col_max",
    "col_min",
    "col_prod",
    "col_sum",
    "concat",
    "cos",
    "create",
    "create_tensor",
    "create_tile",
    "dim",
    "div",
    "divs",
    "exp",
    "expands",
    "extract",
    "fillpad",
    "fillpad_expand",
    "fillpad_inplace",
    "fmod",
    "fmods",
    "full",
    "gather",
    "gather_along",
    "gather_mask",
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "get_block_idx",
    "l0c_store",
    "load",
    "log",
    "lrelu",
    "matmul",
    "matmul_acc",
    "matmul_bias",
    "max",
    "maximum",
    "maximums",
    "maxs",
    "min",
    "minimum",
    "minimums",
    "mins",
    "move",
    "mrgsort",
    "mrgsort2",
    "mrgsort3",
    "mrgsort4",
    "mul",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "part_add",
    "part_max",
    "part_min",
    "part_mul",
    "prelu",
    "read",
    "recip",
    "reinterpret_view",
    "relu",
    "rem",
    "rems",
    "reshape",
    "reshape_view",
    "row_argmax",
    "row_argmin",
    "row_expand",
    "row_expand_add",
    "row_expand_div",
    "row_expand_expdif",
    "row_expand_max",
    "row_expand_min",
    "row_expand_mul",
    "row_expand_sub",
    "row_expand_to",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
    "rsqrt",
    "scatter",
    "scatter_along",
    "scatter_mask",
    "scatter_update",
    "sel",
    "sel_or_number",
    "sels",
    "set_validshape",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sin",
    "sort32",
    "sqrt",
    "store",
    "store_add",
    "sub",
    "subc",
    "subs",
    "subsc",
    "sum",
    "transpose",
    "tri",
    "vec_move",
    "view",
    "write",
    "xor",
    "xors",
]
