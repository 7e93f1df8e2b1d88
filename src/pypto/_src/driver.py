"""From a program to a callable: passes, C++, compiler, host functions.

Ties the parts together and decides nothing that one of them could decide.
"""

from __future__ import annotations

import copy
import os
import sys
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Literal

from pypto._src.backend import BackendType
from pypto._src.diagnostics import span_of_caller, span_of_frame, spelled_like
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.cpp.options import DEFAULT, CppOptions
from pypto._src.emit.host.native.generate import HostText, host_text
from pypto._src.emit.writer import source_comment
from pypto._src.errors import CallError, EmitError, of_type
from pypto._src.interp.evaluate import Evaluator
from pypto._src.interp.pipe_interpreter import ORDERS, OrderName, StrictEvaluator
from pypto._src.ir.roles import Role, outermost, role, uncalled
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.traversal.queries import functions_called
from pypto._src.ir.traversal.recursion import with_room
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.logs import log_event
from pypto._src.passes.memory.memory_plan import MemoryPlan
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.ranks import current as current_rank
from pypto._src.run.access_location import span_of_access
from pypto._src.run.arguments.array_views import is_array
from pypto._src.run.arguments.signature import Additions, Bound, Signature
from pypto._src.run.compiled_kernels import compile_kernels
from pypto._src.run.effects import effects
from pypto._src.run.kernels import Kernel, KernelSignature
from pypto._src.run.memory_needs import MemoryNeed, MemoryNeeds
from pypto._src.run.native import INCLUDE, KernelError
from pypto._src.run.profile import Profile, Timing
from pypto._src.run.scheduler import NativeHost, Usage
from pypto._src.run.toolchain import Toolchain, find_toolchain, no_compiler_message
from pypto._src.usage_errors import check_kind, not_a_program

if TYPE_CHECKING:
    from pypto._src.run.config import RunConfig

TargetName = Literal["cpu", "interpreter"]
TARGETS: Final[tuple[TargetName, ...]] = ("cpu", "interpreter")


