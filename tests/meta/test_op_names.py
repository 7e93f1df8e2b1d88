"""Passes and emitters query an op's facts or compare the op itself; none refers to it by name."""

from __future__ import annotations

import ast
from pathlib import Path

from pypto._src.ops.define import REGISTRY

SRC = Path(__file__).parents[2] / "src" / "pypto" / "_src"
ROOMS = ["analysis", "emit", "frontend", "interp", "ir", "lint", "passes", "run"]


def texts(path: Path) -> list[tuple[int, str]]:
    """Return the string literals in a module except its docstrings, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [(n.lineno, n.value) for n in found if isinstance(n.value, str) and id(n) not in docs]


def test_no_op_is_known_by_its_name() -> None:
    """No string in these folders is the full name of an op."""
    named = [
        f"{path.relative_to(SRC).as_posix()}:{line}: {text}"
        for room in ROOMS
        for path in sorted((SRC / room).rglob("*.py"))
        for line, text in texts(path)
        if text in REGISTRY
    ]
    assert named == []
