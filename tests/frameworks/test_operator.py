"""What an operator knows about its kernel, whatever library it is for."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.jax
import pypto.torch
from pypto._src.errors import CallError
from pypto._src.frameworks import jax_operator, torch_operator
from pypto._src.frameworks.operator import Gradient, Operator, Result
from tests.frameworks import kernels
from tools.site.execute import run_page

PAGE = Path(__file__).parents[2] / "docs" / "arrays.md"


def test_shapes_follow_from_types() -> None:
    """A named size of an input is that of the output; what is not an output is an input."""
    operator = Operator(kernels.scale)
    assert [p.name for p in operator.inputs] == ["x", "factor"]
    assert operator.results({"x": (40, 64)}) == [Result((40, 64), "float32")]
    assert operator.new_shapes([np.empty((40, 64)), 1.0]) == [(40, 64)]
    assert Operator(kernels.divide).new_shapes([]) == [(16, 64), (16, 64)]
    assert [p.role for p in Operator(kernels.append).parameters] == ["input", "changed", "input"]


def test_arguments_of_another_shape() -> None:
    """Inputs that do not match are rejected when shapes are inferred, before anything runs."""
    with pytest.raises(CallError) as caught:
        Operator(kernels.scale).results({"x": (40, 32)})
    assert caught.value.message == (
        "argument 'x' of scale is an array [40, 32]; Tensor[[ROWS, 64], FP32] was wanted, with "
        "ROWS = 40"
    )


def test_kernels_run_in_order_of_their_parameters() -> None:
    """Outputs may be anywhere among the parameters, and constants have their defaults."""
    x, y = np.ones((5, 64), np.float32), np.zeros((5, 64), np.float32)
    Operator(kernels.scale).run([x, 3.0, y])
    assert (y == 3).all()
    a, n = np.full((16, 64), 6, np.float32), np.full((16, 64), 3, np.int32)
    quotient, half = np.zeros((2, 16, 64), np.float32)
    Operator(kernels.divide).run([a, n, quotient, half])
    assert (quotient == 2).all()
    assert (half == 3).all()


def test_gradients_by_name() -> None:
    """A gradient kernel gets its arguments by parameter name; integers have no gradient."""
    gradient = Gradient(Operator(kernels.divide), kernels.divide_backward, ())
    assert (gradient.saved, gradient.made) == (["n"], ["a"])
    assert gradient.arguments({"n": 1}, ["quotient", "half"]) == [1, "half", "quotient"]


WRONG: dict[str, tuple[Callable[[], object], str, str | None]] = {
    "no shape": (
        lambda: Operator(kernels.without_shape),
        "the shape of output 'y' of without_shape is not told by its inputs: it is pl.Tensor",
        'write y: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]] with ROWS = pl.dynamic("ROWS") in the '
        "type of an input",
    ),
    "constant": (
        lambda: Operator(kernels.with_constant),
        "parameter 'n' of with_constant is a constant without a default, which no operator takes",
        "give n a default",
    ),
    "no kernel": (
        lambda: Operator(test_gradients_by_name),  # pyright: ignore[reportArgumentType]
        f"{test_gradients_by_name!r} is not a kernel",
        "pass a function decorated with @pl.jit",
    ),
    "parameter": (
        lambda: Gradient(Operator(kernels.scale), kernels.divide_backward, ()),
        "parameter 'n' of divide_backward is nothing that scale has; it has x, factor, y, grad_y",
        None,
    ),
    "no gradient": (
        lambda: Gradient(Operator(kernels.softmax), kernels.scale, ()),
        "output 'grad_y' of scale is the gradient of no input of softmax; its inputs are x",
        None,
    ),
}


@pytest.mark.parametrize("name", [name for name in WRONG if name != "no gradient"])
def test_what_is_no_operator(name: str) -> None:
    """Kernels that cannot be operators are rejected, with what to write."""
    make, message, hint = WRONG[name]
    with pytest.raises(CallError) as caught:
        make()
    assert (caught.value.message, caught.value.hint) == (message, hint)
    assert caught.value.slug == "operator"


@pytest.mark.parametrize(
    ("register", "extra"),
    [(pypto.torch.register, "torch"), (pypto.jax.register, "jax")],
    ids=["torch", "jax"],
)
def test_library_that_is_not_there(
    register: Callable[..., Any], extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library the error says what to install; importing our package needs nothing."""

    def nothing(name: str) -> None:
        raise ImportError(name)

    for module in (torch_operator, jax_operator):
        monkeypatch.setattr(module, "import_module", nothing)
    with pytest.raises(CallError) as caught:
        register(kernels.scale)
    assert caught.value.slug == "missing-package"
    assert caught.value.hint == f"pip install 'pypto[{extra}]'"
    assert importlib.import_module(f"pypto.{extra}").__all__ == ["register"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_page(library: str, tmp_path: Path) -> None:
    """The code in docs/arrays.md for a library runs, after the page's first kernels."""
    pytest.importorskip(library)
    text = PAGE.read_text(encoding="utf-8").replace(f"```python needs/{library}\n", "```python\n")
    (tmp_path / "arrays.md").write_text(text, encoding="utf-8")
    run_page(tmp_path / "arrays.md")
