"""Logic, shifts and remainders: edge values, errors, and the emitted text."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto import language as pl
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import CodeGenerator
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, OpError
from pypto._src.ir.array_types import TileType
from pypto._src.ir.exprs import Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.ir.types import ScalarType
from pypto._src.ops import bitwise
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.cases import AnyOp, call
from tests.ops.arrays import apply, array

D = DataType
INF, NAN = math.inf, math.nan


def tile(name: str, dtype: DataType, shape: tuple[int, ...] = (16, 32)) -> Var:
    return Var(name, TileType(shape, dtype))


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------

COUNTS = [0, 1, 15, 16, 17, -1]


@pytest.mark.parametrize(
    ("op", "dtype", "value", "wanted"),
    [
        (bitwise.shl, D.INT16, 3, [3, 6, -(2**15), 0, 0, 0]),
        (bitwise.shl, D.UINT16, 3, [3, 6, 2**15, 0, 0, 0]),
        (bitwise.shr, D.INT16, -3, [-3, -2, -1, -1, -1, -1]),
        (bitwise.shr, D.INT16, 2**14 + 1, [2**14 + 1, 2**13, 0, 0, 0, 0]),
        (bitwise.shr, D.UINT16, 65535, [65535, 32767, 1, 0, 0, 0]),
    ],
)
def test_shift_counts(op: AnyOp, dtype: DataType, value: int, wanted: list[int]) -> None:
    """A count of at least the width, or a negative one, leaves no bits, or the sign."""
    values, counts = array([value] * len(COUNTS), dtype), array(COUNTS, dtype)
    assert apply(op, values, counts)[0].tolist() == wanted


def test_shift_by_a_number() -> None:
    """The count is a scalar; one of at least the width leaves no bits, or the sign."""
    values = array([5, -5], D.INT32)
    assert apply(bitwise.shls, values, 1)[0].tolist() == [10, -10]
    assert apply(bitwise.shls, values, 32)[0].tolist() == [0, 0]
    assert apply(bitwise.shrs, values, 1)[0].tolist() == [2, -3]
    assert apply(bitwise.shrs, values, 40)[0].tolist() == [0, -1]


@pytest.mark.parametrize(
    ("dtype", "lhs", "rhs", "wanted"),
    [
        (D.INT32, [7, -7, 7, -7, 6], [3, 3, -3, -3, 3], [1, 2, -2, -1, 0]),
        (D.INT32, [5, -(2**31), 2**31 - 1], [0, -1, -(2**31)], [0, 0, -1]),
        (D.FP32, [7.5, -7.5, 7.5, -7.5], [2, 2, -2, -2], [1.5, 0.5, -0.5, -1.5]),
        (D.FP32, [1, INF, NAN, 1], [0, 2, 2, NAN], [NAN, NAN, NAN, NAN]),
        (D.FP32, [1, -1, 1, -1], [INF, INF, -INF, -INF], [1, INF, -INF, -1]),
        (D.FP32, [-4, 4], [2, -2], [-0.0, 0.0]),
        (D.FP32, [2.0**100], [3], [1]),
    ],
)
def test_remainder(
    dtype: DataType, lhs: list[float], rhs: list[float], wanted: list[float]
) -> None:
    """It has the sign of the divisor, is exact, and over 0 is 0 for integers, NaN for floats."""
    found = apply(bitwise.rem, array(lhs, dtype), array(rhs, dtype))
    assert found.dtype == dtype.numpy
    np.testing.assert_equal(found[0].tolist(), wanted)
    for one, other, result in zip(lhs, rhs, wanted, strict=True):
        beside = apply(bitwise.rems, array([one], dtype), other)
        np.testing.assert_equal(beside[0].tolist(), [result])


def test_logic_of_a_negative_number() -> None:
    """A scalar operand is converted to the tile's element type, sign included."""
    values = array([0b1100, -1], D.INT16)
    assert apply(bitwise.ands, values, -4)[0].tolist() == [0b1100, -4]
    assert apply(bitwise.ors, values, -4)[0].tolist() == [-4, -1]
    assert apply(bitwise.xors, values, -1, None)[0].tolist() == [-13, 0]
    assert apply(bitwise.not_, array([0, 5, 65535], D.UINT16))[0].tolist() == [65535, 65530, 0]


# --------------------------------------------------------------------------------------------
# Refusals and names
# --------------------------------------------------------------------------------------------

W, J, F = tile("i", D.INT32), tile("j", D.INT32, (16, 64)), tile("f", D.FP32)
H, U, B = tile("h", D.INT16), tile("u", D.UINT32), tile("b", D.INT8)


