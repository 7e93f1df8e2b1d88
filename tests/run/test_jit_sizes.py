"""``@pl.jit``: one program for many sizes, one per number, new arrays for outputs."""

# pyright: reportArgumentType=false
# A scalar that is part of a kernel can be used where a literal number is required.

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import CallError, ParserError

Array = np.ndarray[Any, Any]
ROWS = pl.dynamic("ROWS")
RNG = np.random.default_rng(5)


@pytest.fixture(params=["interpreter", "cpu"])
def target(request: pytest.FixtureRequest) -> Any:
    return request.param


def floats(*shape: int) -> Array:
    return RNG.random(shape, np.float32)


def annotated(target: Any) -> Any:
    @pl.jit(target=target)
    def double(x: pl.Tensor[[ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]]):
        for b in pl.spmd(ROWS // 16):
            y[b * 16 : b * 16 + 16, :] = pl.mul(x[b * 16 : b * 16 + 16, :], 2.0)
        return y

    return double


def bound(target: Any) -> Any:
    @pl.jit(target=target)
    def double(x: pl.Tensor[[32, 64], pl.FP32], y: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        x.bind_dynamic(0, ROWS)
        y.bind_dynamic(0, ROWS)
        for b in pl.spmd(pl.tensor.dim(x, 0) // 16):
            y[b * 16 : b * 16 + 16, :] = pl.mul(x[b * 16 : b * 16 + 16, :], 2.0)
        return y

    return double


def bare(target: Any) -> Any:
    @pl.jit(target=target)
    def double(x: pl.Tensor, y: pl.Out[pl.Tensor]):
        x.bind_dynamic(0, ROWS)
        y.bind_dynamic(0, ROWS)
        for b in pl.spmd(x.shape[0] // 16):
            y[b * 16 : b * 16 + 16, :] = pl.mul(x[b * 16 : b * 16 + 16, :], 2.0)
        return y

    return double


@pytest.mark.parametrize("make", [annotated, bound, bare])
def test_one_program_for_many_sizes(make: Any, target: Any) -> None:
    """A named size is not part of the program, however it got its name."""
    kernel = make(target)
    for rows in (16, 64, 32):
        x, y = floats(rows, 64), np.zeros((rows, 64), np.float32)
        kernel(x, y)
        np.testing.assert_array_equal(y, x * 2)
    assert kernel.misses == ["double: first call"]
    assert kernel.compile(x, y) is kernel.compile(floats(16, 64), floats(16, 64))


def test_a_program_for_each_size(target: Any) -> None:
    """If a kernel needs the size as a number, each size gets a program of its own."""

    @pl.jit(target=target)
    def double(x: pl.Tensor[[ROWS, 64], pl.FP32], y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]]):
        with pl.at(level=pl.Level.CORE_GROUP):
            for k in pl.unroll(ROWS // 16):
                y[k * 16 : k * 16 + 16, :] = pl.mul(x[k * 16 : k * 16 + 16, :], 2.0)
        return y

    for rows in (16, 32, 16):
        x = floats(rows, 64)
        np.testing.assert_array_equal(double(x), x * 2)
    assert double.misses == [
        "double: first call",
        "double: x is [32, 64], was [16, 64]; y is [32, 64], was [16, 64]",
    ]


def scaled(target: Any) -> Any:
    @pl.jit(target=target)
    def power(
        x: pl.Tensor[[16, 64], pl.FP32],
        n: pl.Scalar[pl.INT32],
        f: pl.Scalar[pl.FP32],
        adds: pl.Scalar[pl.BOOL],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = x[:, :]
            for _ in pl.unroll(n):
                t = pl.mul(t, f)
            if adds:
                t = pl.add(t, n)
            y[:, :] = t
        return y

    return power


def test_scalars_are_part_of_the_kernel(target: Any) -> None:
    """Each value gets its own program, where it is a constant: a trip count or a condition."""
    power, x = scaled(target), floats(16, 64)
    for n, f, adds in ((2, 0.5, False), (3, 2.0, True), (np.int32(2), np.float32(0.5), np.False_)):
        wanted = x * np.float32(f) ** int(n) + (n if adds else 0)
        np.testing.assert_array_equal(power(x, n, f, adds), wanted)
    assert power.misses == [
        "power: first call",
        "power: n is 3, was 2; f is 2.0, was 0.5; adds is True, was False",
    ]


def test_the_program_of_a_scalar(target: Any) -> None:
    """What `compile` returns accepts the scalar, and rejects any other value."""
    power, x = scaled(target), floats(16, 64)
    compiled = power.compile(x, 2, 0.5, False)
    assert compiled.signature == (
        "power(x: Tensor[[16, 64], FP32], n: Scalar[INT32], f: Scalar[FP32], "
        "adds: Scalar[BOOL], y: Out[Tensor[[16, 64], FP32]])"
    )
    y = np.zeros_like(x)
    compiled(x, 2, 0.5, False, y)
    np.testing.assert_array_equal(y, x * np.float32(0.25))
    with pytest.raises(CallError, match="argument 'n' of power is 3; the program was compiled for"):
        compiled(x, 3, 0.5, False, y)


def test_a_scalar_at_run_time(target: Any) -> None:
    """`pl.RUNTIME` keeps a scalar a run-time value; shapes are those of the annotations."""

    @pl.jit(target=target)
    def power(
        x: pl.Tensor[[16, 64], pl.FP32],
        n: pl.Scalar[pl.INT32],
        y: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            t = x[:, :]
            for _ in pl.range(n):
                t = pl.mul(t, 2.0)
            y[:, :] = t
        return y

    compiled, x, y = power.compile(n=pl.RUNTIME), floats(16, 64), np.zeros((16, 64), np.float32)
    for n in (0, 3):
        compiled(x, n, y)
        np.testing.assert_array_equal(y, x * 2**n)
    assert power.compile(n=pl.RUNTIME) is compiled
    assert power.compile(n=3) is power.compile(x, 3, y)
    with pytest.raises(
        CallError, match=r"argument 'n' of power is pl.RUNTIME, but a call must pass"
    ):
        power(x, pl.RUNTIME, y)


def test_a_number_of_each_call() -> None:
    """A parameter that is a run-time scalar anyway needs no value where annotations are given."""

    @pl.jit
    def shifted(
        x: pl.Tensor[[16, 64], pl.FP32], n: pl.INT32, y: pl.Out[pl.Tensor[[16, 64], pl.FP32]]
    ):
        with pl.at(level=pl.Level.CORE_GROUP):
            y[:, :] = pl.add(x[:, :], pl.cast(n, pl.FP32))

    compiled, x, y = shifted.compile(), floats(16, 64), np.zeros((16, 64), np.float32)
    for n in (2, 3):
        compiled(x, n, y)
        np.testing.assert_array_equal(y, x + np.float32(n))
    ir.assert_structural_equal(shifted.declared(), shifted.parse(x, 1, y))
    with pytest.raises(CallError, match="argument 'n' is missing"):
        shifted(x, y=y)


def test_outputs_left_out() -> None:
    """An omitted output is a new array, of the size that the other arguments determine."""
    kernel, x = annotated("interpreter"), floats(48, 64)
    np.testing.assert_array_equal(kernel(x), x * 2)
    np.testing.assert_array_equal(kernel(x=x), x * 2)
    with pytest.raises(CallError, match="argument 'y' is missing, and no other one tells"):
        bare("interpreter")(x)


@pl.jit
def both(
    x: pl.Tensor[[64, 64], pl.FP32],
    more: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    less: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
):
    with pl.at(level=pl.Level.CORE_GROUP):
        more[:] = x + 1.0
        less[:] = x - 1.0


def test_outputs_left_out_of_a_kernel_without_a_return() -> None:
    """The call returns the arrays that it created."""
    x = floats(64, 64)
    more, less = both(x)
    np.testing.assert_array_equal(more, x + 1)
    np.testing.assert_array_equal(less, x - 1)
    assert both(x, more, less) is None


def test_lower_runs_the_passes() -> None:
    """`parse` gives the program of a call before the passes, `lower` after them."""
    kernel, x = annotated("cpu"), floats(16, 64)
    assert [f.name for f in kernel.parse(x).functions_] == ["double"]
    assert sorted(f.name for f in kernel.lower(x).functions_) == ["double", "double_incore_0"]


def test_nothing_is_read_before_the_first_use() -> None:
    """A kernel's source is read on first use: a mistake, or missing source, shows up then."""
    names: dict[str, Any] = {"pl": pl}
    exec("@pl.jit\ndef kernel(x: pl.Tensor, y):\n    pass", names)
    with pytest.raises(ParserError, match="source"):
        names["kernel"](floats(4, 4), floats(4, 4))
