"""The command ``pypto``: show, convert, compile, run and demonstrate programs.

Owns the command line and what is printed. What a user got wrong is reported without a traceback and
ends with status 1; a wrong command line ends with status 2.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import time
import traceback
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pypto._src import build_output, demo
from pypto._src.backend import BackendType
from pypto._src.checks import Stage, check_program
from pypto._src.diagnostics import Diagnostic, Span, render, wants_colour
from pypto._src.driver import (
    TARGETS,
    CompiledProgram,
    compile_program,
    entry_function,
    kernels_of,
)
from pypto._src.emit.cpp import kernel_file
from pypto._src.emit.cpp_options import CppOptions
from pypto._src.emit.orchestration import generate_orchestration
from pypto._src.emit.pto import PTOCodegen
from pypto._src.errors import CallError, PyptoError
from pypto._src.frontend.text import is_printed_text, parse_program
from pypto._src.interp.strict import ORDERS
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.text import python_print
from pypto._src.ir.walk import with_room
from pypto._src.jit import JitFunction
from pypto._src.knobs import KnobError
from pypto._src.lazy import lazy_module
from pypto._src.passes.base import Pass, PassContext
from pypto._src.passes.happens_before import FlagIdentity
from pypto._src.passes.memory_plan import MemoryPlan
from pypto._src.passes.pipelines import OPTIONAL, OptimizationStrategy, PassManager
from pypto._src.passes.statistics import PassStatistics
from pypto._src.run.calls import Calls, calls_of, depends_on_values
from pypto._src.run.drawing import draw
from pypto._src.run.sizes import SizeMissingError
from pypto._src.run.tasks import Tasks, tasks_of
from pypto._src.run.toolchain import find_toolchain, no_compiler_message
from pypto._src.statement.printer import to_statement_text
from pypto._src.statement.reader import from_statement_text, is_statement_text
from pypto._version import __version__

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.dialect import verify as pto_dialect
else:
    np = lazy_module("numpy")
    pto_dialect = lazy_module("pypto._src.dialect.verify")  # needs a package of an extra

BACKENDS: Final = {"cce": BackendType.CCE, "pto": BackendType.PTO}
STRATEGIES: Final = {strategy.value: strategy for strategy in OptimizationStrategy}
_CPP_OPTIONS: Final = tuple(field.name for field in fields(CppOptions))
_SWITCHES: Final = {"": True, "true": True, "false": False}
"""What may follow the ``=`` of an option."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with the given words, by default those of the process; return its status."""
    try:
        args = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed help (0) or what is wrong (2)
        return end.code if isinstance(end.code, int) else 2
    try:
        status: int = args.command(args)
        sys.stdout.flush()  # here, where a closed pipe is caught
        return status
    except KeyboardInterrupt:
        return 130  # as shells report a process that Ctrl-C ended
    except BrokenPipeError:  # the reader, such as head, has seen enough
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
    print(found.render(colour=wants_colour()), file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pypto", description="Compile and run tile kernels.")
    parser.add_argument("--version", action="version", version=f"pypto {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    file = argparse.ArgumentParser(add_help=False)
    file.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it if there are several",
    )
    machine = argparse.ArgumentParser(add_help=False)
    machine.add_argument("--json", action="store_true", help="print JSON instead of text")
    both = [file, machine]
    cpp = argparse.ArgumentParser(add_help=False)
    cpp.add_argument(
        "--option",
        action="append",
        default=[],
        type=_cpp_option,
        dest="options",
        metavar="NAME[=VALUE]",
        help="add this to the C++ of the kernels, or leave it out if VALUE is false: "
        f"{', '.join(_CPP_OPTIONS)}",
    )

    sizes = argparse.ArgumentParser(add_help=False)
    sizes.add_argument(
        "--size",
        action="append",
        default=[],
        type=_size,
        dest="sizes",
        metavar="NAME=N",
        help="of the random arguments: the size of the dimension of this name, as in "
        'pl.dynamic("NAME"), or the value of an integer parameter, else 1; once for each',
    )

    show = commands.add_parser(
        "show",
        parents=[machine, cpp, sizes],
        help="print a program, its generated code or its tasks",
    )
    show.add_argument(
        "file",
        nargs="?",  # behind --graph, whose value it seems to be
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it if there are several",
    )
    show.add_argument(
        "form",
        nargs="?",
        choices=("ir", "cpp", "mlir", "orchestration", "memory"),
        default="ir",
        help="the program; C++ or PTO MLIR of its kernels; C++ of its host function; where tiles "
        "lie; default: %(default)s",
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
        help="with --graph: the calls as they stand in the text, without running anything",
    )
    show.add_argument(
        "-o", metavar="FILE.html", dest="output", help="with memory: draw the plan to this page"
    )
    show.set_defaults(command=_show)

    convert = commands.add_parser(
        "convert", help="print a program in the other of its two textual forms"
    )
    convert.add_argument(
        "file",
        metavar="FILE[:NAME]",
        help="a Python file, which is executed, and the program in it; or a text in statement form",
    )
    convert.add_argument(
        "--to",
        choices=("statement", "python"),
        required=True,
        dest="form",
        help="the form to print: statements (docs/statement-form.md) or Python",
    )
    convert.add_argument("-o", metavar="FILE", dest="output", help="the file to write to")
    convert.set_defaults(command=_convert)

    compile_ = commands.add_parser("compile", parents=[*both, cpp], help="write the generated code")
    compile_.add_argument("-o", metavar="DIR", dest="output", help="the folder to write to")
    compile_.add_argument("--backend", choices=BACKENDS, default="cce", help="default: %(default)s")
    compile_.add_argument(
        "--strategy", choices=STRATEGIES, help="the passes to run (PTOAS with --backend pto)"
    )
    compile_.set_defaults(command=_compile)

    run = commands.add_parser(
        "run",
        parents=[*both, cpp, sizes],
        help="run a program on random arguments, or those of an example",
    )
    run.add_argument("--target", choices=TARGETS, default="cpu", help="default: %(default)s")
    run.add_argument("--entry", metavar="FUNCTION", help="the function to call")
    run.add_argument("--seed", type=int, default=0, help="of the arguments; default: %(default)s")
    run.add_argument(
        "--strict",
        nargs="?",
        const="late",
        choices=ORDERS,
        help="interpret the kernels as a core runs them, with every race and unwritten byte an "
        "error; the order of the pipes, by default: %(const)s",
    )
    run.set_defaults(command=_run)

    check = commands.add_parser(
        "check", parents=both, help="check all that can be checked without running a program"
    )
    check.add_argument(
        "--flags",
        choices=[identity.value for identity in FlagIdentity],
        default=FlagIdentity.PAIR.value,
        help="what tells two flags apart: both pipes and the event, or the raising pipe and the "
        "event; default: %(default)s",
    )
    check.set_defaults(command=_check)

    verify = commands.add_parser(
        "verify", parents=[machine], help="check a .pto file as the assembler does"
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

    demo_ = commands.add_parser(
        "demo", parents=[machine], help="run the examples and compare them with NumPy"
    )
    demo_.add_argument("names", nargs="*", metavar="NAME", help="an example; all if none is given")
    demo_.add_argument(
        "-o",
        metavar="DIR",
        dest="output",
        default="build_output/demo",
        help="where generated code goes; default: %(default)s",
    )
    demo_.set_defaults(command=_demo)
    return parser


def _cpp_option(text: str) -> tuple[str, bool]:
    """Return name and value of ``NAME[=VALUE]``, an attribute of `CppOptions`."""
    name, equals, value = text.partition("=")
    if name not in _CPP_OPTIONS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(_CPP_OPTIONS)}")
    if value not in _SWITCHES or (equals and not value):
        raise argparse.ArgumentTypeError(f"{name} is true or false, not {value!r}")
    return name, _SWITCHES[value]


def _size(text: str) -> tuple[str, int]:
    """Return name and size of ``NAME=N``."""
    name, _, size = text.partition("=")
    if not name.isidentifier() or not (size.isascii() and size.isdigit()):
        raise argparse.ArgumentTypeError(f"a size is given as NAME=64, not {text!r}")
    return name, int(size)


def _given_twice(args: argparse.Namespace) -> str | None:
    """Return what is wrong if one size is given twice."""
    names = [name for name, _ in args.sizes]
    twice = next((name for name in names if names.count(name) > 1), None)
    return None if twice is None else f"--size {twice} is given twice"


def _random_arguments(
    compiled: CompiledProgram, sizes: Sequence[tuple[str, int]], seed: int = 0
) -> dict[str, Any]:
    """Return random arguments of the sizes that the command line gives.

    Raises:
        CallError: as `CompiledProgram.random_arguments`, with what to add to the command.
    """
    try:
        return compiled.random_arguments(seed, dict(sizes))
    except SizeMissingError as error:
        error.hint = " ".join(f"--size {name}=64" for name in error.names)
        raise


def _wrong_option(args: argparse.Namespace, command: str, has_cpp: bool, place: str) -> bool:
    """Say so if there are options for C++ and the command writes none; then return True."""
    if not args.options or has_cpp:
        return False
    print(f"pypto {command}: error: --option goes with {place}", file=sys.stderr)
    return True


# --------------------------------------------------------------------------------------------
# Finding programs
# --------------------------------------------------------------------------------------------


def load(text: str) -> Program:
    """Return the program that ``FILE[:NAME]`` means; the file is executed.

    Raises:
        PyptoError: the file fails, or has no such program, or several and no name is given.
        OSError: the file cannot be read.
    """
    return load_case(text)[0]


def load_case(text: str) -> tuple[Program, demo.Case | None]:
    """Return the program that ``FILE[:NAME]`` means, and the example's case that it is, if any.

    Raises:
        PyptoError: as `load` does.
        OSError: the file cannot be read.
    """
    path, name = _split(text)
    variables = _execute(path)
    found = _programs(variables)
    names = ", ".join(found)
    if name is None and len(found) == 1:
        [name] = found
    if not found:
        raise _no_program(path, variables)
    if name is None:
        first = next(iter(found))
        raise CallError(
            f"{path} defines several programs: {names}",
            hint=f"name one: {path}:{first}",
            slug="program-name",
        )
    if name not in found:
        raise CallError(f"{path} defines no {name!r}; it defines {names}", slug="program-name")
    program = found[name]
    if not isinstance(program, Program):
        return Program([program], program.name), None
    cases: Sequence[demo.Case] = variables.get("CASES", ())
    return program, next((case for case in cases if case.program is program), None)


def _no_program(path: Path, variables: Mapping[str, Any]) -> CallError:
    """Return the error for a file without a program; one of ``@pl.jit`` comes with a call."""
    jitted = [name for name, value in variables.items() if isinstance(value, JitFunction)]
    if not jitted:
        hint = "put @pl.program above a class of functions"
        return CallError(f"{path} defines no program", hint=hint, slug="program-name")
    return CallError(
        f"{path} defines no program: {', '.join(jitted)} is made one by what it is called with",
        hint=f"program = {jitted[0]}.lower(pl.Tensor[[64, 64], pl.FP32], ...)",
        slug="program-name",
    )


def _split(text: str) -> tuple[Path, str | None]:
    head, colon, name = text.rpartition(":")
    # C:\kernels.py has a colon, too.
    return (Path(head), name) if colon and name.isidentifier() and head else (Path(text), None)


def programs_in(path: Path) -> dict[str, Program | Function]:
    """Execute a file; return its programs by name and, if it has none, its functions.

    Raises:
        PyptoError: the file fails.
        OSError: the file cannot be read.
    """
    return _programs(_execute(path))


def _execute(path: Path) -> dict[str, Any]:
    path.open("rb").close()  # a missing file is our business, one that it opens is not
    folder = str(path.parent.absolute())
    sys.path.insert(0, folder)  # as Python does for a script
    try:
        return runpy.run_path(str(path))
    except PyptoError:
        raise
    except Exception as error:
        raise _failure(path, error) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _programs(variables: Mapping[str, Any]) -> dict[str, Program | Function]:
    for kind in (Program, Function):
        found: dict[int, tuple[str, Program | Function]] = {}
        for name, value in variables.items():
            if isinstance(value, kind):
                found.setdefault(id(value), (name, value))  # a second name is not a second program
        if kind is Program:  # those of examples, which may be made by a function
            for case in variables.get("CASES", ()):
                found.setdefault(id(case.program), (case.name, case.program))
        if found:
            return dict(found.values())
    return {}


def _failure(path: Path, error: Exception) -> PyptoError:
    """Return what a file raised, at the file's line."""
    place: Span | None = None
    if isinstance(error, SyntaxError) and error.lineno is not None:
        column = (error.offset or 1) - 1
        place = Span(error.filename or str(path), error.lineno, column)
    for frame, line in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename == str(path):
            place = Span(str(path), line, -1)
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return PyptoError(f"{type(error).__name__}: {text}", place, slug="user-file")


# --------------------------------------------------------------------------------------------
# Commands
# --------------------------------------------------------------------------------------------


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=2))


