"""Keeps pipes from raising an event again while the last wait for it may still be pending.

Where nothing orders that wait before the next set, the target *acknowledges* it: by a flag in the
reverse direction, set and waited for just before the set. It is not known what the hardware does
when a raised flag is set again (hardware sheet, 3.3, F5); if the second set is lost, the waiting
pipe hangs.

Knows events; `insert_sync` emits the statements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from typing import Final

from pypto._src.analysis.stmt_tree import ProgramPoint
from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import Function
from pypto._src.passes.sync.checker_reports import Triple
from pypto._src.passes.sync.checker_state import PIPES, Bits, State
from pypto._src.passes.sync.flags import BARRIER, FORWARD, NONE, Flag, in_text_order
from pypto._src.passes.sync.plan_dataflow import Act, PlanFlow, RaceError
from pypto._src.passes.sync.planner import Planner
from pypto._src.passes.sync.prune import superfluous


def acknowledge(
    planner: Planner,
    function: Function,
    flags: Sequence[Flag],
    spare: Mapping[tuple[int, int], Sequence[int]],
) -> set[Flag | ProgramPoint]:
    """Add acknowledgements where the source of a flag might raise an event too early.

    That is where the last wait for the event may still be pending. ``flags`` have their events;
    ``spare`` has free ones, by source and target of the acknowledgement. If none of these can be
    used, a barrier of all pipes replaces the acknowledgement. Returns the flags, and the program
    points of barriers, that acknowledgements make superfluous.
    """
    for iteration in count():
        flow = _EventFlow(planner, function, flags, spare, give_up_events=iteration >= _ROUNDS)
        with suppress(RaceError):  # nothing is known about an insufficient plan
            flow.run()
        if not flow.changed:
            break  # a fixed point: no more acknowledgements are needed
    if all(flag.ack == NONE and flag.ack_first == NONE for flag in flags):
        return set()
    # Carried flags with acknowledgements act earlier than where they would be tried.
    tried = [f for f in flags if f.form is FORWARD or f.ack == f.ack_first == NONE]
    settled = _EventFlow(planner, function, flags, spare, settled=True)
    return superfluous(settled, [*planner.bars, *tried])


_ROUNDS: Final = 4
"""How many rounds may change the events of acknowledgements before barriers replace some."""


class _EventFlow(PlanFlow):
    """Follows a plan whose flags have events; sets `Flag.ack` where one is needed.

    An acknowledgement takes an event whose last wait is over, else one that no other
    acknowledgement has. One that turns out to be too early itself, on another path or in another
    iteration, gets an event of its own: the flag that it precedes is waited for before it is raised
    again, so that it cannot be too early, unless others take its event later. `changed` says that
    acknowledgements have changed since some of the states were computed. Once they are ``settled``,
    a flag or an acknowledgement that is too early is an error.
    """

    def __init__(
        self,
        planner: Planner,
        function: Function,
        flags: Sequence[Flag],
        spare: Mapping[tuple[int, int], Sequence[int]],
        *,
        settled: bool = False,
        give_up_events: bool = False,
    ) -> None:
        self.numbered = flags
        self.spare = spare
        self.settled = settled
        self.give_up_events = give_up_events
        self.changed = False
        super().__init__(planner, function)

    def _add_acts(self, planner: Planner, flags: Sequence[Flag], *, late: bool = True) -> None:
        super()._add_acts(planner, in_text_order(self.numbered), late=late)

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

    def told(
        self, point: ProgramPoint, pipe: int, state: State, suspect: Flag | ProgramPoint
    ) -> Bits:
        """As `PlanFlow.told`; before acknowledgements it gives no answer: all counts as known."""
        for act in self.before.get(point, ()):
            flag = act.flag
            if flag is not None and act.sets and (flag.ack != NONE or flag.ack_first != NONE):
                return self.numbering.all
        return super().told(point, pipe, state, suspect)

    def _set(self, flag: Flag, state: State, *, primes: bool) -> None:
        source, target = flag.source, flag.target
        bit = self.numbering.flag(self.flags[_event(flag)])
        ack = flag.ack_first if primes else flag.ack
        if not state.known[source] & bit if ack == NONE else self._is_early(flag, ack, state):
            if self.settled:
                raise RaceError
            self.changed = True
            ack = self._ack_event(flag, ack, state)
            if primes:
                flag.ack_first = ack
            else:
                flag.ack = ack
        if ack == BARRIER:
            state.known = [self.numbering.all] * PIPES
        elif ack != NONE:
            self._took(Triple(target, source, ack), self._tells(target, state), state)
        state.tokens[flag] = self._tells(source, state)

    def _is_early(self, flag: Flag, ack: int, state: State) -> bool:
        """True if the acknowledgement of a flag might itself be raised too early."""
        if ack == BARRIER:
            return False
        number = self.flags[Triple(flag.target, flag.source, ack)]
        return not state.known[flag.target] & self.numbering.flag(number)

    def _ack_event(self, flag: Flag, old: int, state: State) -> int:
        """Return an event for the acknowledgement of a flag to replace ``old``, or a barrier.

        The first choice may be an event that others use, if its last wait is over.
        """
        source, target = flag.target, flag.source
        events = self.spare.get((source, target), ())
        if old == NONE:
            for event in events:
                if not self._is_early(flag, event, state):
                    return event
        elif self.give_up_events:
            return BARRIER
        pair = target, source
        taken = {
            event
            for each in self.numbered
            if (each.source, each.target) == pair
            for event in (each.ack, each.ack_first)
        }
        return next((event for event in events if event not in taken), BARRIER)

    def _tells(self, pipe: int, state: State) -> Bits:
        """Return the token of a flag that a pipe sets now."""
        return state.known[pipe] | self.numbering.of_pipe[pipe] | self.waits[pipe]

    def _took(self, key: Triple, token: Bits, state: State) -> None:
        """Apply a pipe's wait for an event."""
        bit = self.numbering.flag(self.flags[key])
        state.forget(~bit)
        state.learn(PipeType(key.target), token | bit)


def _event(flag: Flag) -> Triple:
    return Triple(flag.source, flag.target, flag.event)
