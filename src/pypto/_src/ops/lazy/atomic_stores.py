"""Stores that add to what a tensor holds: ``pl.store(tile, offsets, out, atomic=...)``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.dtypes import MEMBERS
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type
from pypto._src.ops.define import Ints, Offsets, Tensor, Tile, block_op
from pypto._src.ops.memory import size_of_tile, store_cpp, store_pipe, store_pto, store_type
from pypto._src.ops.rules.boxes import region
from pypto._src.ops.rules.type_rules import called, refuse
from pypto._src.ops.rules.valid_parts import given

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite, PtoSite

_ADDED: Final = frozenset(
    MEMBERS[name] for name in ("FP32", "FP16", "BF16", "INT32", "INT16", "INT8")
)
"""Element types that the pipes that write to memory can add to."""


def _type(o: Operands) -> Type:
    kind = store_type(o)
    assert isinstance(kind, TensorType)
    if kind.dtype not in _ADDED:
        refuse(
            o,
            f"{called(o.op)} adds to a tensor of {kind.dtype.member}",
            "element-type",
            "add to a tensor of FP32, FP16, BF16, INT32, INT16 or INT8",
        )
    return kind


def _added(tile: Any, offsets: Sequence[int], shapes: Sequence[int], tensor: Any) -> Any:
    sizes = shapes if tile.size == math.prod(shapes) else tile.shape
    target = region(tensor, offsets, sizes, "pl.store_add adds to")
    target += tile.reshape(target.shape).astype(target.dtype)
    return tensor


def _pto(site: PtoSite) -> None:
    store_pto(site, " {atomicType = #pto<atomic_type atomic_add>}")


def _cpp(site: CppSite) -> None:
    store_cpp(site, "AtomicType::AtomicAdd")


@block_op(
    pipe=store_pipe,
    types=_type,
    complete=size_of_tile,
    valid=given,
    dtypes=_ADDED,
    reads=(0, 3),
    writes=(3,),
    in_place=(),
    columns=(0,),
    spaces={0: frozenset({MemorySpace.Vec, MemorySpace.Acc})},
    space=MemorySpace.DDR,
    numpy=_added,
    pto=_pto,
    isa=_cpp,
)
def store_add(tile: Tile, offsets: Offsets, shapes: Ints, output_tensor: Tensor) -> Tensor:
    """Add ``tile`` to the region of ``output_tensor`` at ``offsets``; return the tensor.

    ``shapes`` is the size of the region, as in `store`. No update is lost where several blocks add
    to the same region; the order of additions is unspecified, so sums of floats may differ in the
    last bits.
    """
    ...
