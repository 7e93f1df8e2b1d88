"""Hints: for each kind a program that gets it, and one that does not; what they say is true."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto._src import cli
from pypto._src.cost.model import CostModel
from pypto._src.cost.tables import load_table
from pypto._src.driver import compile_for_evaluator, random_arguments
from pypto._src.errors import InternalError
from pypto._src.interp.evaluate import Evaluator
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pass_manager import PassManager
from pypto._src.timeline.changes.more_tasks import MoreTasks
from pypto._src.timeline.changes.stages import Stages
from pypto._src.timeline.hints import LEAST, Hint, hints
from pypto._src.timeline.profile import Profile, ProgramSimulator

ROWS = """\
import pypto.language as pl


@pl.program
class Rows:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[PART, 1024], pl.FP32], b: pl.Tensor[[8, 1024], pl.FP32],
        out: pl.Out[pl.Tensor[[PART, 1024], pl.FP32]]
    ):
        BEFORE
        for r in LOOP:
            tile = pl.load(x, [r, 0], [STEP, 1024])
            INSIDE
            out = pl.store(RESULT, [r, 0], [STEP, 1024], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[ALL, 1024], pl.FP32], b: pl.Tensor[[8, 1024], pl.FP32],
        out: pl.Out[pl.Tensor[[ALL, 1024], pl.FP32]]
    ):
        for i in pl.range(0, ALL, PART):
            part = pl.tensor.view(x, [PART, 1024], [i, 0])
            into = pl.tensor.view(out, [PART, 1024], [i, 0])
            into = self.kernel(part, b, into)
        return out
"""


def rows(
    part: int = 64,
    tasks: int = 2,
    step: int = 8,
    loop: str = "pl.range(0, PART, STEP)",
    before: str = "pass",
    inside: str = "",
    result: str = "pl.exp(tile)",
) -> str:
    """Return a program whose kernel iterates over rows."""
    text = ROWS.replace("LOOP", loop).replace("RESULT", result)
    text = text.replace("        BEFORE\n", "" if before == "pass" else f"        {before}\n")
    text = text.replace("            INSIDE\n", f"            {inside}\n" if inside else "")
    text = text.replace("ALL", str(part * tasks)).replace("PART", str(part))
    return text.replace("STEP", str(step))


PRODUCT = """\
import pypto.language as pl


@pl.program
class Product:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        a: pl.Tensor[[128, 512], pl.FP16],
        b: pl.Tensor[[512, 128], pl.FP16],
        c: pl.Out[pl.Tensor[[128, 128], pl.FP32]],
    ):
        left = pl.load(a, [0, 0], [128, 32], target_memory=pl.MemorySpace.Mat)
        right = pl.load(b, [0, 0], [32, 128], target_memory=pl.MemorySpace.Mat)
        acc = pl.matmul(pl.move(left, target_memory=pl.MemorySpace.Left),
                        pl.move(right, target_memory=pl.MemorySpace.Right))
        for n in pl.pipeline(32, 512, 32, stage=2):
            left = pl.load(a, [0, n], [128, 32], target_memory=pl.MemorySpace.Mat)
            right = pl.load(b, [n, 0], [32, 128], target_memory=pl.MemorySpace.Mat)
            acc = pl.matmul_acc(acc, pl.move(left, target_memory=pl.MemorySpace.Left),
                                pl.move(right, target_memory=pl.MemorySpace.Right))
            INSIDE
        BEHIND
        return c
"""
STORE = "c = pl.store(acc, [0, 0], [128, 128], c)"
STORED_INSIDE = PRODUCT.replace("INSIDE", STORE).replace("        BEHIND\n", "")
STORED_BEHIND = PRODUCT.replace("            INSIDE\n", "").replace("BEHIND", STORE)

SYNCHRONISED = """\
import pypto.language as pl


@pl.program
class ByHand:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self, x: pl.Tensor[[64, 512], pl.FP32], out: pl.Out[pl.Tensor[[64, 512], pl.FP32]]
    ):
        for r in pl.range(0, 64, 8):
            left = pl.load(x, [r, 0], [8, 256])
            BETWEEN
            right = pl.load(x, [r, 256], [8, 256])
            pl.system.bar_all()
            power, other = pl.exp(left), pl.exp(right)
            pl.system.bar_all()
            out = pl.store(power, [r, 0], [8, 256], out)
            out = pl.store(other, [r, 256], [8, 256], out)
            pl.system.bar_all()
        return out
