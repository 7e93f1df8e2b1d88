"""``pypto convert``: between Python and the statement form, to stdout and to files."""

from __future__ import annotations

from pathlib import Path

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src import cli
from tests.statement.documents import TILES

KERNEL = """\
import pypto.language as pl

@pl.program
class Twice:
    @pl.function(type=pl.FunctionType.InCore)
    def twice(
        self, x: pl.Tensor[[8, 16], pl.FP32], out: pl.Out[pl.Tensor[[8, 16], pl.FP32]]
    ) -> pl.Tensor[[8, 16], pl.FP32]:
        tile = pl.load(x, [0, 0], [8, 16])
        return pl.store(pl.add(tile, tile), [0, 0], [8, 16], out)
"""


def write(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_python_to_statement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Python file is executed, and its program printed in the statement form."""
    assert cli.main(["convert", write(tmp_path, "kernel.py", KERNEL), "--to", "statement"]) == 0
    printed = capsys.readouterr().out
    assert printed == ir.to_statement_text(pl.parse_program(KERNEL))
    assert printed.startswith(
        "program.module @Twice {\n  func.func @twice(%x: tensor<[8, 16], fp32>"
    )


def test_statement_to_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text in the statement form is printed as Python, which is the same program."""
    assert cli.main(["convert", write(tmp_path, "tiles.txt", TILES), "--to", "python"]) == 0
    printed = capsys.readouterr().out
    assert printed.endswith("\n")
    ir.assert_structural_equal(pl.parse_program(printed), ir.from_statement_text(TILES))


def test_both_ways_through_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """-o writes a file and prints nothing; converting back gives the same text."""
    text = write(tmp_path, "tiles.stmt", f"// a comment\n\n{TILES}")
    python, again = str(tmp_path / "tiles.py"), tmp_path / "new" / "again.stmt"
    assert cli.main(["convert", text, "--to", "python", "-o", python]) == 0
    assert cli.main(["convert", python, "--to", "statement", "-o", str(again)]) == 0
    assert capsys.readouterr().out == ""
    assert again.read_text(encoding="utf-8") == TILES
    assert [path.name for path in again.parent.iterdir()] == ["again.stmt"]


def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A faulty text is reported at its line, with status 1; the output file is unchanged."""
    target = tmp_path / "out.py"
    target.write_text("old")
    wrong = write(tmp_path, "wrong.txt", "program.module @m {\n  program.entri @f\n}\n")
    assert cli.main(["convert", wrong, "--to", "python", "-o", str(target)]) == 1
    assert capsys.readouterr().err == (
        "error: program.entry, attr, func.func or '}' was wanted in a module, "
        "found 'program.entri'  [syntax]\n"
        f" --> {wrong}:2:3\n"
        "  |\n"
        "2 |   program.entri @f\n"
        "  |   ^^^^^^^^^^^^^\n"
        "  = hint: did you mean program.entry?\n"
    )
    assert target.read_text() == "old"
    assert cli.main(["convert", str(tmp_path / "none.txt"), "--to", "python"]) == 1
    assert "none.txt: No such file or directory" in capsys.readouterr().err
