"""``pypto bisect``: the first statement whose value is wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pypto._src.commands.cli_options import (
    Commands,
    input_words,
    json_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import given_arguments, load_case, load_reference
from pypto._src.diagnostics import wants_colour
from pypto._src.ir.stmts import Program

if TYPE_CHECKING:
    from pypto._src.numerics.capsule import Search

_ROUGH = 1e-2
"""The error bound where neither the command line nor an example's case gives one."""


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    bisect = commands.add_parser(
        "bisect",
        parents=[json_words(), size_words(), input_words()],
        help="find the first statement whose value is not that of a reference",
    )
    bisect.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it if there are several; or a "
        "capsule, OUT.npz of an earlier search, which is read and run again",
    )
    bisect.add_argument(
        "--against",
        metavar="REF.py[:NAME]",
        help="the reference: a file with another version of the program, or with a function on "
        "arrays whose variables have the program's names; float64 is the program's own meaning",
    )
    bisect.add_argument(
        "--bound",
        type=_bound,
        metavar="ERROR",
        help="how far a value may be off, as a part of max(1, |value|); default: 0 against a "
        f"program, else that of the example's case or {_ROUGH}",
    )
    bisect.add_argument(
        "-o",
        dest="capsule",
        type=Path,
        metavar="OUT.npz",
        help="write program, arguments and reference as a capsule, which holds data only",
    )
    bisect.set_defaults(command=_bisect)


def _bound(text: str) -> float:
    """Parse an error bound, which is not negative."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"an error of 0 or more was wanted, not {text!r}")
    return value


def _bisect(args: argparse.Namespace) -> int:
    is_capsule = args.file.endswith(".npz")
    wrong = None
    if not is_capsule and args.against is None:
        wrong = "what to compare with is missing: --against REF.py, or --against float64"
    if is_capsule and args.against is not None:
        wrong = "a capsule has its reference: --against goes with a program"
    if wrong:
        print(f"pypto bisect: error: {wrong}", file=sys.stderr)
        return 2
    search = _search(args, is_capsule)
    if args.capsule is not None:
        search.save(args.capsule)
    found = search.run()
    if args.json:
        print_json({"difference": None if found is None else found.as_data()})
    elif found is None:
        print(f"every value that has a partner is within {search.bound:g}")
    else:
        print(found.text(colour=wants_colour(sys.stdout)))
    return int(found is not None)


def _search(args: argparse.Namespace, is_capsule: bool) -> Search:
    from pypto._src.driver import entry_function
    from pypto._src.numerics.bisect import locals_of
    from pypto._src.numerics.capsule import Search

    if is_capsule:
        kept = Search.load(Path(args.file))
        bound = kept.bound if args.bound is None else args.bound
        return Search(kept.program, kept.arguments, kept.reference, bound, kept.entry)
    program, case = load_case(args.file)
    arguments = given_arguments(program, case, args.entry, args.sizes, args.inputs, args.seed)
    rough = _ROUGH if case is None else case.bound
    if args.against == "float64":
        return Search(program, arguments, None, _or(args.bound, rough), args.entry)
    reference = load_reference(args.against, program)
    if isinstance(reference, Program):
        return Search(program, arguments, reference, _or(args.bound, 0.0), args.entry)
    named = locals_of(reference, arguments, entry_function(program, args.entry))
    return Search(program, arguments, named, _or(args.bound, rough), args.entry)


def _or(given: float | None, default: float) -> float:
    return default if given is None else given