"""

SERIAL, SMALL, FEW = "serialised load and compute", "small transfers", "too few tasks"
TILES, REDUNDANT, ROUND_TRIP = "tile too small", "redundant load", "Acc round trip"
STAGES = "pl.pipeline(0, PART, STEP, stage=2)"
SYNC = "flag that costs the most"

WITH: dict[str, str] = {
    SERIAL: rows(),
    FEW: rows(),
    SMALL: rows(step=1, part=16),
    TILES: rows(step=1, part=16, result="pl.neg(" * 24 + "tile" + ")" * 24),
    REDUNDANT: rows(
        loop=STAGES,
        inside="bias = pl.load(b, [0, 0], [8, 1024])",
        result="pl.add(pl.exp(tile), bias)",
    ),
    ROUND_TRIP: STORED_INSIDE,
    SYNC: SYNCHRONISED.replace("BETWEEN", "pl.system.bar_all()"),
}
WITHOUT: dict[str, str] = {
    SERIAL: rows(part=8),  # one iteration
    FEW: rows(part=16, tasks=48),
    SMALL: rows(part=8),  # no larger tile
    TILES: rows(part=8, result="pl.neg(" * 24 + "tile" + ")" * 24),
    REDUNDANT: rows(
        loop=STAGES,
        before="bias = pl.load(b, [0, 0], [8, 1024])",
        result="pl.add(pl.exp(tile), bias)",
    ),
    ROUND_TRIP: STORED_BEHIND,
    SYNC: SYNCHRONISED.replace("            BETWEEN\n", ""),
}


class Runs:
    """A program with what its hints need."""

    def __init__(self, text: str) -> None:
        program = pl.parse(text)
        assert isinstance(program, ir.Program)
        self.program = program
        self.model = CostModel(load_table("a2a3"))

    def profile(self, optional: Sequence[Pass] = ()) -> Profile:
        """Return the profile of a run with these optional passes."""
        found: list[ProgramSimulator] = []

        def make(lowered: ir.Program) -> ProgramSimulator:
            found.append(ProgramSimulator(lowered, self.model))
            return found[0]

        compiled = compile_for_evaluator(self.program, None, make, optional=optional)
        compiled(*random_arguments(compiled, 0, {}).values())
        assert found[0].profile is not None
        return found[0].profile

    def hints(self) -> tuple[Hint, ...]:
        """Return the hints."""
        return hints(self.program, self.profile(), self.profile, self.model)


@cache
def hinted(kind: str) -> tuple[Runs, Hint]:
    """Return the program that gets a kind of hint, with that hint."""
    runs = Runs(WITH[kind])
    [hint] = [each for each in runs.hints() if each.change.kind == kind]
    return runs, hint


@pytest.mark.parametrize("kind", WITH)
def test_a_program_that_has_it(kind: str) -> None:
    """The hint is given; applying its change alone brings exactly the gain it states."""
    runs, hint = hinted(kind)
    assert hint.gain >= LEAST * hint.before
    assert runs.profile().cycles == hint.before
    assert runs.profile(hint.change.passes).cycles == hint.after
    assert hint.locations
    assert hint.change.advice


@pytest.mark.parametrize("kind", WITHOUT)
def test_a_program_that_does_not(kind: str) -> None:
    """The hint is not given."""
    assert kind not in [each.change.kind for each in Runs(WITHOUT[kind]).hints()]


@pytest.mark.parametrize("kind", WITH)
def test_a_changed_program_computes_the_same(kind: str) -> None:
    """The program with the hint's change gives the same bits."""
    runs, hint = hinted(kind)
    outputs: list[np.ndarray[tuple[int, ...], np.dtype[np.float32]]] = []
    for optional in ((), hint.change.passes):
        lowered = PassManager(optional=optional).run_passes(runs.program)
        compiled = compile_for_evaluator(runs.program, None, Evaluator, optional=optional)
        args = list(random_arguments(compiled, 0, {}).values())
        Evaluator(lowered).call(compiled.entry, args)
        outputs.append(args[-1])
    assert outputs[0].any()
    assert np.array_equal(outputs[0], outputs[1])


def test_what_a_sum_over_rows_needs_stays() -> None:
    """A tile with more rows would sum differently: a change of values is not proposed."""
    text = rows(step=2, part=16, result="pl.col_expand_add(tile, pl.col_sum(tile))")
    assert not {SMALL, TILES} & {each.change.kind for each in Runs(text).hints()}


def test_tasks_that_meet_are_not_divided() -> None:
    """Iterations that read the rows of others stay in one task."""
    text = rows(loop="pl.range(0, 56, 8)").replace("load(x, [r, 0]", "load(x, [r + 8, 0]")
    runs = Runs(text)
    assert FEW not in [each.change.kind for each in runs.hints()]
    once = passes.convert_to_ssa()(runs.program)
    assert MoreTasks("kernel", 7)(once) is once


def test_what_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text and JSON have lines, gains and what to write; --hints 0 tries nothing."""
    path = tmp_path / "rows.py"
    path.write_text(rows())
    assert cli.main(["profile", str(path)]) == 0
    text = capsys.readouterr().out
    assert "hints, each simulated by itself in a changed copy:" in text
    assert "serialised load and compute: kernel, rows.py:" in text
    assert "change: pl.pipeline(0, 64, 8, stage=2) in place of pl.range(0, 64, 8)" in text
    assert "2 of 48 cores have work" in text
    assert cli.main(["profile", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    for hint in found["hints"]:
        assert hint["before"] == found["cycles"]
        assert hint["gain"] == hint["before"] - hint["after"] > 0
        assert hint["locations"][0].startswith("rows.py:")
    assert cli.main(["profile", str(path), "--hints", "0"]) == 0
    assert "hints" not in capsys.readouterr().out


def test_what_does_not_fit_is_no_hint(capsys: pytest.CaptureFixture[str]) -> None:
    """Tiles too large for memory are not proposed, and the attempt is not mentioned."""
    found = Runs(rows(step=16, part=64)).hints()
    assert not {SMALL, TILES} & {each.change.kind for each in found}
    assert capsys.readouterr().err == ""


def test_a_change_that_a_pass_breaks_on_is_no_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profile is still reported."""

    def broken(self: Stages, program: ir.Program) -> ir.Program:
        raise InternalError(f"{self} on {program.name}")

    monkeypatch.setattr(Stages, "run", broken)
    found = [each.change.kind for each in Runs(WITH[SERIAL]).hints()]
    assert FEW in found
    assert SERIAL not in found