class CompiledProgram:
    """A program that runs when called with arrays and numbers, in the order of its parameters.

    Tensors are used in place and never copied: NumPy arrays, or anything that NumPy can view
    through DLPack. The call returns what the entry function returns: a tensor that is a parameter
    comes back as the same object that was passed.
    """

    def __init__(
        self,
        program: Program,
        function: Function,
        target: TargetName,
        sources: Mapping[str, str],
        signature: Signature,
        run: Callable[[Bound], Any],
        profile: Profile | None = None,
    ) -> None:
        self.program = program
        """The program that runs: after the passes on the CPU, as given in the interpreter."""
        self.entry = function.name
        """Name of the function that a call runs."""
        self.target: TargetName = target
        """``cpu`` or ``interpreter``; the latter also where no compiler was found."""
        self.source = program
        """The program before the passes."""
        self.sources = dict(sources)
        """The C++ that was compiled, by kernel."""
        self.fixed: Mapping[int, Any] = {}
        """The arguments whose values the program was compiled for, by their index."""
        self._strategy = OptimizationStrategy.Default
        self._overlap = False
        self._config: RunConfig | None = None
        self._configured: list[CompiledProgram] = []
        self._output_dir: Path | None = None
        self._signature = signature
        self._run = run
        self._profile = profile
        self._host: NativeHost | None = None
        self._needs: MemoryNeeds | None = None

    @property
    def signature(self) -> str:
        """The entry with its parameters, as text."""
        return str(self._signature)

    @property
    def param_names(self) -> list[str]:
        """The names of the parameters, in order."""
        return self._signature.names

    @property
    def output_indices(self) -> list[int]:
        """Which of the parameters a call writes."""
        return [self.param_names.index(name) for name in self.written]

    @property
    def has_return(self) -> bool:
        """True if a call returns something."""
        function = self.program.get_function(self.entry)
        return function is not None and bool(function.return_types)

    @property
    def orchestration_names(self) -> list[str]:
        """The names of the functions that launch kernels and that no other one calls."""
        return [f.name for f in outermost(self.program)]

    @property
    def platform(self) -> str:
        """The name of the platform: ``a2a3sim``, this machine, by default."""
        return self.runtime_config.platform

    @property
    def runtime_config(self) -> RunConfig:
        """The requested configuration for compiling and running the program."""
        if self._config is None:
            from pypto._src.run.config import RunConfig

            self._config = RunConfig()
        return self._config

    @property
    def runtime_name(self) -> str:
        """The runtime that the host text for the device is written for."""
        return "tensormap_and_ringbuffer"

    @property
    def backend_type(self) -> BackendType:
        """The chip that the texts are for."""
        return BackendType.Ascend910B

    @property
    def output_dir(self) -> Path:
        """A folder with the texts for the device, which are written on first access.

        Raises:
            PyptoError: an emitter refuses the program.
            OutputError: the files cannot be written.
        """
        if self._output_dir is None:
            from pypto._src.build_output import SavedProgram, write_compiled

            config = self.runtime_config
            saved = SavedProgram(self.source, self.entry, self.fixed)
            folder = config.save_kernels_dir
            self._output_dir = write_compiled(
                saved, folder, self._strategy, config.dump_passes, overlap=self._overlap
            )
        return self._output_dir

    @classmethod
    def from_dir(cls, path: str | os.PathLike[str]) -> CompiledProgram:
        """Return the program whose `output_dir` is ``path``, compiled for this machine.

        Raises:
            OutputError: the folder is not that of a compiled program.
            SerializeError: its program is damaged.
        """
        from pypto._src.build_output import read_compiled

        saved = read_compiled(path)
        made = compile_program(saved.program, entry=saved.entry)
        made.fixed, made._output_dir = saved.fixed, Path(path)
        return made

    load = from_dir

    def use_folder(self, path: str | os.PathLike[str], config: RunConfig) -> None:
        """Use a folder that already has the program's texts, and their configuration."""
        self._output_dir, self._config = Path(path), config

    def with_config(self, config: RunConfig) -> CompiledProgram:
        """Return the same program for another platform, strategy or folder of its texts."""
        if config == self.runtime_config:
            return self
        for made in self._configured:
            if made.runtime_config == config:
                return made
        strategy = config.strategy or self._strategy
        overlap = self._overlap if config.overlap is None else config.overlap
        if strategy is self._strategy and overlap == self._overlap:
            made = copy.copy(self)
        else:
            entry, source = self.entry, self.source
            made = compile_program(
                source, self.target, entry=entry, strategy=strategy, overlap=overlap
            )
            made.fixed = self.fixed
        made._config, made._configured, made._output_dir = config, [], None
        self._configured = [*self._configured[-_MAX_CONFIGURED:], made]
        return made

    def prepare(self) -> None:
        """Write the texts that the configuration asks for, and check that it can run here.

        Raises:
            CallError: the configuration names a device.
        """
        config = self._config
        if config is None:
            return
        from pypto._src.run.config import check_runs_here

        if config.dump_passes or config.save_kernels or config.save_kernels_dir is not None:
            _ = self.output_dir
        check_runs_here(config)

    def __getitem__(self, name: str) -> CompiledProgram:
        """Return the program with another function as its entry.

        Raises:
            CallError: there is no such function.
        """
        if name == self.entry:
            return self
        return compile_program(self.source, self.target, entry=name, overlap=self._overlap)

    @property
    def written(self) -> list[str]:
        """The names of the parameters that a call writes."""
        return self._signature.written

    def random_arguments(
        self, seed: int = 0, sizes: Mapping[str, int] | None = None
    ) -> dict[str, Any]:
        """Return arguments by name: results zero, other floats in [-1, 1), other integers small.

        Args:
            seed: The seed of the random numbers.
            sizes: The sizes of symbolic dimensions, by name; also integer arguments that are
                not to be 1.

        Raises:
            CallError: a dimension has no size or no name, a name in ``sizes`` is unknown, or a
                size or ``seed`` is negative or not an integer.
        """
        try:
            return random_arguments(self, seed, sizes or {})
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program to its end; arguments are given in order, or by the parameters' names.

        A call may leave out all outputs whose sizes are numbers or named dimensions of the other
        arguments; it then makes new arrays for them, and returns these if the program returns
        nothing.
        ``config=RunConfig(...)`` says how, and which texts are written first.

        Raises:
            CallError: the arguments do not fit the parameters.
            EvaluationError: the program does something that has no meaning.
        """
        try:
            program = self
            if "config" in named and "config" not in self.param_names:
                program = configured(self, named.pop("config"), sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            program.prepare()
            given, new = self._signature.completed(args, named)
            for index, number in self.fixed.items():
                self._signature.check_fixed(given, index, number)
            found = program.run(given)
            if found is None and new:
                return new[0] if len(new) == 1 else tuple(new)
            return found
        except (CallError, KernelError) as error:
            error.at(span_of_caller(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def run(self, args: Sequence[Any]) -> Any:
        """Run the program on a sequence of arguments; errors do not locate the call."""
        bound = self._signature.bind(args)
        if self._config is not None and self._config.check_blocks and current_rank() is None:
            from pypto._src.interp.block_orders import check_blocks

            check_blocks(self.source, self.entry, bound.values)
        found = self._run(bound)
        if found is None:
            return None
        if not isinstance(found, tuple):
            return _as_given(found, bound.values, args)
        return tuple([_as_given(item, bound.values, args) for item in found])  # pyright: ignore[reportUnknownVariableType]

    @property
    def profile(self) -> Mapping[str, Timing]:
        """Calls and seconds of each kernel so far; empty without ``CppOptions(profile=True)``."""
        return {} if self._profile is None else self._profile.timings()

    @property
    def memory(self) -> Usage:
        """The resources that the last call used on this machine: tasks, and bytes of tensors.

        ``peak_bytes`` is the peak of tensors that the program made; each is freed when its last
        task is done. All is 0 before the first call, and for one kernel called alone or by the
        interpreter.
        """
        return Usage(0, 0, 0) if self._host is None else self._host.usage

    def memory_needed(self, *args: Any, **named: Any) -> MemoryNeed:
        """Return the least memory that a call with these arguments needs for tensors that it makes.

        Sizes that only a run can tell count as nothing. A call that needs more than the machine has
        left is refused with `MemoryError`, before anything runs.

        Raises:
            CallError: the arguments do not fit the parameters.
        """
        if self._needs is None:
            return MemoryNeed(0, ())
        given = self._signature.arranged(args, named) if named else args
        return self._needs.of(self._signature.bind(given).values)

    @property
    def memory_plan(self) -> MemoryPlan:
        """The on-chip bytes of each tile of the kernels, and its lifetime.

        Raises:
            PyptoError: what the passes report, where they have not run before.
        """
        program = self.program
        if self.target == "interpreter":
            manager = pass_manager(program, OptimizationStrategy.Default, overlap=self._overlap)
            program = manager.run_passes(program)
        return MemoryPlan.of(program)

    def prepared(self, args: Sequence[Any]) -> Callable[[], Any]:
        """Return a function that runs the program on these arguments, which are checked only here.

        Raises:
            CallError: the arguments do not fit the parameters.
        """
        bound = self._signature.bind(args)
        return lambda: self._run(bound)

    def __repr__(self) -> str:
        return f"<CompiledProgram {self.signature} on {self.target}>"


_MAX_CONFIGURED: Final = 7
"""How many other configurations of a program are kept."""


def configured(program: CompiledProgram, config: Any, frame: FrameType) -> CompiledProgram:
    """Return a program configured by the ``config=`` of a call in ``frame``.

    Raises:
        CallError: ``config`` is not a `RunConfig`.
    """
    if config is None:
        return program
    from pypto._src.run.config import RunConfig

    check_kind("config", config, RunConfig, "write config=RunConfig()", frame)
    return program.with_config(config)


def random_arguments(
    compiled: CompiledProgram, seed: int, sizes: Mapping[str, int]
) -> dict[str, Any]:
    """Return the result of the method of that name; errors do not locate the call."""
    return compiled._signature.random(seed, sizes)  # pyright: ignore[reportPrivateUsage]


def _as_given(result: Any, values: Sequence[Any], args: Sequence[Any]) -> Any:
    if is_array(result):
        for value, arg in zip(values, args, strict=True):
            if result is value:
                return arg
    return result


def compile_program(
    program: Program | Function,
    target: TargetName = "cpu",
    *,
    entry: str | None = None,
    strategy: OptimizationStrategy = OptimizationStrategy.Default,
    options: CppOptions = DEFAULT,
    strict: OrderName | bool = False,
    seed: int = 0,
    overlap: bool = False,
) -> CompiledProgram:
    """Return a program ready to be called on this machine.

    Args:
        program: A program, or one function.
        target: ``cpu`` compiles the kernels with the C++ compiler found here; without one it warns
            and continues as ``interpreter``, which evaluates the program on NumPy.
        entry: The function that a call runs. If None: the only orchestration function that no
            other one calls, else the program's own entry, else its only function that no
            other one calls.
        strategy: The passes that run first, for ``cpu``.
        options: Additions to the C++ of the kernels, for ``cpu``: `CppOptions`.
        strict: For ``interpreter``: run the kernels after the passes as the pipes of a core do,
            with every race, uninitialized byte and wrong flag an error (docs/synchronisation.md).
            ``late`` (or True): all work starts as early and completes as late as it may;
            ``random``: any order, given by ``seed``; ``exhaustive``: all orders.
        seed: The seed for ``strict="random"``.
        overlap: Let loads of one iteration of a loop overlap with the work of another, in kernels
            that are faster for it (docs/profiling.md).

    Raises:
        PyptoError: what passes, emitters and compiler report about the program.
        ValueError: ``target`` or ``entry`` does not exist.
    """
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    if not isinstance(program, Program | Function):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise not_a_program(program, "runtime.compile", frame)
    if not isinstance(options, CppOptions):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CallError(
            f"options is {of_type(options)}, CppOptions was wanted",
            span_of_frame(frame),
            hint="options=CppOptions(profile=True)",
            slug="argument-kind",
        )
    check_target(target)
    check_strategy(strategy, frame)
    check_kind("seed", seed, int, "seed=0", frame)
    check_kind("overlap", overlap, bool, "overlap=True", frame)
    if entry is not None:
        check_kind("entry", entry, str, 'entry="kernel"', frame)
    if strict not in (*ORDERS, True, False):
        raise ValueError(f"strict is {strict!r}; it is a bool or one of {', '.join(ORDERS)}")
    if strict and target != "interpreter":
        raise ValueError(f"strict={strict!r} goes with target='interpreter'")
    whole = Program([program], program.name) if isinstance(program, Function) else program
    name = entry_function(whole, entry).name
    toolchain = find_toolchain() if target == "cpu" else None
    manager = pass_manager(whole, strategy, overlap=overlap)
    if toolchain is not None:
        made = with_room(lambda: _for_cpu(whole, name, toolchain, manager, options), whole)
        made.source = whole
        made._strategy, made._overlap = strategy, overlap  # pyright: ignore[reportPrivateUsage]
        return made
    if target == "cpu":
        warnings.warn(
            f"the program runs in the interpreter, which is slower: {no_compiler_message()}",
            RuntimeWarning,
            stacklevel=2,
        )
    given = len(entry_function(whole, name).params)
    source = whole
    if strict:
        whole = manager.run_passes(whole)
        order = "late" if strict is True else strict
        evaluator = StrictEvaluator(whole, order, seed)
    else:
        evaluator = Evaluator(whole)
    made = with_room(lambda: _for_interpreter(whole, name, given, evaluator), whole)
    made.source = source
    made._strategy, made._overlap = strategy, overlap  # pyright: ignore[reportPrivateUsage]
    return made


def pto_isa_include_dir() -> str:
    """Return the folder with this machine's headers of the tile library."""
    return str(INCLUDE)


