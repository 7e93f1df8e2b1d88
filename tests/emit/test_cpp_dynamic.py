"""C++ of kernels whose sizes are known only at run time: one compilation, every size."""

# The operators and results of these functions are only meaningful to PyPTO's front end.
# pyright: reportInvalidTypeArguments=false, reportOperatorIssue=false, reportArgumentType=false
# pyright: reportAssignmentType=false, reportReturnType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnnecessaryComparison=false
# pyright: reportAttributeAccessIssue=false, reportCallIssue=false, reportIndexIssue=false
# pyright: reportUnknownMemberType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.diagnostics import Span
from pypto._src.driver import compile_program
from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import CallError, EmitError, EvaluationError
from pypto._src.ir.array_types import MemRef, TensorType, TileType, TileView
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import AssignStmt, Function, ReturnStmt, SeqStmts
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory
from pypto._src.ops.elementwise import add
from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager
from tests.emit.native import lowered, run, text_of

N, M, K = pl.dynamic("N"), pl.dynamic("M"), pl.dynamic("K")


@pl.program
class Doubled:
    """Blocks of eight rows, then the remainder row by row."""

    @pl.function(type=pl.FunctionType.InCore)
    def doubled(
        self, x: pl.Tensor[[N, 64], pl.FP32], out: pl.Out[pl.Tensor[[N, 64], pl.FP32]]
    ) -> pl.Tensor[[N, 64], pl.FP32]:
        whole = N // 8 * 8
        for i in pl.range(0, whole, 8):
            tile = pl.load(x, [i, 0], [8, 64])
            out = pl.store(pl.add(tile, tile), [i, 0], [8, 64], out)
        for i in pl.range(whole, N):
            row = pl.load(x, [i, 0], [1, 64])
            out = pl.store(pl.add(row, row), [i, 0], [1, 64], out)
        return out


DOUBLED = """\
__aicore__ __attribute__((always_inline)) void runDoubled(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[1]);
    int64_t N = args[2];

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x, xShapeDim5(N));

    using outShapeDim5 = Shape<1, 1, 1, -1, 64>;
    using outStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outGlobalType = GlobalTensor<float, outShapeDim5, outStrideDim5>;
    outGlobalType outGlobal(out, outShapeDim5(N));
"""


def test_symbolic_sizes_are_arguments_behind_the_others() -> None:
    """A named dimension is an int64 argument; shapes get it in the prologue."""
    text = text_of(lowered(Doubled))
    assert text.startswith(DOUBLED)
    body = text.split("// Function body\n")[1].splitlines()
    assert body[0] == "    int64_t whole = floor_div(N, 8) * 8;"


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 64, 4099])
def test_one_compilation_runs_every_size(rows: int) -> None:
    """One row, only a remainder, whole blocks, both, and many rows: the interpreter's values."""
    native, interpreter = compile_program(Doubled), compile_program(Doubled, "interpreter")
    x = np.random.default_rng(rows).random((rows, 64), np.float32)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    native(x, out)
    interpreter(x, expected)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(out, x * 2)


def test_one_object_is_called_with_many_sizes() -> None:
    """The same compiled program handles one size after another, larger and smaller."""
    native = compile_program(Doubled)
    for rows in (17, 1, 1000, 8):
        x = np.random.default_rng(rows).random((rows, 64), np.float32)
        out = np.zeros_like(x)
        native(x, out)
        np.testing.assert_array_equal(out, x * 2)


def test_sizes_that_differ_under_one_name_are_refused() -> None:
    """Two tensors that share a dimension must have the same size in it."""
    native = compile_program(Doubled)
    with pytest.raises(CallError) as caught:
        native(np.zeros((8, 64), np.float32), np.zeros((16, 64), np.float32))
    assert caught.value.slug == "argument-shape"


@pl.program
class Strided:
    """A tensor whose rows have a run-time length."""

    @pl.function(type=pl.FunctionType.InCore)
    def strided(
        self,
        x: pl.Tensor[[K, N, M], pl.FP32],
        out: pl.Out[pl.Tensor[[K, N, M], pl.FP32]],
    ) -> pl.Tensor[[K, N, M], pl.FP32]:
        for k in pl.range(0, K):
            for i in pl.range(0, N, 4):
                for j in pl.range(0, M, 16):
                    tile = pl.load(x, [k, i, j], [1, 4, 16])
                    out = pl.store(pl.mul(tile, 3.0), [k, i, j], [1, 4, 16], out)
        return out


