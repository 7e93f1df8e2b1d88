"""The op table and every definition are complete, and type rules agree with arrays."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import pypto
from pypto._src.dialect.semantics import MEANINGS
from pypto._src.dialect.table import TABLE
from pypto._src.dtypes import DataType
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import MemRef, ShapedType, TensorType, TileType, static_shape
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.op_params import ATTR, OFFSETS, TILE
from pypto._src.ir.opdef import op_of
from pypto._src.ir.types import same_type
from pypto._src.ops.define import OVERLOADS, REGISTRY
from tests.cases import CASES, AnyOp, Array, Case, build_call, kernel_for, missing_rows
from tests.ops.arrays import apply_call

INCLUDE = Path(pypto.__file__).parent / "include"
OPS = [pytest.param(op, id=name) for name, op in REGISTRY.items()]


def plain_rows() -> list[Case]:
    """Return the rows whose call is just the op on loaded operands."""
    return [case for case in CASES if case.build is None and not case.no_kernel]


def test_every_op_has_a_row() -> None:
    """The rows and the registry name the same ops."""
    assert missing_rows() == []
    assert {case.op.name for case in CASES} == set(REGISTRY)


@pytest.mark.parametrize("op", OPS)
def test_definition_is_whole(op: AnyOp) -> None:
    """An op has array semantics, and both texts, a decomposition, or the reason why not."""
    assert op.numpy is not None
    in_texts = op.isa is not None and op.pto is not None
    assert bool(op.unsupported) != (in_texts or op.decomposition is not None)


@pytest.mark.parametrize("op", OPS)
def test_its_instruction_is_there(op: AnyOp) -> None:
    """What an op names in texts has an assembler's row, a meaning and a function that runs here."""
    missing: list[str] = []
    if isinstance(op.pto, str):
        if op.pto not in TABLE:
            missing.append(f"{op.pto}: add a row to dialect/table.py")
        if op.pto not in MEANINGS:
            missing.append(f"{op.pto}: add a row to MEANINGS in dialect/semantics.py")
    if isinstance(op.isa, str) and op.isa not in names_in_headers():
        missing.append(f"{op.isa}: add a function to include/pto/detail")
    assert not missing, "\n".join(missing)


