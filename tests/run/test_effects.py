"""Which parameters are written, and which parameters the results are."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src.checks import check_program
from pypto._src.ir.stmts import Program
from pypto._src.passes.pass_manager import PassManager
from pypto._src.run.effects import Effects, effects
from tests.run.programs import Flows


@pytest.fixture(params=["as written", "after the passes"])
def program(request: pytest.FixtureRequest) -> Program:
    return Flows if request.param == "as written" else PassManager().run_passes(Flows)


def test_stores_in_a_loop_write_the_parameter(program: Program) -> None:
    """A tensor carried by a loop is still the parameter, and the order of results is kept."""
    assert effects(program)["fill"] == Effects((False, True), ((1,), (0,)), (True, False))


def test_branches_may_give_either(program: Program) -> None:
    """The result of a branch may be any of its tensors; all that a callee writes is written."""
    found = effects(program)["branch"]
    assert found == Effects((True, True, False, False), ((0, 1),), (False, False, True, False))


def test_tensors_made_inside(program: Program) -> None:
    """A tensor made inside is not a parameter, either as the result or where it is written."""
    assert effects(program)["alone"] == Effects((False, True), ((),), (True, False))


TAKES_TURNS = """\
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, a: pl.Tensor[[16, 64], pl.FP32], b: pl.Out[pl.Tensor[[16, 64], pl.FP32]]):
        t = pl.load(a, [0, 0], [16, 64])
        b = pl.store(t, [0, 0], [16, 64], b)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        prev = pl.view(x, [16, 64], [0, 0])
        for i in pl.range(4):
            cur = pl.view(out, [16, 64], [i * 16, 0])
            self.copy(prev, cur)
            prev = cur
        return prev
"""


def test_what_takes_turns_is_not_one_tensor() -> None:
    """A name bound first to an input and later to an output does not make the input an output."""
    found = pl.parse(TAKES_TURNS)
    assert isinstance(found, Program)
    for program in (found, PassManager().run_passes(found)):
        assert effects(program)["main"] == Effects((False, True), ((0, 1),), (True, True))
    assert next(check_program(found)).errors == 0
