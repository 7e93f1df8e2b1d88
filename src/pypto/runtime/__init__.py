"""Programs that run on this machine: ``compiled = runtime.compile(program); compiled(x, out)``."""

from typing import TYPE_CHECKING

from pypto._src.commands.example_cases import Case
from pypto._src.driver import CompiledProgram, ensure_pto_isa_root, pto_isa_include_dir
from pypto._src.driver import compile_program as compile
from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.compiled_folder import (
        compile_program,
        execute_compiled,
        execute_distributed_compiled,
    )
    from pypto._src.golden.benchmark import BenchmarkStats, benchmark
    from pypto._src.golden.harness import RunResult, run
    from pypto._src.golden.specs import ScalarSpec, TensorSpec
    from pypto._src.jit.decorator import register_extern
    from pypto._src.jit.spread import Spread, spread
    from pypto._src.jit.workers import (
        ChipWorker,
        DeviceTensor,
        DistributedRunHandle,
        DistributedWorker,
        RegistrationHandle,
        StackedDeviceTensor,
        Worker,
    )
    from pypto._src.logs import configure_log, log_level
    from pypto._src.notebook.overview import Overview
    from pypto._src.numerics.compare import Comparison, compare
    from pypto._src.run.config import RunConfig

__all__ = [
    "BenchmarkStats",
    "Case",
    "ChipWorker",
    "Comparison",
    "CompiledProgram",
    "DeviceTensor",
    "DistributedRunHandle",
    "DistributedWorker",
    "Overview",
    "RegistrationHandle",
    "RunConfig",
    "RunResult",
    "ScalarSpec",
    "Spread",
    "StackedDeviceTensor",
    "TensorSpec",
    "Worker",
    "benchmark",
    "compare",
    "compile",
    "compile_program",
    "configure_log",
    "ensure_pto_isa_root",
    "execute_compiled",
    "execute_distributed_compiled",
    "log_level",
    "pto_isa_include_dir",
    "register_extern",
    "run",
    "spread",
]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(
        __name__,
        {
            "BenchmarkStats": "pypto._src.golden.benchmark",
            "ChipWorker": "pypto._src.jit.workers",
            "Comparison": "pypto._src.numerics.compare",
            "DeviceTensor": "pypto._src.jit.workers",
            "DistributedRunHandle": "pypto._src.jit.workers",
            "DistributedWorker": "pypto._src.jit.workers",
            "Overview": "pypto._src.notebook.overview",
            "RegistrationHandle": "pypto._src.jit.workers",
            "RunConfig": "pypto._src.run.config",
            "RunResult": "pypto._src.golden.harness",
            "ScalarSpec": "pypto._src.golden.specs",
            "Spread": "pypto._src.jit.spread",
            "StackedDeviceTensor": "pypto._src.jit.workers",
            "TensorSpec": "pypto._src.golden.specs",
            "Worker": "pypto._src.jit.workers",
            "benchmark": "pypto._src.golden.benchmark",
            "compare": "pypto._src.numerics.compare",
            "compile_program": "pypto._src.compiled_folder",
            "configure_log": "pypto._src.logs",
            "execute_compiled": "pypto._src.compiled_folder",
            "execute_distributed_compiled": "pypto._src.compiled_folder",
            "log_level": "pypto._src.logs",
            "register_extern": "pypto._src.jit.decorator",
            "run": "pypto._src.golden.harness",
            "spread": "pypto._src.jit.spread",
        },
    )
