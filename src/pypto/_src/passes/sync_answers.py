"""Lets no pipe raise an event again while the last wait for it may still be under way.

Where nothing tells the source of a flag that this wait is over, the target *answers*: a flag the
other way, set and waited for just before. What a second set of a raised flag does is not known of
the hardware (hardware sheet, 3.3, F5); if it is lost the waiting pipe hangs.

Knows events; leaves it to `insert_sync` to write them down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import Function
from pypto._src.passes.check_state import PIPES, Bits, State
from pypto._src.passes.check_texts import Triple
from pypto._src.passes.plan_flow import Act, PlanFlow, RaceError
from pypto._src.passes.regions import Site
from pypto._src.passes.sync_plan import Flag, Planner
from pypto._src.passes.sync_prune import superfluous


def answer(
    planner: Planner,
    function: Function,
    flags: Sequence[Flag],
    spare: Mapping[tuple[int, int], Sequence[int]],
) -> set[Flag | Site]:
    """Let the source of a flag hear from its target where it might raise an event too early.

    That is where the last wait for the event may still be under way. ``flags`` have their events;
    ``spare`` has free ones, by source and target of the answer. Returns the flags, and the places
    of barriers, that answers make superfluous.
    """
    flow = _EventFlow(planner, function, flags, spare)
    with suppress(RaceError):  # of a plan that is not sufficient nothing can be said
        flow.run()
    if all(flag.back < 0 and flag.back_first < 0 for flag in flags):
        return set()
    settled = _EventFlow(planner, function, flags, spare, unanswered=flow.unanswered)
    return superfluous(settled, [*planner.bars, *flags])


class _EventFlow(PlanFlow):
    """Goes through a plan whose flags have events; gives `Flag.back` where it is needed.

    Once that is settled, only the flags in ``unanswered`` may be raised too early.
    """

    def __init__(
        self,
        planner: Planner,
        function: Function,
        flags: Sequence[Flag],
        spare: Mapping[tuple[int, int], Sequence[int]],
        unanswered: set[Flag] | None = None,
    ) -> None:
        self.numbered = flags
        self.spare = spare
        self.settled = unanswered is not None
        self.unanswered = set[Flag]() if unanswered is None else unanswered
        super().__init__(planner, function)

    def _place(self, planner: Planner, flags: Sequence[Flag], *, late: bool = True) -> None:
        super()._place(planner, self.numbered, late=late)

    def _find_syncs(self) -> None:
        """Number the events."""
        for flag in self.numbered:
            self.flags.setdefault(_event(flag), len(self.flags))
        for (source, target), events in self.spare.items():
            for event in events:
                self.flags.setdefault(Triple(source, target, event), len(self.flags))

    def _wait_bits(self) -> list[int]:
        found = [0] * PIPES
        for key, number in self.flags.items():
            assert isinstance(key, Triple)
            found[key.target] |= self.numbering.flag(number)
        return found

    def act(self, acts: Sequence[Act], state: State) -> None:
        for act in acts:
            if not isinstance(act.of, Flag):
                super().act((act,), state)
            elif act.of in self.dropped:
                continue
            elif act.sets:
                self._set(act.of, state, primes=act.primes)
            else:
                self._took(_event(act.of), state.tokens.pop(act.of), state)

    def _set(self, flag: Flag, state: State, *, primes: bool) -> None:
        source, target = flag.source, flag.target
        bit = self.numbering.flag(self.flags[_event(flag)])
        back = flag.back_first if primes else flag.back
        early = not state.known[source] & bit
        if early and back < 0 and not self.settled:
            back = self._way_back(target, source, state)
            if back < 0:
                self.unanswered.add(flag)
            if primes:
                flag.back_first = back
            else:
                flag.back = back
        if early and back < 0 and flag not in self.unanswered:
            raise RaceError
        if back >= 0:
            self._took(Triple(target, source, back), self._tells(target, state), state)
        state.tokens[flag] = self._tells(source, state)

    def _way_back(self, source: int, target: int, state: State) -> int:
        """Return an event whose last wait is over, or else any that is free; -1 for none."""
        events = self.spare.get((source, target), ())
        for event in events:
            number = self.flags[Triple(source, target, event)]
            if state.known[source] & self.numbering.flag(number):
                return event
        return events[0] if events else -1

    def _tells(self, pipe: int, state: State) -> Bits:
        """Return what a flag says that a pipe sets."""
        return state.known[pipe] | self.numbering.of_pipe[pipe] | self.waits[pipe]

    def _took(self, key: Triple, token: Bits, state: State) -> None:
        """Let a pipe have waited for an event."""
        bit = self.numbering.flag(self.flags[key])
        state.forget(~bit)
        state.learn(PipeType(key.target), token | bit)


def _event(flag: Flag) -> Triple:
    return Triple(flag.source, flag.target, flag.event)
