"""Runs tests natively under sanitizers: ``python -m tests.run.sanitized thread [arguments]``.

The first argument is a value of PYPTO_SANITIZE, the others are pytest's. Where they name no tests
the whole set runs: examples, task graphs, and every op on its edge-case values. The sanitizer's
runtime must be loaded before Python starts, so this starts another process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pypto._src.run.toolchain import find_toolchain, sanitizer_environment

ROOT = Path(__file__).parents[2]
EVERYTHING = (
    "tests/run/test_scheduler.py",
    "tests/run/test_host.py",
    "tests/run/test_runtime.py",
    "tests/examples/test_examples.py::test_native_code_agrees_with_numpy",
    "tests/examples/test_paged_attention.py",
    "tests/ops/test_native.py",
)

LEFT_OUT = {  # what a sanitizer's runtime does not support
    "thread": (
        # delays a signal until the process makes a system call
        "tests/run/test_scheduler.py::test_interrupt_ends_a_call",
        # kills the forked child of a multithreaded process if it starts threads of its own
        "tests/run/test_scheduler.py::test_forked_child_has_threads",
    ),
}


def environment(which: str) -> dict[str, str] | None:
    """Return the environment for a process under ``which``, None if its runtime is absent."""
    toolchain = find_toolchain(sanitize=which)
    needed = {} if toolchain is None else sanitizer_environment(toolchain)
    if not needed:
        return None
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return {**os.environ, **needed, "PYPTO_SANITIZE": which, "PYTHONPATH": path}


def pytest_command(arguments: Sequence[str]) -> list[str]:
    """Return the command that runs the tests in a single process."""
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]


def main(arguments: Sequence[str]) -> int:
    """Run the tests; return the exit code."""
    which, *chosen = arguments or ["address,undefined"]
    variables = environment(which)
    if variables is None:
        print(f"the compiler has no runtime for {which}", file=sys.stderr)
        return 2
    names_tests = any(not word.startswith("-") for word in chosen)
    left_out = [word for test in LEFT_OUT.get(which, ()) for word in ("--deselect", test)]
    command = pytest_command(
        ["--thorough", *(chosen if names_tests else [*chosen, *EVERYTHING]), *left_out]
    )
    return subprocess.run(command, env=variables, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