def ensure_pto_isa_root() -> str:
    """Return the folder whose ``include`` has the headers; nothing has to be downloaded."""
    return str(INCLUDE.parent)


def pass_manager(program: Program, strategy: OptimizationStrategy, *, overlap: bool) -> PassManager:
    """Return the passes for a program; with ``overlap``, also those that let its loops overlap."""
    return PassManager(strategy, optional=overlap_passes(program) if overlap else ())


def overlap_passes(program: Program) -> list[Pass]:
    """Return the optional passes that let loops overlap in kernels that are faster for it."""
    from pypto._src.timeline.overlap import worthwhile

    return [worthwhile(program)]


def compile_for_evaluator(
    program: Program,
    entry: str | None,
    make: Callable[[Program], Evaluator],
    *,
    overlap: bool = False,
    optional: Sequence[Pass] = (),
) -> CompiledProgram:
    """Compile a program for another evaluator of programs after the passes, which ``make`` creates.

    ``optional`` are further passes, as in `PassManager`; with ``overlap`` `overlap_passes` follow.
    """
    name = entry_function(program, entry).name
    given = len(entry_function(program, name).params)
    passes = [*optional, *(overlap_passes(program) if overlap else ())]
    manager = PassManager(OptimizationStrategy.Default, passes)
    lowered = manager.run_passes(program)
    return with_room(lambda: _for_interpreter(lowered, name, given, make(lowered), make), lowered)


