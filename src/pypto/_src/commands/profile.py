"""``pypto profile``: how a program will run on the chip, instruction by instruction."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pypto._src import build_output
from pypto._src.commands.cli_options import (
    Commands,
    file_words,
    given_twice,
    json_words,
    overlap_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.driver import compile_for_evaluator

if TYPE_CHECKING:
    from pypto._src.ir.stmts import Program
    from pypto._src.timeline.profile import ProgramSimulator


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    profile = commands.add_parser(
        "profile",
        parents=[file_words(), json_words(), size_words(), overlap_words()],
        help="predict how a program runs on the chip: how long, what bounds it, what waits",
    )
    profile.add_argument("--entry", metavar="FUNCTION", help="the function to call")
    profile.add_argument(
        "-o",
        dest="page",
        type=Path,
        metavar="OUT.html",
        help="draw the timeline as a page that needs no network; needs pip install "
        "'pypto[profile]'",
    )
    profile.add_argument(
        "--perfetto",
        type=Path,
        metavar="OUT.json",
        help="write all instructions and tasks as a trace for Perfetto or chrome://tracing",
    )
    profile.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="take the rows of this table of costs in place of PyPTO's; see `pypto cost`",
    )
    profile.set_defaults(command=_profile)


def _profile(args: argparse.Namespace) -> int:
    from pypto._src.timeline import report
    from pypto._src.timeline.chrome_trace import trace

    if twice := given_twice(args):
        print(f"pypto profile: error: {twice}", file=sys.stderr)
        return 2
    simulator = _simulate(args)
    profile = simulator.profile
    assert profile is not None
    if args.perfetto is not None:
        content = json.dumps(trace(profile), separators=(",", ":"))
        build_output.write_file(args.perfetto, content)
    if args.page is not None:
        from pypto._src.timeline.page import page

        build_output.write_file(args.page, page(profile, f"{profile.entry} in {args.file}"))
    if args.json:
        print_json(report.as_data(profile))
    else:
        sys.stdout.write(report.text(profile))
        for written in (args.page, args.perfetto):
            if written is not None:
                print(written)
    return 0


def _simulate(args: argparse.Namespace) -> ProgramSimulator:
    """Run the program on arguments of the example's case, or random ones of the given sizes."""
    from pypto._src.cost.model import CostModel
    from pypto._src.cost.tables import load_table, read_table
    from pypto._src.timeline.profile import ProgramSimulator

    table = load_table("a2a3") if args.costs is None else read_table(args.costs, "a2a3")
    program, case = load_case(args.file)
    found: list[ProgramSimulator] = []

    def make(lowered: Program) -> ProgramSimulator:
        found.append(ProgramSimulator(lowered, CostModel(table)))
        return found[0]

    compiled = compile_for_evaluator(program, args.entry, make, overlap=args.overlap)
    compiled(*call_arguments(compiled, program, case, args.sizes).values())
    return found[0]
