"""Breaks synchronised kernels on purpose, and counts which of these mutants the checker finds.

Run ``python -m tests.passes.mutants [PROGRAMS]`` for the counts of every example and of random
programs, a third each of vector kernels in source, matrix kernels in source, and kernels in SSA
form. For each kernel:

* *removal*: one set, wait or barrier is removed;
* *flag*: a set is removed with the waits that it serves, and these waits' other sets;
* *deadlock*: the sets of one flag raise an event that nothing waits for;
* *reuse*: two flags of one pair of pipes share an event.

What a mutant does is decided by the strict interpreter, which explores all orders of the queues.
A mutant that breaks on arguments that make loops run 0 to 3 iterations has to be found. A mutant
must not be reported if it cannot break even when branches go either way and loops without constant
bounds run up to 4 times, whatever the arguments: the model covers all control flow.

Some flags only keep another one from being raised again before its last wait is over, which the
interpreter does not check. Mutants without them are counted separately: the checker warns.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

from pypto import ir
from pypto._src.analysis.accesses import Accesses
from pypto._src.analysis.affine import trip_count
from pypto._src.analysis.stmt_tree import call_of, number, points_in, rewrite
from pypto._src.commands import example_cases
from pypto._src.commands.example_cases import Case
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import Plan, Run
from pypto._src.interp.op_calls import Env
from pypto._src.interp.pipe_interpreter import Access, StrictEvaluator, StrictPlan
from pypto._src.interp.pipe_queues import Entry, Kind, LateOrder, Queues, held_back, replayed
from pypto._src.ir.exprs import Call, Var, const_value
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import AssignStmt, EvalStmt, ForStmt, Function, IfStmt, Stmt, WhileStmt
from pypto._src.ops.system import sync_dst, sync_src
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.sync.checker import check_sync
from pypto._src.passes.sync.insert_sync import is_sync
from tests.properties.programs import built, multiplied, written

COUNTS = (-1, 0, 1, 2, 3)
"""The arguments that loops and branches of random programs depend on."""

Edit = Callable[[Stmt], Stmt | None]
"""Returns the replacement of a set, wait or barrier; None removes it."""


class Mutant(NamedTuple):
    """One change of a kernel, and the verdicts on it."""

    kind: str  # removal, flag, deadlock or reuse
    what: str  # the statement
    found: bool  # the checker reports an error
    broken: str  # what the strict interpreter reports, "" for nothing
    can_break: bool  # it does so on some path through the kernel
    early: bool = False  # the checker warns that a flag is raised again too early


class Kernel(NamedTuple):
    """A synchronised kernel with the instructions that some of its runs issued."""

    name: str
    function: Function
    traces: list[Queues]
    paths: Callable[[], Iterator[Queues]]  # runs whose control flow need not follow the arguments


# --------------------------------------------------------------------------------------------
# Kernels
# --------------------------------------------------------------------------------------------


MAKERS = (written, multiplied, built)


def random_program(seed: int) -> Kernel:
    """Return the kernel of a random program after the passes, and its runs."""
    make = MAKERS[seed % len(MAKERS)]
    pick = Random(seed)
    program = PassManager().run_passes(make(pick.randrange, 4 + seed % 13))
    return kernel_of(f"{make.__name__} {seed}", program)


def kernel_of(name: str, program: ir.Program) -> Kernel:
    """Return the kernel of a program after the passes, and its runs."""
    function = program.get_function("kernel") or program.functions_[0]
    evaluator = StrictEvaluator(program)
    evaluator.calls = []
    for count in COUNTS:
        evaluator.call(function.name, _arguments(function, count))
    paths = Paths(program, function)
    return Kernel(name, function, _different(evaluator.calls), paths.each)


CHOICES = 4000
"""The most paths through a kernel that are tried to break a mutant that the checker reports."""


class Paths:
    """Runs of a kernel whose control flow need not follow the arguments, made on demand."""

    def __init__(self, program: ir.Program, function: Function) -> None:
        self.function = function
        self.evaluator = FreeEvaluator(program)
        self.made: list[Queues] = []
        self.known: set[tuple[int, ...]] = set()
        self.seed = 0
        if not any(point.blocks for point in points_in(number(function))):
            # Without branches and loops there is only one path.
            self.seed = CHOICES if not moved_freely(function) else CHOICES - 1

    def each(self) -> Iterator[Queues]:
        """Yield the runs, the existing ones first."""
        yield from self.made
        while self.seed < CHOICES:
            run = self._next()
            if run is not None:
                yield run

    def _next(self) -> Queues | None:
        """Make one more run; None if it repeats an earlier one, or has an index no real run has."""
        self.evaluator.calls = []
        self.evaluator.choose = Choice(self.seed)
        self.seed += 1
        with suppress(EvaluationError):
            self.evaluator.call(self.function.name, _arguments(self.function, self.seed % 4))
            [run] = self.evaluator.calls
            path = _path(run)
            if path not in self.known:
                self.known.add(path)
                self.made.append(run)
                return run
        return None


def _path(run: Queues) -> tuple[int, ...]:
    return tuple([id(entry.source) for entry in run.entries])


class Choice:
    """Draws branch arms and trip counts; some draws favour one arm, or few iterations."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._arm = (0.5, 0.15, 0.85)[seed % 3]
        self._trips = ((0, 1, 2, 3, 4), (0, 0, 0, 1, 2), (1, 2), (0, 0, 0, 0, 1))[seed // 3 % 4]

    def arm(self) -> int:
        """Return the arm that a branch takes."""
        return int(self._random.random() < self._arm)

    def trips(self) -> int:
        """Return how many iterations a loop runs."""
        return self._random.choice(self._trips)


def moved_freely(function: Function) -> dict[Stmt, dict[int, None]]:
    """Return the dimensions of boxes whose offsets are not linear in the loop variables.

    The model does not know where such a box is.
    """
    root = number(function)
    accesses = Accesses(function, root)
    counters = {point.stmt.loop_var for point in points_in(root) if isinstance(point.stmt, ForStmt)}
    known = counters | set(function.params)
    found: dict[Stmt, dict[int, None]] = {}
    for point, instruction in accesses.at.items():
        for access in instruction.tensors:
            for dim, offset in enumerate(() if access.box is None else access.box.offsets):
                if any(not _among(atom, known) for atom in offset.terms):
                    found.setdefault(point.stmt, {})[dim] = None
    return found


def _among(atom: object, known: set[Var]) -> bool:
    return isinstance(atom, Var) and atom in known


def paths(program: ir.Program, function: Function, known: Sequence[Queues]) -> list[Queues]:
    """Return runs on paths through a kernel other than the known ones."""
    if not any(point.blocks for point in points_in(number(function))):
        return []
    evaluator = FreeEvaluator(program)
    evaluator.calls = []
    for seed in range(CHOICES):
        evaluator.choose = Choice(seed)
        with suppress(EvaluationError):  # an index that no real run has
            evaluator.call(function.name, _arguments(function, seed % 4))
            continue
        evaluator.calls.pop()
    if moved_freely(function):
        return _different(evaluator.calls)
    return _different([*known, *evaluator.calls])[len(known) :]


class FreeEvaluator(StrictEvaluator):
    """Takes branches and runs loops as ``choose`` decides."""

    choose: Choice

    def plan(self, function: Function) -> Plan:
        """Return ``function`` prepared for calls."""
        return FreePlan(function, self)


class FreePlan(StrictPlan):
    """A kernel whose branches and loops ignore their conditions."""

    def __init__(self, function: Function, evaluator: StrictEvaluator) -> None:
        self.free = moved_freely(function)
        super().__init__(function, evaluator)

    def _access(self, call: Call, op: OpDef[..., Any], stmt: AssignStmt | EvalStmt) -> Access:
        access = super()._access(call, op, stmt)
        access.anywhere = self.free.get(stmt, {})
        return access

    def _if(self, stmt: IfStmt) -> Run:
        assert isinstance(self.evaluator, FreeEvaluator)
        evaluator = self.evaluator
        arms = [
            self._body(stmt.then_body, stmt.return_vars),
            self._body(stmt.else_body, stmt.return_vars),
        ]
        return lambda env: arms[evaluator.choose.arm()](env)

    def _for(self, stmt: ForStmt) -> Run:
        if trip_count(stmt) is not None:
            return super()._for(stmt)
        assert isinstance(self.evaluator, FreeEvaluator)
        evaluator = self.evaluator
        step, start = const_value(stmt.step) or 1, self._value(stmt.start)
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        slot = self._slot(stmt.loop_var)
        body = self._body(stmt.body, stmt.iter_args)
        leave = self._hand_over(stmt.iter_args, stmt.return_vars)

        def run(env: Env) -> None:
            enter(env)
            begin = int(start(env))
            for iteration in range(evaluator.choose.trips()):
                env[slot] = begin + iteration * step
                body(env)
            leave(env)

        return run

    def _while(self, stmt: WhileStmt) -> Run:
        assert isinstance(self.evaluator, FreeEvaluator)
        evaluator = self.evaluator
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        body = self._body(stmt.body, stmt.iter_args)
        leave = self._hand_over(stmt.iter_args, stmt.return_vars)

        def run(env: Env) -> None:
            enter(env)
            for _ in range(evaluator.choose.trips()):
                body(env)
            leave(env)

        return run


def _arguments(function: Function, count: int) -> list[Any]:
    """Return tensors of whole numbers, with ``count`` for the scalar parameters."""
    rng = np.random.default_rng(count + 1)
    values: list[Any] = []
    for param in function.params:
        kind = param.type
        if isinstance(kind, ir.TensorType):
            shape = [dim.value for dim in kind.shape if isinstance(dim, ir.ConstInt)]
            values.append(rng.integers(-7, 8, shape).astype(kind.dtype.numpy))
        else:
            assert isinstance(kind, ir.ScalarType)
            values.append(0.5 if kind.dtype.is_float() else count)
    return values


def cases() -> list[Case]:
    """Return all examples."""
    folder = example_cases.examples_directory()
    assert folder is not None
    return example_cases.cases(folder)


def examples(chosen: Iterable[Case]) -> Iterator[Kernel]:
    """Yield the kernels of examples, each with its distinct runs."""
    for case in chosen:
        lowered = PassManager().run_passes(case.program)
        evaluator = StrictEvaluator(lowered)
        evaluator.calls = []
        evaluator.call(_entry(lowered), list(case.inputs(np.random.default_rng(0)).values()))
        for function in lowered.functions_:
            if role(function) is Role.KERNEL:
                runs = [q for q in evaluator.calls if q.name == function.name]
                traces = _different(runs)
                yield Kernel(f"{case.name} {function.name}", function, traces, lambda: iter(()))


def _entry(program: ir.Program) -> str:
    from pypto._src.driver import entry_function

    return entry_function(program).name


def _different(runs: Iterable[Queues]) -> list[Queues]:
    """Return one run for each sequence of statements."""
    found: dict[tuple[int, ...], Queues] = {}
    for run in runs:
        found.setdefault(_path(run), run)
    return list(found.values())


# --------------------------------------------------------------------------------------------
# Mutants
# --------------------------------------------------------------------------------------------


def mutants(kernel: Kernel) -> Iterator[Mutant]:
    """Yield the verdicts on all mutants of a kernel."""
    whole = (("flag", _text(stmts[0]), _without(*stmts)) for stmts in flags(kernel.traces))
    for kind, what, edit in (*edits(kernel.function), *whole):
        rules, broken = findings(kernel.function, edit), breakage(kernel.traces, edit)
        found = DiagnosticSeverity.Error in rules.values()
        can_break = bool(broken) or (found and bool(breakage(kernel.paths(), edit)))
        early = kind in ("removal", "flag") and "sync-overtake" in rules
        yield Mutant(kind, what, found, broken, can_break, early)


def flags(traces: Iterable[Queues]) -> list[list[Stmt]]:
    """Return the matching sets and waits: a wait consumes what a set has raised."""
    group: dict[Stmt, list[Stmt]] = {}
    for trace in traces:
        up: dict[object, Stmt] = {}
        for entry in trace.entries:
            stmt = entry.source
            if entry.triple is None or not isinstance(stmt, Stmt):
                continue
            group.setdefault(stmt, [stmt])
            if entry.kind is Kind.SET:
                up[entry.triple] = stmt
                continue
            first, second = group[up[entry.triple]], group[stmt]
            if first is not second:
                first += second
                group.update(dict.fromkeys(second, first))
    return list({id(each): each for each in group.values()}.values())


def edits(function: Function) -> Iterator[tuple[str, str, Edit]]:
    """Yield the edits of a kernel: kind, statement, and its replacement."""
    stmts = [point.stmt for point in points_in(number(function)) if is_sync(point.stmt)]
    flags: dict[tuple[int, int], dict[int, None]] = {}
    for stmt in stmts:
        yield "removal", _text(stmt), _without(stmt)
        triple = _triple(stmt)
        if triple is not None:
            flags.setdefault(triple[:2], {})[triple[2]] = None
    for pair, events in flags.items():
        free = [event for event in range(8) if event not in events]
        for event in events:
            if free:
                yield "deadlock", f"{pair} {event}", _renamed(pair, event, free[-1], sets_only=True)
        known = list(events)
        for first, second in pairwise(known):
            yield "reuse", f"{pair} {first}, {second}", _renamed(pair, second, first)


def _text(stmt: Stmt) -> str:
    call = call_of(stmt)
    assert call is not None
    return f"{call.op.name} {_triple(stmt) or ''}".strip()


def _triple(stmt: Stmt) -> tuple[int, int, int] | None:
    call = call_of(stmt)
    if call is None or not (call.op is sync_src or call.op is sync_dst):
        return None
    return (
        int(call.kwargs["set_pipe"]),
        int(call.kwargs["wait_pipe"]),
        int(call.kwargs["event_id"]),
    )


def _without(*dropped: Stmt) -> Edit:
    return lambda stmt: None if any(stmt is each for each in dropped) else stmt


def _renamed(pair: tuple[int, int], event: int, new: int, *, sets_only: bool = False) -> Edit:
    made: dict[Stmt, Stmt] = {}

    def edit(stmt: Stmt) -> Stmt:
        call = call_of(stmt)
        if call is None or _triple(stmt) != (*pair, event):
            return stmt
        if sets_only and call.op is not sync_src:
            return stmt
        if stmt not in made:
            op = sync_src if call.op is sync_src else sync_dst
            kwargs = {**call.kwargs, "event_id": new}
            made[stmt] = EvalStmt(expr=op.build((), kwargs, call.span), span=stmt.span)
        return made[stmt]

    return edit


def is_found(function: Function, edit: Edit, *, every_way: bool = False) -> bool:
    """True if the checker reports an error on a mutant."""
    return DiagnosticSeverity.Error in findings(function, edit, every_way=every_way).values()


def findings(
    function: Function, edit: Edit, *, every_way: bool = False
) -> dict[str, DiagnosticSeverity]:
    """Return the rules that a mutant breaks according to the checker."""

    def replace(_point: object, stmt: Stmt) -> Sequence[Stmt]:
        new = edit(stmt) if is_sync(stmt) else stmt
        return [] if new is None else [new]

    mutant = rewrite(function, number(function), replace)
    return {d.rule_name: d.severity for d in check_sync(mutant, every_way=every_way)}


def breakage(traces: Iterable[Queues], edit: Edit) -> str:
    """Return what goes wrong in some run of a mutant, in some order of the queues, or "".

    A mutant issues what the kernel does, except for its sets, waits and barriers.
    """
    changed: dict[object, Entry | None] = {}

    def change(entry: Entry) -> Entry | None:
        if entry.kind is Kind.WORK:
            return entry
        if entry.source not in changed:
            changed[entry.source] = _changed(entry, edit)
        return changed[entry.source]

    for trace in traces:
        try:
            queues = replayed(trace.entries, trace.name, change, LateOrder())
        except EvaluationError as error:
            return error.slug
        for error in held_back(queues.entries):
            return error.slug
    return ""


def _changed(entry: Entry, edit: Edit) -> Entry | None:
    assert isinstance(entry.source, Stmt)
    new = edit(entry.source)
    if new is None or new is entry.source:
        return None if new is None else entry
    triple = _triple(new)
    assert triple is not None
    pipes = ir.PipeType(triple[0]), ir.PipeType(triple[1])
    return Entry(entry.kind, entry.pipe, entry.span, triple=(*pipes, triple[2]))


# --------------------------------------------------------------------------------------------
# Counts
# --------------------------------------------------------------------------------------------


class Tally:
    """Counts verdicts by kind of mutant, and keeps the failures."""

    def __init__(self) -> None:
        self.kernels = 0
        self.findings = 0  # on unmutated kernels, warnings included
        self.counts: Counter[tuple[str, str]] = Counter()
        self.missed: list[str] = []
        self.alarms: list[str] = []

    def add(self, kernel: Kernel) -> None:
        """Judge a kernel and all its mutants."""
        self.kernels += 1
        self.findings += bool(findings(kernel.function, lambda stmt: stmt))
        for mutant in mutants(kernel):
            verdict = "broken" if mutant.broken else "may" if mutant.can_break else "whole"
            if mutant.early and verdict == "whole":
                verdict = "early"
            self.counts[mutant.kind, verdict] += 1
            self.counts[mutant.kind, f"{verdict} found"] += mutant.found
            line = f"{kernel.name}: {mutant.kind} {mutant.what} {mutant.broken}"
            if mutant.broken and not mutant.found:
                self.missed.append(line)
            if mutant.found and not mutant.can_break:
                self.alarms.append(line)

    def lines(self) -> list[str]:
        """Return the counts as lines of text."""
        rows = [f"{self.kernels} kernels, {self.findings} with findings as they are"]
        for kind in ("removal", "flag", "deadlock", "reuse"):
            broken, found = self.counts[kind, "broken"], self.counts[kind, "broken found"]
            whole, alarms = self.counts[kind, "whole"], self.counts[kind, "whole found"]
            may, early = self.counts[kind, "may"], self.counts[kind, "early"]
            part = 100.0 if broken == 0 else 100 * found / broken
            rows.append(
                f"{kind:<9} {broken + may + early + whole:>6} mutants: {broken} break, {found} of "
                f"them found ({part:.2f} %); {may} more found that break on other paths; {early} "
                f"raise a flag too early; {whole} do not break, {alarms} of them reported"
            )
        return rows


def main(count: int) -> int:
    """Print the counts of all examples and ``count`` random programs; return 1 if any is wrong."""
    begin = time.perf_counter()
    status = 0
    for title, kernels in (
        ("examples", examples(cases())),
        ("random programs", (random_program(seed) for seed in range(count))),
    ):
        tally = Tally()
        for kernel in kernels:
            tally.add(kernel)
        print(f"{title}: {'; '.join(tally.lines()[:1])}")
        for line in tally.lines()[1:]:
            print(f"  {line}")
        for line in [*(f"MISSED {m}" for m in tally.missed), *(f"ALARM {a}" for a in tally.alarms)]:
            print(f"  {line}")
        status |= bool(tally.findings or tally.missed or tally.alarms)
    print(f"{time.perf_counter() - begin:.0f} s")
    return int(status)


if __name__ == "__main__":
    assert Path("tests").is_dir(), "run it in the project's folder"
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
