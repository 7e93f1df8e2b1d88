"""Random programs with regions compute the same, however they are run.

``python -m tests.language.programs COUNT SEED [FIRST [PROCESSES]]`` generates COUNT programs
(`tests.language.draw`), starting with number FIRST, and checks each:

* what Python itself computes from the text, with NumPy arrays (`tests.language.numpy_regions`),
  the interpreter computes too, before the passes and after each pass of both strategies; so do the
  compiled kernels, and the evaluated `.pto` text
* the program round-trips through its printed text, before and after each pass
* the flag checker finds nothing; the assembler's rules hold; the host function can be emitted

A rejected program counts as a fault too. A failing program is reduced before it is printed:
statements are removed as long as it still fails in the same way.
"""

# NumPy's results are arrays of unknown type.
# pyright: reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownLambdaType=false

from __future__ import annotations

import gc
import linecache
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from pypto import ir
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.host.device.generate import generate_orchestration
from pypto._src.errors import EmitError, PyptoError, VerificationError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import core_type, kernels
from pypto._src.numerics.reduce import reduced
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy, PassManager
from pypto._src.passes.sync.checker import check_sync
from pypto._src.run.effects import effects
from pypto._src.run.native import NativeKernel
from tests.examples.emitted import Emitted, sizes
from tests.language import numpy_regions
from tests.language.draw import drawn
from tests.language.draw_values import Program
from tests.natively import assert_close, compile_together, compiler
from tests.properties.programs import stages, without_flags

BATCH = 48
"""How many programs are compiled together: they share the functions of their instructions."""
FLAGS = ("-O0",)
"""Only values are compared, which no optimisation level changes; kernels run once or twice."""
ROUGH = (2e-3, 2e-3)
"""Tolerances for inexact numbers, which are not larger than 100."""


class Fault(NamedTuple):
    """What is wrong with a program: the step, and the message."""

    step: str
    message: str

    @property
    def kind(self) -> str:
        """The fault without what differs between programs."""
        plain = re.sub(r"\x1b\[[0-9;]*m", "", self.message)
        plain = plain.strip().split("\n")[0]
        plain = re.sub(r"'[^']*'|`[^`]*`", "'...'", plain)
        return f"{self.step}: {re.sub(r'[0-9]+', '0', plain)[:160]}"


class Wrong(Exception):
    """A check has failed at a step."""

    def __init__(self, step: str, message: str) -> None:
        super().__init__(message)
        self.step = step


