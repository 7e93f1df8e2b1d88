"""Signals between ranks: INT32 elements of windows that one rank changes and another waits on.

Also the ops that mark reads and writes of a peer's window, for peers that share no memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from pypto._src import ranks
from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError, EvaluationError
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.exprs import ConstInt
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import ScalarType, Type, UnknownType
from pypto._src.ops.define import STORABLE, Offsets, Scalar, Tensor, system_op
from pypto._src.ops.rules.boxes import check_region, elements, region
from pypto._src.ops.rules.type_rules import called, operand_name, refuse
from pypto._src.ops.tensor import check_indices, with_flat_index

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.ir.emit_sites import CppSite, PtoSite

    Array = np.ndarray[Any, Any]

_BITS: Final = 32


def _type(o: Operands) -> Type:
    kind = o.tensor(0)
    check_indices(o, kind.shape, o.ints(1))
    if kind.dtype is not DataType.INT32:
        refuse(
            o,
            f"{called(o.op)} takes a signal, an element of INT32; {operand_name(o, 0)} has "
            f"{kind.dtype.member}",
            "element-type",
            "make it of INT32: pld.window(buffer, [1, 1], dtype=pl.INT32)",
            shown=(0,),
        )
    value = o.args[2]
    if not isinstance(value.type, ScalarType) or not value.type.dtype.is_int():
        refuse(
            o,
            f"{called(o.op)} takes an integer, {operand_name(o, 2)} is not one",
            "dtype-mismatch",
            shown=(2,),
        )
    if isinstance(value, ConstInt) and not -(1 << _BITS - 1) <= value.value < 1 << _BITS - 1:
        refuse(o, f"a signal is an INT32, and {value.value} is out of its range", "dtype-mismatch")
    return UnknownType.get()


def _address(array: Array, indices: Sequence[int], verb: str) -> int:
    for index, limit in zip(indices, array.shape, strict=True):
        if not 0 <= index < limit:
            raise EvaluationError(
                f"pld.system.{verb} of element {list(indices)} of {list(array.shape)}",
                slug="out-of-bounds",
            )
    steps = zip(indices, array.strides, strict=True)
    return array.ctypes.data + sum(index * step for index, step in steps)


def _notify(array: Array, indices: Sequence[int], value: int, adds: bool) -> None:
    ranks.notify(_address(array, indices, "notify"), int(value), adds=adds)


def _wait(
    array: Array, indices: Sequence[int], expected: int, at_least: bool, line: int = 0
) -> None:
    ranks.wait(_address(array, indices, "wait"), int(expected), at_least=at_least, line=line)


def _no_pto(site: PtoSite) -> None:
    raise EmitError(
        f"{site.call.op.name} has no PTO text: the assembler does not support ranks",
        site.call.span,
        hint="run the program from its function of @pl.jit.host",
        slug="emit-op",
    )


def _notify_cpp(site: CppSite) -> None:
    signal, indices, value = site.call.args
    at = site.element(signal, elements(indices))
    kind = "AtomicAdd" if site.call.kwargs["adds"] else "Set"
    site.emit("pipe_barrier(PIPE_ALL);")
    site.emit(f"TNOTIFY(&{at}, {site.expr(value)}, NotifyOp::{kind});")


def _wait_cpp(site: CppSite) -> None:
    signal, indices, expected = site.call.args
    at = site.element(signal, elements(indices))
    kind = "GE" if site.call.kwargs["at_least"] else "EQ"
    line = site.call.kwargs.get("line", 0)
    site.emit(f"TWAIT(&{at}, {site.expr(expected)}, WaitCmp::{kind}, {line});")
    site.emit("pipe_barrier(PIPE_ALL);")


@system_op(
    types=_type,
    dtypes=(DataType.INT32,),
    complete=with_flat_index,
    reads=(0,),
    writes=(0,),
    numpy=_notify,
    pto=_no_pto,
    isa=_notify_cpp,
)
def notify(signal: Tensor, indices: Offsets, value: Scalar, *, adds: bool = True) -> None:
    """Add ``value`` to the element of ``signal`` at ``indices``, or set it; wake waiting ranks.

    A rank that waits on the signal sees everything that this rank stored before.
    """
    ...


@system_op(
    types=_type,
    dtypes=(DataType.INT32,),
    complete=with_flat_index,
    reads=(0,),
    writes=(0,),
    numpy=_wait,
    pto=_no_pto,
    isa=_wait_cpp,
)
def wait(
    signal: Tensor, indices: Offsets, expected: Scalar, *, at_least: bool = True, line: int = 0
) -> None:
    """Wait until the element of ``signal`` at ``indices`` is ``expected``, or at least that.

    ``line`` is the source line of the wait, for messages.
    """
    ...


# --------------------------------------------------------------------------------------------
# Boxes of a peer's window
# --------------------------------------------------------------------------------------------


def _box_type(o: Operands) -> Type:
    check_region(o, 0, 1)
    if static_shape(o.tensor(0)) is None:
        refuse(o, f"{called(o.op)} takes a window, whose shape is constant", "tile-shape")
    return UnknownType.get()


def _kind(adds: bool, *, is_done: bool) -> ranks.TransferKind:
    kinds = ranks.TransferKind
    if is_done:
        return kinds.END_ADD if adds else kinds.DELIVER
    return kinds.BEGIN_ADD if adds else kinds.FETCH


def _transfer(
    array: Array, offsets: Sequence[int], sizes: Sequence[int], adds: bool, *, is_done: bool
) -> None:
    box = region(array, offsets, sizes, "a transfer of", "window")
    ranks.transfer(ranks.Box(box.ctypes.data, box.shape, box.strides), _kind(adds, is_done=is_done))


def _fetch(array: Array, offsets: Sequence[int], sizes: Sequence[int], adds: bool) -> None:
    _transfer(array, offsets, sizes, adds, is_done=False)


def _deliver(array: Array, offsets: Sequence[int], sizes: Sequence[int], adds: bool) -> None:
    _transfer(array, offsets, sizes, adds, is_done=True)


def _box_cpp(site: CppSite, *, is_done: bool) -> None:
    window, offsets, sizes = site.call.args
    kind = window.type
    assert isinstance(kind, TensorType)
    stride, strides = kind.dtype.bytes, list[int]()
    for size in reversed(static_shape(kind) or ()):
        strides.insert(0, stride)
        stride *= size
    at = site.element(window, elements(offsets))
    lengths = ", ".join(site.expr(size) for size in elements(sizes))
    steps = ", ".join(map(str, strides))
    name = "".join(
        word.title()
        for word in _kind(bool(site.call.kwargs["adds"]), is_done=is_done).name.split("_")
    )
    site.emit("pipe_barrier(PIPE_ALL);")
    site.emit(f"TTRANSFER(&{at}, {{{lengths}}}, {{{steps}}}, WindowTransfer::{name});")


def _fetch_cpp(site: CppSite) -> None:
    _box_cpp(site, is_done=False)


def _deliver_cpp(site: CppSite) -> None:
    _box_cpp(site, is_done=True)


_box_op: Final = partial(
    system_op, types=_box_type, dtypes=STORABLE, reads=(0,), writes=(0,), pto=_no_pto
)
"""Registers an op that moves a box of a window between ranks."""


@_box_op(numpy=_fetch, isa=_fetch_cpp)
def fetch(window: Tensor, offsets: Offsets, sizes: Offsets, *, adds: bool = False) -> None:
    """Fetch a box of a peer's ``window`` before it is read, or with ``adds`` before it is added to.

    The box has a start in ``offsets`` and a length in ``sizes`` for each dimension. If ranks share
    memory, this does nothing.
    """
    ...


@_box_op(numpy=_deliver, isa=_deliver_cpp)
def deliver(window: Tensor, offsets: Offsets, sizes: Offsets, *, adds: bool = False) -> None:
    """Send a box of a peer's ``window`` to the peer after it is written, or with ``adds`` added to.

    The box has a start in ``offsets`` and a length in ``sizes`` for each dimension. If ranks share
    memory, this does nothing.
    """
    ...
