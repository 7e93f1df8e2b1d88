"""What the printer writes for every kind of node."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from pypto import ir
from pypto._src.ir.op_params import REQUIRED, TILE, Param
from pypto._src.ir.opdef import OpDef, Operands
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var

a, b, c = var("a"), var("b"), var("c")
p, q = var("p", BOOL), var("q", BOOL)
x, y = var("x", FP32), var("y", FP32)
pair = var("t", ir.TupleType([INT, FP32]))
mem = ir.MemRef(ir.MemorySpace.Vec, -1, 16384, 3)

TYPES: list[tuple[ir.Type, str]] = [
    (INT, "pl.Scalar[pl.INT64]"),
    (ir.ScalarType(ir.BF16), "pl.Scalar[pl.BF16]"),
    (ir.ScalarType(ir.DataType.FP64), "pl.Scalar[pl.DataType.FP64]"),
    (ir.TensorType([], ir.FP32), "pl.Tensor[[], pl.FP32]"),
    (ir.TensorType([64, a], ir.FP16), "pl.Tensor[[64, a], pl.FP16]"),
    (ir.TensorType([a * 2, 8], ir.INT8), "pl.Tensor[[a * 2, 8], pl.INT8]"),
    (
        ir.TensorType([64], ir.FP32, ir.MemRef(ir.MemorySpace.DDR, 4096, 256, 0)),
        "pl.Tensor[[64], pl.FP32, pl.MemRef(pl.MemorySpace.DDR, 4096, 256, 0)]",
    ),
    (
        ir.TensorType([4, 8], ir.FP32, tensor_view=ir.TensorView([16, 1], ir.TensorLayout.DN)),
        "pl.Tensor[[4, 8], pl.FP32, pl.TensorView(stride=[16, 1], layout=pl.TensorLayout.DN)]",
    ),
    (
        ir.TensorType([4], ir.FP32, tensor_view=ir.TensorView()),
        "pl.Tensor[[4], pl.FP32, pl.TensorView()]",
    ),
    (ir.TileType([64, 64], ir.FP16), "pl.Tile[[64, 64], pl.FP16]"),
    (
        ir.TileType([64, 64], ir.FP32, mem, ir.TileView()),
        "pl.Tile[[64, 64], pl.FP32, pl.MemRef(pl.MemorySpace.Vec, -1, 16384, 3), pl.TileView()]",
    ),
    (
        ir.TileType(
            [8, 8],
            ir.FP32,
            None,
            ir.TileView(
                [a, 8],
                [8, 1],
                a + 1,
                ir.TileLayout.col_major,
                ir.TileLayout.row_major,
                1024,
                ir.TilePad.zero,
            ),
        ),
        "pl.Tile[[8, 8], pl.FP32, pl.TileView(valid_shape=[a, 8], stride=[8, 1], "
        "start_offset=a + 1, blayout=pl.TileLayout.col_major, slayout=pl.TileLayout.row_major, "
        "fractal=1024, pad=pl.TilePad.zero)]",
    ),
    (
        ir.TupleType([INT, ir.TupleType([FP32])]),
        "pl.Tuple[[pl.Scalar[pl.INT64], pl.Tuple[[pl.Scalar[pl.FP32]]]]]",
    ),
    (ir.TupleType([]), "pl.Tuple[[]]"),
    (ir.UnknownType.get(), "pl.UnknownType"),
    (mem.type, "pl.MemRefType"),
]


@pytest.mark.parametrize(("kind", "text"), TYPES, ids=[text for _, text in TYPES])
def test_types(kind: ir.Type, text: str) -> None:
    """A type prints in subscripts; parts with default values are left out."""
    assert str(kind) == text
    ast.parse(text, mode="eval")


CONSTANTS: list[tuple[ir.Expr, str]] = [
    (ir.ConstInt(42), "42"),
    (ir.ConstInt(-(1 << 63)), "-9223372036854775808"),
    (ir.ConstInt(5, ir.INT32), "pl.const(5, pl.INT32)"),
    (ir.ConstInt(1, ir.BOOL), "pl.const(1, pl.BOOL)"),
    (ir.ConstFloat(2.0), "2.0"),
    (ir.ConstFloat(0.1), "0.1"),
    (ir.ConstFloat(1 / 3), "0.3333333333333333"),
    (ir.ConstFloat(1e22), "1e+22"),
    (ir.ConstFloat(-0.0), "-0.0"),
    (ir.ConstFloat(0.5, ir.BF16), "pl.const(0.5, pl.BF16)"),
    (ir.ConstFloat(float("inf")), 'pl.const(float("inf"), pl.FP32)'),
    (ir.ConstFloat(float("-inf"), ir.FP16), 'pl.const(float("-inf"), pl.FP16)'),
    (ir.ConstFloat(float("nan")), 'pl.const(float("nan"), pl.FP32)'),
    (ir.ConstBool(True), "True"),
    (ir.ConstBool(False), "False"),
]


@pytest.mark.parametrize(("node", "text"), CONSTANTS, ids=[text for _, text in CONSTANTS])
def test_constants(node: ir.Expr, text: str) -> None:
    """A constant is bare if INT64 or FP32 is meant, otherwise it has its element type."""
    assert str(node) == text


def both(kind: type[ir.BinaryExpr], left: Any, right: Any) -> ir.BinaryExpr:
    return kind(left, right, ir.BOOL if kind in (ir.And, ir.Or, ir.Xor) else ir.INT64)


EXPRESSIONS: list[tuple[ir.Expr, str]] = [
    (a, "a"),
    (ir.IterArg("s", INT, 0), "s"),
    (mem, "mem_vec_3"),
    (a + b, "a + b"),
    (a - b - c, "a - b - c"),
    (a - (b - c), "a - (b - c)"),
    (a + (b + c), "a + (b + c)"),
    ((a + b) * c, "(a + b) * c"),
    (a + b * c, "a + b * c"),
    (a * (b * c), "a * (b * c)"),
    (a / b, "a / b"),
    (a // b % c, "a // b % c"),
    (a % (b // c), "a % (b // c)"),
    (a**b**c, "a ** b ** c"),
    ((a**b) ** c, "(a ** b) ** c"),
    (ir.ConstInt(-2) ** a, "(-2) ** a"),
    (a**-2, "a ** (-2)"),
    (a - -2, "a - -2"),
    (a * -2, "a * -2"),
    (-(a**b), "-a ** b"),
    ((-a) ** b, "(-a) ** b"),
    (ir.Neg(-a, ir.INT64), "--a"),
    (-(a + b), "-(a + b)"),
    (-a * b, "-a * b"),
    (~a, "~a"),
    (~(a & b), "~(a & b)"),
    (a == b, "a == b"),
    (a != b, "a != b"),
    (a < b, "a < b"),
    (a <= b, "a <= b"),
    (a > b, "a > b"),
    (a >= b, "a >= b"),
    ((a < b) == (a < c), "(a < b) == (a < c)"),
    (a + 1 < b * 2, "a + 1 < b * 2"),
    (a & b | c, "a & b | c"),
    (a & (b | c), "a & (b | c)"),
    (a ^ b & c, "a ^ b & c"),
    ((a ^ b) & c, "(a ^ b) & c"),
    (a << b >> c, "a << b >> c"),
    (a << (b >> c), "a << (b >> c)"),
    (a << b + c, "a << b + c"),
    ((a << b) + c, "(a << b) + c"),
    (both(ir.And, p, both(ir.Or, p, q)), "p and (p or q)"),
    (both(ir.Or, both(ir.And, p, q), p), "p and q or p"),
    (both(ir.And, both(ir.And, p, q), p), "p and q and p"),
    (both(ir.And, p, both(ir.And, q, p)), "p and (q and p)"),
    (both(ir.Xor, p, q), "p ^ q"),
    (both(ir.Xor, a < b, q), "(a < b) ^ q"),
    (ir.Not(p, ir.BOOL), "not p"),
    (ir.Not(both(ir.And, p, q), ir.BOOL), "not (p and q)"),
    (ir.Not(a < b, ir.BOOL), "not a < b"),
    (both(ir.And, ir.Not(p, ir.BOOL), q), "not p and q"),
    (ir.Eq(ir.Not(p, ir.BOOL), q, ir.BOOL), "(not p) == q"),
    (ir.Min(a, b + 1, ir.INT64), "min(a, b + 1)"),
    (ir.Max(a, b, ir.INT64) * 2, "max(a, b) * 2"),
    (ir.Abs(a - b, ir.INT64), "abs(a - b)"),
    (ir.Cast(a + b, ir.FP32), "pl.cast(a + b, pl.FP32)"),
    (ir.MakeTuple([a, 2]), "[a, 2]"),
    (ir.MakeTuple([]), "[]"),
    (ir.TupleGetItemExpr(pair, 1), "t[1]"),
    (ir.TupleGetItemExpr(ir.MakeTuple([a, b]), 0), "[a, b][0]"),
    (ir.Call(ir.Op("foo"), [a, 1]), "foo(a, 1)"),
    (ir.Call(ir.Op("custom.and"), [a]), "pl.custom.and_(a)"),
    (ir.Call(ir.GlobalVar("g"), [a]), "g(a)"),
]


@pytest.mark.parametrize(("node", "text"), EXPRESSIONS, ids=[text for _, text in EXPRESSIONS])
def test_expressions(node: ir.Expr, text: str) -> None:
    """Parentheses appear exactly where Python would otherwise parse a different tree."""
    assert str(node) == text
    ast.parse(text, mode="eval")


ON_CONSTANTS: list[tuple[ir.Expr, str]] = [
    (ir.Neg(ir.ConstInt(5), ir.INT64), "-pl.const(5, pl.INT64)"),
    (ir.Neg(ir.ConstInt(-5), ir.INT64), "-pl.const(-5, pl.INT64)"),
    (ir.ConstInt(1) + ir.ConstInt(2), "pl.const(1, pl.INT64) + 2"),
    (ir.ConstInt(1) + ir.ConstInt(2) + a, "pl.const(1, pl.INT64) + 2 + a"),
    (ir.Min(1, 2, ir.INT64), "min(pl.const(1, pl.INT64), 2)"),
    (ir.Abs(ir.ConstInt(-1), ir.INT64), "abs(pl.const(-1, pl.INT64))"),
    (ir.Cast(3, ir.FP32), "pl.cast(pl.const(3, pl.INT64), pl.FP32)"),
    (ir.Not(ir.ConstBool(True), ir.BOOL), "not pl.const(True, pl.BOOL)"),
]


@pytest.mark.parametrize(("node", "text"), ON_CONSTANTS, ids=[text for _, text in ON_CONSTANTS])
def test_operators_on_constants_alone(node: ir.Expr, text: str) -> None:
    """An operator on constants does not look like Python arithmetic, or a signed number."""
    assert str(node) == text


def test_infix_text_means_the_same_tree_in_python() -> None:
    """Python parses every printed infix expression into the tree that was printed."""
    shown = {"a": 7, "b": 3, "c": 2, "p": True, "q": False}
    for node, text in EXPRESSIONS:
        if isinstance(node, ir.BinaryExpr | ir.UnaryExpr) and "pl." not in text:
            assert eval(text, {}, dict(shown)) == evaluate(node, shown), text


def evaluate(node: Any, values: dict[str, Any]) -> Any:
    match node:
        case ir.Var():
            return values[node.name]
        case ir.BinaryExpr():
            return type(node).fold(evaluate(node.left, values), evaluate(node.right, values))
        case ir.UnaryExpr():
            return type(node).fold(evaluate(node.operand, values))
        case _:
            return node.value


def test_long_chains_print_without_recursion() -> None:
    """A sum of 20,000 terms prints, though its tree is 20,000 deep."""
    total: ir.Expr = a
    for number in range(20_000):
        total = total + number
    assert str(total) == "a + " + " + ".join(str(n) for n in range(20_000))


# --------------------------------------------------------------------------------------------
# Calls
# --------------------------------------------------------------------------------------------

tile = var("t", ir.TileType([64, 64], ir.FP16))
ints = var("m", ir.TileType([8, 16], ir.INT32))
tensor = var("x", ir.TensorType([64, 64], ir.FP32))


def keyword_op() -> OpDef[..., Any]:
    """Return an unregistered op that has a Python keyword as its name."""
    params = tuple(Param(name, TILE, REQUIRED) for name in ("lhs", "rhs"))
    facts: dict[str, Any] = {"level": "block", "python_name": "and_", "params": params}
    return OpDef("block.and", **facts, types=_type_of_first)


def _type_of_first(operands: Operands) -> ir.Type:
    return operands.tile(0)


def op_calls() -> list[tuple[Any, str]]:
    block, system = ir.op.block, ir.op.system
    half, word = ir.ConstFloat(2.0, ir.FP16), ir.ConstInt(2, ir.INT32)
    return [
        (block.add(tile, tile), "pl.block.add(t, t)"),
        (keyword_op().build([ints, ints], {}), "pl.block.and_(m, m)"),
        (block.muls(tile, 3.0), "pl.block.muls(t, 3.0)"),
        (block.muls(tile, half), "pl.block.muls(t, 2.0)"),
        (ir.Call(ir.get_op("block.muls"), [tile, 2.0]), "pl.block.muls(t, pl.const(2.0, pl.FP32))"),
        (block.adds(ints, 3), "pl.block.adds(m, 3)"),
        (block.adds(ints, word), "pl.block.adds(m, 2)"),
        (ir.Call(ir.get_op("block.adds"), [ints, 2]), "pl.block.adds(m, pl.const(2, pl.INT64))"),
        (block.muls(tile, float("inf")), 'pl.block.muls(t, pl.const(float("inf"), pl.FP16))'),
        (
            block.load(tensor, [0, a], [64, 64]),
            "pl.block.load(x, [0, a], [64, 64], target_memory=pl.MemorySpace.Vec)",
        ),
        (
            block.full([8, 8], ir.FP32, 0.0),
            "pl.block.full([8, 8], dtype=pl.FP32, value=0.0)",
        ),
        (
            block.cast(tile, ir.FP32, mode="rint"),
            'pl.block.cast(t, target_type=pl.FP32, mode="rint")',
        ),
        (
            system.sync_src(set_pipe=ir.PipeType.MTE2, wait_pipe=ir.PipeType.V, event_id=3),
            "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=3)",
        ),
    ]


CALLS = op_calls()


@pytest.mark.parametrize(("node", "text"), CALLS, ids=[text for _, text in CALLS])
def test_op_calls(node: Any, text: str) -> None:
    """Ops print by Python name; from the first attribute on, everything is a keyword."""
    assert str(node) == text


def test_keywords_of_unregistered_ops() -> None:
    """Constants of every kind print as keywords of an unregistered op."""
    words: dict[str, Any] = {
        "flag": True,
        "count": 3,
        "ratio": 0.5,
        "edge": float("inf"),
        "text": "plain",
        "quoted": 'a "b"',
        "dtype": ir.BF16,
        "space": ir.MemorySpace.Left,
        "several": [1, 2],
        "none": None,
    }
    assert str(ir.Call(ir.Op("my.op"), [a], words)) == (
        'pl.my.op(a, flag=True, count=3, ratio=0.5, edge=float("inf"), text="plain", '
        "quoted='a \"b\"', dtype=pl.BF16, space=pl.MemorySpace.Left, several=[1, 2], none=None)"
    )


# --------------------------------------------------------------------------------------------
# Statements
# --------------------------------------------------------------------------------------------


def statement_texts() -> list[tuple[ir.Stmt, str]]:
    i, s, out, out2 = var("i"), ir.IterArg("s", INT, a), var("s"), var("r")
    other = ir.IterArg("o", FP32, x)
    unknown = ir.Var("u", ir.UnknownType.get())
    return [
        (assign(c, a + 1), "c: pl.Scalar[pl.INT64] = a + 1"),
        (assign(unknown, ir.Call(ir.Op("foo"), [])), "u = foo()"),
        (ir.EvalStmt(ir.Call(ir.Op("foo"), [a])), "foo(a)"),
        (ir.ReturnStmt(), "return"),
        (ir.ReturnStmt([a, b]), "return a, b"),
        (ir.ReturnStmt([ir.MakeTuple([a, b])]), "return [a, b]"),
        (ir.YieldStmt(), "pl.yield_()"),
        (ir.YieldStmt([a, b]), "pl.yield_(a, b)"),
        (ir.BreakStmt(), "break"),
        (ir.ContinueStmt(), "continue"),
        (seq(), "pass"),
        (
            ir.OpStmts([assign(c, a), ir.EvalStmt(b)]),
            "c: pl.Scalar[pl.INT64] = a\nb",
        ),
        (ir.IfStmt(a > b, seq(), None), "if a > b:\n    pass"),
        (
            ir.IfStmt(a > b, ir.ReturnStmt([a]), ir.ReturnStmt([b])),
            "if a > b:\n    return a\nelse:\n    return b",
        ),
        (
            ir.IfStmt(p, ir.BreakStmt(), ir.IfStmt(q, ir.BreakStmt(), seq())),
            "if p:\n    break\nelse:\n    if q:\n        break",
        ),
        (
            ir.IfStmt(p, ir.YieldStmt([a]), ir.YieldStmt([b]), [out]),
            "if p:\n    s: pl.Scalar[pl.INT64] = pl.yield_(a)\n"
            "else:\n    s: pl.Scalar[pl.INT64] = pl.yield_(b)",
        ),
        (
            ir.IfStmt(p, ir.YieldStmt([a, b]), ir.YieldStmt([b, a]), [out, out2]),
            "if p:\n    s, r = pl.yield_(a, b)\nelse:\n    s, r = pl.yield_(b, a)",
        ),
        (
            ir.ForStmt(i, 0, a, 2, [], ir.ContinueStmt(), []),
            "for i in pl.range(0, a, 2):\n    continue",
        ),
        (
            ir.ForStmt(i, 0, a, 1, [], seq(), [], kind=ir.ForKind.Parallel),
            "for i in pl.parallel(0, a, 1):\n    pass",
        ),
        (
            ir.ForStmt(i, 0, b, 1, [s], ir.YieldStmt([s + i]), [out]),
            "for i, (s,) in pl.range(0, b, 1, init_values=(a,)):\n"
            "    s: pl.Scalar[pl.INT64] = pl.yield_(s + i)",
        ),
        (
            ir.ForStmt(i, 0, b, 1, [s, other], ir.YieldStmt([s, other]), [out, var("o", FP32)]),
            "for i, (s, o) in pl.range(0, b, 1, init_values=(a, x)):\n    s, o = pl.yield_(s, o)",
        ),
        (
            ir.WhileStmt(a < b, [], assign(a, a + 1)),
            "while a < b:\n    a: pl.Scalar[pl.INT64] = a + 1",
        ),
        (
            ir.WhileStmt(s < b, [s], ir.YieldStmt([s + 1]), [out]),
            "for (s,) in pl.while_(init_values=(a,)):\n    pl.cond(s < b)\n"
            "    s: pl.Scalar[pl.INT64] = pl.yield_(s + 1)",
        ),
        (
            ir.ScopeStmt(ir.ScopeKind.InCore, ir.EvalStmt(a)),
            "with pl.incore():\n    a",
        ),
        (
            ir.ForStmt(i, 0, a, 1, [], assign(c, i), [c]),
            "for i in pl.range(0, a, 1):\n    c: pl.Scalar[pl.INT64] = i\n    # no yield for: c",
        ),
    ]


STATEMENTS = statement_texts()


@pytest.mark.parametrize(("node", "text"), STATEMENTS, ids=[text for _, text in STATEMENTS])
def test_statements(node: ir.Stmt, text: str) -> None:
    """Every statement prints as Python that ``ast`` parses."""
    assert str(node) == text
    ast.parse(f"def f():\n  while 1:\n    if 1:\n{_indented(text)}")


def _indented(text: str) -> str:
    return "\n".join(" " * 6 + line for line in text.splitlines())


def test_types_that_the_values_do_not_give() -> None:
    """An iter_arg or result with a type other than its value's is declared without a value."""
    small, large = ir.TileType([8, 8], ir.FP32), ir.TileType([8, 8], ir.FP32, None, ir.TileView())
    first, second = var("first", small), var("second", small)
    carried = [ir.IterArg("u", large, first), ir.IterArg("v", small, second)]
    results = [var("u", small), var("v", small)]
    loop = ir.ForStmt(var("i"), 0, a, 1, carried, ir.YieldStmt(carried), results)
    assert str(loop) == (
        "for i, (u_1, v) in pl.range(0, a, 1, init_values=(first, second)):\n"
        "    u_1: pl.Tile[[8, 8], pl.FP32, pl.TileView()]\n"
        "    u: pl.Tile[[8, 8], pl.FP32]\n"
        "    u, v = pl.yield_(u_1, v)"
    )


