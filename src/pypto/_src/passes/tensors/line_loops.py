"""Loops over rows, or columns, for ops that need whole ones: gathering, sorting, first positions.

Each row of such a result depends on the same rows of the operands. So as many as fit on chip are
loaded, the op is applied to the tiles, and its result is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.errors import OpError, PassError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.inspect.source_names import user_call, user_name
from pypto._src.ops import layout
from pypto._src.ops.conversion import LINEWISE, on_tiles
from pypto._src.ops.rules.type_rules import dims, known_size
from pypto._src.passes.tensors.tile_loops import (
    Builder,
    InTile,
    bytes_at_peak,
    halves,
    load_tile,
    nest,
    steps,
    store_tile,
    tensor_type,
    tensors_of,
)
from pypto._src.targets import A2A3, Target

_MOST: Final = 128
"""The most lines of a tile where their number is known only at run time."""


def write_lines(b: Builder, call: Call, target: Var, chip: Target = A2A3) -> Var:
    """Append loops that apply an op to some lines at a time; return the new name of ``target``.

    Raises:
        PassError: the length of lines is known only at run time.
        OpError: the op does not accept such lines, however few.
    """
    axis, shared = LINEWISE[call.op.name]
    lines = tensor_type(target).shape[axis]
    if const_value(lines) == 0:
        return target
    for each in (target, *tensors_of(call)):
        _check_length(each, axis, call)

    def body(
        b: Builder, offsets: Sequence[Expr], widths: Sequence[int], now: list[Var]
    ) -> list[Var]:
        args: list[Expr] = []
        for index, arg in enumerate(call.args):
            if isinstance(arg, Var) and isinstance(arg.type, TensorType):
                part = _part(arg, axis, offsets[0], widths[0])
                arg = load_tile(b, arg, *(_whole(arg) if index in shared else part))
            args.append(arg)
        new = on_tiles(call, args, b.name)
        b.stmts += new.stmts
        tile = new.value if isinstance(new.value, Var) else b.let(f"{target.name}_tile", new.value)
        return [store_tile(b, tile, *_part(target, axis, offsets[0], widths[0]), now[0])]

    known = known_size(lines)
    unit = 1 if axis == -2 else layout.BLOCK_BYTES // tensor_type(target).dtype.bytes
    counts = [unit * k for k in halves((_MOST if known is None else known) // unit) if k] or [1]
    room = chip.memories[MemorySpace.Vec].usable_bytes // 4  # the op's decomposition takes more
    best = next((n for n in counts[:-1] if _fits(b, body, target, n, room)), counts[-1])
    return nest(b, [lines], [steps(lines, best, unit)], [target], body, ["line"])[0]


def _fits(b: Builder, body: InTile, target: Var, count: int, room: int) -> bool:
    """True if the op accepts ``count`` lines at once, and they fit ``room`` bytes."""
    trial = Builder(lambda name: name, b.span)
    try:
        body(trial, [ConstInt(0)], [count], [target])
    except OpError:
        return False
    return bytes_at_peak(trial.stmts) <= room


def _part(var: Var, axis: int, begin: Expr, count: int) -> tuple[list[Expr], list[int]]:
    """Return offsets and sizes of ``count`` lines of a matrix, or of its only line."""
    lines, length = (tensor_type(var).shape[at] for at in (axis, -3 - axis))
    is_one = const_value(lines) == 1
    pairs: list[tuple[Expr, int]] = [(ConstInt(0), 1) if is_one else (begin, count)]
    pairs.insert(1 if axis == -2 else 0, (ConstInt(0), known_size(length) or 1))
    return [at for at, _ in pairs], [size for _, size in pairs]


def _whole(var: Var) -> tuple[list[Expr], list[int]]:
    shape = tensor_type(var).shape
    return [ConstInt(0)] * len(shape), [known_size(dim) or 1 for dim in shape]


def _check_length(var: Var, axis: int, call: Call) -> None:
    shape = tensor_type(var).shape
    if known_size(shape[-3 - axis]) is None:
        word = "rows" if axis == -2 else "columns"
        raise PassError(
            f"{user_call(call)} in a kernel needs {word} of constant length, {user_name(var)} has "
            f"the shape {dims(shape)}",
            call.span,
            hint="load parts of constant size in a region: x[i : i + 1, 0:64]",
            slug="tensor-tile",
        )
