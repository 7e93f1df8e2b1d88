"""``run_jit`` and ``run``: compile, make the inputs, run, and compare with a reference.

Ties kernels, specs and comparisons together. A wrong output is reported in the result; a failure
to compile or run raises an exception.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import span_of_frame
from pypto._src.driver import CompiledProgram, compile_program
from pypto._src.errors import CallError, OutputError, SerializeError
from pypto._src.golden.comparison import Comparison, close
from pypto._src.golden.specs import ScalarSpec, TensorSpec, is_torch
from pypto._src.lazy import lazy_module
from pypto._src.run.config import RunConfig, check_runs_here

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")

Spec = TensorSpec | ScalarSpec


@dataclass
class RunResult:
    """The outcome of a run."""

    passed: bool
    error: str | None = None
    execution_time: float | None = None
    """Seconds of the run, without compiling."""
    work_dir: Path | None = None
    """The folder with the generated texts and saved data, if any were written."""
    bench: Any = None

    def __str__(self) -> str:
        """Return the line that ends a run."""
        if not self.passed:
            return f"FAIL: {self.error}"
        return "PASS" if self.execution_time is None else f"PASS ({self.execution_time:.2f}s)"


def run_jit(
    fn: Any,
    specs: Sequence[Spec],
    golden_fn: Callable[[dict[str, Any]], Any] | None = None,
    golden_data: str | Path | None = None,
    compile_cfg: Mapping[str, Any] | None = None,
    runtime_cfg: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparison] | None = None,
    compile_only: bool = False,
    runtime_dir: str | Path | None = None,
    save_data: bool = False,
) -> RunResult:
    """Run a ``@pl.jit`` kernel on arguments made from specs, and compare its outputs.

    Args:
        fn: The kernel.
        specs: Its arguments, in the order of its parameters.
        golden_fn: Takes the arguments by name, clones of them, and fills the outputs in place.
        golden_data: A folder with ``in/<name>`` and ``out/<name>``, as ``save_data`` writes;
            used in place of ``golden_fn``.
        compile_cfg: Fields of `RunConfig` that control the compilation, such as ``dump_passes``.
        runtime_cfg: Fields of `RunConfig` that control the run, such as ``platform``.
        rtol: How far an element may be off, relative to the expected value.
        atol: How far it may be off in addition.
        compare_fn: Comparisons of outputs, by their names.
        compile_only: Whether to stop when the generated texts are written.
        runtime_dir: The ``work_dir`` of an earlier run, whose program runs again.
        save_data: Whether to write inputs and outputs.

    Raises:
        TypeError: there is no such field of `RunConfig`.
        PyptoError: the kernel cannot be compiled or run.
    """
    config = _config(compile_cfg, runtime_cfg)
    _check_platform(config, compile_only, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    return _Run(specs, config, golden_fn, golden_data, rtol, atol, compare_fn or {}).whole(
        lambda: fn.compile(
            *[s.value if isinstance(s, ScalarSpec) else s.empty() for s in specs], config=config
        ),
        compile_only=compile_only,
        runtime_dir=runtime_dir,
        save_data=save_data,
    )


def run(
    program: Any,
    specs: Sequence[Spec],
    golden_fn: Callable[[dict[str, Any]], Any] | None = None,
    golden_data: str | Path | None = None,
    compile_cfg: Mapping[str, Any] | None = None,
    runtime_cfg: Mapping[str, Any] | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-5,
    compare_fn: Mapping[str, Comparison] | None = None,
    compile_only: bool = False,
    runtime_dir: str | Path | None = None,
    save_data: bool = False,
) -> RunResult:
    """Run a program as `run_jit` runs a kernel."""
    given = {_OF_COMPILE.get(key, key): value for key, value in (compile_cfg or {}).items()}
    config = _config({k: v for k, v in given.items() if k not in _OF_DEVICE}, runtime_cfg)
    _check_platform(config, compile_only, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
    return _Run(specs, config, golden_fn, golden_data, rtol, atol, compare_fn or {}).whole(
        lambda: compile_program(program).with_config(config),
        compile_only=compile_only,
        runtime_dir=runtime_dir,
        save_data=save_data,
    )


_OF_COMPILE: Final = {"output_dir": "save_kernels_dir", "profiling": "compile_profiling"}
"""Names of `RunConfig` fields in `ir.compile`."""
_OF_DEVICE: Final = frozenset(
    {
        "skip_ptoas",
        "verification_level",
        "enable_pypto_l0c_double_buffer",
        "emit_source_loc",
        "runtime",
    }
)
"""Keywords of `ir.compile` that control what a device's build does with the texts."""


def _check_platform(config: RunConfig, compile_only: bool, frame: FrameType) -> None:
    """Refuse to run on a device; texts for it can be written on any machine."""
    if not compile_only:
        try:
            check_runs_here(config)
        except CallError as error:
            error.at(span_of_frame(frame))
            raise


def _config(
    compile_cfg: Mapping[str, Any] | None, runtime_cfg: Mapping[str, Any] | None
) -> RunConfig:
    """Return the configuration; the log level is not one of its fields."""
    given = {**(compile_cfg or {}), **(runtime_cfg or {})}
    given.pop("log_level", None)
    known = {field.name for field in fields(RunConfig)}
    unknown = sorted(given.keys() - known)
    if unknown:
        raise TypeError(f"RunConfig has no field {unknown[0]!r}; it has {', '.join(sorted(known))}")
    return RunConfig(**given)


