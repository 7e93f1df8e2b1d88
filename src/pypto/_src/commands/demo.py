"""``pypto demo``: the examples, each compared with NumPy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pypto._src.commands import example_cases
from pypto._src.commands.cli_options import Commands, duration, json_words, print_json
from pypto._src.diagnostics import wants_colour
from pypto._src.errors import CallError
from pypto._src.run.progress import Progress
from pypto._src.run.toolchain import find_toolchain, no_compiler_message


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "demo", parents=[json_words()], help="run the examples and compare them with NumPy"
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="an example; all if none is given")
    parser.add_argument(
        "-o",
        metavar="DIR",
        dest="output",
        default="build_output/demo",
        help="where generated code goes; default: %(default)s",
    )
    parser.set_defaults(command=_demo)


def _demo(args: argparse.Namespace) -> int:
    directory = example_cases.examples_directory()
    if directory is None:
        raise CallError("the examples are not installed", slug="examples")
    cases = example_cases.cases(directory)
    known = [case.name for case in cases]
    for name in args.names:
        if name not in known:
            hint = f"one of {', '.join(known)}"
            raise CallError(f"there is no example {name!r}", hint=hint, slug="examples")
    chosen = [case for case in cases if not args.names or case.name in args.names]
    toolchain = find_toolchain()
    if not args.json:
        how = "The examples run in the interpreter only: " + no_compiler_message()
        print(how if toolchain is None else f"C++ compiler: {toolchain.label}")
    reports: list[example_cases.Report] = []
    progress = Progress("running examples", len(chosen))
    for case in chosen:
        with progress.part(case.name), progress.shown():
            report = example_cases.run_case(case, Path(args.output))
        reports.append(report)
        if not args.json:
            _print_report(report)
    if args.json:
        print_json([_report_row(report) for report in reports])
    return 0 if all(report.is_good for report in reports) else 1


def _print_report(report: example_cases.Report) -> None:
    print(f"\n{report.name}")
    for outcome in report.outcomes:
        judged = "<=" if outcome.error <= report.bound else "EXCEEDS"
        line = f"  {outcome.target:<12} {duration(outcome.seconds):>8}"
        print(f"{line}   error {outcome.error:.1e} {judged} {report.bound:.1e}")
    print(f"  {'NumPy':<12} {duration(report.numpy_seconds):>8}   in float32")
    if report.files:
        print(f"  code in {report.files[0].parent}")
    if report.failure is not None:
        print(report.failure.render(colour=wants_colour(sys.stdout)))
    sys.stdout.flush()


def _report_row(report: example_cases.Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "good": report.is_good,
        "bound": report.bound,
        "targets": {o.target: {"error": o.error, "seconds": o.seconds} for o in report.outcomes},
        "numpy_seconds": report.numpy_seconds,
        "files": [path.as_posix() for path in report.files],
        "failure": None if report.failure is None else report.failure.render(),
    }
