"""The script that compares kernels with NumPy and PyTorch."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.natively import compiler

ROOT = Path(__file__).parents[2]


def test_row_of_the_table() -> None:
    """A row is checked, timed and printed with its ratios; the libraries that lack are said."""
    compiler()
    command = [sys.executable, str(ROOT / "bench" / "kernels.py")]
    command += ["--threads", "1", "--seconds", "0.01", "flash attention"]
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    has_torch = importlib.util.find_spec("torch") is not None
    assert ("PyTorch is not installed (extra bench)" in done.stdout) is not has_torch
    assert re.search(
        r"^1 thread: multiply-add peak \d+ GFLOP/s \(FP32\), copy \d+ GB/s$", done.stdout, re.M
    )
    number = r"\d+\.\d\d"
    torch = number if has_torch else "-"
    row = rf"^flash attention 1024x128 +{number} +{number} +{number} +{torch} +\d+% fma  >= 0.8 "
    assert len(re.findall(row, done.stdout, re.M)) == 1