_DRAWINGS: Final = (".svg", ".html", ".txt")


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
    if twice := _given_twice(args):
        return twice
    if args.graph and Path(args.graph).suffix not in _DRAWINGS:
        return f"--graph writes {', '.join(_DRAWINGS)}, not {args.graph}"
    return None


def _show_graph(args: argparse.Namespace) -> int:
    drawn = _drawn(args)
    if args.json:
        _print_json(drawn.as_data())
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
    entry = entry_function(program).name
    if not args.sizes and (args.static or (case is None and depends_on_values(program, entry))):
        return calls_of(program, entry)
    if case is not None and not args.sizes:
        values = case.inputs(np.random.default_rng(demo.SEED))
    else:
        compiled = compile_program(program, "interpreter", entry=entry)
        values = _random_arguments(compiled, args.sizes)
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
        _print_json(texts)
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
        _print_json(plan.as_data())
    else:
        print(plan)
    return 0


def _convert(args: argparse.Namespace) -> int:
    program = _load_either(args.file)
    is_python = args.form == "python"
    write = python_print if is_python else to_statement_text
    text = with_room(lambda: write(program), program)
    text = text if text.endswith("\n") else f"{text}\n"
    if args.output is None:
        sys.stdout.write(text)
    else:
        build_output.write_file(Path(args.output), text)
    return 0


