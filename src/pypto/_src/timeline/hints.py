"""Hints: changes that were made to a copy of the program and simulated, with their gains.

Candidates come from `timeline.changes`. They are not tried for a kernel that takes little of the
run's time. The others are tried on one call of the kernel on an idle chip, and those that make it
faster on the whole run, after the same passes. Where a change could change values, the kernel is
evaluated before and after on random data, and must give the same bits. A change that then makes the
run shorter by at least `LEAST` is a hint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from pypto._src.cost.model import CostModel
from pypto._src.emit.writer import source_comment
from pypto._src.errors import InternalError, PyptoError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.enums import PipeType
from pypto._src.ir.stmts import Function, Program
from pypto._src.logs import unlogged
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pass_manager import PassManager
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.signature import Signature
from pypto._src.timeline.changes import (
    invariants,
    larger_tiles,
    late_stores,
    more_tasks,
    stages,
    synchronisation,
)
from pypto._src.timeline.changes.change import Change
from pypto._src.timeline.profile import KernelProfile, Profile
from pypto._src.timeline.simulate import KernelSimulator

LEAST: Final = 0.01
"""The share of the run that a change has to save to be a hint."""

MOST: Final = 8
"""How many changes are tried on the whole run by default."""

_MOST_EVALUATED: Final = 50_000
"""Kernels with more instructions in a call are not evaluated to see that they keep values."""

_BETTER: Final = 0.98
"""How much better the next of several changes with one subject, say of stages, has to be."""

_TRANSFER_PIPES: Final = (PipeType.MTE2, PipeType.MTE3, PipeType.FIX)


class Hint(NamedTuple):
    """A change that was tried, and what it gained."""

    change: Change
    before: float
    """How long the run takes, in cycles."""
    after: float

    @property
    def gain(self) -> float:
        """By how many cycles the run is shorter."""
        return self.before - self.after

    @property
    def locations(self) -> tuple[str, ...]:
        """The lines that are changed."""
        found = (source_comment(span) for span in self.change.spans)
        return tuple(dict.fromkeys(each for each in found if each is not None))


Simulate = Callable[[Sequence[Pass]], Profile]
"""Runs the program with these passes before the others, and returns its profile."""


def hints(
    program: Program,
    profile: Profile,
    simulate: Simulate,
    model: CostModel,
    optional: Sequence[Pass] = (),
    most: int = MOST,
) -> tuple[Hint, ...]:
    """Return the hints for a program, the largest gain first.

    Args:
        program: The program before the passes.
        profile: Its profile.
        simulate: Profiles it with further optional passes.
        model: The figures that ``simulate`` takes.
        optional: The optional passes that the program was profiled with.
        most: How many changes are tried on the whole run, the most promising first.
    """
    return _Search(program, profile, simulate, model, optional).found(most)


class _Search:
    def __init__(
        self,
        program: Program,
        profile: Profile,
        simulate: Simulate,
        model: CostModel,
        optional: Sequence[Pass],
    ) -> None:
        self._program = program
        self._profile = profile
        self._simulate = simulate
        self._model = model
        self._optional = optional
        self._before, self._lowered = self._stages(())

    def found(self, most: int) -> tuple[Hint, ...]:
        """Try the most promising changes; return the hints."""
        with unlogged():
            candidates = [each for kernel in self._profile.kernels for each in self._of(kernel)]
            candidates.sort(key=lambda each: -each[0])
            tried = [self._tried(change) for _, change in candidates[:most]]
        return tuple(sorted((h for h in tried if h is not None), key=lambda hint: -hint.gain))

    def _of(self, kernel: KernelProfile) -> Iterator[tuple[float, Change]]:
        """Yield changes of a kernel, each with the share of the run that it may save."""
        share = self._share(kernel)
        if share < LEAST:
            return
        by_subject: dict[object, list[tuple[float, Change]]] = {}
        for change in self._changes(kernel):
            left = self._left_of(kernel, change)
            if left is not None and share * (1 - left) >= LEAST:
                by_subject.setdefault(change.subject or change, []).append((left, change))
        for candidates in by_subject.values():
            left, change = _promising(candidates)
            yield share * (1 - left), change

    def _share(self, kernel: KernelProfile) -> float:
        """Return the share of the run that a kernel takes on the critical path."""
        runs = (self._profile.runs[number] for number in self._profile.critical)
        cycles = sum(run.end - run.start for run in runs if run.node.name == kernel.name)
        return cycles / self._profile.cycles if self._profile.cycles else 0.0

    def _changes(self, kernel: KernelProfile) -> Iterator[Change]:
        function = self._before.get_function(kernel.name)
        if function is None:
            return
        yield from stages.changes(function)
        yield from invariants.changes(self._before, function)
        yield from larger_tiles.changes(function, transfers_bound=self._is_transfer_bound(kernel))

        cores = int(self._model.machine(f"cores.{kernel.core_kind}"))
        runs = [run for run in self._profile.runs if run.node.name == kernel.name]
        yield from more_tasks.changes(function, len({run.core for run in runs}), cores)
        yield from late_stores.changes(function)
        yield from synchronisation.changes(function)

    def _is_transfer_bound(self, kernel: KernelProfile) -> bool:
        """Return whether transfers make up most of a kernel's critical path."""
        pipes = {site: self._profile.sites[site].pipe for site in kernel.critical if site >= 0}
        moved = sum(kernel.critical[site] for site, p in pipes.items() if p in _TRANSFER_PIPES)
        return 2 * moved > kernel.cycles

    def _left_of(self, kernel: KernelProfile, change: Change) -> float | None:
        """Return the fraction of a call's time that is left with a change, on an idle chip.

        None if it cannot be made, or is not known to keep order and values.
        """
        try:
            after, lowered = self._stages(change.passes)
            if change.needs_check and not self._is_ordered(change, lowered):
                return None
            if not change.keeps_values and not self._keeps_values(kernel, after):
                return None
            times = [_cycles(each, change.kernel, self._model) for each in (self._lowered, lowered)]
        except (PyptoError, InternalError):
            return None  # it does not fit into memory, or an op or a pass refuses it
        first, second = times
        return 0.0 if first is None or second is None or not first else second / first

    def _tried(self, change: Change) -> Hint | None:
        """Return a change as a hint, None if it gains too little on the whole run."""
        try:
            profile = self._simulate([*change.passes, *self._optional])
        except (PyptoError, InternalError):
            return None
        hint = Hint(change, self._profile.cycles, profile.cycles)
        return hint if hint.gain >= LEAST * hint.before else None

    def _stages(self, changes: Sequence[Pass]) -> tuple[Program, Program]:
        """Return the program after the changes, and after all passes."""
        kept = _Keep()
        lowered = PassManager(optional=[*changes, kept, *self._optional]).run_passes(self._program)
        return kept.program, lowered

    def _is_ordered(self, change: Change, lowered: Program) -> bool:
        """Return whether the checker finds nothing in a kernel that it did not find before."""
        from pypto._src.passes.sync.checker import check_sync

        counts = [
            len(check_sync(function))
            for function in (each.get_function(change.kernel) for each in (self._lowered, lowered))
            if function is not None
        ]
        return counts[1] <= counts[0]

    def _keeps_values(self, kernel: KernelProfile, changed: Program) -> bool:
        """Return whether a kernel gives the same bits before and after, on random data."""
        instructions = sum(count for count, _ in kernel.sites.values()) / kernel.calls
        if instructions > _MOST_EVALUATED:
            return False
        results = [_values(each, kernel.name) for each in (self._before, changed)]
        first, second = results
        if first is None or second is None:
            return False
        pairs = zip(first, second, strict=True)
        return all(a.tobytes() == b.tobytes() for a, b in pairs)


