"""``pypto convert``: a program in the other of its two textual forms."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from pypto._src import build_output
from pypto._src.commands.cli_options import Commands, json_words, print_json
from pypto._src.commands.programs import load_text
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.statement.printer import to_statement_text


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    convert = commands.add_parser(
        "convert",
        parents=[json_words()],
        help="print a program in the other of its two textual forms",
    )
    convert.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a text in either form, and the program in it; it is read, not executed",
    )
    convert.add_argument(
        "--to",
        choices=("statement", "python"),
        required=True,
        dest="form",
        help="the form to print: statements (docs/statement-form.md) or Python",
    )
    convert.add_argument(
        "--execute",
        action="store_true",
        help="execute the file, for programs that its Python makes; only if you trust it",
    )
    convert.add_argument("-o", metavar="FILE", dest="output", help="the file to write to")
    convert.set_defaults(command=_convert)


def _convert(args: argparse.Namespace) -> int:
    command = f"pypto convert {args.file} --to {args.form}"
    program = load_text(args.file, command, execute=args.execute)
    is_python = args.form == "python"
    write = python_print if is_python else to_statement_text
    text = with_room(lambda: write(program), program)
    text = text if text.endswith("\n") else f"{text}\n"
    if args.output is not None:
        build_output.write_file(Path(args.output), text)
    if args.json:
        print_json({"form": args.form, "text": text})
    elif args.output is None:
        sys.stdout.write(text)
    return 0
