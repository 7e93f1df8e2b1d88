"""Kernels as functions of JAX; the nightly run installs it."""

# pyright: basic

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.jax
from pypto._src.errors import CallError
from pypto._src.frameworks.operator import Operator
from tests.frameworks import kernels

jax: Any = pytest.importorskip("jax", reason="JAX is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")


def x_of(rows: int = 50) -> Any:
    return jax.random.normal(jax.random.key(0), (rows, 64))


def test_values_and_gradients() -> None:
    """The function computes the same as JAX's, and so does its gradient, compiled or not."""
    softmax = pypto.jax.register(kernels.softmax, backward=kernels.softmax_backward)
    x = x_of()
    for call in (softmax, jax.jit(softmax)):
        np.testing.assert_allclose(call(x), jax.nn.softmax(x), atol=1e-6)
    found = jax.jit(jax.grad(lambda x: (softmax(x * 2) ** 2).sum()))(x)
    wanted = jax.grad(lambda x: (jax.nn.softmax(x * 2) ** 2).sum())(x)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    assert jax.vmap(softmax)(x.reshape(2, 25, 64)).shape == (2, 25, 64)


def test_several_results_numbers_and_integers() -> None:
    """Results are returned as a tuple; integers take no gradient; scalars may have defaults."""
    divide = pypto.jax.register(kernels.divide, backward=kernels.divide_backward)
    a, n = jax.numpy.full((16, 64), 6.0), jax.numpy.full((16, 64), 3)
    quotient, half = divide(a, n=n)
    assert bool((quotient == 2).all())
    assert bool((half == 3).all())
    assert bool((jax.grad(lambda a: divide(a, n)[1].sum())(a) == 0.5).all())
    scale = pypto.jax.register(kernels.scale)
    assert bool((scale(a) == 12).all())
    assert bool((jax.jit(scale)(a, 0.5) == 3).all())


def test_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reads the arrays' memory directly."""
    given: list[int] = []
    run = Operator.run

    def noted(self: Operator, arrays: Any) -> None:
        given.append(arrays[0].ctypes.data)
        run(self, arrays)

    monkeypatch.setattr(Operator, "run", noted)
    x = x_of()
    jax.block_until_ready(pypto.jax.register(kernels.scale)(x))
    assert given == [x.unsafe_buffer_pointer()]


def test_what_is_refused() -> None:
    """Arrays of another shape, excess arguments, and kernels that modify an argument."""
    scale = pypto.jax.register(kernels.scale)
    with pytest.raises(CallError) as caught:
        scale(x_of()[:, :32])
    assert caught.value.slug == "argument-shape"
    with pytest.raises(CallError) as caught:
        scale(x_of(), 1.0, 2.0)
    assert caught.value.hint == "call it as scale(x, factor)"
    with pytest.raises(CallError) as caught:
        pypto.jax.register(kernels.append)
    assert caught.value.slug == "operator"
