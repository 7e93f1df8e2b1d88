"""One kernel call on one core: when each of its instructions starts and ends, and what delayed it.

The order is that of `interp.pipe_order`; here its moments are times, each with the instruction that
decided it and the flags through which it was waited for.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from pypto._src.cost.cases import Case
from pypto._src.cost.formulas import Timing
from pypto._src.cost.model import CostModel
from pypto._src.diagnostics import Span
from pypto._src.errors import EvaluationError
from pypto._src.interp.pipe_order import PIPES, PipeOrder, Triple
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.records import NamedTuple

Moment = tuple[float, int, int, int]
"""A time, the number of the event that decided it, the sites that waited and that signalled.

-1 stands for none: it was the scalar unit that had not come further.
"""

_CUBE_PIPES: Final = frozenset({PipeType.M, PipeType.MTE1, PipeType.FIX})

_START: Final[Moment] = (0.0, -1, -1, -1)


class TileUse(NamedTuple):
    """A tile that an instruction reads or writes, and where it is in memory."""

    name: str
    space: MemorySpace
    address: int
    size: int
    is_written: bool


class Site(NamedTuple):
    """One statement of a kernel that a pipe or the scalar unit executes."""

    kernel: str
    pipe: PipeType
    name: str
    """Its name in the user's program."""
    instruction: str
    shape: tuple[int, ...]
    span: Span
    tiles: tuple[TileUse, ...] = ()
    """The tiles that it reads, then those that it writes."""


class Event(NamedTuple):
    """One instruction that ran, in cycles since its core began the kernel."""

    site: int
    start: float
    end: float
    """When the pipe is free for the next instruction."""
    done: float
    """When the results are there."""
    cause: int
    """The number of the event that it waited for, -1 for none."""
    wait: int
    """The site of the wait or barrier, -1 for none."""
    signal: int
    """The site of the set, -1 for none."""


class Share(NamedTuple):
    """A core's share of what all cores share: bytes per cycle."""

    hbm: float
    l2: float


class Rates(NamedTuple):
    """Figures of the machine that are needed at each instruction."""

    scalar: float
    transfer: float
    cube: float
    flag: float
    flag_latency: float
    hbm: float
    l2: float
    store: float
    cold_vector: float
    cold_cube: float
    warm_vector: float
    warm_cube: float
    warm_latency: float
    cold_row: float
    warm_row: float
    queue: int

    @staticmethod
    def of(model: CostModel) -> Rates:
        """Return the figures of a model."""
        figure = model.machine
        return Rates(
            scalar=figure("issue.scalar"),
            transfer=figure("issue.transfer"),
            cube=figure("issue.cube"),
            flag=figure("flags.set_issue"),
            flag_latency=figure("flags.latency"),
            hbm=figure("memory.hbm"),
            l2=figure("memory.l2"),
            store=figure("stream.store"),
            cold_vector=figure("stream.vector_load"),
            cold_cube=figure("stream.cube_load"),
            warm_vector=figure("warm.vector_load"),
            warm_cube=figure("warm.cube_load"),
            warm_latency=figure("warm.latency"),
            cold_row=figure("bursts.cold"),
            warm_row=figure("bursts.warm"),
            queue=int(figure("queue.depth")),
        )