def test_run_time_strides_are_computed_in_the_prologue() -> None:
    """Each stride that is a product has its own variable; types have -1 for it."""
    text = text_of(lowered(Strided))
    prologue = text.split("    // Unpack arguments\n")[1].split("    // Tile type")[0]
    assert prologue.split("\n\n")[0].splitlines()[2:] == [
        "    int64_t K = args[2];",
        "    int64_t N = args[3];",
        "    int64_t M = args[4];",
    ]
    assert prologue.split("    // Shapes and strides\n")[1].split("\n\n")[0].splitlines() == [
        "    int64_t x_stride0 = N * M;",
        "    int64_t out_stride0 = N * M;",
    ]
    tensors = prologue.split("    // Global tensor declarations\n")[1].split("\n\n")
    assert tensors[0].splitlines() == [
        "    using xShapeDim5 = Shape<1, 1, -1, -1, -1>;",
        "    using xStrideDim5 = Stride<1, 1, -1, -1, 1>;",
        "    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;",
        "    xGlobalType xGlobal(x, xShapeDim5(K, N, M), xStrideDim5(x_stride0, M));",
    ]
    assert tensors[2].splitlines()[-1] == (
        "    x_1x4x16GlobalType x_1x4x16Global("
        "x, x_1x4x16ShapeDim5(), x_1x4x16StrideDim5(x_stride0, M));"
    )
    assert (
        "TASSIGN(x_1x4x16Global, x + k * x_stride0 + region_begin(1, i, 4, N) * M"
        " + region_begin(2, j, 16, M));"
    ) in text


@pytest.mark.parametrize("shape", [(1, 4, 16), (3, 8, 48), (2, 64, 1024)])
def test_run_time_strides_compute(shape: tuple[int, int, int]) -> None:
    """Regions of a tensor of any size are read and written at the right offsets."""
    native, interpreter = compile_program(Strided), compile_program(Strided, "interpreter")
    x = np.random.default_rng(1).random(shape, np.float32)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    native(x, out)
    interpreter(x, expected)
    np.testing.assert_array_equal(out, expected)


def test_leaving_a_tensor_of_run_time_size_is_an_error() -> None:
    """A tensor's bounds follow from its sizes: a store after the last row is rejected."""
    native = compile_program(Strided)
    x = np.zeros((1, 5, 16), np.float32)  # rows go in blocks of four
    out = np.zeros_like(x)
    with pytest.raises(EvaluationError, match=r"\[0:1, 4:8, 0:16\] of x, a tensor \[1, 5, 16\]"):
        native(x, out)


@pl.program
class Launched:
    """A host function that calls one kernel with tensors of two sizes."""

    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, a: pl.Tensor[[N, 64], pl.FP32], b: pl.Out[pl.Tensor[[N, 64], pl.FP32]]
    ) -> pl.Tensor[[N, 64], pl.FP32]:
        for i in pl.range(0, N):
            b = pl.store(pl.mul(pl.load(a, [i, 0], [1, 64]), 2.0), [i, 0], [1, 64], b)
        return b

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self,
        x: pl.Tensor[[24, 64], pl.FP32],
        y: pl.Tensor[[3, 64], pl.FP32],
        p: pl.Out[pl.Tensor[[24, 64], pl.FP32]],
        q: pl.Out[pl.Tensor[[3, 64], pl.FP32]],
    ) -> pl.Tensor[[24, 64], pl.FP32]:
        q = self.scale(y, q)
        return self.scale(x, p)


def test_a_host_function_hands_sizes_on() -> None:
    """Each launch passes the sizes of its own tensors to the kernel."""
    x, y = (np.random.default_rng(r).random((r, 64), np.float32) for r in (24, 3))
    p, q = np.zeros_like(x), np.zeros_like(y)
    compile_program(Launched)(x, y, p, q)
    np.testing.assert_array_equal(p, x * 2)
    np.testing.assert_array_equal(q, y * 2)


def test_a_dimension_without_name_is_refused() -> None:
    """A dimension of -1 has no name that could be looked up."""
    span = Span("kernel.py", 7, 5)
    x = Var("x", TensorType([-1, 64], DataType.FP32), span)
    function = Function("k", [x], [], ReturnStmt([]), type=FunctionType.InCore)
    with pytest.raises(EmitError) as caught:
        text_of(function)
    assert str(caught.value) == (
        "tensor 'x' pl.Tensor[[-1, 64], pl.FP32] has a dimension without a name"
    )
    assert caught.value.hint == 'declare it: n = pl.dynamic("n"), and write n for -1'
    assert caught.value.location is span