def _verify(args: argparse.Namespace) -> int:
    path = Path(args.file)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PyptoError(f"{path} is no text: {error}", slug="file") from error
    options = pto_dialect.options_of(text, args.arch, args.level)
    faults = pto_dialect.faults_of(text, str(path), options)
    if args.json:
        rows = [{**_place(fault), "rule": fault.slug, "message": fault.message} for fault in faults]
        _print_json({"file": str(path), **pto_dialect.as_data(options), "faults": rows})
    elif not faults:
        print(f"{path}: accepted for {options.arch} at {options.level}")
    for fault in () if args.json else faults:
        print(fault.render(colour=wants_colour()), file=sys.stderr)
    return 1 if faults else 0


def _place(error: PyptoError) -> dict[str, int]:
    return {"line": error.place.begin_line, "column": error.place.begin_column + 1}


def _load_either(text: str) -> Program:
    """Return the program of a printed text in either form, or else as `load` does.

    A file that `python_print` wrote is read, not executed: its header has entry and attributes.

    Raises:
        PyptoError: the text is wrong, or the file fails or has no such program.
        OSError: the file cannot be read.
    """
    path = Path(text)
    if not path.is_file():
        return load(text)
    try:
        source = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise PyptoError(f"{path} is no text: {error}", slug="file") from error
    if is_statement_text(source):
        return from_statement_text(source, str(path))
    if is_printed_text(source):
        with suppress(SyntaxError):  # which `load` reports
            return parse_program(source, str(path))
    return load(text)


