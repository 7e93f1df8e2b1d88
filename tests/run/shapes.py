"""Tensor-level programs at every size: native, interpreter, PTO text and NumPy agree.

Programs and sizes are drawn; `python -m tests.run.shapes COUNT SEED` makes that many runs. Arrays
stand between guard bytes, which no run may change. The interpreter's memory after planning begins
poisoned, padding included.
"""

# What NumPy gives is an array of no known type.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.run.test_tensor_programs import TextHost

Array = np.ndarray[Any, Any]
SIZES: Final = (1, 3, 5, 16, 17, 31, 64, 100, 127, 777, 1000)
SMALL: Final = 100_000
"""The most elements (of a product: multiplications) that texts are evaluated for."""
GUARD: Final = 64
DTYPES: Final = {"FP32": np.float32, "FP16": np.float16}


Shape = tuple[int, int]


class Form(NamedTuple):
    """A program with sizes m, n and k to be filled in, and what it means."""

    inputs: tuple[tuple[str, str, str], ...]  # rows, columns, element type
    body: str  # of x0, x1, ...; gives y
    meaning: Callable[[list[Any]], Any]


def _f32(*shapes: str) -> tuple[tuple[str, str, str], ...]:
    return tuple((shape[0], shape[1], "FP32") for shape in shapes)


def _softmax(x: Array) -> Array:
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def _norm(x: Array, w: Array) -> Array:
    return x * w / (x * x).sum(1, keepdims=True)


FORMS: Final[dict[str, Form]] = {
    "elementwise": Form(
        _f32("mn", "mn"), "y = pl.mul(pl.add(x0, x1), 2.0)", lambda of: (of[0] + of[1]) * 2
    ),
    "beside_row": Form(_f32("mn", "1n"), "y = pl.mul(x0, x1)", lambda of: of[0] * of[1]),
    "beside_column": Form(_f32("mn", "m1"), "y = pl.add(x0, x1)", lambda of: of[0] + of[1]),
    "outer": Form(_f32("1n", "m1"), "y = pl.mul(x0, x1)", lambda of: of[0] * of[1]),
    "softmax": Form(
        _f32("mn"),
        "e = pl.exp(pl.sub(x0, pl.row_max(x0)))\n            y = pl.div(e, pl.row_sum(e))",
        lambda of: _softmax(of[0]),
    ),
    "norm": Form(
        _f32("mn", "1n"),
        "y = pl.div(pl.mul(x0, x1), pl.row_sum(pl.mul(x0, x0)))",
        lambda of: _norm(of[0], of[1]),
    ),
    "row_sum": Form(_f32("mn"), "y = pl.row_sum(x0)", lambda of: of[0].sum(1, keepdims=True)),
    "column_sum": Form(
        _f32("mn"), "y = pl.tensor.row_sum(x0, axis=0)", lambda of: of[0].sum(0, keepdims=True)
    ),
    "casts": Form(
        (("m", "n", "FP16"),),
        "y = pl.cast(pl.mul(pl.cast(x0, pl.FP32), 2.0), pl.FP16)",
        lambda of: (of[0].astype(np.float32) * 2).astype(np.float16),
    ),
    "halves": Form(
        (("m", "n", "FP16"), ("m", "n", "FP32")), "y = pl.add(x0, x1)", lambda of: of[0] + of[1]
    ),
    "transpose": Form(_f32("mn"), "y = pl.transpose(x0, 0, 1)", lambda of: of[0].T),
    "product": Form(_f32("mk", "kn"), "y = pl.matmul(x0, x1)", lambda of: of[0] @ of[1]),
    "product_turned": Form(
        (("k", "m", "FP16"), ("n", "k", "FP16")),
        "y = pl.matmul(x0, x1, a_trans=True, b_trans=True, out_dtype=pl.FP32)",
        lambda of: of[0].T.astype(np.float32) @ of[1].T.astype(np.float32),
    ),
}


