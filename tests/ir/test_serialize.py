"""IR to bytes and back: what is preserved, and how damaged bytes are handled."""

from __future__ import annotations

import math
import os
import random
import struct
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto._src.commands.example_cases import Case, cases
from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import InternalError, PyptoError
from pypto._src.ir.array_types import exprs_of_type
from pypto._src.ir.exprs import IRNode, Op
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.serialization.tokens import MAGIC, SCHEMA, SerializeError
from pypto._src.ir.traversal.walk import copy_with, walk
from pypto._src.lazy import lazy_module
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy
from tests.ir.samples import INT, assign, function, kernel, loop_sum, seq, var
from tests.passes import scalars
from tests.passes.build import random_kernel

msgpack = lazy_module("msgpack")
ROOT = Path(__file__).parents[2]
EXAMPLES = cases(ROOT / "examples")
SPAN = Span("a.py", 3, 4, 5, 6)


def place(span: Span) -> tuple[str, int, int, int, int]:
    ends = (span.end_line, span.end_column)
    return (span.filename, span.begin_line, span.begin_column, *ends)


def facts(root: IRNode) -> list[tuple[Any, ...]]:
    """Return class, identity (by first appearance), name, type and location of every node.

    Constants have no identity: equal ones come back as one object.
    """
    seen: dict[int, int] = {}

    def number(node: object) -> object:
        if isinstance(node, ir.ConstInt | ir.ConstFloat | ir.ConstBool):
            return repr(node.value), node.dtype, place(node.span)
        return seen.setdefault(id(node), len(seen))

    rows: list[tuple[Any, ...]] = []
    for node in walk(root):
        kind: Any = getattr(node, "type", None)
        parts = [number(e) for e in exprs_of_type(kind)] if isinstance(kind, ir.Type) else []
        memref = number(kind.memref) if isinstance(kind, ir.ShapedType) and kind.memref else None
        name = getattr(node, "name", None)
        rows.append((type(node), number(node), name, parts, memref, place(node.span)))
    return rows


def again(node: IRNode, *, mapped: bool = True) -> Any:
    """Return ``node`` after a round trip with all checks."""
    data = ir.serialize(node)
    back = ir.deserialize(data)
    assert type(back) is type(node)
    assert ir.serialize(back) == data
    assert ir.serialize(node) == data
    assert ir.structural_equal(node, back, enable_auto_mapping=mapped)
    assert str(back) == str(node)
    assert facts(back) == facts(node)
    return back


def repack(change: Callable[[list[Any]], None], node: IRNode | None = None) -> bytes:
    """Return serialised IR whose values were edited by ``change``."""
    tokens: list[Any] = msgpack.unpackb(ir.serialize(loop_sum() if node is None else node))
    change(tokens)
    return msgpack.packb(tokens)


def small_program() -> ir.Program:
    return ir.Program([loop_sum(), kernel()], "P", SPAN, attrs={"level": 3}, entry="f")


# --------------------------------------------------------------------------------------------
# Round trips
# --------------------------------------------------------------------------------------------


def test_program_keeps_its_parts() -> None:
    """Name, attributes, entry, location and the global variables are preserved."""
    n = var("n")
    callee = function([n], ir.ReturnStmt([n]), name="callee", results=[INT])
    program_ = ir.Program(
        [callee], "P", SPAN, attrs={"b": 1, "a": [1, ("x", None)]}, entry="callee"
    )
    call = ir.Call(program_.globals_["callee"], [1], INT)
    caller = function([], assign(var("r"), call), name="caller")
    back = again(program_)
    assert (back.name, back.entry, place(back.span)) == ("P", "callee", place(SPAN))
    assert list(back.attrs.items()) == [("b", 1), ("a", [1, ("x", None)])]
    assert list(back.functions) == [back.get_global_var("callee")]
    assert type(again(caller).body.stmts[0].value.op) is ir.GlobalVar


