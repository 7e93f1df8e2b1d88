"""Runs the examples: interpreter and compiled code against NumPy, with times and generated files.

Owns what a case of an example is, and how its results are judged. Prints nothing.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pypto._src.driver import TargetName, compile_program, entry_function, kernels_of
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import PyptoError
from pypto._src.ir.stmts import Program
from pypto._src.lazy import lazy_module
from pypto._src.output_folder import OutputFolder
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.array_views import copied
from pypto._src.run.toolchain import find_toolchain

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.jit.function import JitFunction
else:
    np = lazy_module("numpy")

SEED: Final = 0
RUNS: Final = 5  # timed, after a warm-up run


class Case:
    """One program of an example, with arguments and what NumPy computes from them.

    A function decorated with ``@pl.jit`` is a program too: the one for such arguments.
    """

    def __init__(
        self,
        name: str,
        program: Program | JitFunction,
        inputs: Callable[[np.random.Generator], dict[str, Any]],
        reference: Callable[..., dict[str, Any]],
        bound: float,
    ) -> None:
        self.name = name
        self._program = program
        self.inputs = inputs
        """Returns the arguments by name, in the order of the parameters, results included."""
        self.reference = reference
        """Takes the arguments by name and ``precision``, the element type to compute in (float64 if
        not given); returns the results by name."""
        self.bound = bound
        """The largest error allowed, relative to max(1, |expected|)."""

    @cached_property
    def program(self) -> Program:
        """The program as parsed."""
        if isinstance(self._program, Program):
            return self._program
        return self._program.parse(*self.inputs(np.random.default_rng(SEED)).values())


class Outcome(NamedTuple):
    """How one target did on a case."""

    target: str
    error: float  # the largest, relative to max(1, |expected|)
    seconds: float  # of one run: the best of several on the CPU


class Report(NamedTuple):
    """All that is known of one case after it ran."""

    name: str
    bound: float
    outcomes: tuple[Outcome, ...]
    numpy_seconds: float
    files: tuple[Path, ...]  # the generated code
    failure: PyptoError | None  # why the case did not finish

    @property
    def is_good(self) -> bool:
        """True if everything ran and no error exceeds the bound."""
        return self.failure is None and all(o.error <= self.bound for o in self.outcomes)


def examples_directory() -> Path | None:
    """Return the directory of the examples: of the checkout, else of the installed package."""
    package = Path(__file__).parents[2]
    checkout = package.parents[1]
    candidates = [package / "examples"]
    if (checkout / "pyproject.toml").is_file():
        candidates.insert(0, checkout / "examples")
    return next((path for path in candidates if path.is_dir()), None)


def cases(directory: Path) -> list[Case]:
    """Return the cases of all examples in a directory, in the order of its file names."""
    return [
        case
        for path in sorted(directory.glob("*.py"))
        for case in runpy.run_path(str(path)).get("CASES", ())
    ]


def run_case(case: Case, output: Path) -> Report:
    """Run one case on all available targets; write its generated code below ``output``."""
    arguments = case.inputs(np.random.default_rng(SEED))
    expected = case.reference(**arguments)
    # The expected values are computed in float64; what is timed uses the kernels' precision.
    numpy_seconds = min(
        _seconds(lambda: case.reference(**arguments, precision=np.float32)) for _ in range(RUNS)
    )
    targets: list[TargetName] = ["interpreter"]
    if find_toolchain() is not None:
        targets.append("cpu")
    outcomes: list[Outcome] = []
    files: tuple[Path, ...] = ()
    failure: PyptoError | None = None
    try:
        files = tuple(write_code(case.program, output / case.name))
        for target in targets:
            outcomes.append(_run(case, target, arguments, expected))
    except PyptoError as error:
        failure = error
    return Report(case.name, case.bound, tuple(outcomes), numpy_seconds, files, failure)


def _run(
    case: Case, target: TargetName, arguments: Mapping[str, Any], expected: Mapping[str, Any]
) -> Outcome:
    compiled = compile_program(case.program, target)
    ready = {name: copied(value) for name, value in arguments.items()}
    begin = time.perf_counter()
    returned = compiled(*ready.values())
    seconds = time.perf_counter() - begin
    error = _largest_error(ready, returned, expected)
    if target == "cpu":
        # The same arrays again: a program that adds to its outputs takes as long with other values.
        seconds = min(_seconds(lambda: compiled(*ready.values())) for _ in range(RUNS))
    return Outcome(target, error, seconds)


def _seconds(run: Callable[[], object]) -> float:
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def _largest_error(ready: Mapping[str, Any], returned: Any, expected: Mapping[str, Any]) -> float:
    """Return the largest error of any result; one that is no parameter is found by position."""
    values: tuple[Any, ...] = returned if isinstance(returned, tuple) else (returned,)  # pyright: ignore[reportUnknownVariableType]
    extra = iter(v for v in values if not any(v is known for known in ready.values()))
    errors: list[float] = []
    for name, wanted in expected.items():
        found: Any = ready[name] if name in ready else next(extra)
        errors.append(relative_error(found, wanted))
    return max(errors, default=0.0)


def relative_error(found: Any, wanted: Any) -> float:
    """Return the largest ``|found - wanted| / max(1, |wanted|)``; infinity where one is NaN."""
    x, y = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    if x.shape != y.shape:
        return float("inf")
    with np.errstate(invalid="ignore"):
        errors = np.where(x == y, 0.0, np.abs(x - y) / np.maximum(1.0, np.abs(y)))
    both_nan = np.isnan(x) & np.isnan(y)
    errors = np.where(both_nan, 0.0, np.where(np.isnan(errors), np.inf, errors))
    return float(errors.max(initial=0.0))


def write_code(program: Program, folder: Path) -> Iterator[Path]:
    """Write the C++ and the MLIR of each kernel; yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    for strategy in OptimizationStrategy:
        lowered = PassManager(strategy).run_passes(program)
        for kernel in kernels_of(lowered, entry_function(lowered)):
            if strategy is OptimizationStrategy.Default:
                path, text = folder / f"{kernel.name}.cpp", kernel_file(kernel)
            else:
                path = folder / f"{kernel.name}.pto"
                text = PTOCodegen().generate(Program([kernel], kernel.name))
            OutputFolder(folder).write({path.name: text})
            yield path
