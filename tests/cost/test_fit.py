"""Fitting: the figures from which times were computed are recovered from these times."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from pypto._src.cost.accuracy import accuracy, errors_of, halves
from pypto._src.cost.cases import Case
from pypto._src.cost.fit import Measurement, fitted, read_measurements
from pypto._src.cost.model import timing_of
from pypto._src.cost.tables import CostTable, load_table, read_table

TRUTH = """
[instructions.TADD]
formula = "elementwise"
fixed = { fp32 = 30.0, fp16 = 20.0 }
per_repeat = 3.0
mask = 10.0
walks_rows = 1.0
[instructions.TROWMAX]
formula = "row_reduction"
fixed = 50.0
mask = 11.0
one = 9.0
per_row = 4.0
per_block = 2.0
step = 30.0
ragged_row = 3.0
stands_for = ["TROWMIN"]
"""
SHAPES = [(rows, cols) for rows, cols in product((1, 16, 40), (32, 64, 100, 128, 256, 300))]


@pytest.fixture
def truth(tmp_path: Path) -> CostTable:
    """A table that differs from PyPTO's."""
    path = tmp_path / "truth.toml"
    path.write_text(TRUTH)
    return read_table(path)


def measured(table: CostTable, vendor: float | None = None) -> list[Measurement]:
    """Return times computed from a table's figures."""
    cases = [
        Case(name, dtype, dtype, shape)
        for name, dtype, shape in product(("TADD", "TROWMAX"), ("fp32", "fp16"), SHAPES)
    ]
    times = [(case, timing_of(table.row(case)[0], case).alone) for case in cases]
    return [Measurement(c, "a2a3", t, None if vendor is None else t * vendor) for c, t in times]


@pytest.mark.parametrize("from_table", [True, False])
def test_figures_are_found_again(truth: CostTable, from_table: bool) -> None:
    """From exact times the fit finds figures that predict them all, wherever it starts."""
    found = fitted(load_table("a2a3"), measured(truth), from_table=from_table)
    assert max(errors_of(found, measured(truth))) < 0.01
    assert found.instructions["TADD"].figure("per_repeat") == pytest.approx(3, rel=0.01)
    assert found.instructions["TADD"].figure("fixed", "fp16") == pytest.approx(20, rel=0.02)


def test_a_fit_from_nothing_does_not_look_at_the_table(truth: CostTable) -> None:
    """Figures that no case determines keep their values from before any measurement."""
    found = fitted(load_table("a2a3"), measured(truth), from_table=False)
    assert found.instructions["TROWEXPAND"].figure("per_row") == 13
    assert found.instructions["TEXP"].figure("fixed", "fp32") == 30.5  # by its row's `prior`
    kept = fitted(load_table("a2a3"), measured(truth), from_table=True)
    assert kept.instructions["TROWSUM"] == load_table("a2a3").instructions["TROWSUM"]


def test_halves_keep_shapes_together(truth: CostTable) -> None:
    """Cases of one shape are never on both sides, and nothing is lost."""
    cases = measured(truth)
    first, second = halves(cases * 2, 0)
    assert len(first) + len(second) == 2 * len(cases)
    assert not {id(m.case) for m in first} & {id(m.case) for m in second}


def test_accuracy_by_instruction(truth: CostTable) -> None:
    """Errors of the model, of cross-validated fits, and of the vendor's model."""
    *each, everything = accuracy(truth, measured(truth, vendor=1.1))
    assert [row.name for row in each] == ["TADD", "TROWMAX"]
    assert everything.cases == sum(row.cases for row in each) == len(measured(truth))
    assert everything.model == (0.0, 0.0)
    assert everything.vendor == pytest.approx((0.1, 0.1))
    assert 0.0 < everything.unseen.p90 < 0.05


def test_lines_are_read_as_cases(tmp_path: Path) -> None:
    """A regression line for one width becomes cases for tiles of that width."""
    path = tmp_path / "lines.csv"
    path.write_text(
        "instruction,dtype,cols,cycles_per_element,fixed_cycles\nTADDS,fp32,64,0.5,25\n"
        "TEXP,any,*,0.03,30\n"
    )
    found = [(m.case.rows, m.case.cols, m.cycles) for m in read_measurements(path)]
    assert found == [(16, 64, 537.0), (64, 64, 2073.0)]
