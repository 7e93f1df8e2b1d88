"""The C++ of kernels: the text of document 000, and what the text computes when it is compiled."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto._src.driver import compile_program
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import CodeGenerator, kernel_file
from pypto._src.emit.cpp.scalar_exprs import ScalarText
from pypto._src.errors import EmitError, EvaluationError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import FunctionType, ParamDirection, PipeType
from pypto._src.ir.exprs import (
    Abs,
    And,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Lt,
    MakeTuple,
    Max,
    Min,
    Or,
    Sub,
    Var,
    Xor,
    binary,
    unary,
)
from pypto._src.ir.stmts import AssignStmt, EvalStmt, Function, Program, ReturnStmt, SeqStmts
from pypto._src.ir.types import scalar_type
from pypto._src.ops import memory, new_tiles, system
from pypto._src.run.native import KernelError, NativeKernel
from tests.emit.kernels import Branches, Clashes, Fibonacci, Loops, Regions, Scalars, SimpleAdd
from tests.emit.native import WARNINGS, lowered, run, text_of
from tests.natively import compile_together, compiler, words

ROOT = Path(__file__).parents[2]


def body_of(text: str) -> str:
    """Return the lines between ``// Function body`` and the end of the function."""
    body = text.split("    // Function body\n")[1].split("\n}\n")[0]
    return "\n".join(line.removeprefix("    ") for line in body.splitlines())


# --------------------------------------------------------------------------------------------
# Control flow
# --------------------------------------------------------------------------------------------


def test_loops_text(golden: Any) -> None:
    """A carried tile is one object that each iteration assigns; a carried tensor has no code."""
    golden("emit/loops.cpp", kernel_file(lowered(Loops)))


def test_loops_compute() -> None:
    """Inner loops count down and outer ones up, over the rows that they state."""
    x = np.random.default_rng(3).random((64, 64), np.float32)
    out = np.zeros((16, 64), np.float32)
    run(lowered(Loops), x, out)
    np.testing.assert_array_equal(out, ((x[:16] + x[48:64]) + x[32:48]) + x[16:32])


def test_branches_text(golden: Any) -> None:
    """Results of a branch are declared before it and assigned at the end of each arm."""
    golden("emit/branches.cpp", kernel_file(lowered(Branches)))


@pytest.mark.parametrize("n", [0, 2, 4, 12])
def test_branches_compute(n: int) -> None:
    """Each path through the branches stores what and where the source says."""
    x = np.random.default_rng(4).random((32, 16), np.float32)
    out, expected = np.zeros((32, 16), np.float32), np.zeros((32, 16), np.float32)
    run(lowered(Branches), x, out, n)
    if n != 0:
        row = n * 2 if n > 3 else 0
        expected[row : row + 8] = x[:8] * 2 if n > 3 else -x[:8]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("n", "expected"), [(0, 0), (1, 1), (10, 55), (46, 1836311903)])
def test_carried_scalars_change_together(n: int, expected: int) -> None:
    """What the loop carries is read before any of it is assigned."""
    out = np.zeros((8, 8), np.int32)
    run(lowered(Fibonacci), out, n)
    np.testing.assert_array_equal(out, np.full((8, 8), expected, np.int32))


CHOICES = {
    "conditional": (
        """\
z = x if n > 3 else y
return pl.store(pl.load(z, [n, 0], [8, 64]), [0, 0], [8, 64], out)""",
        [
            "__gm__ float* _if_tmp;",
            "_if_tmpGlobalType _if_tmpGlobal;",
            "_if_tmpGlobal = xGlobal;",
            "_if_tmp = x;",
            "_if_tmpGlobal = yGlobal;",
            "_if_tmp = y;",
            "TASSIGN(_if_tmp_8x64Global, _if_tmp + n * 64 + 0);",
        ],
    ),
    "swap": (
        """\
a = x
b = y
for i in pl.range(0, 24, 8):
    out = pl.store(pl.load(a, [i, 0], [8, 64]), [i, 0], [8, 64], out)
    c = a
    a = b
    b = c
return pl.store(pl.load(a, [0, 0], [8, 64]), [32, 0], [8, 64], out)""",
        [
            "__gm__ float* a_iter = x;",
            "__gm__ float* b_iter = y;",
            "TASSIGN(a_iter_8x64Global, a_iter + i * 64 + 0);",
            "__gm__ float* a_iter_next = b_iter;",
            "__gm__ float* b_iter_next = a_iter;",
            "a_iter = a_iter_next;",
            "b_iter = b_iter_next;",
            "TASSIGN(a_iter_8x64Global, a_iter + 0 * 64 + 0);",
        ],
    ),
    "views": (
        """\
z = pl.view(x, [8, 64], [n, 0])
if n > 3:
    z = pl.view(y, [8, 64], [8, 0])
return pl.store(pl.load(z, [0, 0], [8, 64]), [0, 0], [8, 64], out)""",
        [
            "__gm__ float* z_2;",
            "z_2 = (y + 8 * 64 + 0);",
            "z_2 = (x + view_begin(n, 8, 64) * 64 + 0);",
        ],
    ),
}


