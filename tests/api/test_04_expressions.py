"""API section 4: spans, nodes, constructors, operators, promotion, printed precedence."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from pypto import ir
from pypto._src.ir.node_base import Node
from tests.api.facts import Refused, Table, check, rows
from tests.ir.samples import BOOL, FP32, INT, assign, function, program, var

INT32, FP16 = ir.ScalarType(ir.INT32), ir.ScalarType(ir.FP16)
U64 = ir.ScalarType(ir.UINT64)
SPAN = ir.Span("k.py", 3, 4, 3, 9)
x, y, z = var("x"), var("y"), var("z")
short, half, single, flag = var("s", INT32), var("h", FP16), var("f", FP32), var("b", BOOL)
big = var("u", U64)
tensor = var("t", ir.TensorType([8, 4], ir.FP32))
pair = var("p", ir.TupleType([INT, FP32]))

# --------------------------------------------------------------------------------------------
# 4.1 Span
# --------------------------------------------------------------------------------------------


def place(*numbers: int) -> bool:
    return ir.Span("k.py", *numbers).is_valid()


SPANS: Table = {
    "attributes": (
        lambda: (SPAN.filename, SPAN.begin_line, SPAN.begin_column, SPAN.end_line, SPAN.end_column),
        ("k.py", 3, 4, 3, 9),
    ),
    "ends are unknown unless given": (
        lambda: (ir.Span("k.py", 1, 2).end_line, ir.Span("k.py", 1, 2).end_column),
        (-1, -1),
    ),
    "keywords": (lambda: ir.Span(filename="a", begin_line=1, begin_column=2).begin_column, 2),
    "unknown": (
        lambda: [getattr(ir.Span.unknown(), name) for name in ir.Span.__slots__],
        [-1, -1, -1, -1, ""],
    ),
    "to_string": (SPAN.to_string, "k.py:3:4"),
    "str": (lambda: str(SPAN), "k.py:3:4"),
    "repr": (lambda: repr(SPAN), "k.py:3:4"),
    "valid": (lambda: place(1, 1), True),
    "valid without a column": (lambda: place(1, -1), True),
    "valid with ends": (lambda: place(1, 4, 2, 1), True),
    "valid with an unknown end line": (lambda: place(1, 4, -1, 1), True),
    "valid with an unknown end column": (lambda: place(5, 4, 1, -1), True),
    "unknown is not valid": (lambda: ir.Span.unknown().is_valid(), False),
    "line 0 is not valid": (lambda: place(0, 1), False),
    "column 0 is not valid": (lambda: place(1, 0), False),
    "an end before the begin is not valid": (lambda: place(2, 1, 1, 1), False),
    "an end column before the begin is not valid": (lambda: place(2, 4, 2, 3), False),
    "end line 0 is not valid": (lambda: place(1, 1, 0, 1), False),
    "no equality by value": (lambda: ir.Span("a", 1, 2) == ir.Span("a", 1, 2), False),
    "read only": (lambda: setattr(SPAN, "begin_line", 1), Refused(AttributeError, "immutable")),
    "too few arguments": (lambda: _call(ir.Span, "a"), Refused(TypeError, "begin_line")),
}


def _call(function: Any, *args: Any, **named: Any) -> Any:
    """Call with arguments that the types forbid."""
    return function(*args, **named)


@rows(SPANS)
def test_span(make: Callable[[], Any], wanted: Any) -> None:
    """4.1: every fact about spans."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 4.2 Nodes
# --------------------------------------------------------------------------------------------

