"""Runs a program beside a reference, point by point, and compares as they proceed.

The reference runs in a thread of its own, a few values ahead: only those few are held, so that
programs with hundreds of megabytes of values can be compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from queue import Empty, Full, Queue
from typing import Any, Final

from pypto._src.numerics.trace import LARGEST_VIEW, TracedEvaluator, sample
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import is_array

_AHEAD: Final = 64
"""How many values the reference may be ahead."""
_PATIENCE: Final = 0.2
"""Seconds after which either side checks whether the other one has ended."""


class Values(NamedTuple):
    """The values that a run computed at a point."""

    point: int
    values: tuple[Any, ...]
    operands: tuple[Any, ...]
    passed: tuple[int, ...] = ()
    """The points without a partner that the run has passed since the last one."""


class Stopped(Exception):
    """The comparison is over."""


class Diverged(Exception):
    """The runs have come to different points: branches or numbers of iterations differ."""

    def __init__(self, found: int, wanted: int | None) -> None:
        super().__init__()
        self.found = found
        self.wanted = wanted


Compare = Callable[[Values, Values], None]
"""Takes the values of the program and of the reference; raises `Stopped` to end the runs."""


def in_lockstep(
    tested: tuple[TracedEvaluator, str, Sequence[Any]],
    reference: tuple[TracedEvaluator, str, Sequence[Any]],
    partner: Mapping[int, int],
    compare: Compare,
    *,
    operands: bool = False,
) -> tuple[Any, Any] | None:
    """Run both programs, each a triple of evaluator, entry and arguments; compare aligned points.

    Args:
        tested: The program.
        reference: What it is compared with.
        partner: The reference's point for each point of the program that has one.
        compare: Called for each pair in the order of the program.
        operands: Whether samples of the reference's operands are needed, too.

    Returns:
        The results of both, None if ``compare`` has stopped them.

    Raises:
        Diverged: the runs take different branches.
        EvaluationError: one of them does something that has no meaning.
    """
    kept = frozenset(partner.values())
    queue: Queue[Values | BaseException | None] = Queue(_AHEAD)
    ended = threading.Event()
    returned: list[Any] = []

    def put(item: Values | BaseException | None) -> None:
        while not ended.is_set():
            try:
                return queue.put(item, timeout=_PATIENCE)
            except Full:
                continue
        raise Stopped

    skipped: list[int] = []
    alone: list[int] = []

    def produce(point: int, values: tuple[Any, ...], args: Sequence[Any]) -> None:
        if point not in kept:
            skipped.append(point)
            return
        passed = tuple(skipped)
        skipped.clear()
        put(Values(point, _copies(values), _samples(args) if operands else (), passed))

    def run_reference() -> None:
        evaluator, entry, args = reference
        try:
            returned.append(evaluator.run_on(entry, args, produce))
            put(None)
        except Stopped:
            pass
        except BaseException as error:  # passed to the other thread, and raised there
            with suppress(Stopped):
                put(error)

    def take() -> Values | None:
        while True:
            try:
                found = queue.get(timeout=_PATIENCE)
            except Empty:
                continue
            if isinstance(found, BaseException):
                raise found
            return found

    def consume(point: int, values: tuple[Any, ...], args: Sequence[Any]) -> None:
        other = partner.get(point)
        if other is None:
            alone.append(point)
            return
        wanted = take()
        if wanted is None or wanted.point != other:
            raise Diverged(point, None if wanted is None else wanted.point)
        passed = tuple(alone)
        alone.clear()
        compare(Values(point, values, tuple(args), passed), wanted)

    thread = threading.Thread(target=run_reference, name="pypto-reference", daemon=True)
    thread.start()
    evaluator, entry, args = tested
    try:
        result = evaluator.run_on(entry, args, consume)
        rest = take()
        if rest is not None:
            raise Diverged(-1, rest.point)
        return result, returned[0]
    except Stopped:
        return None
    finally:
        ended.set()
        thread.join()


def _copies(values: Sequence[Any]) -> tuple[Any, ...]:
    """Return copies of values that the run cannot change later."""
    return tuple(
        [(v.copy() if v.size <= LARGEST_VIEW else None) if is_array(v) else v for v in values]
    )


def _samples(values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple([sample(v).copy() if is_array(v) else v for v in values])