@pytest.mark.parametrize("n", [2, 5])
@pytest.mark.parametrize("name", CHOICES)
def test_tensors_chosen_at_run_time(name: str, n: int) -> None:
    """A tensor chosen by a branch or loop has its own pointer, next to its object."""
    body, wanted = CHOICES[name]
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    program = pl.parse_program(
        f"""
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Tensor[[64, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[64, 64], pl.FP32]], n: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
{lines}"""
    )
    text = [line.strip() for line in text_of(lowered(program)).splitlines()]
    assert [line for line in text if line in wanted] == wanted
    x, y = (np.random.default_rng(s).random((64, 64), np.float32) for s in (1, 2))
    out, expected = np.zeros_like(x), np.zeros_like(x)
    compile_program(program)(x, y, out, n)
    compile_program(program, "interpreter")(x, y, expected, n)
    assert expected.any()
    np.testing.assert_array_equal(out, expected)


STEPS = """
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
        start: pl.Scalar[pl.INT64], stop: pl.Scalar[pl.INT64], step: pl.Scalar[pl.INT64],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        for i in pl.range(start, stop, step):
            out = pl.store(pl.load(x, [i, 0], [8, 64]), [i, 0], [8, 64], out)
        return out
"""


@pytest.mark.parametrize(("start", "stop", "step"), [(0, 64, 8), (56, 0, -16), (0, 64, -8)])
def test_steps_known_at_run_time(start: int, stop: int, step: int) -> None:
    """A loop counts up or down depending on the sign of its step."""
    program = pl.parse_program(STEPS)
    x = np.random.default_rng(1).random((64, 64), np.float32)
    out, expected = np.zeros_like(x), np.zeros_like(x)
    compile_program(program)(x, out, start, stop, step)
    compile_program(program, "interpreter")(x, expected, start, stop, step)
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("target", ["cpu", "interpreter"])
def test_a_step_of_zero_is_reported(target: Any) -> None:
    """Compiled and interpreted alike, a loop whose step is 0 is an error."""
    x = np.zeros((64, 64), np.float32)
    with pytest.raises(EvaluationError, match="the step of a loop is zero"):
        compile_program(pl.parse_program(STEPS), target)(x, x.copy(), 0, 64, 0)


# --------------------------------------------------------------------------------------------
# Regions
# --------------------------------------------------------------------------------------------


def test_regions_text(golden: Any) -> None:
    """A region has its tensor's strides; a column of a one-column tensor has layout DN."""
    golden("emit/regions.cpp", kernel_file(lowered(Regions)))


def test_regions_compute() -> None:
    """Views of views and columns are read, and a part is written, where the source says."""
    generator = np.random.default_rng(5)
    x, c = generator.random((64, 128), np.float32), generator.random((64, 1), np.float32)
    out = np.zeros((64, 128), np.float32)
    run(lowered(Regions), x, c, out, 16)
    expected = np.zeros((64, 128), np.float32)
    expected[33:49, 64:96] = x[24:40, 96:128] * c[24:40]
    np.testing.assert_array_equal(out, expected)


# --------------------------------------------------------------------------------------------
# Scalars
# --------------------------------------------------------------------------------------------


