"""Every op of the registry is complete: both texts or a reason, array semantics, rows that run.

The element types are those that the PTO assembler accepts for the A2/A3 chip, per op; those that
for A5 only do not count. Each edge case of a row runs three times: on the interpreter, as compiled
C++, and as the emitted PTO text on the dialect's evaluator. `test_native.py` compares the first two
on edge values of all rows, `tests/dialect/test_rows.py` the first and the last on ordinary values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from pypto import ir
from pypto._src.dialect.evaluate import evaluate as evaluate_text
from pypto._src.dialect.verify import check, options_of
from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import MemoryPlanError, OpError, PyptoError
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Var
from pypto._src.ops import elementwise, matmul, memory, new_tiles, reshaping
from pypto._src.ops.define import REGISTRY
from pypto._src.passes.pass_manager import OptimizationStrategy
from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.cases import CASES, AnyOp, Array, BuiltKernel, Case, Shape, kernel_for, missing_rows
from tests.emit.pto_texts import OPS, rows
from tests.natively import assert_close, compile_together, lowered, with_scratch, words
from tests.ops.test_native import EXTREMES, arguments

D = DataType

# --------------------------------------------------------------------------------------------
# Facts
# --------------------------------------------------------------------------------------------

FLOATS = "FP32 FP16"
ARITHMETIC = f"{FLOATS} INT32 INT16 UINT16 UINT32"
SHIFTED = "INT32 INT16 INT8 UINT8 UINT16 UINT32"
LISTED = {
    "abs col_expand_div div exp log lrelu maxs mins prelu recip row_expand_div rsqrt sqrt": FLOATS,
    "add adds addc addsc col_expand_mul col_expand_sub divs max maximum min minimum mul muls neg": (
        ARITHMETIC
    ),
    "row_expand_add row_expand_mul row_expand_sub row_max row_min row_sum": ARITHMETIC,
    "cmps sel sub subc subs subsc sum": ARITHMETIC,
    "cmp relu": f"{FLOATS} INT32 UINT32",
    "and ands or ors xor xors": "INT16 INT8 UINT8 UINT16",
    "col_expand fillpad row_expand transpose": f"{FLOATS} BF16 {SHIFTED}",
    "expands full sels": f"{FLOATS} INT32 INT16",
    "not": "INT16 UINT16",
    "rem": "FP32 INT32 UINT32",
    "rems": "FP32 INT32",
    "shl shr": SHIFTED,
    "shls": f"INT64 {SHIFTED}",
    "shrs": "INT32 INT16 UINT16 UINT32",
    "vec_move": f"{FLOATS} BF16 INT64 {SHIFTED}",
    "matmul matmul_acc matmul_bias gemv gemv_acc gemv_bias": "INT8 FP16 BF16 FP32",
}
"""The element types that the assembler accepts for A2/A3, by op."""

LEFT_OUT = {
    ("rem", "UINT32"): "the vector unit divides integers as signed ones, by way of floats",
    ("shls", "INT64"): "the C++ library shifts elements of up to 32 bits",
    ("shls", "INT8"): "the C++ library shifts by a number elements of 16 and 32 bits",
    ("shls", "UINT8"): "the C++ library shifts by a number elements of 16 and 32 bits",
}
"""Types that the assembler accepts but the C++ library does not: such operands are rejected."""

ROWS_OF: dict[str, list[Case]] = {}
for _case in CASES:
    ROWS_OF.setdefault(_case.op.name, []).append(_case)


@pytest.mark.parametrize("op", REGISTRY.values(), ids=list(REGISTRY))
def test_op_is_complete(op: AnyOp) -> None:
    """An op has array semantics, rows, and both texts, a decomposition or a reason."""
    assert op.numpy is not None
    assert (op.isa is None) == (op.pto is None)
    on_targets = op.isa is not None or op.decomposition is not None
    assert on_targets == (op.unsupported is None)
    assert op.unsupported is None or len(op.unsupported) > 20
    assert ROWS_OF[op.name]
    assert all(case.no_kernel == "" or len(case.no_kernel) > 20 for case in ROWS_OF[op.name])
    # Flags and barriers are in the level-3 texts of other rows.
    assert all(case.no_kernel == "" for case in ROWS_OF[op.name]) or (
        op.unsupported is not None or op.level in ("system", "test")
    )


def test_no_row_is_missing() -> None:
    """Every op has a row, and the listed ones exist."""
    assert missing_rows() == []
    listed = [f"block.{name}" for names in LISTED for name in names.split()]
    assert len(set(listed)) == len(listed)
    assert set(listed) <= set(REGISTRY)


@pytest.mark.parametrize("names", LISTED)
def test_every_listed_element_type_has_a_row(names: str) -> None:
    """Each type that the assembler accepts has a row that runs, or is rejected by name."""
    for name in names.split():
        op = REGISTRY[f"block.{name}"]
        in_rows = {d.member for case in ROWS_OF[op.name] for d in case.dtypes if not case.no_kernel}
        left_out = {dtype for of, dtype in LEFT_OUT if of == name}
        assert set(LISTED[names].split()) - left_out <= in_rows, name
        assert not left_out & {d.member for d in op.dtypes}
        assert {d.member for d in op.dtypes} == in_rows


@pytest.mark.parametrize(("name", "member"), LEFT_OUT, ids="-".join)
def test_what_is_left_out_is_refused(name: str, member: str) -> None:
    """An operand of an excluded element type is an error that names it."""
    case = ROWS_OF[f"block.{name}"][0]
    with pytest.raises(OpError, match=f"takes elements of .* has {member}"):
        kernel_for(case, MEMBERS[member])


# --------------------------------------------------------------------------------------------
# Edge values in the texts
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op", OPS)
def test_texts_mean_the_same_on_edge_values(op: str) -> None:
    """NaN, infinities, zeros of both signs, limits, overflow, ties: same as on the interpreter."""
    # The other shapes of a row differ only in size.
    chosen = [row for row in rows(op) if len(row.strategies) > 1]
    for row in effort.part(chosen, 4):
        after = lowered(row.built.function, OptimizationStrategy.PTOAS)
        text = PTOCodegen().generate(ir.Program([after], "row"))
        source = check(text, row.name, options_of(text, "a3"))
        signed_zero = row.case.op not in EXTREMES
        for number, args in enumerate(arguments(row.case, row.built)):
            wanted, found = _copies(args), _copies(args)
            evaluate(row.built.function, wanted)
            evaluate_text(source, row.built.function.name, with_scratch(found, after))
            for one, other in zip(found, wanted, strict=True):
                note = f"{op} {row.name}, inputs {number}"
                assert_close(one, other, signed_zero=signed_zero, note=note)


def _copies(args: Sequence[Array]) -> list[Array]:
    return [array.copy() for array in args]


# --------------------------------------------------------------------------------------------
# Edge shapes
# --------------------------------------------------------------------------------------------

LONG = 64
"""Elements of a single row or column: types that comparisons support on every chip."""


class Edge(NamedTuple):
    """A row of the table with tiles of an edge shape."""

    label: str  # "row", "column" or "largest"
    case: Case
    dtype: DataType
    shapes: tuple[Shape, ...]

    def __str__(self) -> str:
        return f"{self.case.name}-{self.dtype.member}-{self.label}"


def shaped_cases() -> list[Case]:
    """Return the first row of each op whose kernel takes tiles of the row's shapes."""
    found: dict[str, Case] = {}
    for case in CASES:
        if case.no_kernel or case.build is not None or case.ints or not case.shapes:
            continue
        if case.shapes[0]:
            found.setdefault(case.op.name, case)
    return list(found.values())


