"""``pypto cost``: what instructions cost, from which figures, and how far off that is."""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from pypto._src.commands.cli_options import Commands, json_words, print_json

if TYPE_CHECKING:
    from pypto._src.cost.accuracy import Accuracy
    from pypto._src.cost.fit import Measurement
    from pypto._src.cost.model import CostModel
    from pypto._src.cost.tables import CostTable


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    cost = commands.add_parser(
        "cost",
        parents=[json_words()],
        help="print what instructions cost, and how far that is from measured times",
    )
    what = cost.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--csv",
        nargs="?",
        const="-",
        metavar="FILE",
        help="predict the cycles of each instruction in this file, or of standard input",
    )
    what.add_argument(
        "--errors",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="compare predictions with the measured times in these files, by instruction",
    )
    what.add_argument(
        "--fit",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="fit the figures to the measured times in these files, and print them for --costs",
    )
    what.add_argument(
        "--table", action="store_true", help="print the table of figures, each with its source"
    )
    cost.add_argument(
        "--target",
        metavar="NAME",
        help="the chip: a2a3 (910B) or a5 (950); default: what FILE says, or a2a3",
    )
    cost.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="take the rows of this table in place of PyPTO's",
    )
    cost.set_defaults(command=_cost)


def _cost(args: argparse.Namespace) -> int:
    if args.csv is not None:
        return _predict(args)
    if args.table:
        return _table(args)
    return _errors(args) if args.errors else _fit(args)


class _Models:
    """The models of all targets that cases name."""

    def __init__(self, args: argparse.Namespace) -> None:
        from pypto._src.cost.tables import read_table

        self.target: str | None = args.target
        self.own: CostTable | None = None
        if args.costs is not None:
            self.own = read_table(args.costs, args.target)
        self.found: dict[str, CostModel] = {}

    def model(self, target: str) -> CostModel:
        from pypto._src.cost.model import CostModel
        from pypto._src.cost.tables import load_table

        name = self.target or target or "a2a3"
        if name not in self.found:
            is_own = self.own is not None and self.own.target == name
            self.found[name] = CostModel(self.own if is_own and self.own else load_table(name))
        return self.found[name]


def _predict(args: argparse.Namespace) -> int:
    models = _Models(args)
    if args.csv == "-":
        rows = _predictions(sys.stdin, "standard input", models)
    else:
        with Path(args.csv).open(encoding="utf-8", newline="") as file:
            rows = _predictions(file, args.csv, models)
    if args.json:
        assumed = {name: model.assumptions for name, model in models.found.items()}
        found = [{"id": name, "cycles": cycles} for name, cycles in rows]
        print_json({"cases": found, "assumptions": assumed})
        return 0
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("id", "cycles"))
    writer.writerows((name, f"{cycles:.1f}") for name, cycles in rows)
    sys.stdout.flush()
    for line in _assumed(models):
        print(line, file=sys.stderr)
    return 0


def _predictions(lines: TextIO, name: str, models: _Models) -> list[tuple[str, float]]:
    from pypto._src.cost.cases import read_cases

    return [
        (row["id"], round(models.model(row.get("arch") or "").timing(case).alone, 1))
        for row, case in read_cases(lines, name)
    ]


def _assumed(models: _Models) -> Iterator[str]:
    for target, model in models.found.items():
        for name, what in model.assumptions.items():
            yield f"assumed for {target}: {name}: {what}"


def _table(args: argparse.Namespace) -> int:
    from pypto._src.cost.tables import load_table, table_text, to_toml

    if args.costs is not None:
        model = _Models(args)
        assert model.own is not None
        print(to_toml(model.own), end="")
        return 0
    target = args.target or "a2a3"
    load_table(target)  # lists the known targets for an unknown one
    print(table_text(target), end="")
    return 0


def _measured(paths: Sequence[Path], args: argparse.Namespace) -> dict[str, list[Measurement]]:
    from pypto._src.cost.fit import read_measurements

    found: dict[str, list[Measurement]] = {}
    for path in paths:
        for each in read_measurements(path):
            if args.target in (None, each.target):
                found.setdefault(each.target, []).append(each)
    return found


def _errors(args: argparse.Namespace) -> int:
    from pypto._src.cost.accuracy import accuracy

    models = _Models(args)
    measured = _measured(args.errors, args)
    found = {name: accuracy(models.model(name).table, cases) for name, cases in measured.items()}
    if args.json:
        print_json({name: [_accuracy_row(a) for a in rows] for name, rows in found.items()})
        return 0
    for name, rows in found.items():
        print(f"{name}: relative error in %, median and 90th percentile")
        print(f"  {'instruction':<14}{'cases':>6}{'model':>14}{'unseen half':>14}{'vendor':>14}")
        for row in rows:
            spreads = (row.model, row.unseen, row.vendor)
            texts = ("-" if s is None else f"{s.median:.1%} {s.p90:.1%}" for s in spreads)
            cells = "".join(f"{text.replace('%', ''):>14}" for text in texts)
            print(f"  {row.name:<14}{row.cases:>6}{cells}")
    return 0


def _accuracy_row(row: Accuracy) -> dict[str, object]:
    spreads = {"model": row.model, "unseen": row.unseen, "vendor": row.vendor}
    errors = {key: s and {"median": s.median, "p90": s.p90} for key, s in spreads.items()}
    return {"instruction": row.name, "cases": row.cases, **errors}


def _fit(args: argparse.Namespace) -> int:
    from pypto._src.cost.fit import fitted
    from pypto._src.cost.tables import CostTable, to_toml

    models = _Models(args)
    for name, cases in _measured(args.fit, args).items():
        table = models.model(name).table
        found = fitted(table, cases, from_table=True)
        changed = {
            key: row for key, row in found.instructions.items() if row != table.instructions[key]
        }
        print(to_toml(CostTable(name, {}, changed)), end="")
    return 0