@cache
def names_in_headers() -> frozenset[str]:
    """Return the names in capitals of the headers, without the list of tags of events."""
    files = [
        path for path in (INCLUDE / "pto" / "detail").rglob("*.hpp") if path.name != "sync.hpp"
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    found = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    suffixes = set(re.findall(r"\bNAME##(_[A-Z]+)\b", text))  # which macros append
    return frozenset(found | {name + suffix for name in found for suffix in suffixes})


@pytest.mark.parametrize("op", OPS)
def test_offsets_stand_at_one_position(op: AnyOp) -> None:
    """A list of offsets has the same position among arguments and operands, for `key_of`."""
    positions = [at for at, param in enumerate(op.operands) if param.attr_type == OFFSETS]
    assert positions == sorted(at for at in op.offsets if isinstance(at, int))


@pytest.mark.parametrize("op", OPS)
def test_facts_name_operands(op: AnyOp) -> None:
    """Facts with operand numbers refer to operands of the right kind."""
    tiles = {i for i, p in enumerate(op.operands) if p.kind == TILE}
    assert op.reads | op.writes <= set(range(len(op.operands)))
    assert not op.reads & op.writes & tiles  # a tensor that is accumulated into is both
    assert op.in_place <= tiles - op.writes
    assert op.columns <= tiles | {-1}
    assert set(op.operand_spaces({})) == tiles


@pytest.mark.parametrize("op", OPS)
def test_operands_are_documented(op: AnyOp) -> None:
    """The docstring mentions each operand, or refers to that of another op."""
    operands = [p.name for p in op.params if p.kind != ATTR]
    missing = [name for name in operands if name not in op.doc and "as `" not in op.doc]
    assert missing == [], f"name these operands in the docstring of {op.name}: {missing}"


def test_unified_names() -> None:
    """An op on tiles, on a tile and a number, and on tensors has one name for the user.

    An op and its tensor form share it; all other names of several ops are listed here.
    """
    others = {
        "add": ["block.add", "block.adds", "tensor.add", "tensor.add_scalar"],
        "sub": ["block.sub", "block.subs", "tensor.sub", "tensor.sub_scalar"],
        "mul": ["block.mul", "block.muls", "tensor.mul", "tensor.mul_scalar"],
        "div": ["block.div", "block.divs", "tensor.div", "tensor.div_scalar"],
        "maximum": ["block.maximum", "block.maxs", "tensor.maximum", "tensor.maximums"],
        "minimum": ["block.minimum", "block.mins", "tensor.minimum", "tensor.minimums"],
        "and_": ["block.and", "block.ands", "tensor.and", "tensor.ands"],
        "or_": ["block.or", "block.ors", "tensor.or", "tensor.ors"],
        "xor": ["block.xor", "block.xors", "tensor.xor", "tensor.xors"],
        "not_": ["block.not", "tensor.not"],
        "shl": ["block.shl", "block.shls", "tensor.shl", "tensor.shls"],
        "shr": ["block.shr", "block.shrs", "tensor.shr", "tensor.shrs"],
        "rem": ["block.rem", "block.rems"],
        "cmp": ["block.cmp", "block.cmps", "tensor.cmp", "tensor.cmps"],
        "row_expand": ["block.row_expand", "block.row_expand_to", "tensor.row_expand"],
        "fillpad_expand": ["tensor.fillpad_expand", "block.fillpad_expand"],
        "read": ["tensor.read", "block.read"],
        "gather": [
            "block.gather",
            "block.gather_along",
            "block.gather_mask",
            "tensor.gather",
            "tensor.gather_mask",
        ],
        "scatter": [
            "block.scatter",
            "block.scatter_along",
            "block.scatter_mask",
            "tensor.scatter",
            "tensor.scatter_mask",
        ],
        "sels": ["block.sels", "block.sel_or_number"],
        "fmod": ["block.fmod", "block.fmods", "tensor.fmod", "tensor.fmods"],
        "mrgsort": [
            "block.mrgsort",
            "block.mrgsort2",
            "block.mrgsort3",
            "block.mrgsort4",
            "tensor.mrgsort",
            "tensor.mrgsort2",
            "tensor.mrgsort3",
            "tensor.mrgsort4",
        ],
    }
    elsewhere = {op for ops in others.values() for op in ops}
    blocks, tensors = (
        {name.removeprefix(level) for name in REGISTRY if name.startswith(level)}
        for level in ("block.", "tensor.")
    )
    both = {name: [f"block.{name}", f"tensor.{name}"] for name in blocks & tensors}
    pairs = {name: ops for name, ops in both.items() if elsewhere.isdisjoint(ops)}
    assert {name: [op.name for op in ops] for name, ops in OVERLOADS.items() if len(ops) > 1} == (
        pairs | others
    )


def operands(case: Case, call: Call, dtype: DataType) -> list[Array]:
    """Return random arrays for the tiles and tensors of a call."""
    rng = np.random.default_rng(1)
    kinds = [arg.type for arg in call.args]
    shapes = [static_shape(kind) for kind in kinds if isinstance(kind, ShapedType)]
    return [case.values(rng, shape or (), dtype) for shape in shapes]


@pytest.mark.parametrize("case", plain_rows(), ids=lambda case: case.name)
def test_rule_agrees_with_arrays(case: Case) -> None:
    """The result on arrays has the shape and element type of the type rule."""
    for dtype in case.dtypes:
        for shapes in case.shapes:
            call = build_call(case, dtype, shapes)
            kind = call.type
            assert isinstance(kind, ShapedType)
            result = apply_call(call, case.op, operands(case, call, dtype))
            assert result.shape == static_shape(kind)
            assert result.dtype == kind.dtype.numpy


def in_usual_memory(value: Expr) -> Expr:
    """Return a variable in the default memory of the op's operand."""
    kind = value.type
    if not isinstance(value, Var):
        return value
    if isinstance(kind, TileType) and kind.tile_view is None:
        vec = MemRef(MemorySpace.Vec, 0, 32)
        return Var(value.name, TileType(kind.shape, kind.dtype, vec))
    if isinstance(kind, TensorType):
        ddr = MemRef(MemorySpace.DDR, 0, 32)
        return Var(value.name, TensorType(kind.shape, kind.dtype, ddr, kind.tensor_view))
    return value


UNPLACED = [case for case in plain_rows() if not case.op.names_spaces]


@pytest.mark.parametrize("case", UNPLACED, ids=lambda case: case.name)
def test_usual_memory_does_not_matter(case: Case) -> None:
    """The result type of an op on Vec tiles is the same when the memory is known."""
    for dtype in case.dtypes:
        for shapes in case.shapes:
            call = build_call(case, dtype, shapes)
            op = op_of(call)
            assert op is not None
            assert not op.names_spaces
            placed = tuple(map(in_usual_memory, call.args))
            assert same_type(op.result_type(placed, call.kwargs), call.type)


@pytest.mark.parametrize("case", plain_rows(), ids=lambda case: case.name)
def test_kernel_agrees_with_arrays(case: Case) -> None:
    """The kernel of a row, interpreted, stores the op's result on its operands."""
    for dtype in case.dtypes:
        for shapes in case.shapes:
            built = kernel_for(case, dtype, shapes)
            arguments = built.arguments(case.values)
            inputs = [each.copy() for each in arguments[: len(built.inputs)]]
            stored = evaluate(built.function, arguments)
            call = build_call(case, dtype, shapes)
            scratch = [np.zeros(0)] * (len(operands(case, call, dtype)) - len(inputs))
            expected = apply_call(call, case.op, [*inputs, *scratch])
            assert stored is arguments[-1]
            np.testing.assert_array_equal(stored, expected)


@pytest.mark.parametrize("case", [c for c in CASES if c.build is not None], ids=lambda c: c.name)
def test_kernels_of_their_own_run(case: Case) -> None:
    """Hand-written kernels leave no element of their output poisoned."""
    for dtype in case.dtypes:
        for shapes in case.shapes:
            built = kernel_for(case, dtype, shapes)
            stored = evaluate(built.function, built.arguments(case.values))
            assert np.isfinite(stored.astype(np.float64)).all()
            assert stored.astype(np.float64).any()
