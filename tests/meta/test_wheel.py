"""What an installed package brings along besides Python."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "pypto"


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_package_is_marked_as_typed() -> None:
    """Type checkers use our annotations only if the package holds py.typed."""
    assert files("pypto").joinpath("py.typed").is_file()


def test_headers_are_package_data() -> None:
    """Generated C++ includes the headers in include/, so each is there as a resource, too."""
    headers = [path for path in (PACKAGE / "include").rglob("*") if path.is_file()]
    missing = [
        name
        for name in (header.relative_to(PACKAGE).as_posix() for header in headers)
        if not files("pypto").joinpath(name).is_file()
    ]
    assert missing == []


@pytest.mark.parametrize("name", ["ruff", "pyright"])
def test_checkers_are_pinned(name: str) -> None:
    """The checkers have one exact version, so that a new release changes no result."""
    development: list[str] = project()["project"]["optional-dependencies"]["dev"]
    [requirement] = [line for line in development if line.startswith(name)]
    assert requirement.startswith(f"{name}==")


def test_running_needs_only_three_packages() -> None:
    """The dependencies are NumPy, the dtypes it lacks, and the format of serialised IR."""
    dependencies: list[str] = project()["project"]["dependencies"]
    assert [line.split(">")[0] for line in dependencies] == ["numpy", "ml_dtypes", "msgpack"]
