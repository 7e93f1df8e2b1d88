"""``pypto cost``: predictions, errors and tables on the command line."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from pypto._src import cli

CASES = """\
id,arch,instruction,src_dtype,dst_dtype,rows,cols,valid_rows,valid_cols,src_layout,dst_layout,extra
one,a2a3,TADDS,fp32,fp32,32,64,32,64,ND,ND,scalar=imm
two,a5,TADDS,fp32,fp32,32,64,32,64,ND,ND,
three,a2a3,TNEW,fp32,fp32,32,64,32,64,ND,ND,
"""


def test_cases_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each case has a line with its cycles; assumptions are printed next to them."""
    monkeypatch.setattr("sys.stdin", io.StringIO(CASES))
    assert cli.main(["cost", "--csv"]) == 0
    out, err = capsys.readouterr()
    names = [line.split(",")[0] for line in out.splitlines()]
    assert names == ["id", "one", "two", "three"]
    assert "one,57.0" in out
    assert "assumed for a2a3: TNEW: not known: taken as elementwise" in err
    assert "assumed for a5: TADDS: not known: taken as TNEG" in err


def test_cases_from_a_file_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same from a file, for one target, with a table of the user's."""
    cases, costs = tmp_path / "cases.csv", tmp_path / "costs.toml"
    cases.write_text(CASES)
    costs.write_text('[instructions.TNEW]\nformula = "elementwise"\nfixed = 8\nsure = 1\n')
    words = ["cost", "--csv", str(cases), "--costs", str(costs), "--target", "a2a3", "--json"]
    assert cli.main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cases"][0] == {"id": "one", "cycles": 57.0}
    assert found["cases"][2] == {"id": "three", "cycles": 8 + 2 * 32}
    assert found["assumptions"] == {"a2a3": {}}


def test_what_is_no_case_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file without the columns of cases is rejected, with the expected columns."""
    path = tmp_path / "cases.csv"
    path.write_text("name,cycles\na,2\n")
    assert cli.main(["cost", "--csv", str(path)]) == 1
    assert "has no column 'id'" in capsys.readouterr().err
    assert cli.main(["cost", "--errors", str(path)]) == 1
    assert "has no column 'measured_cycles'" in capsys.readouterr().err


def test_errors_and_fits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A fit prints rows for --costs, with which the errors for the same times are smaller."""
    measured, costs = tmp_path / "measured.csv", tmp_path / "costs.toml"
    lines = [f"{n},a2a3,TADDS,fp32,{n},64,{n},64,{40 + 3 * n},{20 + n}" for n in (1, 2, 8, 16, 64)]
    head = "id,arch,instruction,src_dtype,rows,cols,valid_rows,valid_cols,measured_cycles"
    measured.write_text("\n".join([head + ",ptoisa_cycles", *lines, ""]))

    def errors(*words: str) -> dict[str, dict[str, float]]:
        assert cli.main(["cost", "--errors", str(measured), "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)["a2a3"][-1]

    before = errors()
    assert cli.main(["cost", "--fit", str(measured)]) == 0
    costs.write_text(capsys.readouterr().out)
    after = errors("--costs", str(costs))
    assert before["model"]["p90"] > 0.4
    assert after["model"]["p90"] < 0.02
    assert after["vendor"] == before["vendor"]
    assert cli.main(["cost", "--errors", str(measured)]) == 0
    text = capsys.readouterr().out
    assert "a2a3: relative error in %, median and 90th percentile" in text
    assert "unseen half" in text


def test_tables_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table with its comments, or as modified by a file."""
    assert cli.main(["cost", "--table"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# What instructions of the Ascend 910B")
    costs = tmp_path / "costs.toml"
    costs.write_text("[machine.launch]\nus = 3.25\n")
    assert cli.main(["cost", "--table", "--costs", str(costs)]) == 0
    assert "us = 3.25" in capsys.readouterr().out
    assert cli.main(["cost", "--table", "--target", "a4"]) == 1
    assert "there are no costs for 'a4'" in capsys.readouterr().err
