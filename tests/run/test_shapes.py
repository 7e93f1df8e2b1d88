"""Tensor programs at sizes that are no multiples of blocks; `tests.run.shapes` runs thousands."""

# NumPy's results are arrays of unknown type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import runtime
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests import effort
from tests.natively import compiler
from tests.run.shapes import FORMS, Run, checked
from tests.run.test_tensor_programs import TextHost

ODD = [(3, 5, 17), (17, 31, 5), (1, 1, 1), (0, 3, 5), (3, 0, 5), (5, 3, 0), (0, 0, 3)]
LARGE = [("softmax", 1000, 777, 1), ("product", 127, 777, 300), ("transpose", 777, 100, 1)]
SOME = (
    *("beside_column", "softmax", "column_sum", "casts", "transpose", "product", "slice"),
    *("reshape", "vector_matrix", "plane_sum"),
)
"""The programs that are run with dynamic sizes: compiling takes most of the time."""


def test_constant_sizes() -> None:
    """Primes, few rows, single elements, none: native, interpreter, both texts, NumPy."""
    compiler()
    runs = [Run(n, *ODD[(at + i) % len(ODD)]) for at, n in enumerate(FORMS) for i in (0, 3)]
    for run, error in checked(effort.part(runs, 2)):
        assert error is None, run


def test_sizes_known_at_the_call() -> None:
    """One program for all sizes, large ones as well."""
    compiler()
    runs = [Run(name, *sizes, dynamic=True) for name in SOME for sizes in ODD]
    runs += [Run(*each, dynamic=True) for each in LARGE]
    for run, error in checked(effort.part(runs, 12)):
        assert error is None, run


def _less_largest(x: Any) -> Any:
    return x - x.max(2, keepdims=True, initial=-np.inf)


OTHERS: dict[str, tuple[str, str, Any, Callable[[Any], Any]]] = {
    "bf16": (
        "[M, N], pl.BF16",
        "pl.row_max(x)",
        ml_dtypes.bfloat16,
        lambda x: x.astype(np.float32).max(1, keepdims=True, initial=-np.inf),
    ),
    "unsigned": (
        "[M, N], pl.UINT16",
        "pl.row_min(x)",
        np.uint16,
        lambda x: x.min(1, keepdims=True, initial=65535),
    ),
    "dropped": (
        "[M, N], pl.FP32",
        "pl.row_sum(x, axis=0, keep_dim=False)",
        np.float32,
        lambda x: x.sum(0),
    ),
    "planes": (
        "[2, M, N], pl.FP32",
        "pl.sub(x, pl.row_max(x))",
        np.float32,
        _less_largest,
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_reductions_along_sizes_known_at_the_call(name: str) -> None:
    """Partly filled tiles, dropped dimensions, several planes."""
    compiler()
    kind, body, dtype, meaning = OTHERS[name]
    program = pl.parse_program(
        "import pypto.language as pl\n\nM, N = pl.dynamic('M'), pl.dynamic('N')\n\n\n"
        "@pl.program\nclass Reduced:\n    @pl.function\n"
        f"    def main(self, x: pl.Tensor[{kind}]):\n        with pl.incore():\n"
        f"            y = {body}\n        return y\n"
    )
    native = runtime.compile(program)
    low = PassManager(OptimizationStrategy.PTOAS).run_passes(program)
    hosts = [Evaluator(low), TextHost(low), Evaluator(program)]
    for sizes in [(3, 5), (17, 31), (0, 3), (4, 0), (2, 300)]:
        shape = (2, *sizes) if "[2, " in kind else sizes
        x = np.random.default_rng(7).integers(0, 8, shape).astype(dtype)
        for found in (native(x), *(host.call("main", [x]) for host in hosts)):
            got = np.asarray(found, np.float64)
            np.testing.assert_array_equal(got, meaning(x).astype(np.float64))
