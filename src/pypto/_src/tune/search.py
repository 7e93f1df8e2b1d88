"""The search: all candidates are compiled, the promising ones simulated, the best kept.

First every candidate is found legal or refused, with a lower bound on the time of its run. Then
they are simulated in the order of that bound, a few at a time, until the bound exceeds the best
run: none of the rest can be better. A simulation ends early once its tasks, each with all the
bandwidth, take longer than the best run so far, or when the run is a tenth longer after the shares
of the bandwidth have nearly settled. What is simulated in which order never depends on the speed or
the number of processes, so neither does the outcome, unless a time limit or Ctrl-C ended the
search.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Final

from pypto._src.cost.tables import CostTable, to_toml
from pypto._src.errors import PyptoError
from pypto._src.ir.serialization.serialize import serialize
from pypto._src.ir.stmts import Program
from pypto._src.records import NamedTuple
from pypto._src.tune.results import Results, key_of
from pypto._src.tune.workers import Workers

ROUND: Final = 4
"""How many candidates are simulated before the limit for the next ones is lowered."""

_SLACK: Final = 1.02
"""How much the cache hits of tasks may change when they wait for each other's bandwidth."""

Make = Callable[[Mapping[str, Any]], Program]
"""Makes the program for a choice of constants; raises PyptoError if there is none."""


class Candidate(NamedTuple):
    """What is known about one choice of constants."""

    choice: Mapping[str, Any]
    overlap: bool
    refused: str = ""
    """Why it is not legal."""
    memory: Mapping[str, int] = {}
    estimate: float = 0.0
    """How many cycles after its launch a run takes at least; see `timeline.least`."""
    run: Mapping[str, Any] = {}
    """The simulated run, or how long it is at least, ``above``; empty if not worth simulating."""

    @property
    def cycles(self) -> float | None:
        """How long the simulated run takes; None if it was not simulated to the end."""
        return self.run.get("cycles")


class Outcome(NamedTuple):
    """What a search found."""

    candidates: tuple[Candidate, ...]  # in the order of the declared choices
    best: Candidate | None
    stopped: str
    """Why not everything was examined: ``the time limit`` or ``Ctrl-C``, else empty."""
    seconds: float

    @property
    def ranked(self) -> list[Candidate]:
        """Those that were simulated to the end, the best first."""
        found = [each for each in self.candidates if each.cycles is not None]
        return sorted(found, key=lambda each: each.cycles or 0.0)


class Space(NamedTuple):
    """The candidates to choose from, and what they are simulated with."""

    make: Make
    choices: Sequence[tuple[Mapping[str, Any], bool]]
    """Constants, and whether loops overlap."""
    entry: str | None
    sizes: Mapping[str, int]
    costs: CostTable | None


class Options(NamedTuple):
    """How long a search may take, with how many processes, and whom to tell about its progress."""

    processes: int = 1
    limit: float | None = None  # seconds
    told: Callable[[str, int, int], None] | None = None
    """Called with what is being done, how much of it is done, how much there is."""
    on: str | None = None
    """The cluster to use in place of processes here; see `DistributedConfig.on`."""


class _Stop(Exception):
    """The time is up."""


def search(space: Space, options: Options, *, exhaustive: bool = False) -> Outcome:
    """Return the best of all candidates; ``exhaustive`` simulates every one that is legal."""
    return _Search(space, options, exhaustive=exhaustive).outcome()


