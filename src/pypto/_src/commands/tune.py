"""``pypto tune``: the fastest constants of a kernel on the chip, as simulated."""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto._src.commands.cli_options import (
    Commands,
    file_words,
    json_words,
    print_json,
    seconds,
    size_words,
)
from pypto._src.commands.programs import load_tunable
from pypto._src.driver import compile_program, random_arguments

if TYPE_CHECKING:
    from pypto._src.tune.autotune import Autotuned, Tuned


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    tune = commands.add_parser(
        "tune",
        parents=[file_words(), json_words(), size_words()],
        help="choose tile sizes and other constants of a kernel by simulating it with each",
    )
    tune.add_argument(
        "--choice",
        action="append",
        default=[],
        type=_choice,
        dest="choices",
        metavar="NAME=VALUE,...",
        help="the values of a constant of the kernel, in place of those that pl.autotune declares; "
        "once for each constant; overlap=False,True for that option of pl.jit",
    )
    tune.add_argument(
        "--time",
        type=_count,
        default=0,
        metavar="N",
        help="run the best N on this machine, too, and say how long each takes",
    )
    tune.add_argument(
        "--limit",
        type=seconds,
        metavar="SECONDS",
        help="stop after so long, with the best that was found; the outcome then depends on the "
        "machine",
    )
    tune.add_argument(
        "--processes",
        type=_count,
        metavar="N",
        help="how many processes do the work; default: one for each core",
    )
    tune.add_argument(
        "--on",
        metavar="CLUSTER",
        help="let the machines of a Ray cluster do the work: its address, or ray for the one that "
        "runs here; needs pip install 'pypto[cluster]'",
    )
    tune.add_argument(
        "--costs",
        type=Path,
        metavar="FILE",
        help="take the rows of this table of costs in place of PyPTO's; see `pypto cost`",
    )
    tune.set_defaults(command=_tune)


def _choice(text: str) -> tuple[str, list[Any]]:
    """Return name and values of ``NAME=VALUE,...``; what is no literal is a string."""
    name, equals, values = text.partition("=")
    if not name.isidentifier() or not equals or not values:
        raise argparse.ArgumentTypeError(f"a choice is given as TILE=64,128, not {text!r}")
    return name, [_value(each) for each in values.split(",")]


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"an integer of 1 or more was wanted, not {text!r}")
    return int(text)


def _tune(args: argparse.Namespace) -> int:
    from pypto._src.cost.tables import read_table

    kernel = load_tunable(args.file, dict(args.choices))
    bar = _Bar() if sys.stderr.isatty() and not args.json else None
    given = kernel.declared_arguments(args.sizes)
    try:
        tuned = kernel.tune(
            limit=args.limit,
            processes=args.processes,
            costs=None if args.costs is None else read_table(args.costs, "a2a3"),
            told=bar,
            on=args.on,
            **given,
        )
    finally:
        if bar is not None:
            bar.end()
    times = _times(kernel, tuned, args.time, given)
    if args.json:
        print_json(tuned.as_data(times))
    else:
        sys.stdout.write(tuned.text(times))
    if tuned.outcome.best is None:
        _ = tuned.choice  # raises the reason
    return 130 if tuned.outcome.stopped == "Ctrl-C" else 0


def _times(kernel: Autotuned, tuned: Tuned, count: int, given: dict[str, Any]) -> Sequence[float]:
    """Return the median time of a call of each of the best few on this machine, in seconds."""
    from pypto._src.golden.benchmark import benchmark

    found: list[float] = []
    for each in tuned.outcome.ranked[:count]:
        program = kernel.program(each.choice, given)
        compiled = compile_program(program, overlap=each.overlap)
        run = compiled.prepared(list(random_arguments(compiled, 0, {}).values()))
        found.append(benchmark(run).median)
    return found


class _Bar:
    """A line on a terminal that shows how far the search is."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or sys.stderr.write
        self._width = 0

    def __call__(self, what: str, ready: int, count: int) -> None:
        filled = 30 * ready // max(count, 1)
        line = f"[{'#' * filled}{'.' * (30 - filled)}] {ready} of {count} {what}"
        self._write(f"\r{line.ljust(self._width)}")
        self._width = len(line)
        sys.stderr.flush()

    def end(self) -> None:
        """Remove the line."""
        self._write(f"\r{' ' * self._width}\r")
        sys.stderr.flush()