class Compiled(Evaluator):
    """A lowered program whose kernels are compiled."""

    def __init__(self, lowered: ir.Program, natives: Mapping[str, NativeKernel]) -> None:
        super().__init__(lowered)
        self._natives = natives
        self._kernels = {kernel.name: kernel for kernel in kernels(lowered)}
        self._effects = effects(lowered)

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call a function; a kernel works on dense copies."""
        native = self._natives.get(name)
        if native is None:
            return super().run(name, args, span)
        dense = [np.ascontiguousarray(arg) if _is_array(arg) else arg for arg in args]
        native([*map(_word, dense), *sizes(self._kernels[name], dense)])
        for arg, copy in zip(args, dense, strict=True):
            if _is_array(arg) and copy is not arg:
                arg[...] = copy
        results = [args[index] for [index] in self._effects[name].results]
        return results[0] if len(results) == 1 else tuple(results) or None


def _has_one_core(kernel: ir.Function) -> bool:
    """True except for a region that has to stay one kernel with both kinds of work."""
    try:
        core_type(kernel)
    except ValueError:
        return False
    return True


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0


def _word(arg: Any) -> int:
    """Return an argument as a kernel takes it: the address of an array, the bits of a float."""
    if _is_array(arg):
        return arg.ctypes.data
    if isinstance(arg, (float, np.floating)):
        return int(np.float32(arg).view(np.uint32))
    return int(arg)


# --------------------------------------------------------------------------------------------
# Checks
# --------------------------------------------------------------------------------------------


def parsed(program: Program, name: str) -> ir.Program:
    """Return a random program as the front end parses it."""
    source = program.source
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {"__name__": "drawn"}
    exec(compile(source, name, "exec"), names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return names["drawn"].parse(*copies(program.calls[0]))


def copies(args: Sequence[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


class Subject:
    """A random program and the results that all ways of running it must give."""

    def __init__(self, program: Program, name: str) -> None:
        """Parse it.

        Raises:
            Wrong: it is rejected, or Python cannot run it.
        """
        self.program, self.name = program, name
        self.wanted: list[list[Any]] = []
        with step("NumPy"):
            for call in program.calls:
                args = copies(call)
                numpy_regions.run(program.source, args, "drawn")
                self.wanted.append(args)
        with step("refused"):
            self.parsed = parsed(program, name)

    def compare(self, way: str, run: Callable[[list[Any]], Any]) -> None:
        """Compare the results of one way of running it, for each call.

        Raises:
            Wrong: they differ, or it fails.
        """
        with step(way):
            for call, wanted in zip(self.program.calls, self.wanted, strict=True):
                args = copies(call)
                with np.errstate(all="ignore"):
                    run(args)
                for at, (one, other) in enumerate(zip(args, wanted, strict=True)):
                    if isinstance(one, np.ndarray):
                        bounds = ROUGH if at in self.program.rough else (0.0, 0.0)
                        assert_close(one, other, bounds, signed_zero=False, note=f"argument {at}")

    def before_compiling(self) -> ir.Program:
        """Check everything but the compiled kernels; return the program after the default passes.

        Raises:
            Wrong: something is wrong.
        """
        entry = self.parsed.name
        with step("printed"):
            ir.assert_structural_equal(ir.parse(str(self.parsed)), self.parsed)
        self.compare("interpreter", lambda args: Evaluator(self.parsed).call(entry, args))
        with step("passes"):
            after_passes = list(stages(self.parsed))
        meant: set[str] = set()
        known = {id(self.parsed)}  # a pass that has nothing to do returns its input
        for name, after in after_passes:
            if id(after) in known:
                continue
            known.add(id(after))
            last = name.rsplit(" > ", 1)[-1]
            text = str(after)
            with step(f"printed after {last}"):
                ir.assert_structural_equal(ir.parse(text), after)
            plain = without_flags(text)
            if plain not in meant:
                meant.add(plain)
                self.compare(f"after {last}", lambda args, p=after: Evaluator(p).call(entry, args))
        with step("passes"):
            lowered = PassManager.get_strategy(OptimizationStrategy.Default).run_passes(self.parsed)
        with step("verifier"):
            found = ir.IRVerifier.create_default().verify(lowered)
            assert not found, found
        with step("flags"):
            found = check_sync(lowered)
            assert not found, found[0]
        emitted = None
        with step("pto"):
            path = " > ".join(name for name, _ in PIPELINES[OptimizationStrategy.PTOAS])
            try:
                emitted = Emitted(self.parsed, dict(after_passes)[path])
            except VerificationError as error:
                # Memory that suffices with our own allocation; docs/fit-into-memory.md says why.
                if error.slug != "memory":
                    raise
                print(f"{self.name}: the .pto text does not fit: {error}", flush=True)
        if emitted is not None:
            self.compare("pto computes", lambda args: emitted.call(entry, args))
        with step("C++"):
            for kernel in kernels(lowered):
                kernel_file(kernel)
        with step("host text"):
            if all(_has_one_core(kernel) for kernel in kernels(lowered)):
                function = lowered.get_function(entry)
                assert function is not None
                try:
                    generate_orchestration(lowered, function)
                except EmitError as error:
                    # A computed element that decides a branch of both cores is read by the host,
                    # which the device's host function cannot do; docs/language.md says so.
                    if error.slug != "emit-read":
                        raise
        return lowered


class step:
    """Names the step that fails in a block."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, Exception) and not isinstance(error, Wrong):
            text = str(error) if isinstance(error, PyptoError) else _shortened(error)
            raise Wrong(self.name, f"{type(error).__name__}: {text}") from error


def _shortened(error: Exception) -> str:
    lines = [line for line in str(error).strip().split("\n") if line.strip()]
    return "\n".join([*lines[:1], *lines[-8:]])