def resized(case: Case, rows: int | None, columns: int | None) -> tuple[Shape, ...]:
    """Return a row's first shapes with other sizes in place of its first tile's."""
    shapes = case.shapes[0]
    old_rows, old_columns = shapes[0][0], shapes[0][-1]
    out: list[Shape] = []
    for height, *_, width in shapes:
        out.append(
            (
                rows if rows and height == old_rows else height,
                columns if columns and width == old_columns else width,
            )
        )
    return tuple(out)


def fits(case: Case, dtype: DataType, rows: int) -> bool:
    """True if the memory holds a kernel on tiles of this many rows."""
    try:
        lowered(kernel_for(case, dtype, resized(case, rows, None)).function)
    except MemoryPlanError:
        return False
    return True


def largest_rows(case: Case, dtype: DataType) -> int:
    """Return the largest multiple of 16 rows for which the tiles of a kernel fit."""
    low, high = 1, 256  # the matrix unit takes sizes up to 4095
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(case, dtype, 16 * middle) else (low, middle)
    return 16 * low


NO_EDGE = {
    # The matrix unit takes several rows; `gemv` takes one, whose length is a multiple of 512 bytes.
    ("matmul", "row"): r"a row of the tile \[1, 32\] has \d+ bytes, a multiple of 512 was wanted",
    ("matmul", "column"): "has different K",
    ("gemv", "column"): "a row of the tile",
    # A pattern selects at least one of two columns; two adjacent columns are not one column.
    ("gather_mask", "column"): "takes columns in multiples of 2",
    ("concat", "column"): "does not take column vectors",
    ("gemv", "largest"): "multiplies a single row",
}
"""The edge shapes that an op does not support, with the error messages."""