def test_registered_ops_come_back_as_the_objects() -> None:
    """A registered op is found by name; a bare op stays bare, even with a registered name."""
    back = again(kernel())
    found = [n.op for n in walk(back) if isinstance(n, ir.Call)]
    assert [op is ir.get_op(op.name) for op in found] == [True] * len(found)
    assert len(found) == 3
    bare = again(ir.Call(Op("block.add"), [var("x")], INT))
    assert type(bare.op) is Op
    assert bare.op.name == "block.add"


def test_unknown_registered_op_becomes_bare() -> None:
    """An op missing from this registry comes back as an op without facts."""
    gone = OpDef[..., Any]("block.gone", level="block")
    back: Any = ir.deserialize(ir.serialize(ir.Call(gone, [var("x")], INT)))
    assert type(back.op) is Op
    assert back.op.name == "block.gone"


KWARGS: dict[str, Any] = {
    "z": ir.MemorySpace.Acc,
    "a": ir.FP16,
    "pipe": ir.PipeType.MTE2,
    "pad": ir.TilePad.max,
    "yes": True,
    "one": 1,
    "float": 1.0,
    "least": -(1 << 63),
    "most": (1 << 64) - 1,
    "text": "é\n\udc80",
    "nothing": None,
    "shape": (1, [2, 3.5], ()),
    "tile": {"M": 16, "deep": {"on": [True, ir.FP16]}, "none": {}},
}


def test_keywords_keep_order_and_kinds() -> None:
    """Keywords come back in order, each with the type it had."""
    back: Any = ir.deserialize(ir.serialize(ir.Call(Op("f"), [], KWARGS)))
    assert list(back.kwargs.items()) == list(KWARGS.items())
    assert [type(v) for v in back.kwargs.values()] == [type(v) for v in KWARGS.values()]


def test_node_in_a_keyword_is_shared() -> None:
    """A variable inside a keyword is the same object as in the operands."""
    x = var("x")
    back: Any = ir.deserialize(ir.serialize(ir.Call(Op("f"), [x], {"axes": (x, [x])})))
    assert back.kwargs["axes"][0] is back.kwargs["axes"][1][0] is back.args[0]


FLOATS = [0.0, -0.0, math.inf, -math.inf, math.nan, 0.1, 5e-324, 1.7976931348623157e308]


@pytest.mark.parametrize("value", FLOATS)
def test_floats_are_exact(value: float) -> None:
    """Every bit of a float is preserved, in a constant and in a keyword."""
    bits = struct.pack(">d", value)
    call = ir.Call(Op("f"), [ir.ConstFloat(value, ir.FP16)], {"value": value})
    back: Any = ir.deserialize(ir.serialize(call))
    assert struct.pack(">d", back.args[0].value) == bits
    assert struct.pack(">d", back.kwargs["value"]) == bits
    assert back.args[0].dtype is ir.FP16


@pytest.mark.parametrize("value", [0, -1, 1 << 62, (1 << 63) - 1, -(1 << 63)])
def test_integers_are_exact(value: int) -> None:
    """The whole signed 64-bit range is preserved, with its element type."""
    back = again(ir.ConstInt(value, ir.INT32))
    assert (back.value, back.dtype) == (value, ir.INT32)
    assert again(ir.ConstBool(value == 0)).value is (value == 0)


