"""Kernels as operators of PyTorch; the nightly run installs it."""

# pyright: basic

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pypto.torch
from pypto._src.errors import CallError
from pypto._src.frameworks.operator import Operator
from tests.frameworks import kernels

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed")
# Warnings from PyTorch itself while it compiles.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def softmax() -> Callable[..., Any]:
    return pypto.torch.register(kernels.softmax, backward=kernels.softmax_backward)


def x_of(rows: int = 50) -> Any:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(rows, 64, generator=generator).requires_grad_()


def test_values_and_gradients(softmax: Callable[..., Any]) -> None:
    """The operator computes the same as PyTorch's, and so does its gradient."""
    x, same = x_of(), x_of()
    y, wanted = softmax(x), torch.softmax(same, -1)
    torch.testing.assert_close(y, wanted)
    y.square().sum().backward()
    wanted.square().sum().backward()
    torch.testing.assert_close(x.grad, same.grad)


@pytest.mark.parametrize("rows", [1, 50])
def test_opcheck(softmax: Callable[..., Any], rows: int) -> None:
    """PyTorch's own tests of operators report nothing."""
    checks = torch.library.opcheck(softmax, (x_of(rows),))
    assert set(checks.values()) == {"SUCCESS"}
    assert len(checks) == 4


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled(softmax: Callable[..., Any], backend: str) -> None:
    """`torch.compile` includes it in a single graph, forward and backward."""

    def function(x: Any) -> Any:
        return (softmax(x * 2) + 1).square().sum()

    compiled = torch.compile(function, backend=backend, fullgraph=True, dynamic=True)
    for rows in (50, 33):
        x, same = x_of(rows), x_of(rows)
        compiled(x).backward()
        (torch.softmax(same * 2, -1) + 1).square().sum().backward()
        torch.testing.assert_close(x.grad, same.grad)


def test_several_results_and_integers() -> None:
    """Results are returned as a tuple; an integer input neither has nor takes a gradient."""
    divide = pypto.torch.register(kernels.divide, backward=kernels.divide_backward)
    a = torch.full((16, 64), 6.0, requires_grad=True)
    n = torch.full((16, 64), 3, dtype=torch.int32)
    assert set(torch.library.opcheck(divide, (a, n)).values()) == {"SUCCESS"}
    quotient, half = divide(a, n)
    assert bool((quotient == 2).all())
    assert bool((half == 3).all())
    half.sum().backward()
    assert bool((a.grad == 0.5).all())


def test_numbers_have_defaults() -> None:
    """A scalar of the kernel is a number of the operator, with the same default."""
    scale = pypto.torch.register(kernels.scale, "tested::scale")
    assert bool((scale(torch.ones(7, 64)) == 2).all())
    assert bool((scale(torch.ones(7, 64), factor=3.0) == 3).all())
    assert torch.ops.tested.scale(torch.ones(7, 64)).shape == (7, 64)


def test_gradients_of_gradients(softmax: Callable[..., Any]) -> None:
    """They are an error; PyTorch would treat them as zero."""
    x = x_of()
    [once] = torch.autograd.grad(softmax(x).square().sum(), x, create_graph=True)
    with pytest.raises(CallError, match="have no gradients of their own") as caught:
        once.sum().backward()
    assert caught.value.slug == "operator"


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_tensors_that_are_changed(backend: str) -> None:
    """A `pl.InOut` tensor, of BF16 here, is modified in place, compiled or not."""
    append = pypto.torch.register(kernels.append)
    row = torch.ones(1, 64, dtype=torch.bfloat16)

    def function(cache: Any, at: int) -> Any:
        append(row * 3, cache, at)
        return cache + 0

    for call in (function, torch.compile(function, backend=backend, fullgraph=True)):
        cache = torch.zeros(5, 64, dtype=torch.bfloat16)
        address = cache.data_ptr()
        seen = call(cache, 2)
        assert cache.data_ptr() == address
        assert cache.sum(1).tolist() == [0, 0, 192, 0, 0]
        assert seen.sum(1).tolist() == [0, 0, 192, 0, 0]
    args = (row, torch.zeros(5, 64, dtype=torch.bfloat16), 1)
    assert set(torch.library.opcheck(append, args).values()) == {"SUCCESS"}


def test_no_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel gets the tensors' own addresses: inputs, modified tensors, and results."""
    given: list[Any] = []
    run = Operator.run

    def noted(self: Operator, arrays: Any) -> None:
        given.extend(array.ctypes.data for array in arrays if hasattr(array, "ctypes"))
        run(self, arrays)

    monkeypatch.setattr(Operator, "run", noted)
    scale = pypto.torch.register(kernels.scale)
    x = torch.ones(9, 64)[2:]
    y = scale(x)
    assert given == [x.data_ptr(), y.data_ptr()]
    given.clear()
    row, cache = torch.ones(2, 5, 64, dtype=torch.bfloat16)
    pypto.torch.register(kernels.append)(row[:1], cache, 0)
    assert given == [row.data_ptr(), cache.data_ptr()]


def test_strides() -> None:
    """Inputs may have any strides; for a tensor that is modified the error says what to do."""
    scale = pypto.torch.register(kernels.scale)
    x = torch.arange(64.0 * 8).reshape(64, 8).T
    assert bool((scale(x) == x * 2).all())
    assert bool((scale(torch.ones(1, 64).expand(5, 64)) == 2).all())
    cache = torch.zeros(64, 5, dtype=torch.bfloat16).T
    with pytest.raises(CallError) as caught:
        pypto.torch.register(kernels.append)(torch.ones(1, 64, dtype=torch.bfloat16), cache, 0)
    assert caught.value.slug == "argument-layout"


def test_other_types_are_refused(softmax: Callable[..., Any]) -> None:
    """Another element type or shape is rejected, with what to pass, also when only tracing."""
    with pytest.raises(CallError, match=r"64-bit|float64|FP32"):
        softmax(torch.ones(3, 64, dtype=torch.float64))
    with pytest.raises(CallError) as caught:
        softmax(torch.ones(3, 64, dtype=torch.float64, device="meta"))
    assert caught.value.hint == "pass x.to(torch.float32)"
    with pytest.raises(CallError) as caught:
        softmax(torch.ones(3, 32, device="meta"))
    assert caught.value.slug == "argument-shape"


def test_registered_again() -> None:
    """A name refers to what was registered last, as when a notebook cell is run again."""
    for kernel, value in ((kernels.scale, 2), (kernels.softmax, 1 / 64), (kernels.scale, 2)):
        made = pypto.torch.register(kernel, "tested::again")
        assert bool((made(torch.ones(4, 64)) == value).all())
    with pytest.raises(CallError) as caught:
        pypto.torch.register(kernels.scale, "again")
    assert caught.value.hint == "name='mylibrary::scale'"
