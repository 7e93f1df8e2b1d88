"""The PTO MLIR emitter: each section of its text, and the assembler's pitfalls.

The assembler's behaviour on each form was measured elsewhere; the tests fix the forms.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.generate import PTOCodegen
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import MemRef, TensorType, TensorView, TileType, TileView
from pypto._src.ir.enums import (
    FunctionType,
    MemorySpace,
    ParamDirection,
    TensorLayout,
    TileLayout,
    TilePad,
)
from pypto._src.ir.exprs import (
    Abs,
    Add,
    And,
    BitNot,
    BitShiftRight,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    GlobalVar,
    IterArg,
    Max,
    Min,
    Neg,
    Not,
    Or,
    Pow,
    Var,
    Xor,
    binary,
    unary,
)
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.types import scalar_type
from pypto._src.ops.define import REGISTRY
from pypto._src.passes.memory.init_mem_ref import InitMemRef
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy
from tests.passes.build import Block, call, random_kernel, seq, tensor

D = DataType
INDEX = DataType.INDEX
LEVEL2, LEVEL3 = OptimizationStrategy.PTOAS, OptimizationStrategy.Default
Golden = Callable[[str, str], None]

VEC = (
    "!pto.tile_buf<loc=vec, dtype=f32, rows=32, cols=32, v_row=32, v_col=32, "
    "blayout=row_major, slayout=none_box, fractal=512, pad=0>"
)


def emit(*functions: Function) -> str:
    """Return the text of kernels that are ready to be emitted."""
    return PTOCodegen().generate(Program(functions, "test"))


def compiled(function: Function, strategy: OptimizationStrategy = LEVEL2) -> str:
    """Return the text of a kernel after the passes of a strategy."""
    program = Program([function], "test")
    for _, make in PIPELINES[strategy]:
        program = make().run(program)
    return PTOCodegen().generate(program)


def scalar(name: str, dtype: DataType = INDEX) -> Var:
    return Var(name, scalar_type(dtype))


def let(var: Var, value: Expr) -> Stmt:
    return AssignStmt(var=var, value=value)


def kernel(params: Sequence[Any], stmts: Sequence[Stmt], results: Sequence[Any] = ()) -> Function:
    return Function("k", params, results, SeqStmts(stmts=tuple(stmts)), type=FunctionType.InCore)


def code(text: str) -> list[str]:
    """Return the operations after the allocations, without comments and outer indentation."""
    body = text.split("{\n", 2)[2].rsplit("    return\n", 1)[0]
    blocks = [b for b in body.split("\n\n") if not re.match(r" *// [A-Z]", b)]
    lines = [line.removeprefix("    ") for block in blocks for line in block.splitlines()]
    return [line for line in lines if line and not line.lstrip().startswith("//")]


def constants(text: str) -> dict[str, str]:
    """Return the constants of a function by name."""
    return dict(re.findall(r"(%[\w.-]+) = arith\.constant (.*)", text))


def joined(text: str) -> str:
    """Return ``text`` with operations on one line each."""
    return re.sub(r"\n +(?=outs\(|strides = |: !pto)", " ", text)


# --------------------------------------------------------------------------------------------
# Parameters, views and types
# --------------------------------------------------------------------------------------------


def test_scalars_are_parameters_of_their_own_type() -> None:
    """A tensor is a pointer, a scalar its dtype; INT64 becomes index once, at the entry."""
    dtypes = [D.FP16, D.BF16, D.FP32, D.INT8, D.INT16, D.INT32, D.UINT8, D.UINT32, D.BOOL, D.INT64]
    params = [tensor("x", [8]), *(scalar(f"s{i}", d) for i, d in enumerate(dtypes))]
    text = emit(kernel(params, []))
    types = re.findall(r"%arg\d+: ([^,)]+)", text)
    assert types == [
        "!pto.ptr<f32>", "f16", "bf16", "f32", "i8", "i16", "i32", "i8", "i32", "i1", "i64"
    ]  # fmt: skip
    assert "    // Parameters\n    %0 = arith.index_cast %arg10 : i64 to index\n" in text


@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ([48], "%c1"),
        ([32, 16], "%c16, %c1"),
        ([2, 3, 4, 5, 6], "%c360, %c120, %c30, %c6, %c1"),
    ],
)
def test_tensor_views_are_row_major(shape: list[int], strides: str) -> None:
    """A view has the tensor's shape, row-major strides and dynamic dimensions in its type."""
    text = joined(emit(kernel([tensor("x", shape)], [])))
    names = ", ".join(f"%c{dim}" for dim in shape)
    assert (
        f"    %0 = pto.make_tensor_view %arg0, shape = [{names}], strides = [{strides}] : "
        f"!pto.tensor_view<{'?x' * len(shape)}f32>\n" in text
    )


def test_every_element_type_has_its_spelling() -> None:
    """Pointers, views and tiles spell unsigned elements as such."""
    spelled = {
        D.FP32: "f32", D.FP16: "f16", D.BF16: "bf16", D.INT64: "i64", D.INT32: "i32",
        D.INT16: "i16", D.INT8: "i8", D.UINT8: "ui8", D.UINT16: "ui16", D.UINT32: "ui32",
    }  # fmt: skip
    generator = PTOCodegen()
    for dtype, name in spelled.items():
        assert generator.get_type_string(dtype) == name
        view = generator.get_tensor_view_type_string(TensorType([4, 4], dtype))
        assert view == f"!pto.tensor_view<?x?x{name}>"


@pytest.mark.parametrize(
    ("space", "shape", "view", "expected"),
    [
        (MemorySpace.Vec, [16, 64], None, "loc=vec, dtype=f16, rows=16, cols=64, v_row=16, "
         "v_col=64, blayout=row_major, slayout=none_box, fractal=512, pad=0"),
        (MemorySpace.Vec, [16, 1], None, "loc=vec, dtype=f16, rows=16, cols=1, v_row=16, "
         "v_col=1, blayout=col_major, slayout=none_box, fractal=512, pad=0"),
        (MemorySpace.Vec, [48], None, "loc=vec, dtype=f16, rows=1, cols=48, v_row=1, "
         "v_col=48, blayout=row_major, slayout=none_box, fractal=512, pad=0"),
        (MemorySpace.Vec, [2, 8, 32], None, "loc=vec, dtype=f16, rows=16, cols=32, v_row=16, "
         "v_col=32, blayout=row_major, slayout=none_box, fractal=512, pad=0"),
        (MemorySpace.Vec, [16, 64], TileView([9, 20], pad=TilePad.max), "loc=vec, dtype=f16, "
         "rows=16, cols=64, v_row=9, v_col=20, blayout=row_major, slayout=none_box, "
         "fractal=512, pad=2"),
        (MemorySpace.Acc, [16, 64], TileView(blayout=TileLayout.col_major,
         slayout=TileLayout.row_major, fractal=1024), "loc=acc, dtype=f16, rows=16, cols=64, "
         "v_row=16, v_col=64, blayout=col_major, slayout=row_major, fractal=1024, pad=0"),
    ],
)  # fmt: skip
def test_tile_types_have_all_their_fields(
    space: MemorySpace, shape: list[int], view: TileView | None, expected: str
) -> None:
    """A tile's type gives memory, element, shape, valid shape, layout, fractal and pad."""
    kind = TileType(shape, D.FP16, MemRef(space, 0, 4096), view)
    assert PTOCodegen().get_tile_buf_type_string(kind) == f"!pto.tile_buf<{expected}>"


# --------------------------------------------------------------------------------------------
# Whole kernels
# --------------------------------------------------------------------------------------------


