"""Structural equality and hash, and the path to the first difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var

x, y, z = var("x"), var("y"), var("z")
f32, half = var("f", FP32), var("h", ir.ScalarType(ir.FP16))
mem = ir.MemRef(ir.MemorySpace.Vec, 0, 64, 1)
Make = Callable[[], Any]


def call(**kwargs: Any) -> ir.Call:
    return ir.Call(ir.Op("my.op"), [x], kwargs)


def tile(view: ir.TileView | None = None, memref: ir.MemRef | None = None) -> ir.TileType:
    return ir.TileType([8, 8], ir.FP32, memref, view)


def tensor(*dims: Any, **extras: Any) -> ir.TensorType:
    return ir.TensorType(dims, ir.FP32, **extras)


def dim_function(name: str = "n") -> ir.Function:
    """Return a function whose parameter and result have one symbolic dimension."""
    n = var(name)
    p = var("p", tensor(n, 8))
    q = var("q", tensor(n, 8))
    return function([p], assign(q, p), ir.ReturnStmt([q]), results=[tensor(n, 8)])


def loops(shared: bool) -> ir.SeqStmts:
    """Return two loops whose variable is one object, or two."""
    first = var("i")
    second = first if shared else var("i")
    return seq(
        *[ir.ForStmt(i, 0, 4, 1, [], ir.EvalStmt(ir.Call(ir.Op("o"), [i])), [])
          for i in (first, second)]
    )  # fmt: skip


def accumulate(target: ir.Var, other: ir.Var) -> ir.Function:
    return function([], assign(target, 1), assign(other, target + 1), ir.ReturnStmt([other]))


EQUAL: dict[str, tuple[Make, Make]] = {
    "constants": (lambda: ir.ConstInt(3), lambda: ir.ConstInt(3)),
    "nan": (lambda: ir.ConstFloat(float("nan")), lambda: ir.ConstFloat(float("nan"))),
    "expressions on the same variables": (lambda: x + y * 2, lambda: x + y * 2),
    "span": (lambda: ir.EvalStmt(x, ir.Span("a.py", 1, 2)), lambda: ir.EvalStmt(x)),
    "names in a function": (lambda: loop_sum("sum"), lambda: loop_sum("total", body_name="m")),
    "name of a function alone": (lambda: function([], name="f"), lambda: function([], name="g")),
    "name of a program": (
        lambda: program(loop_sum(), name="A"),
        lambda: program(loop_sum(), name="B"),
    ),
    "kernels": (kernel, kernel),
    "scalar types": (lambda: INT, lambda: ir.ScalarType(ir.INDEX)),
    "tensor types": (lambda: tensor(8, x), lambda: tensor(8, x)),
    "memref of a tile": (lambda: tile(memref=mem), tile),
    "memref and view of a tensor": (
        lambda: tensor(8, memref=mem, tensor_view=ir.TensorView([1])),
        lambda: tensor(8),
    ),
    "number of a memref": (
        lambda: ir.MemRef(ir.MemorySpace.Vec, 0, 64, 1),
        lambda: ir.MemRef(ir.MemorySpace.Vec, 0, 64, 2),
    ),
    "element type of a constant dimension": (
        lambda: tensor(ir.ConstInt(8, ir.INT32)),
        lambda: tensor(8),
    ),
    "symbolic dimensions of signatures": (lambda: dim_function("n"), lambda: dim_function("m")),
    "loop variables of loops one after the other": (lambda: loops(True), lambda: loops(False)),
    "op and function of one name": (
        lambda: ir.Call(ir.Op("g"), [x]),
        lambda: ir.Call(ir.GlobalVar("g"), [x]),
    ),
    "keywords": (lambda: call(a=1, b="s"), lambda: call(a=1, b="s")),
    "pipe and its number": (lambda: call(p=ir.PipeType.V), lambda: call(p=4)),
    "grouping inside a function": (
        lambda: function([], ir.OpStmts([assign(x, 1)]), seq(assign(y, 2), seq())),
        lambda: function([], assign(x, 1), assign(y, 2)),
    ),
    "empty and missing else": (
        lambda: ir.IfStmt(x > 1, seq(), seq()),
        lambda: ir.IfStmt(x > 1, seq(), None),
    ),
    "one statement and a sequence of one": (
        lambda: ir.IfStmt(x > 1, assign(z, 1), None),
        lambda: ir.IfStmt(x > 1, seq(assign(z, 1)), None),
    ),
    "assignment to a variable again": (
        lambda: function([], assign(x, 1), assign(x, x + 1)),
        lambda: function([], assign(y, 1), assign(y, y + 1)),
    ),
}


@pytest.mark.parametrize(("left", "right"), EQUAL.values(), ids=EQUAL)
def test_equal(left: Make, right: Make) -> None:
    """Structures that are equal compare so, hash alike, and have no first difference."""
    a, b = left(), right()
    assert ir.structural_equal(a, b)
    assert ir.structural_equal(a, b, enable_auto_mapping=True)
    assert ir.structural_hash(a) == ir.structural_hash(b)
    ir.assert_structural_equal(a, b)


# The difference, the path to it, and the reason.
DIFFERENT: dict[str, tuple[Make, Make, str, str]] = {
    "class": (lambda: x + y, lambda: x - y, "Add", "Add is not Sub"),
    "value": (
        lambda: ir.ConstInt(1),
        lambda: ir.ConstInt(2),
        "ConstInt.value",
        "the values differ",
    ),
    "signed zero": (
        lambda: ir.ConstFloat(0.0),
        lambda: ir.ConstFloat(-0.0),
        "ConstFloat.value",
        "the values differ",
    ),
    "dtype": (
        lambda: ir.ConstInt(1),
        lambda: ir.ConstInt(1, ir.INT32),
        "ConstInt.type.dtype",
        "the values differ",
    ),
    "int and bool keyword": (
        lambda: call(a=1),
        lambda: call(a=True),
        "Call.kwargs['a']",
        "int is not bool",
    ),
    "memory space keyword": (
        lambda: call(m=ir.MemorySpace.Vec),
        lambda: call(m=ir.MemorySpace.Mat),
        "Call.kwargs['m']",
        "the values differ",
    ),
    "order of keywords": (
        lambda: call(a=1, b=2),
        lambda: call(b=2, a=1),
        "Call.kwargs",
        "the keywords differ",
    ),
    "op": (
        lambda: ir.Call(ir.Op("a.b"), [x]),
        lambda: ir.Call(ir.Op("a.c"), [x]),
        "Call.op",
        "other ops are called",
    ),
    "number of arguments": (
        lambda: ir.Call(ir.Op("a.b"), [x]),
        lambda: ir.Call(ir.Op("a.b"), [x, x]),
        "Call.args",
        "the lengths differ",
    ),
    "free variables": (
        lambda: x + y,
        lambda: x + z,
        "Add.right",
        "free variables differ; enable_auto_mapping=True lets them correspond",
    ),
    "dimension": (
        lambda: tensor(8, 16),
        lambda: tensor(8, 32),
        "TensorType.shape[1]",
        "the dimensions differ",
    ),
    "rank": (
        lambda: tensor(8),
        lambda: tensor(8, 1),
        "TensorType.shape",
        "the lengths differ",
    ),
    "view": (
        lambda: tile(ir.TileView()),
        tile,
        "TileType.tile_view",
        "TileView is not NoneType",
    ),
    "layout": (
        lambda: tile(ir.TileView()),
        lambda: tile(ir.TileView(blayout=ir.TileLayout.col_major)),
        "TileType.tile_view.blayout",
        "the values differ",
    ),
    "tuple types": (
        lambda: ir.TupleType([INT]),
        lambda: ir.TupleType([FP32]),
        "TupleType.types[0].dtype",
        "the values differ",
    ),
    "roots of other classes": (
        lambda: ir.OpStmts([assign(x, 1)]),
        lambda: seq(assign(x, 1)),
        "OpStmts",
        "OpStmts is not SeqStmts",
    ),
    "number of statements": (
        lambda: function([], assign(x, 1)),
        lambda: function([], assign(x, 1), assign(y, 2)),
        "Function.body",
        "the numbers of statements differ",
    ),
    "which variable is read": (
        lambda: accumulate(x, y),
        lambda: function([], assign(x, 1), assign(y, x + 1), ir.ReturnStmt([x])),
        "Function.body[2].value[0]",
        "the variables do not correspond",
    ),
    "assigned again or anew": (
        lambda: function([], assign(x, 1), assign(x, 2)),
        lambda: function([], assign(x, 1), assign(y, 2)),
        "Function.body[1].var",
        "the variables do not correspond",
    ),
    "deep inside a loop": (
        lambda: loop_sum(step=1),
        lambda: loop_sum(step=2),
        "Function.body[1].step.value",
        "the values differ",
    ),
    "kind of loop": (
        lambda: ir.ForStmt(x, 0, 1, 1, [], seq(), []),
        lambda: ir.ForStmt(x, 0, 1, 1, [], seq(), [], kind=ir.ForKind.Parallel),
        "ForStmt.kind",
        "the values differ",
    ),
    "kind of function": (
        lambda: ir.Function("f", [], [], seq()),
        lambda: ir.Function("f", [], [], seq(), type=ir.FunctionType.InCore),
        "Function.func_type",
        "the values differ",
    ),
    "direction": (
        lambda: function([x]),
        lambda: function([(x, ir.ParamDirection.Out)]),
        "Function.param_directions[0]",
        "the values differ",
    ),
    "type of a parameter": (
        lambda: function([x]),
        lambda: function([f32]),
        "Function.params[0].dtype",
        "the values differ",
    ),
    "one dimension or two": (
        lambda: function([var("p", tensor(x, x))]),
        lambda: function([var("p", tensor(x, y))]),
        "Function.params[0].shape[1]",
        "the variables do not correspond",
    ),
    "names of functions": (
        lambda: program(function([], name="f")),
        lambda: program(function([], name="g")),
        "Program",
        "the functions have other names",
    ),
    "attributes": (
        lambda: ir.Program([], attrs={"a": {"b": 1}}),
        lambda: ir.Program([], attrs={"a": {"b": 2}}),
        "Program.attrs['a']['b']",
        "the values differ",
    ),
    "entry": (
        lambda: ir.Program([], entry="f"),
        lambda: ir.Program([]),
        "Program.entry",
        "str is not NoneType",
    ),
    "memrefs": (
        lambda: ir.EvalStmt(mem),
        lambda: ir.EvalStmt(ir.MemRef(ir.MemorySpace.Vec, 64, 64, 1)),
        "EvalStmt.expr.addr_.value",
        "the values differ",
    ),
}


@pytest.mark.parametrize(("left", "right", "path", "reason"), DIFFERENT.values(), ids=DIFFERENT)
def test_different(left: Make, right: Make, path: str, reason: str) -> None:
    """Structures that differ say where and why; the comparison is symmetric."""
    a, b = left(), right()
    assert not ir.structural_equal(a, b)
    assert not ir.structural_equal(b, a)
    with pytest.raises(ValueError, match="structures differ") as caught:
        ir.assert_structural_equal(a, b)
    assert str(caught.value).splitlines()[0] == f"structures differ at {path}: {reason}"


def test_difference_shows_both_sides() -> None:
    """The error has the text of both differing parts."""
    with pytest.raises(ValueError, match="differ") as caught:
        ir.assert_structural_equal(assign(x, y + 1), assign(x, y + ir.Abs(y, ir.INT64)))
    assert str(caught.value) == (
        "structures differ at AssignStmt.value.right: ConstInt is not Abs\n"
        "  left:  1\n"
        "  right: abs(y)"
    )


MAPPED: dict[str, tuple[ir.Expr, ir.Expr, bool]] = {
    "other variables": (x + y, y + z, True),
    "exchanged": (x + y, y + x, True),
    "one and two": (x + x, x + y, False),
    "two and one": (x + y, x + x, False),
    "the same object twice": (x * y + x, x * y + z, False),
    "types differ": (x + x, ir.Add(f32, f32, ir.INT64), False),
    "memrefs": (mem, ir.MemRef(ir.MemorySpace.Vec, 0, 64, 9), True),
    "memrefs elsewhere": (mem, ir.MemRef(ir.MemorySpace.Vec, 8, 64, 9), False),
}


@pytest.mark.parametrize(("left", "right", "same"), MAPPED.values(), ids=MAPPED)
def test_auto_mapping(left: ir.Expr, right: ir.Expr, same: bool) -> None:
    """With the flag free variables correspond one to one; the hash does not count their types."""
    assert ir.structural_equal(left, right, enable_auto_mapping=True) is same
    hashes = [ir.structural_hash(side, enable_auto_mapping=True) for side in (left, right)]
    assert (hashes[0] == hashes[1]) is (same or left is MAPPED["types differ"][0])


def test_hash_tells_different_structures_apart() -> None:
    """No two of the different structures above have the same hash."""
    hashes = [ir.structural_hash(make()) for row in DIFFERENT.values() for make in row[:2]]
    pairs = list(zip(hashes[::2], hashes[1::2], strict=True))
    assert all(a != b for a, b in pairs)


def test_kinds_do_not_mix() -> None:
    """Nodes are compared with nodes, types with types, and nothing with None."""
    pairs: list[tuple[Any, Any]] = [(x, INT), (INT, x), (x, None), (None, None), (1, 1)]
    for left, right in pairs:
        with pytest.raises(TypeError, match="takes two IR nodes or two types"):
            ir.structural_equal(left, right)
    with pytest.raises(TypeError, match="takes two IR nodes or two types"):
        ir.structural_hash(None)


def test_type_operator() -> None:
    """``==`` between types is structural; with anything else it is False."""
    assert tensor(8, 8) == tensor(8, 8)
    assert tensor(8, 8) != tensor(8, 4)
    assert tensor(8, x) == tensor(8, x)
    assert tensor(8, x) != tensor(8, y)
    assert tile(ir.TileView()) != tile()
    assert INT != BOOL
    assert len({INT: 1, ir.ScalarType(ir.INT64): 2}) == 1
    assert INT != 3


def test_large_programs_compare() -> None:
    """10,000 statements and 200 nested loops are compared without recursion over them."""

    def make() -> ir.SeqStmts:
        deep: ir.Stmt = seq()
        for _ in range(200):
            deep = ir.ForStmt(var("i"), 0, 1, 1, [], deep, [])
        chain: ir.Expr = x
        for number in range(5_000):
            chain = chain + number
        return seq(*[assign(var("v"), n) for n in range(10_000)], deep, assign(var("w"), chain))

    assert ir.structural_equal(make(), make())
    assert ir.structural_hash(make()) == ir.structural_hash(make())


def test_difference_too_deep_to_be_printed() -> None:
    """If the printer rejects a side for its depth, path and reason are still reported."""
    chain: ir.Expr = x
    for _ in range(10_000):
        chain = -chain
    with pytest.raises(ValueError, match="structures differ") as caught:
        ir.assert_structural_equal(assign(y, chain), assign(y, x + 1))
    assert str(caught.value) == (
        "structures differ at AssignStmt.value: Neg is not Add\n"
        "  left:  (this Neg nests too deeply to be printed)\n"
        "  right: x + 1"
    )
