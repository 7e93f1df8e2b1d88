"""The C++ of kernels: the text of document 000, and what the text computes when it is compiled."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp import CodeGenerator, kernel_file
from pypto._src.emit.cpp_types import ScalarText
from pypto._src.errors import EmitError
from pypto._src.ir.enums import FunctionType, MemorySpace, ParamDirection, PipeType
from pypto._src.ir.nodes import (
    And,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Lt,
    MemRef,
    Or,
    TensorType,
    TileType,
    Var,
    Xor,
    binary,
    scalar_type,
)
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, ReturnStmt, SeqStmts
from pypto._src.ops import memory, system
from pypto._src.ops.elementwise import add
from tests.emit.kernels import (
    BlockOfRows,
    Branches,
    Clashes,
    Fibonacci,
    Loops,
    Regions,
    Scalars,
    SimpleAdd,
)
from tests.emit.native import lowered, run, text_of

ROOT = Path(__file__).parents[2]

# Document 000, "Three-Phase Generation": the examples of phases 1, 2 and 3, one after the other.
DOCUMENT = """\
__aicore__ __attribute__((always_inline)) void runSimpleAdd(__gm__ int64_t* args)
{
    // Unpack arguments
    __gm__ float* x = reinterpret_cast<__gm__ float*>(args[0]);
    __gm__ float* y = reinterpret_cast<__gm__ float*>(args[1]);
    __gm__ float* output = reinterpret_cast<__gm__ float*>(args[2]);

    // Global tensor declarations
    using xShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using xStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using xGlobalType = GlobalTensor<float, xShapeDim5, xStrideDim5>;
    xGlobalType xGlobal(x);

    using yShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using yStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using yGlobalType = GlobalTensor<float, yShapeDim5, yStrideDim5>;
    yGlobalType yGlobal(y);

    using outputShapeDim5 = Shape<1, 1, 1, 128, 64>;
    using outputStrideDim5 = Stride<1, 1, 1, 64, 1>;
    using outputGlobalType = GlobalTensor<float, outputShapeDim5, outputStrideDim5>;
    outputGlobalType outputGlobal(output);

    // Tile type definitions and allocations
    using tile_xType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_xType tile_x(128, 64);
    TASSIGN(tile_x, 0x0);

    using tile_yType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_yType tile_y(128, 64);
    TASSIGN(tile_y, 0x10000);

    using tile_zType = Tile<TileType::Vec, float, 128, 64, BLayout::RowMajor, -1, -1>;
    tile_zType tile_z(128, 64);
    TASSIGN(tile_z, 0x20000);

    // Function body
    TLOAD(tile_x, xGlobal);
    TLOAD(tile_y, yGlobal);
    set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
    TADD(tile_z, tile_x, tile_y);
    set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);
    TSTORE(outputGlobal, tile_z);
}
"""


def body_of(text: str) -> str:
    """Return the lines between ``// Function body`` and the end of the function."""
    body = text.split("    // Function body\n")[1].split("\n}\n")[0]
    return "\n".join(line.removeprefix("    ") for line in body.splitlines())


# --------------------------------------------------------------------------------------------
# Document 000
# --------------------------------------------------------------------------------------------


def simple_add() -> Function:
    """Return the document's kernel with its addresses and flags, statement by statement."""
    shape = [128, 64]
    x, y, output = (Var(n, TensorType(shape, DataType.FP32)) for n in ("x", "y", "output"))

    def tile(name: str, address: int) -> Var:
        place = MemRef(MemorySpace.Vec, address, 128 * 64 * 4)
        return Var(name, TileType(shape, DataType.FP32, place))

    def flag(op: Any, first: PipeType, second: PipeType) -> EvalStmt:
        return EvalStmt(op(set_pipe=first, wait_pipe=second, event_id=0))

    tile_x, tile_y, tile_z = tile("tile_x", 0), tile("tile_y", 0x10000), tile("tile_z", 0x20000)
    zero: list[Any] = [0, 0]
    store: Any = memory.store(tile_z, zero, shape, output)  # pyright: ignore[reportArgumentType]
    result = Var("result", output.type)
    body = SeqStmts(
        [
            AssignStmt(tile_x, memory.load(x, zero, shape)),  # pyright: ignore[reportArgumentType]
            AssignStmt(tile_y, memory.load(y, zero, shape)),  # pyright: ignore[reportArgumentType]
            flag(system.sync_src, PipeType.MTE2, PipeType.V),
            flag(system.sync_dst, PipeType.MTE2, PipeType.V),
            AssignStmt(tile_z, add(tile_x, tile_y)),  # pyright: ignore[reportArgumentType]
            flag(system.sync_src, PipeType.V, PipeType.MTE3),
            flag(system.sync_dst, PipeType.V, PipeType.MTE3),
            AssignStmt(result, store),
            ReturnStmt([result]),
        ]
    )
    params = [x, y, (output, ParamDirection.Out)]
    return Function("simple_add", params, [output.type], body, type=FunctionType.InCore)


