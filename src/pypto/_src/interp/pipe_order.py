"""What an entry of a core's queues waits for: the one model of their order.

The scalar unit issues entries in program order, and each pipe starts its own in order (hardware
sheet, 3.1). Going through the program, `PipeOrder` keeps for each pipe the moment from which its
next entry may start and the moment at which all its entries are complete, and for each flag the
moments at which it is raised. Moments are anything that `max` compares: whether one waits for a
certain entry (`pipe_queues.held_back`), or a time and what caused it (`timeline`).
"""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from pypto._src.ir.enums import PipeType

PIPES: Final = 7

Triple: TypeAlias = "tuple[PipeType, PipeType, int]"


class Moment(Protocol):
    """What `max` compares."""

    def __lt__(self, other: Any, /) -> bool:
        """True if this is earlier."""
        ...


T = TypeVar("T", bound=Moment)


class PipeOrder(Generic[T]):
    """The earliest moments at which entries may start, along a program."""

    __slots__ = ("drained", "free", "issued", "raised")

    def __init__(self, start: T) -> None:
        self.issued: T = start
        """When the scalar unit issues the next entry."""
        self.free: list[T] = [start] * PIPES
        """When the next entry of a pipe may start."""
        self.drained: list[T] = [start] * PIPES
        """When all entries of a pipe are complete."""
        self.raised: dict[Triple, deque[T]] = {}
        """When each flag is raised for which there was no wait yet."""

    def ready(self, pipe: PipeType, in_order: bool) -> T:
        """Return when work may start; in order, if all work of its pipe completes in order."""
        ready = max(self.issued, self.free[pipe])
        return max(ready, self.drained[pipe]) if in_order else ready

    def work(self, pipe: PipeType, free: T, done: T) -> None:
        """Record when the next entry of a pipe may start, and when this one is complete."""
        self.free[pipe] = free
        self.drained[pipe] = max(self.drained[pipe], done)

    def effect(self, pipe: PipeType) -> T:
        """Return when a set takes effect: when all earlier entries of its pipe are complete."""
        return max(self.issued, self.free[pipe], self.drained[pipe])

    def set(self, triple: Triple, effect: T) -> None:
        """Raise a flag at a moment."""
        self.raised.setdefault(triple, deque()).append(effect)
        self.drained[triple[0]] = effect

    def wait(self, triple: Triple) -> T | None:
        """Make a pipe wait for a flag, which is cleared; None if no earlier entry raises it."""
        queue = self.raised.get(triple)
        if not queue:
            return None
        raised = queue.popleft()
        self.hold(triple[1], raised)
        return raised

    def hold(self, pipe: PipeType, until: T) -> None:
        """Block a pipe until a moment; blocking the scalar pipe also blocks issuing."""
        self.free[pipe] = max(self.free[pipe], until)
        if pipe is PipeType.S:
            self.issued = max(self.issued, self.free[pipe])

    def barrier(self, pipe: PipeType) -> None:
        """Block a pipe until all its earlier entries are complete."""
        self.free[pipe] = max(self.free[pipe], self.drained[pipe])

    def full_barrier(self) -> None:
        """Block the program until all entries of all pipes are complete."""
        self.issued = max(self.issued, *self.free, *self.drained)
