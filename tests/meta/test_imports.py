"""What an import of the public packages costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
SLOW = {"numpy", "ml_dtypes", "subprocess", "unittest"}
UNUSED = {"inspect", "dataclasses", "logging", "pathlib", "msgpack", "threading", "weakref"}
"""What a compile has no use for, and costs more to import than most of our modules."""

MOST = 144
"""How many modules of ours a straight kernel takes from its text to its C++: one idea a module."""

# What the interpreter loaded before our import, say for a `.pth` file, is not our cost.
PROBE = """
import sys
before = set(sys.modules)
import {module}
print(*(set(sys.modules) - before))
"""


def newly_imported(module: str) -> set[str]:
    """Return the modules that importing ``module`` adds to a fresh interpreter."""
    path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
    result = subprocess.run(
        [sys.executable, "-c", PROBE.format(module=module)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_language_does_not_load_slow_modules() -> None:
    """Writing and printing programs needs no NumPy, and starts no compiler."""
    names = ["pypto", "pypto.language"]
    faces = [name for name in names if (SRC / name.replace(".", "/") / "__init__.py").exists()]
    for face in faces:
        loaded = newly_imported(face)
        assert face in loaded
        assert loaded & SLOW == set(), face


COMPILE = """
import pypto.language as pl
from pypto import ir
from pypto._src.emit.cpp.generate import kernel_file
program = pl.parse(
    "import pypto.language as pl\\n@pl.program\\nclass P:\\n"
    "  @pl.function(type=pl.FunctionType.InCore)\\n"
    "  def f(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):\\n"
    "    t = pl.exp(pl.load(x, [0, 0], [64, 64]))\\n"
    "    y = pl.store(t + 1.0, [0, 0], [64, 64], y)\\n"
)
program = ir.PassManager.get_strategy().run_passes(program)
assert "TEXP" in kernel_file(program.functions_[0])
"""


def test_a_compile_loads_what_it_needs() -> None:
    """From text to C++ a straight kernel loads nothing that only other programs need."""
    loaded = newly_imported("pypto\n" + COMPILE)
    assert loaded & (SLOW | UNUSED) == set()
    ours = {name for name in loaded if name.partition(".")[0] == "pypto"}
    others = (
        "interp lint statement dialect run ir.serialization ir.equal ir.builders.builder "
        "ops.conversion"
    )
    assert {f"pypto._src.{name}" for name in others.split()} & ours == set()
    assert len(ours) <= MOST


def test_probe_sees_slow_modules() -> None:
    """The probe reports what a module really loads."""
    assert {"unittest", "unittest.mock"} <= newly_imported("unittest.mock")