class _Search:
    def __init__(self, space: Space, options: Options, *, exhaustive: bool) -> None:
        self.space, self.options, self.exhaustive = space, options, exhaustive
        self.costs = "" if space.costs is None else to_toml(space.costs)
        self.results = Results()
        self.begin = time.monotonic()
        self.found = [Candidate(choice, overlap) for choice, overlap in space.choices]
        self.programs: list[bytes] = [b""] * len(self.found)
        self.keys: list[str] = [""] * len(self.found)
        self.best: int | None = None
        self.stopped = ""

    def outcome(self) -> Outcome:
        """Search, and return what was found until the end or until it was stopped."""
        count = min(self.options.processes, max(len(self.found) // ROUND, 1))
        with Workers(count, self.options.on) as workers:
            try:
                self._examine(workers)
                self._simulate(workers)
            except _Stop:
                self.stopped = "the time limit"
            except KeyboardInterrupt:
                self.stopped = "Ctrl-C"
        best = None if self.best is None else self.found[self.best]
        return Outcome(tuple(self.found), best, self.stopped, time.monotonic() - self.begin)

    def _examine(self, workers: Workers) -> None:
        """Make all programs, and find out which of them are legal."""
        waiting: list[tuple[int, str, Future[dict[str, Any]]]] = []
        made: dict[tuple[Any, ...], tuple[bytes, str] | PyptoError] = {}
        for number, each in enumerate(self.found):
            self._check_time()
            key = tuple(sorted((name, repr(value)) for name, value in each.choice.items()))
            program = made.get(key)
            if program is None:
                program = made[key] = self._made(each.choice)
            if isinstance(program, PyptoError):
                self.found[number] = each._replace(refused=program.message.splitlines()[0])
                continue
            data, text = program
            self.programs[number] = data
            own = key_of(text, each.overlap, self.space.entry, self.costs)
            self.keys[number] = key_of(own, sorted(self.space.sizes.items()))
            known = self.results.get(own)
            if known is not None:
                self._note(number, known)
                continue
            request = self._request(number, "examine")
            waiting.append((number, own, workers.ask(request)))
            self._tell("compiled", number + 1 - sum(not f.done() for _, _, f in waiting))
        for number, own, future in waiting:
            self._note(number, self._kept(own, future))
            self._tell("compiled", number + 1)

    def _made(self, choice: Mapping[str, Any]) -> tuple[bytes, str] | PyptoError:
        try:
            program = self.space.make(choice)
        except PyptoError as error:
            return error
        return serialize(program), str(program)

    def _simulate(self, workers: Workers) -> None:
        """Simulate the candidates, the most promising first, as long as one may be the best."""
        legal = [n for n, each in enumerate(self.found) if not each.refused]
        order = sorted(legal, key=lambda number: (self.found[number].estimate, number))
        for first in range(0, len(order), ROUND):
            limit = self._limit()
            waiting: list[tuple[int, str, Future[dict[str, Any]]]] = []
            for number in order[first : first + ROUND]:
                self._check_time()
                if limit is not None and self.found[number].estimate > limit:
                    break
                known = self.results.get(self.keys[number])
                if known is None or not _is_settled(known, limit):
                    request = {**self._request(number, "simulate"), "limit": limit}
                    waiting.append((number, self.keys[number], workers.ask(request)))
                else:
                    self._note_run(number, known)
            for number, key, future in waiting:
                self._note_run(number, self._kept(key, future))
            self._tell("simulated", min(first + ROUND, len(order)), len(order))

    def _limit(self) -> float | None:
        """Return the number of cycles after the launch up to which a run may be the best."""
        if self.best is None or self.exhaustive:
            return None
        run = self.found[self.best].run
        return (run["cycles"] - run["launch"]) * _SLACK

    def _request(self, number: int, ask: str) -> dict[str, Any]:
        return {
            "ask": ask,
            "program": self.programs[number],
            "overlap": self.found[number].overlap,
            "entry": self.space.entry,
            "sizes": dict(self.space.sizes),
            "costs": self.costs,
        }

    def _kept(self, key: str, future: Future[dict[str, Any]]) -> dict[str, Any]:
        """Wait for an answer, keep it and return it."""
        while True:
            self._check_time()
            try:
                answer = future.result(timeout=0.5)
            except TimeoutError:
                continue
            if answer.get("slug") != "worker":
                self.results.put(key, answer)
            return answer

    def _note(self, number: int, answer: Mapping[str, Any]) -> None:
        each = self.found[number]
        self.found[number] = each._replace(
            refused=answer.get("refused", ""),
            memory=answer.get("memory", {}),
            estimate=answer.get("estimate", 0.0),
        )

    def _note_run(self, number: int, answer: Mapping[str, Any]) -> None:
        each = self.found[number]
        if "refused" in answer:
            self.found[number] = each._replace(refused=answer["refused"])
            return
        self.found[number] = each._replace(run=answer)
        cycles = answer.get("cycles")
        if cycles is None:
            return
        best = None if self.best is None else (self.found[self.best].cycles, self.best)
        if best is None or (cycles, number) < best:
            self.best = number

    def _check_time(self) -> None:
        limit = self.options.limit
        if limit is not None and time.monotonic() - self.begin > limit:
            raise _Stop

    def _tell(self, what: str, ready: int, count: int | None = None) -> None:
        if self.options.told is not None:
            self.options.told(what, ready, len(self.found) if count is None else count)


def _is_settled(known: Mapping[str, Any], limit: float | None) -> bool:
    """True if a known run, perhaps only known to exceed a limit, need not be simulated."""
    above = known.get("above")
    return above is None or (limit is not None and above > limit)
