"""The texts stored in `tests/golden/pto` are accepted, re-print identically, and mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.printer import print_source
from pypto._src.dialect.reader import Source
from pypto._src.dialect.verify import check, find_faults, options_of
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.types import ScalarType
from pypto._src.passes.pass_manager import PassManager
from tests import effort
from tests.cases import Array
from tests.emit.pto_forms import FORMS
from tests.emit.pto_texts import LEVELS, OPS, emitted, forms, rows, texts
from tests.natively import with_scratch


def accepted(text: str, name: str) -> Source:
    """Assert that a text is accepted for both targets and re-prints identically."""
    source = check(text, name, options_of(text, "a3"))
    assert find_faults(source.module, options_of(text, "a5")) == [], name
    assert print_source(source) == text, name
    return source


def assert_same(found: list[Any], wanted: list[Any], name: str) -> None:
    """Compare arrays bit by bit."""
    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, np.ndarray):
            pair: list[Array] = [one, other]
            left, right = (np.ascontiguousarray(array).view(np.uint8) for array in pair)
            np.testing.assert_array_equal(left, right, err_msg=name)


@pytest.mark.parametrize("op", OPS)
def test_row_is_accepted_and_means_the_same(op: str) -> None:
    """For both targets and at both levels; the results equal the interpreter's, bit by bit."""
    for row in effort.part(rows(op), 4, first=OPS.index(op)):
        arguments = row.built.arguments(row.case.values)
        wanted = [array.copy() for array in arguments]
        Evaluator(row.program).call(row.built.function.name, wanted)
        for strategy in row.strategies:
            program = PassManager.get_strategy(strategy).run_passes(row.program)
            [after] = program.functions_
            source = accepted(PTOCodegen().generate(program), row.name)
            found = [array.copy() for array in arguments]
            evaluate(source, row.built.function.name, with_scratch(found, after))
            assert_same(found, wanted, f"{op} {row.name} {strategy}")


@pytest.mark.parametrize("folder", ["examples", "random"])
def test_other_texts_are_accepted(folder: str) -> None:
    """So are the examples and the random kernels, whose results other tests compare."""
    for path, text in texts(folder):
        accepted(text, path)


# --------------------------------------------------------------------------------------------
# Forms
# --------------------------------------------------------------------------------------------

SIZES = {"M": 32, "N": 64}
"""The values of the symbolic dimensions of the forms."""
NUMBERS = (0, 1, 2, 3, 5)
"""The values of their integer scalars, in order."""


def _size(dim: Expr, scalars: dict[str, int], named: dict[str, int]) -> int:
    if isinstance(dim, ConstInt):
        return dim.value
    if isinstance(dim, Var):
        return named[dim.name] if dim.name in named else scalars[dim.name]
    return 2 * scalars["n"]  # the only dimension that is an expression


def _array(
    kind: TensorType, scalars: dict[str, int], named: dict[str, int], rng: np.random.Generator
) -> Array:
    shape = tuple(_size(dim, scalars, named) for dim in kind.shape)
    if kind.dtype.is_float():
        # Halves and quarters, so that sums are exact in any order.
        return (rng.integers(-16, 16, shape) / 4).astype(kind.dtype.numpy)
    return rng.integers(0, 48, shape).astype(kind.dtype.numpy)


def _arguments(
    function: ir.Function, iteration: int, sizes: dict[str, int]
) -> tuple[list[Any], list[Any]]:
    """Return arguments for a call, and the text's extra ones: the symbolic dimensions."""
    rng = np.random.default_rng(iteration)
    scalars: dict[str, Any] = {}
    types = {v.name: v.type for v in function.params}
    numbers = {name: kind.dtype for name, kind in types.items() if isinstance(kind, ScalarType)}
    for index, (name, dtype) in enumerate(numbers.items()):
        number = NUMBERS[(iteration + 2 * index) % len(NUMBERS)]
        if function.name == "loop_of_any_step":
            number = [(0, 10, 3), (9, -4, -2), (5, 5, 1), (-7, 7, 5), (3, 9, -1)][iteration][index]
        if function.name == "size_of_a_parameter":
            number = 16
        scalars[name] = (0.75 + number) if dtype.is_float() else number
    out = [
        scalars[v.name] if isinstance(v.type, ScalarType) else _array(v.type, scalars, sizes, rng)
        for v in function.params
        if isinstance(v.type, ScalarType | TensorType)
    ]
    named = {
        dim.name: sizes[dim.name]
        for v in function.params
        if isinstance(v.type, TensorType)
        for dim in v.type.shape
        if isinstance(dim, Var) and dim.name in sizes
    }
    return out, list(named.values())


def _typed(function: ir.Function, values: list[Any]) -> list[Any]:
    """Return values as the text expects them: scalars typed, elements that are read signless."""
    out: list[Any] = []
    for var, value in zip(function.params, values, strict=True):
        kind = var.type
        if isinstance(kind, ScalarType):
            out.append(value if kind.dtype is DataType.INDEX else kind.dtype.numpy.type(value))
        elif value.dtype.kind == "u" and function.name.startswith("elements"):
            out.append(value.view(f"i{value.dtype.itemsize}"))
        else:
            out.append(value)
    return out


def _copies(values: list[Any]) -> list[Any]:
    return [value.copy() if isinstance(value, np.ndarray) else value for value in values]


@pytest.mark.parametrize("name", FORMS)
def test_form_is_accepted_and_means_the_same(name: str) -> None:
    """Kernels with control flow, scalars and run-time offsets match the interpreter."""
    program = forms()[name]
    (function,) = program.functions_
    for strategy in LEVELS:
        source = accepted(emitted(program, strategy), name)
        for iteration in range(len(NUMBERS)):
            values, sizes = _arguments(function, iteration, SIZES)
            wanted, found = _copies(values), _copies(values)
            Evaluator(program).call(function.name, wanted)
            evaluate(source, function.name, [*_typed(function, found), *sizes])
            assert_same(found, wanted, f"{name} {strategy} {iteration}")


EMPTY = ("sizes_at_run_time", "column_at_run_time", "rank_4", "rank_5", "product_in_steps")
"""Forms whose tensors may be empty."""


@pytest.mark.parametrize("name", EMPTY)
def test_forms_on_empty_tensors(name: str) -> None:
    """A dimension of 0 gives loops without iterations, and nothing is accessed."""
    program = forms()[name]
    (function,) = program.functions_
    for strategy in LEVELS:
        source = accepted(emitted(program, strategy), name)
        values, sizes = _arguments(function, 0, {"M": 0, "N": 64})
        assert 0 in sizes
        wanted, found = _copies(values), _copies(values)
        Evaluator(program).call(function.name, wanted)
        evaluate(source, function.name, [*_typed(function, found), *sizes])
        assert_same(found, wanted, f"{name} {strategy}")
