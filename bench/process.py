"""What one compile costs a waiting user: a process that imports, parses and writes C++ once.

Each row is a separate program, run by a fresh interpreter: ``python -c pass``; ``import numpy``,
for comparison; ``import pypto.language``; and a kernel of 100 and of 1,000 statements from its text
through the passes of the Default strategy to its C++. Times are those of whole processes, from
start to end, with all bytecode present: every program has run once before. The programs take
turns, so that a busy machine slows all equally. ``modules`` is how many are loaded at the end, ``of
them ours`` those of the package.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from support.texts import straight_kernel

SIZES: Final = (100, 1_000)
REPETITIONS: Final = 20
KERNEL: Final = """\
import sys
import pypto.language as pl
with open(sys.argv[1], encoding="utf-8") as file:
    program = pl.parse(file.read())
from pypto import ir
from pypto._src.emit.cpp.generate import kernel_file
program = ir.PassManager.get_strategy().run_passes(program)
assert all(kernel_file(function) for function in program.functions_)
"""
COUNT: Final = """
ours = [name for name in sys.modules if name.partition(".")[0] == "pypto"]
print(len(sys.modules), len(ours))
"""


def programs(folder: Path) -> dict[str, list[str]]:
    """Return the rows of the table: a program's text, and its arguments."""
    found = {
        "pass": ["import sys"],
        "import numpy": ["import sys, numpy"],
        "import pypto.language": ["import sys, pypto.language"],
    }
    for size in SIZES:
        path = folder / f"kernel_{size}.py"
        path.write_text(straight_kernel(size), encoding="utf-8")
        found[f"{size:,} statements to C++"] = [KERNEL, str(path)]
    return found


def run(program: Sequence[str], ending: str = "") -> str:
    """Run a program to completion; return its output."""
    text, *arguments = program
    keep = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", text + ending, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=keep).stdout


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS, help="of each program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = programs(Path(folder))
        modules = {name: run(program, COUNT).split() for name, program in rows.items()}
        times: dict[str, list[float]] = {name: [] for name in rows}
        for _ in range(options.repetitions):
            for name, program in rows.items():
                start = time.perf_counter()
                run(program)
                times[name].append(time.perf_counter() - start)
    print(f"CPython {platform.python_version()}, {platform.machine()}; whole processes")
    print(f"{'':26}{'median':>10}{'fastest':>10}{'modules':>10}{'of them ours':>14}")
    for name, found in times.items():
        median, fastest = statistics.median(found) * 1e3, min(found) * 1e3
        loaded, ours = modules[name]
        print(f"{name:26}{median:7.1f} ms{fastest:7.1f} ms{loaded:>10}{ours:>14}")


if __name__ == "__main__":
    main()
