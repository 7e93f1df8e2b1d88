"""``pypto language-server``: what `pypto check` finds, in an editor, while a file is edited."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from pypto._src.commands.cli_options import Commands
from pypto._src.errors import CallError


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    parser = commands.add_parser(
        "language-server",
        help="show findings and shapes of tiles in an editor, which starts this by itself",
    )
    parser.set_defaults(command=_language_server)


def _language_server(_: argparse.Namespace) -> int:
    if find_spec("pygls") is None:
        raise CallError(
            "the language server needs the package pygls, which is not installed",
            hint="pip install 'pypto[editor]'",
            slug="missing-package",
        )
    from pypto._src.editor.server import Server

    Server().serve()
    return 0
