"""``pypto compare``: where a program loses precision."""

from __future__ import annotations

import argparse
import sys

from pypto._src.commands.cli_options import (
    Commands,
    file_words,
    input_words,
    json_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import given_arguments, load_case


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    compare = commands.add_parser(
        "compare",
        parents=[file_words(), json_words(), size_words(), input_words()],
        help="show which statements lose precision: a run beside the same in float64",
    )
    compare.add_argument(
        "--rows", type=int, default=20, metavar="N", help="statements shown; default: %(default)s"
    )
    compare.set_defaults(command=_compare)


def _compare(args: argparse.Namespace) -> int:
    from pypto._src.numerics.compare import compare

    program, case = load_case(args.file)
    arguments = given_arguments(program, case, args.entry, args.sizes, args.inputs, args.seed)
    found = compare(program, *arguments.values(), entry=args.entry)
    if args.json:
        print_json(found.as_data())
    else:
        sys.stdout.write(found.text(args.rows))
    return 0
