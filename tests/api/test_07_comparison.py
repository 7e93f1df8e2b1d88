"""API section 7: structural equality, hash, and the first difference."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pypto import ir
from tests import effort
from tests.api.facts import Refused, Table, check, rows
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var

x, y, z, flag = var("x"), var("y"), var("z"), var("flag", BOOL)
single = var("f", FP32)
SPAN = ir.Span("k.py", 3, 4)
mem = ir.MemRef(ir.MemorySpace.Vec, 0, 256, 1)


def same(left: Any, right: Any, auto: bool = False, *, alike: bool = False) -> bool:
    """Compare in both directions, and check that hash and first difference agree.

    ``alike`` nodes differ in what the hash ignores: the types of mapped variables.
    """
    equal = ir.structural_equal(left, right, auto)
    assert ir.structural_equal(right, left, auto) is equal
    hashes = ir.structural_hash(left, auto), ir.structural_hash(right, auto)
    if equal:
        assert hashes[0] == hashes[1]
        ir.assert_structural_equal(left, right, auto)
    else:
        assert (hashes[0] == hashes[1]) is alike
        with pytest.raises(ValueError, match="structures differ at "):
            ir.assert_structural_equal(left, right, auto)
    return equal


def call(**kwargs: Any) -> ir.Call:
    return ir.Call(ir.Op("o"), [x], kwargs)


def tile(view: ir.TileView | None = None, memref: ir.MemRef | None = None) -> ir.TileType:
    return ir.TileType([8, 8], ir.FP32, memref, view)


def const(value: float, dtype: ir.DataType = ir.FP32) -> ir.ConstFloat:
    return ir.ConstFloat(value, dtype)


def of(direction: ir.ParamDirection, kind: ir.FunctionType = ir.FunctionType.Opaque) -> ir.Function:
    return ir.Function("f", [(var("p"), direction)], [], seq(), type=kind)


def loop(kind: ir.ForKind, target: str = "i") -> ir.Function:
    i = var(target)
    return function([], ir.ForStmt(i, 0, 4, 1, [], ir.EvalStmt(i + 1), [], kind=kind))


def while_sum(name: str) -> ir.Function:
    arg, result = ir.IterArg(name, INT, 9), var(name)
    body = ir.YieldStmt([arg - 1])
    return function([], ir.WhileStmt(arg > 1, [arg], body, [result]), ir.ReturnStmt([result]))


def branches(first: str, second: str) -> ir.Function:
    a, b = var(first), var(second)
    yields = ir.YieldStmt([1, 2]), ir.YieldStmt([3, 4])
    return function([], ir.IfStmt(ir.ConstBool(True), *yields, [a, b]), ir.ReturnStmt([b, a]))


EQUALITY: Table = {
    # local names
    "names of assigned variables": (
        lambda: same(
            function([], assign(x, 1), ir.ReturnStmt([x])),
            function([], assign(y, 1), ir.ReturnStmt([y])),
        ),
        True,
    ),
    "names of loop variables": (
        lambda: same(loop(ir.Sequential, "i"), loop(ir.Sequential, "j")),
        True,
    ),
    "names of iter_args, results and parameters": (
        lambda: same(loop_sum("a", body_name="n"), loop_sum("b", body_name="m")),
        True,
    ),
    "names of a while's values": (lambda: same(while_sum("a"), while_sum("b")), True),
    "names of a branch's results": (lambda: same(branches("a", "b"), branches("c", "d")), True),
    "one variable or two": (
        lambda: same(
            function([], assign(x, 1), assign(x, 2)), function([], assign(x, 1), assign(y, 2))
        ),
        False,
    ),
    "which parameter": (
        lambda: same(function([x, y], ir.ReturnStmt([x])), function([x, y], ir.ReturnStmt([y]))),
        False,
    ),
    "types of defined variables": (lambda: same(function([x]), function([single])), False),
    # free variables
    "the same free variable": (lambda: same(x + 1, x + 1), True),
    "another free variable": (lambda: same(x + 1, y + 1), False),
    "another free variable, mapped": (lambda: same(x + 1, y + 1, auto=True), True),
    "exchanged, mapped": (lambda: same(x - y, y - x, auto=True), True),
    "two onto one": (lambda: same(x + y, z + z, auto=True), False),
    "one onto two": (lambda: same(z + z, x + y, auto=True), False),
    "the same object at first, A6": (lambda: same(x + x, x + y, auto=True), False),
    "the same object at last, A6": (lambda: same(y + x, x + x, auto=True), False),
    "a whole equal part at first, A6": (lambda: same((x + y) * x, (x + y) * z, auto=True), False),
    "mapped variables of other types": (
        lambda: same(ir.EvalStmt(x), ir.EvalStmt(single), auto=True, alike=True),
        False,
    ),
    "initial values of mapped iter_args": (
        lambda: same(
            ir.EvalStmt(ir.IterArg("a", INT, 0)),
            ir.EvalStmt(ir.IterArg("a", INT, 1)),
            auto=True,
            alike=True,
        ),
        False,
    ),
    # ignored
    "spans": (lambda: same(ir.AssignStmt(x, 1, SPAN), assign(x, 1)), True),
    "name of a variable object": (lambda: same(ir.EvalStmt(x), ir.EvalStmt(x)), True),
    "name of a function": (lambda: same(function([], name="f"), function([], name="g")), True),
    "name of a program": (lambda: same(program(name="P"), program(name="Q")), True),
    "names that key functions": (
        lambda: same(program(function([], name="f")), program(function([], name="g"))),
        False,
    ),
    "number of a memref": (lambda: same(mem, ir.MemRef(ir.MemorySpace.Vec, 0, 256, 2)), True),
    "memref of a tensor": (
        lambda: same(ir.TensorType([8], ir.FP32, mem), ir.TensorType([8], ir.FP32)),
        True,
    ),
    "view of a tensor": (
        lambda: same(
            ir.TensorType([8], ir.FP32, None, ir.TensorView([1], ir.DN)),
            ir.TensorType([8], ir.FP32),
        ),
        True,
    ),
    "memref of a tile": (lambda: same(tile(memref=mem), tile()), True),
    # compared
    "node class": (lambda: same(x + y, x - y), False),
    "element type of a constant": (
        lambda: same(ir.ConstInt(1, ir.INT8), ir.ConstInt(1, ir.INT16)),
        False,
    ),
    "value of a constant": (lambda: same(ir.ConstInt(1), ir.ConstInt(2)), False),
    "int and bool": (lambda: same(ir.ConstInt(1), ir.ConstBool(True)), False),
    "int and float": (lambda: same(ir.ConstInt(1), const(1.0)), False),
    "NaN": (lambda: same(const(math.nan), const(math.nan)), True),
    "NaN and a number": (lambda: same(const(math.nan), const(0.0)), False),
    "infinities": (lambda: same(const(math.inf), const(-math.inf)), False),
    "0.0 and -0.0": (lambda: same(const(0.0), const(-0.0)), False),
    "-0.0": (lambda: same(const(-0.0), const(-0.0)), True),
    "neighbouring floats": (lambda: same(const(0.1), const(math.nextafter(0.1, 1))), False),
    "name of the op": (lambda: same(ir.Call(ir.Op("a"), []), ir.Call(ir.Op("b"), [])), False),
    "op and function of one name": (
        lambda: same(ir.Call(ir.Op("a"), []), ir.Call(ir.GlobalVar("a"), [])),
        True,
    ),
    "keywords": (lambda: same(call(a=1, b=0.5, c="t"), call(a=1, b=0.5, c="t")), True),
    "order of keywords": (lambda: same(call(a=1, b=2), call(b=2, a=1)), False),
    "name of a keyword": (lambda: same(call(a=1), call(b=1)), False),
    "value of a keyword": (lambda: same(call(a=1), call(a=2)), False),
    "1 and True in a keyword": (lambda: same(call(a=1), call(a=True)), False),
    "1 and 1.0 in a keyword": (lambda: same(call(a=1), call(a=1.0)), False),
    "NaN in a keyword": (lambda: same(call(a=math.nan), call(a=math.nan)), True),
    "memory spaces in keywords, A5": (lambda: same(call(m=ir.Vec), call(m=ir.Mat)), False),
    "older names of memory spaces": (lambda: same(call(m=ir.Vec), call(m=ir.MemorySpace.UB)), True),
    "element types in keywords": (lambda: same(call(d=ir.FP16), call(d=ir.BF16)), False),
    "a pipe and its number": (lambda: same(call(p=ir.PipeType.V), call(p=4)), True),
    "dicts in keywords": (
        lambda: same(call(t={"M": [1, {"N": 2}]}), call(t={"M": [1, {"N": 2}]})),
        True,
    ),
    "values of dicts": (
        lambda: same(call(t={"M": [1, {"N": 2}]}), call(t={"M": [1, {"N": 3}]})),
        False,
    ),
    "keys of dicts": (lambda: same(call(t={"M": 1}), call(t={"N": 1})), False),
    "an empty dict and an empty list": (lambda: same(call(t={}), call(t=[])), False),
    "length of a list": (lambda: same(call(t=[1]), call(t=[1, 1])), False),
    "variables in keywords": (lambda: same(call(v=x), call(v=y)), False),
    "length of a tuple": (lambda: same(ir.MakeTuple([x]), ir.MakeTuple([x, x])), False),
    "index of an item": (
        lambda: same(ir.TupleGetItemExpr(var_pair, 0), ir.TupleGetItemExpr(var_pair, 1)),
        False,
    ),
    "tile view and none": (lambda: same(tile(ir.TileView()), tile()), False),
    "tile views without start offset, A1": (
        lambda: same(tile(ir.TileView([8, 8])), tile(ir.TileView([8, 8]))),
        True,
    ),
    "start offset and none": (
        lambda: same(tile(ir.TileView([8, 8], [], 0)), tile(ir.TileView([8, 8]))),
        False,
    ),
    "start offsets": (
        lambda: same(tile(ir.TileView([8, 8], [], 0)), tile(ir.TileView([8, 8], [], 4))),
        False,
    ),
    "valid shape": (lambda: same(tile(ir.TileView([8, x])), tile(ir.TileView([8, y]))), False),
    "layout of a tile": (
        lambda: same(tile(ir.TileView(blayout=ir.col_major)), tile(ir.TileView())),
        False,
    ),
    "padding of a tile": (lambda: same(tile(ir.TileView(pad=ir.zero)), tile(ir.TileView())), False),
    "direction": (lambda: same(of(ir.In), of(ir.Out)), False),
    "kind of a function": (lambda: same(of(ir.In), of(ir.In, ir.FunctionType.InCore)), False),
    "kind of a loop": (lambda: same(loop(ir.Sequential), loop(ir.Parallel)), False),
    "scope": (lambda: same(ir.ScopeStmt(ir.InCore, ir.BreakStmt()), ir.BreakStmt()), False),
    "memory of a memref": (lambda: same(mem, ir.MemRef(ir.Mat, 0, 256, 1)), False),
    "address of a memref": (lambda: same(mem, ir.MemRef(ir.Vec, 32, 256, 1)), False),
    "size of a memref": (lambda: same(mem, ir.MemRef(ir.Vec, 0, 128, 1)), False),
    "attributes of a program": (
        lambda: same(ir.Program([], attrs={"t": {"M": 1}}), ir.Program([], attrs={"t": {"M": 2}})),
        False,
    ),
    "entry of a program": (
        lambda: same(ir.Program([function([])], entry="f"), program(function([]))),
        False,
    ),
    # types
    "equal types": (
        lambda: same(ir.TensorType([8, x], ir.FP16), ir.TensorType([8, x], ir.FP16)),
        True,
    ),
    "element types": (lambda: same(INT, FP32), False),
    "tensor and tile": (lambda: same(ir.TensorType([8, 8], ir.FP32), tile()), False),
    "tuples": (lambda: same(ir.TupleType([INT, FP32]), ir.TupleType([INT, INT])), False),
}

var_pair = var("pair", ir.TupleType([INT, INT]))


@rows(EQUALITY)
def test_equality(make: Callable[[], Any], wanted: Any) -> None:
    """What makes two structures equal; hash and first difference agree with it."""
    check(make, wanted)


KINDS: Table = {
    "a node and a type": (
        lambda: ir.structural_equal(x, INT),
        Refused(TypeError, "got Var and ScalarType"),
    ),
    "a type and a node": (
        lambda: ir.structural_equal(INT, x),
        Refused(TypeError, "got ScalarType and Var"),
    ),
    "None": (lambda: ir.structural_equal(x, None), Refused(TypeError, "got Var and NoneType")),
    "None twice": (lambda: ir.structural_equal(None, None), Refused(TypeError, "got NoneType")),
    "hash of None": (lambda: ir.structural_hash(None), Refused(TypeError, "got NoneType")),
    "assertion on None": (
        lambda: ir.assert_structural_equal(x, None),
        Refused(TypeError, "got Var and NoneType"),
    ),
    "assertion that holds": (lambda: ir.assert_structural_equal(kernel(), kernel()), None),
    "hash is an int of 64 bits": (lambda: 0 <= ir.structural_hash(kernel()) < 1 << 64, True),
    "hash of a type": (
        lambda: ir.structural_hash(INT) == ir.structural_hash(ir.ScalarType(ir.INDEX)),
        True,
    ),
    "flag by keyword": (lambda: ir.structural_equal(lhs=x, rhs=y, enable_auto_mapping=True), True),
}


@rows(KINDS)
def test_kinds(make: Callable[[], Any], wanted: Any) -> None:
    """Only two nodes or two types can be compared."""
    check(make, wanted)


def reported(left: Any, right: Any, auto: bool = False) -> list[str]:
    with pytest.raises(ValueError, match="structures differ") as caught:
        ir.assert_structural_equal(left, right, auto)
    return str(caught.value).splitlines()


def returning(*values: Any) -> ir.Function:
    return function([], assign(x, 1), ir.ReturnStmt(values))


REPORTS: Table = {
    "operand": (
        lambda: reported(assign(x, y + 1), assign(x, y + 2)),
        [
            "structures differ at AssignStmt.value.right.value: the values differ",
            "  left:  1",
            "  right: 2",
        ],
    ),
    "returned value": (
        lambda: reported(ir.ReturnStmt([1]), ir.ReturnStmt([1.0])),
        [
            "structures differ at ReturnStmt.value[0]: ConstInt is not ConstFloat",
            "  left:  1",
            "  right: 1.0",
        ],
    ),
    "deep in a program": (
        lambda: reported(program(returning(x, x + 1)), program(returning(x, x * 1))),
        [
            "structures differ at Program.functions_[0].body[1].value[1]: Add is not Mul",
            "  left:  x + 1",
            "  right: x * 1",
        ],
    ),
    "names of functions": (
        lambda: reported(program(function([], name="f")), program(function([], name="g")))[0],
        "structures differ at Program: the functions have other names",
    ),
    "number of statements": (
        lambda: reported(function([], assign(x, 1)), function([]))[0],
        "structures differ at Function.body: the numbers of statements differ",
    ),
    "free variables": (
        lambda: reported(x + 1, y + 1),
        [
            "structures differ at Add.left: free variables differ; enable_auto_mapping=True "
            "lets them correspond",
            "  left:  x",
            "  right: y",
        ],
    ),
    "mapping that is not one to one": (
        lambda: reported(x + x, x + y, auto=True),
        [
            "structures differ at Add.right: the variables do not correspond",
            "  left:  x",
            "  right: y",
        ],
    ),
    "keyword": (
        lambda: reported(call(t={"M": [16]}), call(t={"M": [32]})),
        [
            "structures differ at Call.kwargs['t']['M'][0]: the values differ",
            "  left:  16",
            "  right: 32",
        ],
    ),
    "type": (
        lambda: reported(ir.TensorType([8, 4], ir.FP32), ir.TensorType([8, 5], ir.FP32)),
        [
            "structures differ at TensorType.shape[1]: the dimensions differ",
            "  left:  4",
            "  right: 5",
        ],
    ),
}


@rows(REPORTS)
def test_reports(make: Callable[[], Any], wanted: Any) -> None:
    """The error has the path to the first difference, a reason, and both sides."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# The hash in other processes
