"""``pypto reduce``: makes a failing program small."""

from __future__ import annotations

import argparse
import sys
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pypto._src import build_output
from pypto._src.checks import check_program
from pypto._src.commands.cli_options import (
    Commands,
    input_words,
    json_words,
    print_json,
    size_words,
)
from pypto._src.commands.programs import (
    given_arguments,
    load,
    load_case,
    load_reference,
    split,
    text_of,
)
from pypto._src.driver import compile_program, entry_function
from pypto._src.errors import CallError, PyptoError, PyptoWarning
from pypto._src.ir.stmts import Program
from pypto._src.lint.uninitialized import check_uninitialized

_ROUGH = 1e-2
_CHECKS = "error:SLUG, crash, native or reference"


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    reduce = commands.add_parser(
        "reduce",
        parents=[json_words(), size_words(), input_words()],
        help="make a failing program small: a few lines that fail in the same way",
    )
    reduce.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a Python file, which is executed again and again, and the program in it",
    )
    reduce.add_argument(
        "--check",
        required=True,
        type=_check,
        metavar="CHECK",
        help="how it fails: error:SLUG reports this error; crash ends with a traceback; native "
        "computes something else than the interpreter; reference something else than --against",
    )
    reduce.add_argument(
        "--against", metavar="REF.py[:NAME]", help="the reference, as of bisect, for the results"
    )
    reduce.add_argument(
        "--bound",
        type=float,
        default=_ROUGH,
        metavar="ERROR",
        help="how far a result may be off, as a part of max(1, |value|); default: %(default)s",
    )
    reduce.add_argument(
        "-o",
        dest="output",
        type=Path,
        metavar="OUT.py",
        help="where the program goes, each time that it is smaller; default: FILE.reduced.py",
    )
    reduce.set_defaults(command=_reduce)


def _check(text: str) -> str:
    if text in ("crash", "native", "reference") or (text.startswith("error:") and text[6:]):
        return text
    raise argparse.ArgumentTypeError(f"a check is {_CHECKS}, not {text!r}")


def _reduce(args: argparse.Namespace) -> int:
    from pypto._src.numerics.reduce import reduced

    if (args.check == "reference") != (args.against is not None):
        print("pypto reduce: error: --check reference goes with --against REF.py", file=sys.stderr)
        return 2
    path, name = split(args.file)
    source = text_of(path)
    output: Path = args.output or path.with_suffix(".reduced.py")
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if args.check in ("native", "reference"):
            warnings.simplefilter("error", PyptoWarning)  # such as of a result never written
        failure = _failure(args, path, name, Path(folder))
        wanted = failure(source)
        if wanted is None or not wanted.startswith(args.check):
            raise CallError(
                f"{path} does not fail so: --check {args.check}",
                hint=None if wanted is None else f"--check {wanted.partition(' ')[0]}",
                slug="argument",
            )
        small = source
        build_output.write_file(output, small)

        def found(text: str) -> None:
            nonlocal small
            small = text
            build_output.write_file(output, text)

        sys.path.insert(0, str(path.parent.absolute()))  # for what the text imports
        try:
            reduced(source, lambda text: failure(text) == wanted, found=found)
            ended = ""
        except KeyboardInterrupt:
            ended = ", interrupted"
        finally:
            sys.path.remove(str(path.parent.absolute()))
    if args.json:
        row = {"file": str(output), "lines": _lines(small), "of": _lines(source)}
        print_json({**row, "interrupted": bool(ended)})
    else:
        print(f"{output}: {_lines(small)} lines of {_lines(source)}{ended}")
    return 130 if ended else 0


def _lines(text: str) -> int:
    return sum(bool(line.strip()) for line in text.split("\n"))


def _failure(
    args: argparse.Namespace, path: Path, name: str | None, folder: Path
) -> Callable[[str], str | None]:
    """Return a function that says how a text fails: check, crash with type and line, or None."""
    candidate = folder / path.name
    where = str(candidate) if name is None else f"{candidate}:{name}"
    arguments: Mapping[str, Any] | None = None
    wanted: Mapping[str, Any] = {}
    if args.check in ("native", "reference"):
        # From the program as it is: smaller ones get the same arrays.
        program, case = load_case(args.file)
        arguments = given_arguments(program, case, args.entry, args.sizes, args.inputs, args.seed)
        if args.against is not None:
            wanted = _expected(args, program, arguments)

    def run(text: str) -> str | None:
        candidate.write_text(text, encoding="utf-8")
        program = load(where)
        if arguments is None:
            return _refused(program, args.check, args.entry)
        if check_uninitialized(program):
            return None  # uninitialized: any value is right
        own = {key: _copy(value) for key, value in arguments.items()}
        interpreted = compile_program(program, "interpreter", entry=args.entry)
        if interpreted.param_names != list(own):
            return None
        interpreted(*own.values())
        if args.check == "reference":
            is_wrong = any(_differ(own[key], value, args.bound) for key, value in wanted.items())
            return args.check if is_wrong else None
        native = {key: _copy(value) for key, value in arguments.items()}
        compile_program(program, "cpu", entry=args.entry)(*native.values())
        is_wrong = any(_differ(native[key], own[key], args.bound) for key in interpreted.written)
        return args.check if is_wrong else None

    def failure(text: str) -> str | None:
        try:
            return run(text)
        except PyptoError as error:
            crash = error.__cause__ if error.slug == "user-file" else None
            return _crash(crash) or f"error:{error.slug}"
        except Exception as error:  # perhaps the crash that is searched for
            return _crash(error)

    return failure


def _crash(error: BaseException | None) -> str | None:
    """Return type and line of an unexpected error that one of our modules raised."""
    if error is None or isinstance(error, SyntaxError):
        return None
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    module: str = frame.f_globals.get("__name__", "")
    return f"crash {type(error).__name__} {module}:{line}" if module.startswith("pypto.") else None


def _expected(
    args: argparse.Namespace, program: Program, arguments: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return the expected values of the parameters after a run."""
    from pypto._src.numerics.bisect import locals_of

    reference = load_reference(args.against, program)
    if not isinstance(reference, Program):
        found = locals_of(reference, arguments, entry_function(program, args.entry))
        return {key: value for key, value in found.items() if key in arguments}
    own = {key: _copy(value) for key, value in arguments.items()}
    compiled = compile_program(reference, "interpreter")
    compiled(*own.values())
    return {key: own[key] for key in compiled.written}


def _refused(program: Program, check: str, entry: str | None) -> str | None:
    """Compile and check a program; return ``check`` if that is found, else the first finding.

    Raises:
        PyptoError: something is wrong with the program.
    """
    compile_program(program, entry=entry)
    found = [f"error:{d.rule_name}" for stage in check_program(program) for d in stage.findings]
    return check if check in found else next(iter(found), None)


def _copy(value: Any) -> Any:
    return value.copy() if hasattr(value, "copy") else value


def _differ(found: Any, wanted: Any, bound: float) -> bool:
    from pypto._src.numerics.bisect import worst_element

    return worst_element(found, wanted, bound) is not None
