"""What an installed package contains besides Python, and what a newcomer does with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import zipfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.artifact import IN_WHEEL, first_minutes

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pypto"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_package_is_marked_as_typed() -> None:
    """Type checkers use our annotations only if the package contains py.typed."""
    assert files("pypto").joinpath("py.typed").is_file()


def test_headers_are_package_data() -> None:
    """Generated C++ includes the headers in include/, so each is also a package resource."""
    headers = [path for path in (PACKAGE / "include").rglob("*") if path.is_file()]
    missing = [
        name
        for name in (header.relative_to(PACKAGE).as_posix() for header in headers)
        if not files("pypto").joinpath(name).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["ruff", "pyright"])
def test_checkers_are_pinned(name: str) -> None:
    """The checkers are pinned to exact versions, so that a new release changes no result."""
    development: list[str] = project()["project"]["optional-dependencies"]["dev"]
    [requirement] = [line for line in development if line.startswith(name)]
    assert requirement.startswith(f"{name}==")


def test_running_needs_only_three_packages() -> None:
    """The dependencies are NumPy, the dtypes it lacks, and the format of serialised IR."""
    dependencies: list[str] = project()["project"]["dependencies"]
    assert [line.split(">")[0] for line in dependencies] == ["numpy", "ml_dtypes", "msgpack"]


FIRST_MINUTES = """
import io, json, sys
from contextlib import redirect_stdout
from pathlib import Path
import pypto
from pypto._src import cli
print(json.dumps(pypto.__file__))
for kind, text in json.loads(sys.argv[1]):
    printed = io.StringIO()
    with redirect_stdout(printed):
        if kind != "sh":
            Path(kind).write_text(text, encoding="utf-8")
            continue
        program, *words = text.split()
        if program == "python":
            code = compile(Path(words[0]).read_text(encoding="utf-8"), words[0], "exec")
            exec(code, {"__name__": "__main__"})
        else:
            assert program == "pypto" and cli.main(words) == 0, text
    print(json.dumps(printed.getvalue()))
"""


def test_the_first_minutes(tmp_path: Path) -> None:
    """The commands of the start page and the first tutorial work in sequence, from the wheel."""
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    subprocess.run([*build, "--directory", tmp_path], cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("pypto-*.whl")
    installed, home = tmp_path / "site packages", tmp_path / "wörk"
    with zipfile.ZipFile(wheel) as archive:
        assert set(IN_WHEEL) <= set(archive.namelist())
        archive.extractall(installed)
    home.mkdir()
    steps = first_minutes()
    done = subprocess.run(
        [sys.executable, "-c", FIRST_MINUTES, json.dumps(steps)],
        cwd=home,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    where, *shown = map(json.loads, done.stdout.splitlines())
    assert Path(where).is_relative_to(installed)
    said = dict(zip([text for kind, text in steps if kind == "sh"], shown, strict=True))
    assert "sync    ok" in said["pypto check add_one.py"]
    assert "critical path" in said["pypto profile add_one.py --hints 0"]
    assert "pto.tadds" in said["pypto show add_one.py mlir"]
    assert "hint: " in said["python add_one.py"]  # the mistake at the end of the page
