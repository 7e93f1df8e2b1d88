"""``pypto compile``: a folder with the generated code of a program."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from pypto._src import build_output
from pypto._src.backend import BackendType
from pypto._src.commands.cli_options import (
    Commands,
    cpp_words,
    file_words,
    json_words,
    overlap_words,
    print_json,
    wrong_option,
)
from pypto._src.commands.programs import load
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.errors import EmitError
from pypto._src.passes.pass_manager import OptimizationStrategy

_BACKENDS: Final = {"cce": BackendType.CCE, "pto": BackendType.PTO}
_STRATEGIES: Final = {strategy.value: strategy for strategy in OptimizationStrategy}


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    compile_ = commands.add_parser(
        "compile",
        parents=[file_words(), json_words(), cpp_words(), overlap_words()],
        help="write the generated code",
    )
    compile_.add_argument("-o", metavar="DIR", dest="output", help="the folder to write to")
    compile_.add_argument(
        "--backend", choices=_BACKENDS, default="cce", help="default: %(default)s"
    )
    compile_.add_argument(
        "--strategy",
        choices=_STRATEGIES,
        help="the passes to run; default: Default, PTOAS with --backend pto",
    )
    compile_.set_defaults(command=_compile)


def _compile(args: argparse.Namespace) -> int:
    is_pto = _BACKENDS[args.backend] is BackendType.PTO
    if wrong_option(args, "compile", not is_pto, "--backend cce"):
        return 2
    program = load(args.file)
    by_backend = OptimizationStrategy.PTOAS if is_pto else OptimizationStrategy.Default
    try:
        folder = build_output.write_texts(
            program,
            args.output,
            by_backend if args.strategy is None else _STRATEGIES[args.strategy],
            dump_passes=False,
            backend_type=_BACKENDS[args.backend],
            options=CppOptions(**dict(args.options)),
            overlap=args.overlap,
        )
    except EmitError as error:
        if error.slug == "strategy":
            error.hint = "--strategy Default, or --backend pto"
        raise
    if args.json:
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        names = [path.relative_to(folder).as_posix() for path in files]
        print_json({"folder": folder, "files": names})
    else:
        print(folder)
    return 0
