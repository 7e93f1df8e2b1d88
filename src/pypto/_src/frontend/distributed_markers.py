"""What programs of several ranks use: windows, transfers between ranks, signals.

Like those of `region_markers`, these objects are recognised by identity, and do nothing outside a
kernel. A kernel of one rank never loads this module.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pypto._src.dtypes import DataType
from pypto._src.ir.enums import AtomicType

if TYPE_CHECKING:
    from pypto._src.ir.annotations import DistributedTensor
    from pypto._src.ir.static_names import Integer


class NotifyOp(IntEnum):
    """What a notification does with a signal."""

    AtomicAdd = 0
    Set = 1


class WaitCmp(IntEnum):
    """How a wait compares a signal with the expected value."""

    Eq = 0
    Ge = 1


class ReduceOp(IntEnum):
    """How a collective combines the ranks' values."""

    Sum = 0
    Max = 1
    Min = 2
    Prod = 3


# --------------------------------------------------------------------------------------------
# In functions of pl.jit.host
# --------------------------------------------------------------------------------------------


def world_size() -> int:
    """Return the number of devices of the run; in functions of ``pl.jit.host``."""
    return 1


def alloc_window_buffer(
    size: int | Sequence[int], *, dtype: DataType | None = None, name: str = ""
) -> Any:
    """Return memory that each rank has and all others can access; zero when a run begins.

    ``size`` is a number of bytes, or a shape with ``dtype=``. In functions of ``pl.jit.host``.
    """


def window(buffer: Any, shape: Sequence[int], *, dtype: DataType) -> Any:
    """Return a buffer seen as a tensor: a kernel that gets it sees the memory of its own rank.

    In functions of ``pl.jit.host``.
    """


class step:
    """Launches that begin when all earlier ones have ended, and end before any later one begins.

    On a cluster they are restarted, up to ``restarts`` times, if a rank is lost meanwhile, with
    windows and arrays as they were when the step began. In functions of ``pl.jit.host``.
    """

    def __init__(self, restarts: int = 1) -> None:
        """Take how often the step may be restarted."""

    def __enter__(self) -> None:
        """Begin the step."""

    def __exit__(self, *_: object) -> None:
        """End the step."""


# --------------------------------------------------------------------------------------------
# In kernels
# --------------------------------------------------------------------------------------------


def get_comm_ctx(window: DistributedTensor) -> Any:
    """Return the group of ranks that a window belongs to, for `rank` and `nranks`."""


def rank(ctx: Any) -> Integer:
    """Return the number of this rank, from 0."""
    return 0


def nranks(ctx: Any) -> int:
    """Return the number of ranks."""
    return 1


def remote_load(
    target: Any,
    peer: Any,
    offsets: Sequence[Any],
    shape: Sequence[int],
    valid_shape: Sequence[Any] | None = None,
) -> Any:
    """Return the part of size ``shape`` at ``offsets`` of a peer's window, as a tile."""


def remote_store(
    src: Any,
    target: Any,
    peer: Any,
    offsets: Sequence[Any],
    *,
    atomic: AtomicType = AtomicType.None_,
) -> None:
    """Store a tile in a peer's window at ``offsets``; ``atomic=pl.AtomicType.Add`` adds."""


def put(
    dst: Any,
    peer: Any,
    src: Any,
    dst_offsets: Sequence[Any] | None = None,
    src_offsets: Sequence[Any] | None = None,
    shape: Sequence[int] | None = None,
    *,
    atomic: AtomicType = AtomicType.None_,
    chunk_rows: int = 0,
    chunk_cols: int = 0,
    pipeline: bool = False,
) -> None:
    """Copy ``src``, or its part at ``src_offsets``, to a peer's window ``dst``.

    ``chunk_rows``, ``chunk_cols`` and ``pipeline`` do not change any value.
    """


def get(
    dst: Any,
    peer: Any,
    src: Any,
    dst_offsets: Sequence[Any] | None = None,
    src_offsets: Sequence[Any] | None = None,
    shape: Sequence[int] | None = None,
    *,
    chunk_rows: int = 0,
    chunk_cols: int = 0,
    pipeline: bool = False,
) -> None:
    """Copy a peer's window ``src``, or its part at ``src_offsets``, to ``dst``."""


def notify(target: Any, peer: Any, offsets: Any, value: Any, *, op: NotifyOp) -> None:
    """Add ``value`` to the signal ``target[offsets]`` of a peer, or set the signal to it.

    A peer that has waited for the signal sees what this rank stored or put before.
    """


def wait(signal: Any, offsets: Any, expected: Any, *, cmp: WaitCmp) -> None:
    """Wait until this rank's ``signal[offsets]`` equals ``expected``, or is at least that."""


def defer_wait(signal: Any, offsets: Any, expected: Any, *, cmp: WaitCmp) -> None:
    """Let the task end only when this rank's ``signal[offsets]`` is at least ``expected``."""
