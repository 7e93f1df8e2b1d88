"""Operands of several element types and shapes: types, values in all executions, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.dialect.evaluate import evaluate as evaluate_text
from pypto._src.dialect.verify import check, find_faults, options_of
from pypto._src.dtypes import DataType, promote
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError, OpError
from pypto._src.interp.evaluate import evaluate
from pypto._src.interp.pipe_interpreter import StrictEvaluator
from pypto._src.ir.array_types import TileType, TileView
from pypto._src.ir.exprs import ConstFloat, ConstInt, Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.ops import bitwise, compare_select, elementwise, reduce, ternary
from pypto._src.ops.define import REGISTRY
from pypto._src.ops.lazy import columns
from pypto._src.ops.promotion.casts import steps
from pypto._src.ops.promotion.operands import Promotion
from pypto._src.passes.memory.init_mem_ref import InitMemRef
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.run.native import NativeKernel
from tests import effort
from tests.cases import AnyOp, Array, BuiltKernel, Kernel, Shape, call, whole_range
from tests.natively import assert_close, batches, compile_together, compiler, lowered, words

D = DataType

# --------------------------------------------------------------------------------------------
# Kernels
# --------------------------------------------------------------------------------------------

FLOAT_PAIRS = (
    (D.FP16, D.FP32),
    (D.FP32, D.INT32),
    (D.INT16, D.FP16),
    (D.INT32, D.FP16),
    (D.FP32, D.BF16),
)
WHOLE_PAIRS = ((D.INT16, D.INT32), (D.UINT16, D.INT16), (D.INT8, D.INT32), (D.INT32, D.UINT32))
NARROW_PAIRS = ((D.INT8, D.INT16), (D.UINT8, D.UINT16), (D.INT16, D.UINT16))
SHIFTS = ((D.INT32, D.INT16), (D.UINT16, D.INT16), (D.INT16, D.UINT8))
MIXED = ((D.FP16, D.FP32), (D.INT32, D.FP32), (D.INT16, D.INT32))

FULL: Shape = (32, 64)
COLUMN: Shape = (32, 1)
ROW: Shape = (1, 64)
SHAPES = ((FULL, COLUMN), (FULL, ROW), (COLUMN, FULL), (ROW, FULL), (COLUMN, ROW))
CUBE: Shape = (2, 16, 64)
IN_CUBES = ((CUBE, (2, 16, 1)), ((1, 1, 64), CUBE), (CUBE, (64,)), (CUBE, (1, 64)))
SHORT = ((8, 64), (8, 1))

NUMBERED = (
    *(elementwise.adds, elementwise.subs, elementwise.muls, elementwise.divs, elementwise.maxs),
    *(elementwise.mins, bitwise.rems, compare_select.cmps, elementwise.lrelu, elementwise.expands),
)
"""Ops on a tile and a number that promote, and those that keep the tile's type."""
KEEPING = (bitwise.ands, bitwise.ors, bitwise.xors, bitwise.shls, bitwise.shrs)
NUMBERS = ((D.FP16, D.FP32), (D.INT32, D.FP32), (D.FP32, D.INT64), (D.INT16, D.FP16))


class Subject(NamedTuple):
    """An op on two tiles, without its keywords and numbers."""

    op: AnyOp
    dtypes: tuple[DataType, DataType]
    shapes: tuple[Shape, ...]
    words: Mapping[str, Any]
    built: BuiltKernel


def kernel_of(
    op: AnyOp, dtypes: tuple[DataType, ...], shapes: tuple[Shape, ...], **given: Any
) -> BuiltKernel:
    """Return a kernel of one op on tiles; the first two differ, a third is like the first.

    If there is one shape, the second is a number.
    """
    kernel = Kernel()
    tiles: list[Any] = [kernel.tile(s, d) for s, d in zip(shapes, dtypes, strict=False)]
    if len(shapes) == 1:
        tiles.append(number_of(dtypes[1]))
    if op is compare_select.sel:
        tiles.insert(0, kernel.tile(np.broadcast_shapes(*shapes), D.INT32))
    elif op in (ternary.addc, ternary.subc):
        tiles.append(kernel.tile(shapes[0], dtypes[0]))
    elif op in (ternary.addsc, ternary.subsc):
        tiles.insert(1, given.pop("number"))
    return kernel.finish(kernel.let("result", call(op, *tiles, **given)))


