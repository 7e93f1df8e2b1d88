"""The environment variables: defaults, values, and the text of every error."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pypto._src import knobs


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for knob in knobs.KNOBS:
        monkeypatch.delenv(knob.name, raising=False)


def test_table_has_every_knob_once() -> None:
    """The table lists each module-level knob, under a name that no other has."""
    defined = [value for value in vars(knobs).values() if isinstance(value, knobs.Knob)]
    assert list(knobs.KNOBS) == defined
    assert len({knob.name for knob in knobs.KNOBS}) == len(defined)
    assert all(knob.meaning and knob.wants and knob.unset for knob in knobs.KNOBS)


def test_defaults() -> None:
    """Without variables, each knob has its documented default."""
    assert knobs.CXX.get() is None
    assert knobs.NUM_THREADS.get() is None
    assert knobs.VERIFY_LEVEL.get() == "basic"
    assert knobs.DEBUG.get() is False
    assert knobs.BACKTRACE.get() == "0"


@pytest.mark.parametrize("knob", knobs.KNOBS, ids=lambda knob: knob.name)
def test_empty_is_unset(knob: knobs.Knob, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty or blank value counts as unset."""
    monkeypatch.setenv(knob.name, "  ")
    assert knob.text() is None


def test_values_are_read_at_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of the environment is visible at the next read."""
    monkeypatch.setenv("PYPTO_CXX", " ccache g++ ")
    assert knobs.CXX.get() == "ccache g++"
    monkeypatch.setenv("PYPTO_CXX", "clang++")
    assert knobs.CXX.get() == "clang++"


@pytest.mark.parametrize(("text", "on"), [("1", True), ("Yes", True), ("off", False), ("0", False)])
def test_flag(text: str, on: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth values have the usual spellings, in any case."""
    monkeypatch.setenv("PYPTO_DEBUG", text)
    assert knobs.DEBUG.get() is on


def test_good_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and choices are returned as their type, choices in lower case."""
    monkeypatch.setenv("PYPTO_NUM_THREADS", "8")
    monkeypatch.setenv("PYPTO_VERIFY_LEVEL", "NONE")
    monkeypatch.setenv("PTO_BACKTRACE", "1")
    assert knobs.NUM_THREADS.get() == 8
    assert knobs.VERIFY_LEVEL.get() == "none"
    assert knobs.BACKTRACE.get() == "1"


@pytest.mark.parametrize(
    ("knob", "text", "wants"),
    [
        (knobs.NUM_THREADS, "many", "an integer of 1 or more"),
        (knobs.NUM_THREADS, "0", "an integer of 1 or more"),
        (knobs.NUM_THREADS, "-2", "an integer of 1 or more"),
        (knobs.NUM_THREADS, "2.5", "an integer of 1 or more"),
        (knobs.NUM_THREADS, "²", "an integer of 1 or more"),
        (knobs.VERIFY_LEVEL, "full", "basic or none"),
        (knobs.DEBUG, "maybe", "0 or 1 (also no/yes, off/on, false/true)"),
        (knobs.BACKTRACE, "2", "0 or 1"),
    ],
)
def test_bad_value(
    knob: knobs.Count | knobs.Choice | knobs.Flag,
    text: str,
    wants: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bad value is an error with the variable, the value and what is expected."""
    text = os.fsdecode(text.encode())  # letters outside the locale: as Python represents bytes
    monkeypatch.setenv(knob.name, text)
    with pytest.raises(knobs.KnobError) as caught:
        knob.get()
    assert str(caught.value) == f"{knob.name} is {text!r}; it takes {wants}"
    assert isinstance(caught.value, ValueError)


def test_cache_dir_is_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Relative paths and ``~`` are resolved when the value is read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYPTO_CACHE_DIR", "kept")
    assert knobs.CACHE_DIR.get() == tmp_path / "kept"
    if sys.platform != "win32":
        monkeypatch.setenv("PYPTO_CACHE_DIR", "~/kept")
        assert knobs.CACHE_DIR.get() == tmp_path / "home" / "kept"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, "/home/me/.cache/pypto"),
        ("linux", {"XDG_CACHE_HOME": "/caches"}, "/caches/pypto"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/pypto"),
        ("darwin", {"XDG_CACHE_HOME": "/caches"}, "/home/me/Library/Caches/pypto"),
        ("win32", {}, "/home/me/.cache/pypto"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths are written for POSIX")
def test_default_cache_dir(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each platform has its own cache location; a relative XDG path is ignored."""
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert knobs.CACHE_DIR.get() == Path(expected)


def test_unknown_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A home directory that the system does not know is an error, not a directory named ~."""
    monkeypatch.setenv("PYPTO_CACHE_DIR", "~no-such-user/kept")
    with pytest.raises(knobs.KnobError) as caught:
        knobs.CACHE_DIR.get()
    assert str(caught.value) == (
        "PYPTO_CACHE_DIR is '~no-such-user/kept', and that home directory is not known; "
        "it takes the path of a directory"
    )


def test_import_is_light() -> None:
    """Importing the knobs alone loads neither typing nor pathlib."""
    code = f"import sys; sys.path.insert(0, {str(Path(knobs.__file__).parent)!r}); import knobs"
    code += "; print(sorted({'typing', 'pathlib', 'dataclasses'} & set(sys.modules)))"
    command = [sys.executable, "-S", "-c", code]  # -S: an installed .pth may import them itself
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