def _promising(candidates: Sequence[tuple[float, Change]]) -> tuple[float, Change]:
    """Return which of the changes with one subject is tried on the whole run.

    The first of those about as fast as the fastest, as it asks for least; the first of all where a
    call gets shorter by being divided.
    """
    if candidates[0][1].is_divided:
        return candidates[0]
    least = min(left for left, _ in candidates)
    return next(each for each in candidates if each[0] * _BETTER <= least)


class _Keep(Pass):
    """Keeps the program as it is at this point."""

    def run(self, program: Program) -> Program:
        """Return the program."""
        self.program = program
        return program


def _arguments(program: Program, name: str) -> list[Any] | None:
    """Return random arguments for a kernel, None if what it does depends on sizes or numbers."""
    function = program.get_function(name)
    assert function is not None
    if not _is_static(function):
        return None
    signature = Signature(function, [False] * len(function.params))
    return list(signature.random(0, {}).values())


def _is_static(function: Function) -> bool:
    return all(
        isinstance(param.type, TensorType) and static_shape(param.type) is not None
        for param in function.params
    )


def _cycles(program: Program, name: str, model: CostModel) -> float | None:
    args = _arguments(program, name)
    if args is None:
        return None
    simulator = KernelSimulator(program, model)
    simulator.call(name, args)
    return sum([call.cycles for call in simulator.calls])


def _values(program: Program, name: str) -> list[Any] | None:
    args = _arguments(program, name)
    if args is None:
        return None
    Evaluator(program).call(name, args)
    return args
