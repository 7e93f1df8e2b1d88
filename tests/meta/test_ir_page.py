"""docs/ir.md: every node and its fields, from the code; ``--update-golden`` rewrites the tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pypto._src.ir import array_types, exprs, stmts, types
from pypto._src.ir.exprs import Expr, IRNode, Op
from pypto._src.ir.node_base import FieldKind, Node
from pypto._src.ir.stmts import Stmt
from pypto._src.ir.types import Type

PAGE = Path(__file__).parents[2] / "docs" / "ir.md"
SECTION = re.compile(r"^<!-- (\w+) -->\n((?:\|.*\n)+)", re.MULTILINE)
DEFINED_IN = {module.__name__ for module in (types, exprs, array_types, stmts)}
KINDS = {FieldKind.PLAIN: "{}", FieldKind.DEFINING: "**{}**", FieldKind.IGNORED: "*{}*"}
FAMILIES: dict[str, type[Node]] = {"Type": Type, "Expr": Expr, "Stmt": Stmt, "Op": Op}


def below(base: type[Any]) -> list[type[Any]]:
    """Return the classes of the IR below ``base``, each after its base, in order of definition."""
    found: list[type[Any]] = []
    for cls in base.__subclasses__():
        if cls.__module__ in DEFINED_IN:
            found += [cls, *below(cls)]
    return list(dict.fromkeys(found))


def row(cls: type[Any]) -> str:
    """Return the row of a class: name, base, fields by their kind, first sentence."""
    own = [field for field in cls.FIELDS if field.name != "span"]
    fields = [KINDS[f.kind].format(f"{f.name}: {f.annotation}") for f in own]
    shown = ", ".join(fields).replace("|", "\\|")
    words = " ".join((cls.__doc__ or "").split("\n\n")[0].split())
    words = words.replace("``", "`").replace("|", "\\|")
    return f"| `{cls.__name__}` | `{cls.__bases__[0].__name__}` | {shown} | {words} |\n"


def tables() -> dict[str, str]:
    """Return the table of each section."""
    head = "| Node | Base | Fields | |\n|---|---|---|---|\n"
    families = {name: [base, *below(base)] for name, base in FAMILIES.items()}
    named = {cls for found in families.values() for cls in found}
    families["Other"] = [
        cls for cls in [*below(Node), IRNode] if cls not in named and cls is not IRNode
    ]
    return {
        name: head + "".join(row(cls) for cls in found if not cls.__name__.startswith("_"))
        for name, found in families.items()
    }


def test_page_is_what_the_classes_say(request: pytest.FixtureRequest) -> None:
    """Each node class is in one table, with its fields."""
    text, wanted = PAGE.read_text(encoding="utf-8"), tables()
    if request.config.getoption("--update-golden"):
        new = SECTION.sub(lambda found: f"<!-- {found[1]} -->\n{wanted[found[1]]}", text)
        PAGE.write_text(new, encoding="utf-8")
        return
    assert {found[1]: found[2] for found in SECTION.finditer(text)} == wanted
