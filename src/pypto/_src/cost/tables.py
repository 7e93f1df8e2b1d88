"""Tables of figures as TOML files: what each number is, its source, and how certain it is.

A table has ``[machine.NAME]`` rows of plain figures and ``[instructions.NAME]`` rows, which name
the formula that their figures go into. A figure is a number, or one for each element type. Each row
gives its ``source`` and how ``sure`` it is:

1. measured on a device, and confirmed by a second measurement
2. measured on a device once
3. from a simulator, or disputed
4. a guess, which is printed as an assumption wherever it is used
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from math import isfinite
from pathlib import Path
from typing import Any, Final, cast

from pypto._src.cost.cases import Case, class_of
from pypto._src.cost.formulas import FORMULAS
from pypto._src.errors import PyptoError
from pypto._src.records import NamedTuple
from pypto._src.suggestions import did_you_mean

TARGETS: Final = ("a2a3", "a5")
GUESS: Final = 4
_NOTES: Final = ("formula", "sure", "source", "covers", "stands_for", "prior")

RATES: Final = ("bytes_per_cycle", "elements")
"""Figures that are divisors: a larger one means a shorter time."""

Value = float | Mapping[str, float]


class Row(NamedTuple):
    """The figures of one instruction, or of one part of the machine."""

    name: str
    formula: str | None
    figures: Mapping[str, Value]
    sure: int
    source: str
    covers: tuple[str, ...]  # other instructions for which the figures are known to hold
    stands_for: tuple[str, ...]  # names or patterns of instructions without figures of their own
    prior: Mapping[str, Value]  # what was known before anything was measured: where a fit starts

    def figure(self, name: str, *types: str) -> float:
        """Return a figure for the first of ``types``, element types or classes, that has one."""
        value = self.figures.get(name)
        if value is None:
            return FORMULAS[self.formula].start[name] if self.formula is not None else 0.0
        if isinstance(value, int | float):
            return float(value)
        for key in types:
            if key in value:
                return value[key]
        return value["any"] if "any" in value else next(iter(value.values()))

    def has(self, name: str, *types: str) -> bool:
        """True if the row has a figure of its own for one of some element types."""
        value = self.figures.get(name)
        return isinstance(value, int | float) or (
            value is not None and any(t in value for t in types)
        )


class CostTable:
    """All figures of one target."""

    def __init__(self, target: str, machine: dict[str, Row], instructions: dict[str, Row]) -> None:
        self.target = target
        self.machine = machine
        self.instructions = instructions
        self._found: dict[tuple[str, tuple[str, ...]], tuple[Row, bool]] = {}

    def row(self, case: Case) -> tuple[Row, bool]:
        """Return the row for a case, and whether its figures hold for it or only stand in."""
        key = case.instruction, case.qualifiers
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._search(*key)
        return found

    def _search(self, name: str, qualifiers: tuple[str, ...]) -> tuple[Row, bool]:
        for qualifier in qualifiers:
            special = self.instructions.get(f"{name} {qualifier}")
            if special is not None:
                return special, True
        own = self.instructions.get(name)
        covering = (row for row in self.instructions.values() if name in row.covers)
        if own is not None or (own := next(covering, None)) is not None:
            return own, True
        standing = ((p, row) for row in self.instructions.values() for p in row.stands_for)
        fitting = [(len(p), row) for p, row in standing if fnmatchcase(name, p)]
        if fitting:
            return max(fitting, key=lambda each: each[0])[1], False
        return self.instructions["*"], False

    def machine_figure(self, name: str) -> float:
        """Return the figure of the machine that ``ROW.FIGURE`` names."""
        row, _, figure = name.partition(".")
        return self.machine[row].figure(figure)


def load_table(target: str) -> CostTable:
    """Return the table that PyPTO has for a target.

    Raises:
        PyptoError: there is none.
    """
    if target not in TARGETS:
        raise PyptoError(
            f"there are no costs for {target!r}, only for {', '.join(TARGETS)}",
            hint=did_you_mean(target, TARGETS),
            slug="cost-target",
        )
    return _parse(table_text(target), f"{target}.toml", None)


def table_text(target: str) -> str:
    """Return the text of the table that PyPTO has for a target."""
    return Path(__file__).with_name(f"{target}.toml").read_text(encoding="utf-8")


def read_table(path: Path, target: str | None = None) -> CostTable:
    """Return the table of a target with the rows that a file has in place of PyPTO's.

    Raises:
        PyptoError: the file is no table.
    """
    return table_of(path.read_text(encoding="utf-8"), str(path), target)


def table_of(text: str, name: str, target: str | None = None) -> CostTable:
    """Return the table in the text of a file; see `read_table`.

    Raises:
        PyptoError: the text is no table.
    """
    given = _document(text, name).get("target", target or TARGETS[0])
    return _parse(text, name, load_table(str(given)))


def _document(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PyptoError(f"{name} is not valid TOML: {error}", slug="cost-table") from None


def _parse(text: str, name: str, base: CostTable | None) -> CostTable:
    document = _document(text, name)
    machine = dict(base.machine) if base is not None else {}
    instructions = dict(base.instructions) if base is not None else {}
    target = base.target if base is not None else str(document["target"])
    for section in document:
        if section not in ("target", "machine", "instructions"):
            hint = did_you_mean(section, ("machine", "instructions"))
            raise PyptoError(f"{name}: no table has [{section}]", hint=hint, slug="cost-table")
    for key, fields in document.get("machine", {}).items():
        old = base.machine.get(key) if base is not None else None
        if base is not None and old is None:
            hint = did_you_mean(key, base.machine)
            raise PyptoError(f"{name}: no [machine.{key}]", hint=hint, slug="cost-table")
        machine[key] = _row(key, fields, name, None if old is None else tuple(old.figures))
        if old is not None:
            machine[key] = machine[key]._replace(figures={**old.figures, **machine[key].figures})
    for key, fields in document.get("instructions", {}).items():
        instructions[key] = _row(key, fields, name, None)
    return CostTable(target, machine, instructions)


def _row(key: str, fields: Any, name: str, known: tuple[str, ...] | None) -> Row:
    if not isinstance(fields, dict):
        raise PyptoError(f"{name}: {key} is not a table of figures", slug="cost-table")
    cells = cast("dict[str, Any]", fields)
    formula = cells.get("formula")
    if formula is not None:
        if formula not in FORMULAS:
            raise PyptoError(
                f"{name}: {key} has the formula {formula!r}, which does not exist",
                hint=did_you_mean(str(formula), FORMULAS),
                slug="cost-table",
            )
        known = tuple(FORMULAS[formula].start)
    figures = {cell: value for cell, value in cells.items() if cell not in _NOTES}
    for cell, value in figures.items():
        if known is not None and cell not in known:
            raise PyptoError(
                f"{name}: {key} has a figure {cell!r}, which nothing reads",
                hint=did_you_mean(cell, known),
                slug="cost-table",
            )
        numbers = cast("dict[str, Any]", value).values() if isinstance(value, dict) else [value]
        least = 1e-6 if cell in RATES else 0.0
        if not numbers or any(not _is_figure(n, least) for n in numbers):
            wanted = "above 0" if least else "of 0 or more"
            raise PyptoError(f"{name}: {key}.{cell} is not a number {wanted}", slug="cost-table")
    return Row(
        key,
        formula,
        cast("dict[str, Value]", figures),
        int(cells.get("sure", GUESS)),
        str(cells.get("source", "")),
        tuple(cells.get("covers", ())),
        tuple(cells.get("stands_for", ())),
        cast("dict[str, Value]", cells.get("prior", {})),
    )


def _is_figure(value: Any, least: float) -> bool:
    return isinstance(value, int | float) and isfinite(value) and value >= least


def to_toml(table: CostTable) -> str:
    """Return a table as text that `read_table` reads."""
    lines = [f'target = "{table.target}"']
    for section, rows in (("machine", table.machine), ("instructions", table.instructions)):
        for row in rows.values():
            lines += ["", f"[{section}.{_key(row.name)}]"]
            if row.formula is not None:
                lines.append(f'formula = "{row.formula}"')
            lines += [f"{name} = {_value(value)}" for name, value in row.figures.items()]
            if row.prior:
                lines.append(f"prior = {_value(row.prior)}")
            lines += [f"sure = {row.sure}", f"source = {json.dumps(row.source)}"]
            for name, names in (("covers", row.covers), ("stands_for", row.stands_for)):
                lines += [f"{name} = {json.dumps(list(names))}"] if names else []
    return "\n".join([*lines, ""])


def _key(name: str) -> str:
    return name if name.isidentifier() else json.dumps(name)


def _value(value: Value | Mapping[str, Value]) -> str:
    if isinstance(value, int | float):
        return f"{float(value):.4g}" if value % 1 else f"{float(value)}"
    return "{ " + ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items()) + " }"


def types_of(case: Case) -> tuple[str, ...]:
    """Return the keys under which figures for a case are looked up, most specific first."""
    source, target = case.src_dtype, case.dst_dtype
    classes = class_of(source), class_of(target)
    return (f"{source}->{target}", "->".join(classes), source, classes[0])
