"""Memory for the tensors that a call makes: computed in advance, rejected if it is not there."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.run import memory_needs
from pypto._src.run.toolchain import find_toolchain

pytestmark = pytest.mark.skipif(find_toolchain() is None, reason="no C++ compiler")

ROWS = pl.dynamic("ROWS")


@pl.jit
def steps(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    """Make four tensors, of which at most two are live at a time."""
    x.bind_dynamic(0, ROWS)
    out.bind_dynamic(0, ROWS)
    rows = pl.tensor.dim(x, 0)
    padded = (rows + 63) // 64 * 64
    wide = pl.create_tensor([padded * 2, 64], dtype=pl.FP32)
    for i in pl.spmd(1, name_hint="first"):
        wide[0:1, :] = x[i : i + 1, :]
    second = pl.create_tensor([padded, 64], dtype=pl.FP32)
    for i in pl.spmd(1, name_hint="second"):
        second[0:1, :] = wide[i : i + 1, :]
    third = pl.create_tensor([padded, 64], dtype=pl.FP32)
    for i in pl.spmd(1, name_hint="third"):
        third[0:1, :] = second[i : i + 1, :]
    for i in pl.spmd(1, name_hint="last"):
        out[0:1, :] = third[i : i + 1, :]
    return out


def test_the_most_that_lives_at_one_time() -> None:
    """Sizes follow from the arguments; dead tensors do not count."""
    x = np.ones((100, 64), np.float32)
    need = steps.compile(x, np.zeros_like(x)).memory_needed(x, np.zeros_like(x))
    assert need.bytes == (256 + 128) * 64 * 4
    assert [tensor.name for tensor in need.tensors] == ["wide", "second"]
    assert [tensor.shape for tensor in need.tensors] == [(256, 64), (128, 64)]


def test_a_run_makes_at_least_that() -> None:
    """The estimate never exceeds what a run allocates."""
    x, out = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    compiled = steps.compile(x, out)
    compiled(x, out)
    assert (out[0] == 1).all()
    assert compiled.memory_needed(x, out=out).bytes <= compiled.memory.peak_bytes


def test_refusal_names_the_largest(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that cannot fit does not start."""
    monkeypatch.setattr(memory_needs, "_SMALL", 0)
    monkeypatch.setattr(memory_needs, "available_bytes", lambda: 3 * 2**14 - 1)
    x, out = np.ones((64, 64), np.float32), np.zeros((64, 64), np.float32)
    with pytest.raises(MemoryError) as caught:
        steps.compile(x, out)(x, out)
    assert str(caught.value) == (
        "steps makes tensors of 0.0 MiB that it needs at the same time, but 0.0 MiB are free; the "
        "largest: wide [128, 64] fp32 of 0.0 MiB; second [64, 64] fp32 of 0.0 MiB"
    )
    assert not out.any()
