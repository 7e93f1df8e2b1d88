"""Nodes: immutable, compared by identity, created by operators that record their source line."""

from __future__ import annotations

import operator
import pickle
import sys
from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto._src.diagnostics import Span
from pypto._src.ir.array_types import same_dims, static_shape
from pypto._src.ir.node_base import Keywords
from pypto._src.ir.stmts import checked_assign
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.unchecked import (
    checked_binary,
    checked_call,
    checked_int,
    checked_tuple,
    checked_var,
)
from tests.ir.samples import BOOL, FP32, INT, assign, function, seq, var

a, b = var("a"), var("b")

# member, bits, text, code, C type: the table of the API
DTYPES = [
    ("BOOL", 1, "bool", 0x00, "bool"),
    ("INT4", 4, "int4", 0x10, "unknown"),
    ("INT8", 8, "int8", 0x11, "int8_t"),
    ("INT16", 16, "int16", 0x12, "int16_t"),
    ("INT32", 32, "int32", 0x13, "int32_t"),
    ("INT64", 64, "int64", 0x14, "int64_t"),
    ("UINT4", 4, "uint4", 0x20, "unknown"),
    ("UINT8", 8, "uint8", 0x21, "uint8_t"),
    ("UINT16", 16, "uint16", 0x22, "uint16_t"),
    ("UINT32", 32, "uint32", 0x23, "uint32_t"),
    ("UINT64", 64, "uint64", 0x24, "uint64_t"),
    ("FP4", 4, "fp4", 0x30, "unknown"),
    ("FP8E4M3FN", 8, "fp8e4m3fn", 0x31, "unknown"),
    ("FP8E5M2", 8, "fp8e5m2", 0x32, "unknown"),
    ("FP16", 16, "fp16", 0x33, "half"),
    ("FP32", 32, "fp32", 0x34, "float"),
    ("BF16", 16, "bfloat16", 0x40, "bfloat16_t"),
    ("HF4", 4, "hf4", 0x41, "unknown"),
    ("HF8", 8, "hf8", 0x42, "unknown"),
]


@pytest.mark.parametrize(
    ("member", "bits", "text", "code", "c_type"), DTYPES, ids=[row[0] for row in DTYPES]
)
def test_element_types(member: str, bits: int, text: str, code: int, c_type: str) -> None:
    """Every row of the table of element types."""
    dtype = getattr(ir.DataType, member)
    assert (dtype.get_bit(), str(dtype), dtype.code(), dtype.to_c_type_string()) == (
        bits,
        text,
        code,
        c_type,
    )
    assert repr(dtype) == dtype.to_string() == text
    assert getattr(ir, member) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype


def test_element_type_kinds() -> None:
    """Each type is of one kind; BOOL is of none."""
    kinds = {
        "is_float": "FP4 FP8E4M3FN FP8E5M2 FP16 FP32 BF16 HF4 HF8",
        "is_signed_int": "INT4 INT8 INT16 INT32 INT64",
        "is_unsigned_int": "UINT4 UINT8 UINT16 UINT32 UINT64",
    }
    for method, names in kinds.items():
        members = [row[0] for row in DTYPES if getattr(getattr(ir.DataType, row[0]), method)()]
        assert " ".join(members) == names
    assert [d for d, *_ in DTYPES if getattr(ir.DataType, d).is_int()] == [
        d for d, *_ in DTYPES if "INT" in d
    ]


def test_other_names_of_element_types() -> None:
    """INDEX is INT64; older names are aliases of members."""
    assert ir.INDEX is ir.DataType.DEFAULT_CONST_INT is ir.INT64
    assert ir.DataType.DEFAULT_CONST_FLOAT is ir.DataType.FLOAT32 is ir.FP32
    assert ir.DataType.FP8 is ir.FP8E4M3FN
    with pytest.raises(TypeError, match="has no constructor"):
        ir.DataType()


# --------------------------------------------------------------------------------------------
# Immutability and identity
# --------------------------------------------------------------------------------------------

NODES: list[Any] = [
    a,
    ir.ConstInt(1),
    a + b,
    ir.Call(ir.Op("o"), []),
    ir.Op("o"),
    INT,
    ir.TensorType([1], ir.FP32),
    ir.TileType([8, 8], ir.FP32, None, ir.TileView()).tile_view,
    assign(a, 1),
    ir.SeqStmts(),
    function([]),
    ir.Program([]),
]


@pytest.mark.parametrize("node", NODES, ids=[type(node).__name__ for node in NODES])
def test_nodes_are_immutable(node: Any) -> None:
    """No attribute of a node can be set or deleted, whether the node has it or not."""
    first: str = node.fields()[0].name
    for name in (first, "anything"):
        with pytest.raises(AttributeError, match="is immutable"):
            setattr(node, name, 1)
        with pytest.raises(AttributeError, match="is immutable"):
            delattr(node, name)