def elementwise() -> Function:
    """out[i : i+32] = (x[i : i+32] + y[i : i+32]) * s + 1, with an offset known at run time."""
    block = Block()
    x, y, out = (tensor(name, [128, 32]) for name in ("x", "y", "out"))
    row, s = scalar("row"), scalar("s", D.FP32)
    a = block.load("a", x, [row * 2, 0], [32, 32])
    b = block.load("b", y, [row * 2, 0], [32, 32])
    total = block.let("total", "block.add", a, b)
    scaled = block.let("scaled", "block.muls", total, s)
    moved = block.let("moved", "block.adds", scaled, 1.0)
    result = block.store("result", moved, [row * 2, 0], out)
    return block.function([x, y, out, row, s], [result], name="elementwise")


def softmax() -> Function:
    """Rows of [64, 128], sixteen at a time; 1 / sum is computed on a column viewed as a row."""
    block = Block()
    x, out = tensor("x", [64, 128]), tensor("out", [64, 128])

    def body(inner: Block, row: Var, carried: list[Any]) -> Sequence[Var]:
        tile = inner.load("tile", x, [row, 0], [16, 128])
        scratch = inner.let("scratch", "block.create_tile", [16, 128], dtype=D.FP32)
        largest = inner.let("largest", "block.row_max", tile, scratch)
        moved = inner.let("moved", "block.row_expand_sub", tile, largest)
        powers = inner.let("powers", "block.exp", moved)
        total = inner.let("total", "block.row_sum", powers, scratch)
        factor = inner.let("factor", "block.recip", total)
        result = inner.let("result", "block.row_expand_mul", powers, factor)
        return [inner.store("stored", result, [row, 0], carried[0])]

    (result,) = block.loop({"out": out}, body, stop=64, step=16, name="row")
    return block.function([x, out], [result], name="softmax")


def matmul() -> Function:
    """C[64, 128] = A[64, 192] * B[192, 128] in steps of 64 along K, accumulated in place."""
    block = Block()
    a, b = Var("a", TensorType([64, 192], D.FP16)), Var("b", TensorType([192, 128], D.FP16))
    out = tensor("out", [64, 128])

    def operands(inner: Block, k: Any) -> tuple[Var, Var]:
        mat, left, right = MemorySpace.Mat, MemorySpace.Left, MemorySpace.Right
        am = inner.let("am", "block.load", a, [0, k], [64, 64], target_memory=mat)
        bm = inner.let("bm", "block.load", b, [k, 0], [64, 128], target_memory=mat)
        return (
            inner.let("al", "block.move", am, target_memory=left),
            inner.let("br", "block.move", bm, target_memory=right),
        )

    def body(inner: Block, k: Var, carried: list[Any]) -> Sequence[Var]:
        return [inner.let("sum", "block.matmul_acc", carried[0], *operands(inner, k))]

    first = block.let("first", "block.matmul", *operands(block, 0))
    (total,) = block.loop({"c": first}, body, start=64, stop=192, step=64, name="k")
    result = block.store("result", total, [0, 0], out)
    return block.function([a, b, out], [result], name="matmul")


def decay() -> Function:
    """Sums n blocks of x with a factor that is halved; offset and factor are carried scalars."""
    block = Block()
    x, out, n = tensor("x", [256, 32]), tensor("out", [32, 32]), scalar("n", D.INT32)
    first = block.let("first", "block.full", [32, 32], dtype=D.FP32, value=ConstFloat(0.0))
    total, place = IterArg("total", first.type, first), IterArg("place", scalar_type(INDEX), 0)
    factor = IterArg("factor", scalar_type(D.FP32), ConstFloat(1.0))
    inner = Block(block.line)
    tile = inner.load("tile", x, [place, 0], [32, 32])
    scaled = inner.let("scaled", "block.muls", tile, factor)
    added = inner.let("added", "block.add", total, scaled)
    inner.stmts.append(YieldStmt([added, place + 32, factor * 0.5], inner.span()))
    results = [Var(f"{v.name}_out", v.type) for v in (total, place, factor)]
    loop = ForStmt(scalar("i"), 0, n, 1, [total, place, factor], seq(inner), results, block.span())
    block.stmts.append(loop)
    result = block.let("result", "block.adds", results[0], results[2])
    stored = block.store("stored", result, [0, 0], out)
    return block.function([x, out, n], [stored], name="decay")


def branch() -> Function:
    """Reads an element, selects a row and a factor by it, then scales or shifts a tile."""
    block = Block()
    x, out = tensor("x", [64, 32]), tensor("out", [32, 32])
    choice = Var("choice", TensorType([8], D.INT32))
    flag = block.assign("flag", call("tensor.read", choice, [1]))
    positive = flag > ConstInt(0, D.INT32)

    def pick(row: int, factor: float) -> Callable[[Block], Sequence[Any]]:
        return lambda _: [ConstInt(row), ConstFloat(factor)]

    row, factor = block.branch(positive, ["row", "factor"], pick(32, 2.5), pick(0, -1.0))
    tile = block.load("tile", x, [row, 0], [32, 32])
    (changed,) = block.branch(
        flag < ConstInt(7, D.INT32),
        ["changed"],
        lambda inner: [inner.let("scaled", "block.muls", tile, factor)],
        lambda inner: [inner.let("moved", "block.adds", tile, factor)],
    )
    stored = block.store("stored", changed, [0, 0], out)
    return block.function([x, out, choice], [stored], name="branch")


KERNELS = (elementwise, softmax, matmul, decay, branch)


@pytest.mark.parametrize("make", KERNELS)
@pytest.mark.parametrize("strategy", [LEVEL2, LEVEL3], ids=["level2", "level3"])
def test_whole_kernels(
    make: Callable[[], Function], strategy: OptimizationStrategy, golden: Golden
) -> None:
    """Whole kernels at both levels have the recorded text, deterministically."""
    text = compiled(make(), strategy)
    assert compiled(make(), strategy) == text
    level = "" if strategy is LEVEL2 else ".level3"
    golden(f"pto/kernels/{make.__name__}{level}.pto", text)


def scoping_errors(text: str) -> list[str]:
    """Return names that are defined twice, or used where no definition is visible."""
    scopes: list[set[str]] = [set()]
    errors: list[str] = []

    def define(names: Sequence[str]) -> None:
        errors.extend(f"twice: {n}" for n in names if any(n in scope for scope in scopes))
        scopes[-1].update(names)

    for line in re.sub(r"\n +(?=outs\(|strides = |: !pto|%arg\d+: )", " ", text).splitlines():
        line = line.split("//")[0].strip()
        if line.startswith("}"):
            scopes.pop()
        if line.startswith(("func.func", "^bb0")):
            scopes += [set()] if line.endswith("{") else []
            define(re.findall(r"(%\w+): ", line))
            continue
        results, right = line.split(" = ", 1) if line.startswith("%") else ("", line)
        inside = re.findall(r"(%[\w.-]+) = ", right)  # the counter and iter_args of a loop
        used = re.findall(r"%[\w.-]+", re.sub(r"%[\w.-]+ = ", "", right))
        errors += [f"undefined: {n}" for n in used if not any(n in scope for scope in scopes)]
        define(re.findall(r"%[\w.-]+", results))
        if line.endswith("{"):
            scopes.append(set())
            define(inside)
    return errors


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("strategy", [LEVEL2, LEVEL3], ids=["level2", "level3"])
def test_names_are_defined_once_and_before_use(seed: int, strategy: OptimizationStrategy) -> None:
    """In random kernels of tiles, loops and branches every name is in scope where it is used."""
    text = compiled(random_kernel(Random(seed).randrange, 30), strategy)
    assert scoping_errors(text) == []