def number_of(dtype: DataType) -> ConstFloat | ConstInt:
    """Return a constant that not every type can represent."""
    return ConstFloat(1.1, dtype) if dtype.is_float() else ConstInt(5, dtype)


def drawn() -> Iterator[tuple[AnyOp, tuple[DataType, DataType], tuple[Shape, ...], Any]]:
    """Yield ops with element types and shapes of two tiles: each pair, and each kind of broadcast.

    A call with one shape has a tile and a number.
    """
    for op in NUMBERED:
        for pair in NUMBERS[:3] if op is bitwise.rems else NUMBERS:
            yield op, pair, (FULL,), {}
    for op in (elementwise.adds, elementwise.maxs, compare_select.cmps):
        yield op, (D.INT16, D.INT32), (FULL,), {}
        yield op, (D.FP16, D.INT16), (COLUMN,), {}
    for op in KEEPING:
        for pair in ((D.INT16, D.INT32), (D.INT32, D.INT64), (D.UINT16, D.INT16)):
            yield op, pair, (FULL,), {}
    for op in (
        elementwise.add,
        elementwise.sub,
        elementwise.maximum,
        compare_select.cmp,
        compare_select.sel,
    ):
        for shapes in IN_CUBES:
            yield op, (D.FP16, D.FP32), shapes, {}
        yield op, (D.FP16, D.INT32), SHORT, {}
        yield op, (D.INT32, D.FP16), SHORT[::-1], {}
    arithmetic = (elementwise.add, elementwise.sub, elementwise.mul)
    extremes = (elementwise.maximum, elementwise.minimum)
    for op in (*arithmetic, *extremes, ternary.addc, ternary.subc, compare_select.sel):
        for pair in (*FLOAT_PAIRS, *WHOLE_PAIRS):
            yield op, pair, (FULL, FULL), {}
        for shapes in SHAPES:
            for pair in ((D.FP32, D.FP32), (D.UINT16, D.INT16), (D.FP16, D.FP32)):
                yield op, pair, shapes, {}
    for op in (elementwise.div, compare_select.prelu):
        for shapes in ((FULL, FULL), *SHAPES):
            yield op, (D.INT16, D.FP32), shapes, {}
            yield op, (D.FP16, D.FP32), shapes, {}
    for op in (bitwise.and_, bitwise.or_, bitwise.xor):
        for pair in (*WHOLE_PAIRS, *NARROW_PAIRS):
            yield op, pair, (FULL, FULL), {}
        for shapes in SHAPES:
            yield op, (D.INT16, D.INT32), shapes, {}
            yield op, (D.INT8, D.UINT8), shapes, {}
    for op in (bitwise.shl, bitwise.shr):
        for pair in SHIFTS:
            yield op, pair, (FULL, FULL), {}
        for shapes in SHAPES:
            yield op, (D.INT32, D.INT16), shapes, {}
    for shapes in ((FULL, FULL), *SHAPES):
        for mode in range(6):
            yield compare_select.cmp, MIXED[mode % 3], shapes, {"cmp_type": mode}
        for pair in MIXED:
            yield compare_select.sels, pair, shapes, {"select_mode": 1}
            yield compare_select.sels, pair, shapes, {"select_mode": 0}
        yield bitwise.rem, (D.INT16, D.INT32), shapes, {}
        for op in (ternary.addsc, ternary.subsc):
            yield op, (D.FP16, D.FP32), shapes, {"number": 0.1}
            yield op, (D.INT16, D.INT32), shapes, {"number": 7}
    broadcasts = (reduce.row_expand_add, reduce.row_expand_sub, reduce.row_expand_mul)
    for shapes in SHAPES:
        yield compare_select.sels, (D.BF16, D.BF16), shapes, {"select_mode": 0}
    for op in (*broadcasts, reduce.row_expand_div):
        for pair in MIXED[:2] if op is reduce.row_expand_div else MIXED:
            yield op, pair, (FULL, COLUMN), {}
            yield op, pair, (COLUMN, COLUMN), {}
    for op in (columns.row_expand_max, columns.row_expand_min):
        yield op, MIXED[0], (FULL, COLUMN), {}
    broadcasts = (reduce.col_expand, reduce.col_expand_sub, reduce.col_expand_mul)
    for op in (*broadcasts, columns.col_expand_add, columns.col_expand_max, columns.col_expand_min):
        for pair in MIXED:
            yield op, pair, (FULL, ROW), {}
    yield reduce.col_expand_div, (D.INT32, D.FP32), (FULL, ROW), {}