FIELDS: dict[str, str] = {
    "AssignStmt": "*var value -span",
    "BinaryExpr": "type left right -span",
    "BreakStmt": "-span",
    "Call": "type op args kwargs -span",
    "ConstBool": "type value -span",
    "ConstFloat": "type value -span",
    "ConstInt": "type value -span",
    "ContinueStmt": "-span",
    "EvalStmt": "expr -span",
    "Expr": "type -span",
    "ForStmt": "start stop step *loop_var *iter_args body *return_vars kind stages -span",
    "Function": "-name *params param_directions return_types body func_type -span",
    "GlobalVar": "name",
    "IRNode": "-span",
    "IfStmt": "condition then_body else_body *return_vars -span",
    "IterArg": "type -name initValue -span",
    "MakeTuple": "type elements -span",
    "MemRef": "type -name memory_space_ addr_ size_ -id_ -span",
    "MemRefType": "",
    "Op": "name",
    "OpStmts": "stmts -span",
    "Program": "-name functions_ attrs entry -span",
    "ReturnStmt": "value -span",
    "ScalarType": "dtype",
    "ScopeStmt": "scope_kind name_hint body -span",
    "SeqStmts": "stmts -span",
    "ShapedType": "shape dtype -memref",
    "Stmt": "-span",
    "TensorType": "shape dtype -memref -tensor_view",
    "TensorView": "stride layout",
    "TileType": "shape dtype -memref tile_view",
    "TileView": "valid_shape stride start_offset blayout slayout fractal pad",
    "TupleGetItemExpr": "type tuple index -span",
    "TupleType": "types",
    "Type": "",
    "UnaryExpr": "type operand -span",
    "UnknownType": "",
    "Var": "type -name -span",
    "WhileStmt": "*iter_args condition body *return_vars -span",
    "YieldStmt": "value -span",
}
"""By class, its fields in traversal order: ``*`` defines variables, ``-`` is ignored."""


def public_classes() -> dict[str, type[Node]]:
    names = {name: getattr(ir, name) for name in ir.__all__}
    return {n: c for n, c in names.items() if isinstance(c, type) and issubclass(c, Node)}


@pytest.mark.parametrize("name", public_classes())
def test_fields_are_listed(name: str) -> None:
    """4.2: reflection lists the fields of every public class, and how comparison treats them."""
    cls = public_classes()[name]
    marks = {"plain": "", "defining": "*", "ignored": "-"}
    found = " ".join(f"{marks[field.kind.value]}{field.name}" for field in cls.fields())
    base = next(c.__name__ for c in cls.__mro__ if c.__name__ in FIELDS)
    assert found == FIELDS[base]


def test_every_class_has_its_row() -> None:
    """4.2: no public class except the operators takes its fields from a row of its base."""
    operators = (ir.BinaryExpr, ir.UnaryExpr)
    others = {n for n, c in public_classes().items() if not issubclass(c, operators)}
    assert others | {"BinaryExpr", "UnaryExpr"} == FIELDS.keys()


MADE: dict[str, Callable[[], Node]] = {
    "Var": lambda: x,
    "IterArg": lambda: ir.IterArg("a", INT, 0),
    "MemRef": lambda: ir.MemRef(ir.Vec, 0, 64, 1),
    "ConstInt": lambda: ir.ConstInt(1),
    "ConstFloat": lambda: ir.ConstFloat(1.0),
    "ConstBool": lambda: ir.ConstBool(True),
    "Add": lambda: x + y,
    "Neg": lambda: -x,
    "Cast": lambda: ir.cast(x, ir.FP32),
    "MakeTuple": lambda: ir.MakeTuple([x]),
    "TupleGetItemExpr": lambda: ir.TupleGetItemExpr(pair, 0),
    "Call": lambda: ir.Call(ir.Op("o"), [x]),
    "Op": lambda: ir.Op("o"),
    "GlobalVar": lambda: ir.GlobalVar("g"),
    "AssignStmt": lambda: assign(x, 1),
    "EvalStmt": lambda: ir.EvalStmt(x),
    "YieldStmt": lambda: ir.YieldStmt([x]),
    "ReturnStmt": lambda: ir.ReturnStmt([x]),
    "BreakStmt": lambda: ir.BreakStmt(),
    "ContinueStmt": lambda: ir.ContinueStmt(),
    "IfStmt": lambda: ir.IfStmt(flag, ir.BreakStmt(), None),
    "ForStmt": lambda: ir.ForStmt(x, 0, 1, 1, [], ir.BreakStmt(), []),
    "WhileStmt": lambda: ir.WhileStmt(flag, [], ir.BreakStmt()),
    "ScopeStmt": lambda: ir.ScopeStmt(ir.InCore, ir.BreakStmt()),
    "SeqStmts": lambda: ir.SeqStmts(),
    "OpStmts": lambda: ir.OpStmts(),
    "Function": lambda: function([]),
    "Program": lambda: program(),
    "UnknownType": lambda: ir.UnknownType(),
    "ScalarType": lambda: ir.ScalarType(ir.FP16),
    "TensorType": lambda: ir.TensorType([8], ir.FP16),
    "TileType": lambda: ir.TileType([8], ir.FP16),
    "TupleType": lambda: ir.TupleType([]),
    "TensorView": lambda: ir.TensorView(),
    "TileView": lambda: ir.TileView(),
    "MemRefType": lambda: ir.MemRef(ir.Vec, 0, 64, 1).type,
}


