"""The short names of the ops, as type checkers and editors see them.

Written by `make generate` from the definitions of the ops.
"""

# ruff: noqa: A004  an op has the name that users write

from typing import Any, overload

from pypto._src.dtypes import DataType
from pypto._src.ir.exprs import Expr
from pypto._src.ops.bitwise import ands, not_, ors, rems, shls, shrs, xors
from pypto._src.ops.compare_select import cmp, cmps, prelu, sel, sels
from pypto._src.ops.define import Axis, Ints, Offsets, Scalar, Tensor, Tile
from pypto._src.ops.elementwise import (
    adds,
    divs,
    expands,
    log,
    lrelu,
    maxs,
    mins,
    muls,
    neg,
    recip,
    relu,
    rsqrt,
    sqrt,
    subs,
)
from pypto._src.ops.matmul import batch_matmul, gemv, gemv_acc, gemv_bias, matmul_acc, matmul_bias
from pypto._src.ops.memory import (
    alloc,
    create_tile,
    fillpad,
    full,
    get_block_idx,
    l0c_store,
    load,
    move,
    store,
    vec_move,
)
from pypto._src.ops.reduce import (
    col_expand,
    col_expand_div,
    col_expand_mul,
    col_expand_sub,
    row_expand,
    row_expand_add,
    row_expand_div,
    row_expand_mul,
    row_expand_sub,
    row_min,
    sum,
)
from pypto._src.ops.rules.type_rules import RoundMode
from pypto._src.ops.tensor import create as create_tensor
from pypto._src.ops.tensor import dim, read
from pypto._src.ops.tensor_math import assemble
from pypto._src.ops.ternary import addc, addsc, subc, subsc
from pypto._src.ops.unified import Unified

@overload
def abs(tile: Tile) -> Tile:
    """Return the magnitude of each element of ``tile`` [R, C]."""
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
def and_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bits that are set in both ``lhs`` and ``rhs`` [R, C], element by element."""
    ...

@overload
def and_(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bits that are set in both ``rhs`` and each element of ``lhs`` [R, C]."""
    ...

