"""The prologue of a C++ kernel: its arguments, and the declarations of its tensors and tiles.

Owns the lines before the body, and those that declare a tile, wherever it is declared. Does
not know calls or control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.kernel_state import Kernel, space_of
from pypto._src.emit.cpp.tensors import (
    TensorRef,
    declare_global,
    parameter_sizes,
    tile_rows_cols,
    valid_sizes,
)
from pypto._src.emit.cpp.types import Size, bit_cast_lines, c_type, row_major, tile_text
from pypto._src.emit.writer import CodeEmitter
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType, dtype_of, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import ConstInt, Var, const_value
from pypto._src.ir.interning import structure
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.ir.types import ScalarType
from pypto._src.ops.layout import declared_shape


class Declarations:
    """Declares what the body of a kernel uses; names are given out in the order of the calls."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._computed: list[str] = []  # sizes of tensors known only at run time
        self._arguments: list[str] = []
        self._tensors: list[str] = []  # one text per tensor, with all of its lines
        self._tiles: list[str] = []
        self._tile_texts: dict[int, _TileTexts] = {}  # by id of a type that the function keeps

    def declare(self) -> None:
        """Name the parameters and the tiles that ops make, and write their declarations.

        Raises:
            EmitError: one has no C++ form; the error points at its definition.
        """
        kernel = self._kernel
        if kernel.sharing is not None:
            kernel.sharing.paused = True  # the variables of shared expressions come later
        self._unpack_arguments()
        params = [p for p in kernel.function.params if isinstance(p.type, TensorType)]
        for param in params:
            self._tensors.append(self._tensor_param(param))
        self._tiles += map(self.tile, kernel.tiles)
        if kernel.sharing is not None:
            kernel.sharing.paused = False

    def write(self, out: CodeEmitter) -> None:
        """Write the sections of the prologue, including the declarations of parts of tensors."""
        tensors = self._tensors + self._kernel.regions.declarations
        _section(out, "Unpack arguments", ["\n".join(self._arguments)] if self._arguments else ())
        _section(out, "Shapes and strides", ["\n".join(self._computed)] if self._computed else ())
        _section(out, "Global tensor declarations", tensors)
        _section(out, "Tile type definitions and allocations", self._tiles)

    # ----- arguments ------------------------------------------------------------------------

    def _unpack_arguments(self) -> None:
        kernel, lines = self._kernel, self._arguments
        function = kernel.function
        for index, param in enumerate(function.params):
            word = f"args[{index}]"
            if isinstance(param.type, TensorType):
                lines.append(self._pointer_argument(param, word))
            elif isinstance(param.type, ScalarType):
                name = kernel.context.declare(param)
                if param in kernel.used:
                    lines += bit_cast_lines(name, param.type.dtype, word)
            else:
                raise EmitError(
                    f"parameter {param.name!r} of kernel {function.name!r} is a tile; "
                    "kernels take tensors and scalars",
                    param.span,
                    hint=f"take a tensor {param.name}, and load the tile in the kernel",
                    slug="emit-parameter",
                )
        count = len(function.params)
        for var in dimension_vars(function):
            lines.append(f"int64_t {kernel.context.declare(var)} = args[{count}];")
            count += 1
        if kernel.options.profile:
            kernel.helpers["profile_clock"] = None
            name = kernel.profile = kernel.context.fresh("profile")
            pointer = "__gm__ int64_t*"
            lines.append(f"{pointer} {name} = reinterpret_cast<{pointer}>(args[{count}]);")

    def _pointer_argument(self, param: Var, word: str) -> str:
        """Return the line that unpacks a tensor's raw pointer; its object's name adds "Global"."""
        kernel = self._kernel
        name = kernel.context.fresh(param.name)
        kernel.context.register_var(param, f"{name}Global")
        kernel.context.register_pointer(f"{name}Global", name)
        kernel.regions.declared.add(name)
        pointer = f"__gm__ {c_type(dtype_of(param))}*"
        return f"{pointer} {name} = reinterpret_cast<{pointer}>({word});"

    # ----- tensors --------------------------------------------------------------------------

    def _tensor_param(self, param: Var) -> str:
        kernel = self._kernel
        whole = kernel.context.get_var_name(param)
        name = kernel.context.get_pointer(whole)
        kind = param.type
        assert isinstance(kind, TensorType)
        try:
            shape: Sequence[Size] | None = static_shape(kind)
            if shape is not None and kind.tensor_view is None:
                strides = row_major(shape)
            else:
                shape = [
                    self._run_time(size, f"{name}_dim{axis}")
                    for axis, size in enumerate(parameter_sizes(param, kernel.scalars.text))
                ]
                strides = self._strides(kind, shape, name)
            element = c_type(kind.dtype)
            ref = TensorRef(name, name, element, tuple(shape), tuple(strides), whole)
            kernel.refs[whole] = ref
            return declare_global(name, ref, ref.shape, "ND", name)
        except EmitError as error:
            raise error.at(param.span) from None

    def _strides(self, kind: TensorType, shape: Sequence[Size], name: str) -> list[Size]:
        view = kind.tensor_view
        if view is not None and view.stride:
            text = self._kernel.scalars.text
            strides: list[Size] = [
                s.value if isinstance(s, ConstInt) else text(s) for s in view.stride
            ]
        else:
            strides = row_major(shape)
        return [
            self._run_time(stride, f"{name}_stride{axis}") for axis, stride in enumerate(strides)
        ]

    def _run_time(self, size: Size, name: str) -> Size:
        """Return a size as a number or variable; an expression is computed into a new variable."""
        if isinstance(size, int) or size.isidentifier():
            return size
        known = self._kernel.context.fresh(name)
        self._computed.append(f"int64_t {known} = {size};")
        return known

    # ----- tiles ----------------------------------------------------------------------------

    def tile(self, var: Var) -> str:
        """Name a tile; return the lines that declare it: its type, the object, its address."""
        name, kind = self._kernel.context.declare(var), var.type
        texts = self._tile_texts.get(id(kind))
        if texts is None:
            assert isinstance(kind, TileType)
            try:
                texts = self._tile_texts[id(kind)] = _tile_texts(kind)
            except EmitError as error:
                raise error.at(var.span) from None
        whole, size, address = texts
        lines = f"using {name}Type = {whole};\n{name}Type {name}({size});"
        return f"{lines}\nTASSIGN({name}, {address});" if address else lines


