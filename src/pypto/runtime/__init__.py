"""Programs that run on this machine: ``compiled = runtime.compile(program); compiled(x, out)``."""

from typing import TYPE_CHECKING

from pypto._src.commands.example_cases import Case
from pypto._src.driver import CompiledProgram, pto_isa_include_dir
from pypto._src.driver import compile_program as compile
from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.golden.benchmark import BenchmarkStats, benchmark
    from pypto._src.golden.harness import RunResult, run
    from pypto._src.golden.specs import ScalarSpec, TensorSpec
    from pypto._src.jit.decorator import register_extern
    from pypto._src.jit.workers import (
        DeviceTensor,
        DistributedRunHandle,
        DistributedWorker,
        StackedDeviceTensor,
    )
    from pypto._src.numerics.compare import Comparison, compare
    from pypto._src.run.config import RunConfig

__all__ = [
    "BenchmarkStats",
    "Case",
    "Comparison",
    "CompiledProgram",
    "DeviceTensor",
    "DistributedRunHandle",
    "DistributedWorker",
    "RunConfig",
    "RunResult",
    "ScalarSpec",
    "StackedDeviceTensor",
    "TensorSpec",
    "benchmark",
    "compare",
    "compile",
    "pto_isa_include_dir",
    "register_extern",
    "run",
]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(
        __name__,
        {
            "BenchmarkStats": "pypto._src.golden.benchmark",
            "Comparison": "pypto._src.numerics.compare",
            "DeviceTensor": "pypto._src.jit.workers",
            "DistributedRunHandle": "pypto._src.jit.workers",
            "DistributedWorker": "pypto._src.jit.workers",
            "RunConfig": "pypto._src.run.config",
            "RunResult": "pypto._src.golden.harness",
            "ScalarSpec": "pypto._src.golden.specs",
            "StackedDeviceTensor": "pypto._src.jit.workers",
            "TensorSpec": "pypto._src.golden.specs",
            "benchmark": "pypto._src.golden.benchmark",
            "compare": "pypto._src.numerics.compare",
            "register_extern": "pypto._src.jit.decorator",
            "run": "pypto._src.golden.harness",
        },
    )