def test_the_scope_check_finds_mistakes() -> None:
    """The check above reports a name used outside its loop, and one defined twice."""
    text = (
        "module {\n  func.func @k(%arg0: index) {\n    scf.for %0 = %arg0 to %arg0 step %arg0 {\n"
        "      %1 = arith.addi %0, %arg0 : index\n    }\n    %2 = arith.addi %1, %0 : index\n"
        "    %2 = arith.addi %arg0, %arg0 : index\n    return\n  }\n}\n"
    )
    assert scoping_errors(text) == ["undefined: %1", "undefined: %0", "twice: %2"]


def test_several_kernels_are_all_entries() -> None:
    """With two kernels each is marked as an entry; host functions are left out."""
    first = kernel([tensor("x", [8])], [])
    second = Function("l", [tensor("x", [8])], [], SeqStmts(), type=FunctionType.InCore)
    host = Function("host", [], [], ReturnStmt(), type=FunctionType.Orchestration)
    lines = emit(first, second, host).splitlines()
    assert [line for line in lines if "func.func" in line] == [
        "  func.func @k(%arg0: !pto.ptr<f32>) attributes {pto.entry} {",
        "  func.func @l(%arg0: !pto.ptr<f32>) attributes {pto.entry} {",
    ]
    assert "  func.func @k(%arg0: !pto.ptr<f32>) {" in emit(first, host).splitlines()


def test_the_whole_file_is_at_one_level() -> None:
    """One kernel with flags makes the tiles of all kernels have addresses."""
    with_flags = Block()
    with_flags.do("system.bar_all")
    memref = MemRef(MemorySpace.Vec, 64, 4096)
    tile = Var("tile", TileType([32, 32], D.FP32, memref))
    plain = Function(
        "l",
        [],
        [],
        let(tile, call("block.create_tile", [32, 32], dtype=D.FP32)),
        type=FunctionType.InCore,
    )
    text = emit(with_flags.function([], []), plain)
    assert text.startswith("// ptoas --pto-level=level3\nmodule {\n")
    assert "    pto.barrier <PIPE_ALL>\n" in text
    assert "    %c64_i64 = arith.constant 64 : i64\n" in text
    assert f"    %0 = pto.alloc_tile addr = %c64_i64 : {VEC}\n" in text
    assert f"    %0 = pto.alloc_tile : {VEC}\n" in emit(plain)


# --------------------------------------------------------------------------------------------
# Scalars
# --------------------------------------------------------------------------------------------

K, J = scalar("i"), scalar("j")
M, W, U, B8 = scalar("m", D.INT32), scalar("w", D.INT32), scalar("u", D.UINT32), scalar("b", D.INT8)
S, T = scalar("s", D.FP32), scalar("t", D.FP32)
H, G = scalar("h", D.FP16), scalar("g", D.BF16)
P, Q = scalar("p", D.BOOL), scalar("q", D.BOOL)
PARAMS = {v.name: v for v in (K, J, M, W, U, B8, S, T, H, G, P, Q)}


def lines_of(value: Expr) -> list[str]:
    """Return the text of a scalar expression, with parameters under their names."""
    type_ = value.type
    function = kernel(list(PARAMS.values()), [let(Var("value", type_), value)])
    text = emit(function)
    lines = code(text)
    names = {f"%arg{i}": f"%{name}" for i, name in enumerate(PARAMS)}
    at_entry = re.findall(r"(%\d+) = arith.index_cast (%arg\d+)", text.split("Parameters")[-1])
    names |= {cast: names[arg] for cast, arg in at_entry}
    return [re.sub(r"%(arg)?\d+\b", lambda m: names.get(m[0], m[0]), line) for line in lines]


def i64(value: Expr) -> Expr:
    return Cast(value, D.UINT64)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (K + J, ["%2 = arith.addi %i, %j : index"]),
        (K * 3 - J, ["%2 = arith.muli %i, %c3 : index", "%3 = arith.subi %2, %j : index"]),
        (
            K // J,
            ["%0 = arith.floordivsi %i, %j : i64", "%1 = arith.index_cast %0 : i64 to index"],
        ),
        (U // U, ["%2 = arith.divui %u, %u : i32"]),
        (
            K % J,
            [
                "%0 = arith.floordivsi %i, %j : i64",
                "%1 = arith.muli %0, %j : i64",
                "%2 = arith.subi %i, %1 : i64",
                "%3 = arith.index_cast %2 : i64 to index",
            ],
        ),
        (U % U, ["%2 = arith.remui %u, %u : i32"]),
        (
            Min(K, J, INDEX),
            ["%0 = arith.minsi %i, %j : i64", "%1 = arith.index_cast %0 : i64 to index"],
        ),
        (Max(U, U, D.UINT32), ["%2 = arith.maxui %u, %u : i32"]),
        (Min(S, T, D.FP32), ["%2 = arith.minimumf %s, %t : f32"]),
        (M & W, ["%2 = arith.andi %m, %w : i32"]),
        (M | W, ["%2 = arith.ori %m, %w : i32"]),
        (M ^ W, ["%2 = arith.xori %m, %w : i32"]),
        (K << 2, ["%2 = arith.shli %i, %c2 : index"]),
        (M >> W, ["%2 = arith.shrsi %m, %w : i32"]),
        (binary(BitShiftRight, U, U), ["%2 = arith.shrui %u, %u : i32"]),
        (-M, ["%2 = arith.subi %c0_i32, %m : i32"]),
        (unary(BitNot, M), ["%2 = arith.xori %m, %c-1_i32 : i32"]),
        (unary(Neg, S), ["%2 = arith.negf %s : f32"]),
        (
            unary(Abs, M),
            ["%2 = arith.subi %c0_i32, %m : i32", "%3 = arith.maxsi %m, %2 : i32"],
        ),
        (unary(Abs, S), ["%2 = arith.negf %s : f32", "%3 = arith.maximumf %s, %2 : f32"]),
        (S * T, ["%2 = arith.mulf %s, %t : f32"]),
        (S / T, ["%2 = arith.divf %s, %t : f32"]),
        (S - T, ["%2 = arith.subf %s, %t : f32"]),
        (K < J, ["%0 = arith.cmpi slt, %i, %j : i64"]),
        (K == J, ["%0 = arith.cmpi eq, %i, %j : i64"]),
        (U >= U, ["%2 = arith.cmpi uge, %u, %u : i32"]),
        (S <= T, ["%2 = arith.cmpf ole, %s, %t : f32"]),
        (S != T, ["%2 = arith.cmpf une, %s, %t : f32"]),
        (Pow(K, 3, INDEX), ["%2 = arith.muli %i, %i : index", "%3 = arith.muli %i, %2 : index"]),
        (Pow(S, ConstFloat(2.0), D.FP32), ["%2 = arith.mulf %s, %s : f32"]),
        (Pow(K, 0, INDEX), []),
        (Pow(ConstInt(2), 10, INDEX), []),
        (
            S // T,
            [
                "%2 = arith.divf %s, %t : f32",
                "%3 = arith.fptosi %2 : f32 to i64",
                "%4 = arith.sitofp %3 : i64 to f32",
                "%5 = arith.cmpf ogt, %4, %2 : f32",
                "%6 = arith.subf %4, %cst : f32",
                "%7 = arith.select %5, %6, %4 : f32",
            ],
        ),
        (
            S % T,
            [
                "%2 = arith.remf %s, %t : f32",
                "%3 = arith.mulf %2, %t : f32",
                "%4 = arith.cmpf olt, %3, %cst : f32",
                "%5 = arith.negf %t : f32",
                "%6 = arith.subf %2, %5 : f32",
                "%7 = arith.select %4, %6, %2 : f32",
            ],
        ),
    ],
    ids=str,
)
def test_scalar_arithmetic(value: Expr, expected: list[str]) -> None:
    """Each operator becomes the arith operation for its operand type."""
    assert lines_of(value) == expected