@cache
def subjects() -> dict[str, list[Subject]]:
    """Return the subjects by the name of their op."""
    found: dict[str, list[Subject]] = {}
    for op, dtypes, shapes, given in drawn():
        built = kernel_of(op, dtypes, shapes, **given)
        found.setdefault(op.name, []).append(Subject(op, dtypes, shapes, given, built))
    return {name: effort.part(each, 4) for name, each in found.items()}


# --------------------------------------------------------------------------------------------
# Values
# --------------------------------------------------------------------------------------------


def converted(array: Array, dtype: DataType) -> Array:
    """Return an array converted to another element type: integers wrap, floats are rounded once."""
    with np.errstate(over="ignore"):
        wide = array.astype(np.float32) if dtype.is_float() else array
        return wide.astype(dtype.numpy)


def expected(subject: Subject, arrays: list[Array]) -> Array:
    """Return the result of converting, broadcasting, and the op on equal tiles."""
    op, (first, second) = subject.op, subject.dtypes
    keeps = op in (bitwise.shl, bitwise.shr, *KEEPING)
    dtype = first if keeps else promote(first, second)
    mask = [arrays.pop()] if op is compare_select.sel else []
    equal = [converted(array, dtype) for array in arrays]
    if len(subject.shapes) == 1:
        number = np.asarray(number_of(second).value).astype(second.numpy)
        equal.append(converted(number, dtype))
    if op.name.startswith("block.col_expand") or op.name.startswith("block.row_expand"):
        return run(op, equal)
    shape = np.broadcast_shapes(*[array.shape for array in equal])
    equal = [np.broadcast_to(array, shape) for array in equal]
    given = dict(subject.words)
    if "number" in given:
        equal.insert(1, np.asarray(given.pop("number")).astype(first.numpy).astype(dtype.numpy))
    if op.writes:
        equal.append(equal[0])
    if "select_mode" in given:
        equal.append(given.pop("select_mode"))
    return run(op, [*mask, *equal], **given)


def run(op: AnyOp, arrays: list[Any], **given: Any) -> Array:
    assert op.numpy is not None
    with np.errstate(all="ignore"):
        result: Array = op.numpy(*arrays, **given)
    return result


def inputs(subject: Subject) -> list[Array]:
    rng = np.random.default_rng(7)
    return [whole_range(rng, shape, dtype) for shape, dtype in subject.built.inputs]


BATCHES = batches(Counter(sorted(op.name for op, *_ in drawn())))


class Compiled(NamedTuple):
    """A subject, with its lowered and its C++ form."""

    subject: Subject
    function: Function
    native: NativeKernel


