"""Operators and calls with operands of every kind, in a kernel, a region and on the host.

Most combinations are mistakes. Finding a hint for one must not fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import pytest

from tests import effort
from tests.errors.test_errors import failure, first_line
from tests.errors.test_typed_hints import HOST, REGION, TILE

OPERANDS = [
    *("t", "x", "w", "idx", "n", "f", "out", "2", "1.5", "-1", "None", "True", '"s"', "[1, 2]"),
    *("(1,)", "{}", "t[0:1, :]", "x[0, 0]", "pl.FP32", "self", "pl", "t > 0", "x.shape", "[t, t]"),
]
OPERATORS = [
    *("+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"),
    *("<", "<=", "==", "!=", "is", "is not", "in", "not in", "and", "or"),
]
AUGMENTED = ["+", "-", "*", "/", "//", "%", "**", "@", "&", "|", "^", "<<", ">>"]
CALLED = [
    *("cat", "cdiv", "clamp", "clip", "flatten", "hstack", "item", "ones", "permute", "reshape"),
    *("stride", "unsqueeze", "view", "where", "zeros", "max", "sum", "mean", "transpose", "size"),
    *("argmax", "round", "sign", "full", "load", "slice", "matmul", "matmul_acc", "concat"),
    *("gather", "topk", "float", "fill", "pow"),
]
ARGUMENTS = [
    *("", "t", "x", "n", "2", "None", "[t, t]", "[]", "[2, -1]", "t, 0", "t, None, 1"),
    *("t, [0, 1]", "t, -1", "x, n", "n, f", "t > 0, t, 0", "x, [0, 0], [16, 16]", "x, 0, 16"),
    *("*t", "**t", "dim=0", "axis=None", "t, axis=None", "t, dim=n", 't, dim="a"', "[n, n]"),
    *("(2, 3), pl.FP32", "t, t, t", "0, t, t", "x, n, n", "idx", "t[0]", "t.shape", '"s"'),
    *("x, [16], [n]", "[[t]]", "x, [1, 64], [0, 0], drop_dims=5", "x, [16], [0], clamp=True"),
]
TEMPLATES = {"kernel": TILE, "region": REGION, "host": HOST}


def _operations() -> Iterator[str]:
    for symbol, left, right in itertools.product(OPERATORS, OPERANDS, OPERANDS):
        yield f"u = {left} {symbol} {right}"
    for symbol, name, value in itertools.product(AUGMENTED, ("t", "x", "n", "out"), OPERANDS):
        yield f"{name} {symbol}= {value}"
    for first, second, symbol in itertools.product(OPERANDS, OPERANDS, "&|"):
        yield f"u = 0 < {first} {symbol} {second} < 1"


def _calls() -> Iterator[str]:
    for name, arguments, of in itertools.product(CALLED, ARGUMENTS, ("pl", "np", "t", "x")):
        yield f"u = {of}.{name}({arguments})"


def _try_all(place: str, lines: Iterable[str]) -> None:
    """Parse each line; the program is right, or has an error of its own."""
    template = TEMPLATES[place]
    if "import numpy" not in template:
        template = f"import numpy as np\n{template}"
    for line in lines:
        try:
            first_line(template.replace("{line}", line), "")
        except Exception as error:
            raise AssertionError(line) from error


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", TEMPLATES)
def test_operators(place: str) -> None:
    """An operator is accepted or refused; no other exception is raised."""
    _try_all(place, effort.part(_operations(), 41, first=[*TEMPLATES].index(place)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", TEMPLATES)
def test_calls(place: str) -> None:
    """The same for calls of ops, of NumPy and of methods."""
    _try_all(place, effort.part(_calls(), 23, first=[*TEMPLATES].index(place)))


@pytest.mark.parametrize("place", ["kernel", "region"])
@pytest.mark.parametrize(
    "value",
    [
        "pl.slice(t, t, t)",
        "pl.slice(t, None, 1)",
        "pl.view(t, t, t)",
        "pl.reshape(t, None, 1)",
        "t.reshape(dim=0)",
        "t.reshape(axis=None)",
        "t.full(**t)",
    ],
)
def test_arguments_of_another_kind(place: str, value: str) -> None:
    """What is no list, in place of one, is an error of the program."""
    error, _ = failure(TEMPLATES[place].replace("{line}", f"u = {value}"))
    assert error.slug in ("argument-kind", "argument-count", "op-operands", "attribute")


@pytest.mark.parametrize("dims", ["5", "[5]", "[n]", "t"])
def test_dropped_dimensions_are_those_of_the_slice(dims: str) -> None:
    """A slice has a dimension that it drops."""
    line = f"u = pl.slice(x, [1, 64], [0, 0], drop_dims={dims})"
    error, _ = failure(REGION.replace("{line}", line))
    assert error.message.startswith("drop_dims is a list of dimensions from 0 to 1, got ")


@pytest.mark.parametrize("place", ["kernel", "region"])
def test_maximum_of_no_dimension(place: str) -> None:
    """No dimension means all of them elsewhere: it is not silently the first."""
    for call in ("pl.max(t, axis=None)", "pl.max(t, None)"):
        error, _ = failure(TEMPLATES[place].replace("{line}", f"u = {call}"))
        assert error.message == "pl.max reduces one dimension, axis is None"
        assert error.hint == "write pl.col_max(pl.row_max(t))"


RAISES = """\
class Raises:
    @property
    def axis(self):
        raise RuntimeError("of the user")


raises = Raises()
"""


def test_values_of_the_user_that_raise() -> None:
    """Trying an argument for a hint never replaces the report by an exception of the user."""
    code = RAISES + TILE.replace("{line}", "t = t.softmax(dim=raises.axis)")
    error, _ = failure(code)
    assert "softmax" in error.message