def logic(kind: Any, *operands: Expr) -> Expr:
    return kind(*operands, DataType.BOOL)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (logic(And, P, Q), ["%2 = arith.select %p, %q, %false : i1"]),
        (logic(Or, P, Q), ["%2 = arith.select %p, %true, %q : i1"]),
        (logic(Not, P), ["%2 = arith.select %p, %false, %true : i1"]),
        (
            logic(Xor, P, Q),
            ["%2 = arith.select %q, %false, %true : i1", "%3 = arith.select %p, %2, %q : i1"],
        ),
        (
            logic(Eq, P, Q),
            [
                "%2 = arith.select %q, %false, %true : i1",
                "%3 = arith.select %p, %2, %q : i1",
                "%4 = arith.select %3, %false, %true : i1",
            ],
        ),
        (
            logic(And, M, P),
            ["%2 = arith.cmpi ne, %m, %c0_i32 : i32", "%3 = arith.select %2, %p, %false : i1"],
        ),
    ],
    ids=str,
)
def test_logic_is_selection(value: Expr, expected: list[str]) -> None:
    """Booleans are combined by select, the only operation known to work on i1."""
    assert lines_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Cast(M, D.UINT32), []),
        (Cast(M, D.INT16), ["%2 = arith.trunci %m : i32 to i16"]),
        (Cast(B8, D.INT32), ["%2 = arith.extsi %b : i8 to i32"]),
        (Cast(U, D.UINT64), ["%2 = arith.extui %u : i32 to i64"]),
        (Cast(K, D.INT32), ["%1 = arith.trunci %i : i64 to i32"]),
        (Cast(M, D.FP32), ["%2 = arith.sitofp %m : i32 to f32"]),
        (Cast(U, D.FP16), ["%2 = arith.uitofp %u : i32 to f32",
                           "%3 = arith.truncf %2 : f32 to f16"]),
        (Cast(K, D.FP32), ["%1 = arith.sitofp %i : i64 to f32"]),
        (Cast(S, D.INT32), ["%2 = arith.fptosi %s : f32 to i32"]),
        (Cast(S, D.UINT32), ["%2 = arith.fptoui %s : f32 to i32"]),
        (Cast(S, INDEX), ["%2 = arith.fptosi %s : f32 to i64",
                          "%3 = arith.index_cast %2 : i64 to index"]),
        (Cast(H, D.FP32), ["%2 = arith.extf %h : f16 to f32"]),
        (Cast(S, D.FP16), ["%2 = arith.truncf %s : f32 to f16"]),
        (Cast(H, D.BF16), ["%2 = arith.extf %h : f16 to f32",
                           "%3 = arith.truncf %2 : f32 to bf16"]),
        (Cast(G, D.INT32), ["%2 = arith.extf %g : bf16 to f32",
                            "%3 = arith.fptosi %2 : f32 to i32"]),
        (Cast(S, D.BOOL), ["%2 = arith.cmpf une, %s, %cst : f32"]),
        (Cast(P, INDEX), ["%2 = arith.extui %p : i1 to i64",
                          "%3 = arith.index_cast %2 : i64 to index"]),
        (Cast(P, D.INT8), ["%2 = arith.extui %p : i1 to i64",
                           "%3 = arith.trunci %2 : i64 to i8"]),
    ],
    ids=str,
)  # fmt: skip
def test_casts(value: Expr, expected: list[str]) -> None:
    """Casts between integers, index, floats and booleans."""
    assert lines_of(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ConstInt(7), {"%c7": "7 : index"}),
        (ConstInt(-7), {"%c-7": "-7 : index"}),
        (ConstInt(2, D.INT32), {"%c2_i32": "2 : i32"}),
        (ConstInt(255, D.UINT8), {"%c255_i8": "255 : i8"}),
        (ConstBool(True), {"%true": "true"}),
        (ConstFloat(1.0), {"%cst": "1.0 : f32"}),
        (ConstFloat(1e-5), {"%cst": "1.0e-05 : f32"}),
        (ConstFloat(-2.5e20, D.BF16), {"%cst": "-2.5e+20 : bf16"}),
        (ConstFloat(65504.0, D.FP16), {"%cst": "65504.0 : f16"}),
        (ConstFloat(-65510.0, D.FP16), {"%cst": "-65504.0 : f16"}),
        (ConstFloat(3.4028235e38), {"%cst": "3.4028234663852886e+38 : f32"}),
        (ConstFloat(2.0) * ConstFloat(3.0) - ConstFloat(2.0),
         {"%cst": "2.0 : f32", "%cst_1": "3.0 : f32"}),
        (Pow(ConstInt(2), 10, INDEX), {"%c2": "2 : index", "%c10": "10 : index",
                                       "%c1024": "1024 : index"}),
    ],
    ids=str,
)  # fmt: skip
def test_constants(value: Expr, expected: dict[str, str]) -> None:
    """A constant is defined once, with a name that shows value and type."""
    assert constants(emit(kernel([], [let(Var("value", value.type), value)]))) == expected


# The traps: forms that the assembler accepts and translates wrongly, or dies on.


def test_float_addition_is_subtraction() -> None:
    """arith.addf does not assemble: a + b is a - (-b)."""
    assert lines_of(S + T) == ["%2 = arith.negf %t : f32", "%3 = arith.subf %s, %2 : f32"]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            Cast(B8 - B8, D.INT32),
            [
                "%2 = arith.subi %b, %b : i8",
                "%3 = arith.cmpi slt, %2, %c0_i8 : i8",
                "%4 = arith.subi %c0_i8, %2 : i8",
                "%5 = arith.extsi %4 : i8 to i32",
                "%6 = arith.subi %c0_i32, %5 : i32",
                "%7 = arith.extsi %2 : i8 to i32",
                "%8 = arith.select %3, %6, %7 : i32",
            ],
        ),
        (
            Cast(M - W, D.FP32),
            [
                "%2 = arith.subi %m, %w : i32",
                "%3 = arith.cmpi slt, %2, %c0_i32 : i32",
                "%4 = arith.subi %c0_i32, %2 : i32",
                "%5 = arith.sitofp %4 : i32 to f32",
                "%6 = arith.negf %5 : f32",
                "%7 = arith.sitofp %2 : i32 to f32",
                "%8 = arith.select %3, %6, %7 : f32",
            ],
        ),
        (
            Cast(K - J, D.FP32),
            [
                "%0 = arith.subi %i, %j : i64",
                "%1 = arith.cmpi slt, %0, %c0_i64 : i64",
                "%2 = arith.subi %c0_i64, %0 : i64",
                "%3 = arith.sitofp %2 : i64 to f32",
                "%4 = arith.negf %3 : f32",
                "%5 = arith.sitofp %0 : i64 to f32",
                "%6 = arith.select %1, %4, %5 : f32",
            ],
        ),
        (
            i64(K - J),
            ["%0 = arith.subi %i, %j : i64"],
        ),
    ],
    ids=str,
)
def test_widening_a_difference_goes_by_its_magnitude(value: Expr, expected: list[str]) -> None:
    """A widening cast zero-extends a sum, difference or product, so 2 - 5 is cast as -(3)."""
    assert lines_of(value) == expected


