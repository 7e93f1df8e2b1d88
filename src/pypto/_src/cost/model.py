"""The cost model: what a table says about an instruction, and what had to be assumed."""

from __future__ import annotations

from math import isfinite

from pypto._src.cost.cases import Case
from pypto._src.cost.formulas import FORMULAS, Timing
from pypto._src.cost.tables import GUESS, CostTable, Row, types_of


class CostModel:
    """Predicts times from the figures of a table, and records its assumptions."""

    def __init__(self, table: CostTable) -> None:
        self.table = table
        self.assumptions: dict[str, str] = {}
        """The assumptions, keyed by what each was made for."""

    def timing(self, case: Case) -> Timing:
        """Return how long an instruction takes."""
        row, is_own = self.table.row(case)
        if not is_own or row.sure >= GUESS:
            self._assume(case, row, is_own)
        return timing_of(row, case)

    def machine(self, name: str) -> float:
        """Return the figure of the machine that ``ROW.FIGURE`` names."""
        row = self.table.machine[name.partition(".")[0]]
        if row.sure >= GUESS:
            self.assumptions.setdefault(f"machine.{row.name}", row.source)
        return self.table.machine_figure(name)

    def _assume(self, case: Case, row: Row, is_own: bool) -> None:
        if is_own:
            what = row.source
        elif row.name == "*":
            what = f"not known: taken as {row.formula} with the figures of '*'"
        else:
            what = f"not known: taken as {row.name}"
        self.assumptions.setdefault(case.instruction, what)


def timing_of(row: Row, case: Case) -> Timing:
    """Return the time of a case by the figures of a row."""
    assert row.formula is not None
    types = types_of(case)
    found = FORMULAS[row.formula].timing(lambda name: row.figure(name, *types), case)
    return found if isfinite(found.alone) else Timing(0.0, 0.0, 0.0)