@pytest.mark.parametrize(
    ("op", "args", "slug", "message", "hint"),
    [
        (
            bitwise.and_,
            (F, F),
            "element-type",
            "pl.and_ takes elements of INT8, INT16, INT32, UINT8, UINT16, UINT32, f has FP32",
            None,
        ),
        (
            bitwise.ands,
            (U, 3),
            "element-type",
            "pl.and_ of a tile and a number takes elements of INT8, INT16, INT32, UINT8, UINT16, "
            "u has UINT32",
            None,
        ),
        (
            bitwise.shls,
            (B, 3),
            "element-type",
            "pl.shl takes elements of INT16, INT32, UINT16, UINT32, b has INT8",
            None,
        ),
        (
            bitwise.not_,
            (W,),
            "element-type",
            "pl.not_ takes elements of INT16, UINT16, i has INT32",
            "pl.xor(i, -1)",
        ),
        (
            bitwise.rem,
            (H, H),
            "element-type",
            "pl.rem takes elements of INT32, FP32, h has INT16",
            "pl.cast(h, pl.FP32)",
        ),
        (
            bitwise.xor,
            (W, W, J),
            "scratch-size",
            "scratch tile j of pl.xor has the shape [16, 64], [16, 32] was wanted",
            "leave it out: pl.xor(i, i)",
        ),
        (
            bitwise.xors,
            (W, 3, H),
            "dtype-mismatch",
            "operands of pl.xor have different element types",
            "pl.cast(pl.cast(h, pl.FP32), pl.INT32)",
        ),
        (
            bitwise.shls,
            (W, -2),
            "shift",
            "pl.shl by -2 bits, a count of 0 or more was wanted",
            "pl.shr(i, 2)",
        ),
        (
            bitwise.shrs,
            (W, -2),
            "shift",
            "pl.shr by -2 bits, a count of 0 or more was wanted",
            "pl.shl(i, 2)",
        ),
        (
            bitwise.ands,
            (W, Var("f", ScalarType(D.FP32))),
            "dtype-mismatch",
            "operands of pl.and_ have different element types",
            "pl.cast(f, pl.INT32)",
        ),
    ],
)
def test_refusals(
    op: AnyOp, args: tuple[Any, ...], slug: str, message: str, hint: str | None
) -> None:
    """What the targets do not execute is rejected, with an alternative if there is one."""
    with pytest.raises(OpError) as caught:
        call(op, *args)
    assert (caught.value.slug, caught.value.message) == (slug, message)
    assert caught.value.hint == hint


def test_one_name_for_tiles_and_numbers() -> None:
    """The second operand's kind selects the op; logic takes a scalar on either side."""
    and_: Any = pl.and_
    assert op_of(pl.and_(W, W)) is bitwise.and_
    assert op_of(and_(W, 3)) is bitwise.ands
    assert str(and_(3, W)) == "pl.block.ands(i, 3)"
    assert op_of(pl.or_(W, W)) is bitwise.or_
    assert str(pl.xor(W, W, W)) == "pl.block.xor(i, i, i)"
    assert str(pl.rem(W, W)) == "pl.block.rem(i, i)"
    assert str(pl.shr(W, W)) == "pl.block.shr(i, i)"


# --------------------------------------------------------------------------------------------
# Text
# --------------------------------------------------------------------------------------------

HEAD = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[16, 32], pl.TYPE], c: pl.Tensor[[16, 1], pl.TYPE],
        out: pl.InOut[pl.Tensor[[16, 32], pl.TYPE]], col: pl.InOut[pl.Tensor[[16, 1], pl.TYPE]],
    ):
        t = pl.load(x, [0, 0], [16, 32])
        v = pl.load(c, [0, 0], [16, 1])