# --------------------------------------------------------------------------------------------

HASHES = """
import sys
from pypto import ir
from tests.api.test_07_comparison import call, hashed
for node in hashed():
    print(ir.structural_hash(node), ir.structural_hash(node, True))
"""


def hashed() -> list[Any]:
    """Return nodes containing texts, enumerations, floats, free variables and types."""
    return [
        kernel(),
        program(loop_sum(), kernel()),
        x + y * x,
        call(a="text", m=ir.Vec, d=ir.BF16, f=-0.0, n=None, t={"M": (1, [2])}),
        tile(ir.TileView([8, 8], pad=ir.TilePad.max)),
        ir.Program([], attrs={"tile": {"M": 16}}),
    ]


def in_process(seed: str) -> str:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "src"), str(root)])
    done = subprocess.run(
        [sys.executable, "-c", HASHES],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_hash_is_the_same_in_every_process() -> None:
    """Two processes with other hash seeds get the same hashes as this one."""
    here = "".join(f"{ir.structural_hash(n)} {ir.structural_hash(n, True)}\n" for n in hashed())
    assert len(set(here.split())) > len(hashed())
    assert in_process("0") == here
    assert in_process("4321") == here


def test_hash_spreads() -> None:
    """2,000 programs that differ in one constant have 2,000 hashes."""
    hashes = {ir.structural_hash(function([x], assign(y, x + n))) for n in range(2_000)}
    assert len(hashes) == 2_000


# --------------------------------------------------------------------------------------------
# Depth
# --------------------------------------------------------------------------------------------


def chain(step: Callable[[ir.Expr], ir.Expr], last: ir.Expr = x) -> ir.Expr:
    for _ in range(10_000):
        last = step(last)
    return last


def nest(step: Callable[[ir.Stmt], ir.Stmt], value: int) -> ir.Stmt:
    stmt: ir.Stmt = assign(y, value)
    for _ in range(2_000):
        stmt = step(stmt)
    return stmt


def tuples(last: ir.Expr) -> ir.Expr:
    for _ in range(1_500):
        last = ir.MakeTuple([last])
    return last


DEEP: dict[str, Callable[[int], ir.IRNode]] = {
    "sums to the left": lambda n: chain(lambda e: e + 1, x + n),
    "sums to the right": lambda n: chain(lambda e: 1 + e, x + n),
    "negatives": lambda n: chain(lambda e: -e, x + n),
    "calls": lambda n: chain(lambda e: ir.Call(ir.Op("o"), [e], INT), x + n),
    "tuples": lambda n: tuples(x + n),
    "dimensions": lambda n: ir.EvalStmt(
        ir.Call(ir.Op("o"), [], ir.TensorType([chain(lambda e: e + 1, x + n)], ir.FP32))
    ),
    "ifs": lambda n: nest(lambda s: ir.IfStmt(flag, s, None), n),
    "elses": lambda n: nest(lambda s: ir.IfStmt(flag, ir.BreakStmt(), s), n),
    "loops": lambda n: nest(lambda s: ir.ForStmt(z, 0, 4, 1, [], s, []), n),
    "whiles": lambda n: nest(lambda s: ir.WhileStmt(flag, [], s), n),
    "scopes": lambda n: nest(lambda s: ir.ScopeStmt(ir.InCore, s), n),
    "sequences": lambda n: nest(lambda s: ir.SeqStmts([s, ir.BreakStmt()]), n),
}


@pytest.mark.parametrize("kind", effort.part(DEEP, 3))
def test_depth(kind: str) -> None:
    """Depth costs no recursion: 10,000 nested expressions or 2,000 nested statements."""
    make = DEEP[kind]
    assert ir.structural_equal(make(1), make(1))
    assert ir.structural_hash(make(1)) == ir.structural_hash(make(1))
    assert not ir.structural_equal(make(1), make(2))
    assert ir.structural_hash(make(1)) != ir.structural_hash(make(2))
