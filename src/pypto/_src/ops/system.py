"""Ops on a core itself: flags and barriers between its pipes, inserted by passes; its number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pypto._src.dtypes import DataType
from pypto._src.errors import OpError
from pypto._src.ir.array_types import TileType, static_shape
from pypto._src.ir.enums import PipeType
from pypto._src.ir.exprs import Call
from pypto._src.ir.opdef import Operands
from pypto._src.ir.types import Type, UnknownType, scalar_type
from pypto._src.ops.define import Scalar, block_op, system_op
from pypto._src.targets import A2A3

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite, PtoSite


def _nothing(_operands: Operands) -> Type:
    return UnknownType.get()


def _flag_type(o: Operands) -> Type:
    first, second = PipeType(o.kwargs["set_pipe"]), PipeType(o.kwargs["wait_pipe"])
    event = int(o.kwargs["event_id"])
    if first is second or PipeType.ALL in (first, second):
        raise OpError(
            f"a flag goes from one pipe to another, got {first.name} and {second.name}",
            hint=f"write pl.system.bar_{second.name.lower() if second is PipeType.V else 'all'}()",
            slug="sync",
        )
    if not 0 <= event < A2A3.event_ids:
        raise OpError(
            f"event {event} does not exist; a pair of pipes has events 0 to {A2A3.event_ids - 1}",
            hint="write event_id=0",
            slug="sync",
        )
    return UnknownType.get()


_NAMES: Final = {pipe: pipe.name for pipe in PipeType}
"""Names of pipes by member; members compare equal to their numbers."""


def _flag(site: CppSite | PtoSite) -> tuple[str, str, int]:
    kwargs = site.call.kwargs
    return _NAMES[kwargs["set_pipe"]], _NAMES[kwargs["wait_pipe"]], int(kwargs["event_id"])


def _set_pto(site: PtoSite) -> None:
    first, second, event = _flag(site)
    site.emit(f"pto.set_flag[<PIPE_{first}>, <PIPE_{second}>, <EVENT_ID{event}>]")


def _set_cpp(site: CppSite) -> None:
    first, second, event = _flag(site)
    site.emit(f"set_flag(PIPE_{first}, PIPE_{second}, EVENT_ID{event});")


@system_op(
    types=_flag_type, pto=_set_pto, isa=_set_cpp, numpy=lambda set_pipe, wait_pipe, event_id: None
)
def sync_src(set_pipe: PipeType, wait_pipe: PipeType, event_id: int) -> None:
    """Make ``set_pipe`` set a flag for ``wait_pipe`` once its work so far is complete."""
    ...


def _wait_pto(site: PtoSite) -> None:
    first, second, event = _flag(site)
    site.emit(f"pto.wait_flag[<PIPE_{first}>, <PIPE_{second}>, <EVENT_ID{event}>]")


def _wait_cpp(site: CppSite) -> None:
    first, second, event = _flag(site)
    site.emit(f"wait_flag(PIPE_{first}, PIPE_{second}, EVENT_ID{event});")


@system_op(
    types=_flag_type, pto=_wait_pto, isa=_wait_cpp, numpy=lambda set_pipe, wait_pipe, event_id: None
)
def sync_dst(set_pipe: PipeType, wait_pipe: PipeType, event_id: int) -> None:
    """Make ``wait_pipe`` wait for the flag that ``set_pipe`` sets, and clear it."""
    ...


@system_op(
    types=_nothing,
    pto=lambda site: site.emit("pto.barrier <PIPE_V>"),
    isa=lambda site: site.emit("pipe_barrier(PIPE_V);"),
    numpy=lambda: None,
)
def bar_v() -> None:
    """Make the vector pipe complete its work so far before it starts more."""
    ...


@system_op(
    types=_nothing,
    pto=lambda site: site.emit("pto.barrier <PIPE_M>"),
    isa=lambda site: site.emit("pipe_barrier(PIPE_M);"),
    numpy=lambda: None,
)
def bar_m() -> None:
    """Make the matrix pipe complete its work so far before it starts more."""
    ...


@system_op(
    types=_nothing,
    pto=lambda site: site.emit("pto.barrier <PIPE_ALL>"),
    isa=lambda site: site.emit("pipe_barrier(PIPE_ALL);"),
    numpy=lambda: None,
)
def bar_all() -> None:
    """Make all pipes of the core complete their work so far before any starts more."""
    ...


SMALL_CUBE: Final = 10
"""With fewer 16 x 16 fractals in the result than this, the matrix unit needs a barrier between two
writes of one accumulator; with this many or more they complete in order (hardware sheet, 2.4)."""


def completes_in_order(call: Call, pipe: PipeType) -> bool:
    """True if ``call`` starts only when everything before it on its pipe is complete."""
    if pipe is PipeType.S:
        return True
    kind = call.type
    if pipe is not PipeType.M or not isinstance(kind, TileType):
        return False
    shape = static_shape(kind)
    if shape is None or len(shape) != 2:
        return False
    return -(-shape[0] // 16) * -(-shape[1] // 16) >= SMALL_CUBE


# --------------------------------------------------------------------------------------------
# The core itself
# --------------------------------------------------------------------------------------------


def _block_idx_pto(site: PtoSite) -> None:
    site.emit(f"{site.dst} = pto.get_block_idx")


def _block_idx_cpp(site: CppSite) -> None:
    site.emit(f"{site.dst} = get_block_idx();")


@block_op(
    pipe=PipeType.S,
    types=lambda _operands: scalar_type(DataType.UINT64),
    numpy=lambda: 0,
    pto=_block_idx_pto,
    isa=_block_idx_cpp,
)
def get_block_idx() -> Scalar:
    """Return the index, from 0, of the core that runs the kernel; 0 if there is only one core."""
    ...
