"""The `--json` output of commands matches its schemas, which allow no other fields."""

from __future__ import annotations

import json
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

import pytest

from pypto._src import cli
from tests.meta.test_reference import commands, options
from tests.natively import compiler
from tests.run.test_cli import DOUBLE

compile_schema: Any = import_module("fastjsonschema").compile

NAMES = [
    name
    for name, parser in commands().items()
    if any("--json" in action.option_strings for action in options(parser))
]
OTHER = DOUBLE.replace("pl.add(tile, tile)", "pl.mul(tile, tile)")
TUNED = """\
import pypto.language as pl


@pl.jit
def plus(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]], ROWS: int = 8):
    for r in pl.range(0, 64, ROWS):
        y = pl.store(pl.add(pl.load(x, [r, 0], [ROWS, 64]), 1.0), [r, 0], [ROWS, 64], y)
    return y
"""
PTO = 'module attributes {"pto.target_arch" = "a3"} {\n  func.func @f() {\n    return\n  }\n}\n'
CASES = "id,arch,instruction,src_dtype,dst_dtype,rows,cols,valid_rows,valid_cols,src_layout,\
dst_layout,extra\n1,a2a3,TADD,f32,f32,8,64,8,64,,,\n"

LINES = [
    "show double.py",
    "show double.py cpp",
    "show double.py memory",
    "show --graph double.py",
    "show --graph --static double.py",
    "convert double.py --to statement",
    "compile double.py -o made",
    "run double.py --option profile",
    "check double.py",
    "check partly.py",
    "compare double.py",
    "bisect double.py --against other.py",
    "bisect double.py --against double.py",
    "reduce partly.py --check error:out-partly-written",
    "profile double.py",
    "profile double.py --against other.py",
    "tune tuned.py --choice ROWS=8,7,128 --processes 1",
    "bench double.py --seconds 0.001",
    "cost --csv cases.csv",
    "verify kernel.pto",
    "demo layer_norm -o demo",
    "doctor",
    "new kernel",
    "explain",
    "explain no-value",
    "explain cache",
]


def schema(name: str) -> dict[str, Any]:
    return json.loads((files("pypto") / "schemas" / f"{name}.json").read_text(encoding="utf-8"))


def closed(part: Any) -> bool:
    """Return whether every object of a schema lists all its fields."""
    if isinstance(part, list):
        return all(map(closed, cast("list[Any]", part)))
    if not isinstance(part, dict):
        return True
    given = cast("dict[str, Any]", part)
    is_open = given.get("type") == "object" and "additionalProperties" not in given
    return not is_open and all(closed(value) for value in given.values())


def test_each_command_has_a_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command with `--json` has a schema, which `pypto schema` prints; no other has."""
    found = [path.name for path in (files("pypto") / "schemas").iterdir()]
    assert sorted(found) == sorted(f"{name}.json" for name in [*NAMES, "error"])
    assert {line.split()[0] for line in LINES} == set(NAMES)
    assert cli.main(["schema", "check"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("check")
    assert cli.main(["schema", "no-command"]) == 2


@pytest.mark.parametrize("line", ["check broken.py", "show broken.py cpp", "new class"])
def test_an_error_is_data_too(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A command that ends with an error still prints JSON, with all the errors that were found."""
    monkeypatch.chdir(tmp_path)
    Path("broken.py").write_text(DOUBLE.replace("pl.add(", "pl.ad(").replace("pl.load(", "pl.lod("))
    assert cli.main([*line.split(), "--json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    compile_schema(schema("error"))(printed)
    if "broken" in line:
        assert [each["rule"] for each in printed["errors"]] == ["unknown-op"] * 2
        assert all(each["file"] == "broken.py" and each["line"] for each in printed["errors"])


@pytest.mark.parametrize("name", NAMES)
def test_schemas_are_closed(name: str) -> None:
    """A schema has the title of its command, and no object has fields that it does not list."""
    assert schema(name)["title"] == f"pypto {name} --json"
    assert closed(schema(name))


@pytest.mark.parametrize("line", LINES)
def test_what_is_printed(
    line: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The `--json` output of a command validates against its schema."""
    monkeypatch.chdir(tmp_path)
    texts = {"double.py": DOUBLE, "other.py": OTHER, "tuned.py": TUNED, "kernel.pto": PTO}
    partly = DOUBLE.replace("0], [8, 16])", "0], [8, 8])").replace(
        "0], [8, 16], out", "0], [8, 8], out"
    )
    texts |= {"cases.csv": CASES, "partly.py": partly}
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    command = line.split()[0]
    if command in ("run", "bench"):
        compiler()
    status = cli.main([*line.split(), "--json"])
    said = capsys.readouterr()
    assert status in (0, 1), said.err
    compile_schema(schema(command))(json.loads(said.out))