class CoreTimeline:
    """The instructions of one kernel call, each as early as order and figures allow."""

    def __init__(self, kernel: str, rates: Rates, share: Share) -> None:
        self.kernel = kernel
        self.rates = rates
        self.share = share
        self.order: PipeOrder[Moment] = PipeOrder(_START)
        self.events: list[Event] = []
        self.missed_bytes = 0
        self.hit_bytes = 0
        self.written_bytes = 0
        self.memory_time = 0.0
        """How long data moved from and to memory; what moves both ways at once counts twice."""
        self.cache_time = 0.0
        """How long data came from the cache."""
        self.scalar = 0.0
        """How long the scalar unit itself was busy."""
        self.is_cube = False
        """True if it runs on a core that multiplies matrices."""
        self._queues: list[deque[float]] = [deque(maxlen=rates.queue) for _ in range(PIPES)]
        self._touched = [False] * PIPES

    @property
    def cycles(self) -> float:
        """How long the call takes."""
        order = self.order
        return max(order.issued, *order.free, *order.drained)[0]

    def _issue(self, cost: float) -> None:
        time, *cause = self.order.issued
        self.scalar += cost
        self.order.issued = (time + cost, cause[0], cause[1], cause[2])

    def work(self, site: int, pipe: PipeType, timing: Timing, issue: float) -> Event:
        """Issue one instruction to its pipe."""
        order, queue = self.order, self._queues[pipe]
        if len(queue) == queue.maxlen and queue[0] > order.issued[0]:
            order.issued = (queue[0], len(self.events) - 1, -1, -1)  # full: wait until one starts
        self._issue(issue)
        ready = order.ready(pipe, pipe is PipeType.S)
        start = ready[0]
        is_idle = not self._touched[pipe] or start > order.drained[pipe][0]
        self._touched[pipe] = True
        end = start + (timing.head if is_idle else 0.0) + timing.busy
        number = len(self.events)
        event = Event(site, start, end, end + timing.tail, ready[1], ready[2], ready[3])
        self.events.append(event)
        queue.append(start)
        order.work(pipe, (end, number, -1, -1), (event.done, number, -1, -1))
        self.is_cube = self.is_cube or pipe in _CUBE_PIPES
        if pipe is PipeType.S:
            order.issued = max(order.issued, (event.done, number, -1, -1))
        return event

    def set(self, site: int, triple: Triple) -> None:
        """Raise a flag when all earlier work of its pipe is complete."""
        self._issue(self.rates.flag)
        time, cause, _, _ = self.order.effect(triple[0])
        self.order.set(triple, (time + self.rates.flag_latency, cause, -1, site))

    def wait(self, site: int, triple: Triple, span: Span) -> None:
        """Make a pipe wait for a flag.

        Raises:
            EvaluationError: nothing before raises it.
        """
        self._issue(self.rates.flag)
        queue = self.order.raised.get(triple)
        if not queue:
            source, target, event = triple
            raise EvaluationError(
                f"{target.name} waits for flag {event} of {source.name}, "
                "which nothing before raises",
                span,
                "pypto check says which flags are missing",
                slug="sync-deadlock",
            )
        time, cause, _, signal = queue[0]
        queue[0] = (time, cause, site, signal)
        self.order.wait(triple)

    def barrier(self, site: int, pipe: PipeType) -> None:
        """Make a pipe wait until all its work is complete."""
        self._issue(self.rates.scalar)
        time, cause, _, _ = self.order.drained[pipe]
        self.order.drained[pipe] = (time, cause, site, -1)
        self.order.barrier(pipe)

    def full_barrier(self, site: int) -> None:
        """Make the program wait until all work is complete."""
        self._issue(self.rates.scalar)
        self.order.full_barrier()
        time, cause, _, _ = self.order.issued
        self.order.issued = (time, cause, site, -1)

    def load(self, case: Case, timing: Timing, missing: float, *, is_cube: bool) -> Timing:
        """Return the timing of a load where it is: alone or in a stream.

        ``missing`` is the fraction that comes from memory; the rest is in the cache.
        """
        rates, size = self.rates, case.bytes
        missed = round(size * missing)
        self.missed_bytes += missed
        self.hit_bytes += size - missed
        ready = self.order.ready(PipeType.MTE2, in_order=False)
        is_alone = self.order.drained[PipeType.MTE2][0] <= ready[0]
        cold = rates.cold_cube if is_cube else rates.cold_vector
        row = missing * rates.cold_row + (1 - missing) * rates.warm_row
        if is_alone and timing.busy:
            cold, row = size / timing.busy, (1 - missing) * rates.warm_row
        warm = rates.warm_cube if is_cube else rates.warm_vector
        from_memory = missed / min(cold, self.share.hbm)
        from_cache = (size - missed) / min(warm, self.share.l2)
        self.memory_time += from_memory
        self.cache_time += from_cache
        busy = from_memory + from_cache + row * case.valid_rows
        latency = missing * timing.head + (1 - missing) * rates.warm_latency
        return Timing(0.0, max(busy, rates.transfer), latency)

    def store(self, case: Case, timing: Timing) -> Timing:
        """Return the timing of a store where it is."""
        self.written_bytes += case.bytes
        rate = min(self.rates.store, self.share.hbm)
        busy = case.bytes / rate
        self.memory_time += busy
        return Timing(0.0, max(busy, self.rates.transfer), timing.head)

    def drain(self, case: Case, timing: Timing) -> Timing:
        """Return the timing of a store from the accumulator where it is."""
        size = case.number("out_bytes", case.bytes)
        self.written_bytes += size
        least = size / self.share.hbm
        self.memory_time += least
        return Timing(timing.head, max(timing.busy, least), timing.tail)