def test_types_and_views_come_back() -> None:
    """Memory references, views and directions are preserved, and so is sharing of objects."""
    rows = var("rows")
    buffer = ir.MemRef(ir.Vec, rows * 4, 4096, 7, SPAN)
    view = ir.TileView([rows, 16], [16, 1], rows, ir.col_major, ir.row_major, 1024, ir.max)
    tile = ir.TileType([16, 16], ir.FP16, buffer, view)
    tensor = ir.TensorType([rows, 16], ir.FP16, buffer, ir.TensorView([rows, 1], ir.NZ))
    x = ir.Var("x", tile, SPAN)
    y = ir.Var("y", tensor)
    params = [(x, ir.Out), (y, ir.InOut), rows]
    results = [ir.TupleType([tile, tensor]), ir.UnknownType()]
    node = ir.Function("f", params, results, ir.ReturnStmt([]), SPAN, ir.Orchestration)
    back = ir.deserialize(ir.serialize(node))
    assert isinstance(back, ir.Function)
    bx, by, brows = back.params
    assert back.param_directions == (ir.Out, ir.InOut, ir.In)
    assert back.func_type is ir.Orchestration
    assert isinstance(bx.type, ir.TileType)
    assert isinstance(by.type, ir.TensorType)
    memref, tile_view, tensor_view = bx.type.memref, bx.type.tile_view, by.type.tensor_view
    assert memref is not None
    assert tile_view is not None
    assert tensor_view is not None
    assert bx.type.shares_memref_with(by.type)
    assert (memref.memory_space_, memref.size_, memref.id_) == (ir.Vec, 4096, 7)
    assert (memref.name, place(memref.span)) == ("mem_vec_7", place(SPAN))
    assert isinstance(memref.addr_, ir.Mul)
    assert memref.addr_.left is brows
    assert tile_view.valid_shape[0] is tile_view.start_offset is brows
    assert (tile_view.blayout, tile_view.slayout) == (ir.col_major, ir.row_major)
    assert (tile_view.fractal, tile_view.pad) == (1024, ir.max)
    assert tensor_view.stride[0] is brows
    assert tensor_view.layout is ir.NZ
    pair, unknown = back.return_types
    assert isinstance(pair, ir.TupleType)
    assert pair.types[0] is bx.type
    assert unknown is ir.UnknownType.get()


def test_spans_come_back() -> None:
    """Spans are preserved, and the unknown span stays a singleton."""
    back = again(seq(ir.BreakStmt(SPAN), ir.ContinueStmt()))
    assert place(back.stmts[0].span) == ("a.py", 3, 4, 5, 6)
    assert back.stmts[1].span is UNKNOWN_SPAN


def test_file_names_are_written_once() -> None:
    """A thousand locations in one file store its name once."""
    name = "kernels/softmax.py"
    stmts = [ir.BreakStmt(Span(name, line, 1)) for line in range(1, 1001)]
    assert ir.serialize(seq(*stmts)).count(name.encode()) == 1


def test_equal_variables_stay_two() -> None:
    """Two variables with the same name and type stay two; one used twice stays one."""
    x, other = var("x"), var("x")
    back = again(x + other)
    assert back.left is not back.right
    back = again(x + x)
    assert back.left is back.right


def test_values_are_written_once() -> None:
    """Bytes do not show which equal types and constants were one object; -0.0 and NaN are kept."""

    def statements(**shared: Any) -> Any:
        def kind() -> ir.TileType:
            view = ir.TileView([ir.ConstInt(8), ir.ConstInt(64)], [], None)
            return ir.TileType([ir.ConstInt(8), ir.ConstInt(64)], ir.FP32, None, view)

        def number(value: float) -> ir.ConstFloat:
            return ir.ConstFloat(value, ir.FP32, SPAN)

        kinds = [shared.get("kind") or kind() for _ in range(3)]
        numbers = [shared.get("number") or number(0.5) for _ in range(2)]
        numbers += [number(value) for value in (0.0, -0.0, math.nan, 1.0, math.copysign(0.0, -1))]
        tiles = [assign(ir.Var(f"t{at}", kind), var("n")) for at, kind in enumerate(kinds)]
        scalars = [assign(ir.Var(f"f{at}", each.type), each) for at, each in enumerate(numbers)]
        return seq(*tiles, *scalars)

    apart = statements()
    kind, number = apart.stmts[0].var.type, apart.stmts[3].value
    data = ir.serialize(apart)
    assert ir.serialize(statements(kind=kind, number=number)) == data
    back: Any = ir.deserialize(data)
    first, second, third = (stmt.var.type for stmt in back.stmts[:3])
    assert first is second is third
    values = [stmt.value for stmt in back.stmts[3:]]
    assert [repr(value.value) for value in values] == [
        "0.5",
        "0.5",
        "0.0",
        "-0.0",
        "nan",
        "1.0",
        "-0.0",
    ]
    assert values[0] is values[1]
    assert values[3] is values[6]
    assert len(set(map(id, values))) == 5