@pytest.mark.parametrize("name", MADE)
def test_nodes_are_immutable(name: str) -> None:
    """4.2: no field of any class can be assigned or deleted, nor an attribute added.

    Views and buffers are mutable until a type contains them: section 5.
    """
    node = MADE[name]()
    assert type(node).__name__ == name
    settable = name in ("MemRef", "TensorView", "TileView")
    for field in [*(f.name for f in node.fields()), "unknown_attribute"]:
        if field == "unknown_attribute" or not settable:
            with pytest.raises(AttributeError, match=f"{name} is immutable: cannot set '{field}'"):
                setattr(node, field, None)
        with pytest.raises(AttributeError, match=f"{name} is immutable: cannot delete '{field}'"):
            delattr(node, field)


def test_immutability_covers_every_class() -> None:
    """4.2: the table above has an object of every public class that can be instantiated."""
    abstract = {"BinaryExpr", "Expr", "IRNode", "ShapedType", "Stmt", "Type", "UnaryExpr"}
    operators = {n for n, c in public_classes().items() if issubclass(c, ir.BinaryExpr)}
    operators |= {n for n, c in public_classes().items() if issubclass(c, ir.UnaryExpr)}
    assert public_classes().keys() - operators - abstract == MADE.keys() - operators


one, two = assign(x, 1), assign(x, 1)

NODES: Table = {
    "span": (lambda: ir.AssignStmt(x, 1, SPAN).span is SPAN, True),
    "span is unknown unless given": (lambda: one.span is ir.Span.unknown(), True),
    "same_as itself": (lambda: one.same_as(one), True),
    "same_as another": (lambda: one.same_as(two), False),
    "as_python": (lambda: assign(x, y).as_python(), "x: pl.Scalar[pl.INT64] = y"),
    "as_python with a prefix": (lambda: assign(x, y).as_python("q"), "x: q.Scalar[q.INT64] = y"),
    "str": (lambda: str(assign(x, y)), "x: pl.Scalar[pl.INT64] = y"),
    "repr": (lambda: repr(one).startswith("<pypto._src.ir.stmts.AssignStmt object at 0x"), True),
    "statements are equal by identity": (lambda: (one == one, one == two), (True, False)),
    "functions are equal by identity": (lambda: function([]) == function([]), False),
    "programs are equal by identity": (lambda: program() == program(), False),
    "statements are keys": (lambda: {one: 1, two: 2}[two], 2),
    "variables are keys": (lambda: {x: 1, y: 2}[y], 2),
    "== builds a node": (lambda: type(x == y), ir.Eq),
    "!= builds a node": (lambda: type(x != y), ir.Ne),
    "a node is true": (lambda: bool(x == y), True),
    "type": (lambda: (x + y).type, INT),
}


