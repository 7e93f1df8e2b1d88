"""The cost of importing the public packages."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
SLOW = {"numpy", "ml_dtypes", "subprocess", "unittest"}
UNUSED = {"inspect", "dataclasses", "logging", "pathlib", "msgpack", "threading", "weakref"}
"""Modules that a compile does not use, and that cost more to import than most of ours."""

MOST = 144
"""The most modules of ours that compiling a straight-line kernel loads: one idea per module."""

# What the interpreter loaded before our import, for example for a `.pth` file, does not count.
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
    """From text to C++, a straight-line kernel loads nothing that only other programs need."""
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
    """The probe reports the modules that an import really loads."""
    assert {"unittest", "unittest.mock"} <= newly_imported("unittest.mock")
