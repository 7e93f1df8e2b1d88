"""The programs of document 004: text, program and Python are equivalent."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto import ir
from tests.statement.documents import DOCUMENT, TENSORS, TILES


@pytest.mark.parametrize("text", DOCUMENT.values(), ids=DOCUMENT)
def test_text_comes_back_to_the_byte(text: str) -> None:
    """Reading and printing gives the identical text, empty lines included."""
    assert ir.to_statement_text(ir.from_statement_text(text)) == text


@pytest.mark.parametrize("text", DOCUMENT.values(), ids=DOCUMENT)
def test_rules_hold(text: str) -> None:
    """The programs satisfy the rules of the form."""
    assert ir.verify_statement_form(ir.from_statement_text(text)) == []


@pytest.mark.parametrize("text", DOCUMENT.values(), ids=DOCUMENT)
def test_python_and_back(text: str) -> None:
    """Converted to Python and parsed again, a program is the same and gives the same text."""
    program = ir.from_statement_text(text)
    parsed = pl.parse_program(str(program))
    ir.assert_structural_equal(program, parsed)
    assert parsed.name == program.name
    assert ir.to_statement_text(parsed) == text


def test_module() -> None:
    """Entry, attributes in their order, and the kind of the function are read."""
    program = ir.from_statement_text(TENSORS)
    assert program.name == "main"
    assert program.entry == "test_value"
    assert list(program.attrs.items()) == [
        ("arch", "PTOv2"),
        ("enable_debug", True),
        ("tile_default", {"M": 16, "N": 16, "K": 16}),
    ]
    [function] = program.functions_
    assert function.func_type is ir.Orchestration
    assert [var.name for var in function.params] == ["input_3", "scale1_4", "len_5", "output_8"]


def assigned(text: str) -> dict[str, ir.AssignStmt]:
    [function] = ir.from_statement_text(text).functions_
    found = [node for node in ir.walk(function) if isinstance(node, ir.AssignStmt)]
    return {stmt.var.name: stmt for stmt in found}


def test_named_constant_in_an_op() -> None:
    """%const_pi_13 is a variable assigned directly before its op, typed like the elements."""
    stmts = assigned(TENSORS)
    assert list(stmts)[:3] == ["loop_tile_11", "mul1_res_12", "const_pi_13"]
    value = stmts["const_pi_13"].value
    assert isinstance(value, ir.ConstFloat)
    assert (value.value, value.dtype) == (3.14, ir.FP32)


def test_ops_follow_the_operands() -> None:
    """A scalar operand turns OP_MUL and tensor.mul into the scalar op; the source comes first."""
    calls = {
        name: stmt.value
        for text in DOCUMENT.values()
        for name, stmt in assigned(text).items()
        if isinstance(stmt.value, ir.Call)
    }
    names = {name: call.op.name for name, call in calls.items()}
    assert names == {
        "loop_tile_11": "tensor.view",
        "mul1_res_12": "tensor.mul_scalar",
        "mul2_res_14": "tensor.mul_scalar",
        "output_15": "tensor.assemble",
        "tile_mul_11": "block.muls",
        "tile_add_14": "block.adds",
        "tile_sub_17": "block.subs",
        "tile_div_20": "block.divs",
        "output_tile_21": "block.assemble",
    }
    target, source, offset = calls["output_15"].args
    assert isinstance(target, ir.Var)
    assert isinstance(source, ir.Var)
    assert (target.name, source.name, str(offset)) == ("output_8", "mul2_res_14", "[0, 0]")


def test_types_are_those_of_the_text() -> None:
    """Results keep the type that is written, even if the op's rule gives another."""
    stmts = assigned(TENSORS)
    assert stmts["output_15"].var.type == ir.TensorType([1, 128], ir.FP32)
    assert assigned(TILES)["tile_add_14"].var.type == ir.TileType([16, 32], ir.FP32)
    [function] = ir.from_statement_text(TILES).functions_
    assert function.return_types == (ir.ScalarType(ir.DataType.FP64),)
    assert function.param_directions == (ir.In, ir.In, ir.Out)


def test_symbolic_dimension() -> None:
    """%b_1 is one variable for both tensors, and not a parameter."""
    [function] = ir.from_statement_text(TENSORS).functions_
    first, last = function.params[0].type, function.params[3].type
    assert isinstance(first, ir.TensorType)
    assert isinstance(last, ir.TensorType)
    assert first.shape[0].same_as(last.shape[0])
    assert not any(first.shape[0].same_as(var) for var in function.params)
