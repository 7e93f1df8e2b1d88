"""``ir.compile``: a program's texts as a folder of files, as the device's build expects them.

Runs the passes and the emitters and writes their output; decides nothing about the program.
Files appear whole: each is written under a temporary name and renamed.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from datetime import datetime
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import Any, Final

from pypto._src import knobs
from pypto._src.backend import BackendType, is_backend_configured, set_backend_type
from pypto._src.diagnostics import DiagnosticSeverity, Label, Span
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.cpp.options import DEFAULT, CppOptions
from pypto._src.emit.cpp.types import bit_cast_lines, c_type
from pypto._src.emit.host.device.generate import OrchestrationResult
from pypto._src.emit.host.device.generate import generate_orchestration as host_text
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import AssemblerError, EmitError, OutputError
from pypto._src.ir.array_types import TensorType, TileType, dtype_of
from pypto._src.ir.enums import CoreType
from pypto._src.ir.exprs import Var
from pypto._src.ir.name_rules import is_function_name
from pypto._src.ir.roles import core_type, kernels, outermost
from pypto._src.ir.serialization.serialize import serialize_to_file
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.types import ScalarType
from pypto._src.logs import log_event
from pypto._src.ops.serialized import deserialize_from_file
from pypto._src.output_folder import OutputFolder
from pypto._src.passes.pass_base import Pass, PassContext
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.sync.checker import check_sync
from pypto._src.passes.verification import VerificationLevel
from pypto._src.records import NamedTuple
from pypto._src.run.toolchain import Finished, run

ASSEMBLER: Final = "ptoas"
ASSEMBLER_TIMEOUT_S: Final = 60.0
_FOLDERS: Final = {CoreType.VECTOR: "aiv", CoreType.CUBE: "aic"}


def write_texts(
    program: Program,
    output_dir: str | os.PathLike[str] | None = None,
    strategy: OptimizationStrategy = OptimizationStrategy.Default,
    dump_passes: bool = True,
    backend_type: BackendType = BackendType.PTO,
    skip_ptoas: bool = False,
    verification_level: VerificationLevel | None = None,
    *,
    options: CppOptions = DEFAULT,
    overlap: bool = False,
) -> str:
    """Write the texts of ``program`` to a folder and return its path; see `ir.compile`.

    Raises:
        PyptoError, ValueError, RuntimeError: as for `ir.compile`.
    """
    if not is_backend_configured():
        set_backend_type(backend_type)
    for function in program.functions_:
        _check_function(function)
    folder = Path(output_dir) if output_dir is not None else new_folder(program)
    context = nullcontext() if verification_level is None else PassContext([], verification_level)
    try:
        with context:
            optional: list[Pass] = []
            if overlap:
                from pypto._src.timeline.overlap import worthwhile

                optional.append(worthwhile(program))
            passes = PassManager.get_strategy(strategy, optional)
            dumps = folder / "passes_dump"
            lowered = passes.run_passes(program, dump_ir=dump_passes, output_dir=dumps)
        if backend_type is BackendType.CCE:
            if strategy is OptimizationStrategy.PTOAS:
                _require_flags(lowered)
            files = with_room(lambda: cce_files(lowered, options), lowered)
        else:
            files = with_room(lambda: _pto_files(lowered, folder, assemble=not skip_ptoas), lowered)
        OutputFolder(folder).write(files)
    except BaseException:
        if output_dir is None:
            with suppress(OSError):
                folder.rmdir()  # fails if it has a dump
        raise
    return str(folder)


class SavedProgram(NamedTuple):
    """What the folder of a compiled program holds besides its texts."""

    program: Program
    entry: str
    fixed: Mapping[int, Any]
    """The arguments that are part of the program, by their index."""


_SAVED: Final = "program.ir"
_ENTRY: Final = "program.json"


def write_compiled(
    saved: SavedProgram,
    folder: str | os.PathLike[str] | None,
    strategy: OptimizationStrategy,
    dump_passes: bool,
    *,
    overlap: bool = False,
) -> Path:
    """Write the texts of a program, and the program itself; return the folder.

    Raises:
        PyptoError: as for `ir.compile`.
    """
    made = Path(
        write_texts(saved.program, folder, strategy, dump_passes, skip_ptoas=True, overlap=overlap)
    )
    serialize_to_file(saved.program, made / _SAVED)
    fixed = {str(index): value for index, value in saved.fixed.items()}
    facts = json.dumps({"entry": saved.entry, "fixed": fixed})
    OutputFolder(made).write({_ENTRY: f"{facts}\n"})
    return made


def read_compiled(folder: str | os.PathLike[str]) -> SavedProgram:
    """Return the program in a folder that `write_compiled` has written.

    Raises:
        OutputError: the folder is not one of these.
        SerializeError: the program is damaged.
    """
    path = Path(folder)
    try:
        facts = json.loads((path / _ENTRY).read_text(encoding="utf-8"))
        entry: str = facts["entry"]
        fixed = {int(index): value for index, value in facts["fixed"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise OutputError(
            f"{path} is not the folder of a compiled program: {error}",
            hint="pass what output_dir of a CompiledProgram is",
        ) from error
    program = deserialize_from_file(path / _SAVED)
    if not isinstance(program, Program):
        raise OutputError(f"{path / _SAVED} holds no program")
    return SavedProgram(program, entry, fixed)


def _check_function(function: Function) -> None:
    """Refuse a name that constructors accept and that cannot name a symbol or a file."""
    if not is_function_name(function.name):
        raise EmitError(
            f"the name {function.name[:60]!r} of a function is not an identifier",
            function.span,
            hint="rename the function",
            slug="emit-name",
        )


def _require_flags(program: Program) -> None:
    """Refuse kernels that leave ordering their pipes to the assembler: C++ bypasses it."""
    for found in check_sync(program):
        if found.severity is DiagnosticSeverity.Error:
            raise EmitError(
                "OptimizationStrategy.PTOAS leaves flags to the assembler, which C++ does not pass",
                found.span,
                hint="take OptimizationStrategy.Default",
                slug="strategy",
            )


_LONGEST_NAME: Final = 60  # of a program, in the name of its folder


def new_folder(program: Program) -> Path:
    """Create the folder of a compile; a second one of the same name gets a number."""
    name = re.sub(r"\W", "_", program.name[:_LONGEST_NAME]) or "program"
    wanted = folder = Path("build_output") / f"{name}_{datetime.now():%Y%m%d_%H%M%S}"
    for number in count(2):
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            folder = wanted.with_name(f"{wanted.name}_{number}")
        else:
            break
    return folder


def write_file(path: Path, text: str) -> None:
    """Write a file that a user named; readers see the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}.new")
    # File names in comments may have arbitrary bytes.
    temporary.write_bytes(text.encode(errors="surrogateescape"))
    temporary.replace(path)


