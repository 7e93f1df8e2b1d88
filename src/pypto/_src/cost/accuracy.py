"""Errors of predictions against measured times, by instruction, beside a vendor model's errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

import numpy as np

from pypto._src.cost.fit import Measurement, fitted
from pypto._src.cost.model import timing_of
from pypto._src.cost.tables import CostTable
from pypto._src.records import NamedTuple

SPLITS: Final = 5
"""How many times the measured times are split at random, to judge fits on held-out cases."""


class Spread(NamedTuple):
    """Relative errors of some predictions: the median and the 90th percentile."""

    median: float
    p90: float


class Accuracy(NamedTuple):
    """How accurate the predictions are for one instruction, or for all."""

    name: str
    cases: int
    model: Spread
    unseen: Spread
    """Errors of fits to one half of the cases, on the other half."""
    vendor: Spread | None


def accuracy(table: CostTable, measured: Sequence[Measurement]) -> list[Accuracy]:
    """Return the errors for each instruction, and then for all of them."""
    names = sorted({m.case.instruction for m in measured})
    own = errors_of(table, measured)
    unseen: dict[str, list[float]] = {name: [] for name in names}
    for seed in range(SPLITS):
        first, second = halves(measured, seed)
        for seen, rest in ((first, second), (second, first)):
            errors = errors_of(fitted(table, seen, from_table=False), rest)
            for each, error in zip(rest, errors, strict=True):
                unseen[each.case.instruction].append(error)
    rows: list[Accuracy] = []
    for name in (*names, "all"):
        chosen = [i for i, m in enumerate(measured) if name in ("all", m.case.instruction)]
        vendor = [_vendor_error(measured[i]) for i in chosen]
        known = [error for error in vendor if error is not None]
        judged = (
            [e for errors in unseen.values() for e in errors] if name == "all" else unseen[name]
        )
        model = _spread([own[i] for i in chosen])
        rows.append(
            Accuracy(name, len(chosen), model, _spread(judged), _spread(known) if known else None)
        )
    return rows


def errors_of(table: CostTable, measured: Iterable[Measurement]) -> list[float]:
    """Return the absolute relative error of each prediction."""
    return [
        abs(timing_of(table.row(m.case)[0], m.case).alone - m.cycles) / m.cycles for m in measured
    ]


def halves(
    measured: Sequence[Measurement], seed: int
) -> tuple[list[Measurement], list[Measurement]]:
    """Split measured times in two at random; all of one instruction and shape stay together."""
    shapes: dict[str, dict[tuple[object, ...], list[Measurement]]] = {}
    for each in measured:
        case = each.case
        key = (case.src_dtype, case.dst_dtype, case.valid_rows, case.row_repeats, case.bytes)
        shapes.setdefault(case.instruction, {}).setdefault(key, []).append(each)
    random = Random(seed)
    first: list[Measurement] = []
    second: list[Measurement] = []
    for of_instruction in shapes.values():
        groups = list(of_instruction.values())
        random.shuffle(groups)
        for index, group in enumerate(groups):
            (first if index % 2 == 0 else second).extend(group)
    return first, second


def _vendor_error(measured: Measurement) -> float | None:
    if measured.vendor_cycles is None:
        return None
    return abs(measured.vendor_cycles - measured.cycles) / measured.cycles


def _spread(errors: Sequence[float]) -> Spread:
    if not errors:
        return Spread(0.0, 0.0)
    return Spread(float(np.median(errors)), float(np.quantile(errors, 0.9)))