# --------------------------------------------------------------------------------------------
# Valid sizes
# --------------------------------------------------------------------------------------------


def partly_valid() -> Function:
    """Return a kernel that moves and doubles the first ``n`` rows of up to 16."""
    n = Var("n", scalar_type(DataType.INT64))
    x = Var("x", TensorType([n, 64], DataType.FP32))
    out = Var("out", TensorType([16, 64], DataType.FP32))

    def tile(name: str, address: int) -> Var:
        view = TileView(valid_shape=[n, 64])
        place = MemRef(MemorySpace.Vec, address, 16 * 64 * 4)
        return Var(name, TileType([16, 64], DataType.FP32, place, view))

    a, b = tile("a", 0), tile("b", 0x1000)
    zero: Any = [0, 0]
    size: Any = [16, 64]
    load: Any = memory.load(x, zero, size)
    store: Any = memory.store(b, zero, size, out)
    total: Any = add(a, a)
    result = Var("result", out.type)
    body = SeqStmts(
        [
            AssignStmt(a, load),
            AssignStmt(b, total),
            AssignStmt(result, store),
            ReturnStmt([result]),
        ]
    )
    params: list[Any] = [x, (out, ParamDirection.Out), n]
    return Function("partly", params, [out.type], body, type=FunctionType.InCore)


def test_valid_sizes_are_set_where_a_tile_gets_its_value() -> None:
    """A transfer moves the valid part: the GlobalTensor has its size, set at run time."""
    text = text_of(partly_valid())
    assert text.split("    // Function body\n")[1].splitlines() == [
        "    a.SetValidShape(n, 64);",
        "    TLOAD(a, xGlobal);",
        "    b.SetValidShape(n, 64);",
        "    TADD(b, a, a);",
        "    TASSIGN(out_nx64Global, out + 0 * 64 + 0);",
        "    out_nx64Global.SetShape<3>(n);",
        "    TSTORE(out_nx64Global, b);",
        "}",
    ]
    assert "using out_nx64ShapeDim5 = Shape<1, 1, 1, -1, 64>;" in text


@pytest.mark.parametrize("rows", [0, 1, 15, 16])
def test_valid_sizes_compute(rows: int) -> None:
    """No valid row, one, all but one, all: only these rows are read and written."""
    x = np.random.default_rng(2).random((rows, 64), np.float32)
    out = np.full((16, 64), -1, np.float32)
    run(partly_valid(), x, out, rows)
    np.testing.assert_array_equal(out[:rows], x * 2)
    np.testing.assert_array_equal(out[rows:], -1)


# --------------------------------------------------------------------------------------------
# More than two dimensions
# --------------------------------------------------------------------------------------------

RANKS = {
    "3": ("[4, 16, 32]", "[1, 2, 16]", "[2, 4, 16]", "[0, 3, 8]"),
    "4": ("[2, 4, 8, 32]", "[0, 1, 2, 8]", "[2, 2, 4, 8]", "[0, 1, 3, 16]"),
    "5": ("[2, 3, 4, 8, 16]", "[0, 1, 1, 4, 8]", "[1, 2, 3, 4, 8]", "[1, 0, 0, 0, 0]"),
}
RANK_SOURCE = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[{shape}, pl.FP32], out: pl.Out[pl.Tensor[{shape}, pl.FP32]]
    ) -> pl.Tensor[{shape}, pl.FP32]:
        tile = pl.load(x, {start}, {size})
        return pl.store(pl.mul(tile, 2.0), {target}, {size}, out)
"""


@pytest.mark.parametrize("rank", RANKS)
def test_boxes_of_tensors_of_higher_rank(rank: str) -> None:
    """A box of 3, 4 or 5 dimensions is one tile whose rows are its leading dimensions."""
    shape, start, size, target = RANKS[rank]
    program = pl.parse_program(
        RANK_SOURCE.format(shape=shape, start=start, size=size, target=target)
    )
    x = np.random.default_rng(3).random(tuple(map(int, shape[1:-1].split(","))), np.float32)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    compile_program(program)(x, out)
    compile_program(program, "interpreter")(x, expected)
    assert expected.any()
    np.testing.assert_array_equal(out, expected)


COLUMN_SOURCE = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[{source}, pl.FP32], out: pl.Out[pl.Tensor[{target}, pl.FP32]]
    ) -> pl.Tensor[{target}, pl.FP32]:
        return pl.store(pl.load(x, {at}, {size}), {at}, {size}, out)
"""
COLUMNS = [
    # One run of rows: the tensor's own outer rows are contiguous.
    ("[2, 8, 1]", "[0, 0, 0]", "[2, 8, 1]", "out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>"),
    ("[4, 8, 1]", "[1, 0, 0]", "[2, 8, 1]", "out_16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>"),
    ("[4, 24, 1]", "[1, 8, 0]", "[1, 16, 1]", "out_1x16x1_dnShapeDim5 = Shape<1, 1, 1, 16, 1>"),
    # Several runs: the tile is viewed as rows of the same bytes.
    ("[2, 24, 1]", "[0, 8, 0]", "[2, 8, 1]", "out_2x8ShapeDim5 = Shape<1, 1, 1, 2, 8>"),
    ("[2, 3, 16, 1]", "[0, 1, 8, 0]", "[2, 2, 8, 1]", "out_2x2x8ShapeDim5 = Shape<1, 1, 2, 2, 8>"),
]