@cache
def compiled(batch: tuple[str, ...]) -> dict[str, list[Compiled]]:
    """Return the kernels of each op of a batch."""
    found = [(s, lowered(s.built.function)) for name in batch for s in subjects()[name]]
    natives = compile_together([function for _, function in found], compiler())
    kernels: dict[str, list[Compiled]] = {name: [] for name in batch}
    for (subject, function), native in zip(found, natives, strict=True):
        kernels[subject.op.name].append(Compiled(subject, function, native))
    return kernels


@pytest.mark.parametrize("name", BATCHES)
def test_values_agree_on_all_paths(name: str) -> None:
    """Converted and broadcast NumPy, interpreters, both passes, PTO text and C++ agree."""
    for kernel in compiled(BATCHES[name])[name]:
        compare(*kernel)


def compare(subject: Subject, function: Function, native: NativeKernel) -> None:
    note = f"{subject.op.name} {[d.member for d in subject.dtypes]} {subject.shapes}"
    args, output = inputs(subject), subject.built.output
    assert output is not None
    shape, dtype = output
    wanted = expected(subject, list(args)).astype(dtype.numpy)
    assert wanted.shape == shape, note
    ptoas = lowered(subject.built.function, OptimizationStrategy.PTOAS)
    for kernel in (subject.built.function, function, ptoas):
        out = np.zeros(shape, dtype.numpy)
        evaluate(kernel, [*args, out])
        assert_close(out, wanted, signed_zero=False, note=note)
        if kernel is not subject.built.function:
            compare_text(kernel, args, wanted, note)
    out = np.zeros(shape, dtype.numpy)
    StrictEvaluator(function).call(function.name, [*args, out])
    assert_close(out, wanted, signed_zero=False, note=f"{note}: strict")
    out = np.zeros(shape, dtype.numpy)
    native(words([*args, out]))
    assert_close(out, wanted, signed_zero=False, note=f"{note}: C++")


def compare_text(kernel: Function, args: list[Array], wanted: Array, note: str) -> None:
    """Check that the assembler of both targets takes the text, and what it computes."""
    text = PTOCodegen().generate(Program([kernel], "mixed"))
    source = check(text, options=options_of(text, "a3"))
    assert find_faults(source.module, options_of(text, "a5")) == [], note
    out = np.zeros(wanted.shape, wanted.dtype)
    evaluate_text(source, "kernel", [*args, out])
    assert_close(out, wanted, signed_zero=False, note=f"{note}: text")


def test_every_op_that_mixes_is_compared() -> None:
    """Every op whose operands may differ is covered above."""
    promotion = sorted(op.name for op in REGISTRY.values() if op.promotion is not None)
    assert promotion == list(BATCHES)


# --------------------------------------------------------------------------------------------
# Types and refusals
# --------------------------------------------------------------------------------------------


def tile(shape: Any, dtype: DataType, name: str = "t", valid: Any = None) -> Any:
    view = None if valid is None else TileView(valid)
    return Var(name, TileType(shape, dtype, tile_view=view))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (((32, 64), D.FP16), ((32, 64), D.FP32), ((32, 64), D.FP32)),
        (((32, 1), D.INT32), ((1, 64), D.FP16), ((32, 64), D.FP16)),
        (((64,), D.FP32), ((32, 64), D.BF16), ((32, 64), D.FP32)),
        (((32, 64), D.UINT32), ((32, 1), D.INT32), ((32, 64), D.INT32)),
        (((32, 64), D.FP16), ((32, 64), D.BF16), ((32, 64), D.FP16)),
    ],
)
def test_the_result_is_promoted_and_broadcast(a: Any, b: Any, wanted: Any) -> None:
    """Sums have the promoted element type and the shape that both operands broadcast to."""
    kind = call(elementwise.add, tile(*a), tile(*b)).type
    assert kind == TileType(*wanted)


