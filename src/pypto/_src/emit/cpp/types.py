"""How PTO ISA C++ spells types, shapes, pipes and scalar expressions. No state."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import MemorySpace, PipeType, TileLayout, TilePad
from pypto._src.ops.layout import effective_view

TILE_TYPES: Final = {
    MemorySpace.Vec: "Vec",
    MemorySpace.Mat: "Mat",
    MemorySpace.Left: "Left",
    MemorySpace.Right: "Right",
    MemorySpace.Acc: "Acc",
    MemorySpace.Bias: "Bias",
}
_LAYOUT_NAMES: Final = {
    TileLayout.none_box: "NoneBox",
    TileLayout.row_major: "RowMajor",
    TileLayout.col_major: "ColMajor",
}


def c_type(dtype: DataType) -> str:
    """Return the C++ type of an element.

    Raises:
        EmitError: the tile library has none (slug ``emit-dtype``).
    """
    if dtype.c_type == "unknown":
        raise EmitError(f"C++ kernels have no element type {dtype.member}", slug="emit-dtype")
    return dtype.c_type


def five(dims: Sequence[Any], fill: Any = 1) -> list[Any]:
    """Return dimensions padded to five with leading ones.

    Raises:
        EmitError: more than five dimensions.
    """
    if len(dims) > 5:
        raise EmitError(
            f"a tensor has {len(dims)} dimensions; kernels take up to 5",
            hint=f"declare the first {len(dims) - 4} dimensions as one",
            slug="rank",
        )
    return [fill] * (5 - len(dims)) + list(dims)


Size = int | str
"""A number, or the C++ text of one that is known only at run time."""


def shape_text(dims: Sequence[Size]) -> str:
    """Return ``Shape<1, 1, 1, 128, 64>``; -1 stands for a size known only at run time."""
    return f"Shape<{_static(*dims)}>"


def stride_text(strides: Sequence[Size]) -> str:
    """Return ``Stride<1, 1, 1, 64, 1>`` for strides in elements, outermost first."""
    return f"Stride<{_static(*strides)}>"


@lru_cache(maxsize=1024)
def _static(*sizes: Size) -> str:
    return ", ".join([str(size) if isinstance(size, int) else "-1" for size in five(sizes)])


def row_major(dims: Sequence[Size]) -> list[Size]:
    """Return the strides of a dense array in elements, as numbers where they are known."""
    strides: list[Size] = [1] * len(dims)
    for axis in range(len(dims) - 2, -1, -1):
        strides[axis] = product(dims[axis + 1], strides[axis + 1])
    return strides


def product(a: Size, b: Size) -> Size:
    """Return ``a * b``, as a number if both are."""
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    if 1 in (a, b):
        return b if a == 1 else a
    return f"{a} * {b}"


def tile_text(kind: TileType, space: MemorySpace, rows: int, cols: int) -> str:
    """Return the ``Tile<...>`` class of a tile; plain row-major vector tiles in the short form."""
    view = effective_view(kind, space)
    text = (
        f"Tile<TileType::{TILE_TYPES[space]}, {c_type(kind.dtype)}, {rows}, {cols}, "
        f"BLayout::{_LAYOUT_NAMES[view.blayout]}, -1, -1"
    )
    plain = (
        view.blayout is TileLayout.row_major
        and view.slayout is TileLayout.none_box
        and view.fractal == 512
    )
    if plain and view.pad is TilePad.null:
        return f"{text}>"
    pad = "" if view.pad is TilePad.null else f", PadValue::{view.pad.name.capitalize()}"
    return f"{text}, SLayout::{_LAYOUT_NAMES[view.slayout]}, {view.fractal}{pad}>"


def bit_cast_lines(name: str, dtype: DataType, word: str) -> list[str]:
    """Return the lines that unpack scalar parameter ``name`` from an argument word."""
    kind = c_type(dtype)
    if dtype is DataType.BOOL:
        return [f"bool {name} = {word} != 0;"]
    if dtype is DataType.INT64:
        return [f"int64_t {name} = {word};"]
    if not dtype.is_float():
        return [f"{kind} {name} = static_cast<{kind}>({word});"]
    return [
        f"union {{ int64_t word; {kind} value; }} {name}_bits;",
        f"{name}_bits.word = {word};",
        f"{kind} {name} = {name}_bits.value;",
    ]


def pipe_text(pipe: PipeType) -> str:
    """Return ``PIPE_V`` for a pipe."""
    return f"PIPE_{PipeType(pipe).name}"


# --------------------------------------------------------------------------------------------
# The converter of document 000
# --------------------------------------------------------------------------------------------


class TypeConverter:
    """Spells types, memory, shapes, strides, pipes and events as the tile library does."""

    def ConvertDataType(self, dtype: DataType) -> str:
        """Return ``float`` for FP32.

        Raises:
            EmitError: the tile library has no such element type.
        """
        return c_type(dtype)

    def ConvertMemorySpace(self, space: MemorySpace) -> str:
        """Return the qualifier of a pointer: ``__gm__`` for DDR, nothing for on-chip memory."""
        return "__gm__" if space is MemorySpace.DDR else ""

    def ConvertPipeType(self, pipe: PipeType) -> str:
        """Return ``PIPE_V`` for a pipe."""
        return pipe_text(pipe)

    def ConvertEventId(self, event_id: int) -> str:
        """Return ``EVENT_ID3`` for 3.

        Raises:
            ValueError: there is no such event.
        """
        if not 0 <= event_id < 8:
            raise ValueError(f"event {event_id} does not exist: there are 0 to 7")
        return f"EVENT_ID{event_id}"

    def GenerateShapeType(self, dims: Sequence[Size]) -> str:
        """Return ``Shape<1, 1, 1, 128, 64>`` for [128, 64]."""
        return shape_text(_one_to_five(dims))

    def GenerateStrideType(self, shape: Sequence[int]) -> str:
        """Return ``Stride<1, 1, 1, 64, 1>`` for a dense array of shape [128, 64]."""
        _one_to_five(shape)
        return stride_text(row_major(shape))

    def tile_type(self, kind: TileType, space: MemorySpace, rows: int, cols: int) -> str:
        """Return the ``Tile<...>`` class of a tile."""
        return tile_text(kind, space, rows, cols)


def _one_to_five(dims: Sequence[Size]) -> Sequence[Size]:
    if not 1 <= len(dims) <= 5:
        raise ValueError(f"{len(dims)} dimensions were given, 1 to 5 are possible")
    return dims
