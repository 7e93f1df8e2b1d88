"""``pypto check``: all that can be checked without running a program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pypto._src.checks import Stage, check_program
from pypto._src.commands.cli_options import Commands, file_words, json_words, print_json
from pypto._src.commands.programs import load, programs_in, split
from pypto._src.diagnostics import Diagnostic, render, wants_colour
from pypto._src.ir.stmts import Program
from pypto._src.passes.sync.checker import FlagIdentity
from pypto._src.run.progress import Progress


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    check = commands.add_parser(
        "check",
        parents=[file_words(), json_words()],
        help="check all that can be checked without running a program",
    )
    check.add_argument(
        "--flags",
        choices=[identity.value for identity in FlagIdentity],
        default=FlagIdentity.PAIR.value,
        help="what tells two flags apart: both pipes and the event, or the raising pipe and the "
        "event; default: %(default)s",
    )
    check.set_defaults(command=_check)


def _check(args: argparse.Namespace) -> int:
    path, name = split(args.file)
    if name is None:
        found = programs_in(path)
        programs = {
            n: p if isinstance(p, Program) else Program([p], p.name) for n, p in found.items()
        }
    else:
        programs = {name: load(args.file)}
    if not programs:
        load(args.file)  # says that there is none
    identity = FlagIdentity(args.flags)
    progress = Progress("checking", len(programs))
    outcomes: dict[str, list[Stage]] = {}
    with progress.shown():
        for n, p in programs.items():
            with progress.part(n):
                outcomes[n] = list(check_program(p, identity))
    if args.json:
        rows = [_check_row(n, stages) for n, stages in outcomes.items()]
        print_json({"file": str(path), "programs": rows})
    for n, stages in () if args.json else outcomes.items():
        print(f"{path}: {n}")
        for stage in stages:
            print(f"  {stage.name:<7} {stage.summary}")
        sys.stdout.flush()  # its findings follow, on the other stream
        for finding in (d for stage in stages for d in stage.findings):
            print(render(finding, colour=wants_colour()), file=sys.stderr)
    return int(any(stage.errors for stages in outcomes.values() for stage in stages))


def _check_row(name: str, stages: Sequence[Stage]) -> dict[str, Any]:
    return {
        "name": name,
        "checks": {stage.name: stage.summary for stage in stages},
        "findings": [_finding_row(stage.name, d) for stage in stages for d in stage.findings],
    }


def _finding_row(check: str, finding: Diagnostic) -> dict[str, Any]:
    span = finding.span
    return {
        "check": check,
        "severity": finding.severity.name.lower(),
        "rule": finding.rule_name,
        "message": finding.message,
        "file": span.filename,
        "line": span.begin_line,
        "column": span.begin_column + 1,
        "hint": finding.hint,
    }