def check_strategy(strategy: OptimizationStrategy, frame: FrameType) -> None:
    """Raise CallError if a strategy, given in ``frame``, is not one."""
    hint = f"strategy={OptimizationStrategy.Default}"
    check_kind("strategy", strategy, OptimizationStrategy, hint, frame)


def check_target(target: str) -> None:
    """Raise ValueError for a target that does not exist."""
    if target not in TARGETS:
        raise ValueError(f"target is {target!r}; it is one of {', '.join(TARGETS)}")


def entry_function(program: Program, name: str | None = None) -> Function:
    """Return the function that a call of ``program`` runs; see `compile_program`.

    Raises:
        CallError: there is no such function, or several could be meant.
    """
    functions = program.functions_
    names = ", ".join(f.name for f in functions)
    wanted = name if name is not None else _marked(program)
    if wanted is None:
        for candidates in (functions, uncalled(program)):
            if len(candidates) == 1:
                return candidates[0]
    found = None if wanted is None else program.get_function(wanted)
    if found is not None:
        return found
    if wanted is not None:
        message = f"the program has no function {wanted!r}; it has {names}"
        near = spelled_like(wanted, [f.name for f in functions])
        hint = f"entry={(near or functions[0].name)!r}" if near or len(functions) == 1 else None
    elif not functions:
        message, hint = "the program has no functions", None
    else:
        message = f"the program has several functions and none is its entry: {names}"
        hint = f"entry={functions[0].name!r}"
    raise CallError(message, hint=hint, slug="entry")


