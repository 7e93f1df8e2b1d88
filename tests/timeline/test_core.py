"""One core's timeline: instructions start as soon as pipes, flags and barriers allow."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto._src.cost.cases import Case
from pypto._src.cost.formulas import Timing
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.diagnostics import UNKNOWN_SPAN
from pypto._src.errors import EvaluationError
from pypto._src.ir.enums import PipeType
from pypto._src.timeline.core import CoreTimeline, Rates, Share

MTE2, V, MTE3, S = PipeType.MTE2, PipeType.V, PipeType.MTE3, PipeType.S
FREE = Rates.of(CostModel(load_table("a2a3")))._replace(flag=0.0, scalar=0.0, queue=10_000)


def core(rates: Rates = FREE) -> CoreTimeline:
    return CoreTimeline("kernel", rates, Share(800.0, 2700.0))


def timing(busy: float, tail: float = 0.0) -> Timing:
    return Timing(0.0, busy, tail)


def test_pipes_run_side_by_side() -> None:
    """Without flags pipes run independently; a pipe runs one instruction after another."""
    found = core()
    for pipe, busy in ((MTE2, 10), (V, 3), (MTE2, 10), (V, 3)):
        found.work(0, pipe, timing(busy), 0.0)
    assert [(e.start, e.end) for e in found.events] == [(0, 10), (0, 3), (10, 20), (3, 6)]
    assert found.cycles == 20


def test_a_wait_holds_its_pipe_until_the_results_are_there() -> None:
    """A set takes effect when all before it is complete, tail included; the cause is recorded."""
    found = core()
    found.work(0, MTE2, timing(10, tail=5), 0.0)
    found.set(1, (MTE2, V, 0))
    found.work(2, MTE2, timing(10, tail=5), 0.0)
    found.wait(3, (MTE2, V, 0), UNKNOWN_SPAN)
    event = found.work(4, V, timing(2), 0.0)
    assert (event.start, event.cause, event.wait, event.signal) == (15, 0, 3, 1)
    assert found.events[1].start == 10  # the set delays nothing of its own pipe


def test_barriers_wait_for_tails() -> None:
    """A barrier of one pipe does not affect the others; a full one stalls the program."""
    found = core()
    found.work(0, V, timing(10, tail=18), 0.0)
    found.work(0, V, timing(10, tail=18), 0.0)
    found.barrier(1, V)
    assert found.work(0, V, timing(1), 0.0).start == 38
    assert found.work(0, MTE2, timing(50), 0.0).start == 0
    found.full_barrier(2)
    event = found.work(0, MTE3, timing(1), 0.0)
    assert (event.start, event.cause, event.wait) == (50, 3, 2)


def test_a_pause_costs_the_head_again() -> None:
    """Back-to-back instructions pay only their repeats; after a pause also the start-up."""
    found = core()
    full = Timing(7.0, 64.0, 18.0)
    first, second = (found.work(0, V, full, 0.0) for _ in range(2))
    assert (first.end, second.end) == (71, 135)
    found.order.issued = (1000.0, -1, -1, -1)
    assert found.work(0, V, full, 0.0).end == 1071


def test_issue_and_queues_stall_the_program() -> None:
    """Instructions are issued one after another, and not to a full queue."""
    found = core(FREE._replace(queue=2))
    starts = [found.work(0, V, timing(100), 5.0).start for _ in range(3)]
    assert starts == [5, 105, 205]
    # The third was issued when the first had started; the fourth waits for the second's start.
    found.work(0, V, timing(100), 5.0)
    assert found.work(0, MTE2, timing(1), 5.0).start == 115


def test_a_flag_that_nothing_raises() -> None:
    """A wait without a set before it is a deadlock."""
    with pytest.raises(EvaluationError, match="V waits for flag 3 of MTE2, which nothing before"):
        core().wait(0, (MTE2, V, 3), UNKNOWN_SPAN)


def test_loads_alone_in_streams_and_from_the_cache() -> None:
    """A single cold load takes its measured time; a stream is faster, from the cache even more."""
    case = Case("TLOAD", "fp32", "fp32", (128, 128), extra={"dst": "Vec"})
    alone = CostModel(load_table("a2a3")).timing(case)
    found = core()
    cold = found.load(case, alone, 1.0, is_cube=False)
    assert cold.alone == pytest.approx(alone.alone)
    found.work(0, MTE2, cold, 0.0)
    found.order.issued = (10.0, -1, -1, -1)
    behind = found.load(case, alone, 1.0, is_cube=False)
    assert behind.busy == pytest.approx(65536 / 32 + 128 * 1.6)
    warm = found.load(case, alone, 0.0, is_cube=False)
    assert warm.busy == pytest.approx(65536 / 74 + 128 * 2.9)
    assert (found.missed_bytes, found.hit_bytes) == (2 * 65536, 65536)
    many = CoreTimeline("kernel", FREE, Share(800 / 48, 2700 / 48))
    assert many.load(case, alone, 1.0, is_cube=False).busy == pytest.approx(65536 * 48 / 800)


PAIRS = [(MTE2, V), (V, MTE2), (V, MTE3), (MTE3, V), (MTE2, MTE3)]


@given(st.integers(0, 10**9))
def test_starts_are_the_earliest_that_the_rules_allow(seed: int) -> None:
    """Checked against each rule: each start is the latest of all the times that it waits for."""
    pick = Random(seed)
    found = core()
    # What each new entry of a pipe waits for, as sets of work that has to be complete.
    held: dict[PipeType, set[int]] = {pipe: set() for pipe in (MTE2, V, MTE3)}
    work: dict[PipeType, list[int]] = {pipe: [] for pipe in held}
    raised: dict[tuple[PipeType, PipeType, int], deque[set[int]]] = {}
    for _ in range(40):
        kind, pair = pick.randrange(8), pick.choice(PAIRS)
        triple = (*pair, 0)
        if kind < 4:
            pipe = pick.choice(list(held))
            event = found.work(0, pipe, timing(pick.randrange(1, 20), pick.randrange(9)), 0.0)
            complete = [found.events[n].done for n in held[pipe]]
            before = [found.events[n].end for n in work[pipe]]
            assert event.start == max([0.0, *complete, *before])
            if event.cause >= 0:
                cause = found.events[event.cause]
                assert event.start in (cause.end, cause.done)
            work[pipe].append(len(found.events) - 1)
        elif kind == 4:
            found.set(0, triple)
            waits = set(work[pair[0]]) | held[pair[0]]
            raised.setdefault(triple, deque()).append(waits)
        elif kind == 5 and raised.get(triple):
            found.wait(0, triple, UNKNOWN_SPAN)
            held[pair[1]] |= raised[triple].popleft()
        elif kind == 6:
            found.barrier(0, pair[0])
            held[pair[0]] |= set(work[pair[0]])
        elif kind == 7 and pick.randrange(4) == 0:
            found.full_barrier(0)
            everything = {n for each in (*work.values(), *held.values()) for n in each}
            held = {pipe: set(everything) for pipe in held}
