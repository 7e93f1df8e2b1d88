"""Compare and select on difficult values, and errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import compile_program
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import CodeGenerator
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, OpError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import TileType
from pypto._src.ir.exprs import Call, ConstInt, Var
from pypto._src.ir.roles import kernels
from pypto._src.ir.stmts import Program
from pypto._src.ops import compare_select, elementwise, ternary
from pypto._src.run.native import NativeKernel
from pypto.passes import convert_to_ssa, init_mem_ref
from tests.cases import AnyOp, BuiltKernel, Case, kernel_for, small
from tests.natively import compile_together, compiler, lowered, words
from tests.ops.arrays import apply, array

D = DataType
INF, NAN = math.inf, math.nan
LEFT = [NAN, NAN, 1.0, INF, -INF, -0.0, 1.0, 2.0]
RIGHT = [NAN, 1.0, NAN, INF, INF, 0.0, 2.0, 1.0]
HELD = {
    0: [0, 0, 0, 1, 0, 1, 0, 0],
    1: [1, 1, 1, 0, 1, 0, 1, 1],
    2: [0, 0, 0, 0, 1, 0, 1, 0],
    3: [0, 0, 0, 1, 1, 1, 1, 0],
    4: [0, 0, 0, 0, 0, 0, 0, 1],
    5: [0, 0, 0, 1, 0, 1, 0, 1],
}
LOW, HIGH = -(2**31), 2**31 - 1


@pytest.mark.parametrize("dtype", [D.FP16, D.FP32])
@pytest.mark.parametrize("mode", HELD)
def test_comparison_with_nan(mode: int, dtype: DataType) -> None:
    """A NaN is unequal to everything including itself, and neither less nor greater."""
    found = apply(compare_select.cmp, array(LEFT, dtype), array(RIGHT, dtype), cmp_type=mode)
    assert found.dtype == dtype.numpy
    assert found[0].tolist() == HELD[mode]


@pytest.mark.parametrize("mode", HELD)
def test_comparison_with_a_nan_number(mode: int) -> None:
    """A number that is NaN is unequal to every element."""
    found = apply(compare_select.cmps, array([NAN, 1.0, INF], D.FP32), NAN, cmp_type=mode)
    assert found[0].tolist() == [float(mode == 1)] * 3


def together(built: Sequence[BuiltKernel]) -> list[tuple[BuiltKernel, NativeKernel]]:
    """Return kernels with their compiled C++, compiled together."""
    natives = compile_together([lowered(each.function) for each in built], compiler())
    return list(zip(built, natives, strict=True))


@cache
def comparisons() -> list[tuple[BuiltKernel, NativeKernel]]:
    """Return a kernel for each mode."""
    shapes = (((1, 8), (1, 8)),)
    modes = [Case(compare_select.cmp, shapes, (D.INT32,), attrs={"cmp_type": n}) for n in range(6)]
    return together([kernel_for(case, D.INT32) for case in modes])


@pytest.mark.parametrize(
    ("mode", "wanted"),
    [
        (0, [0, 0, 1]),
        (1, [1, 1, 0]),
        (2, [1, 0, 0]),
        (3, [1, 0, 1]),
        (4, [0, 1, 0]),
        (5, [0, 1, 1]),
    ],
)
def test_compiled_comparison_of_far_integers(mode: int, wanted: list[int]) -> None:
    """Integers whose difference overflows compare right, by equality and maximum."""
    built, native = comparisons()[mode]
    lhs = np.array([[LOW, HIGH, HIGH, 0, 0, 0, 0, 0]], np.int32)
    rhs = np.array([[HIGH, LOW, HIGH, 0, 0, 0, 0, 0]], np.int32)
    out, compiled = np.zeros((1, 8), np.int32), np.zeros((1, 8), np.int32)
    evaluate(built.function, [lhs, rhs, out])
    native(words([lhs, rhs, compiled]))
    assert out[0, :3].tolist() == wanted
    assert compiled.tolist() == out.tolist()


CHOICES = list(product([(16, 1), (3, 16)], [D.FP16, D.FP32, D.INT32]))


@cache
def choices() -> list[tuple[BuiltKernel, NativeKernel]]:
    """Return a kernel for each shape and element type."""
    return together(
        [
            kernel_for(Case(compare_select.sel, ((shape,) * 3,), (dtype,)), dtype)
            for shape, dtype in CHOICES
        ]
    )


@pytest.mark.parametrize("number", range(len(CHOICES)), ids=[str(each) for each in CHOICES])
def test_compiled_choice_of_few_elements(number: int) -> None:
    """Tiles with rows of fewer than 32 elements are also compared and selected."""
    built, native = choices()[number]
    arguments = built.arguments(small)
    wanted = np.where(arguments[0] != 0, arguments[1], arguments[2])
    native(words(arguments))
    assert arguments[-1].tolist() == wanted.tolist()


def test_choice_by_any_mask() -> None:
    """Everything except 0 selects the first tile: NaN and negative numbers too, -0 does not."""
    mask = array([0.0, -0.0, NAN, -1.0, 1e-40, INF], D.FP32)
    found = apply(compare_select.sel, mask, array([1] * 6, D.FP32), array([2] * 6, D.FP32))
    assert found[0].tolist() == [2, 2, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("tile", "slope", "wanted"),
    [(2.0, INF, 2.0), (2.0, NAN, 2.0), (-2.0, 0.5, -1.0), (0.0, INF, NAN), (NAN, 0.5, NAN)],
)
def test_slopes_do_not_touch_what_is_above_zero(tile: float, slope: float, wanted: float) -> None:
    """The slope is applied only to elements that are not above 0, whatever it is."""
    x, s = array([tile], D.FP32), array([slope], D.FP32)
    np.testing.assert_equal(float(apply(compare_select.prelu, x, s, s)[0, 0]), wanted)
    np.testing.assert_equal(float(apply(elementwise.lrelu, x, slope)[0, 0]), wanted)


def test_three_operands_go_from_left_to_right() -> None:
    """The last operand is subtracted as well."""
    a, b, c = (array([n], D.INT32) for n in (10, 3, 4))
    found = [
        apply(ternary.addc, a, b, c),
        apply(ternary.subc, a, b, c),
        apply(ternary.addsc, a, 3, c),
        apply(ternary.subsc, a, 3, c),
    ]
    assert [int(each[0, 0]) for each in found] == [17, 3, 17, 3]


# --------------------------------------------------------------------------------------------
# Choice at run time
# --------------------------------------------------------------------------------------------

CHOICE = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[16, 32], pl.FP32], y: pl.Tensor[[16, 32], pl.FP32],
        n: pl.Scalar[pl.INT64], out: pl.Out[pl.Tensor[[16, 32], pl.FP32]],
    ) -> pl.Tensor[[16, 32], pl.FP32]:
        a = pl.load(x, [0, 0], [16, 32])
        b = pl.load(y, [0, 0], [16, 32])
        out = pl.store(pl.sels(a, b, n), [0, 0], [16, 32], out)
        return out
"""


