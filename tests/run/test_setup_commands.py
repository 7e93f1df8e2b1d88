"""Commands that read no program: `pypto doctor`, `new`, `explain` and `completion`."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from pypto._src import cli
from pypto._src.commands import explain
from pypto._src.commands.setup import doctor
from pypto._src.run import toolchain
from tests.meta.test_slugs import raised
from tests.shells import CASES, START, completed

ROOT = Path(__file__).parents[2]
PATH = os.environ["PATH"]
SYSTEM = next((path for name in toolchain.NAMES if (path := shutil.which(name))), None)
on_unix = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts")
needs_compiler = pytest.mark.skipif(SYSTEM is None, reason="no C++ compiler on PATH")


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return an empty directory as the whole PATH, on a machine without variables and cache."""
    for name in ("PYPTO_CXX", "PTOAS", "PTOAS_ROOT"):
        monkeypatch.delenv(name, raising=False)
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PYPTO_NUM_THREADS", "3")
    toolchain._probe.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield path
    toolchain._probe.cache_clear()  # pyright: ignore[reportPrivateUsage]


def write_script(path: Path, body: str) -> None:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def examined(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    """Return the status and output of `pypto doctor --json`."""
    status = cli.main(["doctor", "--json", *words])
    return status, json.loads(capsys.readouterr().out)


def without_zig(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def find_others(name: str) -> ModuleSpec | None:
        return None if name == "ziglang" else find_spec(name)

    monkeypatch.setattr(importlib.util, "find_spec", find_others)


# --------------------------------------------------------------------------------------------
# pypto doctor
# --------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("bin_dir")
def test_no_compiler(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Without a compiler doctor says what was tried and what to type, with status 1."""
    without_zig(monkeypatch)
    status, found = examined(capsys)
    assert status == 1
    assert found["compiler"]["command"] is None
    assert found["compiler"]["tried"] == {
        **dict.fromkeys(("c++", "g++", "clang++"), "not on PATH"),
        "ziglang": "not installed",
    }
    assert [each["hint"] for each in found["problems"]] == ["pip install 'pypto[toolchain]'"]
    assert found["threads"] == 3
    assert found["cache"] == {"directory": str(tmp_path / "cache"), "kernels": 0, "bytes": 0}
    assert found["extras"]["toolchain"]["installed"] is False
    assert cli.main(["doctor"]) == 1
    assert "  = hint: pip install 'pypto[toolchain]'" in capsys.readouterr().out


@pytest.mark.usefixtures("shipped_flags")
@on_unix
@needs_compiler
def test_compiler_on_path(
    bin_dir: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A compiler on PATH is shown with its flags and its vector width, with status 0."""
    without_zig(monkeypatch)
    write_script(bin_dir / "g++", f'PATH={PATH!r} exec {SYSTEM!r} "$@"')
    status, found = examined(capsys)
    assert (status, found["problems"]) == (0, [])
    assert found["compiler"]["command"] == [str(bin_dir / "g++")]
    assert "-O3" in found["compiler"]["flags"]
    names = [name for _, name in doctor._VECTORS]  # pyright: ignore[reportPrivateUsage]
    assert found["compiler"]["vectors"] in (None, *names)
    assert cli.main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("Programs run compiled on this machine.\n")


@on_unix
@needs_compiler
@pytest.mark.usefixtures("bin_dir")
def test_zig_from_its_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """If PATH has no compiler, the package ziglang serves as one."""
    package = tmp_path / "site" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        "import os, sys\nassert sys.argv[1] == 'c++'\n"
        f"os.environ['PATH'] = {PATH!r}\nos.execv({SYSTEM!r}, sys.argv[1:])\n"
    )
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    status, found = examined(capsys)
    assert (status, found["problems"]) == (0, [])
    assert found["compiler"]["command"][1:] == ["-m", "ziglang", "c++"]
    assert found["extras"]["toolchain"]["installed"] is True


@pytest.mark.usefixtures("bin_dir")
def test_wrong_variables(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Variables with invalid values are problems, each with what to type."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("PYPTO_CXX", "no-such-compiler")
    monkeypatch.setenv("PYPTO_NUM_THREADS", "many")
    monkeypatch.setenv("PYPTO_DEBUG", "loud")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "file"))
    status, found = examined(capsys)
    assert status == 1
    problems = found["problems"]
    assert [each["message"].split()[0] for each in problems] == [
        "PYPTO_CXX",
        "PYPTO_NUM_THREADS",
        "the",
        "PYPTO_DEBUG",
    ]
    assert problems[2]["message"].startswith(f"the kernel cache {tmp_path / 'file'}")
    assert problems[1]["hint"] == "unset PYPTO_NUM_THREADS"
    assert found["environment"]["PYPTO_DEBUG"] == "loud"


def test_extras_are_those_of_the_package() -> None:
    """Doctor knows each extra of the package except the developers', with its package."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    assert list(doctor.EXTRAS) == [
        name for name in extras if name not in ("browser", "dev", "docs")
    ]
    for name, (package, _) in doctor.EXTRAS.items():
        assert extras[name][0].startswith(package)


# --------------------------------------------------------------------------------------------
# pypto new
# --------------------------------------------------------------------------------------------


def test_new_project(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A new project has a kernel that `pypto check` accepts and a test that passes as it is."""
    folder = tmp_path / "my-kernel"
    assert cli.main(["new", str(folder), "--json"]) == 0
    files = ["README.md", "pyproject.toml", "my_kernel.py", "test_my_kernel.py"]
    assert json.loads(capsys.readouterr().out) == {"folder": str(folder), "files": files}
    assert cli.main(["check", str(folder / "my_kernel.py")]) == 0
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTEST_ADDOPTS": ""}
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.splitlines()[-1].split(" in ")[0]) == (0, "1 passed")
    commands = (folder / "README.md").read_text(encoding="utf-8").count("pypto ")
    assert commands == 4  # three of them to type


