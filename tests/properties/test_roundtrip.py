"""print, parse: the text of any program is read back as the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto import ir, passes
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var
from tests.ir.test_text import EXPRESSIONS, ON_CONSTANTS
from tests.passes.build import random_kernel
from tests.passes.scalars import program as scalar_program
from tests.passes.scalars import sources

Make = Callable[[], ir.Program]


def check(whole: ir.Program) -> None:
    """Compare a program with what its text means, and the text with that program's text."""
    text = str(whole)
    parsed = pl.parse(text)
    ir.assert_structural_equal(whole, parsed)
    assert str(parsed) == text


def op(name: str, *args: Any) -> ir.Call:
    return ir.get_op(name).build(args, {})


def let(name: str, value: Any) -> ir.AssignStmt:
    return assign(ir.Var(name, value.type), value)


def scalars() -> ir.Program:
    """Return a program that assigns every printable scalar expression of the printer's tests."""
    params = [*(var(n) for n in "abc"), *(var(n, BOOL) for n in "pq"), var("x", FP32)]
    by_name = {v.name: v for v in params}
    stmts: list[ir.Stmt] = []
    for node, _ in [*EXPRESSIONS, *ON_CONSTANTS]:
        if isinstance(node, ir.BinaryExpr | ir.UnaryExpr):
            stmts.append(let(f"v{len(stmts)}", _on(node, by_name)))
    return program(function(params, *stmts))


def _on(node: ir.Expr, variables: dict[str, ir.Var]) -> ir.Expr:
    from pypto._src.ir.traversal.mutator import substitute
    from pypto._src.ir.traversal.queries import uses

    return substitute(node, {v: variables[v.name] for v in uses([node])})


def constants() -> ir.Program:
    values: list[Any] = [0, -1, -(1 << 63), (1 << 63) - 1, 0.0, -0.0, 0.1, 1 / 3, 1e300, 5e-324]
    values += [float("inf"), float("-inf"), float("nan"), True, False]
    nodes = [ir.MakeTuple([value]).elements[0] for value in values]
    nodes += [ir.ConstInt(7, d) for d in (ir.INT8, ir.INT32, ir.UINT16)]
    nodes += [ir.ConstFloat(0.3, d) for d in (ir.FP16, ir.BF16)]
    return program(function([], *[let(f"v{i}", node) for i, node in enumerate(nodes)]))


def branches() -> ir.Program:
    x, r, s, t = var("x"), var("r"), var("r"), var("t", FP32)
    inner = ir.IfStmt(x > 2, ir.YieldStmt([x]), ir.YieldStmt([x + 1]), [r])
    two = ir.IfStmt(x > 1, seq(inner, ir.YieldStmt([r, 1.0])), ir.YieldStmt([0, 2.0]), [s, t])
    plain = ir.IfStmt(x > 3, seq(), ir.IfStmt(x > 4, let("k", s + 1), let("m", s)))
    return program(function([x], two, plain, ir.ReturnStmt([s, t]), results=[INT, FP32]))


def loops() -> ir.Program:
    n = var("n")
    first, second = ir.IterArg("a", INT, 0), ir.IterArg("b", FP32, 0.5)
    results = [var("a"), var("b", FP32)]
    i, j = var("i"), var("i")
    carried = ir.ForStmt(i, 0, n, 2, [first, second], ir.YieldStmt([first + i, second]), results)
    k = ir.IterArg("k", INT, results[0])
    after = var("k")
    counting = ir.WhileStmt(k < n, [k], ir.YieldStmt([k + 1]), [after])
    jumps = ir.ForStmt(
        j,
        0,
        after,
        1,
        [],
        seq(ir.IfStmt(j > 2, ir.BreakStmt(), None), ir.ContinueStmt()),
        [],
        kind=ir.ForKind.Parallel,
    )
    forever = ir.WhileStmt(n > 0, [], ir.BreakStmt())
    return program(
        function([n], carried, counting, jumps, forever, ir.ReturnStmt([after]), results=[INT])
    )


def before_ssa() -> ir.Program:
    n, total, i = var("n"), var("total"), var("i")
    body = seq(assign(total, total + i), ir.IfStmt(total > 9, assign(total, 0), None))
    return program(
        function(
            [n],
            assign(total, 0),
            ir.ForStmt(i, 0, n, 1, [], body, []),
            ir.IfStmt(total > 5, ir.ReturnStmt([total]), None),
            ir.ReturnStmt([n]),
            results=[INT],
        )
    )


def same_names() -> ir.Program:
    x, y, z = var("x"), var("x", FP32), var("x")
    s = ir.IterArg("x", INT, x)
    loop = ir.ForStmt(var("x"), 0, x, 1, [s], ir.YieldStmt([s]), [z])
    return program(function([x], assign(y, 1.5), loop, ir.ReturnStmt([z, y]), results=[INT, FP32]))


def symbolic_dimensions() -> ir.Program:
    n, m = var("n"), var("M")
    kind = ir.TensorType([n, m, n * 2], ir.FP32)
    p, q = var("p", kind), var("q", kind)
    f = function([p, n], assign(q, p), ir.ReturnStmt([q]), results=[kind])
    other = var("r", ir.TensorType([m], ir.FP32))
    return program(f, function([other], ir.ReturnStmt([other]), name="g", results=[other.type]))


