"""Deep trees and trees with much sharing: operations that handle them, and those that refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto._src.errors import TextError

INT = ir.ScalarType(ir.INT64)
X = ir.Var("x", INT)


def left() -> ir.Stmt:
    value: ir.Expr = X
    for _ in range(10_000):
        value = ir.Add(value, X, ir.INT64)
    return ir.EvalStmt(value)


def right() -> ir.Stmt:
    value: ir.Expr = X
    for _ in range(10_000):
        value = ir.Add(X, value, ir.INT64)
    return ir.EvalStmt(value)


def branches() -> ir.Stmt:
    stmt: ir.Stmt = ir.YieldStmt()
    for _ in range(1000):
        stmt = ir.IfStmt(ir.ConstBool(True), stmt, None)
    return stmt


def verified(stmt: Any) -> int:
    program = ir.Program([ir.Function("f", [X], [], stmt)], "P")
    return len(ir.IRVerifier.create_default().verify(program))


def read_back(stmt: Any) -> bool:
    return ir.structural_equal(stmt, ir.deserialize(ir.serialize(stmt)), True)


DEEP = {"left": left, "right": right, "branches": branches}
WORKS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "serialise, read and compare": (read_back, True),
    "hash": (lambda stmt: ir.structural_hash(stmt) == ir.structural_hash(stmt), True),
    "walk": (lambda stmt: sum(1 for _ in ir.walk(stmt)) > 2000, True),
    "tree": (lambda stmt: ir.dump_tree(stmt).count("\n") > 1999, True),
    "json": (lambda stmt: ir.to_json(stmt).count('"class"') > 1000, True),
    "verify": (verified, 0),
}


@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
@pytest.mark.parametrize(("use", "result"), WORKS.values(), ids=WORKS)
def test_deep(make: Callable[[], Any], use: Callable[[Any], Any], result: Any) -> None:
    """Expressions 10,000 deep and 1,000 nested branches are handled."""
    assert use(make()) == result


def test_printing_to_the_left() -> None:
    """A left-nested chain of sums has no parentheses, so its depth does not matter."""
    assert str(left()).count("+") == 10_000


@pytest.mark.parametrize("make", [right, branches])
def test_printing_what_nests(make: Callable[[], Any]) -> None:
    """Text that no parser could read is not printed: the error says what to use instead."""
    node = make()
    with pytest.raises(TextError) as caught:
        str(node)
    kind = type(node).__name__
    assert caught.value.message == f"this {kind} nests too deeply to be printed"
    assert caught.value.hint == "print a part of it, or look at ir.dump_tree(node)"


def test_shared_values_are_stored_once() -> None:
    """A value doubled sixty times is sixty nodes in bytes, tree and JSON."""
    value: ir.Expr = X
    for _ in range(60):
        value = ir.Add(value, value, ir.INT64)
    assert len(ir.serialize(value)) < 1000
    assert ir.dump_tree(value).count("\n") == 120
    assert ir.to_json(value).count('"Add"') == 60
