"""docs/reference.md has every command, variable and option, and no others."""

from __future__ import annotations

import argparse
import inspect
import re
from pathlib import Path
from typing import cast

import pytest

from pypto import passes
from pypto._src import cli, knobs
from pypto.codegen import CppOptions

PAGE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")
HELP = {"-h", "--help"}


def section(title: str) -> str:
    """Return the text of the page below a heading, up to the next one of its level or higher."""
    marks = len(title) - len(title.lstrip("#"))
    pattern = rf"^{re.escape(title)}\n(.*?)(?=^#{{1,{marks}}} |\Z)"
    found = re.search(pattern, PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # argparse has no public name for them


def commands() -> dict[str, argparse.ArgumentParser]:
    parser, _ = cli._parser()  # pyright: ignore[reportPrivateUsage]  the one place that knows them
    [choices] = [a.choices for a in options(parser) if a.nargs == argparse.PARSER]
    return dict(cast("dict[str, argparse.ArgumentParser]", choices))


@pytest.mark.parametrize("name", commands())
def test_commands(name: str) -> None:
    """The rows of a command have all its options and their values."""
    begins = (f"| `pypto {name} ", f"| `pypto {name}` ")
    rows = [r for r in section("## Command line").splitlines() if r.startswith(begins)]
    assert rows
    for action in options(commands()[name]):
        strings = set(action.option_strings)
        if strings & HELP or "--json" in strings:
            continue
        assert not strings or any(string in row for row in rows for string in strings), strings
        for choice in action.choices or ():
            assert any(str(choice) in row for row in rows), (name, choice)


def test_no_other_options() -> None:
    """Each option that the page names belongs to a command."""
    known = {
        string
        for parser in commands().values()
        for action in options(parser)
        for string in action.option_strings
    }
    named = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", section("## Command line")))
    assert named - known == {"--version"}


def test_variables() -> None:
    """The table of variables has those that PyPTO reads, each with every value that it accepts."""
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", section("## Environment"), re.MULTILINE)
    assert [name for name, _ in rows] == [knob.name for knob in knobs.KNOBS]
    for (name, values), knob in zip(rows, knobs.KNOBS, strict=True):
        if isinstance(knob, knobs.Choice):
            assert re.findall(r"`([^`]*)`", values) == list(knob.words), name


def test_options_of_the_cpp() -> None:
    """The table of options has each field of `CppOptions`, in order."""
    rows = re.findall(r"^\| `(\w+)` \|", section("### Options of the C++"), re.MULTILINE)
    assert rows == [*CppOptions._fields]
    assert not any(CppOptions())


def test_passes() -> None:
    """The table of passes has each function that makes one, with its options and their defaults."""
    rows = [row for row in section("## Passes").splitlines() if row.startswith("| `")]
    found: dict[str, str] = {}
    for row in rows:
        _, names, options, _ = row.split("|")
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", names), options))
    makers = {
        name: getattr(passes, name)
        for name in passes.__all__
        if inspect.isfunction(getattr(passes, name))
        and str(inspect.signature(getattr(passes, name)).return_annotation).endswith(
            ("Pass", "InsertSync")
        )
    }
    assert found.keys() == makers.keys()
    for name, maker in makers.items():
        wanted = [
            f"{parameter.name}={parameter.default!r}"
            for parameter in inspect.signature(maker).parameters.values()
        ]
        assert re.findall(r"`(\w+=[^`]*)`", found[name]) == wanted, name