@rows(NODES)
def test_node(make: Callable[[], Any], wanted: Any) -> None:
    """4.2: what every node has."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 4.3 Constructors
# --------------------------------------------------------------------------------------------

MIN, MAX = -(1 << 63), (1 << 63) - 1
mem = ir.MemRef(ir.MemorySpace.Vec, 64, 256, 3)


def keywords(**kwargs: Any) -> dict[str, Any]:
    return dict(ir.Call(ir.Op("o"), [], kwargs).kwargs)


def shown(node: Any, *names: str) -> list[str]:
    return [str(getattr(node, name)) for name in names]


CONSTRUCTORS: Table = {
    "Var": (
        lambda: shown(ir.Var("a", INT, SPAN), "name", "type", "span"),
        ["a", "pl.Scalar[pl.INT64]", "k.py:3:4"],
    ),
    "Var by keywords": (lambda: ir.Var(name="a", type=FP32, span=SPAN).type, FP32),
    "Var without a name": (
        lambda: _call(ir.Var, 1, INT),
        Refused(TypeError, "the name of a variable"),
    ),
    "Var without a type": (
        lambda: _call(ir.Var, "a", 3),
        Refused(TypeError, "the type of a variable"),
    ),
    "Var with a strange span": (
        lambda: _call(ir.Var, "a", INT, 3),
        Refused(TypeError, "the span of a Var is of type Span, got int"),
    ),
    "too many arguments": (
        lambda: _call(ir.Var, "a", INT, SPAN, 1),
        Refused(TypeError, "positional"),
    ),
    "IterArg": (
        lambda: shown(ir.IterArg("a", INT, 3, SPAN), "name", "type", "initValue"),
        ["a", "pl.Scalar[pl.INT64]", "3"],
    ),
    "IterArg is a Var": (lambda: ir.IterArg.__base__, ir.Var),
    "IterArg by keywords": (
        lambda: ir.IterArg(name="a", type=INT, initValue=x).initValue is x,
        True,
    ),
    "ConstInt": (
        lambda: (ir.ConstInt(5, ir.INT32, SPAN).value, ir.ConstInt(5, ir.INT32).dtype),
        (5, ir.INT32),
    ),
    "ConstInt has a scalar type": (lambda: ir.ConstInt(5, ir.INT32).type, INT32),
    "ConstInt of the smallest": (lambda: ir.ConstInt(MIN, ir.INT64).value, MIN),
    "ConstInt of the largest": (lambda: ir.ConstInt(MAX, ir.INT64).value, MAX),
    "ConstInt of a bool is an int": (lambda: ir.ConstInt(True, ir.INT64).value, 1),
    "ConstInt of a float": (lambda: _call(ir.ConstInt, 1.0, ir.INT64), Refused(TypeError, "float")),
    "ConstInt above 64 bits": (
        lambda: ir.ConstInt(MAX + 1, ir.INT64),
        Refused(TypeError, "64-bit"),
    ),
    "ConstInt below 64 bits": (
        lambda: ir.ConstInt(MIN - 1, ir.INT64),
        Refused(TypeError, "64-bit"),
    ),
    "ConstFloat": (
        lambda: (ir.ConstFloat(2.5, ir.FP16).value, ir.ConstFloat(2.5, ir.FP16).dtype),
        (2.5, ir.FP16),
    ),
    "ConstFloat of an int is a float": (lambda: ir.ConstFloat(2, ir.FP16).value, 2.0),
    "ConstFloat has a scalar type": (lambda: ir.ConstFloat(2.5, ir.FP16).type, FP16),
    "ConstBool": (
        lambda: (ir.ConstBool(True, SPAN).value, ir.ConstBool(True).dtype),
        (True, ir.BOOL),
    ),
    "ConstBool has type BOOL": (lambda: ir.ConstBool(False).type, BOOL),
    "binary": (
        lambda: shown(ir.Add(x, 5, ir.INT64, SPAN), "left", "right", "type", "span"),
        ["x", "5", "pl.Scalar[pl.INT64]", "k.py:3:4"],
    ),
    "binary operands are not checked": (
        lambda: ir.Add(flag, single, ir.INT8).type,
        ir.ScalarType(ir.INT8),
    ),
    "unary": (
        lambda: shown(ir.Neg(x, ir.INT32, SPAN), "operand", "type"),
        ["x", "pl.Scalar[pl.INT32]"],
    ),
    "Cast": (
        lambda: shown(ir.Cast(x, ir.FP16, SPAN), "operand", "type"),
        ["x", "pl.Scalar[pl.FP16]"],
    ),
    "BinaryExpr is abstract": (
        lambda: ir.BinaryExpr(x, y, ir.INT64),
        Refused(TypeError, "abstract"),
    ),
    "UnaryExpr is abstract": (lambda: ir.UnaryExpr(x, ir.INT64), Refused(TypeError, "abstract")),
    "MakeTuple": (lambda: [str(e) for e in ir.MakeTuple([x, 1], SPAN).elements], ["x", "1"]),
    "MakeTuple has the types of its elements": (
        lambda: ir.MakeTuple([x, single]).type,
        ir.TupleType([INT, FP32]),
    ),
    "TupleGetItemExpr": (
        lambda: (
            ir.TupleGetItemExpr(pair, 1).tuple is pair,
            ir.TupleGetItemExpr(pair, 1, SPAN).index,
        ),
        (True, 1),
    ),
    "TupleGetItemExpr has the element's type": (lambda: ir.TupleGetItemExpr(pair, 1).type, FP32),
    "an item of no tuple": (
        lambda: ir.TupleGetItemExpr(x, 0),
        Refused(ValueError, "is not a tuple"),
    ),
    "a negative index": (lambda: ir.TupleGetItemExpr(pair, -1), Refused(ValueError, "index -1")),
    "an index too large": (lambda: ir.TupleGetItemExpr(pair, 2), Refused(ValueError, "tuple of 2")),
    "Op": (
        lambda: (ir.Op("a.b").name, ir.Op("a.b").pipe, ir.Op("a.b").get_attr_keys()),
        ("a.b", None, []),
    ),
    "Op.has_attr": (
        lambda: (ir.Op("o").has_attr("k"), ir.get_op("block.load").has_attr("target_memory")),
        (False, True),
    ),
    "Op of no name": (lambda: _call(ir.Op, 3), Refused(TypeError, "the name of an op")),
    "GlobalVar is an Op": (lambda: (ir.GlobalVar("f").name, ir.GlobalVar.__base__), ("f", ir.Op)),
    "Call(op, args, span)": (lambda: ir.Call(ir.Op("o"), [x], SPAN).span is SPAN, True),
    "Call(op, args, type, span)": (lambda: ir.Call(ir.Op("o"), [x], FP32, SPAN).type, FP32),
    "Call(op, args, kwargs, span)": (
        lambda: dict(ir.Call(ir.Op("o"), [x], {"k": 1}, SPAN).kwargs),
        {"k": 1},
    ),
    "Call(op, args, kwargs, type, span)": (
        lambda: ir.Call(ir.Op("o"), [x], {"k": 1}, FP32, SPAN).type,
        FP32,
    ),
    "Call by keywords": (
        lambda: ir.Call(ir.Op("o"), [], kwargs={"k": 1}, type=FP32, span=SPAN).type,
        FP32,
    ),
    "Call has UnknownType": (lambda: ir.Call(ir.Op("o"), [x]).type, ir.UnknownType()),
    "Call.args": (lambda: [str(a) for a in ir.Call(ir.Op("o"), [x, 2]).args], ["x", "2"]),
    "Call with a strange operand": (
        lambda: _call(ir.Call, ir.Op("o"), ["x"]),
        Refused(TypeError, "got str"),
    ),
    "Call of no op": (lambda: _call(ir.Call, "o", []), Refused(TypeError, "what is called")),
    "keywords keep their order": (lambda: list(keywords(z=1, a=2, m=3)), ["z", "a", "m"]),
    "keyword values": (
        lambda: list(keywords(d=ir.FP16, m=ir.Vec, b=True, i=3, f=0.5, s="t", n=None).values()),
        [ir.FP16, ir.MemorySpace.Vec, True, 3, 0.5, "t", None],
    ),
    "pipes are ints": (lambda: keywords(p=ir.PipeType.V)["p"] == 4, True),
    "lists and dicts in keywords": (
        lambda: keywords(t={"M": [16, (1, 2)]}),
        {"t": {"M": [16, (1, 2)]}},
    ),
    "strange keyword": (
        lambda: keywords(k=object()),
        Refused(TypeError, "keyword 'k' is a number"),
    ),
    "strange keyword inside": (lambda: keywords(k=[{"a": {1}}]), Refused(TypeError, "got set")),
    "MemRef": (
        lambda: (mem.memory_space_, mem.size_, mem.id_, str(mem.addr_), mem.name),
        (ir.MemorySpace.Vec, 256, 3, "64", "mem_vec_3"),
    ),
    "MemRef is a Var": (lambda: (ir.MemRef.__base__, str(mem.type)), (ir.Var, "pl.MemRefType")),
    "MemRef of document 002 has no number": (lambda: ir.MemRef(ir.DDR, 0, 8).name, "mem_ddr_0"),
    "MemRef at an expression": (lambda: str(ir.MemRef(ir.Mat, x + 1, 8, 0).addr_), "x + 1"),
    "MemRef of negative size": (lambda: ir.MemRef(ir.Vec, 0, -1, 0), Refused(ValueError, "got -1")),
    "MemRef in no memory": (
        lambda: _call(ir.MemRef, "Vec", 0, 1, 0),
        Refused(TypeError, "MemorySpace"),
    ),
}


@rows(CONSTRUCTORS)
def test_constructor(make: Callable[[], Any], wanted: Any) -> None:
    """4.3: what constructors accept, what they make of it, and what they reject."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 4.4 Operators
