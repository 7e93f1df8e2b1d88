"""Errors that no kernel's text can cause: checks between the stages of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from pypto import DataType, ir
from pypto._src.emit.cpp.types import shape_text
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.emit.pto.types import rows_and_columns, tile_buf_type
from pypto._src.errors import PyptoError
from pypto._src.interp.scalars import binary_function
from pypto._src.statement.printer import to_statement_text

INT64 = ir.ScalarType(DataType.INT64)
NOWHERE = ir.Span.unknown()
n = ir.Var("n", INT64, NOWHERE)
TILE = ir.TileType([16, 16], DataType.FP32)


class OddStmt(ir.Stmt):
    """A statement of an unknown class."""


class OddExpr(ir.Expr):
    """An expression of an unknown class."""

    type = INT64
    span = NOWHERE


ODD = OddExpr.__new__(OddExpr)


def program(body: ir.Stmt) -> ir.Program:
    """Return a program of one kernel."""
    kernel = ir.Function("f", [n], [], body, NOWHERE, ir.FunctionType.InCore)
    return ir.Program([kernel], "Kernel", NOWHERE)


def result_of_nothing() -> None:
    """Ask which parameter a kernel returns, for one that returns none of them."""
    kernels: Any = import_module("pypto._src.run.kernels")
    kernels._result(program(ir.SeqStmts([], NOWHERE)).functions_[0], 0, ())


RARE: list[tuple[str, Callable[[], object], str]] = [
    ("emit-tile-space", lambda: tile_buf_type(TILE, ir.MemorySpace.DDR),
     "a tile cannot live in DDR memory"),
    ("emit-tile-shape", lambda: rows_and_columns(ir.TileType([n, 16], DataType.FP32)),
     "the tile shape [n, 16] is not constant"),
    ("rank", lambda: shape_text([1, 1, 1, 1, 16, 16]),
     "a tensor has 6 dimensions; kernels take up to 5"),
    ("kernel-result", result_of_nothing, "result 0 of kernel 'f' is not one of its parameters"),
    ("emit-statement", lambda: PTOCodegen().generate(program(OddStmt(NOWHERE))),
     "an OddStmt cannot be written"),
    ("error", lambda: to_statement_text(program(ir.EvalStmt(ODD, NOWHERE))),
     "OddExpr has no statement form"),
    ("evaluation", lambda: binary_function(ir.BinaryExpr, DataType.INT64),
     "the operator BinaryExpr has no meaning on numbers"),
]  # fmt: skip


@pytest.mark.parametrize(("slug", "act", "message"), RARE, ids=[slug for slug, _, _ in RARE])
def test_rare(slug: str, act: Callable[[], object], message: str) -> None:
    """The error says what was found, with its own slug."""
    with pytest.raises(PyptoError) as caught:
        act()
    assert (caught.value.slug, caught.value.message) == (slug, message)
