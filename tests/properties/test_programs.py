"""Random kernels mean the same before, between and after the passes, and compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.traversal.walk import walk
from pypto._src.ops import matmul
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.natively import Array, assert_close, compile_together, words
from tests.properties.kernels import Pick
from tests.properties.launches import random_launches
from tests.properties.programs import (
    ALL_MAKERS,
    MAKERS,
    STRATEGIES,
    Make,
    changes,
    launched,
    meanings,
)

ROOT = Path(__file__).parents[2]
COUNTS = (-1, 0, 1, 3)
"""What loops and branches depend on."""

EXAMPLES = settings().max_examples
FEWER = settings(max_examples=EXAMPLES // 4 + 1)
"""For tests whose examples take long."""

Arguments = list[Any]


def arguments(function: ir.Function, count: int) -> Arguments:
    """Return random tensors, ``count`` for whole numbers, and a number that rounds.

    Tensors of kernels that add up products hold small whole numbers, so that sums are exact.
    """
    rng = np.random.default_rng(count + 1)
    whole = any(op_of(node) is matmul.matmul for node in walk(function))
    values: Arguments = []
    for param in function.params:
        kind = param.type
        if isinstance(kind, ir.TensorType):
            shape = [dim.value for dim in kind.shape if isinstance(dim, ir.ConstInt)]
            drawn = rng.integers(-7, 8, shape) if whole else rng.uniform(-8, 8, shape)
            values.append(drawn.astype(kind.dtype.numpy))
        else:
            assert isinstance(kind, ir.ScalarType)
            values.append(0.7 if kind.dtype.is_float() else count)
    return values


def tensors(args: Arguments) -> list[Array]:
    return [arg for arg in args if isinstance(arg, np.ndarray)]


def results(program: ir.Program) -> list[list[Array]]:
    """Return all tensors after a call, for each count; of a host function what it returns, too."""
    function, evaluator = main(program), Evaluator(program)
    found: list[list[Array]] = []
    for count in COUNTS:
        args = arguments(function, count)
        returned = evaluator.call(function.name, args)
        found.append(tensors(args))
        if role(function) is Role.HOST:
            found[-1] += [np.array(each) for each in returned]
    return found


def main(program: ir.Program) -> ir.Function:
    """Return the function that is called first: ``main``, or a kernel with helpers beside it."""
    found = program.get_function("main") or program.get_function("kernel") or program.functions_[0]
    assert len(program.functions_) == 1 or found.name in ("main", "kernel")
    return found


def picks(data: st.DataObject) -> Pick:
    return lambda below: data.draw(st.integers(0, below - 1))


# --------------------------------------------------------------------------------------------
# Passes and text
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", ALL_MAKERS.values(), ids=ALL_MAKERS)
@given(st.data())
def test_passes_keep_the_meaning(make: Make, data: st.DataObject) -> None:
    """After each pass of both strategies a kernel writes the same bits as before all of them."""
    program = make(picks(data), 10)
    wanted = results(program)
    for stage, after in meanings(program):
        for count, found, expected in zip(COUNTS, results(after), wanted, strict=True):
            for left, right in zip(found, expected, strict=True):
                assert_close(left, right, note=f"n = {count} after {stage}")


@pytest.mark.parametrize("make", ALL_MAKERS.values(), ids=ALL_MAKERS)
@FEWER
@given(st.data())
def test_programs_read_back(make: Make, data: st.DataObject) -> None:
    """The text of a kernel, before and after each pass, is the text of an equal program."""
    program = make(picks(data), 6)
    for stage, after in [("nothing", program), *changes(program)]:
        text = str(after)
        parsed = pl.parse(text)
        ir.assert_structural_equal(after, parsed)
        assert str(parsed) == text, stage


# --------------------------------------------------------------------------------------------
# Compiled
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", range(effort.count(1, thorough_run=4)))
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_compiled_kernels_compute_the_same(make: Make, group: int, toolchain: Toolchain) -> None:
    """Compiled, a kernel writes the bits that the interpreter writes, but for signs of zeros."""
    seeds = range(group * 6, group * 6 + 6)
    programs = [make(Random(seed).randrange, 16) for seed in seeds]
    kernels = [main(PassManager().run_passes(program)) for program in programs]
    natives = compile_together(kernels, toolchain)
    for seed, program, native in zip(seeds, programs, natives, strict=True):
        for count, expected in zip(COUNTS, results(program), strict=True):
            args = arguments(main(program), count)
            native(words([_word(arg) for arg in args]))
            for left, right in zip(tensors(args), expected, strict=True):
                note = f"seed {seed}, n = {count}"
                assert_close(left, right, signed_zero=False, note=note)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("seed", range(3))
def test_compiled_hosts_compute_the_same(seed: int) -> None:
    """Compiled, a host function and its kernels give the bits that the interpreter gives."""
    program = launched(Random(seed).randrange, 12)
    compiled = runtime.compile(program, entry="main")
    for count, expected in zip(COUNTS, results(program), strict=True):
        args = arguments(main(program), count)
        returned = [np.array(each) for each in compiled(*args)]
        for left, right in zip([*tensors(args), *returned], expected, strict=True):
            assert_close(left, right, signed_zero=False, note=f"seed {seed}, n = {count}")


def test_launches_are_of_all_kinds() -> None:
    """Drawn host functions and kernels take what a call returns apart in every way."""
    texts = [random_launches(Random(seed).randrange, 6 + seed % 20) for seed in range(60)]
    wanted = [
        "a, b = self.pair(",
        "b, a = self.turned(",
        "        self.pair(",
        "t = self.pair(",
        "a = t[0]",
        "b, a = t[0], t[1]",
        "return self.pair(",
        "return t[0], t[1]",
        "b, a = self.both(",
        "a, b = q[1], q[0]",
        "a, b = self.both(q[0], q[1])",
        "b, s, a, r = self.turn(",
        "b, r = m[2], m[1]",
        "    return out, rest\n        ",
    ]
    assert {text: sum(text in each for each in texts) >= 5 for text in wanted} == dict.fromkeys(
        wanted, True
    )


def _word(arg: Any) -> Any:
    """Return an argument as a kernel takes it: a float by its bits."""
    return int(np.float32(arg).view(np.uint32)) if isinstance(arg, float) else arg


# --------------------------------------------------------------------------------------------
# Emitted text
# --------------------------------------------------------------------------------------------


def emitted() -> str:
    """Return the texts of some kernels: PTO of both strategies, and C++."""
    parts: list[str] = []
    for make in MAKERS.values():
        for seed in range(12):
            program = make(Random(seed).randrange, 14)
            for strategy in STRATEGIES:
                after = PassManager(strategy).run_passes(program)
                parts.append(PTOCodegen().generate(after))
                if strategy is OptimizationStrategy.Default:
                    parts.append(kernel_file(main(after)))
    return "\n".join(parts)


def test_emitted_texts_do_not_depend_on_hashes() -> None:
    """Two processes that hash strings differently write the same PTO and C++."""
    code = "import sys; from tests.properties.test_programs import emitted; "
    code += "sys.stdout.buffer.write(emitted().encode())"
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        )
        for seed in ("1", "2")
    ]
    texts = [process.communicate()[0].decode() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert texts[0] == texts[1]
    assert texts[0].count("func.func @") == 2 * len(MAKERS) * 12
    assert texts[0].count("void kernel_entry(") == len(MAKERS) * 12


def test_a_helper_that_no_kernel_calls_is_refused() -> None:
    """A tile parameter that a branch hands on is reported as a parameter, at its own place."""
    source = """
import pypto.language as pl

@pl.program
class Alone:
    @pl.function(type=pl.FunctionType.InCore)
    def helper(
        self, p: pl.Tile[[16, 32], pl.FP32], m: pl.Scalar[pl.INT64]
    ) -> pl.Tile[[16, 32], pl.FP32]:
        if m > 0:
            p = pl.neg(p)
        return p
"""
    after = PassManager().run_passes(pl.parse_program(source))
    with pytest.raises(EmitError, match=r"'p.*' is neither a tensor nor a scalar"):
        PTOCodegen().generate(after)
