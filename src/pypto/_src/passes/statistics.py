"""PassStatistics: how long each pass took, what it changed, and how often its rules fired."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from pypto._src.ir.stmts import Program
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.pass_base import Pass, PassInstrument
from pypto._src.passes.rewrite import Hits, RewritePass
from pypto._src.records import NamedTuple


class PassRecord(NamedTuple):
    """One run of one pass."""

    name: str
    seconds: float  # without the other instruments
    statements: tuple[int, int]  # before and after
    changed: bool
    hits: tuple[Hits, ...]  # of the rules of a `RewritePass`

    @property
    def stats(self) -> dict[str, int]:
        """How often each rule fired, by name."""
        return {each.rule: each.hits for each in self.hits}


class PassStatistics(PassInstrument):
    """Records every pass that runs inside ``with PassContext([PassStatistics()])``."""

    def __init__(self) -> None:
        self.records: list[PassRecord] = []
        self._open: list[tuple[float, int, Program]] = []

    def run_before_pass(self, pass_: Pass, program: Program) -> None:
        """Count the statements and start the clock."""
        size = _size(program)
        self._open.append((perf_counter(), size, program))

    def run_after_pass(self, pass_: Pass, program: Program) -> None:
        """Stop the clock and record the pass."""
        end = perf_counter()
        begin, size, before = self._open.pop()
        hits = tuple(pass_.hits) if isinstance(pass_, RewritePass) else ()
        sizes = (size, _size(program))
        changed = program is not before
        self.records.append(PassRecord(pass_.get_name(), end - begin, sizes, changed, hits))

    def report(self) -> str:
        """Return a table: one line per pass, and below it a line for each rule that fired."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"{'pass':26} {'ms':>9} {'statements':>17}"
        for record in self.records:
            before, after = record.statements
            size = f"{before} -> {after}" if record.changed else f"{before}, unchanged"
            yield f"{record.name:26} {1e3 * record.seconds:9.2f} {size:>17}"
            for rule in record.hits:
                if rule.hits:
                    yield f"  {rule.rule:24} {rule.hits:9} x {rule.meaning} ({rule.location})"
        total = sum(record.seconds for record in self.records)
        yield f"{'all':26} {1e3 * total:9.2f}"


def _size(program: Program) -> int:
    return sum(1 for function in program.functions_ for _ in stmts_in(function.body))