def test_simple_add_is_the_documents_text() -> None:
    """Document 000's kernel, built by hand as it says, has its text letter for letter."""
    assert text_of(simple_add()) == DOCUMENT


def test_simple_add_from_the_language() -> None:
    """From Python source, only addresses differ, and the kernel waits for its store at the end."""
    expected = DOCUMENT.replace("0x10000", "0x8000").replace("0x20000", "0x10000")
    expected = expected.replace("tile_z);\n}", "tile_z);\n    pipe_barrier(PIPE_ALL);\n}")
    assert text_of(lowered(SimpleAdd)) == expected


def test_simple_add_computes_the_sum() -> None:
    """The document's text, compiled against the CPU headers, adds."""
    x, y = (np.random.default_rng(s).random((128, 64), np.float32) for s in (1, 2))
    out = np.zeros_like(x)
    run(lowered(SimpleAdd), x, y, out)
    np.testing.assert_array_equal(out, x + y)


# What the document writes, what we write, and why.
DIFFERENCES = (
    (
        "TASSIGN(inputGlobal, input + first_iter * 128 + 0);",
        "TASSIGN(input_32x128Global, input + first_iter * 128 + 0);",
        "TLOAD takes a GlobalTensor whose shape is the tile's, so a part has an object of its own",
    ),
    (
        "__gm__ bfloat16* input",
        "__gm__ bfloat16_t* input",
        "the tile library's type has this name",
    ),
    (
        "first_iter = first_0;",
        "int64_t first_iter = first_0;",
        "C++ declares a variable before it is assigned",
    ),
)


@pytest.mark.parametrize(("document", "ours", "reason"), DIFFERENCES)
def test_forced_differences(document: str, ours: str, reason: str) -> None:
    """Where document and tile library disagree, the text is one that the library takes."""
    lines = [line.strip() for line in text_of(lowered(BlockOfRows)).splitlines()]
    assert [line for line in lines if line.startswith(ours)], reason
    assert not [line for line in lines if line.startswith(document)]


# --------------------------------------------------------------------------------------------
# Control flow
# --------------------------------------------------------------------------------------------


def test_loops_text(golden: Any) -> None:
    """A carried tile is one object that each turn assigns; a carried tensor has no code."""
    golden("emit/loops.cpp", kernel_file(lowered(Loops)))


def test_loops_compute() -> None:
    """Inner loops count down and outer ones up, over the rows that they say."""
    x = np.random.default_rng(3).random((64, 64), np.float32)
    out = np.zeros((16, 64), np.float32)
    run(lowered(Loops), x, out)
    np.testing.assert_array_equal(out, ((x[:16] + x[48:64]) + x[32:48]) + x[16:32])


def test_branches_text(golden: Any) -> None:
    """Results of a branch are declared before it and assigned at the end of each arm."""
    golden("emit/branches.cpp", kernel_file(lowered(Branches)))


@pytest.mark.parametrize("n", [0, 2, 4, 12])
def test_branches_compute(n: int) -> None:
    """Each way through the branches stores what and where the source says."""
    x = np.random.default_rng(4).random((32, 16), np.float32)
    out, expected = np.zeros((32, 16), np.float32), np.zeros((32, 16), np.float32)
    run(lowered(Branches), x, out, n)
    if n != 0:
        row = n * 2 if n > 3 else 0
        expected[row : row + 8] = x[:8] * 2 if n > 3 else -x[:8]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 1), (10, 55), (46, 1836311903)])
def test_carried_scalars_change_together(n: int, expected: int) -> None:
    """What the loop carries is read before any of it changes."""
    out = np.zeros((8, 8), np.int32)
    run(lowered(Fibonacci), out, n)
    np.testing.assert_array_equal(out, np.full((8, 8), expected, np.int32))


# --------------------------------------------------------------------------------------------
# Regions
# --------------------------------------------------------------------------------------------


def test_regions_text(golden: Any) -> None:
    """A part has the strides of its tensor; a column of one-column tensors has layout DN."""
    golden("emit/regions.cpp", kernel_file(lowered(Regions)))