def _marked(program: Program) -> str | None:
    hosts = outermost(program)
    return hosts[0].name if len(hosts) == 1 else program.entry


def _for_interpreter(
    program: Program,
    name: str,
    given: int,
    evaluator: Evaluator,
    of_rank: Callable[[Program], Evaluator] = Evaluator,
) -> CompiledProgram:
    verifier = IRVerifier()
    verifier.enable_rule("TypeCheck")
    verifier.verify_or_throw(program)
    function = entry_function(program, name)
    signature = Signature(function, effects(program)[name].writes, given)
    additions = Additions(function, given)
    lock = threading.Lock()
    ranks: dict[int, Evaluator] = {}

    def run(bound: Bound) -> Any:
        whole = additions.complete(bound) if additions else bound
        rank = current_rank()
        if rank is not None:  # the others wait for it, and have evaluators of their own
            if rank.number not in ranks:
                ranks[rank.number] = of_rank(program)
            own = ranks[rank.number]
            return own.call(name, whole.values)
        with lock:
            return evaluator.call(name, whole.values)

    return CompiledProgram(program, function, "interpreter", {}, signature, run)


def _for_cpu(
    program: Program,
    name: str,
    toolchain: Toolchain,
    manager: PassManager,
    options: CppOptions,
) -> CompiledProgram:
    lowered = manager.run_passes(program)
    function = entry_function(lowered, name)
    found = effects(lowered)
    given = len(entry_function(program, name).params)
    signature = Signature(function, found[name].writes, given)
    functions = kernels_of(lowered, function)
    sources = {kernel.name: kernel_file(kernel, options=options) for kernel in functions}
    signatures = {kernel.name: KernelSignature(kernel, found[kernel.name]) for kernel in functions}
    text = None
    if name not in signatures:
        text = _host_text(lowered, function, signatures)
        if text is None:
            return _for_interpreter(program, name, given, Evaluator(program))
    launchers = compile_kernels(functions, sources, toolchain)
    profile = Profile(signatures) if options.profile else None
    kernels = {
        name: Kernel(signatures[name], made, profile.address(name) if profile else 0, names)
        for name, (made, names) in launchers.items()
    }
    if text is not None:
        host = NativeHost(function, text, kernels, toolchain=toolchain, include_dirs=[INCLUDE])
        needs = MemoryNeeds(function, lowered)

        def checked(bound: Bound) -> Any:
            needs.check(bound.values)
            return host.launch(bound)

        run = host.launch if needs.are_small else checked
        made = CompiledProgram(lowered, function, "cpu", sources, signature, run, profile)
        made._host, made._needs = host, needs  # pyright: ignore[reportPrivateUsage]
        return made
    run = _kernel_run(kernels[name], function, Additions(function, given))
    return CompiledProgram(lowered, function, "cpu", sources, signature, run, profile)