def _orchestration(program: Program) -> OrchestrationResult | None:
    """Return the text of the one orchestration function, None if there is none.

    Raises:
        ValueError: there are several.
    """
    found = _orchestrations(program)
    if len(found) > 1:
        names = ", ".join(f.name for f in found)
        raise EmitError(
            f"the program has {len(found)} orchestration functions ({names}), one is allowed",
            found[1].span,
            hint="compile a program for each",
            slug="emit-orchestration",
        )
    return host_text(program, found[0]) if found else None


def _orchestrations(program: Program) -> list[Function]:
    """Return the orchestration functions that no other one calls; callees are emitted with them."""
    return list(outermost(program))


def _kernel_path(function: Function, suffix: str) -> str:
    return f"kernels/{_FOLDERS[core_type(function)]}/{function.name}{suffix}"


def cce_files(program: Program, options: CppOptions = DEFAULT) -> dict[str, str]:
    """Return the C++ files of a program after the passes, by path in the output folder."""
    files = {_kernel_path(f, ".cpp"): kernel_file(f, options=options) for f in kernels(program)}
    host = _orchestration(program)
    if host is not None:
        files |= _host_files(program, host, config=True)
    return files


def _host_files(program: Program, host: OrchestrationResult, *, config: bool) -> dict[str, str]:
    source = f"orchestration/{_orchestrations(program)[0].name}.cpp"
    files = {source: host.code}
    if config:
        files["kernel_config.py"] = kernel_config(source, host)
    return files


def kernel_config(source: str, host: OrchestrationResult) -> str:
    """Return the text of ``kernel_config.py`` for an orchestration at path ``source``."""
    lines = [
        '"""The orchestration and the kernels that it launches, for the device\'s build."""',
        "",
        "from pathlib import Path",
        "",
        "_ROOT_DIR = Path(__file__).parent",
        "",
        "RUNTIME_CONFIG = {",
        '    "runtime": "tensormap_and_ringbuffer",',
        '    "aicpu_thread_num": 4,',
        '    "block_dim": 24,',
        "}",
        "",
        "ORCHESTRATION = {",
        f'    "source": str(_ROOT_DIR / {json.dumps(source)}),',
        '    "function_name": "aicpu_orchestration_entry",',
        "}",
        "",
        "KERNELS = [",
    ]
    for name, number in sorted(host.func_name_to_id.items(), key=lambda item: item[1]):
        core = _FOLDERS[host.func_name_to_core_type[name]]
        path = f"kernels/{core}/{name}.cpp"
        lines += [
            "    {",
            f'        "func_id": {number},',
            f'        "source": str(_ROOT_DIR / {json.dumps(path)}),',
            f'        "core_type": "{core}",',
            "    },",
        ]
    return "\n".join([*lines, "]", ""])