def types() -> ir.Program:
    memrefs = [ir.MemRef(ir.MemorySpace.DDR, 0, 256, 0), ir.MemRef(ir.MemorySpace.Vec, -1, 256, 1)]
    n = var("n")
    view = ir.TileView([n, 8], [8, 1], n + 1, ir.TileLayout.col_major, fractal=1024)
    kinds: list[ir.Type] = [
        ir.TensorType([8, 8], ir.FP32, memrefs[0], ir.TensorView([16, 1], ir.TensorLayout.DN)),
        ir.TensorType([8, 8], ir.BF16, None, ir.TensorView((), ir.TensorLayout.NZ)),
        ir.TileType([8, 8], ir.FP32, memrefs[1], view),
        ir.TileType([8, 8], ir.FP32, memrefs[1]),
        ir.TileType([8, 8], ir.INT8, None, ir.TileView()),
    ]
    params = [n, *[var(f"p{index}", kind) for index, kind in enumerate(kinds)]]
    pair = let("pair", ir.MakeTuple(params[1:3]))
    copies = [let(f"q{index}", p) for index, p in enumerate(params)]
    first = let("first", ir.TupleGetItemExpr(pair.var, 0))
    return program(
        function(params, *copies, pair, first, ir.ReturnStmt([pair.var]), results=[pair.var.type])
    )


def declared_types() -> ir.Program:
    plain = ir.TileType([8, 8], ir.FP32)
    viewed = ir.TileType([8, 8], ir.FP32, None, ir.TileView(blayout=ir.TileLayout.col_major))
    x, y = var("x", plain), var("y", plain)
    a, b = ir.IterArg("a", viewed, x), ir.IterArg("b", plain, y)
    results = [var("a", viewed), var("b", viewed)]
    loop = ir.ForStmt(var("i"), 0, 4, 1, [a, b], ir.YieldStmt([a, b]), results)
    k = ir.IterArg("k", viewed, y)
    iteration = ir.WhileStmt(ir.ConstBool(True), [k], ir.YieldStmt([k]), [var("k", viewed)])
    return program(function([x, y], loop, iteration))


def calls() -> ir.Program:
    n, pair, single = var("n"), var("pair", ir.TupleType([INT, FP32])), var("single")
    both = function([n], ir.ReturnStmt([n, 1.0]), name="both", results=[INT, FP32])
    call = ir.Call(ir.GlobalVar("both"), [n], pair.type)
    made = ir.Call(ir.GlobalVar("f"), [ir.TupleGetItemExpr(pair, 0)], INT)
    main = ir.Function(
        "a_main",
        [n],
        [INT],
        seq(assign(pair, call), assign(single, made), ir.EvalStmt(made), ir.ReturnStmt([single])),
        type=ir.FunctionType.Orchestration,
    )
    attrs: dict[str, Any] = {"x": 1, "y": {"z": [0.5, "s"], "top": float("inf")}, "on": False}
    return ir.Program([both, main, loop_sum()], "calls", attrs=attrs, entry="a_main")


def op_calls() -> ir.Program:
    tile = ir.TileType([16, 16], ir.FP16)
    x, n = var("x", tile), var("n")
    out = var("out", ir.TensorType([64, 64], ir.FP16))
    half = ir.Cast(n, ir.FP16)
    stmts = [
        let("a", op("block.muls", x, 2.0)),
        let("b", op("block.muls", x, half * ir.ConstFloat(3.0, ir.FP16))),
        let("c", op("block.cast", x, ir.FP32, "trunc")),
        let("d", op("block.full", [16, 16], ir.FP16, 1.5)),
        let("e", op("block.full", [16, 16], ir.INT32, -3)),
        let("g", op("block.muls", x, float("-inf"))),
        let("h", op("block.create_tile", [16, 16], ir.FP16)),
        let("k", op("block.store", x, [n * 16, 0], [16, 16], out)),
        let("m", op("block.load", out, [n, n + 1], [16, 16], ir.MemorySpace.Mat)),
        ir.EvalStmt(op("system.sync_src", ir.PipeType.MTE2, ir.PipeType.V, 3)),
        ir.EvalStmt(op("system.bar_all")),
    ]
    f = ir.Function(
        "k", [x, n, (out, ir.ParamDirection.InOut)], [], seq(*stmts), type=ir.FunctionType.InCore
    )
    return program(f)


def scopes() -> ir.Program:
    n = var("n")
    scope = ir.ScopeStmt(ir.ScopeKind.InCore, seq(let("a", n + 1), let("b", n + 2)))
    return program(function([n], scope, ir.ReturnStmt()))