@pytest.mark.parametrize(("shape", "start", "size", "declared"), COLUMNS)
def test_columns_of_tensors_of_higher_rank(
    shape: str, start: str, size: str, declared: str
) -> None:
    """A column of a tensor [..., N, 1] moves in one transfer, whatever its row stride."""
    program = pl.parse_program(
        COLUMN_SOURCE.format(source=shape, target=shape, at=start, size=size)
    )
    x = np.random.default_rng(4).random(tuple(map(int, shape[1:-1].split(","))), np.float32)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    compiled = compile_program(program)
    assert f"using {declared};" in compiled.sources["k"]
    compiled(x, out)
    compile_program(program, "interpreter")(x, expected)
    assert expected.any()
    np.testing.assert_array_equal(out, expected)


def test_columns_in_rows_of_odd_length_are_refused() -> None:
    """Rows that are no multiple of a block cannot replace a column; the error says what to do."""
    program = pl.parse_program(
        COLUMN_SOURCE.format(
            source="[4, 24, 1]", target="[4, 24, 1]", at="[0, 8, 0]", size="[4, 2, 1]"
        )
    )
    with pytest.raises(EmitError) as caught:
        compile_program(program)
    assert str(caught.value) == (
        "a column [4, 2, 1] of a wider tensor is moved as rows of 2 elements, which are not a "
        "multiple of 32 bytes"
    )
    assert caught.value.hint == "move the rows of each outer index by themselves"


FAR_ROWS = {
    "view": """
        part = pl.view(x, [64, 1], [0, 3])
        return pl.store(pl.load(part, [0, 0], [16, 1]), [0, 0], [16, 1], column)
""",
}
"""Different moves of a column of a wider tensor."""
FAR_SOURCE = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self,
        n: pl.Scalar[pl.INT64],
        x: pl.InOut[pl.Tensor[[64, {columns}], pl.FP32]],
        column: pl.InOut[pl.Tensor[[64, 1], pl.FP32]],
    ) -> pl.Tensor[[64, 1], pl.FP32]:{body}"""


def pto_of(program: Any) -> str:
    """Return a program's text in the PTO dialect."""
    return PTOCodegen().generate(PassManager(OptimizationStrategy.PTOAS).run_passes(program))


def cpp_of(program: Any) -> str:
    """Return the C++ of a program's only kernel."""
    return text_of(lowered(program))


@pytest.mark.parametrize("body", FAR_ROWS)
@pytest.mark.parametrize("emit", [cpp_of, pto_of])
def test_columns_whose_rows_are_apart_are_refused(body: str, emit: Callable[[Any], str]) -> None:
    """The device assumes contiguous column elements, so strided ones are not a column."""
    source = pl.parse_program(FAR_SOURCE.format(columns=64, body=FAR_ROWS[body]))
    with pytest.raises(EmitError) as caught:
        emit(source)
    assert caught.value.message == (
        "a column [16, 1] of a tensor whose rows are 64 elements apart cannot be moved: the "
        "elements of a column are contiguous in memory"
    )
    assert caught.value.hint == "keep the vector in a tensor [N, 1] of its own"


def test_columns_whose_rows_are_unknown_steps_apart_are_refused() -> None:
    """A stride known only at run time cannot be assumed to be 1."""
    source = pl.parse_program(FAR_SOURCE.format(columns="n", body=FAR_ROWS["view"]))
    with pytest.raises(EmitError) as caught:
        cpp_of(source)
    assert caught.value.message == (
        "a column [16, 1] of a tensor whose rows are several elements apart cannot be moved: the "
        "elements of a column are contiguous in memory"
    )