class Marker(ir.Stmt):
    """A statement that is unknown to the serialiser."""

    label: str
    weights: tuple[float, ...]
    target: ir.Var | None
    numbers: Mapping[str, int]

    def __init__(self, label: str, weights: tuple[float, ...], target: ir.Var | None) -> None:
        super().__init__(SPAN)
        values = {"label": label, "weights": weights, "target": target, "numbers": {"b": 1, "a": 2}}
        for name, value in values.items():
            object.__setattr__(self, name, value)


def test_new_node_class_joins_by_itself() -> None:
    """A new class is serialised from its annotations, base class fields included."""
    x = ir.Var("x", INT)
    marker = Marker("here", (0.5, -0.0), x)
    back: Any = ir.deserialize(ir.serialize(seq(marker, assign(x, 1), Marker("", (), None))))
    first, assigned, last = back.stmts
    assert type(first) is Marker
    assert (first.label, first.weights, place(first.span)) == ("here", (0.5, -0.0), place(SPAN))
    assert list(first.numbers.items()) == [("b", 1), ("a", 2)]
    assert first.target is assigned.var
    assert (last.label, last.weights, last.target) == ("", (), None)


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
@pytest.mark.parametrize("strategy", list(OptimizationStrategy))
def test_examples_after_every_pass(case: Case, strategy: OptimizationStrategy) -> None:
    """Every example is preserved, as written and after each pass."""
    current = case.program
    again(current, mapped=False)
    for _, make in PIPELINES[strategy]:
        current = make().run(current)
        again(current, mapped=False)


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 40))
def test_random_kernels(rng: random.Random, size: int) -> None:
    """Random kernels with tiles, loops and branches come back."""
    again(random_kernel(rng.randrange, size), mapped=False)


@settings(max_examples=60, deadline=None)
@given(scalars.sources(calls=True))
def test_random_scalar_programs(source: str) -> None:
    """Random programs of jumps, loops and reassigned variables come back."""
    again(scalars.program(source), mapped=False)


HASHED = """
from pypto import ir
from tests.ir.samples import kernel, loop_sum
kwargs = {"b": ir.Vec, "a": ir.FP16, "c": (1, "x")}
call = ir.Call(ir.GlobalVar("g"), [], kwargs)
stmts = [ir.EvalStmt(call, ir.Span(f"{n}.py", 1, 1)) for n in "dacb"]
main = ir.Function("main", [], [], stmts)
print(ir.serialize(ir.Program([loop_sum(), kernel(), main], attrs={"z": 1, "y": 2})).hex())
"""


