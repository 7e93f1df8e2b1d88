"""Fits the figures of a table to measured times."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from pypto._src.cost.cases import Case, case_of
from pypto._src.cost.formulas import FORMULAS
from pypto._src.cost.model import timing_of
from pypto._src.cost.tables import RATES, CostTable, Row, Value, types_of
from pypto._src.errors import PyptoError
from pypto._src.records import NamedTuple

_ROUNDS: Final = 30
_STEP: Final = 1e-4
_PULL: Final = 0.002
"""How strongly a figure is pulled to its starting value; decides those that no case determines."""
_GIVEN: Final = {"walks_rows", "masks_rows", "short", "elements", "ragged"}
"""Figures that describe how an instruction works, and so are not fitted."""
_LINE_ROWS: Final = (16, 64)
"""The row counts at which a regression line is sampled as cases."""


class Measurement(NamedTuple):
    """A case and how long it took."""

    case: Case
    target: str
    cycles: float
    vendor_cycles: float | None


def read_measurements(path: Path) -> list[Measurement]:
    """Return the measured times of a CSV file: of cases, or regression lines for each width.

    Raises:
        PyptoError: it has no measured times.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file)
        columns = rows.fieldnames or ()
        if "measured_cycles" in columns:
            return [
                Measurement(
                    case_of(row),
                    row.get("arch") or "a2a3",
                    float(row["measured_cycles"]),
                    float(row["ptoisa_cycles"]) if row.get("ptoisa_cycles") else None,
                )
                for row in rows
            ]
        if "cycles_per_element" in columns:
            return [m for row in rows if row["cols"].isdigit() for m in _line(row)]
    raise PyptoError(
        f"{path} has no column 'measured_cycles' and no 'cycles_per_element'", slug="cost-case"
    )


def _line(row: dict[str, str]) -> Iterable[Measurement]:
    cols, slope, fixed = int(row["cols"]), row["cycles_per_element"], row["fixed_cycles"]
    for rows in _LINE_ROWS:
        case = Case(row["instruction"], row["dtype"], row["dtype"], (rows, cols))
        yield Measurement(case, "a2a3", float(slope) * rows * cols + float(fixed), None)


def fitted(table: CostTable, measured: Sequence[Measurement], *, from_table: bool) -> CostTable:
    """Return a table whose figures fit measured times.

    The fit of a row starts from the table's figures, or from its formula's starting values. It
    minimizes relative errors, and large ones count less than their square.
    """
    groups: dict[str, list[Measurement]] = {}
    for each in measured:
        row, _ = table.row(each.case)
        groups.setdefault(row.name, []).append(each)
    instructions = dict(table.instructions)
    for name, cases in groups.items():
        instructions[name] = _fit_row(instructions[name], cases, from_table=from_table)
    if not from_table:
        for name in instructions.keys() - groups.keys():
            instructions[name] = _unknown(instructions[name])
    return CostTable(table.target, table.machine, instructions)


def _unknown(row: Row) -> Row:
    """Return a row with its figures as they were known before anything was measured."""
    assert row.formula is not None
    start = FORMULAS[row.formula].start
    figures: dict[str, Value] = {
        key: row.prior.get(key, value if key in _GIVEN else _same(value, start[key]))
        for key, value in row.figures.items()
    }
    return row._replace(figures=figures)


def _same(value: Value, number: float) -> Value:
    return number if isinstance(value, int | float) else dict.fromkeys(value, number)