# --------------------------------------------------------------------------------------------
# Names
# --------------------------------------------------------------------------------------------


def test_variables_of_one_name_are_told_apart() -> None:
    """Two objects with one name get two names, the same object always the same."""
    first, second = var("v"), var("v")
    body = seq(assign(first, 1), assign(second, first), assign(first, second))
    assert str(body) == (
        "v: pl.Scalar[pl.INT64] = 1\nv_1: pl.Scalar[pl.INT64] = v\nv: pl.Scalar[pl.INT64] = v_1"
    )


def test_loop_names_are_free_again_after_the_loop() -> None:
    """Consecutive loops use the same names for their variables, nested loops do not."""
    loops = [ir.ForStmt(var("i"), 0, 4, 1, [], seq(), []) for _ in range(2)]
    nested = ir.ForStmt(var("i"), 0, 4, 1, [], seq(*loops), [])
    assert str(seq(loops[0], nested)) == (
        "for i in pl.range(0, 4, 1):\n"
        "    pass\n"
        "for i in pl.range(0, 4, 1):\n"
        "    for i_1 in pl.range(0, 4, 1):\n"
        "        pass\n"
        "    for i_2 in pl.range(0, 4, 1):\n"
        "        pass"
    )


def test_iter_arg_takes_the_name_of_its_result() -> None:
    """If the outer name is taken, iter_arg and result get the same new name."""
    before, after = var("s"), var("s")
    carried = ir.IterArg("s", INT, before)
    loop = ir.ForStmt(var("i"), 0, 4, 1, [carried], ir.YieldStmt([carried]), [after])
    assert str(seq(assign(before, 0), loop, ir.ReturnStmt([after]))) == (
        "s: pl.Scalar[pl.INT64] = 0\n"
        "for i, (s_1,) in pl.range(0, 4, 1, init_values=(s,)):\n"
        "    s_1: pl.Scalar[pl.INT64] = pl.yield_(s_1)\n"
        "return s_1"
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [("pl", "pl_1"), ("for", "for_1"), ("min", "min_1"), ("self", "self_1"),
     ("x.y", "x_y"), ("1st", "_1st"), ("", "_"), ("β", "β")],
)  # fmt: skip
def test_names_that_are_no_names(name: str, text: str) -> None:
    """Keywords, names with a meaning in the text, and invalid names are replaced."""
    assert str(assign(var(name), 1)) == f"{text}: pl.Scalar[pl.INT64] = 1"


