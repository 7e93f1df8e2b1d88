"""The command ``pypto``: show, convert, compile, run and demonstrate programs.

Owns the command line as a whole; `commands` has a module for each command. User errors are reported
without a traceback and end with status 1; a wrong command line ends with status 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Collection, Sequence
from io import TextIOWrapper
from typing import Final

from pypto._src.commands import (
    bench,
    bisect,
    check,
    compare,
    convert,
    cost,
    demo,
    explain,
    profile,
    reduce,
    run,
    show,
    tune,
    verify,
)
from pypto._src.commands import compile as compile_
from pypto._src.commands.setup import completion, doctor, language_server, new, schema
from pypto._src.diagnostics import wants_colour
from pypto._src.errors import PyptoError, UnknownNameError
from pypto._src.knobs import KnobError
from pypto._src.suggestions import did_you_mean
from pypto._version import __version__

_COMMANDS: Final = (
    show,
    convert,
    compile_,
    run,
    check,
    compare,
    bisect,
    reduce,
    profile,
    tune,
    bench,
    cost,
    verify,
    demo,
    doctor,
    new,
    explain,
    completion,
    language_server,
    schema,
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given arguments, by default the process's; return its status."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        _parser()[0].print_help(sys.stderr)  # the list of commands helps more than an error
        return 2
    try:
        parser, names = _parser()
        if not words[0].startswith("-") and words[0] not in names:
            hint = did_you_mean(words[0], names, "pypto ") or "pypto --help lists the commands"
            unknown = UnknownNameError(f"pypto has no command {words[0]!r}", hint=hint)
            print(unknown.render(colour=wants_colour()), file=sys.stderr)
            return 2
        args = parser.parse_args(words)
    except SystemExit as end:  # argparse has printed help (0) or an error (2)
        return end.code if isinstance(end.code, int) else 2
    out: object = sys.stdout
    if isinstance(out, TextIOWrapper):
        out.reconfigure(errors="backslashreplace")  # as stderr: the locale may lack characters
    try:
        status: int = args.command(args)
        sys.stdout.flush()  # here, where a closed pipe is caught
        return status
    except KeyboardInterrupt:
        return 130  # as shells report a process that Ctrl-C ended
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except PyptoError as error:
        found = error
    except KnobError as error:
        found = PyptoError(str(error), slug="environment")
    except RecursionError:
        what = "the program nests too deeply for this command"
        hint = "put inner loops and branches into functions of their own"
        found = PyptoError(what, hint=hint, slug="too-deep")
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        found = PyptoError(what, slug="file")
    if getattr(args, "json", False):  # for programs, not for people
        from pypto._src.commands.cli_options import error_rows, print_json

        print_json({"errors": error_rows(found)})
    print(found.render(colour=wants_colour()), file=sys.stderr)
    return 1


def _parser() -> tuple[argparse.ArgumentParser, Collection[str]]:
    """Return the parser of the command line, and the names of the commands."""
    parser = argparse.ArgumentParser(prog="pypto", description="Compile and run tile kernels.")
    parser.add_argument("--version", action="version", version=f"pypto {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser, commands.choices
