"""``pypto show``: a program, its generated code, its tasks, or where its tiles are in memory."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pypto._src import build_output
from pypto._src.commands import example_cases
from pypto._src.commands.cli_options import (
    Commands,
    cpp_words,
    json_words,
    print_json,
    random_arguments,
    size_words,
)
from pypto._src.commands.programs import load, load_case
from pypto._src.driver import compile_program, entry_function, kernels_of
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.cpp.options import CppOptions
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import CallError
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.lazy import lazy_module
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_base import Pass, PassContext
from pypto._src.passes.pass_manager import OPTIONAL, OptimizationStrategy, PassManager, with_kernels
from pypto._src.passes.statistics import PassStatistics
from pypto._src.run.calls import Calls, calls_of, depends_on_values
from pypto._src.run.task_graph.drawing import draw
from pypto._src.run.task_graph.tasks import Tasks, tasks_of
from pypto._src.suggestions import nearest

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

_DRAWINGS: Final = (".svg", ".html", ".txt")


def add(commands: Commands) -> None:
    """Add the command to the command line."""
    show = commands.add_parser(
        "show",
        parents=[json_words(), cpp_words(), size_words()],
        help="print a program, its generated code or its tasks",
    )
    show.add_argument(
        "file",
        nargs="?",  # after --graph it looks like the value of that option
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it if there are several",
    )
    show.add_argument(
        "form",
        nargs="?",
        choices=("ir", "cpp", "mlir", "orchestration", "memory"),
        default="ir",
        help="the program; C++ or PTO MLIR of its kernels; C++ of its host function; where tiles "
        "are in memory; default: %(default)s",
    )
    show.add_argument("--after", metavar="PASS", help="with ir: print it as it is after this pass")
    show.add_argument(
        "--with",
        action="append",
        default=[],
        dest="optional",
        metavar="PASS",
        help=f"with ir: run this optional pass too, in the order given: {', '.join(OPTIONAL)}",
    )
    show.add_argument(
        "--stats",
        action="store_true",
        help="with ir: print what each pass took and changed, instead of the program",
    )
    show.add_argument(
        "--graph",
        nargs="?",
        const="",
        metavar="OUT",
        help="the tasks of a run and what each waits for: as text, or drawn to OUT.svg or OUT.html",
    )
    show.add_argument(
        "--static",
        action="store_true",
        help="with --graph: the calls as written, without running anything",
    )
    show.add_argument(
        "-o", metavar="FILE.html", dest="output", help="with memory: draw the plan to this page"
    )
    show.set_defaults(command=_show)


def _show(args: argparse.Namespace) -> int:
    if args.file is None and args.graph and Path(args.graph).suffix not in _DRAWINGS:
        args.file, args.graph = args.graph, ""  # pypto show --graph FILE
    wrong = _wrong_show(args)
    if wrong is not None:
        print(f"pypto show: error: {wrong}", file=sys.stderr)
        return 2
    return _show_code(args) if args.graph is None else _show_graph(args)


def _wrong_show(args: argparse.Namespace) -> str | None:
    if args.file is None:
        return "the following arguments are required: FILE[:NAME]"
    if args.output is not None and (args.form != "memory" or args.graph is not None):
        return "-o goes with memory"
    if args.options and (args.form != "cpp" or args.graph is not None):
        return "--option goes with cpp"
    if args.graph is None:
        if args.static:
            return "--static goes with --graph"
        if args.sizes:
            return "--size goes with --graph"
        given = {"--after": args.after, "--with": args.optional, "--stats": args.stats}
        wrong = [name for name, value in given.items() if value and args.form != "ir"]
        return f"{wrong[0]} goes with ir" if wrong else None
    if args.form != "ir" or args.after is not None or args.optional or args.stats:
        return "--graph goes without a form and without --after"
    if args.sizes and args.static:
        return "--size goes without --static, which runs nothing"
    if args.graph and Path(args.graph).suffix not in _DRAWINGS:
        return f"--graph writes {', '.join(_DRAWINGS)}, not {args.graph}"
    return None


def _show_graph(args: argparse.Namespace) -> int:
    drawn = _drawn(args)
    if args.json:
        print_json(drawn.as_data())
    elif args.graph:
        build_output.write_file(Path(args.graph), draw(drawn, Path(args.graph).suffix))
        print(args.graph)
    else:
        sys.stdout.write(draw(drawn, ".txt"))
    return 0


def _drawn(args: argparse.Namespace) -> Tasks | Calls:
    """Return the tasks of a run, or the calls where there are no arguments to run with.

    The arguments are those of the example's case, else random ones, unless the tasks depend on
    their values and no sizes are given.
    """
    program, case = load_case(args.file)
    program = with_kernels(program)
    entry = entry_function(program).name
    if not args.sizes and (args.static or (case is None and depends_on_values(program, entry))):
        return calls_of(program, entry)
    if case is not None and not args.sizes:
        values = case.inputs(np.random.default_rng(example_cases.SEED))
    else:
        compiled = compile_program(program, "interpreter", entry=entry)
        values = random_arguments(compiled, args.sizes)
    return tasks_of(program, entry, list(values.values()))


def _show_code(args: argparse.Namespace) -> int:
    program = load(args.file)
    if args.form == "ir" and args.stats:
        statistics = PassStatistics()
        with PassContext([statistics]):
            _after(program, args.after or "AllocateMemoryAddr", args.optional)
        print(statistics.report())
        return 0
    if args.form == "ir":
        texts = {program.name: python_print(_after(program, args.after, args.optional))}
    elif args.form == "memory":
        return _show_memory(program, args)
    elif args.form == "orchestration":
        lowered = PassManager.get_strategy().run_passes(program)
        entry = entry_function(lowered)
        texts = {entry.name: generate_orchestration(lowered, entry).code}
    else:
        texts = kernel_texts(program, args.form, CppOptions(**dict(args.options)))
        if not texts:
            print(f"{program.name} launches no kernels", file=sys.stderr)
    if args.json:
        print_json(texts)
        return 0
    for name, text in texts.items():
        if len(texts) > 1:
            print(f"// {name}")
        print(text.rstrip("\n"))
    return 0


def _show_memory(program: Program, args: argparse.Namespace) -> int:
    plan = MemoryPlan.of(PassManager.get_strategy().run_passes(program))
    if args.output is not None:
        build_output.write_file(Path(args.output), plan.html())
        print(args.output)
    elif args.json:
        print_json(plan.as_data())
    else:
        print(plan)
    return 0


def _after(program: Program, name: str | None, optional: Sequence[str]) -> Program:
    """Return the program after the pass ``name``; for None after all, if any are optional."""
    if name is None and not optional:
        return program
    manager = _manager(optional)
    if name is None:
        name = manager.pass_names[-1]
    if name in OPTIONAL and name not in manager.pass_names:
        raise CallError(
            f"{name} is an optional pass, which no strategy runs by itself",
            hint=f"--with {name} --after {name}",
            slug="pass-name",
        )
    if name not in manager.pass_names:
        near = nearest(name.replace("_", ""), manager.pass_names)
        names = ", ".join(manager.pass_names)
        raise CallError(
            f"there is no pass {name!r}",
            hint=f"one of {names}" if near is None else f"--after {near}",
            slug="pass-name",
        )
    passes: list[Pass] = manager.passes[: manager.pass_names.index(name) + 1]
    for each in passes:
        program = each(program)
    return program


def _manager(optional: Sequence[str]) -> PassManager:
    try:
        return PassManager.get_strategy(optional=optional)
    except ValueError as error:
        wrong = next((name for name in optional if name not in OPTIONAL), "")
        near = nearest(wrong.replace("_", ""), OPTIONAL)
        hint = f"one of {', '.join(OPTIONAL)}" if near is None else f"--with {near}"
        raise CallError(str(error).partition(";")[0], hint=hint, slug="pass-name") from None


def kernel_texts(program: Program, form: str, options: CppOptions) -> dict[str, str]:
    """Return the C++ (``cpp``) or MLIR (``mlir``) of each kernel that the program launches."""
    strategy = OptimizationStrategy.Default if form == "cpp" else OptimizationStrategy.PTOAS
    lowered = PassManager(strategy).run_passes(program)
    kernels = kernels_of(lowered, entry_function(lowered))

    def text(kernel: Function) -> str:
        if form == "cpp":
            return kernel_file(kernel, options=options)
        return PTOCodegen().generate(Program([kernel], kernel.name))

    return {k.name: with_room(lambda k=k: text(k), k) for k in kernels}