class _Run:
    def __init__(
        self,
        specs: Sequence[Spec],
        config: RunConfig,
        golden_fn: Callable[[dict[str, Any]], Any] | None,
        golden_data: str | Path | None,
        rtol: float,
        atol: float,
        compare_fn: Mapping[str, Comparison],
    ) -> None:
        self.specs = specs
        self.config = config
        self.golden_fn = golden_fn
        self.golden_data = None if golden_data is None else Path(golden_data)
        self.rtol = rtol
        self.atol = atol
        self.compare_fn = compare_fn
        names = [spec.name for spec in specs if isinstance(spec, TensorSpec) and spec.is_output]
        self.outputs = names
        unknown = sorted(compare_fn.keys() - set(names))
        if unknown:
            raise ValueError(f"compare_fn has {unknown[0]!r}; the outputs are {', '.join(names)}")

    def whole(
        self,
        compiled_by: Callable[[], CompiledProgram],
        *,
        compile_only: bool,
        runtime_dir: str | Path | None,
        save_data: bool,
    ) -> RunResult:
        """Compile, run, compare and report."""
        if runtime_dir is not None:
            why = "compile_only and runtime_dir exclude each other" if compile_only else ""
            if not Path(runtime_dir).is_dir():
                why = why or f"there is no folder {runtime_dir}"
            if why:
                return _reported(RunResult(passed=False, error=why))
        if runtime_dir is None:
            compiled = compiled_by()
        else:
            try:
                compiled = CompiledProgram.from_dir(runtime_dir)
            except (OutputError, SerializeError) as error:
                return _reported(RunResult(passed=False, error=error.message))
        if compile_only or self.config.codegen_only:
            return _reported(RunResult(passed=True, work_dir=compiled.output_dir))
        arguments = self.arguments()
        inputs = {name: _clone(value) for name, value in arguments.items()}
        expected = self.expected(arguments)
        begin = time.perf_counter()
        compiled(*arguments.values())
        seconds = time.perf_counter() - begin
        folder = compiled.output_dir if runtime_dir or _writes(self.config) else None
        if save_data:
            folder = compiled.output_dir
            self.save(folder / "data" / "in", inputs, list(inputs))
            self.save(folder / "data" / "out", expected or arguments, self.outputs)
        error = None
        if expected is None:
            print("[RUN] no golden_fn and no golden_data: nothing is compared")
        else:
            error = self.misfit(arguments, expected, inputs)
        return _reported(RunResult(error is None, error, seconds, folder))

    def arguments(self) -> dict[str, Any]:
        """Return the arguments by name."""
        made: dict[str, Any] = {}
        for spec in self.specs:
            if isinstance(spec, ScalarSpec):
                made[spec.name] = spec.value
            elif self.golden_data is not None and (file := _file(self.golden_data / "in", spec)):
                made[spec.name] = _loaded(file)
            else:
                made[spec.name] = spec.create_tensor()
        return made

    def expected(self, arguments: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the expected arguments after the run, None without a reference."""
        made = {name: _clone(value) for name, value in arguments.items()}
        if self.golden_data is not None:
            for spec in self.specs:
                if isinstance(spec, TensorSpec) and spec.is_output:
                    file = _file(self.golden_data / "out", spec)
                    if file is None:
                        raise FileNotFoundError(f"{self.golden_data} has no out/{spec.name}")
                    made[spec.name] = _loaded(file)
        elif self.golden_fn is not None:
            self.golden_fn(made)
        else:
            return None
        return made

    def misfit(
        self, actual: Mapping[str, Any], expected: Mapping[str, Any], inputs: Mapping[str, Any]
    ) -> str | None:
        """Return what is wrong with the outputs, None if nothing is."""
        others = {
            "actual_outputs": {name: actual[name] for name in self.outputs},
            "expected_outputs": {name: expected[name] for name in self.outputs},
            "inputs": inputs,
            "rtol": self.rtol,
            "atol": self.atol,
        }
        for name in self.outputs:
            compare = self.compare_fn.get(name)
            if compare is None:
                is_close, why = close(actual[name], expected[name], self.rtol, self.atol)
            else:
                is_close, why = compare(actual[name], expected[name], **others)
            if not is_close:
                return f"output {name!r}: {why}"
        return None

    def save(self, folder: Path, values: Mapping[str, Any], names: Sequence[str]) -> None:
        """Write tensors as files."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            value = values[name]
            if is_torch(value):
                sys.modules["torch"].save(value, folder / f"{name}.pt")
            elif isinstance(value, np.ndarray):
                np.save(folder / f"{name}.npy", cast("Any", value))


def _writes(config: RunConfig) -> bool:
    return config.dump_passes or config.save_kernels or config.save_kernels_dir is not None


def _clone(value: Any) -> Any:
    if is_torch(value):
        return value.clone()
    return value.copy() if isinstance(value, np.ndarray) else value  # pyright: ignore[reportUnknownVariableType]


def _file(folder: Path, spec: TensorSpec) -> Path | None:
    found = [folder / f"{spec.name}{suffix}" for suffix in (".pt", ".npy")]
    return next((path for path in found if path.is_file()), None)


def _loaded(file: Path) -> Any:
    if file.suffix == ".npy":
        return np.load(file, allow_pickle=False)
    return sys.modules["torch"].load(file, weights_only=True)


def _reported(result: RunResult) -> RunResult:
    print(f"[RUN] {result}")
    return result