def test_an_int64_beside_a_tile_of_floats_keeps_its_bits() -> None:
    """The float is made of the 64 bits that the caller passes, also when carried by a loop."""
    x, n = tensor("x", [128, 64]), scalar("n")
    total, result = IterArg("total", scalar_type(INDEX), ConstInt(0)), scalar("result")
    loop = ForStmt(scalar("i"), 0, 8, 1, [total], YieldStmt([total + n]), [result])
    a, b = tile("a", memref(0)), tile("b", memref(1))
    stmts = [let(a, load(x, [0, 0])), loop, let(b, call("block.adds", a, Cast(result, D.FP32)))]
    lines = [line for line in code(emit(kernel([x, n], stmts))) if "pto.t" not in line]
    assert [line for line in lines if "partition" not in line] == [
        "%4 = scf.for %5 = %c0 to %c8 step %c1 iter_args(%6 = %c0_i64) -> (i64) {",
        "  %7 = arith.addi %6, %arg1 : i64",
        "  scf.yield %7 : i64",
        "}",
        "%8 = arith.sitofp %4 : i64 to f32",
    ]


def test_a_large_number_that_nothing_wants_is_written() -> None:
    """Its variable cannot be used as an index; nor can a branch's result made from it."""
    result, n = scalar("result"), scalar("n")
    both = IfStmt(
        condition=N > 3,
        then_body=YieldStmt([ConstInt(1 << 40)]),
        else_body=YieldStmt([N]),
        return_vars=[result],
    )
    assert code(emit(kernel([N], [let(n, N - (1 << 31)), both]))) == [
        "%0 = arith.subi %arg0, %c2147483648_i64 : i64",
        "%1 = arith.cmpi sgt, %arg0, %c3_i64 : i64",
        "%2 = scf.if %1 -> (i64) {",
        "  scf.yield %c1099511627776_i64 : i64",
        "} else {",
        "  scf.yield %arg0 : i64",
        "}",
    ]


def test_index_casts_go_by_way_of_i64() -> None:
    """i32 <-> index directly crashes on carried values and is rejected near store_scalar."""
    assert lines_of(Cast(M, INDEX)) == [
        "%2 = arith.extsi %m : i32 to i64",
        "%3 = arith.index_cast %2 : i64 to index",
    ]


def loop(
    carried: Sequence[IterArg],
    yielded: Callable[[Var], Sequence[Any]],
    start: Any = 0,
    stop: Any = 8,
    step: Any = 1,
    body: Sequence[Stmt] = (),
) -> list[str]:
    """Return a loop over ``i`` in a kernel with the scalar parameter ``n``: %0."""
    counter = scalar("i")
    results = [Var(f"{v.name}_out", v.type) for v in carried]
    inside = SeqStmts(stmts=(*body, YieldStmt(list(yielded(counter)))))
    stmt = ForStmt(counter, start, stop, step, carried, inside, results)
    return code(emit(kernel([N], [stmt])))


N = scalar("n")


def index_args(*names: str) -> list[IterArg]:
    return [IterArg(name, scalar_type(INDEX), place) for place, name in enumerate(names)]


def test_loops_carry_scalars() -> None:
    """A loop's iter_args and results are the carried scalars, with index for INT64."""
    total, factor = IterArg("a", scalar_type(INDEX), 0), IterArg("b", scalar_type(D.FP32), HALF)
    assert loop([total, factor], lambda i: [total + i, factor * factor]) == [
        "%1, %2 = scf.for %3 = %c0 to %c8 step %c1 iter_args(%4 = %c0, %5 = %cst) "
        "-> (index, f32) {",
        "  %6 = arith.addi %4, %3 : index",
        "  %7 = arith.mulf %5, %5 : f32",
        "  scf.yield %6, %7 : index, f32",
        "}",
    ]


HALF = ConstFloat(0.5, D.FP32)


@pytest.mark.parametrize("dtype", [D.FP16, D.BF16])
def test_loops_carry_short_floats_as_f32(dtype: DataType) -> None:
    """The assembler rejects loops and branches with 16-bit results."""
    factor = IterArg("b", scalar_type(dtype), ConstFloat(0.5, dtype))
    short = {D.FP16: "f16", D.BF16: "bf16"}[dtype]
    assert loop([factor], lambda i: [factor * factor]) == [
        f"%1 = arith.extf %cst : {short} to f32",
        "%2 = scf.for %3 = %c0 to %c8 step %c1 iter_args(%4 = %1) -> (f32) {",
        f"  %5 = arith.truncf %4 : f32 to {short}",
        f"  %6 = arith.mulf %5, %5 : {short}",
        f"  %7 = arith.extf %6 : {short} to f32",
        "  scf.yield %7 : f32",
        "}",
        f"%8 = arith.truncf %2 : f32 to {short}",
    ]


def test_a_swap_in_a_loop_is_copied() -> None:
    """Carried variables are assigned in order; an earlier one that is yielded later is copied."""
    a, b = index_args("a", "b")
    assert loop([a, b], lambda _: [b, a]) == [
        "%1, %2 = scf.for %3 = %c0 to %c8 step %c1 iter_args(%4 = %c0, %5 = %c1) "
        "-> (index, index) {",
        "  %6 = arith.maxsi %4, %c0 : index",
        "  %7 = arith.minsi %6, %4 : index",
        "  scf.yield %5, %7 : index, index",
        "}",
    ]


def test_a_shift_to_an_earlier_place_is_not_copied() -> None:
    """What is read before it is assigned, or never changes, is yielded directly."""
    a, b = index_args("a", "b")
    assert loop([a, b], lambda _: [b, b + 1])[-2] == "  scf.yield %5, %6 : index, index"
    assert loop([a, b], lambda _: [a, a])[-2] == "  scf.yield %4, %4 : index, index"


def test_swaps_of_floats_and_truth_values_are_copied() -> None:
    """The copy of a float is min(max(x, 0), x); a boolean is copied as an integer."""
    floats = [IterArg(n, scalar_type(D.FP32), ConstFloat(0.0)) for n in "ab"]
    assert loop(floats, lambda _: floats[::-1])[1:3] == [
        "  %6 = arith.maximumf %4, %cst : f32",
        "  %7 = arith.minimumf %6, %4 : f32",
    ]
    truths = [IterArg(n, scalar_type(D.BOOL), ConstBool(False)) for n in "ab"]
    assert loop(truths, lambda _: truths[::-1])[1:6] == [
        "  %6 = arith.extui %4 : i1 to i64",
        "  %7 = arith.trunci %6 : i64 to i32",
        "  %8 = arith.maxsi %7, %c0_i32 : i32",
        "  %9 = arith.minsi %8, %7 : i32",
        "  %10 = arith.cmpi ne, %9, %c0_i32 : i32",
    ]


def test_a_bound_that_may_be_negative_is_clamped() -> None:
    """The counter of a loop without carried values is unsigned: range(0, -1) would never end."""
    assert loop([], lambda _: [], stop=N) == [
        "%1 = arith.maxsi %0, %c0 : index",
        "scf.for %2 = %c0 to %1 step %c1 {",
        "}",
    ]
    (a,) = index_args("a")
    carrying = loop([a], lambda _: [a], stop=N)
    assert carrying[0] == "%1 = scf.for %2 = %c0 to %0 step %c1 iter_args(%3 = %c0) -> (index) {"


