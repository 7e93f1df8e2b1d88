"""The named strategies and their dumps."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto._src.errors import VerificationError
from pypto._src.ir.stmts import Program
from pypto._src.ir.text.printer import python_print
from pypto._src.passes.pass_base import Pass
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from pypto._src.passes.properties import IRProperty, IRPropertySet
from tests.passes.scalars import program
from tests.passes.test_framework import assigned_twice

NAMES = [
    "ConvertToSSA",
    "FlattenCallExpr",
    "OutlineIncoreScopes",
    "ConvertTensorToBlockOps",
    "RunVerifier",
    "LegalizeTiles",
    "InitMemRef",
    "PipelineLoops",
    "MemoryReuse",
    "InsertSync",
    "AllocateMemoryAddr",
]
SOURCE = "def f(n):\n    s = n\n    for i in range(n):\n        s = s + i\n    return s"


def test_names() -> None:
    """Default has all passes in order; PTOAS leaves the flags to the assembler."""
    manager = PassManager.get_strategy()
    assert manager.strategy is OptimizationStrategy.Default
    assert manager.pass_names == manager.get_pass_names() == NAMES
    assembler = PassManager.get_strategy(OptimizationStrategy.PTOAS)
    assert assembler.pass_names == [name for name in NAMES if name != "InsertSync"]
    assert [strategy.value for strategy in OptimizationStrategy] == ["Default", "PTOAS"]
    assert len(manager.passes) == len(NAMES)


def test_dumps(tmp_path: Path) -> None:
    """Each pass leaves a numbered file with the program after it, and no other files."""
    folder = tmp_path / "deep" / "dump"
    before = program(SOURCE)
    after = PassManager.get_strategy().run_passes(before, True, folder)
    files = sorted(path.name for path in folder.iterdir())
    expected = ["00_frontend.py", *(f"{k:02}_after_{n}.py" for k, n in enumerate(NAMES, 1))]
    assert files == expected
    assert (folder / "00_frontend.py").read_text() == python_print(before) + "\n"
    assert (folder / expected[-1]).read_text() == python_print(after) + "\n"
    assert "s_iter" in (folder / "01_after_ConvertToSSA.py").read_text()


def test_prefix_of_dumps(tmp_path: Path) -> None:
    """Dumps are written with the wanted prefix."""
    PassManager.get_strategy().run_passes(program(SOURCE), True, tmp_path, "ir")
    assert "ir.range(" in (tmp_path / "01_after_ConvertToSSA.py").read_text()


def test_dump_without_folder() -> None:
    """Dumps need a folder."""
    with pytest.raises(ValueError, match="dump_ir=True needs output_dir"):
        PassManager.get_strategy().run_passes(program(SOURCE), dump_ir=True)


def test_dump_of_what_does_not_verify(tmp_path: Path) -> None:
    """The program that fails verification is among the dumps."""

    class Spoil(Pass):
        """Claims SSA form, and breaks it."""

        produces = IRPropertySet(IRProperty.SSAForm)

        def run(self, program: Program) -> Program:
            return assigned_twice()

    manager = PassManager.get_strategy()
    manager.passes[0] = Spoil()
    with pytest.raises(VerificationError, match="after Spoil"):
        manager.run_passes(program(SOURCE), True, tmp_path)
    written = (tmp_path / "01_after_ConvertToSSA.py").read_text()
    assert written == python_print(assigned_twice()) + "\n"
    assert len(list(tmp_path.iterdir())) == 2
