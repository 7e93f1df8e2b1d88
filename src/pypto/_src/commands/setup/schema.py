"""``pypto schema``: what a command prints with ``--json``, as a JSON schema."""

from __future__ import annotations

import argparse
from importlib.resources import files
from importlib.resources.abc import Traversable

from pypto._src.commands.cli_options import Commands


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "schema", help="print the JSON schema of what a command prints with --json"
    )
    names = sorted(path.name.removesuffix(".json") for path in _folder().iterdir())
    parser.add_argument(
        "of",
        choices=names,
        metavar="COMMAND",
        help="the command, or error for what each prints when it fails",
    )
    parser.set_defaults(command=_schema)


def _folder() -> Traversable:
    return files("pypto") / "schemas"


def _schema(args: argparse.Namespace) -> int:
    text = (_folder() / f"{args.of}.json").read_text(encoding="utf-8")
    print(text, end="")
    return 0
