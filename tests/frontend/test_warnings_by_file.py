"""A warning is shown once per location in a file, whatever other files have reported."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import numpy as np

import pypto

MEETING = """
import pypto.language as pl

@pl.jit(target="interpreter")
def meeting(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    for b in pl.spmd(4):
        out[0:16, :] = x[b * 16 : b * 16 + 16, :] + 1
    return out
"""


def test_two_files_with_one_mistake(tmp_path: Path) -> None:
    """The same mistake in the same line of a second file is reported, too."""
    x = np.zeros((64, 64), np.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default", pypto.PyptoWarning)
        for name in ("first.py", "second.py"):
            path = tmp_path / name
            path.write_text(MEETING)
            runpy.run_path(str(path))["meeting"](x, x.copy())
    assert [Path(each.filename).name for each in caught] == ["first.py", "second.py"]