def refusal(case: Case, label: str) -> str | None:
    """Return the message that rejects an edge shape, or None if it is accepted."""
    name = case.op.name.removeprefix("block.")
    found = [v for (names, of), v in NO_EDGE.items() if name in names.split() and of == label]
    return found[0] if found else None


def edges_of(case: Case, dtype: DataType) -> Iterator[Edge]:
    """Yield the edge shapes of a row."""
    shapes = {"row": (1, LONG), "column": (LONG, 1)}
    if case.op is matmul.matmul:
        shapes = {"row": (1, None), "column": (None, 1)}
    if case.op is matmul.gemv:
        shapes = {"column": (None, 1)}
    for label, sizes in shapes.items():
        yield Edge(label, case, dtype, resized(case, *sizes))


SHAPED = shaped_cases()


def edge_types(case: Case) -> tuple[DataType, ...]:
    """Return the narrowest and the widest element type of a row."""
    by_width = sorted(case.dtypes, key=lambda dtype: dtype.get_bit())
    return tuple(dict.fromkeys((by_width[0], by_width[-1])))


@pytest.mark.parametrize("case", SHAPED, ids=repr)
def test_edge_shapes_that_are_not_taken(case: Case) -> None:
    """A shape that an op does not support is rejected, and the error says why."""
    count = 0
    for dtype in edge_types(case):
        for edge in edges_of(case, dtype):
            words_ = refusal(case, edge.label)
            if words_ is None:
                kernel_for(case, dtype, edge.shapes)
                continue
            with pytest.raises(PyptoError, match=words_):
                lowered(kernel_for(case, dtype, edge.shapes).function)
            count += 1
    assert count <= 2 * 2


GROUPS = 8
"""The number of translation units in which the kernels of edge shapes are compiled."""


@pytest.mark.parametrize("group", range(GROUPS))
def test_edge_shapes_mean_the_same(group: int, toolchain: Toolchain) -> None:
    """A single row, a single column and the largest tile: interpreter, C++ and PTO text agree."""
    edges: list[Edge] = []
    for case in SHAPED[group::GROUPS]:
        for dtype in edge_types(case):
            edges += [e for e in edges_of(case, dtype) if refusal(case, e.label) is None]
        if refusal(case, "largest") is None:
            dtype = case.dtypes[-1]
            rows = largest_rows(case, dtype)
            edges.append(Edge("largest", case, dtype, resized(case, rows, None)))
    edges = effort.part(edges, 3)
    built = [kernel_for(edge.case, edge.dtype, edge.shapes) for edge in edges]
    natives = compile_together([lowered(kernel.function) for kernel in built], toolchain)
    for edge, kernel, native in zip(edges, built, natives, strict=True):
        args = kernel.arguments(edge.case.values)
        wanted, compiled, text = _copies(args), _copies(args), _copies(args)
        evaluate(kernel.function, wanted)
        native(words(compiled))
        _run_text(kernel, text, str(edge))
        bounds = edge.case.tolerance(edge.dtype)
        for one, two, other in zip(compiled, text, wanted, strict=True):
            signed_zero = edge.case.op not in EXTREMES
            assert_close(one, other, bounds, signed_zero=signed_zero, note=f"{edge}: C++")
            assert_close(two, other, signed_zero=signed_zero, note=f"{edge}: PTO")