# --------------------------------------------------------------------------------------------
# Functions and programs
# --------------------------------------------------------------------------------------------


def test_function() -> None:
    """Parameters, loop and result of a function; the default kind prints no option."""
    assert str(loop_sum()) == (
        "@pl.function\n"
        "def f(n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:\n"
        "    start: pl.Scalar[pl.INT64] = 0\n"
        "    for i, (sum,) in pl.range(0, n, 1, init_values=(start,)):\n"
        "        sum: pl.Scalar[pl.INT64] = pl.yield_(sum + i)\n"
        "    return sum"
    )


def test_kernel() -> None:
    """Directions, function kind and op calls of a kernel; FP16 numbers are bare."""
    assert str(kernel()) == (
        "@pl.function(type=pl.FunctionType.InCore)\n"
        "def scale(x: pl.Tensor[[64, 64], pl.FP16], out: pl.Out[pl.Tensor[[64, 64], pl.FP16]])"
        " -> pl.Tensor[[64, 64], pl.FP16]:\n"
        "    tile: pl.Tile[[64, 64], pl.FP16] = pl.block.load(x, [0, 0], [64, 64], "
        "target_memory=pl.MemorySpace.Vec)\n"
        "    scaled: pl.Tile[[64, 64], pl.FP16] = pl.block.muls(tile, 2.0)\n"
        "    stored: pl.Tensor[[64, 64], pl.FP16] = "
        "pl.block.store(scaled, [0, 0], [64, 64], out)\n"
        "    return stored"
    )