@pytest.mark.parametrize(
    ("op", "a", "b", "slug", "hint"),
    [
        (
            elementwise.add,
            ((32, 64), D.UINT16),
            ((32, 64), D.FP32),
            "dtype-mismatch",
            "give a elements of FP32 in the tensor that it is loaded from",
        ),
        (
            elementwise.add,
            ((32, 64), D.FP32),
            ((32, 64), D.UINT16),
            "dtype-mismatch",
            "give b elements of FP32 in the tensor that it is loaded from",
        ),
        (
            bitwise.shl,
            ((32, 64), D.INT16),
            ((32, 64), D.INT32),
            "dtype-mismatch",
            "pl.cast(b, pl.INT16)",
        ),
        (elementwise.add, ((2, 32, 64), D.FP32), ((2, 1, 64), D.FP32), "shape-mismatch", None),
        (
            elementwise.add,
            ((2, 4, 8, 64), D.FP32),
            ((4, 1, 64), D.FP32),
            "shape-mismatch",
            "give b the shape of a, as in pl.load(tensor, [0, 0, 0, 0], [2, 4, 8, 64])",
        ),
        (
            bitwise.xor,
            ((32, 64), D.INT16),
            ((32, 64), D.INT64),
            "element-type",
            None,
        ),
        (bitwise.and_, ((32, 64), D.INT32), ((32, 64), D.FP32), "element-type", None),
        (
            elementwise.add,
            ((32, 64), D.BF16),
            ((32, 64), D.FP16),
            "element-type",
            "pl.cast(a, pl.FP32)",
        ),
    ],
)
def test_what_no_instruction_converts_or_spreads_is_refused(
    op: AnyOp, a: Any, b: Any, slug: str, hint: str | None
) -> None:
    """Conversions that the chip lacks, lossy shift counts, and other ranks stay errors."""
    with pytest.raises(OpError) as caught:
        op(tile(*a, name="a"), tile(*b, name="b"))
    assert caught.value.slug == slug
    assert hint is None or caught.value.hint == hint


@pytest.mark.parametrize(
    ("op", "operands", "message", "hint"),
    [
        (
            reduce.row_expand_add,
            (tile(FULL, D.FP16, "a"), tile(FULL, D.FP32, "b")),
            "pl.row_expand_add takes a column [32, 1] beside [32, 64], b has the shape [32, 64]",
            "pl.add(a, b)",
        ),
        (
            reduce.row_expand_mul,
            (tile(FULL, D.FP16, "a", (8, 64)), tile(COLUMN, D.FP32, "b", (4, 1))),
            "operands of pl.row_expand_mul have different valid parts: a [8, 64], b [4, 1]",
            "load both with valid_shapes=[8, 64]",
        ),
        (
            compare_select.sel,
            (tile((16, 64), D.INT32, "m"), tile(FULL, D.FP16, "a"), tile(FULL, D.FP32, "b")),
            "operands of pl.sel have different shapes",
            "give m the shape of a, as in pl.load(tensor, [0, 0], [32, 64])",
        ),
        (
            compare_select.sel,
            (tile((16, 1), D.INT32, "m"), tile(COLUMN, D.FP16, "a"), tile(ROW, D.FP32, "b")),
            "operands of pl.sel have different shapes",
            "give m the shape of the result, as in pl.load(tensor, [0, 0], [32, 64])",
        ),
        (
            elementwise.add,
            (tile(FULL, D.UINT32, "a", (8, 64)), tile(FULL, D.INT16, "b", (8, 64))),
            "elements of INT16 that become UINT32 take tiles that are valid throughout, "
            "b is valid in part",
            "pl.fillpad(b) is a whole tile with zeros in the rest",
        ),
        (
            reduce.row_expand_add,
            (tile(FULL, D.UINT32, "a"), tile(COLUMN, D.UINT32, "b", (8, 1))),
            "pl.row_expand_add of elements of UINT32 takes tiles that are valid throughout, "
            "b is valid in part",
            "pl.fillpad(b) is a whole tile with zeros in the rest",
        ),
    ],
)
def test_errors_name_the_operands_of_the_call(
    op: AnyOp, operands: tuple[Any, ...], message: str, hint: str
) -> None:
    """Errors do not mention the lowered form of a call, nor blame a correct operand."""
    with pytest.raises(OpError) as caught:
        op(*operands)
    error = caught.value
    assert (error.message, error.hint) == (message, hint)
    found = [f"{each.name} is {each.type.dtype.member}" for each in operands]
    for text in found if error.label else ():
        name, _, member = text.partition(" is ")
        assert f"{name} is Tile[" in error.label
        assert member in error.label