def test_a_start_that_may_be_negative_counts_iterations() -> None:
    """A loop from n counts its iterations instead; one from a sum of counters does not."""
    inner = ForStmt(scalar("j"), 0, 4, 1, [], YieldStmt(), [])
    assert loop([], lambda _: [], start=N, body=[inner]) == [
        "%1 = arith.subi %c8, %0 : index",
        "%2 = arith.ceildivsi %1, %c1 : index",
        "%3 = arith.maxsi %2, %c0 : index",
        "scf.for %4 = %c0 to %3 step %c1 {",
        "  %5 = arith.addi %4, %0 : index",
        "  scf.for %6 = %c0 to %c4 step %c1 {",
        "  }",
        "}",
    ]
    counter, other = scalar("i"), scalar("j")
    nested = ForStmt(other, counter * 2 + 1, 16, 1, [], YieldStmt(), [])
    outer = ForStmt(counter, 0, 4, 1, [], SeqStmts(stmts=(nested, YieldStmt())), [])
    assert code(emit(kernel([], [outer]))) == [
        "scf.for %0 = %c0 to %c4 step %c1 {",
        "  %1 = arith.muli %0, %c2 : index",
        "  %2 = arith.addi %1, %c1 : index",
        "  scf.for %3 = %2 to %c16 step %c1 {",
        "  }",
        "}",
    ]


def test_counting_down() -> None:
    """range(7, n, -2) runs ceil((n - 7) / -2) iterations, and its counter falls."""
    assert loop([], lambda _: [], start=7, stop=N, step=-2) == [
        "%1 = arith.subi %0, %c7 : index",
        "%2 = arith.ceildivsi %1, %c-2 : index",
        "%3 = arith.maxsi %2, %c0 : index",
        "scf.for %4 = %c0 to %3 step %c1 {",
        "  %5 = arith.muli %4, %c-2 : index",
        "  %6 = arith.addi %5, %c7 : index",
        "}",
    ]


def test_branches_hand_on_scalars() -> None:
    """An if with results yields on both sides; an empty else is left out."""
    result = scalar("r")
    both = IfStmt(
        condition=N > 3,
        then_body=YieldStmt([N + 1]),
        else_body=YieldStmt([ConstInt(0)]),
        return_vars=(result,),
    )
    after = let(scalar("after"), result + N)
    assert code(emit(kernel([N], [both, after]))) == [
        "%0 = arith.cmpi sgt, %arg0, %c3_i64 : i64",
        "%1 = scf.if %0 -> (index) {",
        "  %2 = arith.addi %arg0, %c1_i64 : i64",
        "  %3 = arith.index_cast %2 : i64 to index",
        "  scf.yield %3 : index",
        "} else {",
        "  scf.yield %c0 : index",
        "}",
        "%4 = arith.index_cast %1 : index to i64",
        "%5 = arith.addi %4, %arg0 : i64",
        "%6 = arith.index_cast %5 : i64 to index",
    ]
    plain = IfStmt(
        condition=ConstBool(True),
        then_body=let(scalar("t"), N * 2),
        else_body=YieldStmt(),
    )
    assert code(emit(kernel([N], [plain]))) == [
        "scf.if %true {",
        "  %1 = arith.muli %0, %c2 : index",
        "}",
    ]


def test_while_loops() -> None:
    """The condition sees the values of one region, the body those of the other."""
    a, out = IterArg("a", scalar_type(INDEX), 1), scalar("a_out")
    b, b_out = IterArg("b", scalar_type(D.FP32), ConstFloat(1.0)), scalar("b_out", D.FP32)
    stmt = WhileStmt(a < N, [a, b], YieldStmt([a * 2, b]), [out, b_out])
    assert code(emit(kernel([N], [stmt, let(scalar("after"), out + 1)]))) == [
        "%0, %1 = scf.while (%2 = %c1_i64, %3 = %cst) : (i64, f32) -> (i64, f32) {",
        "  %6 = arith.cmpi slt, %2, %arg0 : i64",
        "  scf.condition(%6) %2, %3 : i64, f32",
        "} do {",
        "^bb0(%4: i64, %5: f32):",
        "  %7 = arith.muli %4, %c2_i64 : i64",
        "  scf.yield %7, %5 : i64, f32",
        "}",
        "%8 = arith.addi %0, %c1_i64 : i64",
        "%9 = arith.index_cast %8 : i64 to index",
    ]
    bare = WhileStmt(P, [], SeqStmts(), [])
    assert code(emit(kernel([P], [bare]))) == [
        "scf.while : () -> () {",
        "  scf.condition(%arg0)",
        "} do {",
        "  scf.yield",
        "}",
    ]


def test_shared_subexpressions_are_computed_once() -> None:
    """An expression object used in many places costs one operation, at any depth."""
    value: Expr = N
    for _ in range(40):
        value = Add(value, value, INDEX)
    assert len(code(emit(kernel([N], [let(scalar("v"), value)])))) == 40


def test_long_expressions_need_no_stack() -> None:
    """A sum of five thousand terms is written without recursion."""
    value: Expr = N
    for _ in range(5000):
        value = Add(value, N, INDEX)
    assert len(code(emit(kernel([N], [let(scalar("v"), value)])))) == 5000


# --------------------------------------------------------------------------------------------
# Tensors
# --------------------------------------------------------------------------------------------


def memref(place: int, space: MemorySpace = MemorySpace.Vec) -> MemRef:
    return MemRef(space, place * 4096, 4096, place)


def tile(name: str, buffer: MemRef, shape: Sequence[int] = (32, 32), **more: Any) -> Var:
    return Var(name, TileType(list(shape), more.pop("dtype", D.FP32), buffer, **more))


def load(source: Var, offsets: Sequence[Any], shape: Sequence[int] = (32, 32)) -> Call:
    return call("block.load", source, list(offsets), list(shape))


def store(value: Var, offsets: Sequence[Any], target: Expr) -> Call:
    assert isinstance(value.type, TileType)
    return call("block.store", value, list(offsets), list(value.type.shape), target)


def test_offsets_are_computed_at_run_time() -> None:
    """A load at [n * 32, m] has both offsets as index values."""
    x, m = tensor("x", [128, 64]), scalar("m", D.INT32)
    stmt = let(tile("t", memref(0)), load(x, [N * 32, m]))
    assert code(joined(emit(kernel([x, N, m], [stmt])))) == [
        "%3 = arith.muli %1, %c32 : index",
        "%4 = arith.extsi %arg2 : i32 to i64",
        "%5 = arith.index_cast %4 : i64 to index",
        "%6 = pto.partition_view %2, offsets = [%3, %5], sizes = [%c32, %c32] : "
        "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>",
        f"pto.tload ins(%6 : !pto.partition_tensor_view<32x32xf32>) outs(%0 : {VEC})",
    ]


def test_symbolic_dimensions_become_parameters() -> None:
    """A dimension that no scalar parameter gives is an extra index parameter, one per name."""
    rows, again, columns = scalar("rows"), scalar("rows"), scalar("columns")
    x = Var("x", TensorType([rows, columns], D.FP32))
    y = Var("y", TensorType([again, 64], D.FP32))
    axis = let(scalar("size"), call("tensor.dim", y, 0) + 1)
    text = joined(emit(kernel([x, y, columns], [axis])))
    assert text.split("func.func @k", 1)[1].startswith(
        "(%arg0: !pto.ptr<f32>,\n              %arg1: !pto.ptr<f32>,\n"
        "              %arg2: i64,\n              %arg3: index) {"
    )
    assert "shape = [%arg3, %0], strides = [%0, %c1] : !pto.tensor_view<?x?xf32>" in text
    assert "shape = [%arg3, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>" in text
    assert code(text) == ["%3 = arith.addi %arg3, %c1 : index"]


