"""A compiled program as a folder: ``ir.compile``, which writes it, and functions that run it.

Combines writing texts and running on this machine; does neither itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.backend import BackendType
from pypto._src.build_output import write_texts
from pypto._src.driver import CompiledProgram
from pypto._src.driver import compile_program as compile_here
from pypto._src.emit.cpp.options import DEFAULT, CppOptions
from pypto._src.errors import CallError, of_type
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_base import PassContext
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.passes.verification import VerificationLevel
from pypto._src.run.config import RunConfig, check_runs_here
from pypto._src.usage_errors import check_kind, not_a_program

if TYPE_CHECKING:
    from pypto._src.jit.host import HostProgram


class CompiledFolder(str):
    """The path of the folder of a compiled program, and the program: calling it runs it here.

    As a string it is the path. It has all attributes of a `CompiledProgram`, too: ``param_names``,
    ``platform``, ``compiled["name"]``. The program is compiled for this machine on first use.
    """

    __slots__ = ("_compiled", "_config", "_overlap", "_program", "_strategy")

    def __new__(
        cls,
        path: str,
        program: Program,
        config: RunConfig,
        strategy: OptimizationStrategy,
        *,
        overlap: bool,
    ) -> CompiledFolder:
        """Return the path, with the program to run."""
        made = super().__new__(cls, path)
        made._program, made._config = program, config
        made._strategy, made._overlap = strategy, overlap
        made._compiled = None
        return made

    _program: Program
    _config: RunConfig
    _strategy: OptimizationStrategy
    _overlap: bool
    _compiled: CompiledProgram | None

    @property
    def compiled(self) -> CompiledProgram:
        """The program, compiled for this machine.

        Raises:
            PyptoError: what passes, emitters and compiler report about the program.
        """
        if self._compiled is None:
            made = compile_here(self._program, strategy=self._strategy, overlap=self._overlap)
            made.use_folder(str(self), self._config)
            self._compiled = made
        return self._compiled

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program on arrays; see `CompiledProgram`.

        Raises:
            CallError: the program was compiled for a device, or the arguments do not fit.
        """
        check_runs_here(self._config)
        return self.compiled(*args, **named)

    def __getattr__(self, name: str) -> Any:
        """Return the program's attribute of that name."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.compiled, name)

    def __getitem__(self, key: Any) -> Any:
        """Return the program with another function as its entry; a part of the path by number."""
        return self.compiled[key] if isinstance(key, str) else super().__getitem__(key)


def compile(  # noqa: A001  the name in the user's documents
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
    platform: str = "a2a3sim",
    profiling: bool = False,
    distributed_config: Any = None,
    memory_planner: Any = None,
    diagnostic_phase: Any = None,
    disabled_diagnostics: Any = None,
    enable_pypto_l0c_double_buffer: bool | None = None,
    analyze_auto_scopes_for_deps: bool = False,
    emit_source_loc: bool | None = None,
    dump_ptoas_passes: bool = False,
    runtime: str | None = None,
) -> CompiledFolder:
    """Write the texts of ``program`` to a folder and return its path, which runs when called.

    The folder is ``output_dir``, else a new ``build_output/<program>_<date>_<time>``. It gets, for
    each kernel on a vector (aiv) or matrix (aic) core, ``kernels/aiv/<name>.cpp`` or ``.pto``; with
    an orchestration function ``orchestration/<name>.cpp`` and, when the kernels are C++,
    ``kernel_config.py``; and ``passes_dump/`` with the program after each pass.

    With `BackendType.PTO` the assembler turns each ``.pto`` file into C++, unless ``skip_ptoas``.
    Without an assembler the ``.pto`` files stay as they are and a warning is logged.
    ``options`` are additions to the C++ that `BackendType.CCE` writes. With ``overlap`` loads of
    one iteration of a loop overlap with the work of another, in kernels that are faster for it.
    ``platform`` is what a call runs on; the other keywords control the device's build and are kept
    in the program's `RunConfig`, or have no effect here.

    Raises:
        PyptoError: a pass or an emitter refuses the program.
        EmitError: C++ of a kernel would have no flags, since ``strategy`` leaves them out; or the
            name of a function is not an identifier.
        OutputError: the files cannot be written; then none of them is, except ``passes_dump/``.
        ValueError: the program has several orchestration functions, or there is no such platform.
        RuntimeError: ``verification_level`` inside a `PassContext`, which has its own.
        AssemblerError: the assembler refuses a kernel; the error is at the kernel's own line.
    """
    if verification_level is not None and PassContext.current() is not None:
        raise RuntimeError(
            "verification_level is given inside a PassContext: set it there, "
            "PassContext(instruments, verification_level)"
        )
    if not isinstance(backend_type, BackendType):  # pyright: ignore[reportUnnecessaryIsInstance]
        names = ", ".join(str(known) for known in BackendType)
        raise ValueError(f"backend_type is {backend_type!r}; it is one of {names}")
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise not_a_program(program, "ir.compile", frame)
    check_kind("dump_passes", dump_passes, bool, "dump_passes=False", frame)
    check_kind("overlap", overlap, bool, "overlap=True", frame)
    check_kind("skip_ptoas", skip_ptoas, bool, "skip_ptoas=True", frame)
    del enable_pypto_l0c_double_buffer, emit_source_loc, runtime
    config = RunConfig(
        platform=platform,
        backend_type=backend_type,
        compile_profiling=profiling,
        distributed_config=distributed_config,
        memory_planner=memory_planner,
        diagnostic_phase=diagnostic_phase,
        disabled_diagnostics=disabled_diagnostics,
        analyze_auto_scopes_for_deps=analyze_auto_scopes_for_deps,
        dump_ptoas_passes=dump_ptoas_passes,
    )
    path = write_texts(
        program,
        output_dir,
        strategy,
        dump_passes,
        backend_type,
        skip_ptoas,
        verification_level,
        options=options,
        overlap=overlap,
    )
    return CompiledFolder(path, program, config, strategy, overlap=overlap)


def compile_program(
    program: Program,
    work_dir: str | os.PathLike[str] | None = None,
    *,
    strategy: OptimizationStrategy = OptimizationStrategy.Default,
    dump_passes: bool = False,
    platform: str = "a2a3sim",
    backend_type: BackendType = BackendType.PTO,
) -> CompiledProgram:
    """Return a program compiled for this machine whose texts for the device are in ``work_dir``.

    The texts are written now, to a new folder below ``build_output`` if there is no ``work_dir``;
    `CompiledProgram.output_dir` is the folder. `runtime.compile` writes them only on request.

    Raises:
        PyptoError: what passes, emitters and compiler report about the program.
        ValueError: there is no such platform.
    """
    config = RunConfig(
        platform=platform,
        backend_type=backend_type,
        dump_passes=dump_passes,
        save_kernels_dir=None if work_dir is None else os.fspath(work_dir),
    )
    made = compile_here(program, strategy=strategy).with_config(config)
    _ = made.output_dir
    return made


def execute_compiled(
    program: CompiledProgram | str | os.PathLike[str],
    args: Sequence[Any],
    *,
    platform: str = "a2a3sim",
    device_id: int = 0,
) -> Any:
    """Run a compiled program, or the one in a folder, on ``args``; return its result.

    Args:
        program: The result of compiling, or its ``output_dir``.
        args: Arrays and numbers, in the order of the parameters; outputs are written in place.
        platform: ``a2a3sim``, which is this machine.
        device_id: Accepted; it has no effect here.

    Raises:
        CallError: the platform is a device, or the arguments do not fit.
        OutputError: the folder is not that of a compiled program.
    """
    check_runs_here(RunConfig(platform=platform, device_id=device_id))
    if isinstance(program, CompiledProgram):
        return program(*args)
    if isinstance(program, CompiledFolder):
        return program.compiled(*args)
    return CompiledProgram.from_dir(program)(*args)


def execute_distributed_compiled(
    program: HostProgram,
    args: Sequence[Any],
    *,
    config: RunConfig | None = None,
    named: Mapping[str, Any] | None = None,
) -> Any:
    """Run a compiled `pl.jit.host` function on ``args``; return its result.

    ``config`` names the devices, if they differ from those at ``compile``.

    Raises:
        CallError: the program is for a single device, or the arguments do not fit.
    """
    if isinstance(program, CompiledProgram | str):
        raise CallError(
            "execute_distributed_compiled runs what compiling a @pl.jit.host function returned, "
            f"got {of_type(program)} of one device",
            hint="execute_compiled(compiled, args)",
            slug="argument-kind",
        )
    words = dict(named or {})
    return program(*args, **(words if config is None else {**words, "config": config}))