def faults(programs: Mapping[str, Program]) -> Iterator[tuple[str, Fault | None]]:
    """Check programs, whose kernels are compiled together; yield each with its fault, if any."""
    lowered: dict[str, ir.Program] = {}
    subjects: dict[str, Subject] = {}
    for name, program in programs.items():
        try:
            subjects[name] = Subject(program, name)
            lowered[name] = subjects[name].before_compiling()
        except Wrong as wrong:
            lowered.pop(name, None)
            yield name, Fault(wrong.step, str(wrong))
    parts = [(name, kernel) for name, p in lowered.items() for kernel in kernels(p)]
    natives: dict[str, dict[str, NativeKernel]] = {name: {} for name in lowered}
    broken: Exception | None = None
    try:
        together = [kernel for _, kernel in parts]
        found = compile_together(together, compiler(), FLAGS) if parts else []
        for (name, kernel), native in zip(parts, found, strict=True):
            natives[name][kernel.name] = native
    except Exception as error:
        broken = error
    for name, after in lowered.items():
        if broken is not None:
            if len(lowered) > 1:  # find out whose fault it is
                yield from faults({name: programs[name]})
            else:
                yield name, Fault("compiler", str(broken))
            continue
        try:
            entry = after.name
            compiled = Compiled(after, natives[name])
            subjects[name].compare("native", lambda args, c=compiled, e=entry: c.call(e, args))
        except Wrong as wrong:
            yield name, Fault(wrong.step, str(wrong))
        else:
            yield name, None


def fault_of(program: Program, last: str = "native") -> Fault | None:
    """Return what is wrong with one program, up to the last step that is wanted."""
    if last == "native":
        [(_, fault)] = faults({"<drawn>": program})
        return fault
    try:
        subject = Subject(program, "<drawn>")
        if last not in ("NumPy", "refused"):
            subject.before_compiling()
    except Wrong as wrong:
        return Fault(wrong.step, str(wrong))
    return None


# --------------------------------------------------------------------------------------------
# Reduction
# --------------------------------------------------------------------------------------------


def shrunk(program: Program, kind: str, seconds: float = 120.0) -> Program:
    """Return a reduced program with a fault of the same kind."""
    end = time.monotonic() + seconds
    last = kind.partition(":")[0]

    def fails(source: str) -> bool:
        found = fault_of(program._replace(source=source), last)
        return found is not None and found.kind == kind

    source = reduced(program.source, fails, keep=("drawn",), is_over=lambda: time.monotonic() > end)
    return program._replace(source=source)


# --------------------------------------------------------------------------------------------
# The command
# --------------------------------------------------------------------------------------------


def checked(seed: int, numbers: Sequence[int]) -> list[tuple[int, Fault | None]]:
    """Check the programs of a seed with these numbers."""
    programs = {f"<drawn {seed} {number}>": drawn(f"{seed} {number}") for number in numbers}
    found = dict(faults(programs))
    return [(number, found[f"<drawn {seed} {number}>"]) for number in numbers]


def main(count: int, seed: int, first: int = 0, processes: int = 2) -> int:
    """Check programs; print faults, each kind once with a reduced program."""
    numbers = list(range(first, first + count))
    batches = [numbers[at : at + BATCH] for at in range(0, count, BATCH)]
    kinds, examples, done, begin = Counter[str](), dict[str, list[int]](), 0, time.monotonic()
    # Reading and rebuilding makes few cycles, and the collector would traverse all of it.
    with ProcessPoolExecutor(
        processes, initializer=gc.set_threshold, initargs=(200_000, 20, 100)
    ) as pool:
        for found in pool.map(checked, [seed] * len(batches), batches):
            for number, fault in found:
                done += 1
                if fault is None:
                    continue
                if fault.kind not in kinds:
                    print(f"program {number}: {fault.step}: {fault.message}\n", flush=True)
                kinds[fault.kind] += 1
                examples.setdefault(fault.kind, []).append(number)
            if done % (BATCH * 10) < BATCH:
                print(f"{done} programs, {time.monotonic() - begin:.0f} s", flush=True)
        small = pool.map(_smallest, [seed] * len(kinds), examples.values(), list(examples))
        for kind, source in zip(examples, small, strict=True):
            print(f"--- {kinds[kind]} times, {examples[kind][:5]}: {kind}\n{source}", flush=True)
    print(f"{count} programs, {sum(kinds.values())} with faults")
    for kind, times in kinds.most_common():
        print(f"{times:6} {kind}")
    return sum(kinds.values())


def _smallest(seed: int, numbers: list[int], kind: str) -> str:
    program = min((drawn(f"{seed} {number}") for number in numbers), key=lambda p: len(p.source))
    return shrunk(program, kind).source


if __name__ == "__main__":
    sys.exit(bool(main(*(int(arg) for arg in sys.argv[1:]))))