def test_signatures() -> None:
    """No results: no arrow; several: a tuple; one tuple: its type; no body: pass."""
    inout = (var("m", FP32), ir.ParamDirection.InOut)
    assert str(function([inout])) == (
        "@pl.function\ndef f(m: pl.InOut[pl.Scalar[pl.FP32]]):\n    pass"
    )
    several = function([], results=[INT, FP32])
    assert str(several).splitlines()[1] == (
        "def f() -> tuple[pl.Scalar[pl.INT64], pl.Scalar[pl.FP32]]:"
    )
    one = function([], results=[ir.TupleType([INT])])
    assert str(one).splitlines()[1] == "def f() -> pl.Tuple[[pl.Scalar[pl.INT64]]]:"


def test_symbolic_dimensions_are_declared() -> None:
    """Dimensions that the function does not define are declared above it, except parameters."""
    n, m = var("n"), var("m")
    f = function([var("x", ir.TensorType([m, n], ir.FP32)), n])
    assert str(f) == (
        'm = pl.dynamic("m")\n\n@pl.function\n'
        "def f(x: pl.Tensor[[m, n], pl.FP32], n: pl.Scalar[pl.INT64]):\n    pass"
    )


def test_program() -> None:
    """Header with name, entry and attributes; callees first, called through ``self``."""
    n, result = var("n"), var("y")
    call = ir.Call(ir.GlobalVar("z_inner"), [n], INT)
    outer = ir.Function(
        "a_outer",
        [n],
        [INT],
        seq(assign(result, call), ir.ReturnStmt([result])),
        type=ir.FunctionType.Orchestration,
    )
    dim = var("K")
    inner = function(
        [var("k", ir.TensorType([dim], ir.FP32))], ir.ReturnStmt([1]), name="z_inner", results=[INT]
    )
    attrs: dict[str, Any] = {"depth": 3, "names": {"a": "b", "top": float("inf")}, "on": True}
    whole = ir.Program([outer, inner], "my_program", attrs=attrs, entry="a_outer")
    assert str(whole) == (
        "# pypto.program: my_program\n"
        "# pypto.entry: a_outer\n"
        "# pypto.attr: depth = 3\n"
        "# pypto.attr: names = {'a': 'b', 'top': 1e999}\n"
        "# pypto.attr: on = True\n"
        "import pypto.language as pl\n"
        "\n"
        'K = pl.dynamic("K")\n'
        "\n"
        "@pl.program\n"
        "class my_program:\n"
        "    @pl.function\n"
        "    def z_inner(self, k: pl.Tensor[[K], pl.FP32]) -> pl.Scalar[pl.INT64]:\n"
        "        return 1\n"
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        "    def a_outer(self, n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:\n"
        "        y: pl.Scalar[pl.INT64] = self.z_inner(n)\n"
        "        return y"
    )


