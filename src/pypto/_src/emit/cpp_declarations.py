"""The prologue of a C++ kernel: its arguments, and the declarations of its tensors and tiles.

Owns the lines in front of the body, and those that declare a tile wherever it is declared. Refuses
to know calls and control flow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pypto._src.emit.cpp_kernel import Kernel, space_of
from pypto._src.emit.cpp_tensors import (
    Place,
    declare_global,
    parameter_sizes,
    row_major_text,
    tile_rows_cols,
    valid_sizes,
)
from pypto._src.emit.cpp_types import Size, bit_cast_lines, c_type, row_major, tile_text
from pypto._src.emit.writer import CodeEmitter
from pypto._src.errors import EmitError
from pypto._src.ir.dims import dimension_vars
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.nodes import (
    ConstInt,
    ScalarType,
    TensorType,
    TileType,
    Var,
    const_value,
    dtype_of,
    static_shape,
)
from pypto._src.ir.unique import structure


class Declarations:
    """Declares what the body of a kernel uses; the order of the calls is that of the names."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._computed: list[str] = []  # sizes of tensors that are known at run time
        self._arguments: list[str] = []
        # Tensors and tiles, an empty line after each.
        self._tensors: list[str] = []
        self._tiles: list[str] = []
        # By a type, and by what its class depends on, both of which the function keeps.
        self._tile_texts: dict[int, tuple[str, str, str]] = {}
        self._class_texts: dict[tuple[Any, ...], tuple[str, str]] = {}

    def declare(self) -> None:
        """Name the parameters and the tiles that ops make, and write their declarations.

        Raises:
            EmitError: one has no C++ form; the error points at its definition.
        """
        kernel = self._kernel
        self._unpack_arguments()
        params = [p for p in kernel.function.params if isinstance(p.type, TensorType)]
        for param in params:
            self._tensors += (*self._tensor_param(param), "")
        for var in kernel.tiles:
            self._tiles += (*self.tile(var), "")

    def write(self, out: CodeEmitter) -> None:
        """Write the sections of the prologue, those of parts of tensors among them."""
        parts = [line for lines in self._kernel.regions.declarations for line in (*lines, "")]
        _section(out, "Unpack arguments", [*self._arguments, ""] if self._arguments else ())
        _section(out, "Shapes and strides", [*self._computed, ""] if self._computed else ())
        _section(out, "Global tensor declarations", self._tensors + parts)
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
        """Return the line that unpacks a tensor's raw pointer; its object has "Global" behind."""
        kernel = self._kernel
        name = kernel.context.fresh(param.name)
        kernel.context.register_var(param, f"{name}Global")
        kernel.context.register_pointer(f"{name}Global", name)
        kernel.regions.declared.add(name)
        pointer = f"__gm__ {c_type(dtype_of(param))}*"
        return f"{pointer} {name} = reinterpret_cast<{pointer}>({word});"

    # ----- tensors --------------------------------------------------------------------------

    def _tensor_param(self, param: Var) -> list[str]:
        kernel = self._kernel
        whole = kernel.context.get_var_name(param)
        name = kernel.context.get_pointer(whole)
        kind = param.type
        assert isinstance(kind, TensorType)
        try:
            shape: Sequence[Size] | None = static_shape(kind)
            if shape is not None and kind.tensor_view is None:
                strides: Sequence[Size] = row_major(shape)
            else:
                shape = [
                    self._run_time(size, f"{name}_dim{axis}")
                    for axis, size in enumerate(parameter_sizes(param, kernel.scalars.text))
                ]
                strides = self._strides(kind, shape, name)
            element = c_type(kind.dtype)
            place = Place(name, name, element, tuple(shape), tuple(strides), whole)
            kernel.places[whole] = place
            return declare_global(name, place, place.shape, "ND", name)
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
            strides = row_major_text(shape)
        return [
            self._run_time(stride, f"{name}_stride{axis}") for axis, stride in enumerate(strides)
        ]

    def _run_time(self, size: Size, name: str) -> Size:
        """Return a size as a number or variable; an expression gets a variable of its own."""
        if isinstance(size, int) or size.isidentifier():
            return size
        known = self._kernel.context.fresh(name)
        self._computed.append(f"int64_t {known} = {size};")
        return known

    # ----- tiles ----------------------------------------------------------------------------

    def tile(self, var: Var) -> list[str]:
        """Name a tile; return the lines that declare it: its type, the object, its address."""
        name, kind = self._kernel.context.declare(var), var.type
        texts = self._tile_texts.get(id(kind))
        if texts is None:
            assert isinstance(kind, TileType)
            texts = self._tile_texts[id(kind)] = self._texts_of(var, kind)
        whole, size, address = texts
        lines = [f"using {name}Type = {whole};", f"{name}Type {name}({size});"]
        if address:
            lines.append(f"TASSIGN({name}, {address});")
        return lines

    def _texts_of(self, var: Var, kind: TileType) -> tuple[str, str, str]:
        """Return the class of a tile, the arguments of its constructor, and its address if any."""
        memref = kind.memref
        space = None if memref is None else memref.memory_space_
        key = id(kind.shape), kind.dtype, id(kind.tile_view), space
        class_text = self._class_texts.get(key)
        if class_text is None:
            class_text = self._class_texts[key] = self._class_text(var, kind)
        address = None if memref is None else const_value(memref.addr_)
        return *class_text, "" if address is None or address < 0 else f"0x{address:x}"

    def _class_text(self, var: Var, kind: TileType) -> tuple[str, str]:
        """Return the class of a tile, and the arguments of its constructor."""
        known = structure(kind)
        key = known, space_of(kind)
        found = None if known is None else CLASSES.get(key)
        if found is None:
            try:
                found = _class_text(kind)
            except EmitError as error:
                raise error.at(var.span) from None
            if known is not None:
                if len(CLASSES) >= MOST_CLASSES:
                    CLASSES.clear()
                CLASSES[key] = found
        return found


CLASSES: Final[dict[tuple[Any, MemorySpace], tuple[str, str]]] = {}
"""Classes of tiles by structure and memory, for the whole process."""
MOST_CLASSES: Final = 1024


def _class_text(kind: TileType) -> tuple[str, str]:
    rows, cols = tile_rows_cols(kind)
    valid = [const_value(size) for size in valid_sizes(kind)] or [rows, cols]
    # Sizes known at run time are set where the tile gets its value.
    given = [
        known if known is not None else full
        for known, full in zip(valid, (rows, cols), strict=True)
    ]
    return tile_text(kind, space_of(kind), rows, cols), f"{given[0]}, {given[1]}"


def _section(out: CodeEmitter, title: str, lines: Sequence[str]) -> None:
    if lines:
        out.emit_line(f"// {title}")
        out.emit_lines(lines)