@pytest.mark.parametrize("name", ["my kernel", "1st", "class", "größe"])
def test_names_that_are_none(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A project name must be a Python module name, or one with '-' for '_'."""
    monkeypatch.chdir(tmp_path)
    assert cli.main(["new", name]) == 1
    assert "[project-name]" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An existing folder is left alone."""
    assert cli.main(["new", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []
    assert capsys.readouterr().err.startswith("error: ")


# --------------------------------------------------------------------------------------------
# pypto explain
# --------------------------------------------------------------------------------------------


def test_every_error_has_a_page() -> None:
    """Each slug that PyPTO raises can be explained, by programs with their reports or in words."""
    for slug in raised():
        page = explain.page(slug)
        assert page.meaning or page.mistakes, slug
        for mistake in page.mistakes:
            assert "error: " in mistake.report or "warning: " in mistake.report, mistake.title


def test_explain_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    """The page of a slug has its programs and the report of each; brackets may be included."""
    assert cli.main(["explain", "[no-value]"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("no-value\n\n# The value of a barrier\n\nimport pypto.language as pl\n")
    assert "  [no-value]\n --> kernel.py:" in said
    assert cli.main(["explain", "cache"]) == 0
    wanted = "cache: no directory can keep compiled kernels"
    assert capsys.readouterr().out.startswith(wanted)


def test_misspelt_slug(capsys: pytest.CaptureFixture[str]) -> None:
    """The nearest slug is the hint."""
    assert cli.main(["explain", "shpe-mismatch"]) == 1
    assert capsys.readouterr().err == (
        "error: there is no error 'shpe-mismatch'  [unknown-slug]\n"
        "  = hint: pypto explain shape-mismatch\n"
    )


def test_explain_lists_errors(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a slug all are printed; the error for an unrelated word points there."""
    assert cli.main(["explain", "xyzzy"]) == 1
    assert "hint: pypto explain, which lists" in capsys.readouterr().err
    assert cli.main(["explain"]) == 0
    listed = capsys.readouterr().out.split()
    assert listed == sorted(listed)
    assert set(raised()) <= set(listed)


# --------------------------------------------------------------------------------------------
# pypto completion
# --------------------------------------------------------------------------------------------


def script(shell: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return the script of a shell."""
    assert cli.main(["completion", shell]) == 0
    return capsys.readouterr().out


@on_unix
@pytest.mark.parametrize("shell", START)
def test_completion_at_a_terminal(
    shell: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tab completes a partial word, in a shell on a terminal."""
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell}")
    (tmp_path / "script").write_text(script(shell, capsys))
    wanted = [words for _, words in CASES]
    assert completed(shell, "source ./script", tmp_path) == wanted


def test_completion_in_fish(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The fish shell, asked for the completions of a line, says the same."""
    if shutil.which("fish") is None:
        pytest.skip("no fish")
    (tmp_path / "kernel.py").touch()
    (tmp_path / "script").write_text(script("fish", capsys))
    for typed, wanted in CASES:
        done = subprocess.run(
            ["fish", "--no-config", "-c", f"source script; complete -C '{typed}'"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        [found] = done.stdout.splitlines()
        assert found.partition("\t")[0] == wanted.split()[-1]