def test_functions_that_call_each_other_print_in_name_order() -> None:
    """A call cycle, which no order satisfies, prints by name from where it starts."""
    calls = {"a": "b", "b": "c", "c": "a"}
    functions = [
        function([], ir.EvalStmt(ir.Call(ir.GlobalVar(other), [])), name=name)
        for name, other in calls.items()
    ]
    text = str(program(*functions))
    assert [line.split()[1] for line in text.splitlines() if "def " in line] == [
        "c(self):",
        "b(self):",
        "a(self):",
    ]


def test_unnamed_and_empty_program() -> None:
    """A program without name is called Program, one without functions has an empty class."""
    assert str(ir.Program([], "")) == (
        "# pypto.program: Program\nimport pypto.language as pl\n\n"
        "@pl.program\nclass Program:\n    pass"
    )


def test_prefix() -> None:
    """Another prefix is used everywhere and in the import; the default one is then a free name."""
    whole = ir.python_print(program(loop_sum(body_name="pl")), "ir")
    assert whole.splitlines()[1] == "from pypto import language as ir"
    assert "pl: ir.Scalar[ir.INT64]" in whole
    assert "pl." not in whole
    assert INT.as_python("t") == "t.Scalar[t.INT64]"


def test_everything_else_prints() -> None:
    """Views and ops, which are neither types nor nodes, print as well."""
    assert str(ir.TileView(fractal=1024)) == "pl.TileView(fractal=1024)"
    assert str(ir.TensorView([1])) == "pl.TensorView(stride=[1])"
    assert str(ir.op.block.add) == "block.add"
    assert repr(a).startswith("<pypto._src.ir.exprs.Var object at")


def test_long_and_deep_bodies_print() -> None:
    """10,000 statements in a row and 200 nested loops print, one line each."""
    many = seq(*[assign(var(f"v{n}"), n) for n in range(10_000)])
    assert str(many).splitlines()[-1] == "v9999: pl.Scalar[pl.INT64] = 9999"
    deep: ir.Stmt = seq()
    for _ in range(200):
        deep = ir.ForStmt(var("i"), 0, 1, 1, [], deep, [])
    lines = str(deep).splitlines()
    assert len(lines) == 201
    assert lines[199] == " " * 4 * 199 + "for i_199 in pl.range(0, 1, 1):"
