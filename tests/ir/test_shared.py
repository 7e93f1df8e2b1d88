"""Expressions that share their parts: comparison and verification look at each object once."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto._src.ir.verify import IRVerifier

DEPTH = 60  # doublings: 2**60 leaves as text
SMALL = 13  # deep enough to be numbered, small enough to be written out
INT64 = ir.INT64


def shared(x: ir.Var, depth: int, odd: int = 0) -> ir.Expr:
    """Return x doubled ``depth`` times, each sum an object that stands on both sides."""
    value: ir.Expr = x
    for level in range(1, depth + 1):
        kind = ir.Mul if level == odd else ir.Add
        value = kind(value, value, INT64)
    return value


def written_out(x: ir.Var, depth: int) -> ir.Expr:
    """Return the same sum, every part of it an object of its own."""
    if depth == 0:
        return x
    return ir.Add(written_out(x, depth - 1), written_out(x, depth - 1), INT64)


def variable() -> ir.Var:
    return ir.Var("x", ir.ScalarType(INT64))


def program(x: ir.Var, value: ir.Expr) -> ir.Program:
    span = ir.Span.unknown()
    y = ir.Var("y", ir.ScalarType(INT64))
    body = ir.SeqStmts([ir.AssignStmt(y, value, span), ir.ReturnStmt([y], span)], span)
    return ir.Program([ir.Function("f", [x], [ir.ScalarType(INT64)], body, span)], "P", span)


def doubled(depth: int = DEPTH, odd: int = 0) -> ir.Program:
    x = variable()
    return program(x, shared(x, depth, odd))


def test_equality() -> None:
    """Equal, and unequal in the innermost part, in an outer one, or in depth."""
    whole = doubled()
    assert ir.structural_equal(whole, doubled())
    for other in (doubled(odd=1), doubled(odd=DEPTH), doubled(DEPTH + 1), doubled(DEPTH - 1)):
        assert not ir.structural_equal(whole, other)


def test_hash() -> None:
    """Equal programs have equal hashes, others in all likelihood not."""
    hashes = {ir.structural_hash(doubled(odd=odd)) for odd in range(DEPTH + 1)}
    assert len(hashes) == DEPTH + 1
    assert ir.structural_hash(doubled()) == ir.structural_hash(doubled())


def test_verification() -> None:
    """A correct program has no finding, an undefined variable has one for each place."""
    verifier = IRVerifier.create_default()
    assert verifier.verify(doubled()) == []
    free = program(variable(), shared(variable(), DEPTH))
    assert [found.message for found in verifier.verify(free)] == [
        "variable 'x' is read without a definition"
    ] * 2


def test_sharing_is_no_structure() -> None:
    """A sum written out is equal to the shared one and has its hash."""
    x = variable()
    tree = program(x, written_out(x, SMALL))
    assert ir.structural_equal(tree, doubled(SMALL))
    assert ir.structural_equal(doubled(SMALL), tree)
    assert ir.structural_hash(tree) == ir.structural_hash(doubled(SMALL))
    assert not ir.structural_equal(tree, doubled(SMALL, odd=2))


@pytest.mark.parametrize("auto", [False, True])
def test_free_variables(auto: bool) -> None:
    """Free variables correspond on demand only, also in shared expressions."""
    x, y = variable(), variable()
    assert ir.structural_equal(shared(x, DEPTH), shared(y, DEPTH), auto) == auto
    assert ir.structural_equal(shared(x, DEPTH), shared(x, DEPTH), auto)
    both = ir.Sub(shared(x, DEPTH), shared(y, DEPTH), INT64)
    swapped = ir.Sub(shared(y, DEPTH), shared(x, DEPTH), INT64)
    one = ir.Sub(shared(x, DEPTH), shared(x, DEPTH), INT64)
    assert ir.structural_equal(both, swapped, auto) == auto
    assert not ir.structural_equal(both, one, auto)
    assert ir.structural_hash(both, auto) == ir.structural_hash(swapped, auto)


def test_first_difference() -> None:
    """The path leads to the part that differs, through all that share it."""
    x = variable()
    with pytest.raises(ValueError, match="differ") as caught:
        ir.assert_structural_equal(program(x, written_out(x, SMALL)), doubled(SMALL, odd=2))
    path = ".left" * (SMALL - 2)
    assert str(caught.value) == (
        f"structures differ at Program.functions_[0].body[0].value{path}: Add is not Mul\n"
        "  left:  x + x + (x + x)\n"
        "  right: (x + x) * (x + x)"
    )
