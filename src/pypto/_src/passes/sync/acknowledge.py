"""Lets no pipe raise an event again while the last wait for it may still be under way.

Where nothing tells the source of a flag that this wait is over, the target *answers*: a flag the
other way, set and waited for just before. What a second set of a raised flag does is not known of
the hardware (hardware sheet, 3.3, F5); if it is lost the waiting pipe hangs.

Knows events; leaves it to `insert_sync` to write them down.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from pypto._src.analysis.stmt_tree import Site
from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import Function
from pypto._src.passes.sync.checker_reports import Triple
from pypto._src.passes.sync.checker_state import PIPES, Bits, State
from pypto._src.passes.sync.plan_dataflow import Act, PlanFlow, RaceError
from pypto._src.passes.sync.planner import BARRIER, FORWARD, NONE, Flag, Planner, as_written
from pypto._src.passes.sync.prune import superfluous


def answer(
    planner: Planner,
    function: Function,
    flags: Sequence[Flag],
    spare: Mapping[tuple[int, int], Sequence[int]],
) -> set[Flag | Site]:
    """Let the source of a flag hear from its target where it might raise an event too early.

    That is where the last wait for the event may still be under way. ``flags`` have their events;
    ``spare`` has free ones, by source and target of the answer. Where none of these will do, a
    barrier of all pipes stands for the answer. Returns the flags, and the places of barriers, that
    answers make superfluous.
    """
    for iteration in count():
        flow = _EventFlow(planner, function, flags, spare, in_haste=iteration >= _ROUNDS)
        with suppress(RaceError):  # of a plan that is not sufficient nothing can be said
            flow.run()
        if not flow.changed:
            break  # what holds with these answers asks for no others
    if all(flag.back == NONE and flag.back_first == NONE for flag in flags):
        return set()
    # Answers to what goes from one iteration to the next act before that is tried.
    tried = [f for f in flags if f.form is FORWARD or f.back == f.back_first == NONE]
    settled = _EventFlow(planner, function, flags, spare, settled=True)
    return superfluous(settled, [*planner.bars, *tried])


_ROUNDS: Final = 4
"""How often events of answers are changed for others before a barrier stands for such an answer."""


class _EventFlow(PlanFlow):
    """Goes through a plan whose flags have events; gives `Flag.back` where it is needed.

    An answer takes an event whose last wait is over, else one that no other answer has. One that
    turns out to be too early itself, on another way or in another iteration, gets an event of its
    own: the flag that it goes before comes back between its iterations, so that it cannot be too
    early then either, unless others take its event later. `changed` says that answers are others
    than those that all of the states were found with. Once they are ``settled`` a flag or an answer
    that is too early is an error.
    """

    def __init__(
        self,
        planner: Planner,
        function: Function,
        flags: Sequence[Flag],
        spare: Mapping[tuple[int, int], Sequence[int]],
        *,
        settled: bool = False,
        in_haste: bool = False,
    ) -> None:
        self.numbered = flags
        self.spare = spare
        self.settled = settled
        self.in_haste = in_haste
        self.changed = False
        super().__init__(planner, function)

    def _place(self, planner: Planner, flags: Sequence[Flag], *, late: bool = True) -> None:
        super()._place(planner, as_written(self.numbered), late=late)

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
            flag = act.flag
            if flag is None:
                super().act((act,), state)
            elif flag in self.dropped:
                continue
            elif act.sets:
                self._set(flag, state, primes=act.primes)
            else:
                self._took(_event(flag), state.tokens.pop(flag), state)

    def told(self, site: Site, pipe: int, state: State, suspect: Flag | Site) -> Bits:
        """As `PlanFlow.told`; nothing is said where pipes answer: all is known there."""
        for act in self.before.get(site, ()):
            flag = act.flag
            if flag is not None and act.sets and (flag.back != NONE or flag.back_first != NONE):
                return self.numbering.all
        return super().told(site, pipe, state, suspect)

    def _set(self, flag: Flag, state: State, *, primes: bool) -> None:
        source, target = flag.source, flag.target
        bit = self.numbering.flag(self.flags[_event(flag)])
        back = flag.back_first if primes else flag.back
        if not state.known[source] & bit if back == NONE else self._is_early(flag, back, state):
            if self.settled:
                raise RaceError
            self.changed = True
            back = self._way_back(flag, back, state)
            if primes:
                flag.back_first = back
            else:
                flag.back = back
        if back == BARRIER:
            state.known = [self.numbering.all] * PIPES
        elif back != NONE:
            self._took(Triple(target, source, back), self._tells(target, state), state)
        state.tokens[flag] = self._tells(source, state)

    def _is_early(self, flag: Flag, back: int, state: State) -> bool:
        """True if the answer before a flag might be raised too early itself."""
        if back == BARRIER:
            return False
        number = self.flags[Triple(flag.target, flag.source, back)]
        return not state.known[flag.target] & self.numbering.flag(number)

    def _way_back(self, flag: Flag, old: int, state: State) -> int:
        """Return an event for the answer before a flag in place of the ``old`` one, or a barrier.

        The first one may be an event that others have if its last wait is over.
        """
        source, target = flag.target, flag.source
        events = self.spare.get((source, target), ())
        if old == NONE:
            for event in events:
                if not self._is_early(flag, event, state):
                    return event
        elif self.in_haste:
            return BARRIER
        pair = target, source
        taken = {
            event
            for each in self.numbered
            if (each.source, each.target) == pair
            for event in (each.back, each.back_first)
        }
        return next((event for event in events if event not in taken), BARRIER)

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