@overload
def and_(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bits that are set in both ``rhs`` and each element of ``lhs`` [R, C]."""
    ...

@overload
def and_(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def and_(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def cast(tile: Tile, target_type: DataType, mode: RoundMode = "round") -> Tile:
    """Return ``tile`` [R, C] with elements of ``target_type``.

    ``mode`` rounds floats to integers: "rint" to the nearest, ties to even; "round" to the
    nearest, ties away from zero; "floor", "ceil"; "trunc" and "none" toward zero; "odd" to the odd
    neighbour. Between floats the nearest value is taken, ties to even. Integers of 32 and 64 bits
    saturate, narrower ones wrap; NaN gives 0. A tile that has such elements stays as it is.
    """
    ...

@overload
def cast(input: Tensor, target_type: DataType, mode: RoundMode = "round") -> Tensor:
    """Return ``input`` with elements of ``target_type``, rounded as `elementwise.cast` does."""
    ...

@overload
def cast(scalar: Scalar, target_type: DataType) -> Scalar:
    """Return a scalar as a value of ``target_type``."""
    ...

@overload
def cast(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def div(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs / rhs`` [R, C], element by element, for floats."""
    ...

@overload
def div(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs / rhs`` [R, C]; integers are cut toward zero, and are 0 over 0."""
    ...

@overload
def div(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return ``lhs / rhs``, element by element, broadcast and promoted.

    Integers are cut toward zero, and are 0 over 0. The vector unit divides floats only: cast
    integers where this becomes a block op.
    """
    ...

@overload
def div(lhs: Tensor, rhs: Scalar) -> Tensor:
    """Return ``lhs / rhs`` with a number, promoted; integers are cut toward zero."""
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
def matmul(lhs: Tile, rhs: Tile) -> Tile:
    """Return the product of ``lhs`` [M, K] in Left and ``rhs`` [K, N] in Right: [M, N] in Acc.

    Floats give FP32, INT8 gives INT32; both are added up in that type.
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

    ``a_trans`` takes [K, M], ``b_trans`` takes [N, K]. A vector [K] on either side leaves its
    dimension out; dimensions before the last two are a stack of matrices and broadcast. Floats
    add up in 32 bits; elements of the result are ``out_dtype``, else promoted. ``c_matrix_nz``
    asks for a fractal result, which changes no value.
    """
    ...

@overload
def matmul(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def max(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the largest elements of ``tile`` along dimension ``axis``; NaN where there is one.

    ``axis`` is the first or the last dimension; negative ones count back. The dimension is
    dropped, or becomes 1 with ``keepdim``. Of scalars, `pl.max` is the larger one.
    """
    ...

@overload
def max(lhs: Scalar, rhs: Scalar) -> Scalar:
    """Return the larger of two scalars."""
    ...

@overload
def max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def maximum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the larger of ``lhs`` and ``rhs`` [R, C], element by element; NaN if one is NaN."""
    ...

@overload
def maximum(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the larger of each element of ``lhs`` [R, C] and ``rhs``; NaN if one is NaN."""
    ...

@overload
def maximum(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the larger of each element of ``lhs`` [R, C] and ``rhs``; NaN if one is NaN."""
    ...

@overload
def maximum(lhs: Tensor, rhs: Tensor) -> Tensor:
    """Return the larger of ``lhs`` and ``rhs``, broadcast and promoted; NaN if one is NaN."""
    ...

@overload
def maximum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def maximum(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def min(tile: Tile, axis: int = 0, keepdim: bool = False) -> Tile:
    """Return the smallest elements of ``tile`` along dimension ``axis``; NaN where there is one.

    ``axis`` is the first or the last dimension; negative ones count back. The dimension is
    dropped, or becomes 1 with ``keepdim``. Of scalars, `pl.min` is the smaller one.
    """
    ...

@overload
def min(lhs: Scalar, rhs: Scalar) -> Scalar:
    """Return the smaller of two scalars."""
    ...

@overload
def min(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def minimum(lhs: Tile, rhs: Tile) -> Tile:
    """Return the smaller of ``lhs`` and ``rhs`` [R, C], element by element; NaN if one is NaN."""
    ...

@overload
def minimum(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the smaller of each element of ``lhs`` [R, C] and ``rhs``; NaN if one is NaN."""
    ...

@overload
def minimum(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the smaller of each element of ``lhs`` [R, C] and ``rhs``; NaN if one is NaN."""
    ...

@overload
def minimum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def minimum(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
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
def or_(lhs: Tile, rhs: Tile) -> Tile:
    """Return the bits that are set in ``lhs`` or ``rhs`` [R, C] or both, element by element."""
    ...

@overload
def or_(lhs: Tile, rhs: Scalar) -> Tile:
    """Return the bits that are set in ``rhs`` or in each element of ``lhs`` [R, C] or both."""
    ...

@overload
def or_(lhs: Scalar, rhs: Tile) -> Tile:
    """Return the bits that are set in ``rhs`` or in each element of ``lhs`` [R, C] or both."""
    ...

@overload
def or_(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def or_(lhs: float, rhs: Expr, /, **named: Any) -> Any: ...
@overload
def rem(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    Over 0 it is 0 for integers and NaN for floats. The A2/A3 chip computes it of integers exactly
    up to a magnitude of 2**24.
    """
    ...

@overload
def rem(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs - floor(lhs / rhs) * rhs`` [R, C], which has the sign of ``rhs``.

    Over 0 it is 0 for integers and NaN for floats. The A2/A3 chip computes it of integers exactly
    up to a magnitude of 2**24.
    """
    ...

@overload
def rem(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def reshape(tile: Tile, shape: Ints) -> Tile:
    """Return the bytes of ``tile`` [R, C] as a tile of ``shape``, which has as many elements.

    Elements keep their row-major order. Nothing is copied. A column [N, 1] and a row [1, N] are
    one another's reshapes. In Mat memory, where boxes keep their rows and columns, [1, R, C] is a
    matrix [R, C] and back.
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
def row_max(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the largest element of each row of ``tile`` [R, C]: [R, 1]; NaN if there is one.

    ``tmp_tile`` [R, C] is scratch of the same element type, made here unless given.
    """
    ...

@overload
def row_max(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the largest element of each row of ``input``; NaN if there is one.

    A row runs along ``axis``, the last unless given. Its dimension becomes 1, and is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_max(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def row_sum(tile: Tile, tmp_tile: Tile | None = None) -> Tile:
    """Return the sum of each row of ``tile`` [R, C]: [R, 1]; FP16 is added up in 32 bits.

    ``tmp_tile`` [R, C] is scratch of the same element type, made here unless given. Integers wrap.
    """
    ...

@overload
def row_sum(input: Tensor, axis: int | None = None, keep_dim: bool | None = None) -> Tensor:
    """Return the sum of each row of ``input``; 16-bit floats are added up in 32 bits.

    A row runs along ``axis``, the last unless given. Its dimension becomes 1, and is dropped with
    ``keep_dim=False``.
    """
    ...

@overload
def row_sum(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shl(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted to the left by ``rhs`` [R, C] bits, element by element.

    Bits that leave the element are lost. A negative count, or one of at least the element's
    width, gives 0.
    """
    ...

@overload
def shl(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted to the left by ``rhs`` bits.

    Bits that leave the element are lost. A constant count is not negative; a negative one at run
    time, or one of at least the element's width, gives 0.
    """
    ...

@overload
def shl(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def shr(lhs: Tile, rhs: Tile) -> Tile:
    """Return ``lhs`` [R, C] shifted to the right by ``rhs`` [R, C] bits, element by element.

    Signed elements keep their sign, unsigned ones are filled with zeros. A negative count, or
    one of at least the element's width, gives 0, of a negative element -1.
    """
    ...

@overload
def shr(lhs: Tile, rhs: Scalar) -> Tile:
    """Return ``lhs`` [R, C] shifted to the right by ``rhs`` bits.

    Signed elements keep their sign, unsigned ones are filled with zeros. A constant count is not
    negative; a negative one at run time, or one of at least the element's width, gives 0, of a
    negative element -1.
    """
    ...

@overload
def shr(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
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
def transpose(tile: Tile, tmp_tile: Tile, axis1: int = 0, axis2: int = 1) -> Tile:
    """Return ``tile`` [R, C] with rows and columns swapped: [C, R].

    ``tmp_tile`` is scratch of the same element type for [C, R] elements, R rounded up to 16 (to
    32 for elements of one byte); ``transpose(tile, 0, 1)`` makes one. Operands of a matrix product
    are transposed by `move` instead.
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
def view(tile: Tile, shape: Ints, offset: Offsets) -> Tile:
    """Return the part of ``tile`` [R, C] of size ``shape`` that begins at ``offset``.

    Nothing is copied. The part is some whole rows, or a part of one row, and begins at a multiple
    of 32 bytes; sizes are constant.
    """
    ...

@overload
def view(tensor: Tensor, shape: Ints, offset: Offsets) -> Tensor:
    """Return the region of ``tensor`` of size ``shape`` at ``offset``; the bytes are shared."""
    ...

@overload
def view(operand: Expr, /, *others: Any, **named: Any) -> Any: ...
@overload
def xor(lhs: Tile, rhs: Tile, tmp: Tile | None = None) -> Tile:
    """Return the bits that are set in just one of ``lhs`` and ``rhs`` [R, C].

    ``tmp`` [R, C] is scratch of the same element type, made here unless given.
    """
    ...

@overload
def xor(lhs: Tile, rhs: Scalar, tmp: Tile | None = None) -> Tile:
    """Return the bits that are set in just one of ``rhs`` and each element of ``lhs`` [R, C].

    ``tmp`` [R, C] is scratch of the same element type, made here unless given.
    """
    ...

@overload
def xor(operand: Expr, /, *others: Any, **named: Any) -> Any: ...

tensor_add: Unified
tensor_div: Unified
tensor_mul: Unified
tensor_sub: Unified

__all__ = [
    "abs",
    "add",
    "addc",
    "adds",
    "addsc",
    "alloc",
    "and_",
    "ands",
    "assemble",
    "batch_matmul",
    "cast",
    "cmp",
    "cmps",
    "col_expand",
    "col_expand_div",
    "col_expand_mul",
    "col_expand_sub",
    "create_tensor",
    "create_tile",
    "dim",
    "div",
    "divs",
    "exp",
    "expands",
    "fillpad",
    "full",
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
    "maxs",
    "min",
    "minimum",
    "mins",
    "move",
    "mul",
    "muls",
    "neg",
    "not_",
    "or_",
    "ors",
    "prelu",
    "read",
    "recip",
    "relu",
    "rem",
    "rems",
    "reshape",
    "row_expand",
    "row_expand_add",
    "row_expand_div",
    "row_expand_mul",
    "row_expand_sub",
    "row_max",
    "row_min",
    "row_sum",
    "rsqrt",
    "sel",
    "sels",
    "shl",
    "shls",
    "shr",
    "shrs",
    "sqrt",
    "store",
    "sub",
    "subc",
    "subs",
    "subsc",
    "sum",
    "transpose",
    "vec_move",
    "view",
    "xor",
    "xors",
]
