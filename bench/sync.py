"""Flags and barriers of every example, against two plain ways to place them.

* *barriers*: a barrier of all pipes before every instruction but the first.
* *flag each*: a flag for each pair of instructions that depend on each other across pipes, set
  before the loop too where the dependence goes from one iteration to the next, and a barrier for
  each instruction that depends on one of its own pipe. Eight events exist for each pair of pipes:
  the column *over* says how many of these flags find none free.
* *ours*: InsertSync; *answers* are additional flags, which acknowledge that the last wait for an
  event is over; *fell back* counts the flags that it had to replace by a barrier.

A flag is a set and its wait; one that a loop primes and drains counts once. Each kernel ends with a
barrier of all pipes, in all three, which is not counted. *removable* counts the flags and barriers
of ours without which the checker still finds nothing, not even a warning, on any path through the
kernel.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pypto._src.analysis.accesses import Accesses, Instruction
from pypto._src.analysis.affine import trip_count
from pypto._src.analysis.stmt_tree import Block, ProgramPoint, number, points_in, rewrite
from pypto._src.commands import example_cases
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import ForStmt, Function, Stmt, WhileStmt
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.sync.checker import check_sync
from pypto._src.passes.sync.hazards import History, meeting
from pypto._src.passes.sync.insert_sync import InsertSync, SyncReport, is_sync
from pypto._src.targets import A2A3

if TYPE_CHECKING:
    from pypto._src.passes.sync.hazards import Need


class Plain(NamedTuple):
    """The cost of a flag for each dependence."""

    flags: int
    barriers: int
    over: int  # flags for which no event is free


class PerDependence:
    """Counts the dependences of a kernel without flags."""

    def __init__(self, function: Function) -> None:
        """Walk the kernel once, and each loop that may run twice a second time."""
        self.root = number(function)
        self.accesses = Accesses(function, self.root)
        self.history = History(self.accesses)
        self.count = [0] * 7  # by the number of the pipe
        self.flags: dict[
            tuple[ProgramPoint, ProgramPoint, bool], tuple[int, int]
        ] = {}  # to their pipes
        self.barriers: set[ProgramPoint] = set()
        self._block(self.root)

    def _block(self, block: Block) -> None:
        for point in block.points:
            instruction = self.accesses.at.get(point)
            if instruction is not None:
                needs = earlier(self.history, instruction)
                self._note(instruction, needs, carried=False)
                self.count[instruction.queue] += 1
                instruction.number = self.count[instruction.queue]
                self.history.record(instruction)
                continue
            before = self.count[:]
            for inner in point.blocks:
                self._block(inner)
            if isinstance(point.stmt, ForStmt | WhileStmt):
                trips = trip_count(point.stmt)
                if trips is None or trips > 1:
                    self._again(point.blocks[0], before)

    def _again(self, body: Block, before: list[int]) -> None:
        for point in points_in(body):
            instruction = self.accesses.at.get(point)
            if instruction is not None:
                needs = earlier_iteration(self.history, instruction, body, before)
                self._note(instruction, needs, carried=True)

    def _note(self, instruction: Instruction, needs: Iterable[Need], *, carried: bool) -> None:
        for need in needs:
            if need.queue == instruction.queue:
                self.barriers.add(instruction.point)
            else:
                pair = (need.queue, instruction.queue)
                self.flags[need.point, instruction.point, carried] = pair

    def counts(self) -> Plain:
        """Return the numbers of flags and barriers."""
        over = 0
        for pair in dict.fromkeys(self.flags.values()):
            edges: list[tuple[int, int]] = []
            for (first, second, carried), other in self.flags.items():
                if other == pair:
                    edges += _life(first, second, carried=carried)
            now = 0
            for _, change in sorted(edges):
                now += change
                over += change > 0 and now > A2A3.event_ids
        return Plain(len(self.flags), len(self.barriers), over)


def earlier(history: History, instruction: Instruction) -> Iterator[Need]:
    """Yield all conflicts with instructions that come before in the same iteration of all loops."""
    point = instruction.point
    own = instruction.queue if instruction.in_order else None
    for by_pipe in history.on_chip(instruction):
        for pipe in by_pipe:
            need = None if pipe == own else by_pipe.reached(pipe, point)
            if need is not None:
                yield need
    yield from _parts(history, instruction, None)


def earlier_iteration(
    history: History, instruction: Instruction, body: Block, before: list[int]
) -> Iterator[Need]:
    """Yield all conflicts with earlier iterations of a loop; ``before`` counts what precedes it."""
    own = instruction.queue if instruction.in_order else None
    for by_pipe in history.on_chip(instruction):
        for pipe, newest in by_pipe.items():
            if pipe != own and newest.number > before[pipe]:
                yield newest
    for need in _parts(history, instruction, body):
        if need.number > before[need.queue]:
            yield need


def _parts(history: History, instruction: Instruction, body: Block | None) -> Iterator[Need]:
    own = instruction.queue if instruction.in_order else None
    for access in instruction.tensors:
        parts = history.tensors.get(access.root)
        for done, box, writes in () if parts is None else parts.listed:
            if (
                (access.writes or writes)
                and done.queue != own
                and history.may_conflict(done.point, box, instruction.point, access.box, body)
            ):
                yield done


def _life(first: ProgramPoint, second: ProgramPoint, *, carried: bool) -> list[tuple[int, int]]:
    """Return when a flag takes an event and releases it: a carried one for its whole loop."""
    met = meeting(first, second)
    if met is None or not carried:
        return [(first.end, 1), (max(first.end, second.begin), -1)]
    block = met[0].block
    return [(block.begin, 1), (block.end, -1)]


def kernels(name: str | None) -> Iterator[tuple[str, Function, Function, SyncReport, float]]:
    """Yield the kernels of the examples: before and after InsertSync, its report and seconds."""
    folder = example_cases.examples_directory()
    assert folder is not None
    for case in example_cases.cases(folder):
        if name is not None and name not in case.name:
            continue
        manager = PassManager()
        program = case.program
        for each in manager.passes:
            if isinstance(each, InsertSync):
                begin = time.perf_counter()
                after = each(program)
                seconds = time.perf_counter() - begin
                for function in program.functions_:
                    if role(function) is Role.KERNEL:
                        new = after.get_function(function.name)
                        assert new is not None
                        report = each.reports[function.name]
                        yield f"{case.name} {function.name}", function, new, report, seconds
                program = after
            else:
                program = each(program)


def removable(function: Function) -> int:
    """Return how many sets, waits and barriers, or whole flags, the kernel can do without."""
    root = number(function)
    stmts = [point.stmt for point in points_in(root) if is_sync(point.stmt)]
    groups = [[stmt] for stmt in stmts]
    by_text: dict[str, list[Stmt]] = {}
    for stmt in stmts:
        triple = str(stmt).split("(")[-1]
        by_text.setdefault(triple, []).append(stmt)
    groups += [group for text, group in by_text.items() if "event_id" in text]
    return sum(_is_whole(function, root, group) for group in groups)


def _is_whole(function: Function, root: Block, dropped: list[Stmt]) -> bool:
    gone = set(dropped)
    mutant = rewrite(function, root, lambda _, stmt: [] if stmt in gone else [stmt])
    return not check_sync(mutant, every_way=True)


def main() -> None:
    """Print one line for each kernel."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", help="part of the name of an example")
    args = parser.parse_args()
    words = "barriers, flag each, bars, over, ours, bars, answers, fell back, removable"
    head = words.split(", ")
    print(f"{'kernel':<34}" + "".join(f"{word:>10}" for word in head))
    totals = [0] * len(head)
    for name, before, after, report, _ in kernels(args.name):
        dependence = PerDependence(before)
        plain = dependence.counts()
        ours = report.barriers + report.full_barriers - 1
        row = [
            len(dependence.accesses.at) - 1,
            plain.flags,
            plain.barriers,
            plain.over,
            report.flags,
            ours,
            report.acknowledgements,
            report.fallbacks,
            removable(after),
        ]
        totals = [a + b for a, b in zip(totals, row, strict=True)]
        print(f"{name:<34}" + "".join(f"{n:>10}" for n in row))
    print(f"{'all':<34}" + "".join(f"{n:>10}" for n in totals))


if __name__ == "__main__":
    assert Path("bench").is_dir(), "run it in the project's folder"
    main()
