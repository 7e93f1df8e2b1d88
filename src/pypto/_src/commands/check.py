"""``pypto check``: all that can be checked without running a program."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto._src.checks import Stage, check_program
from pypto._src.commands.cli_options import (
    Commands,
    file_words,
    finding_row,
    json_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import checked_in, split
from pypto._src.diagnostics import Diagnostic, render, wants_colour
from pypto._src.errors import CallError, PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.passes.sync.checker import FlagIdentity
from pypto._src.run.progress import Progress

if TYPE_CHECKING:
    from pypto._src.jit.host import HostFunction

_RANKS: Final = (2, 3, 4, 8)
"""The numbers of ranks that a host function is checked for if none are given."""
_OF_RANKS: Final = {"deadlock", "rank-race", "signal-left", "signal-reuse"}
"""Slugs of errors that are findings whatever number of ranks was meant."""


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    check = commands.add_parser(
        "check",
        parents=[file_words(), json_words(), size_words()],
        help="check all that can be checked without running a program",
    )
    check.add_argument(
        "--flags",
        choices=[identity.value for identity in FlagIdentity],
        default=FlagIdentity.PAIR.value,
        help="what tells two flags apart: both pipes and the event, or the raising pipe and the "
        "event; default: %(default)s",
    )
    check.add_argument(
        "--ranks",
        type=_counts,
        metavar="N,...",
        help="with how many ranks functions of pl.jit.host are checked; default: those of "
        f"{', '.join(map(str, _RANKS))} for which they are made",
    )
    check.add_argument(
        "--on",
        metavar="CLUSTER",
        help="let the machines of a Ray cluster check the programs: its address, or ray for the "
        "one that runs here; needs pip install 'pypto[cluster]'",
    )
    check.set_defaults(command=_check)


def _counts(text: str) -> tuple[int, ...]:
    if not all(each.isascii() and each.isdigit() and int(each) for each in text.split(",")):
        raise argparse.ArgumentTypeError(f"numbers of ranks were wanted, as 2,4, not {text!r}")
    return tuple(int(each) for each in text.split(","))


def _check(args: argparse.Namespace) -> int:
    path, _ = split(args.file)
    found = checked_in(args.file, args.sizes)
    programs = {name: each for name, each in found.items() if isinstance(each, Program)}
    progress = Progress("checking", len(found))
    outcomes: dict[str, list[Stage]] = {}
    checked, close = _checker(args.on, programs, FlagIdentity(args.flags))
    is_whole = False
    try:
        with progress.shown():
            for n, p in found.items():
                with progress.part(n):
                    if isinstance(p, Program):
                        outcomes[n] = checked(n)
                    elif isinstance(p, CallError):
                        outcomes[n] = [Stage("rules", skipped=p.message)]
                    else:
                        outcomes[n] = _check_ranks(p, args.ranks, args.sizes)
        is_whole = True
    except KeyboardInterrupt:
        print(f"Ctrl-C: {len(outcomes)} of {len(found)} programs were checked", file=sys.stderr)
    finally:
        close()
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
    if not is_whole:
        return 130
    return int(any(stage.errors for stages in outcomes.values() for stage in stages))


def _checker(
    on: str | None, programs: Mapping[str, Program], identity: FlagIdentity
) -> tuple[Callable[[str], list[Stage]], Callable[[], None]]:
    """Return a function from a program's name to its outcome, and one that ends the checks."""
    if on is None:
        return lambda name: list(check_program(programs[name], identity)), lambda: None
    from pypto._src.commands.cluster_checks import ClusterChecks

    checks = ClusterChecks(on, programs, identity)
    return checks.stages, checks.close


def _check_ranks(
    function: HostFunction, counts: Sequence[int] | None, sizes: Mapping[str, int]
) -> list[Stage]:
    """Return what is wrong with the signals of a program, one stage for each number of ranks.

    A program need not support every number of ranks: if none were given, only errors of signals are
    findings, unless the program supports none of the default numbers.
    """
    outcomes: dict[int, PyptoError | None] = {}
    for count in counts or _RANKS:
        outcomes[count] = None
        try:
            function.check_declared(count, sizes)
        except PyptoError as error:
            outcomes[count] = error
    return list(_rank_stages(outcomes, is_given=counts is not None))


def _rank_stages(outcomes: Mapping[int, PyptoError | None], *, is_given: bool) -> Iterator[Stage]:
    fits = any(error is None or error.slug in _OF_RANKS for error in outcomes.values())
    told: set[tuple[str, str, int, int]] = set()
    for count, error in outcomes.items():
        name = f"{count} rank{'s' * (count > 1)}"
        if error is None:
            yield Stage(name)
            continue
        is_unknown = error.slug in ("signal-data", "argument-kind")
        if is_unknown or (fits and not is_given and error.slug not in _OF_RANKS):
            yield Stage(name, skipped=error.message)
            continue
        at = error.location
        key = (error.slug, at.filename, at.begin_line, at.begin_column)
        found = () if key in told else (error.diagnostic,)
        told.add(key)
        yield Stage(name, found) if found else Stage(name, skipped="the same")


def _check_row(name: str, stages: Sequence[Stage]) -> dict[str, Any]:
    return {
        "name": name,
        "checks": {stage.name: stage.summary for stage in stages},
        "findings": [_finding_row(stage.name, d) for stage in stages for d in stage.findings],
    }


def _finding_row(check: str, finding: Diagnostic) -> dict[str, Any]:
    return {"check": check, **finding_row(finding)}