# --------------------------------------------------------------------------------------------

BINARY: dict[str, tuple[Callable[[Any, Any], Any], type[ir.BinaryExpr]]] = {
    "+": (operator.add, ir.Add),
    "-": (operator.sub, ir.Sub),
    "*": (operator.mul, ir.Mul),
    "/": (lambda a, b: a / b, ir.FloatDiv),
    "//": (lambda a, b: a // b, ir.FloorDiv),
    "%": (operator.mod, ir.FloorMod),
    "**": (lambda a, b: a**b, ir.Pow),
    "==": (operator.eq, ir.Eq),
    "!=": (operator.ne, ir.Ne),
    "<": (operator.lt, ir.Lt),
    "<=": (operator.le, ir.Le),
    ">": (operator.gt, ir.Gt),
    ">=": (operator.ge, ir.Ge),
    "&": (lambda a, b: a & b, ir.BitAnd),
    "|": (lambda a, b: a | b, ir.BitOr),
    "^": (lambda a, b: a ^ b, ir.BitXor),
    "<<": (lambda a, b: a << b, ir.BitShiftLeft),
    ">>": (lambda a, b: a >> b, ir.BitShiftRight),
}
MIRRORED = {"<": ir.Gt, "<=": ir.Ge, ">": ir.Lt, ">=": ir.Le}
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
FUNCTIONS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "bit_and": "&",
    "bit_or": "|",
    "bit_xor": "^",
    "bit_shift_left": "<<",
    "bit_shift_right": ">>",
}