PROGRAMS: dict[str, Make] = {
    "loop": lambda: program(loop_sum()),
    "kernel": lambda: program(kernel()),
    "scalars": scalars,
    "constants": constants,
    "branches": branches,
    "loops": loops,
    "before SSA": before_ssa,
    "same names": same_names,
    "symbolic dimensions": symbolic_dimensions,
    "types": types,
    "declared types": declared_types,
    "calls": calls,
    "op calls": op_calls,
    "scopes": scopes,
    "empty": lambda: program(function([])),
    "empty program": lambda: ir.Program([], ""),
}


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_hand_written_programs(make: Make) -> None:
    """Every kind of node, statement and type comes back from its text."""
    check(make())


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_hand_written_programs_are_valid(make: Make) -> None:
    """The programs above keep the rules that hold at any stage."""
    verifier = ir.IRVerifier()
    verifier.enable_rule("Structure")
    verifier.enable_rule("TypeCheck")
    assert [d.message for d in verifier.verify(make())] == []


def test_every_node_class_is_in_some_program() -> None:
    """No node class is missing from the programs above."""
    from pypto._src.ir.traversal.walk import walk

    seen = {type(node) for make in PROGRAMS.values() for node in walk(make())}
    concrete = [
        cls
        for cls in vars(ir).values()
        if isinstance(cls, type) and issubclass(cls, ir.IRNode) and not cls.__subclasses__()
    ]
    # MemRefs stand in types only; sequences of ops print as the statements they hold.
    missing = [cls.__name__ for cls in concrete if cls not in seen]
    assert sorted(missing) == ["MemRef", "OpStmts"]


def test_single_functions() -> None:
    """A function printed alone reads back as that function."""
    for whole in (program(loop_sum()), symbolic_dimensions(), program(kernel())):
        for f in whole.functions_:
            parsed = pl.parse(str(f))
            ir.assert_structural_equal(f, parsed)
            assert str(parsed) == str(f)


SOURCES: dict[str, str] = {
    "tensors and a loop": """
@pl.program
class my_program:
    @pl.function
    def loop_sum(self, n: pl.INT64) -> pl.INT64:
        sum_init: pl.INT64 = 0
        for i, (sum,) in pl.range(0, n, 1, init_values=(sum_init,)):
            sum = pl.yield_(sum + i)
        return sum
""",
    "tiles": """
@pl.program
class BlockExample:
    @pl.function
    def tile_add(
        self,
        input_a: pl.Tensor[[64, 64], pl.FP32],
        input_b: pl.Tensor[[64, 64], pl.FP32],
        output: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        tile_a = pl.load(input_a, [0, 0], [64, 64])
        tile_b = pl.load(input_b, [0, 0], [64, 64])
        tile_c = pl.exp(pl.add(tile_a, tile_b))
        result = pl.store(tile_c, [0, 0], [64, 64], output)
        return result
""",
    "dynamic dimensions, assignment in loops and branches": """
M = pl.dynamic("M")

@pl.program
class Scaled:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self,
        x: pl.Tensor[[M, 64], pl.FP16],
        factor: pl.Scalar[pl.FP16],
        out: pl.InOut[pl.Tensor[[M, 64], pl.FP16]],
    ) -> pl.Tensor[[M, 64], pl.FP16]:
        for row in pl.range(0, M, 16):
            tile = pl.load(x, [row, 0], [16, 64])
            if row > 32:
                tile = pl.mul(tile, factor)
            else:
                tile = pl.mul(tile, 2.0)
            out = pl.store(tile, [row, 0], [16, 64], out)
        return out
""",
    "yields of branches, other functions": """
@pl.program
class Calls:
    @pl.function
    def pick(self, x: pl.INT32, y: pl.INT32) -> tuple[pl.INT32, pl.INT32]:
        if x > y and not x == 0:
            small, large = pl.yield_(y, x)
        else:
            small, large = pl.yield_(x, -y)
        return small, large

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.INT32) -> pl.INT32:
        low, high = self.pick(x, 3)
        while low < high:
            low = low + 1
            if low % 7 == 0:
                break
        return min(low, high)
""",
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_programs_as_users_write_them(source: str) -> None:
    """What the front end makes of a user's program comes back from its text."""
    check(pl.parse_program(source))


@given(st.data())
def test_kernels_at_every_stage(data: st.DataObject) -> None:
    """Random kernels come back as they are written and after each pass of the pipelines."""
    whole = program(random_kernel(lambda n: data.draw(st.integers(0, n - 1)), 12))
    check(whole)
    strategy = data.draw(st.sampled_from(ir.OptimizationStrategy))
    for pass_ in ir.PassManager.get_strategy(strategy).passes:
        before, whole = whole, pass_(whole)
        if whole is not before:
            check(whole)


@given(sources())
def test_scalar_functions_at_every_stage(source: str) -> None:
    """Random branches, loops and jumps come back as the same program, before and after SSA."""
    whole = scalar_program(source)
    check(whole)
    whole = passes.convert_to_ssa()(whole)
    check(whole)
    check(passes.flatten_call_expr()(whole))


@given(sources())
def test_renaming_and_grouping_do_not_count(source: str) -> None:
    """A program equals the same source translated again, and its normalized form, by hash too."""
    whole, again = scalar_program(source), scalar_program(source)
    normal = passes.normalize_stmt_structure()(again)
    for other in (again, normal):
        assert ir.structural_equal(whole, other)
        assert ir.structural_hash(whole) == ir.structural_hash(other)
