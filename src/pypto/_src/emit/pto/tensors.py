"""Tensors of a kernel in the PTO dialect: pointers, views, regions, single elements.

A tensor variable is a name for memory that is known at emission: a pointer parameter, a view of
it, and the offsets at which a `tensor.view` of it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pypto._src.emit.pto.function_body import Body
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.types import partition_type, tensor_view_type
from pypto._src.emit.tensor_parts import check_dense
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import TensorLayout
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.records import NamedTuple

_LAYOUTS: Final = {TensorLayout.DN: "dn", TensorLayout.NZ: "nz"}


class TensorName(NamedTuple):
    """What a tensor variable denotes."""

    pointer: str
    element: str
    view: str
    view_type: str
    strides: tuple[str | int, ...]  # in elements; names of index values, or constants
    offsets: tuple[str | int, ...]  # where the tensor begins in the view


class Tensors:
    """Gives tensor variables their names and writes views of them."""

    def __init__(self, body: Body, scalars: Scalars) -> None:
        self.body = body
        self.scalars = scalars
        self.names: dict[Expr, TensorName] = {}

    def of(self, tensor: Expr) -> TensorName:
        """Return what a tensor variable denotes.

        Raises:
            EmitError: it is not a variable, or names memory that the kernel was not given.
        """
        found = self.names.get(tensor)
        if found is None:
            name = tensor.name if isinstance(tensor, Var) else "a tensor"
            raise EmitError(
                f"{name!r} is not the memory of a parameter",
                tensor.span,
                hint="pass the tensor to the kernel as a pl.Out parameter",
                slug="emit-tensor",
            )
        return found

    def make_view(self, pointer: str, element: str, kind: TensorType) -> TensorName:
        """Emit the view of a whole tensor that begins at ``pointer``."""
        type_ = tensor_view_type(len(kind.shape), element)
        shape = [self._dim(dim) for dim in kind.shape]
        # Constants get their names in the order in which the text shows them.
        names = [self.scalars.as_index(dim) for dim in shape]
        strides = self._strides(kind, shape)
        layout = _layout(kind, shape)
        attribute = f" {{layout = #pto.layout<{layout}>}}" if layout else ""
        view = self.body.fresh()
        self.body.emit(
            f"{view} = pto.make_tensor_view {pointer}, shape = [{', '.join(names)}],\n"
            f"{' ' * (len(view) + 3)}strides = [{', '.join(map(self.scalars.as_index, strides))}]"
            f"{attribute} : {type_}"
        )
        return TensorName(pointer, element, view, type_, tuple(strides), (0,) * len(shape))

    def _dim(self, dim: Expr) -> str | int:
        return dim.value if isinstance(dim, ConstInt) else self.scalars.index(dim)

    def _strides(self, kind: TensorType, shape: Sequence[str | int]) -> list[str | int]:
        view = kind.tensor_view
        if view is not None and view.stride:
            return [self._dim(stride) for stride in view.stride]
        order = list(range(len(shape)))
        if view is not None and view.layout is TensorLayout.DN and len(shape) > 1:
            order[-2:] = order[-1], order[-2]  # rows have the smaller stride
        strides: list[str | int] = [1] * len(shape)
        step: str | int = 1
        for axis in reversed(order):
            strides[axis] = step
            if axis != order[0]:
                step = self._multiplied(step, shape[axis])
        return strides

    def _multiplied(self, a: str | int, b: str | int) -> str | int:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        return self.scalars.sum_of_products([(a, b)])

    def region(
        self, tensor: Expr, offsets: Sequence[Expr], sizes: Sequence[Expr]
    ) -> tuple[str, str]:
        """Emit the view of part of a tensor; return its name and type."""
        base = self.of(tensor)
        if not len(offsets) == len(sizes) == len(base.strides):
            raise EmitError(
                f"{len(offsets)} offsets and {len(sizes)} sizes name a region of a tensor of "
                f"{len(base.strides)} dimensions",
                tensor.span,
                slug="emit-rank",
            )
        starts = [
            self.scalars.sum_of_products([(start, 1), (offset, 1)])
            for start, offset in zip(base.offsets, offsets, strict=True)
        ]
        extents = [self.scalars.index(size) for size in sizes]
        type_ = partition_type(sizes, base.element)
        name = self.body.fresh()
        self.body.emit(
            f"{name} = pto.partition_view {base.view}, offsets = [{', '.join(starts)}], "
            f"sizes = [{', '.join(extents)}]\n"
            f"{' ' * (len(name) + 3)}: {base.view_type} -> {type_}"
        )
        return name, type_

    def reshaped(self, tensor: Expr, kind: TensorType) -> TensorName:
        """Emit the view of a tensor, or of a dense part of one, in another shape.

        Raises:
            EmitError: the part is not contiguous in memory.
        """
        base, part = self.of(tensor), tensor.type
        assert isinstance(part, TensorType)
        check_dense([self._dim(dim) for dim in part.shape], base.strides, tensor.span)
        pointer = base.pointer
        if any(offset != 0 for offset in base.offsets):
            begin = self.scalars.sum_of_products([*zip(base.offsets, base.strides, strict=True)])
            pointer, type_ = self.body.fresh(), f"!pto.ptr<{base.element}>"
            self.body.emit(f"{pointer} = pto.addptr {base.pointer}, {begin} : {type_} -> {type_}")
        return self.make_view(pointer, base.element, kind)

    def window(self, tensor: Expr, offsets: Sequence[Expr]) -> TensorName:
        """Return the name of a tensor that begins at ``offsets`` inside another one."""
        base = self.of(tensor)
        if len(offsets) != len(base.strides):
            raise EmitError("a view of a tensor keeps its number of dimensions", tensor.span)
        moved: list[str | int] = []
        for start, offset in zip(base.offsets, offsets, strict=True):
            if isinstance(start, int) and isinstance(offset, ConstInt):
                moved.append(start + offset.value)
            else:
                moved.append(self.scalars.sum_of_products([(start, 1), (offset, 1)]))
        return base._replace(offsets=tuple(moved))

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> tuple[str, str, str]:
        """Return pointer, linear index and pointee type of one element."""
        base = self.of(tensor)
        pairs: list[tuple[Expr | str | int, str | int]] = []
        for start, item, stride in zip(base.offsets, indices, base.strides, strict=True):
            pairs += [(start, stride), (item, stride)]
        return base.pointer, self.scalars.sum_of_products(pairs), base.element


def _layout(kind: TensorType, shape: Sequence[str | int]) -> str | None:
    """Return the layout attribute of a view, None where the assembler finds it by itself.

    With constant shape and strides it is inferred, and an [N, 1] view follows the tile. With
    anything known only at run time the assembler assumes row-major, which the device's headers
    reject beside a column tile.
    """
    if kind.tensor_view is not None and kind.tensor_view.layout in _LAYOUTS:
        return _LAYOUTS[kind.tensor_view.layout]
    varies = any(not isinstance(dim, int) for dim in shape)
    return "dn" if varies and len(shape) > 1 and shape[-1] == 1 else None