def chosen() -> Program:
    return pl.parse_program(CHOICE)


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.INT16])
def test_a_bare_mode_has_32_bits(dtype: DataType) -> None:
    """A bare integer as the mode is INT32, whatever the elements are."""
    tile = Var("t", TileType([16, 32], dtype))
    named = compare_select.sels.build((tile, tile), {"select_mode": 1})
    for call in (compare_select.sels.build((tile, tile, 1), {}), named):
        assert isinstance(call, Call)
        mode = call.args[2]
        assert isinstance(mode, ConstInt)
        assert (mode.value, mode.dtype) == (1, D.INT32)


@pytest.mark.parametrize("backend", ["interpreter", "cpu"])
@pytest.mark.parametrize(("n", "wanted"), [(0, 2.0), (1, 1.0), (-3, 1.0)])
def test_tiles_chosen_at_run_time(
    n: int, wanted: float, backend: Literal["cpu", "interpreter"]
) -> None:
    """A nonzero number selects the first tile as a whole."""
    if backend == "cpu":
        compiler()
    x, y = np.full((16, 32), 1, np.float32), np.full((16, 32), 2, np.float32)
    out = np.zeros((16, 32), np.float32)
    compile_program(chosen(), backend)(x, y, n, out)
    assert (out == wanted).all()


# --------------------------------------------------------------------------------------------
# Refusals
# --------------------------------------------------------------------------------------------


def tile(shape: list[int], dtype: DataType = D.FP32, name: str = "t") -> Var:
    return Var(name, TileType(shape, dtype))


@pytest.mark.parametrize("op", [compare_select.cmp, compare_select.cmps])
@pytest.mark.parametrize("mode", [-1, 6])
def test_unknown_comparison(op: AnyOp, mode: int) -> None:
    """A comparison mode is one of six numbers; the hint names them."""
    second: Any = tile([4, 8]) if op is compare_select.cmp else 1.0
    with pytest.raises(OpError) as caught:
        op.build([tile([4, 8]), second], {"cmp_type": mode})
    assert caught.value.message == f"pl.{op.overload} has no comparison {mode}"
    assert caught.value.hint == "cmp_type is one of 0 EQ, 1 NE, 2 LT, 3 LE, 4 GT, 5 GE"


@pytest.mark.parametrize(
    ("op", "args", "message"),
    [
        (compare_select.sel, (tile([4, 8]), tile([8, 8]), tile([8, 8])), "have different shapes"),
        (
            compare_select.sel,
            (tile([4, 8]), tile([4, 8]), tile([4, 8], D.UINT16)),
            "different element",
        ),
        (
            compare_select.cmp,
            (tile([4, 16], D.INT8), tile([4, 16], D.INT8)),
            "takes elements of INT16, INT32",
        ),
        (ternary.addc, (tile([4, 8]), tile([4, 8]), tile([8, 8])), "have different shapes"),
        (ternary.subsc, (tile([4, 8]), 1, tile([4, 8], D.UINT16)), "have different element types"),
        (compare_select.prelu, (tile([4, 8]), tile([8, 8]), tile([4, 8])), "have different shapes"),
        (compare_select.sels, (tile([4, 8]), tile([8, 8]), 1), "have different shapes"),
    ],
)
def test_operands_that_do_not_fit(op: AnyOp, args: tuple[Any, ...], message: str) -> None:
    """Operands of one call agree in shape and element type."""
    with pytest.raises(OpError, match=message):
        op.build(args, {})


def test_masks_of_another_type() -> None:
    """The mask of a select may have a different element type than the tiles."""
    found = compare_select.sel.build((tile([4, 8], D.INT32), tile([4, 8]), tile([4, 8])), {})
    assert found.type == TileType([4, 8], D.FP32)


def test_what_passes_write_out() -> None:
    """An op of several instructions has no text unless LegalizeTiles has expanded it."""
    case = Case(ternary.addc, (((16, 16),) * 3,))
    program = Program([kernel_for(case, D.FP32).function], "p")
    placed = init_mem_ref()(convert_to_ssa()(program))
    [kernel] = kernels(placed)
    with pytest.raises(EmitError, match=r"block\.addc is several instructions"):
        PTOCodegen().generate(placed)
    with pytest.raises(EmitError, match=r"block\.addc is several instructions"):
        CodeGenerator().generate(kernel)