def test_regions_compute() -> None:
    """Views of views and columns read, and a part is written, where the source says."""
    generator = np.random.default_rng(5)
    x, c = generator.random((64, 128), np.float32), generator.random((64, 1), np.float32)
    out = np.zeros((64, 128), np.float32)
    run(lowered(Regions), x, c, out, 16)
    expected = np.zeros((64, 128), np.float32)
    expected[33:49, 64:96] = x[24:40, 96:128] * c[24:40]
    np.testing.assert_array_equal(out, expected)


def test_symbolic_shape_is_refused() -> None:
    """A tensor of unknown size is refused at its parameter, with its shape."""
    n = Var("n", scalar_type(DataType.INDEX))
    span = Span("kernel.py", 7, 5)
    x = Var("x", TensorType([n, 64], DataType.FP32), span)
    function = Function("k", [x], [], ReturnStmt([]), type=FunctionType.InCore)
    with pytest.raises(EmitError) as caught:
        text_of(function)
    assert str(caught.value) == "tensor 'x' has the size [n, 64]; C++ kernels take constant sizes"
    assert caught.value.place is span


# --------------------------------------------------------------------------------------------
# Scalars
# --------------------------------------------------------------------------------------------


def test_scalar_parameters_text() -> None:
    """Floats are unpacked bit by bit, integers by value; nobody unpacks what nobody reads."""
    prologue = text_of(lowered(Scalars)).split("\n\n")[0]
    assert prologue.split("    // Unpack arguments\n")[1].splitlines() == [
        "    __gm__ float* out = reinterpret_cast<__gm__ float*>(args[0]);",
        "    union { int64_t word; float value; } f_bits;",
        "    f_bits.word = args[1];",
        "    float f = f_bits.value;",
        "    int32_t i = static_cast<int32_t>(args[2]);",
        "    int64_t w = args[3];",
        "    bool flag = args[4] != 0;",
    ]


@pytest.mark.parametrize(("i", "flag", "written"), [(-1, 1, True), (1, 1, False), (-1, 0, False)])
def test_scalar_parameters_compute(i: int, flag: int, written: bool) -> None:
    """Each parameter arrives with its value: bits of a float, sign of an integer."""
    out = np.zeros((16, 8), np.float32)
    word = int(np.float32(-2.5).view(np.uint32))
    run(lowered(Scalars), out, word, i, 8, flag, 0)
    expected = np.zeros((16, 8), np.float32)
    if written:
        expected[8:] = -2.5
    np.testing.assert_array_equal(out, expected)


A, B, C = (Var(name, scalar_type(DataType.INT64)) for name in "abc")


def scalar_kernel(value: Expr) -> Function:
    """Return a kernel that fills ``out`` [8, 8] with an INT64 value of a, b and c."""
    out = Var("out", TensorType([8, 8], DataType.INT32))
    fill: Any = memory.full([8, 8], DataType.INT32, pl.cast(value, DataType.INT32))
    tile = Var("tile", fill.type)
    store: Any = memory.store(tile, [0, 0], [8, 8], out)  # pyright: ignore[reportArgumentType]
    result = Var("result", out.type)
    body = SeqStmts([AssignStmt(tile, fill), AssignStmt(result, store), ReturnStmt([result])])
    params = [(out, ParamDirection.Out), A, B, C]
    function = Function("k", params, [out.type], body, type=FunctionType.InCore)
    return lowered(Program([function], "K"))


