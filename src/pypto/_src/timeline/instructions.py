"""Which instruction a call is, and what its time depends on, as input of the cost model."""

from __future__ import annotations

from typing import Any, Final

from pypto._src.cost.cases import Case
from pypto._src.ir.array_types import (
    ShapedType,
    TensorType,
    TileType,
    as_matrix,
    static_shape,
    valid_part,
)
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, ConstInt, Expr
from pypto._src.ir.opdef import OpDef
from pypto._src.ops.elementwise import cast
from pypto._src.ops.lazy.atomic_stores import store_add
from pypto._src.ops.memory import l0c_store, move
from pypto._src.ops.new_tiles import vec_move_on_target
from pypto._src.records import NamedTuple

_MNEMONICS: Final[dict[OpDef[..., Any], str]] = {
    cast: "TCVT",
    move: "TMOV",
    store_add: "TSTORE",
    l0c_store: "TSTORE",
    vec_move_on_target: "TMULS",
}
"""Instructions of ops whose emitted text is more than one name."""


class Instruction(NamedTuple):
    """A call as an instruction; sizes that are known only at run time are expressions."""

    name: str
    pipe: PipeType
    case: Case
    valid: tuple[Expr, Expr] | None
    """The valid sizes, if they are not constant."""


def mnemonic(op: OpDef[..., Any]) -> str:
    """Return the name of an op's instruction."""
    if isinstance(op.isa, str):
        return op.isa
    known = _MNEMONICS.get(op.base or op)
    return known if known is not None else f"T{op.name.rpartition('.')[2].replace('_', '').upper()}"


def instruction_of(call: Call, op: OpDef[..., Any], pipe: PipeType) -> Instruction:
    """Return the instruction that a call of an op is."""
    tiles = [arg.type for arg in call.args if isinstance(arg.type, TileType)]
    result = call.type if isinstance(call.type, TileType) else None
    source = tiles[0] if tiles else result
    target = result if result is not None else source
    tensor = next((a.type for a in call.args if isinstance(a.type, TensorType)), None)
    extra: dict[str, str] = {}
    if pipe is PipeType.M and result is not None and len(tiles) > 1:
        left = next((t for t in tiles if _space(t) is MemorySpace.Left), tiles[0])
        m, n = _sizes(result)
        extra = {"m": str(m), "n": str(n), "k": str(_sizes(left)[1])}
        source = left
    elif result is None and tensor is not None:  # a store
        extra["src"] = _space_name(source)
    elif pipe is not PipeType.V and result is not None:
        extra["dst"] = op.space_of(call).name
        source = result  # of which it may take a part
    elif result is not None and source is not None:
        extra["dst_cols"] = str(_sizes(result)[1])
    source_dtype = source.dtype.member.lower() if source is not None else "fp32"
    target_dtype = target.dtype.member.lower() if target is not None else source_dtype
    if result is None and tensor is not None:
        target_dtype = tensor.dtype.member.lower()
    shape = _sizes(source) if source is not None else (1, 1)
    valid, known = None, shape
    part = as_matrix(valid_part(source) or ()) if source is not None else ()
    if len(part) == 2:
        numbers = [size.value for size in part if isinstance(size, ConstInt)]
        known = (numbers[0], numbers[1]) if len(numbers) == 2 else shape
        valid = None if len(numbers) == 2 else (part[0], part[1])
    if extra.get("dst_cols") and _sizes_or_none(result) != shape:
        del extra["dst_cols"]  # another shape: its rows have no gaps between them
    case = Case(mnemonic(op), source_dtype, target_dtype, shape, known, extra)
    return Instruction(case.instruction, pipe, case, valid)


def _space(kind: TileType) -> MemorySpace | None:
    return None if kind.memref is None else kind.memref.memory_space_


def _space_name(kind: TileType | None) -> str:
    space = _space(kind) if kind is not None else None
    return "Vec" if space is None else space.name


def _sizes_or_none(kind: TileType | None) -> tuple[int, int] | None:
    return None if kind is None else _sizes(kind)


def _sizes(kind: ShapedType) -> tuple[int, int]:
    """Return rows and columns; dimensions before the last count as rows."""
    shape = static_shape(kind) or (1, 1)
    rows = 1
    for size in shape[:-1]:
        rows *= size
    return (rows, shape[-1]) if shape else (1, 1)