# --------------------------------------------------------------------------------------------
# PTO and its assembler
# --------------------------------------------------------------------------------------------


class _PtoText(NamedTuple):
    """The text of one kernel."""

    function: Function
    text: str
    span_of: Callable[[int], Span]  # of a line of the text: its span in the user's source

    @staticmethod
    def of(program: Program, function: Function) -> _PtoText:
        codegen = PTOCodegen()
        text = codegen.generate(program.with_functions([function]))
        return _PtoText(function, text, codegen.span_of)


def _pto_files(program: Program, folder: Path, *, assemble: bool) -> dict[str, str]:
    texts = [_PtoText.of(program, function) for function in kernels(program)]
    files = {_kernel_path(each.function, ".pto"): each.text for each in texts}
    host = _orchestration(program)
    assembler = find_assembler() if assemble else None
    if assemble and assembler is None:
        log_event(
            f"no PTO assembler was found: the .pto files in {folder / 'kernels'} are not "
            "assembled; set PTOAS to the path of ptoas, or pass skip_ptoas=True"
        )
    if assembler is not None:
        for each in texts:
            files |= _assembled(assembler, each, folder)
    if host is not None:
        files |= _host_files(program, host, config=assembler is not None)
    return files


def find_assembler() -> str | None:
    """Return the path of the PTO assembler, None if this machine has none.

    ``PTOAS`` alone decides if it is set; else ``PTOAS_ROOT``, else PATH.
    """
    given = knobs.PTOAS.get()
    if given is not None:
        return shutil.which(given)
    root = knobs.PTOAS_ROOT.get()
    if root is not None:
        places = (Path(root) / "bin" / ASSEMBLER, Path(root) / ASSEMBLER)
        return next((found for location in places if (found := shutil.which(location))), None)
    return shutil.which(ASSEMBLER)


def _assembled(assembler: str, kernel: _PtoText, folder: Path) -> dict[str, str]:
    name = f"ptoas/{kernel.function.name}.pto"
    source = folder / name
    output = source.with_suffix(".cpp")
    OutputFolder(folder).write({name: kernel.text})
    # The first line of the text holds the options for it.
    options = shlex.split(kernel.text.partition("\n")[0].removeprefix(f"// {ASSEMBLER}"))
    command = [assembler, str(source), "-o", str(output), *options]
    try:
        done = run(command, timeout_s=ASSEMBLER_TIMEOUT_S)
    except OSError as error:
        raise AssemblerError(
            f"{assembler} cannot be started: {error.strerror or error}",
            hint="set PTOAS to the path of ptoas, or pass skip_ptoas=True",
        ) from None
    if done.code is None:
        raise AssemblerError(
            f"{ASSEMBLER} takes more than {ASSEMBLER_TIMEOUT_S:.0f} s on {source}",
            kernel.function.span,
        )
    if done.code != 0 or not output.exists():
        raise _refused(kernel, source, done)
    wrapped = wrap_assembled(kernel.function, output.read_text(encoding="utf-8"))
    return {_kernel_path(kernel.function, ".cpp"): wrapped}


_REFUSAL: Final = re.compile(
    r"(?:loc\()?\"?(?P<file>[^\":]+)\"?:(?P<line>\d+):(?P<column>\d+)\)?: error: (?P<text>.*)"
)
"""The form of locations in the assembler's output: ``loc("add.pto":12:5): error: ...``."""
_MOST_REFUSALS: Final = 20


def _refused(kernel: _PtoText, source: Path, done: Finished) -> AssemblerError:
    """Return the assembler's errors, located in the user's source."""
    lines = [line for line in done.stderr.splitlines() if "error" in line.lower()]
    found = [match for line in lines if (match := _REFUSAL.search(line))]
    labels = [Label(_span(kernel, source, match), match["text"]) for match in found]
    labels = [label for label in labels if label.span.begin_line > 0][:_MOST_REFUSALS]
    if not lines:  # it crashed
        lines = [f"it ends with code {done.code} and says nothing"]
    return AssemblerError(
        "\n".join([f"{ASSEMBLER} refuses {source}", *lines[:_MOST_REFUSALS]]),
        labels[0].span if labels else kernel.function.span,
        hint=f"pypto verify {source}",
        label=labels[0].text if labels else "",
        related=labels[1:],
    )