def test_a_number_that_the_result_does_not_hold_is_refused() -> None:
    """A number is never rounded: FP32 beside tiles of integers is not an operand."""
    number = ConstFloat(1.5, D.FP32)
    with pytest.raises(OpError, match="different element types") as caught:
        call(bitwise.ands, tile((32, 64), D.INT32), number)
    assert caught.value.hint == "pl.cast(rhs, pl.INT32)"
    with pytest.raises(OpError, match="different element types") as caught:
        call(elementwise.adds, tile((32, 64), D.INT32), ConstInt(1, D.INT64))
    assert caught.value.hint == "pl.cast(rhs, pl.INT32)"
    with pytest.raises(OpError, match="different element types") as caught:
        call(elementwise.adds, tile((32, 64), D.UINT16), number)
    assert caught.value.hint == "pl.cast(rhs, pl.UINT16)"
    kind = call(ternary.addsc, tile((32, 64), D.INT32), number, tile((32, 64), D.INT16)).type
    assert kind == TileType((32, 64), D.FP32)


def test_parts_of_tiles() -> None:
    """Tiles of several element types keep the valid part; a different one is rejected."""
    a, b = tile((32, 64), D.FP16, "a", (8, 64)), tile((32, 64), D.FP32, "b", (8, 64))
    kind = call(elementwise.mul, a, b).type
    assert isinstance(kind, TileType)
    assert kind.dtype is D.FP32
    assert kind.tile_view is not None
    assert [getattr(size, "value", None) for size in kind.tile_view.valid_shape] == [8, 64]
    with pytest.raises(OpError, match=r"different valid parts: a \[8, 64\], b \[32, 64\]"):
        elementwise.mul(a, tile((32, 64), D.FP32, "b"))
    assert call(compare_select.cmp, a, b).type == kind
    with pytest.raises(OpError, match="valid throughout"):  # reinterpreted bytes are all valid
        elementwise.add(
            tile((32, 64), D.INT16, "a", (8, 64)), tile((32, 64), D.UINT16, "b", (8, 64))
        )
    with pytest.raises(
        OpError, match=r"pl.add of a column and a row of FP16 takes .*, c is valid in part"
    ) as caught:
        elementwise.add(tile((32, 1), D.FP16, "c", (8, 1)), tile((1, 64), D.FP16, "b", (1, 40)))
    assert caught.value.hint is None
    with pytest.raises(
        OpError, match=r"pl.div of a tile and a column or row of FP32 takes .*, c is valid in part"
    ):
        elementwise.div(tile((32, 64), D.FP32, "b"), tile((32, 1), D.FP32, "c", (8, 1)))
    with pytest.raises(
        OpError, match=r"pl.sub of a column or row of UINT16 takes .* u is valid in part"
    ) as caught:
        elementwise.sub(tile((1, 64), D.UINT16), tile((32, 64), D.UINT16, "u", (8, 64)))
    assert caught.value.hint == "take blocks of constant size, then the rest in tiles [1, 64]"
    with pytest.raises(
        OpError, match=r"pl.sub have different valid parts: a \[8, 64\], c \[4, 1\]"
    ) as caught:
        elementwise.sub(tile((32, 1), D.FP16, "c", (4, 1)), a)
    assert caught.value.hint == "load c with valid_shapes=[8, 1]"
    column = tile((32, 1), D.FP32, "c")  # one instruction combines it with a partly valid tile
    assert call(elementwise.mul, a, column).type == kind
    assert call(elementwise.mul, column, a).type == kind


