"""Native runs under the sanitizers are clean, and the sanitizers detect known errors."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from pypto._src.run.toolchain import (
    Toolchain,
    ToolchainError,
    find_toolchain,
    sanitizer_environment,
)
from tests import effort
from tests.run.sanitized import ROOT, environment, pytest_command

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or find_toolchain() is None, reason="no C++ compiler, or no LD_PRELOAD"
)

SANITIZERS = ["address,undefined", "thread"]

SAMPLE = [
    "tests/examples/test_examples.py::test_native_code_agrees_with_numpy[softmax]",
    "tests/run/test_host.py::test_views_with_gaps",
    *(
        f"tests/run/test_scheduler.py::{name}"
        for name in (
            "test_random_graphs[4]",
            "test_temporaries_share_memory",
            "test_readers_and_writers_of_parts_and_wholes",
            "test_first_error_in_order_counts",
            "test_mistake_of_the_host_waits_for_its_tasks",
            "test_results_outlive_the_call",
            "test_ops_on_whole_tensors_wait_and_go_on",
        )
    ),
]
"""Tests of task graphs, and one example; `tests.run.sanitized` runs all, as a command."""

RACE = """
import numpy as np
from pypto import runtime
from pypto._src.run.scheduler import Scheduling
from tests.run.programs import Undirected

# Parameters without direction: only the table says that the kernel writes them.
compiled = runtime.compile(Undirected)
host = compiled._run.__self__
for kernel in host._table:
    for index in range(kernel.count):
        kernel.params[index].writes = 0
host.scheduling = Scheduling(delay_ns=1_000_000)
for _ in range(200):
    compiled(np.ones((8, 16), np.float32), np.zeros((8, 16), np.float32))
print("survived")
"""


def variables(which: str) -> dict[str, str]:
    found = environment(which)
    if found is None:
        pytest.skip(f"no runtime for {which}")
    return found


@pytest.mark.parametrize("which", effort.part(SANITIZERS, 2, first=1))
def test_task_graphs_are_clean(which: str) -> None:
    """Task graphs, their errors and their memory run under each sanitizer without a report."""
    done = subprocess.run(
        pytest_command(effort.part(SAMPLE, 3, first=1)),
        env=variables(which),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "skipped" not in done.stdout


def test_thread_sanitizer_sees_a_missing_dependence() -> None:
    """Two tasks on one tensor that do not wait for each other are reported as a race."""
    done = subprocess.run(
        [sys.executable, "-c", RACE],
        env={**variables("thread"), "PYPTO_NUM_THREADS": "3"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 66
    assert "data race" in done.stderr
    assert "survived" not in done.stdout


@pytest.mark.parametrize("which", SANITIZERS)
def test_runtime_has_to_be_loaded(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the runtime is not loaded in the process, the error says how to start Python."""
    needed = variables(which)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setenv("PYPTO_SANITIZE", which)
    with pytest.raises(ToolchainError, match="runtime is not loaded") as caught:
        find_toolchain()
    assert f"LD_PRELOAD={needed['LD_PRELOAD']}" in (caught.value.hint or "")


UNWRITTEN = """
import numpy as np
import pypto.language as pl
from pypto import runtime

text = '''
import pypto.language as pl

@pl.program
class Unwritten:
    @pl.function(type=pl.FunctionType.InCore)
    def spread(
        self,
        made: pl.Tensor[[16, 16], pl.FP32],
        tile: pl.Out[pl.Tensor[[16, 16], pl.INT32]],
        tensor: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ):
        nothing = pl.create_tile([16, 16], pl.INT32)
        tile = pl.store(pl.add(nothing, 5), [0, 0], [16, 16], tile)
        tensor = pl.store(pl.load(made, [0, 0], [16, 16]), [0, 0], [16, 16], tensor)
        return tile, tensor

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        tile: pl.Out[pl.Tensor[[16, 16], pl.INT32]],
        tensor: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
    ):
        made = pl.create_tensor([16, 16], pl.FP32)
        tile, tensor = self.spread(made, tile, tensor)
        return tile, tensor
'''
tile, tensor = np.zeros((16, 16), np.int32), np.zeros((16, 16), np.float32)
compiled = runtime.compile(pl.parse(text))
for _ in range(2):
    compiled(tile, tensor)
    print((tile == 4).all(), np.isnan(tensor).all())
"""


def test_poison_shows_what_nobody_has_written() -> None:
    """Uninitialized tiles and tensors are -1 and NaN, in every run, in any process."""
    done = subprocess.run(
        [sys.executable, "-c", UNWRITTEN],
        env={**os.environ, "PYPTO_SANITIZE": "poison", "PYTHONPATH": str(ROOT / "src")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True True\nTrue True\n", "")


def test_poison_is_no_sanitizer_of_the_compiler() -> None:
    """Objects with poison are as fast as others and load into every process."""
    plain = Toolchain(("cxx",), "gcc", "", ())
    poisoned = replace(plain, sanitize="poison")
    assert [f for f in poisoned.flags if f not in plain.flags] == ["-DPTO_POISON"]
    assert set(plain.flags) < set(poisoned.flags)
    assert sanitizer_environment(poisoned) == {}