def kernels_of(program: Program, entry: Function) -> list[Function]:
    """Return the kernels that a call of ``entry`` may launch, in name order."""
    by_name = {f.name: f for f in program.functions_}
    reached: dict[str, Function] = {entry.name: entry}
    pending = [entry]
    while pending:
        function = pending.pop()
        if role(function) is Role.KERNEL:
            continue  # its calls are inlined
        for callee in functions_called(function):
            if callee in by_name and callee not in reached:
                reached[callee] = by_name[callee]
                pending.append(by_name[callee])
    return [f for _, f in sorted(reached.items()) if role(f) is Role.KERNEL]


def _kernel_run(kernel: Kernel, function: Function, additions: Additions) -> Callable[[Bound], Any]:
    """Return a function that runs a kernel without a host function, in the calling thread."""
    launcher, results, sizes = kernel.launcher, kernel.signature.results, kernel.signature.sizes
    counters = [kernel.counters] if kernel.counters else []

    def run(bound: Bound) -> Any:
        if additions:
            bound = additions.complete(bound)
        words = bound.words
        if sizes or counters:
            words = words + sizes.words(bound.values) + counters
        try:
            launcher(words)
        except KernelError as error:
            location = None
            if error.access is not None:
                tensor, writes = error.access
                location = span_of_access(function, tensor, writes=writes)
            raise (error if location is None else error.at(location)) from None
        if len(results) == 1:
            return bound.values[results[0]]
        return tuple([bound.values[index] for index in results]) or None

    return run


def _host_text(
    program: Program, function: Function, kernels: Mapping[str, KernelSignature]
) -> HostText | None:
    """Return the C++ of a host function; None if the interpreter has to run it, which is logged."""
    results = {name: kernel.results for name, kernel in kernels.items()}
    only_written = {name: kernel.only_written for name, kernel in kernels.items()}
    try:
        return host_text(program, function, results, only_written)
    except EmitError as error:
        location = f" ({source_comment(error.location)})" if source_comment(error.location) else ""
        log_event(f"{function.name} runs in the interpreter: {error.message}{location}")
        return None