def _fit_row(row: Row, measured: Sequence[Measurement], *, from_table: bool) -> Row:
    assert row.formula is not None
    if not from_table:
        row = _scaled_to(_unknown(row), measured)
    keys = _free(row, measured)
    if not keys:
        return row
    start = np.array([_get(row, key) for key in keys])
    scale = np.maximum(np.abs(start), 0.5)
    goal = np.array([m.cycles for m in measured])

    def predict(values: np.ndarray) -> np.ndarray:
        changed = _with(row, keys, values)
        return np.array([timing_of(changed, m.case).alone for m in measured])

    def loss(values: np.ndarray) -> float:
        errors = (predict(values) - goal) / goal
        pull = (values - start) / scale
        return float(np.sum(np.sqrt(errors**2 + 1e-4)) + _PULL * np.sum(np.sqrt(pull**2 + 1)))

    values, best = start.copy(), loss(start)
    damping = 1e-3
    for _ in range(_ROUNDS):
        base = predict(values)
        jacobian = np.empty((len(goal), len(keys)))
        for index, size in enumerate(scale):
            moved = values.copy()
            moved[index] += _STEP * size
            jacobian[:, index] = (predict(moved) - base) / _STEP / goal
        errors = (base - goal) / goal
        weights = 1 / np.sqrt(errors**2 + 1e-4)
        pull = (values - start) / scale
        pulls = _PULL / np.sqrt(pull**2 + 1)
        left = (jacobian.T * weights) @ jacobian + np.diag(pulls + damping)
        right = -(jacobian.T * weights) @ errors - pulls * pull
        step = np.linalg.solve(left, right) * scale
        new = np.maximum(values + step, 0.0)
        now = loss(new)
        if now < best:
            if best - now < 1e-9:
                break
            values, best, damping = new, now, damping / 4
        else:
            damping = damping * 8 + 1e-6
    found = _with(row, keys, values)
    return found if from_table else _extrapolated(found, row, keys)


def _extrapolated(row: Row, start: Row, keys: Sequence[Key]) -> Row:
    """Scale the figures of types without cases by the mean change of the types with cases."""
    figures = dict(row.figures)
    for name, value in row.figures.items():
        before = start.figures[name]
        if isinstance(value, int | float) or isinstance(before, int | float):
            continue
        moved = [value[t] / before[t] for n, t in keys if n == name and t and before[t]]
        if moved:
            ratio = sum(moved) / len(moved)
            changed = {t: v if (name, t) in keys else v * ratio for t, v in value.items()}
            figures[name] = changed
    return row._replace(figures=figures)


def _scaled_to(row: Row, measured: Sequence[Measurement]) -> Row:
    """Scale a row's figures to the magnitude of the measured times."""
    ratios = [m.cycles / max(timing_of(row, m.case).alone, 1e-9) for m in measured]
    ratio = float(np.median(ratios))
    if 0.5 < ratio < 2:
        return row
    figures: dict[str, Value] = {}
    for name, value in row.figures.items():
        if name in _GIVEN or name in RATES:
            figures[name] = value
        elif isinstance(value, int | float):
            figures[name] = value * ratio
        else:
            figures[name] = {kind: number * ratio for kind, number in value.items()}
    return row._replace(figures=figures)


Key = tuple[str, str | None]


def _free(row: Row, measured: Sequence[Measurement]) -> list[Key]:
    """Return the figures of a row that some case depends on."""
    keys: dict[Key, None] = {}
    for each in measured:
        types = types_of(each.case)
        for name, value in row.figures.items():
            if isinstance(value, int | float):
                keys[name, None] = None
            else:  # as `Row.figure` looks it up
                found = next((t for t in (*types, "any") if t in value), next(iter(value)))
                keys[name, found] = None
    return [key for key in keys if key[0] not in _GIVEN]


def _get(row: Row, key: Key) -> float:
    value = row.figures[key[0]]
    return float(value) if isinstance(value, int | float) else float(value[key[1] or ""])


def _with(row: Row, keys: Sequence[Key], values: np.ndarray) -> Row:
    figures = {k: v if isinstance(v, int | float) else dict(v) for k, v in row.figures.items()}
    for (name, kind), number in zip(keys, values.tolist(), strict=True):
        value = figures[name]
        if isinstance(value, dict):
            value[kind or ""] = number
        else:
            figures[name] = number
    return row._replace(figures=figures)