def _after(program: Program, name: str | None, optional: Sequence[str]) -> Program:
    """Return the program as the pass called ``name`` leaves it; of None, if any are optional."""
    if name is None and not optional:
        return program
    manager = _manager(optional)
    if name is None:
        name = manager.pass_names[-1]
    if name not in manager.pass_names:
        raise CallError(
            f"there is no pass {name!r}",
            hint=f"one of {', '.join(manager.pass_names)}",
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
        hint = f"one of {', '.join(OPTIONAL)}"
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


def _compile(args: argparse.Namespace) -> int:
    is_pto = BACKENDS[args.backend] is BackendType.PTO
    if _wrong_option(args, "compile", not is_pto, "--backend cce"):
        return 2
    program = load(args.file)
    by_backend = OptimizationStrategy.PTOAS if is_pto else OptimizationStrategy.Default
    folder = build_output.compile(
        program,
        args.output,
        by_backend if args.strategy is None else STRATEGIES[args.strategy],
        dump_passes=False,
        backend_type=BACKENDS[args.backend],
        options=CppOptions(**dict(args.options)),
    )
    if args.json:
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        names = [path.relative_to(folder).as_posix() for path in files]
        _print_json({"folder": folder, "files": names})
    else:
        print(folder)
    return 0


def _check(args: argparse.Namespace) -> int:
    path, name = _split(args.file)
    if name is None:
        found = programs_in(path)
        programs = {
            n: p if isinstance(p, Program) else Program([p], p.name) for n, p in found.items()
        }
    else:
        programs = {name: load(args.file)}
    if not programs:
        load(args.file)  # says that there is none
    identity = FlagIdentity(args.flags)
    outcomes = {n: list(check_program(p, identity)) for n, p in programs.items()}
    if args.json:
        rows = [_check_row(n, stages) for n, stages in outcomes.items()]
        _print_json({"file": str(path), "programs": rows})
    for n, stages in () if args.json else outcomes.items():
        print(f"{path}: {n}")
        for stage in stages:
            print(f"  {stage.name:<7} {stage.summary}")
        sys.stdout.flush()  # its findings follow, on the other stream
        for finding in (d for stage in stages for d in stage.findings):
            print(render(finding, colour=wants_colour()), file=sys.stderr)
    return int(any(stage.errors for stages in outcomes.values() for stage in stages))


def _check_row(name: str, stages: Sequence[Stage]) -> dict[str, Any]:
    return {
        "name": name,
        "checks": {stage.name: stage.summary for stage in stages},
        "findings": [_finding_row(stage.name, d) for stage in stages for d in stage.findings],
    }


def _finding_row(check: str, finding: Diagnostic) -> dict[str, Any]:
    span = finding.span
    return {
        "check": check,
        "severity": finding.severity.name.lower(),
        "rule": finding.rule_name,
        "message": finding.message,
        "file": span.filename,
        "line": span.begin_line,
        "column": span.begin_column + 1,
        "hint": finding.hint,
    }


def _run(args: argparse.Namespace) -> int:
    target = args.target if args.strict is None else "interpreter"
    if _wrong_option(args, "run", target == "cpu", "--target cpu"):
        return 2
    if twice := _given_twice(args):
        print(f"pypto run: error: {twice}", file=sys.stderr)
        return 2
    program, case = load_case(args.file)
    compiled = compile_program(
        program,
        target,
        entry=args.entry,
        strict=args.strict or False,
        seed=args.seed,
        options=CppOptions(**dict(args.options)),
    )
    # Where there is no case there need be no entry but the one that is named.
    is_whole = case is not None and compiled.entry == entry_function(program).name
    if case is not None and is_whole and not args.sizes:
        arguments = case.inputs(np.random.default_rng(args.seed))
    else:
        arguments = _random_arguments(compiled, args.sizes, args.seed)
    begin = time.perf_counter()
    returned = compiled(*arguments.values())
    seconds = time.perf_counter() - begin
    results = [summary(name, value) for name, value in _results(compiled, arguments, returned)]
    if args.json:
        row: dict[str, Any] = {
            "entry": compiled.entry,
            "target": compiled.target,
            "seed": args.seed,
            "sizes": dict(args.sizes),
            "seconds": seconds,
            "results": results,
        }
        if compiled.profile:
            row["profile"] = {name: timing._asdict() for name, timing in compiled.profile.items()}
        _print_json(row)
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


def duration(seconds: float) -> str:
    """Return a time in a unit that leaves one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def _demo(args: argparse.Namespace) -> int:
    directory = demo.examples_directory()
    if directory is None:
        raise CallError("the examples are not installed", slug="examples")
    cases = demo.cases(directory)
    known = [case.name for case in cases]
    for name in args.names:
        if name not in known:
            hint = f"one of {', '.join(known)}"
            raise CallError(f"there is no example {name!r}", hint=hint, slug="examples")
    chosen = [case for case in cases if not args.names or case.name in args.names]
    toolchain = find_toolchain()
    if not args.json:
        how = "The examples run in the interpreter only: " + no_compiler_message()
        print(how if toolchain is None else f"C++ compiler: {toolchain.label}")
    reports: list[demo.Report] = []
    for case in chosen:
        report = demo.run_case(case, Path(args.output))
        reports.append(report)
        if not args.json:
            _print_report(report)
    if args.json:
        _print_json([_report_row(report) for report in reports])
    return 0 if all(report.is_good for report in reports) else 1


def _print_report(report: demo.Report) -> None:
    print(f"\n{report.name}")
    for outcome in report.outcomes:
        judged = "<=" if outcome.error <= report.bound else "EXCEEDS"
        line = f"  {outcome.target:<12} {duration(outcome.seconds):>8}"
        print(f"{line}   error {outcome.error:.1e} {judged} {report.bound:.1e}")
    print(f"  {'NumPy':<12} {duration(report.numpy_seconds):>8}   in float32")
    if report.files:
        print(f"  code in {report.files[0].parent}")
    if report.failure is not None:
        print(report.failure.render(colour=wants_colour(sys.stdout)))
    sys.stdout.flush()


def _report_row(report: demo.Report) -> dict[str, Any]:
    return {
        "name": report.name,
        "good": report.is_good,
        "bound": report.bound,
        "targets": {o.target: {"error": o.error, "seconds": o.seconds} for o in report.outcomes},
        "numpy_seconds": report.numpy_seconds,
        "files": [path.as_posix() for path in report.files],
        "failure": None if report.failure is None else report.failure.render(),
    }