def test_conversions_lose_nothing_but_in_the_last_step() -> None:
    """Intermediate types represent every value; if there are none, there is no conversion."""
    assert steps(D.INT16, D.INT32) == (D.FP32, D.INT32)
    assert steps(D.UINT8, D.UINT32) == (D.FP16, D.INT32, D.UINT32)
    assert steps(D.FP16, D.BF16) == (D.FP32, D.BF16)
    assert steps(D.INT64, D.FP16) is None  # would be rounded twice
    assert steps(D.INT32, D.BF16) is None
    assert steps(D.UINT16, D.INT32) is None


def test_emitters_refuse_what_was_not_legalized() -> None:
    """Without LegalizeTiles neither text is emitted: both say what to run."""
    built = kernel_of(elementwise.add, (D.FP16, D.FP32), (FULL, COLUMN))
    program = InitMemRef()(Program([built.function], "mixed"))
    with pytest.raises(EmitError, match="several instructions") as caught:
        kernel_file(program.functions_[0])
    assert caught.value.hint == "run passes.legalize_tiles() first"
    with pytest.raises(EmitError, match="several instructions"):
        PTOCodegen().generate(program)


def test_a_column_beside_a_tile_is_one_instruction() -> None:
    """If the chip adds a column to a tile directly, no tile is broadcast for it."""
    built = kernel_of(elementwise.add, (D.FP32, D.FP32), (COLUMN, FULL))
    text = kernel_file(lowered(built.function))
    assert "TROWEXPANDADD" in text
    assert "TEXPANDS" not in text
    built = kernel_of(elementwise.sub, (D.FP32, D.FP32), (ROW, FULL))  # not commutative
    text = kernel_file(lowered(built.function))
    assert "TCOLEXPAND(" in text
    assert "TSUB(" in text


def test_operators_mix() -> None:
    """`a + b` is `pl.add(a, b)`; its text is parsed back, before and after the passes."""

    @pl.program
    class Mixed:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self,
            x: pl.Tensor[[32, 64], pl.FP16],
            m: pl.Tensor[[32, 1], pl.FP32],
            out: pl.Out[pl.Tensor[[32, 64], pl.FP32]],
        ):
            a = pl.load(x, [0, 0], [32, 64])
            b = pl.load(m, [0, 0], [32, 1])
            c = (a - b) * a
            c += pl.maximum(b, c)
            out = pl.store(c, [0, 0], [32, 64], out)

    text = str(Mixed)
    assert "pl.block.sub(a, b)" in text
    assert str(pl.parse_program(text)) == text
    x = np.arange(2048, dtype=np.float16).reshape(32, 64) / 8
    m = np.arange(32, dtype=np.float32).reshape(32, 1)
    wide = x.astype(np.float32)
    wanted = (wide - m) * wide
    wanted = wanted + np.maximum(m, wanted)
    (kernel,) = Mixed.functions_
    for function in (kernel, lowered(kernel)):
        out = np.zeros((32, 64), np.float32)
        evaluate(function, [x, m, out])
        np.testing.assert_array_equal(out, wanted)


def test_only_tiles_beside_each_other_count() -> None:
    """`Promotion.differ` looks at the operands it names: masks and scratch may have any type."""
    rule = compare_select.sel.promotion
    assert isinstance(rule, Promotion)
    a, mask = tile((32, 64), D.FP32), tile((32, 64), D.INT32)
    assert not rule.differ((mask, a, a))
    assert rule.differ((mask, a, tile((32, 1), D.FP32)))
    rule = ternary.addsc.promotion
    assert rule is not None
    assert not rule.differ((a, ConstFloat(1.0, D.FP32), a))
    assert rule.differ((a, ConstInt(1, D.INT32), a))