class Run(NamedTuple):
    """One program at given sizes, with arguments."""

    name: str
    m: int
    n: int
    k: int

    def shapes(self) -> list[Shape]:
        """Return the shapes of the inputs."""
        sizes = {"m": self.m, "n": self.n, "k": self.k, "1": 1}
        return [(sizes[rows], sizes[columns]) for rows, columns, _ in FORMS[self.name].inputs]

    def program(self) -> ir.Program:
        """Return the program."""
        form = FORMS[self.name]
        kinds = [kind for _, _, kind in form.inputs]
        params = ", ".join(
            f"x{at}: pl.Tensor[[{rows}, {columns}], pl.{kind}]"
            for at, ((rows, columns), kind) in enumerate(zip(self.shapes(), kinds, strict=True))
        )
        return pl.parse_program(
            "import pypto.language as pl\n\n\n@pl.program\nclass Drawn:\n    @pl.function\n"
            f"    def main(self, {params}):\n        with pl.incore():\n            {form.body}\n"
            "        return y\n"
        )

    def is_small(self) -> bool:
        """True if texts are evaluated in reasonable time."""
        work = self.m * self.n * (self.k if "product" in self.name else 1)
        return work <= SMALL


def drawn(count: int, seed: int) -> list[Run]:
    """Return runs: each program in turn, with drawn sizes."""
    rng = np.random.default_rng(seed)
    names = list(FORMS)
    return [
        Run(names[at % len(names)], *(int(size) for size in rng.choice(SIZES, 3)))
        for at in range(count)
    ]


def _guarded(array: Array) -> tuple[Array, Array]:
    """Return a copy of an array, and the bytes that it lies in, guards included."""
    whole = np.full(array.nbytes + 2 * GUARD, 0xA5, np.uint8)
    inner = whole[GUARD:-GUARD].view(array.dtype).reshape(array.shape)
    inner[...] = array
    return inner, whole


def _assert_guards(wholes: Sequence[Array]) -> None:
    for whole in wholes:
        assert (whole[:GUARD] == 0xA5).all()
        assert (whole[-GUARD:] == 0xA5).all()


def check(run: Run) -> None:
    """Compare all that gives a program a meaning, at one run's sizes."""
    form, program = FORMS[run.name], run.program()
    rng = np.random.default_rng(run.m * 1009 + run.n * 31 + run.k)
    arrays = [
        (rng.integers(-8, 9, shape) / 4 + 0.125).astype(DTYPES[kind])
        for shape, (_, _, kind) in zip(run.shapes(), form.inputs, strict=True)
    ]
    wanted: Array = form.meaning(arrays)
    rtol = 2e-3 if wanted.dtype == np.float16 else 2e-5

    def compare(call: Callable[[list[Array]], Any], what: str) -> None:
        pairs = [_guarded(array) for array in arrays]
        found = call([inner for inner, _ in pairs])
        np.testing.assert_allclose(found, wanted, rtol, 1e-3, err_msg=f"{run} {what}")
        _assert_guards([whole for _, whole in pairs])
        for (inner, _), array in zip(pairs, arrays, strict=True):
            np.testing.assert_array_equal(inner, array)

    compiled = runtime.compile(program)

    def native(args: list[Array]) -> Any:
        return compiled(*args)

    compare(native, "native")
    if not run.is_small():
        return
    for strategy in (OptimizationStrategy.Default, OptimizationStrategy.PTOAS):
        low = PassManager(strategy).run_passes(program)
        compare(partial(Evaluator(low).call, "main"), "interpreter")
        compare(partial(TextHost(low).call, "main"), strategy.name)


def main(count: int, seed: int) -> int:
    """Make runs; print those that differ, and return how many."""
    done, wrong = Counter[str](), 0
    for run in drawn(count, seed):
        try:
            check(run)
            done[run.name] += 1
        except Exception as error:
            wrong += 1
            print(run, type(error).__name__, str(error)[:200], sep=": ")
    print(dict(done), f"{wrong} of {count} differ", sep="\n")
    return wrong


if __name__ == "__main__":
    sys.exit(bool(main(*(int(arg) for arg in sys.argv[1:3]))))
