"""Random programs on whole tensors mean the same before and after every pass, and compiled."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any, cast

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.roles import Role, role
from pypto._src.ir.traversal.walk import walk
from pypto._src.ir.verify.verifier import IRVerifier
from pypto._src.ops.conversion import core_of
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy, PassManager
from pypto._src.run.toolchain import find_toolchain
from tests import effort
from tests.natively import assert_close
from tests.properties.programs import STRATEGIES, meanings
from tests.properties.tensor_programs import SIZES, random_tensor_source
from tests.run.test_tensor_programs import TextHost

Array = np.ndarray[Any, Any]
COUNTS = (0, 1, 3)
"""What loops and branches depend on."""
BATCHES, EACH = effort.count(3, thorough_run=20), 15
LOWERING = ("OutlineIncoreScopes", "ConvertTensorToBlockOps", "LegalizeTiles")
"""The passes that take programs on tensors apart."""

ENDS = [" > ".join(name for name, _ in PIPELINES[strategy]) for strategy in STRATEGIES]
"""All passes of each strategy."""


def source(seed: int) -> str:
    """Return program number ``seed``."""
    random = Random(seed)
    return random_tensor_source(random.randrange, 4 + random.randrange(6))


def arguments(function: ir.Function, count: int) -> list[Any]:
    """Return small whole numbers as tensors, ``count`` for what loops depend on."""
    rng = np.random.default_rng(count)
    out: list[Any] = []
    for param in function.params:
        if isinstance(param.type, ir.TensorType):
            shape = [dim.value for dim in param.type.shape if isinstance(dim, ir.ConstInt)]
            out.append(rng.integers(-4, 5, shape).astype(param.type.dtype.numpy))
        else:
            out.append(count if param.name == "n" else 3)
    return out


def outcome(found: Any, args: Sequence[Any]) -> list[Array]:
    """Return results and tensors after a call."""
    results = [np.array(item) for item in cast("tuple[Any, ...]", found)]
    return [*results, *(arg for arg in args if isinstance(arg, np.ndarray))]


def evaluated(program: ir.Program) -> list[list[Array]]:
    """Return what a program computes, for each count."""
    main = program.get_function("main")
    assert main is not None
    out: list[list[Array]] = []
    for count in COUNTS:
        args = arguments(main, count)
        with np.errstate(all="ignore"):
            out.append(outcome(Evaluator(program).call("main", args), args))
    return out


def check(found: list[list[Array]], wanted: list[list[Array]], note: str) -> None:
    """Compare bit by bit; which of two zeros is the larger is open."""
    for one, other in zip(found, wanted, strict=True):
        for a, b in zip(one, other, strict=True):
            assert_close(a, b, signed_zero=False, note=note)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_every_pass_keeps_the_meaning(batch: int) -> None:
    """Both strategies, pass by pass; afterwards no kernel has an op on tensors that computes."""
    for seed in range(batch * EACH, (batch + 1) * EACH):
        text = source(seed)
        program = pl.parse_program(text)
        wanted = evaluated(program)
        for path, after in meanings(program):
            if path in ENDS:
                assert_no_tensor_ops(after, text)
            elif path.endswith(LOWERING):
                assert IRVerifier.create_default().verify(after) == [], text
            else:
                continue
            check(evaluated(after), wanted, f"program {seed} after {path}\n{text}")


def assert_no_tensor_ops(program: ir.Program, text: str) -> None:
    """Check that no kernel has an op that computes on whole tensors."""
    for function in program.functions_:
        if role(function) is Role.KERNEL:
            calls = [n for n in walk(function) if isinstance(n, ir.Call)]
            names = [c.op.name for c in calls if core_of(c) is not None]
            assert not [n for n in names if n.startswith("tensor.")], text


@pytest.mark.parametrize("seed", range(0, BATCHES * EACH, 30))
def test_compiled(seed: int) -> None:
    """The compiled kernels give the same bits."""
    assert find_toolchain() is not None
    program = pl.parse_program(source(seed))
    compiled = runtime.compile(program, entry="main")
    main = program.get_function("main")
    assert main is not None
    found: list[list[Array]] = []
    for count in COUNTS:
        args = arguments(main, count)
        found.append(outcome(compiled(*args), args))
    check(found, evaluated(program), source(seed))


@pytest.mark.parametrize("seed", range(0, BATCHES * EACH, 20))
def test_as_text(seed: int) -> None:
    """The PTO text of the kernels is accepted, and gives the same bits."""
    program = pl.parse_program(source(seed))
    lowered = PassManager(OptimizationStrategy.PTOAS).run_passes(program)
    main = lowered.get_function("main")
    assert main is not None
    host = TextHost(lowered)
    found: list[list[Array]] = []
    for count in COUNTS:
        args = arguments(main, count)
        found.append(outcome(host.call("main", args), args))
    check(found, evaluated(program), source(seed))


def test_programs_are_of_all_kinds() -> None:
    """The drawn programs have every size, element type and form that they should."""
    texts = [source(seed) for seed in range(300)]
    for sizes in SIZES:
        shape = f"x: pl.Tensor[[{sizes.rows}, {sizes.columns}]"
        assert sum(shape in text for text in texts) >= 20
    words = ["for ", "if ", "else:", "pl.view", "row_sum", "row_max", "transpose", "reshape"]
    words += ["pl.div", "axis=0", "keep_dim=False", "INT32", "FP32", "out = pl.assemble(out, t"]
    for word in words:
        assert sum(word in text for text in texts) >= 20, word
    for inside in ("for", "if"):
        found = [text for text in texts if re.search(rf"incore\(\):\n +{inside} ", text)]
        assert len(found) >= 20, inside