def test_bytes_do_not_depend_on_the_process() -> None:
    """Processes with different hash seeds write the same bytes."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
    results: set[str] = set()
    for seed in ("0", "1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", HASHED],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        results.add(done.stdout)
    [text] = results
    assert isinstance(ir.deserialize(bytes.fromhex(text)), ir.Program)


def test_ops_are_found_in_a_fresh_process() -> None:
    """Reading loads the registry, even if nothing else did."""
    code = (
        "import sys\nfrom pypto import ir\n"
        "call = ir.deserialize(bytes.fromhex(sys.stdin.read())).expr\n"
        "print(call.op is ir.get_op('system.bar_all'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        input=ir.serialize(ir.EvalStmt(ir.create_op_call("system.bar_all", []))).hex(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_deep_expression() -> None:
    """Three thousand nested operators are preserved."""
    expr: Any = var("x")
    for _ in range(3000):
        expr = ir.Neg(expr, ir.INT64)
    data = ir.serialize(expr)
    back: Any = ir.deserialize(data)
    assert ir.serialize(back) == data
    depth = 0
    while isinstance(back, ir.Neg):
        back, depth = back.operand, depth + 1
    assert (depth, back.name) == (3000, "x")


def test_long_body() -> None:
    """Ten thousand statements, each using the previous one, are preserved."""
    x = var("x")
    stmts: list[ir.Stmt] = []
    for line in range(1, 10_001):
        y = ir.Var("x", INT, Span("f.py", line, 0))
        stmts.append(ir.AssignStmt(y, ir.Add(x, 1, ir.INT64), y.span))
        x = y
    body = seq(*stmts)
    back: Any = ir.deserialize(ir.serialize(body))
    assert ir.structural_equal(body, back, enable_auto_mapping=True)
    assert len(back.stmts) == 10_000
    uses = [stmt.value.left for stmt in back.stmts[1:]]
    assert all(use is stmt.var for use, stmt in zip(uses, back.stmts, strict=False))
    assert place(back.stmts[-1].span) == ("f.py", 10_000, 0, -1, -1)


# --------------------------------------------------------------------------------------------
# What cannot be written
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [INT, ir.TileView(), Op("f"), "text", None])
def test_only_nodes_are_written(value: Any) -> None:
    """A type, a view, an op and a Python value are not nodes."""
    with pytest.raises(TypeError, match=f"takes an IR node, got {type(value).__name__}"):
        ir.serialize(value)


class Colour(Enum):
    red = 1


def _strange(value: Any) -> ir.Call:
    """Return a call with a keyword that the constructor may reject."""
    return copy_with(ir.Call(Op("f"), []), {"kwargs": {"key": value}})


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object, "Call.kwargs holds <class 'object'>, wanted a number, text"),
        ({1}, r"Call.kwargs holds \{1\}, wanted a number, text"),
        (Colour.red, "wanted an enumeration of the IR"),
        (1 << 64, "an integer does not fit 64 bits"),
        ({1: 2}, "Call.kwargs holds 1, wanted str"),
        (_nested(40), "Call.kwargs holds 'lists', wanted no more than 32 in each other"),
    ],
)
def test_strange_keywords_are_refused(value: Any, message: str) -> None:
    """A keyword that is not valid IR data is rejected when it is written."""
    with pytest.raises(SerializeError, match=message):
        ir.serialize(_strange(value))


def test_wrong_field_is_refused() -> None:
    """A field whose value does not match its annotation is named."""
    kind = ir.TensorType([4], ir.FP32)
    object.__setattr__(kind, "dtype", "float")  # constructors reject it
    with pytest.raises(SerializeError, match=r"TensorType\.dtype holds 'float', wanted DataType"):
        ir.serialize(ir.Var("x", kind))


def test_circle_is_found() -> None:
    """A node manipulated to contain itself causes an error, not an infinite loop."""
    node = ir.Neg(var("x"), ir.INT64)
    object.__setattr__(node, "operand", ir.Neg(node, ir.INT64))
    with pytest.raises(InternalError, match="a Neg holds itself"):
        ir.serialize(node)


# --------------------------------------------------------------------------------------------
# What cannot be read
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data", [b"", b"\x00", b"PK\x03\x04", b"\x80\x04N.", b"\xdd\xff\xff\xff\xff", b"\xc1"]
)
def test_foreign_bytes(data: bytes) -> None:
    """Bytes in another format are reported as such, with the slug of this module."""
    with pytest.raises(SerializeError, match="these bytes are not serialised IR") as caught:
        ir.deserialize(data)
    assert isinstance(caught.value, PyptoError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.slug == "serialize"


def test_other_schema_is_refused() -> None:
    """The error names both schemas, whatever the newer one contains."""
    data: Any = msgpack.packb([MAGIC, SCHEMA + 1, [{"anything": []}]])
    expected = f"schema {SCHEMA + 1}, this version of pypto reads schema {SCHEMA}"
    with pytest.raises(SerializeError, match=expected):
        ir.deserialize(data)


@pytest.mark.parametrize("data", ["text", None, 3])
def test_only_bytes_are_read(data: Any) -> None:
    """A str is rejected; other bytes-like objects are accepted."""
    with pytest.raises(TypeError, match="deserialize takes bytes, got"):
        ir.deserialize(data)
    written = ir.serialize(loop_sum())
    assert ir.serialize(ir.deserialize(memoryview(bytearray(written)))) == written


def _swap(old: Any, new: Any) -> Callable[[list[Any]], None]:
    """Return a change of the first value that equals ``old``."""

    def change(tokens: list[Any]) -> None:
        at = next(i for i, t in enumerate(tokens) if type(t) is type(old) and t == old)
        tokens[at] = new

    return change


def _add(tokens: list[Any]) -> None:
    tokens.append(0)


def _drop(tokens: list[Any]) -> None:
    del tokens[-1]


def _item_three(tokens: list[Any]) -> None:
    tokens[-3] = 3


def _last(value: Any) -> Callable[[list[Any]], None]:
    """Return a change of the last value."""

    def change(tokens: list[Any]) -> None:
        tokens[-1] = value

    return change


@pytest.mark.parametrize(
    ("node", "change", "message"),
    [
        (loop_sum(), _swap("ForStmt", "Nothing"), "node class 'Nothing', which does not exist"),
        (loop_sum(), _swap("ForStmt", "Stmt"), "node class 'Stmt', which does not exist"),
        (loop_sum(), _swap("loop_var", "loop_vat"), "other fields for ForStmt"),
        (loop_sum(), _add, "the end holds 1 values too many"),
        (loop_sum(), _drop, "Function.span holds nothing, wanted int"),
        (loop_sum(), _last(9), "Function.span holds span 9 of 2"),
        (loop_sum(), _last("x"), "Function.span holds str, wanted int"),
        (loop_sum(), _last([0]), "it is not MessagePack"),
        (
            ir.YieldStmt([70, 71, 72, 73, 74]),
            _swap(5, 1 << 40),
            "YieldStmt.value holds 1099511627776 elements",
        ),
        (ir.ConstBool(True), _swap(True, 1), "ConstBool.value holds int, wanted bool"),
        (ir.ConstInt(77), _swap(77, 1 << 63), "a ConstInt holds a signed 64-bit value"),
        (ir.ConstInt(77), _swap(ir.INDEX.code(), 99), "element type 99, which does not exist"),
        (
            ir.TupleGetItemExpr(ir.MakeTuple([5, 6, 7]), 2),
            _item_three,
            "a TupleGetItemExpr names an item of a tuple",
        ),
    ],
)
def test_damage_is_named(node: IRNode, change: Any, message: str) -> None:
    """Each kind of damage gives an error with its position and the value found."""
    with pytest.raises(SerializeError) as caught:
        ir.deserialize(repack(change, node))
    assert message in str(caught.value)


def test_functions_of_a_program_stay_in_order() -> None:
    """A program with the same function twice is rejected, as by the constructor."""
    node = ir.Program([function([], name="alpha"), function([], name="omega")])

    def change(tokens: list[Any]) -> None:
        tokens[:] = ["alpha" if t == "omega" else t for t in tokens]

    with pytest.raises(SerializeError, match=r"Program\.globals_ holds key 'alpha' twice"):
        ir.deserialize(repack(change, node))


def test_huge_claims_allocate_nothing() -> None:
    """Headers that claim millions of elements, deeply nested, are rejected at the first."""
    data: Any = msgpack.packb([MAGIC, SCHEMA])
    claims = b"\xdd\x00\x0f\xff\xff" * 200_000
    tracemalloc.start()
    try:
        with pytest.raises(SerializeError, match="damaged"):
            ir.deserialize(b"\xdd\x00\x0f\xff\xff" + data[1:] + claims)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * len(claims)


def _mutated(data: bytes, rng: random.Random) -> bytes:
    blob = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 5])):
        at = rng.randrange(len(blob) or 1)
        match rng.randrange(5):
            case 0:
                blob[at:] = b""
            case 1:
                blob[at:at] = rng.randbytes(rng.randrange(1, 6))
            case 2:
                del blob[at : at + rng.randrange(1, 4)]
            case _ if blob:
                blob[at] ^= 1 << rng.randrange(8)
            case _:
                pass
    return bytes(blob)


def test_mutated_bytes() -> None:
    """Damaged bytes give one of our errors or an object that can be written again."""
    rng = random.Random(20)
    sources = [ir.serialize(n) for n in (small_program(), random_kernel(rng.randrange, 12))]
    outcomes = {"refused": 0, "read": 0}
    for turn in range(2000):
        blob = _mutated(sources[turn % 2], rng)
        try:
            node = ir.deserialize(blob)
        except SerializeError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        assert isinstance(node, IRNode)
        once = ir.serialize(node)
        assert ir.serialize(ir.deserialize(once)) == once
    assert min(outcomes.values()) > 50


def test_mutated_values() -> None:
    """The same for bytes that stay MessagePack: values changed, swapped, removed, doubled."""
    rng = random.Random(21)
    strange: list[Any] = [0, 1, 2, 3, -1, 1 << 40, True, None, 0.5, "", "x", b"", [], {}]
    sources = [small_program(), random_kernel(rng.randrange, 12)]
    sources = [msgpack.unpackb(ir.serialize(node)) for node in sources]
    outcomes = {"refused": 0, "read": 0}
    for turn in range(2000):
        tokens: list[Any] = list(sources[turn % 2])
        at, other = rng.randrange(2, len(tokens)), rng.randrange(2, len(tokens))
        match rng.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[other])
            case 2:
                tokens[at] = tokens[other]
            case 3 if type(tokens[at]) is int:
                tokens[at] += rng.choice([-2, -1, 1, 2])
            case _:
                tokens[at] = rng.choice(strange)
        try:
            node = ir.deserialize(msgpack.packb(tokens))
        except SerializeError:
            outcomes["refused"] += 1
            continue
        outcomes["read"] += 1
        once = ir.serialize(node)
        assert ir.serialize(ir.deserialize(once)) == once
    assert min(outcomes.values()) > 200, outcomes


# --------------------------------------------------------------------------------------------
# Files
# --------------------------------------------------------------------------------------------


def test_files(tmp_path: Path) -> None:
    """A file has exactly the bytes, replaces an old one, and no other file is left."""
    path = tmp_path / "kernel.pir"
    path.write_bytes(b"old")
    ir.serialize_to_file(loop_sum(), path)
    assert path.read_bytes() == ir.serialize(loop_sum())
    assert ir.structural_equal(ir.deserialize_from_file(str(path)), loop_sum())
    assert [p.name for p in tmp_path.iterdir()] == ["kernel.pir"]


@pytest.mark.parametrize("name", ["missing/kernel.pir", "folder", "zero\0byte"])
def test_unopenable_files(name: str, tmp_path: Path) -> None:
    """A file that cannot be opened is a ValueError both ways, and nothing is left behind."""
    (tmp_path / "folder").mkdir()
    with pytest.raises(ValueError, match="cannot read"):
        ir.deserialize_from_file(tmp_path / name)
    with pytest.raises(ValueError, match="cannot write"):
        ir.serialize_to_file(loop_sum(), tmp_path / name)
    assert [p.name for p in tmp_path.iterdir()] == ["folder"]


def test_failed_write_keeps_the_old_file(tmp_path: Path) -> None:
    """A node that cannot be written leaves the file as it was."""
    path = tmp_path / "kernel.pir"
    ir.serialize_to_file(loop_sum(), path)
    with pytest.raises(SerializeError, match=r"wanted a number"):
        ir.serialize_to_file(_strange(object()), path)
    assert path.read_bytes() == ir.serialize(loop_sum())
