"""The names that a definition captures: what a kernel depends on besides its own text."""

from __future__ import annotations

import ast

import pytest

from pypto._src.jit.captures import Path, names_read

READ: dict[str, tuple[str, dict[str, list[Path]]]] = {
    "arguments": (
        "x = a.b.c(d, -1, [e, 0], f.g, k=[h, 1], w=pl.FP32)",
        {
            "a": [("b", "c")],
            "d": [()],
            "e": [()],
            "f": [("g",)],
            "h": [()],
            "pl": [("FP32",)],
        },
    ),
    "methods": ("x = self.a(c)\nself.b(c, k=2)", {"self": [("a",), ("b",)], "c": [(), ()]}),
    "calls within calls": (
        "x = a.b(c.d(e), f.g(x))",
        {"a": [("b",)], "c": [("d",)], "e": [()], "f": [("g",)]},
    ),
    "sums": ("x = (a + 3) * b.c - -2 // d", {"a": [()], "b": [("c",)], "d": [()]}),
    "several at once": ("x, y = a.b(y), c\nz = x + d", {"a": [("b",)], "c": [()], "d": [()]}),
    "blocks": (
        "for i in n:\n  if i > m:\n    x = i\n  else:\n    j = k\nwith w: pass",
        {"n": [()], "m": [()], "k": [()], "w": [()]},
    ),
    "in another scope": ("x = [a for a in b]", {"b": [()]}),
    "assigned later": ("y = x.z\nx = 1", {}),
}


@pytest.mark.parametrize(("body", "wanted"), READ.values(), ids=READ)
def test_names_read(body: str, wanted: dict[str, list[Path]]) -> None:
    """Names assigned in a body are local; the rest are captured, with their attributes."""
    function = ast.parse("def f():\n" + "".join(f"  {line}\n" for line in body.splitlines()))
    node = function.body[0]
    assert isinstance(node, ast.FunctionDef)
    found = names_read(node)
    assert found == wanted
    assert list(found) == list(wanted)


def test_headers_read_outside() -> None:
    """A name in the types of a signature is captured, even if the body assigns it."""
    node = ast.parse("def f(x: a[n, x]) -> b.c:\n  n = x\n  d = n").body[0]
    assert isinstance(node, ast.FunctionDef)
    assert names_read(node) == {"a": [()], "n": [()], "x": [()], "b": [("c",)]}