"""
SCRATCH = "pl.create_tile([16, 32], pl.TYPE)"
HALVES = "_ = pto.treshape _ : i32 16x32 -> i16 16x64"

# (element type, value of y, lines of the dialect from the op on, lines of C++)
FORMS: dict[str, tuple[str, str, list[str], list[str]]] = {
    "and of 16 bits": (
        "UINT16",
        "t & t",
        ["pto.tand ins(_, _ : ui16 16x32, ui16 16x32) outs(_ : ui16 16x32)"],
        ["TAND(y, t, t);"],
    ),
    "or of 32 bits": (
        "INT32",
        "t | t",
        [HALVES] * 3 + ["pto.tor ins(_, _ : i16 16x64, i16 16x64) outs(_ : i16 16x64)"],
        ["TOR(y, t, t);"],
    ),
    "xor of 32 bits": (
        "INT32",
        f"pl.xor(t, t, {SCRATCH})",
        [HALVES] * 4
        + ["pto.txor ins(_, _, _ : i16 16x64, i16 16x64, i16 16x64) outs(_ : i16 16x64)"],
        ["TXOR(y, t, t, _t0);"],
    ),
    "and with a number": (
        "INT16",
        "t & 7",
        ["pto.tands ins(_, %c7_i16 : i16 16x32, i16) outs(_ : i16 16x32)"],
        ["TANDS(y, t, 7);"],
    ),
    "or with a number of 32 bits": (
        "INT32",
        "t | 7",
        ["pto.texpands ins(%c7_i32 : i32) outs(_ : i32 16x32)"]
        + [HALVES] * 3
        + ["pto.tor ins(_, _ : i16 16x64, i16 16x64) outs(_ : i16 16x64)"],
        ["TEXPANDS(y_filled, 7);", "TOR(y, t, y_filled);"],
    ),
    "xor with a number": (
        "INT16",
        f"pl.xor(t, 7, {SCRATCH})",
        ["pto.txors ins(_, %c7_i16, _ : i16 16x32, i16, i16 16x32) outs(_ : i16 16x32)"],
        ["TXORS(y, t, 7, _t0);"],
    ),
    "not": (
        "UINT16",
        "pl.not_(t)",
        ["pto.tnot ins(_ : ui16 16x32) outs(_ : ui16 16x32)"],
        ["TNOT(y, t);"],
    ),
    "shift by a tile": (
        "INT16",
        "t << t",
        ["pto.tshl ins(_, _ : i16 16x32, i16 16x32) outs(_ : i16 16x32)"],
        ["TSHL(y, t, t);"],
    ),
    "shift by a number": (
        "UINT32",
        "t >> 3",
        ["pto.tshrs ins(_, %c3_i32 : ui32 16x32, i32) outs(_ : ui32 16x32)"],
        ["TSHRS(y, t, 3);"],
    ),
    "remainder": (
        "FP32",
        "t % t",
        ["pto.trem ins(_, _, _ : f32 16x32, f32 16x32, f32 16x40) outs(_ : f32 16x32)"],
        ["TREM(y, t, t, y_scratch);"],
    ),
    "remainder of a number": (
        "INT32",
        "t % 3",
        ["pto.trems ins(_, %c3_i32, _ : i32 16x32, i32, i32 16x32) outs(_ : i32 16x32)"],
        ["TREMS(y, t, 3, y_scratch);"],
    ),
    "remainder of columns": (
        "INT32",
        "v % 3",
        [
            "_ = pto.treshape _ : i32 16x1 -> i32 1x16",
            "pto.trems ins(_, %c3_i32, _ : i32 1x16, i32, i32 1x16) outs(_ : i32 1x16)",
            "_ = pto.treshape _ : i32 1x16 -> i32 16x1",
        ],
        ["TRESHAPE(y_row, v);", "TREMS(y_result, y_row, 3, y_scratch);", "TRESHAPE(y, y_result);"],
    ),
}


def program(dtype: str, value: str) -> Program:
    store = "[0, 0], [16, 1], col" if value.startswith("v") else "[0, 0], [16, 32], out"
    body = f"        y = {value}\n        pl.store(y, {store})\n"
    return pl.parse_program((HEAD + body).replace("TYPE", dtype))


def short(text: str) -> list[str]:
    """Return lines without comments and flags, tile types reduced to elements and shape."""
    pattern = r"!pto\.tile_buf<[^>]*dtype=(\w+), rows=(\d+), cols=(\d+), [^>]*>"
    joined = re.sub(r"\n +(?=outs\()", " ", re.sub(pattern, r"\1 \2x\3", text))
    lines = [re.sub(r"%(?!c\d+_)\w+", "_", line).strip() for line in joined.splitlines()]
    skipped = r"$|//|(pto\.)?(set_|wait_|pipe_|barrier)"
    return [line for line in lines if not re.match(skipped, line)]


def holds(lines: list[str], wanted: list[str]) -> bool:
    size = len(wanted)
    return any(lines[at : at + size] == wanted for at in range(len(lines) - size + 1))


@pytest.mark.parametrize("strategy", list(OptimizationStrategy), ids=lambda s: s.name)
@pytest.mark.parametrize("name", FORMS)
def test_form(name: str, strategy: OptimizationStrategy) -> None:
    """The op is emitted in the form that the assembler and the headers accept."""
    dtype, value, in_dialect, in_cpp = FORMS[name]
    lowered = PassManager(strategy).run_passes(program(dtype, value))
    lines = short(PTOCodegen().generate(lowered))
    assert holds(lines, in_dialect), "\n".join(lines)
    [kernel] = kernels(PassManager().run_passes(program(dtype, value)))
    lines = short(CodeGenerator(comments=False).generate(kernel))
    assert holds(lines, in_cpp), "\n".join(lines)


@pytest.mark.parametrize("value", ["t % t", "t % 3"])
def test_lowered_remainders_are_read_back(value: str) -> None:
    """A remainder with its scratch tile is printed, parsed, serialised and emitted like others."""
    lowered = PassManager().run_passes(program("INT32", value))
    text = PTOCodegen().generate(lowered)
    scratch = "y_scratch)"
    assert [line for line in str(lowered).splitlines() if line.endswith(scratch)]
    for again in (pl.parse(str(lowered)), ir.deserialize(ir.serialize(lowered))):
        assert isinstance(again, Program)
        assert ir.structural_equal(again, lowered)
        assert short(PTOCodegen().generate(again)) == short(text)


def test_a_remainder_needs_its_scratch_tile() -> None:
    """Without LegalizeTiles there is no scratch tile, and the error says which pass creates it."""
    emit = bitwise.rem.pto
    assert callable(emit)

    class Site:
        call = pl.rem(W, W)

    site: Any = Site()
    with pytest.raises(EmitError, match=r"block\.rem works in a scratch tile") as caught:
        emit(site)
    assert caught.value.hint == "run passes.legalize_tiles() first, which gives it one"
