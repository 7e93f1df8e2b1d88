"""docs/names.md: every public name, with its first words; ``--update-golden`` rewrites them."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pypto.language as pl

PAGE = Path(__file__).parents[2] / "docs" / "names.md"
OPS = [pl.block, pl.tensor, pl.system]
PACKAGES = ["pypto.language", "pypto.ir", "pypto.passes", "pypto.codegen", "pypto.backend",
            "pypto.runtime", "pypto.golden", "pypto.torch", "pypto.jax", "pypto",
            "pypto.testing"]  # fmt: skip
WITHOUT_TEXT = {
    "DYNAMIC_DIM": "A dimension without a name, -1.",
    "IntLike": "What stands for a dimension: a number, or an expression that is one.",
    "__version__": "The version.",
    "op_conversion": "Return a decorator that makes `fn(ctx, args, kwargs, span)` the conversion "
    "of an op.",
}
"""Values without a docstring of their own, or with another one once a module is imported."""
SECTION = re.compile(r"^### `([\w.]+)`\n[^#|]*\n((?:\|.*\n)+)", re.MULTILINE)
HEAD = re.compile(r"(?:(?:block|tensor)\.)?\w+\(.*\)")


def words(name: str, value: Any) -> str:
    """Return the first paragraph of a docstring on one line, without a leading signature."""
    paragraphs = (WITHOUT_TEXT.get(name) or inspect.getdoc(value) or "").split("\n\n")
    text = next(found for found in paragraphs if not HEAD.fullmatch(found))
    assert text, name
    return " ".join(text.split()).replace("``", "`").replace("|", "\\|")


def ops_in(module: ModuleType) -> list[str]:
    """Return the rows of a module of operators: each with the names of its parameters."""
    rows = ["| Operator | What it does |", "|---|---|"]
    for name in sorted(module.__all__):
        op = getattr(module, name)
        parameters = [p for p in inspect.signature(op).parameters if p != "span"]
        if getattr(op, "last_operand", None):
            parameters.append(op.last_operand)
        rows.append(f"| `{name}({', '.join(parameters)})` | {words(name, op)} |")
    return rows


def names_in(module: ModuleType) -> list[str]:
    """Return the rows of a package; a member of one of its classes is listed next to the class."""
    names = {name: getattr(module, name) for name in module.__all__}
    members: dict[str, list[str]] = {}
    for name, value in names.items():
        kind: str = type(value).__name__
        if names.get(kind) is type(value):
            members.setdefault(kind, []).append(f"`{name}`")
    inside = {name for found in members.values() for name in found}
    operators = {name for ops in OPS for name in ops.__all__} if module is pl else set[str]()
    rows = ["| Name | What it is |", "|---|---|"]
    for name, value in names.items():
        if f"`{name}`" in inside or name in operators:
            continue
        more = f" Here: {', '.join(members[name])}." if name in members else ""
        rows.append(f"| `{name}` | {words(name, value)}{more} |")
    return rows


def tables() -> dict[str, str]:
    """Return the table of each section."""
    found = {f"pl.{ops.__name__.rpartition('.')[2]}": ops_in(ops) for ops in OPS}
    found |= {name: names_in(import_module(name)) for name in PACKAGES}
    return {name: "\n".join(rows) + "\n" for name, rows in found.items()}


def test_page_is_what_the_docstrings_say(request: pytest.FixtureRequest) -> None:
    """Each package has a section, and its table has every name."""
    text, wanted = PAGE.read_text(encoding="utf-8"), tables()
    if request.config.getoption("--update-golden"):
        new = SECTION.sub(lambda found: found[0].replace(found[2], wanted[found[1]]), text)
        PAGE.write_text(new, encoding="utf-8")
        return
    assert {found[1]: found[2] for found in SECTION.finditer(text)} == wanted


def test_operators_on_tiles_have_short_names() -> None:
    """As the page says, each is also `pl.NAME`."""
    assert set(pl.block.__all__) <= set(pl.__all__)
