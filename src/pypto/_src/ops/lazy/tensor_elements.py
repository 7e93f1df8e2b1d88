"""Single elements of tensors, written by the scalar pipe; `tensor.read` reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto._src.ir.enums import PipeType
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type, UnknownType
from pypto._src.ops.define import Offsets, Scalar, Tensor, tensor_op
from pypto._src.ops.lazy.elements import check_number, write_at
from pypto._src.ops.rules.boxes import elements
from pypto._src.ops.tensor import check_indices, with_flat_index

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite, PtoSite


def _write_type(o: Operands) -> Type:
    kind = o.tensor(0)
    check_indices(o, kind.shape, o.ints(1))
    check_number(o, kind.dtype, 2)
    return UnknownType.get()


def _write_pto(site: PtoSite) -> None:
    tensor, indices, number = site.call.args
    pointer, at, element = site.element(tensor, elements(indices))
    value = site.long(number) if element == "i64" else site.args[2]
    site.emit(f"pto.store_scalar {value}, {pointer}[{at}] : !pto.ptr<{element}>, {element}")


def _write_cpp(site: CppSite) -> None:
    tensor, indices, value = site.call.args
    site.emit(f"{site.element(tensor, elements(indices))} = {site.expr(value)};")


@tensor_op(
    pipe=PipeType.S,
    types=_write_type,
    complete=with_flat_index,
    reads=(),
    writes=(0,),
    numpy=write_at,
    pto=_write_pto,
    isa=_write_cpp,
)
def write(tensor: Tensor, indices: Offsets, value: Scalar) -> None:
    """Set the element of ``tensor`` at ``indices`` to ``value``, which has its element type.

    The tensor is changed in place. A bare number is an index in row-major order.
    """
    ...