def _span(kernel: _PtoText, source: Path, match: re.Match[str]) -> Span:
    line = int(match["line"])
    if Path(match["file"]).name == source.name:
        return kernel.span_of(line)
    return Span(match["file"], line, max(int(match["column"]) - 1, 0))


def wrap_assembled(function: Function, text: str) -> str:
    """Return the assembler's C++ with the entry point that the device's build expects."""
    inner = re.sub(
        rf"__global__\s+AICORE\s+void\s+{re.escape(function.name)}\b",
        f"static __aicore__ void {function.name}",
        text,
    )
    lines: list[str] = []
    passed: list[str] = []
    for index, param in enumerate(function.params):
        kind = c_type(dtype_of(param))
        word = f"args[{index}]"
        if isinstance(param.type, TensorType):
            passed.append(f"reinterpret_cast<__gm__ {kind}*>({word})")
        else:
            assert isinstance(param.type, ScalarType)
            lines += bit_cast_lines(f"arg{index}", param.type.dtype, word)
            passed.append(f"arg{index}")
    symbolic = enumerate(dimension_vars(function), len(function.params))
    passed += [f"args[{index}]" for index, _ in symbolic]
    call = f"{function.name}({', '.join(passed)});"
    return "\n".join(
        [
            "#include <cstdint>",
            "",
            inner.rstrip("\n"),
            "",
            'extern "C" __aicore__ void kernel_entry(__gm__ int64_t* args)',
            "{",
            *(f"    {line}" for line in (*lines, call)),
            "}",
            "",
        ]
    )


# --------------------------------------------------------------------------------------------
# The emitters by the names in the user's documents
# --------------------------------------------------------------------------------------------


class CCECodegen:
    """Writes a program as C++ files."""

    def __init__(self, options: CppOptions = DEFAULT) -> None:
        self.options = options

    def generate(self, program: Program) -> Mapping[str, str]:
        """Return the texts by path: kernels, orchestration and ``kernel_config.py``.

        A program as it was parsed goes through the default passes first.

        Raises:
            PyptoError: a pass refuses the program.
            EmitError: the program has a part without C++ form, several orchestrations, or nothing
                to write.
        """
        lowered = _after_passes(program)
        files = cce_files(lowered, self.options)
        if not files:
            raise _nothing_to_write(lowered)
        return files


def generate_orchestration(program: Program, func: Function) -> OrchestrationResult:
    """Return the C++ text of host function ``func`` of ``program``.

    A program as it was parsed goes through the default passes first.

    Raises:
        PyptoError: a pass refuses the program.
        EmitError: ``func`` is a kernel, or has a part that the runtime's interface cannot express.
    """
    lowered = _after_passes(program)
    return host_text(lowered, lowered.get_function(func.name) or func)


def write_pto(
    program: Program, output_dir: str | os.PathLike[str], skip_ptoas: bool = False
) -> dict[str, str]:
    """Write the PTO texts of ``program`` to a folder, as `compile` does; return them by path.

    A program as it was parsed goes through the default passes first.

    Raises:
        PyptoError: a pass or the emitter refuses the program.
        OutputError: the files cannot be written; then none of them is.
        AssemblerError: the assembler refuses a kernel.
    """
    lowered = _after_passes(program)
    folder = Path(output_dir)
    files = with_room(lambda: _pto_files(lowered, folder, assemble=not skip_ptoas), lowered)
    OutputFolder(folder).write(files)
    return files


def _after_passes(program: Program) -> Program:
    """Return the program after the default passes; itself if its kernels have buffers.

    Only passes assign buffers.
    """
    variables = (node for f in kernels(program) for node in walk(f) if isinstance(node, Var))
    if any(isinstance(var.type, TileType) and var.type.memref is not None for var in variables):
        return program
    return PassManager.get_strategy(OptimizationStrategy.Default).run_passes(program)


def _nothing_to_write(program: Program) -> EmitError:
    """Return the error for a program without kernels and without functions that launch any."""
    if not program.functions_:
        return EmitError("the program has no function")
    function = program.functions_[0]
    return EmitError(
        f"there is no file to write: {function.name!r} is not a kernel and launches none",
        function.span,
        hint="mark it with @pl.function(type=pl.FunctionType.InCore), "
        "or compute in `with pl.incore():`",
        slug="emit-kernel",
    )