_TileTexts: TypeAlias = "tuple[str, str, str]"
"""The class of a tile, the arguments of its constructor, and its address if any."""


def _tile_texts(kind: TileType) -> _TileTexts:
    shape, view, space = kind.shape, kind.tile_view, space_of(kind)
    key = id(shape), id(view), kind.dtype, space
    found = CLASSES.get(key)
    if found is None:
        found = *_class_text(kind), shape, view
        if structure(kind) is not None:
            if len(CLASSES) >= MOST_CLASSES:
                CLASSES.clear()
            CLASSES[key] = found
    address = None if kind.memref is None else const_value(kind.memref.addr_)
    return found[0], found[1], "" if address is None or address < 0 else f"0x{address:x}"


CLASSES: Final[dict[tuple[int, int, DataType, MemorySpace], tuple[str, str, object, object]]] = {}
"""Tile classes and constructor arguments by what they depend on; kept for the process.

Shapes and views are keyed by identity, so the entry keeps them alive beside the texts.
"""
MOST_CLASSES: Final = 1024


def _class_text(kind: TileType) -> tuple[str, str]:
    rows, cols = tile_rows_cols(kind)
    valid = [const_value(size) for size in valid_sizes(kind)] or [rows, cols]
    # Sizes known at run time are set where the tile gets its value.
    given = [
        known if known is not None else full
        for known, full in zip(valid, (rows, cols), strict=True)
    ]
    space = space_of(kind)
    return tile_text(kind, space, *declared_shape(kind, space)), f"{given[0]}, {given[1]}"


def _section(out: CodeEmitter, title: str, texts: Sequence[str]) -> None:
    if texts:
        out.emit_line(f"// {title}")
        out.emit_paragraphs(texts)
