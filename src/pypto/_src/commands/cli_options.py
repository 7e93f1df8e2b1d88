"""What several commands have in common: options of the command line, JSON, times."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

from pypto._src import driver
from pypto._src.diagnostics import Diagnostic
from pypto._src.driver import CompiledProgram
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.errors import PyptoError
from pypto._src.run.arguments.dim_solver import SizeMissingError

_CPP_OPTIONS: Final = CppOptions._fields
_SWITCHES: Final = {"": True, "true": True, "false": False}
"""What may follow the ``=`` of an option."""


class Commands(Protocol):
    """Where a command adds itself to the command line; what `argparse` calls subparsers."""

    choices: dict[str, argparse.ArgumentParser]
    """The commands that were added, by name."""

    _choices_actions: list[argparse.Action]
    """Their lines in the list of commands."""

    def add_parser(
        self,
        name: str,
        *,
        parents: Sequence[argparse.ArgumentParser] = ...,
        help: str,  # noqa: A002  argparse calls it so
    ) -> argparse.ArgumentParser:
        """Return the parser of a new command; ``help`` is its line in the list of commands."""
        ...


def file_words() -> argparse.ArgumentParser:
    """Return the arguments of commands that read one program."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it if there are several",
    )
    return words


def json_words() -> argparse.ArgumentParser:
    """Return the options of commands that print JSON on request."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument("--json", action="store_true", help="print JSON instead of text")
    return words


def cpp_words() -> argparse.ArgumentParser:
    """Return the options of commands that write C++."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument(
        "--option",
        action="append",
        default=[],
        type=_cpp_option,
        dest="options",
        metavar="NAME[=VALUE]",
        help="add this to the C++ of the kernels, or leave it out if VALUE is false: "
        f"{', '.join(_CPP_OPTIONS)}",
    )
    return words


def size_words() -> argparse.ArgumentParser:
    """Return the options of commands that run on random arguments."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument(
        "--size",
        action=_Sizes,
        default={},
        type=_size,
        dest="sizes",
        metavar="NAME=N",
        help="of the random arguments: the size of the dimension of this name, as in "
        'pl.dynamic("NAME"), or the value of an integer parameter, else 1; once for each',
    )
    return words


def entry_words() -> argparse.ArgumentParser:
    """Return the options of commands that call one function of a program."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument("--entry", metavar="FUNCTION", help="the function to call")
    return words


def input_words() -> argparse.ArgumentParser:
    """Return the options of commands that run on the user's arguments."""
    words = argparse.ArgumentParser(add_help=False, parents=[entry_words()])
    words.add_argument(
        "--inputs",
        type=Path,
        metavar="FILE.npz",
        help="take arguments from these arrays, by the names of the parameters; others are those "
        "of the example, or random",
    )
    words.add_argument("--seed", type=seed, default=0, help="of the arguments; default: 0")
    return words


def seed(text: str) -> int:
    """Parse the seed of random numbers, which is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"an integer of 0 or more was wanted, not {text!r}")
    return int(text)


def overlap_words() -> argparse.ArgumentParser:
    """Return the options of commands that let loops overlap on request."""
    words = argparse.ArgumentParser(add_help=False)
    words.add_argument(
        "--overlap",
        action="store_true",
        help="let loads of one iteration of a loop overlap with the work of another, in kernels "
        "that are faster for it as far as the simulator knows",
    )
    return words


def _cpp_option(text: str) -> tuple[str, bool]:
    """Return name and value of ``NAME[=VALUE]``, an attribute of `CppOptions`."""
    name, equals, value = text.partition("=")
    if name not in _CPP_OPTIONS:
        raise argparse.ArgumentTypeError(f"{name!r} is not one of {', '.join(_CPP_OPTIONS)}")
    if value not in _SWITCHES or (equals and not value):
        raise argparse.ArgumentTypeError(f"{name} is true or false, not {value!r}")
    return name, _SWITCHES[value]


def _size(text: str) -> tuple[str, int]:
    """Return name and size of ``NAME=N``."""
    name, _, size = text.partition("=")
    if not name.isidentifier() or not (size.isascii() and size.isdigit()):
        raise argparse.ArgumentTypeError(f"a size is given as NAME=64, not {text!r}")
    return name, int(size)


class _Sizes(argparse.Action):
    """Collects sizes by their names."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        """Add a size; a second one for the same name is a command-line error."""
        name, size = values
        sizes: dict[str, int] = getattr(namespace, self.dest)
        if name in sizes:
            parser.error(f"{option_string} {name} is given twice")
        setattr(namespace, self.dest, {**sizes, name: size})


def seconds(text: str) -> float:
    """Parse a time limit, which is not 0."""
    try:
        found = float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of seconds was wanted, not {text!r}")
    return found


def random_arguments(
    compiled: CompiledProgram, sizes: Mapping[str, int], seed: int = 0
) -> dict[str, Any]:
    """Return random arguments of the sizes that the command line gives.

    Raises:
        CallError: as `CompiledProgram.random_arguments`, with what to add to the command.
    """
    try:
        return driver.random_arguments(compiled, seed, sizes)
    except SizeMissingError as error:
        error.hint = " ".join(f"--size {name}=64" for name in error.names)
        raise


def wrong_option(args: argparse.Namespace, command: str, has_cpp: bool, place: str) -> bool:
    """Report options for C++ if the command writes none, and return whether there were any."""
    if not args.options or has_cpp:
        return False
    print(f"pypto {command}: error: --option goes with {place}", file=sys.stderr)
    return True


def print_json(value: object) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2))


def finding_row(finding: Diagnostic) -> dict[str, Any]:
    """Return a finding as data: where it is, counting from 1, and what it says."""
    span = finding.span
    return {
        "severity": finding.severity.name.lower(),
        "rule": finding.rule_name,
        "message": finding.message,
        "file": span.filename,
        "line": span.begin_line,
        "column": span.begin_column + 1,
        "hint": finding.hint,
    }


def error_rows(error: PyptoError) -> list[dict[str, Any]]:
    """Return an error, and those that were found together with it, as data."""
    return [finding_row(each.diagnostic) for each in (error, *error.others)]


def duration(seconds: float) -> str:
    """Return a time in a unit that leaves one to three digits before the decimal point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"