def test_scalar_parameters_text() -> None:
    """Floats are unpacked by bits, integers by value; unread scalars are not unpacked."""
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
    """Each parameter keeps its value: bits of a float, sign of an integer."""
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
    fill: Any = new_tiles.full([8, 8], DataType.INT32, pl.cast(value, DataType.INT32))
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
    """Quotients round toward minus infinity, as in Python and unlike C."""
    out = np.zeros((8, 8), np.int32)
    run(scalar_kernel(binary(kind, A, B)), out, a, b, 0)
    assert out[0, 0] == (a // b if kind is FloorDiv else a % b)


@pytest.mark.parametrize(("kind", "symbol"), [(FloorDiv, "//"), (FloorMod, "%")])
def test_division_without_a_result(kind: Any, symbol: str) -> None:
    """A divisor of 0 is an error that does not end the process; the smallest integer wraps."""
    out = np.zeros((8, 8), np.int32)
    with pytest.raises(KernelError, match=f"^'{symbol}' by zero"):
        run(scalar_kernel(binary(kind, A, B)), out, 7, 0, 0)
    run(scalar_kernel(binary(kind, A, B)), out, -(1 << 63), -1, 0)
    assert out[0, 0] == 0


WRAPS = """
@pl.program
class Wraps:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        a: pl.INT32,
        x: pl.Tensor[[8, 8], pl.INT32],
        out: pl.Out[pl.Tensor[[8, 8], pl.INT32]],
    ):
        out[:] = x[:] * pl.cast(1 if a + 1 > a else 0, pl.INT32)
"""


@pytest.mark.parametrize("target", ["interpreter", "cpu"])
def test_integers_wrap(target: Any) -> None:
    """A sum that leaves its type's range wraps; the compiler may not assume otherwise."""
    x, out = np.ones((8, 8), np.int32), np.ones((8, 8), np.int32)
    compile_program(pl.parse_program(WRAPS), target)((1 << 31) - 1, x, out)
    assert not out.any()


# Expressions and their C++ text: parentheses where C++ needs them or compilers warn.
EXPRESSIONS: list[tuple[Any, str]] = [
    (A + B * C, "a + b * c"),
    ((A + B) * C, "(a + b) * c"),
    (A - (B - C), "a - (b - c)"),
    (A - B - C, "a - b - c"),
    (A & (B + C), "a & (b + c)"),
    ((A << B) + C, "(a << shift_count(b, 64)) + c"),
    ((A + B) << C, "(a + b) << shift_count(c, 64)"),
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
    (binary(Min, A, B), "a < b ? a : b"),
    (binary(Max, A, B) - 3, "(a > b ? a : b) - 3"),
    (binary(Min, A - B, binary(Max, B, C)), "int_min<int64_t>(a - b, b > c ? b : c)"),
    (unary(Abs, B - A), "int_abs<int64_t>(b - a)"),
]


@pytest.mark.parametrize(("expr", "text"), EXPRESSIONS, ids=[t for _, t in EXPRESSIONS])
def test_scalar_text(expr: Expr, text: str) -> None:
    """Scalar expressions keep their meaning with as few parentheses as compilers accept."""
    assert f"TEXPANDS(tile, static_cast<int32_t>({text}));" in text_of(scalar_kernel(expr))


@cache
def compiled_expressions() -> list[NativeKernel]:
    """Return a kernel for each expression; a warning of the compiler is an error."""
    return compile_together([scalar_kernel(e) for e, _ in EXPRESSIONS], compiler(), WARNINGS)


@pytest.mark.parametrize("number", range(len(EXPRESSIONS)), ids=[t for _, t in EXPRESSIONS])
def test_scalar_values(number: int) -> None:
    """The text computes the expression's value, without a compiler warning."""
    out = np.zeros((8, 8), np.int32)
    compiled_expressions()[number](words([out, 5, 3, 2]))
    a, b, c = 5, 3, 2
    values = [
        a + b * c, (a + b) * c, a - (b - c), a - b - c, a & (b + c), (a << b) + c, (a + b) << c,
        a | (b & c), a | b | c, a ^ (b | c), a, a + 5, ~a * b, a**b, (a + 1) // (b - 1) % c,
        a * 3000000000, min(a, b), max(a, b) - 3, min(a - b, max(b, c)), abs(b - a),
    ]  # fmt: skip
    assert len(values) == len(EXPRESSIONS)
    assert out[0, 0] == np.int64(values[number]).astype(np.int32)


def test_what_is_no_scalar_is_refused() -> None:
    """A tuple has no C++ text; the error says what was found."""
    with pytest.raises(EmitError, match="a kernel cannot compute MakeTuple as a scalar"):
        ScalarText(lambda var: var.name).text(MakeTuple([A, B]))


FLOATS = ["a // b", "a % b", "a ** b", "pl.min(a, b)", "pl.max(a, b)", "abs(a - b)", "-a * 2.0"]
SPECIAL = [7.5, -7.5, 0.0, -0.0, 3.0, -0.3, 1e3, float("inf"), float("-inf"), float("nan")]


@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
def test_scalar_floats(dtype: str) -> None:
    """Float operations that C++ lacks match the interpreter: NaN, infinities, signs of 0."""
    kind = f"pl.Tensor[[{len(FLOATS)}, 16], pl.{dtype}]"
    rows = "".join(
        f"        out = pl.store(pl.full([1, 16], pl.{dtype}, {each}), [{row}, 0], [1, 16], out)\n"
        for row, each in enumerate(FLOATS)
    )
    program = pl.parse_program(
        f"""
@pl.program
class K:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, out: pl.Out[{kind}], a: pl.Scalar[pl.{dtype}], b: pl.Scalar[pl.{dtype}]
    ) -> {kind}:
{rows}        return out
"""
    )
    native, interpreter = compile_program(program), compile_program(program, "interpreter")
    out = np.zeros((len(FLOATS), 16), np.float32 if dtype == "FP32" else np.float16)
    expected = np.zeros_like(out)
    for a in SPECIAL:
        for b in SPECIAL:
            native(out, a, b)
            interpreter(expected, a, b)
            for source, found, wanted in zip(FLOATS, out, expected, strict=True):
                np.testing.assert_array_equal(found, wanted, err_msg=f"{source}: {a} {b}")
                known = ~np.isnan(wanted)
                assert (np.signbit(found) == np.signbit(wanted))[known].all(), (source, a, b)


NESTS: dict[str, Callable[[Expr, Expr], Expr]] = {
    "min": lambda value, n: binary(Min, n, value),
    "max": lambda value, n: binary(Max, value, n),
    "abs": lambda value, n: unary(Abs, binary(Sub, value, n)),
}


@pytest.mark.parametrize("nest", NESTS.values(), ids=NESTS)
@pytest.mark.parametrize("dtype", [DataType.INT64, DataType.INT8, DataType.FP32, DataType.BF16])
def test_operands_stand_once(dtype: DataType, nest: Callable[[Expr, Expr], Expr]) -> None:
    """A nest 40 deep is as long as 40 calls, whatever it computes with."""
    value, n = (Var(name, scalar_type(dtype)) for name in ("value", "n"))
    whole: Expr = value
    for _ in range(40):
        whole = nest(whole, n)
    text = ScalarText(lambda var: var.name).text(whole)
    assert len(text) < 40 * 120
    assert len(re.findall(r"\bvalue\b", text)) <= 2  # twice in the innermost ``a < b ? a : b``


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
    assert text(binary(Lt, A + B, A + B)) == "false"
    assert text(binary(Ge, A, A)) == "true"


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
    """Each statement follows a comment with its source file and line, written once."""
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


def flag(**keywords: Any) -> EvalStmt:
    """Return a statement that raises a flag; the keywords are in the given order."""
    return EvalStmt(system.sync_src.call((), keywords))


def test_calls_without_operands_follow_their_keywords() -> None:
    """Flags that differ in a keyword, or in a keyword with a value, have different texts."""
    vector, store = PipeType.V, PipeType.MTE3
    stmts = [
        flag(set_pipe=vector, wait_pipe=store, event_id=0),
        flag(wait_pipe=vector, set_pipe=store, event_id=0),
        flag(set_pipe=vector, wait_pipe=store, event_id=1),
        flag(wait_pipe=store, set_pipe=vector, event_id=0),
        flag(set_pipe=vector, wait_pipe=store, event_id=0),
        EvalStmt(system.bar_v.call((), {})),
    ]
    function = Function("f", [], [], SeqStmts(stmts), type=FunctionType.InCore)
    assert body_of(text_of(function)).splitlines() == [
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);",
        "set_flag(PIPE_MTE3, PIPE_V, EVENT_ID0);",
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID1);",
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);",
        "set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0);",
        "pipe_barrier(PIPE_V);",
    ]