@pytest.mark.parametrize("sign", BINARY)
def test_operator_builds_its_node(sign: str) -> None:
    """4.4: an operator builds its class, typed INT64 or, for comparisons, BOOL."""
    apply, cls = BINARY[sign]
    node = apply(x, y)
    assert type(node) is cls
    assert (node.left is x, node.right is y) == (True, True)
    assert node.type == (BOOL if sign in COMPARISONS else INT)


@pytest.mark.parametrize("sign", BINARY)
def test_reflected_operator(sign: str) -> None:
    """4.4: a number on the left gives the same node, or that of the mirrored comparison."""
    apply, cls = BINARY[sign]
    node = apply(3, x)
    if sign in COMPARISONS:  # Python asks the right side for the mirrored comparison
        assert type(node) is MIRRORED.get(sign, cls)
        assert (str(node.left), str(node.right)) == ("x", "3")
    else:
        assert type(node) is cls
        assert (str(node.left), str(node.right)) == ("3", "x")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operator_function(name: str) -> None:
    """4.4: ir.add and the like build what the operators build, with the span given."""
    _, cls = BINARY[FUNCTIONS[name]]
    node = getattr(ir, name)(x, 2, SPAN)
    assert (type(node), node.span) == (cls, SPAN)
    assert getattr(ir, name)(lhs=x, rhs=2).span is ir.Span.unknown()


def right(node: Any) -> ir.Expr:
    return node.right


def line_of(node: ir.Expr) -> tuple[str, int]:
    return node.span.filename, node.span.begin_column


