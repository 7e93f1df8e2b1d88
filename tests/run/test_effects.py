"""Which parameters are written, and which ones the results are."""

from __future__ import annotations

import pytest

from pypto._src.ir.stmts import Program
from pypto._src.passes.pipelines import PassManager
from pypto._src.run.effects import Effects, effects
from tests.run.programs import Flows


@pytest.fixture(params=["as written", "after the passes"])
def program(request: pytest.FixtureRequest) -> Program:
    return Flows if request.param == "as written" else PassManager().run_passes(Flows)


def test_stores_in_a_loop_write_the_parameter(program: Program) -> None:
    """A loop that carries a tensor carries the parameter, and the order of results is kept."""
    assert effects(program)["fill"] == Effects((False, True), ((1,), (0,)))


def test_branches_may_give_either(program: Program) -> None:
    """What a branch chooses may be any of its tensors; all that a callee writes is written."""
    found = effects(program)["branch"]
    assert found == Effects((True, True, False, False), ((0, 1),))


def test_tensors_made_inside(program: Program) -> None:
    """A tensor made inside is no parameter, neither as the result nor where it is written."""
    assert effects(program)["alone"] == Effects((False, True), ((),))
