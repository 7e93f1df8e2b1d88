"""``pypto run``: a program called once, on random arguments or those of an example."""

from __future__ import annotations

import argparse
import sys
import time
import zlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pypto._src.commands.cli_options import (
    Commands,
    cpp_words,
    duration,
    entry_words,
    file_words,
    json_words,
    overlap_words,
    print_json,
    seed,
    size_words,
    wrong_option,
)
from pypto._src.commands.programs import call_arguments, load_case
from pypto._src.driver import TARGETS, CompiledProgram, compile_program
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.errors import CallError
from pypto._src.interp.pipe_interpreter import ORDERS
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    run = commands.add_parser(
        "run",
        parents=[
            file_words(),
            json_words(),
            cpp_words(),
            size_words(),
            overlap_words(),
            entry_words(),
        ],
        help="run a program on random arguments, or those of an example",
    )
    run.add_argument("--target", choices=TARGETS, help="default: cpu")
    run.add_argument("--seed", type=seed, default=0, help="of the arguments; default: %(default)s")
    run.add_argument(
        "--strict",
        nargs="?",
        const="late",
        choices=ORDERS,
        help="interpret the kernels as a core runs them, with every race and uninitialized byte an "
        "error; the order of the pipes, by default: %(const)s",
    )
    run.set_defaults(command=_run)


def _run(args: argparse.Namespace) -> int:
    target = args.target or ("cpu" if args.strict is None else "interpreter")
    if wrong_option(args, "run", target == "cpu", "--target cpu"):
        return 2
    if args.strict is not None and target != "interpreter":
        print("pypto run: error: --strict goes with --target interpreter", file=sys.stderr)
        return 2
    program, case = load_case(args.file)
    try:
        compiled = compile_program(
            program,
            target,
            entry=args.entry,
            strict=args.strict or False,
            seed=args.seed,
            options=CppOptions(**dict(args.options)),
            overlap=args.overlap,
        )
    except CallError as error:
        if error.slug == "entry" and error.hint is not None:
            error.hint = error.hint.replace("entry=", "--entry ").replace("'", "")
        raise
    arguments = call_arguments(compiled, program, case, args.sizes, args.seed)
    begin = time.perf_counter()
    returned = compiled(*arguments.values())
    seconds = time.perf_counter() - begin
    results = [summary(name, value) for name, value in _results(compiled, arguments, returned)]
    if args.json:
        row: dict[str, Any] = {
            "entry": compiled.entry,
            "target": compiled.target,
            "seed": args.seed,
            "sizes": args.sizes,
            "seconds": seconds,
            "results": results,
        }
        if compiled.profile:
            row["profile"] = {name: timing._asdict() for name, timing in compiled.profile.items()}
        print_json(row)
        return 0
    print(f"{compiled.signature} on {compiled.target}: {duration(seconds)}")
    for row in results:
        shape = f"{row['shape']} {row['dtype']}"
        print(f"  {row['name']}: {shape}, sum {row['sum']:.9g}, crc32 {row['crc32']}")
    for name, timing in compiled.profile.items():
        print(f"  kernel {name}: calls {timing.calls}, {duration(timing.seconds)}")
    return 0


def _results(
    compiled: CompiledProgram, arguments: Mapping[str, Any], returned: Any
) -> list[tuple[str, Any]]:
    """Return what a call has written and returned, by name, each once."""
    found = [(name, arguments[name]) for name in compiled.written]
    values: tuple[Any, ...] = returned if isinstance(returned, tuple) else (returned,)  # pyright: ignore[reportUnknownVariableType]
    for index, value in enumerate(values):
        if value is not None and not any(value is known for _, known in found):
            found.append((f"result {index}" if len(values) > 1 else "result", value))
    return found


def summary(name: str, value: Any) -> dict[str, Any]:
    """Return shape, element type, sum and checksum of an array or number."""
    array = np.ascontiguousarray(value)
    return {
        "name": name,
        "shape": list(np.shape(value)),
        "dtype": str(array.dtype),
        "sum": float(array.astype(np.float64).sum()),
        "crc32": f"{zlib.crc32(array.view(np.uint8).tobytes()):08x}",
    }
