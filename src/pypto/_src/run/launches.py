"""Launches of kernels on several devices, each a rank: a thread that runs its launches in order.

A launch waits for earlier ones on other devices that write what it reads, as tasks do. Native
kernels reach the signals of `ranks` by two functions of `interrupts.HOST`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from pypto._src import knobs, ranks
from pypto._src.diagnostics import Span
from pypto._src.errors import PyptoError
from pypto._src.lazy import lazy_module
from pypto._src.ranks import Blocked, Launched, Watch, World
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import may_share
from pypto._src.run.interrupts import HOST

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


class Touched(NamedTuple):
    """Memory of the host that a launch reads or writes."""

    array: Array
    is_written: bool


class Launch(NamedTuple):
    """A launch of a kernel on one device."""

    name: str
    device: int
    run: Callable[[], Any]
    touched: tuple[Touched, ...]
    location: Span
    file: str
    """The file of the kernel."""
    takes_turns: bool
    """True if the interpreter runs it: one rank at a time, so that every run is the same."""
    segment: int = 0
    """Launches of a segment begin when all launches of earlier segments have ended."""


class Cluster(Protocol):
    """Ranks that are processes."""

    def watched(self, world: World, name: Callable[[int], str]) -> Callable[[], None]:
        """Watch the ranks while a world runs; return the function that ends the watch."""
        ...


def run_launches(
    launches: Sequence[Launch],
    count: int,
    name: Callable[[int], str],
    seed: int | None = None,
    cluster: Cluster | None = None,
    watch: Watch | None = None,
) -> None:
    """Run launches on ``count`` devices until all have ended.

    ``name`` returns the name of the signal at an address, ``seed`` selects the order in which
    ranks take turns, if they do. The ranks of a ``cluster`` run elsewhere, all at the same time.
    ``watch`` observes ranks that take turns.

    Raises:
        PyptoError: a kernel reports an error, or the ranks deadlock.
    """
    connect()
    if cluster is None:
        seed = knobs.RANK_SEED.get() if seed is None else seed
        if seed is None and any(launch.takes_turns for launch in launches):
            seed = 0
    with _ONE_WORLD:
        world = World(count, seed=seed, name=name, watch=watch)
        ended = [False] * len(launches)
        before = orders(launches)

        def work(device: int) -> None:
            rank = ranks.current()
            assert rank is not None
            for index, launch in enumerate(launches):
                if launch.device != device:
                    continue
                for first in before[index]:
                    _await(world, launches[first], launch, ended, first)
                    if watch is not None:
                        watch.joined(rank, first)
                rank.launched = Launched(launch.location, launch.file)
                try:
                    launch.run()
                except PyptoError as error:
                    raise error.at(launch.location) from None
                if watch is not None:
                    watch.ended(rank, index)
                ended[index] = True
                world.changed()

        end = None if cluster is None else cluster.watched(world, name)
        try:
            world.run([lambda device=device: work(device) for device in range(count)])
        finally:
            if end is not None:
                end()


_ONE_WORLD: Final = threading.Lock()
"""The ranks of two programs would block each other, as both want all threads."""


def _await(world: World, first: Launch, launch: Launch, ended: list[bool], index: int) -> None:
    def text() -> str:
        end = f"the end of {first.name} on device {first.device}"
        if first.segment < launch.segment:
            return f"{end}, which is before the step of {launch.name}"
        return f"{end}, whose result {launch.name} takes"

    world.wait(Blocked(lambda: ended[index], text, launch.location))


def orders(launches: Sequence[Launch]) -> list[list[int]]:
    """Return for each launch the earlier ones on other devices that it must wait for."""
    seen: list[tuple[int, int, int, Touched]] = []  # launch, first and last byte, memory
    found: list[list[int]] = []
    latest: dict[int, int] = {}
    ended: dict[int, int] = {}  # the last launch of each device before this segment
    for index, launch in enumerate(launches):
        if index and launch.segment != launches[index - 1].segment:
            ended = dict(latest)
        latest[launch.device] = index
        mine = [(*_bounds(each.array), each) for each in launch.touched]
        before = {n for device, n in ended.items() if device != launch.device}
        for other, low, high, old in seen:
            if launches[other].device == launch.device or other in before:
                continue
            for first, last, new in mine:
                is_near = low < last and first < high and (old.is_written or new.is_written)
                if is_near and may_share(old.array, new.array):
                    before.add(other)
                    break
        found.append(sorted(before))
        seen += [(index, *each) for each in mine]
    return found


def _bounds(array: Array) -> tuple[int, int]:
    first = last = array.ctypes.data
    if array.size == 0:
        return first, first
    for size, step in zip(array.shape, array.strides, strict=True):
        if step < 0:
            first += (size - 1) * step
        else:
            last += (size - 1) * step
    return first, last + array.itemsize


# --------------------------------------------------------------------------------------------
# Signals for native code
# --------------------------------------------------------------------------------------------

_Notify = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32)
_Transfer = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.POINTER(ctypes.c_int64),
    ctypes.POINTER(ctypes.c_int64),
)
_Wait = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_int64
)


def _notified(address: int, value: int, adds: int) -> None:
    ranks.notify(address, value, adds=bool(adds))


def _waited(address: int, expected: int, at_least: int, line: int) -> int:
    return _of_callback(lambda: ranks.wait(address, expected, at_least=bool(at_least), line=line))


def _transferred(first: int, kind: int, rank: int, sizes: Any, strides: Any) -> int:
    box = ranks.Box(first, tuple(sizes[:rank]), tuple(strides[:rank]))
    return _of_callback(lambda: ranks.transfer(box, ranks.TransferKind(kind)))


def _of_callback(work: Callable[[], None]) -> int:
    """Perform a request of native code; return 0 if the run has failed."""
    try:
        work()
    except ranks.Stopped:
        return 0
    except BaseException as error:  # no exception may leave a callback
        rank = ranks.current()
        if rank is not None:
            rank.world.fail(error)
        return 0
    return 1


_notify_function: Final = _Notify(_notified)
_wait_function: Final = _Wait(_waited)
_transfer_function: Final = _Transfer(_transferred)


def connect() -> None:
    """Let native kernels reach the signals."""
    HOST.notify = ctypes.cast(_notify_function, ctypes.c_void_p).value
    HOST.wait = ctypes.cast(_wait_function, ctypes.c_void_p).value
    HOST.transfer = ctypes.cast(_transfer_function, ctypes.c_void_p).value
