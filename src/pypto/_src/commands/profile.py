"""``pypto profile``: how a program will run on the chip, instruction by instruction."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto._src import build_output
from pypto._src.commands.cli_options import (
    Commands,
    entry_words,
    file_words,
    json_words,
    overlap_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.driver import compile_for_evaluator, overlap_passes

if TYPE_CHECKING:
    from pypto._src.ir.stmts import Program
    from pypto._src.passes.pass_base import Pass
    from pypto._src.timeline.hints import Hint
    from pypto._src.timeline.profile import Profile, ProgramSimulator


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    profile = commands.add_parser(
        "profile",
        parents=[file_words(), json_words(), size_words(), overlap_words(), entry_words()],
        help="predict how a program runs on the chip: how long, what bounds it, what waits",
    )
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
    profile.add_argument(
        "--against",
        metavar="FILE[:NAME]",
        help="show the run before and after: beside that of this program, as it is",
    )
    profile.add_argument(
        "--hints",
        type=_count,
        metavar="N",
        help="try N changes that promise most, each by simulating the run again (8); 0 tries none",
    )
    profile.set_defaults(command=_profile)


def _count(text: str) -> int:
    """Return a number of the command line that is not negative."""
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative, wanted 0 or more")
    return number


def _profile(args: argparse.Namespace) -> int:
    from pypto._src.timeline import report
    from pypto._src.timeline.chrome_trace import trace

    before = None if args.against is None else _Run(args, args.against).simulated(())
    run = _Run(args, args.file)
    profile = run.simulated()
    hints = () if args.hints == 0 else run.hints(profile, args.hints)
    if args.perfetto is not None:
        content = json.dumps(trace(profile), separators=(",", ":"))
        build_output.write_file(args.perfetto, content)
    if args.page is not None:
        from pypto._src.timeline.page import Before, page

        compared = None if before is None else Before(before, f"{before.entry} in {args.against}")
        content = page(profile, f"{profile.entry} in {args.file}", hints, compared)
        build_output.write_file(args.page, content)
    if args.json:
        print_json(report.as_data(profile, hints, before))
    else:
        sys.stdout.write(report.text(profile, hints, before))
        for written in (args.page, args.perfetto):
            if written is not None:
                print(written)
    return 0


class _Run:
    """A program with arguments: of the example's case, or random ones of the given sizes."""

    def __init__(self, args: argparse.Namespace, file: str) -> None:
        from pypto._src.cost.model import CostModel
        from pypto._src.cost.tables import load_table, read_table

        self._table = load_table("a2a3") if args.costs is None else read_table(args.costs, "a2a3")
        self._model = CostModel(self._table)
        self._entry: str | None = args.entry
        self._program, self._case = load_case(file)
        self._sizes: Mapping[str, int] = args.sizes
        self._optional = overlap_passes(self._program) if args.overlap else []
        self._arguments: list[Any] | None = None

    def simulated(self, optional: Sequence[Pass] | None = None) -> Profile:
        """Return the profile of a run, with these optional passes in place of the command's."""
        from pypto._src.timeline.profile import ProgramSimulator

        found: list[ProgramSimulator] = []

        def make(lowered: Program) -> ProgramSimulator:
            found.append(ProgramSimulator(lowered, self._model))
            return found[0]

        passes = self._optional if optional is None else optional
        compiled = compile_for_evaluator(self._program, self._entry, make, optional=passes)
        if self._arguments is None:
            given = call_arguments(compiled, self._program, self._case, self._sizes)
            self._arguments = list(given.values())
        compiled(*self._arguments)
        profile = found[0].profile
        assert profile is not None
        return profile

    def hints(self, profile: Profile, most: int | None) -> Sequence[Hint]:
        """Return the changes that make the run shorter."""
        from pypto._src.cost.model import CostModel
        from pypto._src.timeline.hints import MOST, hints

        self._model = CostModel(self._table)  # assumptions about changed copies are not reported
        most = MOST if most is None else most
        return hints(self._program, profile, self.simulated, self._model, self._optional, most)