@pytest.mark.parametrize("kind", [FloorDiv, FloorMod])
@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (-8, 2), (0, -3)])
def test_floor_division(kind: Any, a: int, b: int) -> None:
    """Quotients round toward minus infinity, as in Python and not as in C."""
    out = np.zeros((8, 8), np.int32)
    run(scalar_kernel(binary(kind, A, B)), out, a, b, 0)
    assert out[0, 0] == (a // b if kind is FloorDiv else a % b)


# Expressions and the C++ text they have: parentheses where C++ needs them or compilers warn.
EXPRESSIONS: list[tuple[Any, str]] = [
    (A + B * C, "a + b * c"),
    ((A + B) * C, "(a + b) * c"),
    (A - (B - C), "a - (b - c)"),
    (A - B - C, "a - b - c"),
    (A & (B + C), "a & (b + c)"),
    ((A << B) + C, "(a << b) + c"),
    ((A + B) << C, "(a + b) << c"),
    (A | (B & C), "a | (b & c)"),
    (A | B | C, "a | b | c"),
    (A ^ (B | C), "a ^ (b | c)"),
    (
        -(-A),  # noqa: B002
        "-(-a)",
    ),
    (A - (-5), "a - -5"),
    (~A * B, "~a * b"),
    (A**B, "int_pow(a, b)"),
    ((A + 1) // (B - 1) % C, "floor_mod(floor_div(a + 1, b - 1), c)"),
    (A * 3000000000, "a * 3000000000LL"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[t for _, t in EXPRESSIONS])
def test_scalar_text(expr: Expr, text: str) -> None:
    """Scalar expressions keep their meaning with as few parentheses as compilers accept."""
    assert f"TEXPANDS(tile, static_cast<int32_t>({text}));" in text_of(scalar_kernel(expr))


@pytest.mark.parametrize("expr", [e for e, _ in EXPRESSIONS], ids=[t for _, t in EXPRESSIONS])
def test_scalar_values(expr: Any) -> None:
    """The text computes what the expression means, without a warning of the compiler."""
    out = np.zeros((8, 8), np.int32)
    run(scalar_kernel(expr), out, 5, 3, 2)
    a, b, c = 5, 3, 2
    values = [
        a + b * c, (a + b) * c, a - (b - c), a - b - c, a & (b + c), (a << b) + c, (a + b) << c,
        a | (b & c), a | b | c, a ^ (b | c), a, a + 5, ~a * b, a**b, (a + 1) // (b - 1) % c,
        a * 3000000000,
    ]  # fmt: skip
    place = [e for e, _ in EXPRESSIONS]
    [expected] = [v for v, e in zip(values, place, strict=True) if e is expr]
    assert out[0, 0] == np.int64(expected).astype(np.int32)


def test_conditions_text() -> None:
    """Where compilers warn about the precedence of logical operators there are parentheses."""
    less, more = binary(Lt, A, B + 1), binary(Ge, B, C)
    both = And(less, more, DataType.BOOL)
    text = ScalarText(lambda var: var.name).text
    assert text(both) == "a < b + 1 && b >= c"
    assert text(Or(both, less, DataType.BOOL)) == "(a < b + 1 && b >= c) || a < b + 1"
    assert text(And(both, less, DataType.BOOL)) == "a < b + 1 && b >= c && a < b + 1"
    assert text(Xor(less, more, DataType.BOOL)) == "(a < b + 1) != (b >= c)"
    assert text(binary(Eq, A, B)) == "a == b"


# --------------------------------------------------------------------------------------------
# Names, comments, order
# --------------------------------------------------------------------------------------------


def test_names_of_cpp_are_avoided() -> None:
    """A name that means something in C++ gets a number; the text compiles and computes."""
    function = lowered(Clashes)
    body = body_of(text_of(function))
    assert "TADD(template_1, Tile_1, auto_1);" in body
    assert "for (int64_t int64_t_1 = 0; int64_t_1 < 1; int64_t_1 += 1) {" in body
    x, out = np.random.default_rng(6).random((8, 16), np.float32), np.zeros((8, 16), np.float32)
    run(function, x, out)
    np.testing.assert_allclose(out, np.exp(x) + x, rtol=1e-6)


def test_comments_name_the_source_line() -> None:
    """Each statement follows a comment with the file and line it comes from, said once."""
    lines = body_of(CodeGenerator().generate(lowered(SimpleAdd))).splitlines()
    comments = [line for line in lines if line.startswith("// ")]
    first = SimpleAdd.functions_[0].span.begin_line
    found = [int(c.removeprefix("// kernels.py:")) for c in comments]
    assert found == list(dict.fromkeys(found))
    assert lines[lines.index(comments[0]) + 1] == "TLOAD(tile_x, xGlobal);"
    source = Path(__file__).with_name("kernels.py").read_text(encoding="utf-8").splitlines()
    assert found[0] > first
    assert source[found[0] - 1].strip() == "tile_x = pl.load(x, [0, 0], [128, 64])"


_EMIT_ALL = """
import hashlib
from tests.emit import test_cpp as t
texts = [t.kernel_file(t.lowered(p)) for p in (t.Loops, t.Branches, t.Regions, t.Scalars)]
print(hashlib.sha256("".join(texts).encode()).hexdigest())
"""


def test_text_is_the_same_in_every_process() -> None:
    """The text does not depend on hash seeds or on what was emitted before."""
    programs: list[Any] = [Loops, Branches, Regions, Scalars]
    texts = [kernel_file(lowered(p)) for p in programs]
    expected = hashlib.sha256("".join(texts).encode()).hexdigest()
    for seed in ("0", "1", "4242"):
        environment = {
            **os.environ,
            "PYTHONHASHSEED": seed,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
        }
        done = subprocess.run(
            [sys.executable, "-c", _EMIT_ALL],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == expected