def test_strides_of_symbolic_dimensions_are_products() -> None:
    """The outer stride of [4, n, 8] is n * 8, computed before the view."""
    x = Var("x", TensorType([4, N, 8], D.FP32))
    text = joined(emit(kernel([x, N], [])))
    assert (
        "    %1 = arith.muli %c8, %0 : index\n"
        "    %2 = pto.make_tensor_view %arg0, shape = [%c4, %0, %c8], "
        "strides = [%1, %c8, %c1] : !pto.tensor_view<?x?x?xf32>\n" in text
    )


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (TensorType([64, 1], D.FP32), "strides = [%c1, %c1] :"),
        (TensorType([N, 1], D.FP32), "strides = [%c1, %c1] {layout = #pto.layout<dn>} :"),
        (TensorType([N, 8], D.FP32), "strides = [%c8, %c1] :"),
        (
            TensorType([64, 32], D.FP32, None, TensorView((), TensorLayout.DN)),
            "strides = [%c1, %c64] {layout = #pto.layout<dn>} :",
        ),
        (
            TensorType([64, 32], D.FP32, None, TensorView([128, 1])),
            "strides = [%c128, %c1] :",
        ),
    ],
)
def test_view_layouts(kind: TensorType, expected: str) -> None:
    """A column of unknown length has layout dn; the assembler infers it from known strides."""
    assert expected in joined(emit(kernel([Var("x", kind), N], [])))


def test_elements_are_read_through_the_pointer() -> None:
    """x[n, 2] is a load_scalar at n * columns + 2; x[1, 2] at a constant; INT64 becomes index."""
    x, y = tensor("x", [8, 16]), Var("y", TensorType([4], D.INT64))
    stmts = [
        let(scalar("a", D.FP32), call("tensor.read", x, [N, 2])),
        let(scalar("b", D.FP32), call("tensor.read", x, [1, 2])),
        let(scalar("c"), call("tensor.read", y, [3]) + 1),
    ]
    assert code(emit(kernel([x, y, N], stmts))) == [
        "%3 = arith.muli %0, %c16 : index",
        "%4 = arith.addi %3, %c2 : index",
        "%5 = pto.load_scalar %arg0[%4] : !pto.ptr<f32> -> f32",
        "%6 = pto.load_scalar %arg0[%c18] : !pto.ptr<f32> -> f32",
        "%7 = pto.load_scalar %arg1[%c3] : !pto.ptr<i64> -> i64",
        "%8 = arith.index_cast %7 : i64 to index",
        "%9 = arith.addi %8, %c1 : index",
    ]


def test_unsigned_elements_are_read_through_signless_pointers() -> None:
    """A ui8 scalar is unusable, so a tensor that is read by element has i8 elements."""
    x = Var("x", TensorType([8, 32], D.UINT8))
    read = let(scalar("a"), Cast(call("tensor.read", x, [0, 1]), INDEX))
    text = emit(kernel([x], [read]))
    assert "%arg0: !pto.ptr<i8>" in text
    assert "!pto.tensor_view<?x?xi8>" in text
    assert code(text) == [
        "%1 = pto.load_scalar %arg0[%c1] : !pto.ptr<i8> -> i8",
        "%2 = arith.extui %1 : i8 to i64",
        "%3 = arith.index_cast %2 : i64 to index",
    ]
    assert "%arg0: !pto.ptr<ui8>" in emit(kernel([x], []))


def test_tensor_views_move_the_offsets() -> None:
    """A load from a view of a tensor is a region of the tensor itself."""
    x = tensor("x", [128, 64])
    part = call("tensor.view", x, [64, 32], [N, 32])
    view = Var("view", part.type)
    stmts = [let(view, part), let(tile("t", memref(0)), load(view, [16, 0]))]
    lines = code(joined(emit(kernel([x, N], stmts))))
    assert lines[0] == "%3 = arith.addi %1, %c16 : index"
    assert lines[1].startswith(
        "%4 = pto.partition_view %2, offsets = [%3, %c32], sizes = [%c32, %c32]"
    )


def test_carried_tensors_are_names() -> None:
    """A loop that stores to a tensor carries nothing, and its result is the same memory."""
    text = compiled(softmax())
    assert re.search(r"^    scf\.for %\d+ = %c0 to %c64 step %c16 \{$", text, re.MULTILINE)
    assert text.count("pto.make_tensor_view") == 2


# --------------------------------------------------------------------------------------------
# Buffers
# --------------------------------------------------------------------------------------------


def allocations(text: str) -> list[str]:
    """Return the allocations, with types reduced to shapes."""
    block = re.search(r"    // Allocations\n(.*?)\n\n", text, re.DOTALL)
    assert block is not None
    shape = r"!pto.tile_buf<loc=(\w+), dtype=(\w+), rows=(\d+), cols=(\d+)[^>]*>"
    return [re.sub(shape, r"\1 \3x\4x\2", line.strip()) for line in block[1].splitlines()]


def test_one_allocation_for_each_memory_reference() -> None:
    """Two tiles with the same memory reference and type are one allocation."""
    x, shared = tensor("x", [64, 32]), memref(0)
    stmts = [
        let(tile("a", shared), load(x, [0, 0])),
        let(tile("b", shared), load(x, [32, 0])),
        let(tile("c", memref(1)), load(x, [32, 0])),
    ]
    assert allocations(emit(kernel([x], stmts))) == [
        "%0 = pto.alloc_tile : vec 32x32xf32",
        "%1 = pto.alloc_tile : vec 32x32xf32",
    ]


def two_types() -> Function:
    x, shared = tensor("x", [64, 64]), memref(0)
    stmts = [
        let(tile("a", shared), load(x, [0, 0])),
        let(tile("b", shared, (16, 64)), load(x, [0, 0], (16, 64))),
    ]
    return kernel([x], stmts)


def test_a_reused_buffer_of_another_type_is_a_second_allocation() -> None:
    """At level 2 the assembler plans memory; at level 3 both have the same address."""
    function = two_types()
    assert allocations(emit(function)) == [
        "%0 = pto.alloc_tile : vec 32x32xf32",
        "%1 = pto.alloc_tile : vec 16x64xf32",
    ]
    flag = EvalStmt(expr=call("system.bar_all"))
    placed = function.with_body(SeqStmts(stmts=(function.body, flag)))
    assert allocations(emit(placed)) == [
        "%0 = pto.alloc_tile addr = %c0_i64 : vec 32x32xf32",
        "%1 = pto.alloc_tile addr = %c0_i64 : vec 16x64xf32",
    ]


def test_a_loop_that_carries_reshaped_bytes_shares_the_storage() -> None:
    """A carried tile that enters as a reshape is a reshape of the first tile's allocation."""
    x, out, shared = tensor("x", [64, 64]), tensor("out", [16, 64]), memref(0)
    first, flat = tile("first", shared), tile("flat", shared, (16, 64))
    carried = IterArg("carried", flat.type, flat)
    added, result = tile("added", shared, (16, 64)), tile("result", shared, (16, 64))
    stmts = [
        let(first, load(x, [0, 0])),
        let(flat, call("block.reshape", first, [16, 64])),
        ForStmt(
            scalar("i"),
            0,
            4,
            1,
            [carried],
            SeqStmts(stmts=(let(added, call("block.add", carried, carried)), YieldStmt([added]))),
            [result],
        ),
        EvalStmt(expr=store(result, [0, 0], out)),
    ]
    text = emit(kernel([x, out], stmts))
    assert allocations(text) == [
        "%0 = pto.alloc_tile : vec 32x32xf32",
        "%1 = pto.treshape %0 : vec 32x32xf32 -> vec 16x64xf32",
    ]
    lines = code(joined(text))
    assert [line.split(" : ")[0] for line in lines if "pto.tadd" in line] == [
        "  pto.tadd ins(%1, %1"
    ]
    assert [line.split(" : ")[0] for line in lines if "tstore" in line] == ["pto.tstore ins(%1"]
    assert "iter_args" not in text