def _run_text(kernel: BuiltKernel, args: list[Any], name: str) -> None:
    after = lowered(kernel.function, OptimizationStrategy.PTOAS)
    text = PTOCodegen().generate(ir.Program([after], "row"))
    given = with_scratch(args, after)
    evaluate_text(check(text, name, options_of(text, "a3")), kernel.function.name, given)


@pytest.mark.parametrize("case", [c for c in SHAPED if refusal(c, "largest") is None], ids=repr)
def test_the_largest_tile_is_the_largest(case: Case) -> None:
    """With 16 more rows, the memory plan says which memory overflows and by how much."""
    dtype = case.dtypes[-1]
    rows = largest_rows(case, dtype)
    with pytest.raises(MemoryPlanError, match="memory of kernel 'kernel' overflows: "):
        lowered(kernel_for(case, dtype, resized(case, rows + 16, None)).function)


EMPTY: list[tuple[AnyOp, list[Any]]] = [
    (memory.load, [Var("x", TensorType([64, 64], D.FP32)), [0, 0], [0, 64]]),
    (new_tiles.create_tile, [[0, 64], D.FP32]),
    (new_tiles.full, [[8, 0], D.FP32, 1.0]),
    (new_tiles.view, [Var("t", TileType([8, 64], D.FP32)), [0, 64], [0, 0]]),
    (reshaping.reshape, [Var("t", TileType([8, 64], D.FP32)), [0, 64]]),
]
"""Every op that creates a tile with a given size, with a size of 0."""


@pytest.mark.parametrize(("op", "args"), EMPTY, ids=[op.name for op, _ in EMPTY])
def test_empty_tiles_are_refused(op: AnyOp, args: list[Any]) -> None:
    """No op creates a tile without elements; for empty tensors see tests/dialect/test_rows.py."""
    with pytest.raises(OpError, match=r"positive|of 512 elements to"):
        op.build(args, {})


# --------------------------------------------------------------------------------------------
# Rounding
# --------------------------------------------------------------------------------------------

TIES = [-3.5, -2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.5]
ROUNDED = {
    "rint": [-4, -2, -2, 0, 0, 2, 2, 4],
    "round": [-4, -3, -2, -1, 1, 2, 3, 4],
    "floor": [-4, -3, -2, -1, 0, 1, 2, 3],
    "ceil": [-3, -2, -1, 0, 1, 2, 3, 4],
    "trunc": [-3, -2, -1, 0, 0, 1, 2, 3],
    "odd": [-3, -3, -1, -1, 1, 1, 3, 3],
    "none": [-3, -2, -1, 0, 0, 1, 2, 3],
}


def test_ties_are_rounded_by_mode(toolchain: Toolchain) -> None:
    """Halfway between two integers each mode rounds as defined, in all three executions."""
    found: list[tuple[Case, BuiltKernel]] = []
    for case in ROWS_OF[elementwise.cast.name]:
        (source,) = case.dtypes
        if source.is_float() and case.attrs["target_type"].is_int():
            found.append((case, kernel_for(case, source, ((16, 32),))))
    assert {case.attrs["mode"] for case, _ in found} == set(ROUNDED)
    natives = compile_together([lowered(kernel.function) for _, kernel in found], toolchain)
    for (case, kernel), native in zip(found, natives, strict=True):
        args = kernel.arguments(case.values)
        target = args[1].dtype
        args[0][...] = np.resize(TIES, (16, 32)).astype(args[0].dtype)
        wanted = np.resize(ROUNDED[case.attrs["mode"]], (16, 32)).astype(target)
        for run in ("interpreter", "C++", "PTO"):
            given = _copies(args)
            if run == "C++":
                native(words(given))
            elif run == "PTO":
                _run_text(kernel, given, case.name)
            else:
                evaluate(kernel.function, given)
            np.testing.assert_array_equal(given[1], wanted, err_msg=f"{case.name} {run}")
