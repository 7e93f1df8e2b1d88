"""The emitted text of every op row is accepted, re-prints identically, and means the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pypto import ir
from pypto._src.dialect.evaluate import evaluate
from pypto._src.dialect.printer import print_source
from pypto._src.dialect.verify import check, find_faults, options_of
from pypto._src.emit.pto import PTOCodegen
from pypto._src.errors import PyptoError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pipelines import OptimizationStrategy, PassManager
from tests.cases import CASES, BuiltKernel, Case, kernel_for

STRATEGIES = list(OptimizationStrategy)
ROWS = [case for case in CASES if not case.no_kernel]
OPS = sorted({case.op.name for case in ROWS})


def kernels(op: str) -> Iterator[tuple[str, Case, BuiltKernel]]:
    """Yield a kernel for each element type and each shapes of the rows of an op."""
    for case in ROWS:
        if case.op.name == op:
            for dtype in case.dtypes:
                for shapes in case.shapes or ((),):
                    name = f"{case.name} {dtype.member} {shapes}"
                    yield name, case, kernel_for(case, dtype, shapes)


def emitted(program: ir.Program, strategy: OptimizationStrategy) -> str | None:
    """Return the text of a program, None if PTO has no form for it, which another test judges."""
    after = PassManager.get_strategy(strategy).run_passes(program)
    try:
        return PTOCodegen().generate(after)
    except PyptoError:
        return None


@pytest.mark.parametrize("op", OPS)
def test_row_is_accepted_and_means_the_same(op: str) -> None:
    """For both targets; the results are those of the interpreter, bit by bit."""
    for index, (name, case, built) in enumerate(kernels(op)):
        program = ir.Program([built.function], "row", entry=built.function.name)
        text = emitted(program, STRATEGIES[index % len(STRATEGIES)])
        if text is None:
            continue
        source = check(text, name, options_of(text, "a3"))
        assert find_faults(source.module, options_of(text, "a5")) == [], name
        assert print_source(source) == text, name
        wanted = built.arguments(case.values)
        found = [array.copy() for array in wanted]
        Evaluator(program).call(built.function.name, wanted)
        evaluate(source, built.function.name, found)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one.view(np.uint8), other.view(np.uint8), err_msg=name)
