"""Real functions: their largest errors, over all 16-bit values and 2^22 FP32 ones."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.headers.harness import INCLUDE, WARNINGS, Library, tensor, tile

SOURCE = Path(__file__).with_name("accuracy.cpp")

# In units in the last place; docs/performance.md has the same table.
BOUNDS = {"exp": 1.0, "log": 1.0, "sqrt": 0.5, "rsqrt": 1.5, "recip": 0.5}

VARIANTS = ("", "-DPTO_SCALAR", "-DPTO_CPU_SOFT_HALF", "-mno-avx512f", "-mno-avx -mno-fma")


def variant(toolchain: Toolchain, flags: str) -> Toolchain:
    """Return the compiler with extra flags; skip those that need x86 on other machines."""
    if "-mno" in flags and not _is_x86(toolchain):
        pytest.skip("flags of x86")
    return replace(toolchain, command=(*toolchain.command, *flags.split()))


def _is_x86(toolchain: Toolchain) -> bool:
    command = [*toolchain.command, "-dM", "-E", "-x", "c++", "/dev/null"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "__x86_64__" in done.stdout


@pytest.mark.parametrize("flags", effort.part(VARIANTS, 3))
def test_largest_errors(toolchain: Toolchain, tmp_path: Path, flags: str) -> None:
    """FP32 errors are bounded, 16-bit results are correctly rounded, and x / c truly divides."""
    chosen = variant(toolchain, flags)
    program = tmp_path / "accuracy"
    options = [f for f in chosen.flags if f not in ("-shared", "-fPIC")]
    command = [*chosen.command, f"-I{INCLUDE}", *WARNINGS, *options, str(SOURCE), "-o", program]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    done = subprocess.run([program], capture_output=True, text=True, check=True, timeout=250)
    lines = [line.split() for line in done.stdout.splitlines()]
    errors = {name: float(error) for name, error, *_ in lines}
    assert [name for name in BOUNDS if errors[name] > BOUNDS[name]] == []
    rounded = [f"{name}_{kind}" for kind in ("half", "bf16") for name in BOUNDS]
    different = {name: off for name, _, off in lines if name in rounded}
    assert different == dict.fromkeys(rounded, "0")
    assert errors["division"] == 0


SHAPE = (1, 64)
IO = "".join(tensor(f"g{i}", i, "float", SHAPE) for i in range(2)) + tensor("gd", 2, "float", SHAPE)
TILES = "".join(tile(name, "float", SHAPE, 0x400 * i) for i, name in enumerate("abd"))
ZEROS = IO + TILES + "TLOAD(a, g0); TLOAD(b, g1);\n"
KERNELS = {
    name: ZEROS + f"{text} TSTORE(gd, d);"
    for name, text in {
        "max": "TMAX(d, a, b);",
        "min": "TMIN(d, a, b);",
        "relu": "TRELU(d, a);",
        "maxs": "TMAXS(d, a, 0.0f);",
        "mins": "TMINS(d, a, -0.0f);",
    }.items()
}


@pytest.mark.parametrize("flags", effort.part(VARIANTS, 3, first=1))
def test_sign_of_zero(toolchain: Toolchain, flags: str) -> None:
    """For equal operands max and min return the second, so the sign of its zero matters."""
    library = Library(KERNELS, variant(toolchain, flags))
    a = np.tile(np.array([-0.0, 0.0, -0.0, 0.0], np.float32), 16).reshape(SHAPE)
    b = np.tile(np.array([0.0, -0.0, -0.0, 0.0], np.float32), 16).reshape(SHAPE)
    plus, minus = np.zeros_like(a), np.full_like(a, -0.0)
    for name, expected in {"max": b, "min": b, "relu": plus, "maxs": plus, "mins": minus}.items():
        out = np.ones(SHAPE, np.float32)
        library.run(name, a, b, out)
        np.testing.assert_array_equal(np.signbit(out), np.signbit(expected), err_msg=name)
        np.testing.assert_array_equal(out, 0)
