"""``pypto verify``: a text of PTO MLIR, checked as the assembler does."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pypto._src.commands.cli_options import Commands, json_words, print_json
from pypto._src.commands.programs import text_of
from pypto._src.diagnostics import wants_colour
from pypto._src.errors import CallError, PyptoError
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    from pypto._src.dialect import verify as pto_dialect
else:
    pto_dialect = lazy_module("pypto._src.dialect.verify")  # needs a package of an optional extra


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    verify = commands.add_parser(
        "verify", parents=[json_words()], help="check a .pto file as the assembler does"
    )
    verify.add_argument("file", metavar="FILE.pto", help="a text of PTO MLIR")
    verify.add_argument(
        "--arch",
        choices=("a3", "a5"),
        help="the target; default: what the module's pto.target_arch says, or a3",
    )
    verify.add_argument(
        "--level",
        choices=("level1", "level2", "level3"),
        help="who places the tiles; default: what the first line of the file says, or level2",
    )
    verify.set_defaults(command=_verify)


def _verify(args: argparse.Namespace) -> int:
    path = Path(args.file)
    if path.suffix == ".py":
        raise CallError(
            f"{path} is a Python file, a text of PTO MLIR was wanted",
            hint=f"pypto compile {path} --backend pto writes such texts",
            slug="file",
        )
    text = text_of(path)
    options = pto_dialect.options_of(text, args.arch, args.level)
    faults = pto_dialect.faults_of(text, str(path), options)
    if args.json:
        rows = [{**_place(fault), "rule": fault.slug, "message": fault.message} for fault in faults]
        print_json({"file": str(path), **pto_dialect.as_data(options), "faults": rows})
    elif not faults:
        print(f"{path}: accepted for {options.arch} at {options.level}")
    for fault in () if args.json else faults:
        print(fault.render(colour=wants_colour()), file=sys.stderr)
    return 1 if faults else 0


def _place(error: PyptoError) -> dict[str, int]:
    return {"line": error.location.begin_line, "column": error.location.begin_column + 1}
