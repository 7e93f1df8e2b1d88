"""What an import of the public packages costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SRC = Path(__file__).parents[2] / "src"
SLOW = {"numpy", "ml_dtypes", "subprocess", "unittest"}

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


def test_probe_sees_slow_modules() -> None:
    """The probe reports what a module really loads."""
    assert {"unittest", "unittest.mock"} <= newly_imported("unittest.mock")
