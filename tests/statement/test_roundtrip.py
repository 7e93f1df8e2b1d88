"""Text printed in the statement form is parsed to the same program, and prints the same again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto import ir
from pypto._src.commands.example_cases import Case, cases
from pypto._src.errors import PassError
from pypto._src.statement.form import to_statement_form
from tests.frontend.test_roundtrip import Writer
from tests.ir.samples import program
from tests.passes.build import random_kernel
from tests.passes.scalars import program as scalar_program
from tests.passes.scalars import sources
from tests.properties.ir_values import drawn_program
from tests.properties.kernels import Pick, random_matrix_source, random_source
from tests.properties.programs import changes
from tests.properties.test_roundtrip import PROGRAMS, SOURCES, Make
from tests.statement.documents import check

EXAMPLES = cases(Path(__file__).parents[2] / "examples")


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_hand_written_programs(make: Make) -> None:
    """Every kind of node, statement, type and attribute is preserved."""
    whole = make()
    check(whole, to_statement_form(whole))


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_programs_as_users_write_them(source: str) -> None:
    """The front end's output for a user's program is preserved, converted to the form."""
    whole = pl.parse_program(source)
    check(whole, to_statement_form(whole))


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_examples_at_every_stage(case: Case) -> None:
    """The examples are preserved as written and after each pass of both pipelines."""
    whole = case.program
    check(whole, to_statement_form(whole))
    for _, lowered in changes(whole):
        check(lowered, to_statement_form(lowered))


@given(st.data())
def test_kernels_at_every_stage(data: st.DataObject) -> None:
    """Random kernels in SSA form come back unchanged, views and memory references included."""
    whole = program(random_kernel(lambda n: data.draw(st.integers(0, n - 1)), 12))
    strategy = data.draw(st.sampled_from(ir.OptimizationStrategy))
    for pass_ in ir.PassManager.get_strategy(strategy).passes[:3]:
        whole = pass_(whole)
    assert to_statement_form(whole) is whole
    text = check(whole)
    for pass_ in ir.PassManager.get_strategy(strategy).passes[3:]:
        before, whole = whole, pass_(whole)
        if whole is not before:
            text = check(whole)
    assert "memref={space=" in text


@given(st.integers(0, 2**32), st.sampled_from([random_source, random_matrix_source]))
def test_kernels_in_python(seed: int, make: Callable[[Pick, int], str]) -> None:
    """Random kernels as users write them, with branches, loops and jumps, come back in the form."""
    whole = pl.parse_program(make(Random(seed).randrange, 12))
    check(whole, to_statement_form(whole))


@given(sources())
def test_scalar_functions(source: str) -> None:
    """Random branches, loops and jumps of scalars come back in the form."""
    whole = scalar_program(source)
    form = to_statement_form(whole)
    check(whole, form)
    ir.assert_structural_equal(to_statement_form(form), form)


@given(st.integers(0, 2**32))
def test_deeply_nested_expressions(seed: int) -> None:
    """Functions whose operands are trees of operators come back with the same trees."""
    whole = program(Writer(Random(seed)).function())
    check(whole, to_statement_form(whole))


@given(st.integers(0, 2**32))
def test_drawn_programs(seed: int) -> None:
    """Well-typed programs over all nodes, element types and ops come back."""
    whole = drawn_program(2 * seed)
    try:
        form = to_statement_form(whole)
    except PassError:  # a break out of a parallel loop, say: no SSA form exists
        return
    check(whole, form)


def long_program(count: int) -> ir.Program:
    tile = ir.TileType([16, 16], ir.FP32)
    x = ir.Var("x", tile)
    stmts: list[ir.Stmt] = []
    for index in range(count):
        made = ir.get_op("block.add" if index % 2 else "block.muls")
        call = made.build((x, x if index % 2 else 1.5), {})
        stmts.append(ir.AssignStmt(ir.Var(f"v{index}", call.type), call))
    return program(ir.Function("f", [x], [], ir.SeqStmts(stmts)))


def test_many_statements() -> None:
    """A function of 10,000 statements is preserved."""
    text = check(long_program(10_000))
    assert text.count("tile.OP_ADD") == text.count("tile.OP_MUL") == 5_000


def deep_sum(x: ir.Expr, depth: int) -> ir.Expr:
    for _ in range(depth):
        x = ir.Add(x, 1, ir.INT64)
    return x


def test_deep_expressions() -> None:
    """Trees of 10,000 operators are preserved, in a statement and inside a type."""
    x = ir.Var("x", ir.ScalarType(ir.INT64))
    value = deep_sum(x, 10_000)
    shaped = ir.Var("t", ir.TensorType([deep_sum(x, 10_000), 4], ir.FP32))
    body = ir.AssignStmt(ir.Var("y", value.type), value)
    text = check(program(ir.Function("f", [x, shaped], [], body)))
    assert "%y = tensor.OP_SCALAR_ADD %.9998, 1 : (int64, int64) -> int64\n" in text


def test_shared_expressions_stay_small() -> None:
    """An expression used twice is lifted once: doubling 10 times makes 10 ops."""
    x = ir.Var("x", ir.ScalarType(ir.INT64))
    value: ir.Expr = x
    for _ in range(10):
        value = ir.Add(value, value, ir.INT64)
    body = ir.AssignStmt(ir.Var("y", value.type), value)
    text = ir.to_statement_text(program(ir.Function("f", [x], [], body)))
    assert text.count("OP_SCALAR_ADD") == 10
    assert ir.to_statement_text(ir.from_statement_text(text)) == text


def test_memory_references_are_shared() -> None:
    """Two tiles in one buffer are in one buffer again."""
    buffer = ir.MemRef(ir.Vec, 0, 1024, 3)
    kind = ir.TileType([16, 16], ir.FP32, buffer)
    x, y = ir.Var("x", kind), ir.Var("y", ir.TileType([16, 16], ir.FP32, buffer))
    text = check(program(ir.Function("f", [x], [], ir.AssignStmt(y, x))))
    [function] = ir.from_statement_text(text).functions_
    [assign] = [node for node in ir.walk(function) if isinstance(node, ir.AssignStmt)]
    first, second = function.params[0].type, assign.var.type
    assert isinstance(first, ir.TileType)
    assert isinstance(second, ir.TileType)
    assert first.shares_memref_with(second)
    assert first.memref is not None
    assert (first.memref.size_, first.memref.id_) == (1024, 3)