def test_identity() -> None:
    """Statements compare by identity; ``==`` of expressions builds a truthy node."""
    one, two = assign(a, 1), assign(a, 1)
    assert one != two
    assert one.same_as(one)
    assert not one.same_as(two)
    equal: Any = a == b
    assert isinstance(equal, ir.Eq)
    assert bool(equal)
    assert {a: 1, b: 2}[b] == 2


def test_type_names() -> None:
    """A node reports the name of its class."""
    assert assign(a, 1).type_name() == "AssignStmt"
    assert ir.Add.type_name() == "Add"


# --------------------------------------------------------------------------------------------
# Constructors
# --------------------------------------------------------------------------------------------


def test_constants_check_their_values() -> None:
    """An integer constant accepts 64-bit integers."""
    assert ir.ConstInt(-(1 << 63)).value == -(1 << 63)
    for value in (1 << 63, -(1 << 63) - 1, 1.5, "1", None):
        with pytest.raises(TypeError):
            ir.ConstInt(value)  # pyright: ignore[reportArgumentType]
    assert ir.ConstBool(True).dtype is ir.BOOL
    assert ir.ConstFloat(1).value == 1.0


def test_abstract_operators() -> None:
    """The base classes of operators cannot be instantiated."""
    with pytest.raises(TypeError, match="abstract"):
        ir.BinaryExpr(a, b, ir.INT64)
    with pytest.raises(TypeError, match="abstract"):
        ir.UnaryExpr(a, ir.INT64)


def test_shapes_mix_ints_and_expressions() -> None:
    """Ints in shapes become INDEX constants; static_shape has ints or None."""
    kind = ir.TensorType([4, a, ir.ConstInt(2)], ir.FP32)
    first = kind.shape[0]
    assert isinstance(first, ir.ConstInt)
    assert (first.value, first.dtype) == (4, ir.INDEX)
    assert static_shape(kind) is None
    assert static_shape(ir.TileType([8, 16], ir.FP32)) == (8, 16)
    assert same_dims(kind.shape, [ir.ConstInt(4), a, ir.ConstInt(2)])


def test_memref() -> None:
    """A memory reference is a variable named for space and number."""
    mem = ir.MemRef(ir.MemorySpace.Left, 64, 512, 7)
    assert mem.name == "mem_left_7"
    assert (mem.memory_space_, mem.size_, mem.id_) == (ir.MemorySpace.Left, 512, 7)
    assert str(mem.type) == "pl.MemRefType"
    shared = [ir.TileType([8], ir.FP32, m) for m in (mem, mem, None)]
    assert shared[0].shares_memref_with(shared[1])
    assert not shared[0].shares_memref_with(shared[2])
    assert not shared[2].shares_memref_with(shared[2])


def test_tuples() -> None:
    """A tuple has its items' types; getting an item needs a tuple and an index within bounds."""
    pair = ir.MakeTuple([a, 1.0])
    assert pair.type == ir.TupleType([INT, FP32])
    assert ir.TupleGetItemExpr(pair, 1).type == FP32
    for index in (-1, 2):
        with pytest.raises(ValueError, match="outside a tuple of 2"):
            ir.TupleGetItemExpr(pair, index)
    with pytest.raises(ValueError, match="is not a tuple"):
        ir.TupleGetItemExpr(a, 0)


def test_call_forms() -> None:
    """kwargs, type and span follow the arguments in that order, each optional."""
    op, span = ir.Op("o"), ir.Span("f.py", 1, 2)
    words = {"k": 1}
    plain = ir.Call(op, [a, 2], span)
    assert (plain.type, plain.span, dict(plain.kwargs)) == (ir.UnknownType.get(), span, {})
    assert ir.Call(op, [a], INT, span).type == INT
    assert ir.Call(op, [a], words, span).kwargs == words
    full = ir.Call(op, [a], words, INT, span)
    assert (full.kwargs, full.type, full.span) == (words, INT, span)
    with pytest.raises(TypeError):
        ir.Call(op, [a], 3)


def test_function_parameters() -> None:
    """A parameter is a Var or a pair with a direction, nothing else."""
    f = function([a, (b, ir.ParamDirection.InOut)])
    assert f.params == (a, b)
    assert f.param_directions == (ir.ParamDirection.In, ir.ParamDirection.InOut)
    for wrong in ("x", (a,), (a, 1)):
        with pytest.raises(TypeError, match="a parameter is a Var"):
            function([wrong])