OPERATORS: Table = {
    "unary minus": (lambda: type(-x), ir.Neg),
    "unary minus of BOOL": (lambda: (-flag).type, BOOL),
    "inversion": (lambda: type(~x), ir.BitNot),
    "inversion of a float": (lambda: ~single, Refused(TypeError, "'~' takes integers")),
    "inversion of BOOL": (lambda: ~flag, Refused(TypeError, "'~' takes integers")),
    "minus of a tensor": (lambda: -tensor, Refused(TypeError, "scalar operators take scalars")),
    "integer division keeps the integer type": (lambda: (x / y).type, INT),
    "int operand is INDEX": (lambda: right(x + 1).type, ir.ScalarType(ir.INDEX)),
    "float operand is FP32": (lambda: right(single + 1.5).type, FP32),
    "True counts as 1": (lambda: str(right(x + True)), "1"),
    "span is the caller's": (lambda: line_of(x + y), (__file__, -1)),
    "None": (lambda: _call(operator.eq, x, None), Refused(TypeError, "got NoneType")),
    "text": (lambda: _call(operator.add, x, "1"), Refused(TypeError, "got str")),
    "text on the left": (lambda: _call(operator.mul, "1", x), Refused(TypeError, "got str")),
    "tensor": (lambda: x + tensor, Refused(TypeError, "scalar operators take scalars")),
    "min_": (lambda: type(ir.min_(x, y)), ir.Min),
    "max_": (lambda: type(ir.max_(x, 3)), ir.Max),
    "neg": (lambda: type(ir.neg(x, SPAN)), ir.Neg),
    "bit_not": (lambda: type(ir.bit_not(operand=x)), ir.BitNot),
    "cast": (
        lambda: (ir.cast(x, ir.FP16).type, ir.cast(x, ir.FP16, SPAN).span is SPAN),
        (FP16, True),
    ),
    "cast is not checked": (lambda: ir.cast(tensor, ir.FP16).type, FP16),
    "no helper for And, Or, Xor, Not, Abs": (
        lambda: [n for n in ("and_", "or_", "xor", "not_", "abs") if hasattr(ir, n)],
        [],
    ),
}


@rows(OPERATORS)
def test_operator(make: Callable[[], Any], wanted: Any) -> None:
    """4.4: operands, numbers mixed with expressions, and the functions besides the operators."""
    check(make, wanted)


def promoted(node: Any) -> str:
    return f"{node} : {node.dtype.member}"


PROMOTION: Table = {
    "equal types": (lambda: promoted(x + y), "x + y : INT64"),
    "wider on the left": (lambda: promoted(x + short), "x + pl.cast(s, pl.INT64) : INT64"),
    "wider on the right": (lambda: promoted(short + x), "pl.cast(s, pl.INT64) + x : INT64"),
    "left type on equal widths": (lambda: promoted(big + x), "u + pl.cast(x, pl.UINT64) : UINT64"),
    "left type on equal widths, the other way": (
        lambda: promoted(x + big),
        "x + pl.cast(u, pl.INT64) : INT64",
    ),
    "floats": (lambda: promoted(half * single), "pl.cast(h, pl.FP32) * f : FP32"),
    "int beside INT32 widens": (lambda: promoted(short + 1), "pl.cast(s, pl.INT64) + 1 : INT64"),
    "float beside FP16 widens": (lambda: promoted(half * 2.0), "pl.cast(h, pl.FP32) * 2.0 : FP32"),
    "comparison promotes, and is BOOL": (
        lambda: promoted(short < x),
        "pl.cast(s, pl.INT64) < x : BOOL",
    ),
    "int and float": (lambda: x + single, Refused(TypeError, "takes two ints or two floats")),
    "int and a float number": (lambda: x * 2.0, Refused(TypeError, "got int64 and fp32")),
    "float and an int number": (lambda: single * 2, Refused(TypeError, "got fp32 and int64")),
    "BOOL": (lambda: flag + flag, Refused(TypeError, "'+' does not take BOOL operands")),
    "BOOL and int": (lambda: x < flag, Refused(TypeError, "'<' does not take BOOL operands")),
    "bits of floats": (lambda: single & single, Refused(TypeError, "'&' takes integers")),
    "shift by a float": (lambda: x << 1.0, Refused(TypeError, "two ints or two floats")),
}


@rows(PROMOTION)
def test_promotion(make: Callable[[], Any], wanted: Any) -> None:
    """4.4: operands of different types are promoted to the wider one, or rejected."""
    check(make, wanted)


# --------------------------------------------------------------------------------------------
# 4.5 Printed precedence
# --------------------------------------------------------------------------------------------


