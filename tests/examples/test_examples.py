"""Every example: against NumPy on both targets, its texts, and its C++ under the sanitizers."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pypto._src.build_output import cce_files
from pypto._src.commands.example_cases import Case, cases, relative_error
from pypto._src.driver import INCLUDE, compile_program, entry_function
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.toolchain import Toolchain, find_toolchain, sanitizer_environment
from tests import effort
from tests.examples.emitted import Emitted

pytestmark = pytest.mark.usefixtures("shipped_flags")

ROOT = Path(__file__).parents[2]
CASES = cases(ROOT / "examples")
NAMES = [case.name for case in CASES]


def lowered(case: Case, strategy: OptimizationStrategy) -> Program:
    return PassManager.get_strategy(strategy).run_passes(case.program)


@cache
def interpreted(name: str) -> Mapping[str, Any]:
    """Return the arguments of seed 1 after the interpreter has run a case."""
    case = CASES[NAMES.index(name)]
    arguments = case.inputs(np.random.default_rng(1))
    compile_program(case.program, "interpreter")(*arguments.values())
    return arguments


def test_every_example_is_here() -> None:
    """The required programs are there, the matrix product with two element types."""
    assert NAMES == [
        "elementwise",
        "flash_attention",
        "gelu_mlp",
        "int8_matmul",
        "layer_norm",
        "llama_layer",
        "matmul_fp32",
        "matmul_bf16",
        "paged_attention",
        "projections",
        "rmsnorm",
        "softmax",
        "top_k",
    ]


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_interpreter_agrees_with_numpy(case: Case) -> None:
    """The interpreter's results are within the bound; the initial outputs are far from it."""
    arguments, found = case.inputs(np.random.default_rng(1)), interpreted(case.name)
    expected = case.reference(**arguments)
    assert max(relative_error(found[n], wanted) for n, wanted in expected.items()) <= case.bound
    # A kernel that does nothing would be noticed.
    assert all(relative_error(arguments[n], w) > 100 * case.bound for n, w in expected.items())


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_native_code_agrees_with_numpy(case: Case) -> None:
    """The results of the compiled C++ are within the bound of the example."""
    arguments = case.inputs(np.random.default_rng(2))
    expected = case.reference(**arguments)
    compile_program(case.program)(*arguments.values())
    errors = [relative_error(arguments[name], wanted) for name, wanted in expected.items()]
    assert max(errors) <= case.bound


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_native_code_agrees_with_the_interpreter(case: Case) -> None:
    """Bit-identical where neither exp nor the order of a float sum makes a difference."""
    wanted, found = interpreted(case.name), case.inputs(np.random.default_rng(1))
    compile_program(case.program)(*found.values())
    bound = 0.0 if case.name in ("int8_matmul", "top_k") else case.bound
    assert max(relative_error(found[name], value) for name, value in wanted.items()) <= bound


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_emitted_pto_means_the_same(case: Case) -> None:
    """With its kernels as emitted for the assembler, a program gives the interpreter's bits."""
    wanted, found = interpreted(case.name), case.inputs(np.random.default_rng(1))
    entry = entry_function(case.program).name
    emitted = Emitted(case.program)
    emitted.call(entry, list(found.values()))
    assert all(count > 0 for count in emitted.calls.values())
    for name, array in wanted.items():
        np.testing.assert_array_equal(found[name].view(np.uint8), array.view(np.uint8), name)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_host_texts(case: Case, golden: Callable[[str, str], None]) -> None:
    """Orchestration and kernel table of each example match the recorded ones.

    The kernels' own texts are recorded by `tests/emit`, next to those of the ops.
    """
    for path, text in cce_files(lowered(case, OptimizationStrategy.Default)).items():
        if not path.startswith("kernels/"):
            golden(f"examples/{case.name}/{path}", text)


@pytest.mark.parametrize("case", effort.part(CASES, 3), ids=lambda case: case.name)
def test_cpp_has_no_warnings(case: Case, toolchain: Toolchain, tmp_path: Path) -> None:
    """The C++ compiles as C++17 without a warning."""
    for kernel in kernels(lowered(case, OptimizationStrategy.Default)):
        source = tmp_path / f"{kernel.name}.cpp"
        source.write_text(kernel_file(kernel), encoding="utf-8")
        flags = ["-std=c++17", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{INCLUDE}"]
        done = subprocess.run(
            [*toolchain.command, *flags, str(source)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


_SANITIZED = """
import sys
from pathlib import Path
import numpy as np
from pypto._src import driver
from pypto._src.commands.example_cases import cases, relative_error
from pypto._src.run.toolchain import find_toolchain

driver.find_toolchain = lambda: find_toolchain(sanitize=True)
[case] = [c for c in cases(Path(sys.argv[1])) if c.name == sys.argv[2]]
arguments = case.inputs(np.random.default_rng(3))
expected = case.reference(**arguments)
driver.compile_program(case.program)(*arguments.values())
print(max(relative_error(arguments[name], wanted) for name, wanted in expected.items()))
"""


SANITIZED = ("elementwise", "matmul_bf16", "paged_attention", "top_k")
"""One of each kind; ``python -m tests.run.sanitized address,undefined`` runs all."""


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("name", effort.part(SANITIZED, 4))
def test_sanitizers_find_nothing(name: str) -> None:
    """Under the address and undefined behaviour sanitizers the run is clean and correct.

    All runs share the cache, so that the runtime is compiled only once.
    """
    case = CASES[NAMES.index(name)]
    sanitizing = find_toolchain(sanitize=True)
    variables = sanitizer_environment(sanitizing) if sanitizing else {}
    if not variables:
        pytest.skip("no address sanitizer")
    done = subprocess.run(
        [sys.executable, "-c", _SANITIZED, str(ROOT / "examples"), case.name],
        env={**os.environ, **variables, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) <= case.bound