def test_run_time_valid_shapes_are_set_before_the_op() -> None:
    """A tile with run-time valid rows is allocated with dynamic ones, set where it is defined."""
    x = tensor("x", [64, 32])
    part = tile("part", memref(0), tile_view=TileView([Min(N, 32, INDEX), 32]))
    text = joined(emit(kernel([x, N], [let(part, load(x, [0, 0]))])))
    opened = VEC.replace("v_row=32, v_col=32", "v_row=?, v_col=?")
    assert f"    %0 = pto.alloc_tile valid_row = %c32 valid_col = %c32 : {opened}\n" in text
    assert code(text)[:2] == [
        "%3 = arith.minsi %1, %c32 : index",
        f"pto.set_validshape %0, %3, %c32 : {opened}",
    ]


# --------------------------------------------------------------------------------------------
# Source lines
# --------------------------------------------------------------------------------------------


def test_comments_name_source_lines_that_have_code() -> None:
    """The user's line is above its first operation, once; a line without code is left out."""
    block = Block()
    x, out = tensor("x", [32, 32]), tensor("out", [32, 32])
    block.let("scratch", "block.create_tile", [32, 32], dtype=D.FP32)
    first = block.load("first", x, [0, 0], [32, 32])
    block.line[0] -= 1
    second = block.let("second", "block.exp", first)
    block.store("stored", second, [0, 0], out)
    program = InitMemRef().run(Program([block.function([x, out], [])], "test"))
    lines = [line.strip() for line in PTOCodegen().generate(program).splitlines()]
    comments = [line for line in lines if line.startswith("// kernel")]
    assert comments == ["// kernel.py:2", "// kernel.py:3"]


# --------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------

X = tensor("x", [64, 32])


def merge_of_tensors() -> Function:
    y, result = tensor("y", [64, 32]), tensor("r", [64, 32])
    stmt = IfStmt(
        condition=P, then_body=YieldStmt([X]), else_body=YieldStmt([y]), return_vars=(result,)
    )
    return kernel([X, y, P], [stmt])


def swapped_tensors() -> Function:
    y = tensor("y", [64, 32])
    a, b = IterArg("a", X.type, X), IterArg("b", y.type, y)
    results = [tensor("c", [64, 32]), tensor("d", [64, 32])]
    return kernel([X, y], [ForStmt(scalar("i"), 0, 4, 1, [a, b], YieldStmt([b, a]), results)])


def two_buffers() -> Function:
    shared = memref(0)
    first, second = tile("a", shared), tile("b", memref(1))
    carried, result = IterArg("c", first.type, first), tile("d", shared)
    body = SeqStmts(stmts=(let(second, load(X, [0, 0])), YieldStmt([second])))
    return kernel(
        [X],
        [let(first, load(X, [0, 0])), ForStmt(scalar("i"), 0, 4, 1, [carried], body, [result])],
    )


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (kernel([], [BreakStmt()]), "the PTO dialect has no jumps out of a loop"),
        (
            kernel([], [EvalStmt(expr=Call(GlobalVar("other"), []))]),
            "a kernel cannot call 'other'",
        ),
        (
            kernel([], [let(scalar("a"), FloatDiv(N, 2, INDEX))]),
            "'n' has no value here",
        ),
        (
            kernel([N], [let(scalar("a"), FloatDiv(N, 2, INDEX))]),
            "'/' of integers has no integer result",
        ),
        (
            kernel([N], [let(scalar("a"), Pow(N, N, INDEX))]),
            "'**' takes a constant exponent from 0 to 64 here",
        ),
        (
            kernel([], [let(scalar("a", D.FP32), ConstFloat(float("inf")))]),
            "inf is not a constant of type fp32 in the PTO dialect",
        ),
        (
            kernel([], [let(scalar("a", D.FP16), ConstFloat(1e5, D.FP16))]),
            "100000.0 is not a constant of type fp16 in the PTO dialect",
        ),
        (
            kernel([], [ForStmt(scalar("i"), 0, 1 << 31, 1, [], YieldStmt(), [])]),
            "the constant 2147483648 does not fit index, which has 32 bits in the PTO dialect",
        ),
        (
            kernel([Var("x", TensorType([8], D.INT4))], []),
            "the PTO dialect has no elements of type int4",
        ),
        (
            kernel([Var("x", TensorType([8], D.BOOL))], []),
            "the PTO dialect has no elements of type bool",
        ),
        (kernel([scalar("x", D.FP8E5M2)], []), "the PTO dialect has no scalars of type fp8e5m2"),
        (
            kernel([tensor("x", [1, 2, 3, 4, 5, 6])], []),
            "a tensor of 6 dimensions has no view, 1 to 5 were wanted",
        ),
        (
            kernel([tile("t", memref(0))], []),
            "parameter 't' is neither a tensor nor a scalar",
        ),
        (
            kernel([N], [], [scalar_type(INDEX)]),
            "kernel 'k' returns a ScalarType, and a kernel returns only tensors",
        ),
        (
            kernel([], [ForStmt(scalar("i"), 0, 4, 0, [], YieldStmt(), [])]),
            "the step of a loop is zero",
        ),
        (merge_of_tensors(), "the branches hand on different tensors, and the dialect has no "
         "choice between views"),
        (swapped_tensors(), "a loop carries 'a' different tensors, and the dialect has no choice "
         "between views"),
        (two_buffers(), "'c' is handed on from one buffer to another"),
        (
            kernel([X], [let(Var("t", TileType([32, 32], D.FP32)), load(X, [0, 0]))]),
            "'t' has no buffer",
        ),
        (
            kernel(
                [],
                [let(tensor("t", [8]), call("tensor.create", [8], dtype=D.FP32))],
            ),
            f"tensor.create has no PTO form: {REGISTRY['tensor.create'].unsupported}",
        ),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)  # fmt: skip
def test_what_cannot_be_written_is_refused(function: Function, message: str) -> None:
    """A program that the dialect cannot express is an error that says which part and why."""
    with pytest.raises(EmitError) as caught:
        emit(function)
    assert caught.value.message == message


def test_level_3_needs_addresses() -> None:
    """A kernel with flags whose tiles have no addresses is rejected, with the pass to run."""
    block = Block()
    x = tensor("x", [32, 32])
    block.load("t", x, [0, 0], [32, 32])
    block.do("system.bar_all")
    program = InitMemRef().run(Program([block.function([x], [])], "test"))
    with pytest.raises(EmitError) as caught:
        PTOCodegen().generate(program)
    assert caught.value.hint == "run passes.allocate_memory_addr() first"


def test_errors_have_the_place_of_the_statement() -> None:
    """An error raised deep inside an expression points at the statement's line."""
    block = Block()
    block.assign("a", N + 1)
    block.assign("b", Pow(N, N, INDEX))
    with pytest.raises(EmitError) as caught:
        emit(block.function([N], []))
    assert (caught.value.location.filename, caught.value.location.begin_line) == ("kernel.py", 2)


def test_parameters_keep_their_directions_out_of_the_text() -> None:
    """An Out parameter is a pointer like any other, and a returned tensor is no result."""
    out = tensor("out", [8])
    function = kernel([(out, ParamDirection.Out)], [ReturnStmt([out])], [out.type])
    assert "  func.func @k(%arg0: !pto.ptr<f32>) {\n" in emit(function)
    assert emit(function).endswith("\n    return\n  }\n}\n")