def logical(cls: type[ir.BinaryExpr], left: ir.Expr, right: ir.Expr) -> ir.Expr:
    return cls(left, right, ir.BOOL)


b1, b2, b3 = var("a", BOOL), var("b", BOOL), var("c", BOOL)

PRECEDENCE: Table = {
    "and inside or": (lambda: str(logical(ir.Or, logical(ir.And, b1, b2), b3)), "a and b or c"),
    "or inside and": (lambda: str(logical(ir.And, logical(ir.Or, b1, b2), b3)), "(a or b) and c"),
    "or on the right of or": (
        lambda: str(logical(ir.Or, b1, logical(ir.Or, b2, b3))),
        "a or (b or c)",
    ),
    "comparison inside not": (lambda: str(ir.Not(x < y, ir.BOOL)), "not x < y"),
    "and inside not": (lambda: str(ir.Not(logical(ir.And, b1, b2), ir.BOOL)), "not (a and b)"),
    "not inside and": (lambda: str(logical(ir.And, ir.Not(b1, ir.BOOL), b2)), "not a and b"),
    "bits inside a comparison": (lambda: str((x | y) < z), "x | y < z"),
    "comparison on the right of one": (
        lambda: str(ir.Lt(x, ir.Lt(y, z, ir.BOOL), ir.BOOL)),
        "x < (y < z)",
    ),
    "^ inside |": (lambda: str(x ^ y | z), "x ^ y | z"),
    "| inside ^": (lambda: str((x | y) ^ z), "(x | y) ^ z"),
    "& inside ^": (lambda: str(x & y ^ z), "x & y ^ z"),
    "^ inside &": (lambda: str((x ^ y) & z), "(x ^ y) & z"),
    "shift inside &": (lambda: str(x << y & z), "x << y & z"),
    "& inside a shift": (lambda: str((x & y) << z), "(x & y) << z"),
    "+ inside a shift": (lambda: str(x + y << z), "x + y << z"),
    "shift inside +": (lambda: str((x << y) + z), "(x << y) + z"),
    "* inside +": (lambda: str(x * y + z), "x * y + z"),
    "+ inside *": (lambda: str((x + y) * z), "(x + y) * z"),
    "+ on the right of +": (lambda: str(x + (y + z)), "x + (y + z)"),
    "- on the right of -": (lambda: str(x - (y - z)), "x - (y - z)"),
    "- on the left of -": (lambda: str(x - y - z), "x - y - z"),
    "% on the right of //": (lambda: str(x // (y % z)), "x // (y % z)"),
    "minus inside *": (lambda: str(-x * y), "-x * y"),
    "* inside minus": (lambda: str(-(x * y)), "-(x * y)"),
    "minus of minus": (lambda: str(ir.neg(-x)), "--x"),
    "inversion of minus": (lambda: str(~-x), "~-x"),
    "** inside minus": (lambda: str(-(x**y)), "-x ** y"),
    "minus inside **": (lambda: str((-x) ** y), "(-x) ** y"),
    "** on the left of **": (lambda: str((x**y) ** z), "(x ** y) ** z"),
    "** on the right of **": (lambda: str(x ** (y**z)), "x ** y ** z"),
    "negative constant under **": (lambda: str(ir.ConstInt(-2) ** y), "(-2) ** y"),
    "minus of a negative constant": (lambda: str(-ir.ConstInt(-2)), "-pl.const(-2, pl.INT64)"),
    "call-like binds tightest": (lambda: str(ir.min_(x + 1, y) ** 2), "min(x + 1, y) ** 2"),
    "max": (lambda: str(ir.max_(x, y) * 2), "max(x, y) * 2"),
    "abs": (lambda: str(ir.Abs(x - y, ir.INT64) + 1), "abs(x - y) + 1"),
    "cast": (lambda: str(ir.cast(x + 1, ir.FP32) * single), "pl.cast(x + 1, pl.FP32) * f"),
}


@rows(PRECEDENCE)
def test_precedence(make: Callable[[], Any], wanted: Any) -> None:
    """4.5: children that bind weaker are in parentheses, on the right also those equally strong."""
    check(make, wanted)
