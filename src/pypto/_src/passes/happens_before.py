"""Checks the synchronisation of a function: races, and the discipline of flags and barriers.

The function is executed abstractly, several times: loops run zero to three times, branches go
either way. Each run is a trace of entries in the queues of the pipes, and a vector clock says what
must have completed before an entry starts (hardware sheet, 3.1 to 3.5). Two accesses of the same
bytes, one of them a write, that nothing orders are a race.

Works on any function with memory references, whoever put the flags there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple, TypeAlias

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity, Label, Span
from pypto._src.ir.enums import PipeType
from pypto._src.ir.nodes import Call, ConstInt, Expr, Var, const_value
from pypto._src.ir.stmts import ForStmt, Function, IfStmt, WhileStmt
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src
from pypto._src.passes.boxes import Affine, Box, trip_count
from pypto._src.passes.buffers import Accesses, Chunk, Instruction
from pypto._src.passes.regions import Block, Site, call_of, number, sites_in
from pypto._src.targets import A2A3, Target

PIPES: Final = 7
LONGEST: Final = 3
"""How often a loop runs at most in a trace."""
_BARRIERS: Final[tuple[tuple[Any, PipeType], ...]] = (
    (bar_v, PipeType.V),
    (bar_m, PipeType.M),
    (bar_all, PipeType.ALL),
)
Range: TypeAlias = "tuple[float, float]"


def check_sync(function: Function, target: Target = A2A3) -> list[Diagnostic]:
    """Return what is wrong with the flags and barriers of ``function``, each finding once.

    Rules: ``sync-race`` two accesses that nothing orders; ``sync-deadlock`` a wait before its set;
    ``sync-double-set`` a flag raised twice; ``sync-leak`` a flag left raised; ``sync-flag`` a flag
    or barrier that the hardware does not have; ``sync-tail`` work in flight at the end;
    ``sync-overtake`` (a warning) a flag raised again while its wait may still be under way.
    """
    root = number(function)
    accesses = Accesses(function, root)
    found: dict[tuple[object, ...], Diagnostic] = {}
    for choices in _runs(root):
        machine = _Machine(accesses, target, found)
        _Run(machine, accesses, choices).block(root)
        machine.finish(function)
    return list(found.values())


# --------------------------------------------------------------------------------------------
# Ways through a function
# --------------------------------------------------------------------------------------------


class _Choices(NamedTuple):
    """How one run goes: how often a loop runs, and which arm a branch takes."""

    trips: Callable[[], int]
    arm: Callable[[], int]


def _runs(root: Block) -> Iterator[_Choices]:
    """Yield uniform ways through the function, then irregular ones."""
    loops = any(site.is_loop for site in sites_in(root))
    branches = any(isinstance(site.stmt, IfStmt) for site in sites_in(root))
    trips = [[n] for n in range(LONGEST + 1)] if loops else [[1]]
    arms = [[0], [1], [0, 1], [1, 0]] if branches else [[0]]
    for trip, arm in product(trips, arms):
        yield _Choices(_cycle(trip), _cycle(arm))
    if loops or branches:
        for seed in range(8):
            yield _Choices(_random(2 * seed, LONGEST + 1), _random(2 * seed + 1, 2))


def _cycle(values: list[int]) -> Callable[[], int]:
    state = [-1]

    def step() -> int:
        state[0] += 1
        return values[state[0] % len(values)]

    return step


def _random(seed: int, below: int) -> Callable[[], int]:
    """Return a repeatable source of numbers: a linear congruential generator."""
    state = [seed * 7919 + 17]

    def step() -> int:
        state[0] = (state[0] * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        return (state[0] >> 33) % below

    return step


class _Run:
    """Feeds the entries of one way through the function to a machine."""

    def __init__(self, machine: _Machine, accesses: Accesses, choices: _Choices) -> None:
        self.machine = machine
        self.accesses = accesses
        self.choices = choices
        self.values: dict[Expr, int] = {}  # of loop variables; whatever else is not known is 0

    def block(self, block: Block) -> None:
        """Execute the statements of a block."""
        for site in block.sites:
            instruction = self.accesses.at.get(site)
            if instruction is not None:
                self.machine.operate(instruction, self.boxes(instruction))
            elif isinstance(site.stmt, ForStmt | WhileStmt):
                self.loop(site, site.stmt)
            elif isinstance(site.stmt, IfStmt):
                arm = self.choices.arm()
                for inner in site.blocks[arm : arm + 1]:
                    self.block(inner)
            elif site.blocks:
                for inner in site.blocks:
                    self.block(inner)
            else:
                call = call_of(site.stmt)
                if call is not None:
                    self.machine.synchronise(site, call)

    def loop(self, site: Site, stmt: ForStmt | WhileStmt) -> None:
        """Execute a loop as often as the run says, within its bounds if these are constants."""
        trips, wanted = trip_count(stmt), self.choices.trips()
        if trips is not None:
            wanted = trips if trips <= LONGEST else max(wanted, 2)
        start, step = 0, 1
        if isinstance(stmt, ForStmt):
            start = self.value(self.accesses.integers.form(stmt.start, site.block))
            step = const_value(stmt.step) or 1
        for turn in range(wanted):
            if isinstance(stmt, ForStmt):
                self.values[stmt.loop_var] = start + turn * step
            self.block(site.blocks[0])

    def value(self, form: Affine) -> int:
        """Return the value of an integer."""
        return form.constant + sum(n * self.values.get(a, 0) for a, n in form.terms.items())

    def boxes(self, instruction: Instruction) -> list[_Part]:
        """Return the parts of tensors that an instruction touches now."""
        return [_Part(a.root, self.ranges(a.box), a.writes) for a in instruction.tensors]

    def ranges(self, box: Box | None) -> tuple[Range, ...] | None:
        """Return first and last + 1 element for each dimension, None for the whole tensor."""
        if box is None:
            return None
        starts = [self.value(offset) for offset in box.offsets]
        return tuple(
            (start, float("inf") if size is None else start + size)
            for start, size in zip(starts, box.sizes, strict=True)
        )


class _Part(NamedTuple):
    """A part of a tensor that an entry reads or writes."""

    root: Var
    ranges: tuple[Range, ...] | None
    writes: bool

    def meets(self, other: _Part) -> bool:
        """True if the parts have an element in common."""
        if self.ranges is None or other.ranges is None or len(self.ranges) != len(other.ranges):
            return True
        pairs = zip(self.ranges, other.ranges, strict=True)
        return all(a < d and c < b for (a, b), (c, d) in pairs)


# --------------------------------------------------------------------------------------------
# The machine
# --------------------------------------------------------------------------------------------


class _Access(NamedTuple):
    """The last access of a pipe to a chunk."""

    number: int
    instruction: Instruction


class _Earlier(NamedTuple):
    """An access to a part of a tensor."""

    number: int
    instruction: Instruction
    part: _Part


class _Token(NamedTuple):
    """A raised flag: what is complete where, and the statement that raised it."""

    row: list[int]
    site: Site


class _Triple(NamedTuple):
    source: int
    target: int
    event: int

    def __str__(self) -> str:
        names = f"{PipeType(self.source).name} -> {PipeType(self.target).name}"
        return f"flag {self.event} of {names}"


class _Machine:
    """Queues, flags and clocks of one core during one run."""

    def __init__(
        self,
        accesses: Accesses,
        target: Target,
        found: dict[tuple[object, ...], Diagnostic],
    ) -> None:
        self.accesses = accesses
        self.target = target
        self.found = found
        self.count = [0] * PIPES  # entries in each queue
        self.known = [[0] * PIPES for _ in range(PIPES)]
        self.last: dict[int, _Access] = {}  # instruction of each pipe
        self.chunks: dict[Chunk, dict[tuple[int, bool], _Access]] = {}
        self.tensors: dict[Var, list[_Earlier]] = {}
        self.raised: dict[_Triple, deque[_Token]] = {}
        self.waited: dict[_Triple, int] = {}  # entry number of the last wait

    # Instructions

    def operate(self, instruction: Instruction, parts: Iterable[_Part]) -> None:
        """Queue an instruction and compare it with everything before."""
        pipe = int(instruction.pipe)
        self.count[pipe] += 1
        access = _Access(self.count[pipe], instruction)
        self.last[pipe] = access
        for chunk in instruction.reads:
            self.compare(access, chunk, False)
        for chunk in instruction.writes:
            self.compare(access, chunk, True)
        for touched, writes in ((instruction.reads, False), (instruction.writes, True)):
            for chunk in touched:
                self.chunks.setdefault(chunk, {})[pipe, writes] = access
        for part in parts:
            self.compare_part(access, part)

    def compare(self, access: _Access, chunk: Chunk, writes: bool) -> None:
        """Report the accesses to a chunk that are not complete before this one starts.

        Only the last one of each pipe matters: completion is known for prefixes of a queue.
        """
        for (_, wrote), earlier in self.chunks.get(chunk, {}).items():
            if (writes or wrote) and not self.ordered(earlier, access):
                self.race(earlier.instruction, access.instruction, wrote, writes)

    def compare_part(self, access: _Access, part: _Part) -> None:
        """Report the accesses to a part of a tensor that are not complete yet, and add it."""
        listed = self.tensors.setdefault(part.root, [])
        for earlier in listed:
            itself = earlier.number == access.number and earlier.instruction is access.instruction
            if itself or not (part.writes or earlier.part.writes):
                continue
            before = _Access(earlier.number, earlier.instruction)
            if not self.ordered(before, access) and part.meets(earlier.part):
                self.race(earlier.instruction, access.instruction, earlier.part.writes, part.writes)
        if len(listed) >= 64 and len(listed) % 64 == 0:
            listed[:] = [e for e in listed if not self.complete(e.number, int(e.instruction.pipe))]
        listed.append(_Earlier(access.number, access.instruction, part))

    def complete(self, number: int, pipe: int) -> bool:
        """True if every pipe knows that an entry is complete."""
        return all(row[pipe] >= number for row in self.known)

    def ordered(self, first: _Access, second: _Access) -> bool:
        """True if ``first`` is complete before ``second`` starts."""
        a, b = first.instruction.pipe, second.instruction.pipe
        return self.known[b][a] >= first.number or (a == b and second.instruction.in_order)

    def race(self, first: Instruction, second: Instruction, wrote: bool, writes: bool) -> None:
        """Report two accesses that nothing orders."""
        a, b = first.pipe.name, second.pipe.name
        was, now = ("writes" if wrote else "reads"), ("writes" if writes else "reads")
        kind = {(True, False): "RAW", (False, True): "WAR", (True, True): "WAW"}[wrote, writes]
        self.report(
            "sync-race",
            (first.site, second.site),
            f"{kind} race: {second.call.op.name} on {b} {now} what {first.call.op.name} on {a} "
            f"{was}, and nothing makes {b} wait",
            second.site.stmt.span,
            Label(first.site.stmt.span, f"{was} it on {a}"),
        )

    # Flags and barriers

    def synchronise(self, site: Site, call: Call) -> None:
        """Queue a set, wait or barrier; other calls are none of the machine's business."""
        if call.op is sync_src:
            self.raise_flag(site, _triple(call))
        elif call.op is sync_dst:
            self.wait(site, _triple(call))
        else:
            for op, pipe in _BARRIERS:
                if call.op is op:
                    self.barrier(pipe)

    def exists(self, site: Site, triple: _Triple) -> bool:
        """Report a flag that the hardware does not have."""
        pipes = range(PIPES)
        if (
            triple.source != triple.target
            and triple.source in pipes
            and triple.target in pipes
            and 0 <= triple.event < self.target.event_ids
        ):
            return True
        what = "a pipe does not wait for itself: use a barrier"
        if triple.source != triple.target:
            what = f"pipes are 0 to {PIPES - 1}, events 0 to {self.target.event_ids - 1}"
        message = f"no flag {tuple(triple)}: {what}"
        self.report("sync-flag", (triple,), message, site.stmt.span)
        return False

    def raise_flag(self, site: Site, triple: _Triple) -> None:
        """Queue a set: all earlier entries of the source pipe complete before the flag is up."""
        if not self.exists(site, triple):
            return
        source = triple.source
        queue = self.raised.setdefault(triple, deque())
        span = site.stmt.span
        if queue:
            first = Label(queue[-1].site.stmt.span, "raised here, and not waited for")
            message = f"{triple} is raised again before anything waits for it"
            self.report("sync-double-set", (triple, site), message, span, first)
        row = self.known[source][:]
        row[source] = self.count[source]
        if row[triple.target] < self.waited.get(triple, 0):
            message = f"{triple} may be raised again while its last wait is still under way"
            self.report(
                "sync-overtake", (triple, site), message, span, severity=DiagnosticSeverity.Warning
            )
        queue.append(_Token(row, site))
        self.count[source] += 1

    def wait(self, site: Site, triple: _Triple) -> None:
        """Queue a wait: later entries of the target pipe start after what the flag tells."""
        if not self.exists(site, triple):
            return
        target = triple.target
        queue = self.raised.get(triple)
        if not queue:
            message = f"{triple} is waited for, but nothing before it raises it"
            self.report("sync-deadlock", (triple, site), message, site.stmt.span)
            return
        token = queue.popleft()
        self.count[target] += 1
        self.waited[triple] = self.count[target]
        rows = self.known if target == PipeType.S else [self.known[target]]
        for row in rows:
            row[:] = [max(a, b) for a, b in zip(row, token.row, strict=True)]

    def barrier(self, pipe: PipeType) -> None:
        """Queue a barrier."""
        if pipe is PipeType.ALL:
            for row in self.known:
                row[:] = self.count
            return
        self.known[pipe][pipe] = self.count[pipe]
        self.count[pipe] += 1

    # The end

    def finish(self, function: Function) -> None:
        """Report what the function leaves behind."""
        for triple, queue in self.raised.items():
            for token in queue:
                message = f"{triple} is still raised when {function.name!r} ends"
                self.report("sync-leak", (triple, token.site), message, token.site.stmt.span)
        for pipe, access in sorted(self.last.items()):
            if pipe != PipeType.S and self.known[PipeType.S][pipe] < access.number:
                site = access.instruction.site
                message = (
                    f"{access.instruction.call.op.name} on {PipeType(pipe).name} may still be "
                    f"under way when {function.name!r} ends"
                )
                self.report("sync-tail", (site,), message, site.stmt.span)

    def report(
        self,
        rule: str,
        what: tuple[object, ...],
        message: str,
        span: Span,
        *related: Label,
        severity: DiagnosticSeverity = DiagnosticSeverity.Error,
    ) -> None:
        """Note a finding unless it is known."""
        finding = Diagnostic(severity, rule, 0, message, span, related=related)
        self.found.setdefault((rule, *what), finding)


def _triple(call: Call) -> _Triple:
    values = [call.kwargs[key] for key in ("set_pipe", "wait_pipe", "event_id")]
    return _Triple(*(v.value if isinstance(v, ConstInt) else int(v) for v in values))