def test_program_functions() -> None:
    """Functions are sorted by name and unique; global variables name them."""
    f, g = function([], name="f"), function([], name="g")
    whole = ir.Program([g, f], "P")
    assert [v.name for v in whole.functions] == ["f", "g"]
    assert whole.get_function("g") is g
    assert whole.get_function("h") is None
    gvar = whole.get_global_var("f")
    assert gvar is not None
    assert whole.functions[gvar] is f
    assert whole.get_global_var("h") is None
    with pytest.raises(ValueError, match="two functions of a program are named 'f'"):
        ir.Program([f, f])


def test_op_stmts_hold_ops_only() -> None:
    """OpStmts rejects control flow; that is a defect of the compiler, not of the user."""
    from pypto._src.errors import InternalError

    with pytest.raises(InternalError, match="got ReturnStmt"):
        ir.OpStmts([ir.ReturnStmt()])


# --------------------------------------------------------------------------------------------
# Operators
# --------------------------------------------------------------------------------------------

OPERATORS: list[tuple[Callable[[Any, Any], Any], type[ir.BinaryExpr]]] = [
    (lambda p, q: p + q, ir.Add),
    (lambda p, q: p - q, ir.Sub),
    (lambda p, q: p * q, ir.Mul),
    (lambda p, q: p / q, ir.FloatDiv),
    (lambda p, q: p // q, ir.FloorDiv),
    (lambda p, q: p % q, ir.FloorMod),
    (lambda p, q: p**q, ir.Pow),
    (lambda p, q: p == q, ir.Eq),
    (lambda p, q: p != q, ir.Ne),
    (lambda p, q: p < q, ir.Lt),
    (lambda p, q: p <= q, ir.Le),
    (lambda p, q: p > q, ir.Gt),
    (lambda p, q: p >= q, ir.Ge),
    (lambda p, q: p & q, ir.BitAnd),
    (lambda p, q: p | q, ir.BitOr),
    (lambda p, q: p ^ q, ir.BitXor),
    (lambda p, q: p << q, ir.BitShiftLeft),
    (lambda p, q: p >> q, ir.BitShiftRight),
]
REFLECTED: dict[type[ir.BinaryExpr], type[ir.BinaryExpr]] = {
    ir.Lt: ir.Gt,
    ir.Gt: ir.Lt,
    ir.Le: ir.Ge,
    ir.Ge: ir.Le,
}


@pytest.mark.parametrize(("call", "kind"), OPERATORS, ids=[k.__name__ for _, k in OPERATORS])
def test_operators_build_nodes(call: Callable[[Any, Any], Any], kind: type[ir.BinaryExpr]) -> None:
    """Every Python operator builds its node, also with a number on the left."""
    node: Any = call(a, b)
    assert type(node) is kind
    assert node.left is a
    assert node.right is b
    comparison = kind in (ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge)
    assert node.dtype is (ir.BOOL if comparison else ir.INT64)
    swapped = call(3, a)
    assert type(swapped) is REFLECTED.get(kind, kind)
    assert node.span.begin_line == call.__code__.co_firstlineno
    assert node.span.filename == __file__


def test_unary_operators() -> None:
    """Minus and complement build nodes of the operand's type."""
    assert type(-a) is ir.Neg
    assert type(~a) is ir.BitNot
    assert (-var("p", BOOL)).type == BOOL
    with pytest.raises(TypeError, match="takes integers"):
        operator.invert(var("x", FP32))


def test_span_of_an_operator() -> None:
    """The span of an operator's node is the source line of the operator, without a column."""
    line = sys._getframe().f_lineno  # pyright: ignore[reportPrivateUsage]
    total = a + b
    assert (total.span.begin_line, total.span.begin_column) == (line + 1, -1)
    assert total.span.to_string() == f"{__file__}:{line + 1}:-1"


PROMOTIONS: list[tuple[str, str, str]] = [
    ("INT32", "INT64", "INT64"),
    ("INT64", "INT32", "INT64"),
    ("INT32", "UINT32", "INT32"),
    ("UINT32", "INT32", "UINT32"),
    ("FP16", "FP32", "FP32"),
    ("FP16", "BF16", "FP16"),
]


@pytest.mark.parametrize(("left", "right", "result"), PROMOTIONS)
def test_promotion(left: str, right: str, result: str) -> None:
    """The wider type wins, the left one on a tie; the other operand is cast."""
    p, q = (var(n, ir.ScalarType(getattr(ir, d))) for n, d in (("p", left), ("q", right)))
    node: Any = p + q
    assert node.dtype is getattr(ir, result)
    for side, dtype in ((node.left, left), (node.right, right)):
        assert isinstance(side, ir.Cast) is (dtype != result)
        assert side.type == ir.ScalarType(getattr(ir, result))
    comparison: Any = p < q
    assert comparison.left.type == comparison.right.type


def test_python_numbers_beside_scalars() -> None:
    """An int is INDEX, a float FP32; they widen a narrower variable."""
    narrow, half = var("i", ir.ScalarType(ir.INT32)), var("h", ir.ScalarType(ir.FP16))
    assert str(narrow + 1) == "pl.cast(i, pl.INT64) + 1"
    assert str(half * 2.0) == "pl.cast(h, pl.FP32) * 2.0"
    assert str(a + True) == "a + 1"


@pytest.mark.parametrize(
    ("left", "right"),
    [(a, 1.5), (var("x", FP32), 1), (var("p", BOOL), 1), (a, None), (a, "s"),
     (var("t", ir.TensorType([1], ir.FP32)), 1)],
    ids=["int and float", "float and int", "bool", "none", "text", "tensor"],
)  # fmt: skip
def test_operators_refuse(left: Any, right: Any) -> None:
    """Kinds that do not mix raise TypeError."""
    with pytest.raises(TypeError):
        operator.add(left, right)


def test_bitwise_operators_refuse_floats() -> None:
    """Bitwise operators accept only integers."""
    with pytest.raises(TypeError, match="'&' takes integers, got fp32"):
        ir.bit_and(var("x", FP32), var("y", FP32))


# --------------------------------------------------------------------------------------------
# Spans
# --------------------------------------------------------------------------------------------


def test_spans() -> None:
    """Text, defaults and validity of source ranges."""
    span = Span("f.py", 3, 4, 3, 9)
    assert str(span) == repr(span) == span.to_string() == "f.py:3:4"
    assert Span.unknown().to_string() == ":-1:-1"
    assert not Span.unknown().is_valid()
    cases = [
        (Span("f", 1, 1), True),
        (Span("f", 1, -1), True),
        (Span("f", 0, 1), False),
        (Span("f", 1, 0), False),
        (Span("f", 2, 1, 1, 5), False),
        (Span("f", 2, 5, 2, 4), False),
        (Span("f", 2, 5, 3, 1), True),
        (Span("f", 2, 5, -1, 1), True),
    ]
    assert [s.is_valid() for s, _ in cases] == [valid for _, valid in cases]
    with pytest.raises(AttributeError, match="immutable"):
        span.begin_line = 4


def test_field_marks() -> None:
    """Field marks say how fields are compared; statements of a body are a field like others."""
    marks = {f.name: f.kind.value for f in ir.ForStmt.fields()}
    assert marks == {
        "start": "plain",
        "stop": "plain",
        "step": "plain",
        "loop_var": "defining",
        "iter_args": "defining",
        "body": "plain",
        "return_vars": "defining",
        "kind": "plain",
        "stages": "plain",
        "span": "ignored",
    }
    assert {f.name: f.kind.value for f in ir.Var.fields()} == {
        "type": "plain",
        "name": "ignored",
        "span": "ignored",
    }
    assert seq().fields()[0].holds_statements


PLACE = Span("f", 2, 5, 2, 9)
OP = ir.Op("test.op")
TWO_INTS = ir.TupleType((INT, INT))


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (
            checked_call(OP, (a, b), Keywords(mode=1), INT, PLACE),
            ir.Call(OP, (a, b), {"mode": 1}, INT, PLACE),
        ),
        (checked_tuple((a, b), TWO_INTS, PLACE), ir.MakeTuple((a, b), PLACE)),
        (checked_var("x", INT, PLACE), ir.Var("x", INT, PLACE)),
        (checked_int(3, INT, PLACE), ir.ConstInt(3, INT.dtype, PLACE)),
        (checked_binary(ir.Lt, a, b, BOOL, PLACE), ir.Lt(a, b, BOOL.dtype, PLACE)),
        (checked_assign(a, b, PLACE), ir.AssignStmt(a, b, PLACE)),
    ],
    ids=lambda node: type(node).__name__,
)
def test_nodes_made_without_checks(made: ir.IRNode, wanted: ir.IRNode) -> None:
    """A node created without checks, or copied, has the class and slots of a constructed one."""
    for node in (made, copy_with(made, {}), copy_with(wanted, {})):
        assert type(node) is type(wanted)
        for field in wanted.fields():
            value, other = getattr(node, field.name), getattr(wanted, field.name)
            assert value is other or type(value) is type(other)
            if isinstance(value, int | str | dict | ir.Type):
                assert value == other
        with pytest.raises(AttributeError, match="immutable"):
            node.span = PLACE
        with pytest.raises(AttributeError, match="immutable"):
            del node.span
