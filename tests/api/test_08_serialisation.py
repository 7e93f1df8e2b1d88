"""API section 8: IR as bytes and in files."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pypto import ir
from pypto._src.errors import SerializeError
from pypto._src.lazy import lazy_module
from tests import effort
from tests.api.facts import Refused, Table, check, rows
from tests.api.test_07_comparison import DEEP
from tests.ir.samples import BOOL, FP32, INT, assign, function, kernel, loop_sum, program, seq, var

x, i, flag = var("x"), var("i"), var("flag", BOOL)
SPAN = ir.Span("k.py", 3, 4, 5, 6)
mem = ir.MemRef(ir.MemorySpace.Vec, 64, 256, 3)
msgpack: Any = lazy_module("msgpack")  # it has no type annotations
VIEW = ir.TileView([8, 4], [8, 1], 2, ir.col_major, ir.row_major, 1024, ir.TilePad.max)


def call(function: Any, *args: Any) -> Any:
    """Call with arguments that the types forbid."""
    return function(*args)


def class_of(value: object) -> type:
    return value.__class__


def again(node: Any) -> Any:
    """Return ``node`` after the round trip, which must preserve its structure and its bytes."""
    data = ir.serialize(node)
    back = ir.deserialize(data)
    assert ir.serialize(back) == data
    assert ir.structural_equal(node, back, enable_auto_mapping=True)
    return back


def typed(kind: ir.Type) -> Any:
    return again(ir.Var("v", kind)).type


def keyword(value: Any) -> Any:
    return again(ir.Call(ir.Op("o"), [x], {"k": value})).kwargs["k"]


def tensor(*dims: Any, **extras: Any) -> ir.TensorType:
    return ir.TensorType(dims, ir.FP32, **extras)


def viewed() -> list[bool]:
    """A variable whose declared type has no view, and a value whose type has one."""
    target = ir.Var("t", ir.TileType([8, 8], ir.FP32))
    value = ir.Call(ir.Op("o"), [], ir.TileType([8, 8], ir.FP32, mem, VIEW))
    back = again(ir.AssignStmt(target, value))
    return [back.var.type.tile_view is None, back.value.type.tile_view is None]


def shared_memref() -> bool:
    first = ir.Var("a", ir.TileType([8], ir.FP32, mem))
    second = ir.Var("b", ir.TileType([8], ir.FP32, mem))
    back = again(ir.MakeTuple([first, second]))
    return back.elements[0].type.shares_memref_with(back.elements[1].type)


def ssa_while() -> ir.Function:
    arg, result = ir.IterArg("n", INT, 9), var("n")
    body = ir.YieldStmt([arg - 1])
    return function([], ir.WhileStmt(arg > 1, [arg], body, [result]), ir.ReturnStmt([result]))


def attributes() -> Any:
    attrs = {
        "tile_default": {"M": 16, "N": [32, 64], "deep": {"on": True, "name": "é", "f": 0.5}},
        "empty": {},
        "level": 3,
    }
    return dict(again(ir.Program([function([])], "P", attrs=attrs, entry="f")).attrs)


KEPT: Table = {
    "bytes": (lambda: type(ir.serialize(x)), bytes),
    "MessagePack": (lambda: msgpack.unpackb(ir.serialize(x))[:2], ["pypto.ir", 1]),
    "the same bytes for one tree": (lambda: ir.serialize(kernel()) == ir.serialize(kernel()), True),
    "class": (lambda: class_of(again(kernel())), ir.Function),
    "names": (
        lambda: [p.name for p in again(kernel()).params] + [again(kernel()).name],
        ["x", "out", "scale"],
    ),
    "name of a program": (lambda: again(program(function([]), name="Q")).name, "Q"),
    "spans": (
        lambda: [getattr(again(ir.AssignStmt(x, 1, SPAN)).span, n) for n in SPAN.__slots__],
        [4, 3, 6, 5, "k.py"],
    ),
    "the unknown span is one object": (lambda: again(assign(x, 1)).span is ir.Span.unknown(), True),
    "kind and directions": (
        lambda: (again(kernel()).func_type, list(again(kernel()).param_directions)),
        (ir.FunctionType.InCore, [ir.ParamDirection.In, ir.ParamDirection.Out]),
    ),
    "integers": (lambda: again(ir.ConstInt(-(1 << 63), ir.INT64)).value, -(1 << 63)),
    "floats": (lambda: again(ir.ConstFloat(0.1, ir.DataType.FP64)).value.hex(), (0.1).hex()),
    "negative zero": (lambda: again(ir.ConstFloat(-0.0)).value.hex(), "-0x0.0p+0"),
    "NaN": (lambda: again(ir.ConstFloat(float("nan"))).value.hex(), "nan"),
    "bools": (lambda: again(ir.ConstBool(True)).value, True),
    "element types": (
        lambda: [again(ir.ConstInt(1, d)).dtype for d in (ir.INT4, ir.UINT64, ir.FP8E5M2, ir.HF8)],
        [ir.INT4, ir.UINT64, ir.FP8E5M2, ir.HF8],
    ),
    "order of keywords": (
        lambda: list(again(ir.Call(ir.Op("o"), [], {"z": 1, "a": 2})).kwargs),
        ["z", "a"],
    ),
    "keyword: memory space, A5": (lambda: keyword(ir.Mat), ir.MemorySpace.Mat),
    "keyword: element type": (lambda: keyword(ir.BF16), ir.BF16),
    "keyword: bool": (lambda: keyword(True), True),
    "keyword: int": (lambda: keyword(-5), -5),
    "keyword: float": (lambda: keyword(1.0), 1.0),
    "keyword: text": (lambda: keyword("rint é"), "rint é"),
    "keyword: none": (lambda: keyword(None), None),
    "keyword: pipe": (lambda: keyword(ir.PipeType.V), ir.PipeType.V),
    "keyword: list": (lambda: keyword([1, (2.0, "a")]), [1, (2.0, "a")]),
    "keyword: dict": (lambda: keyword({"M": 16, "N": {"O": []}}), {"M": 16, "N": {"O": []}}),
    "keyword: order of a dict": (lambda: list(keyword({"z": 1, "a": 2})), ["z", "a"]),
    "attributes of a program": (
        attributes,
        {
            "tile_default": {"M": 16, "N": [32, 64], "deep": {"on": True, "name": "é", "f": 0.5}},
            "empty": {},
            "level": 3,
        },
    ),
    "entry of a program": (lambda: again(ir.Program([function([])], entry="f")).entry, "f"),
    "scalar type": (lambda: typed(FP32), FP32),
    "symbolic dimension": (lambda: str(typed(tensor(x, 8))), "pl.Tensor[[x, 8], pl.FP32]"),
    "tuple type": (lambda: typed(ir.TupleType([INT, tensor(8)])), ir.TupleType([INT, tensor(8)])),
    "empty tuple type": (lambda: typed(ir.TupleType([])), ir.TupleType([])),
    "unknown type is one object": (
        lambda: again(ir.Call(ir.Op("o"), [])).type is ir.UnknownType.get(),
        True,
    ),
    "memref": (
        lambda: [getattr(typed(tensor(8, memref=mem)).memref, n) for n in ("size_", "id_", "name")],
        [256, 3, "mem_vec_3"],
    ),
    "tensor view": (
        lambda: typed(tensor(8, 8, tensor_view=ir.TensorView([8, 1], ir.DN))).tensor_view.layout,
        ir.TensorLayout.DN,
    ),
    "tile view": (
        lambda: (
            typed(ir.TileType([8, 8], ir.FP32, None, VIEW))
            == ir.TileType([8, 8], ir.FP32, None, VIEW)
        ),
        True,
    ),
    "tile view without start offset, A1": (
        lambda: typed(ir.TileType([8], ir.FP32, None, ir.TileView())).tile_view.start_offset,
        None,
    ),
    "variable without view, value with one": (viewed, [True, False]),
    "a variable used twice is one object": (
        lambda: (lambda e: e.left is e.right)(again(x + x)),
        True,
    ),
    "a definition and its use are one object": (
        lambda: (lambda f: f.body.stmts[0].var is f.body.stmts[1].value[0])(
            again(function([], assign(x, 1), ir.ReturnStmt([x])))
        ),
        True,
    ),
    "equal variables stay two": (lambda: (lambda e: e.left is e.right)(again(x + var("x"))), False),
    "memref shared by two types, A7": (shared_memref, True),
    "tuple of tensors, A7": (
        lambda: len(again(ir.MakeTuple([var("a", tensor(8)), var("b", tensor(8))])).elements),
        2,
    ),
    "while with carried values, A7": (lambda: str(again(ssa_while())) == str(ssa_while()), True),
    "loop with carried values": (lambda: str(again(loop_sum())) == str(loop_sum()), True),
    "registered ops are the objects": (
        lambda: again(kernel()).body.stmts[0].value.op is ir.get_op("block.load"),
        True,
    ),
    "unknown ops are bare": (lambda: class_of(again(ir.Call(ir.Op("my.op"), [])).op), ir.Op),
    "functions of a program": (
        lambda: (lambda p: p.get_global_var("f") is next(iter(p.functions)))(
            again(program(function([])))
        ),
        True,
    ),
    "branch without else": (lambda: again(ir.IfStmt(flag, seq(), None)).else_body, None),
    "break and continue": (
        lambda: [type(s) for s in again(seq(ir.BreakStmt(), ir.ContinueStmt())).stmts],
        [ir.BreakStmt, ir.ContinueStmt],
    ),
    "parallel loop": (
        lambda: again(ir.ForStmt(i, 0, 4, 1, [], seq(), [], kind=ir.Parallel)).kind,
        ir.ForKind.Parallel,
    ),
    "scope": (lambda: again(ir.ScopeStmt(ir.InCore, seq())).scope_kind, ir.ScopeKind.InCore),
    "op statements": (lambda: class_of(again(ir.OpStmts([assign(x, 1)]))), ir.OpStmts),
}


@rows(KEPT)
def test_kept(make: Callable[[], Any], wanted: Any) -> None:
    """What a round trip preserves: everything."""
    check(make, wanted)


DATA = ir.serialize(loop_sum())

REFUSED: Table = {
    "a type": (
        lambda: call(ir.serialize, INT),
        Refused(TypeError, "serialize takes an IR node, got ScalarType"),
    ),
    "None": (lambda: call(ir.serialize, None), Refused(TypeError, "got NoneType")),
    "reading a text": (
        lambda: call(ir.deserialize, "text"),
        Refused(TypeError, "deserialize takes bytes, got str"),
    ),
    "no bytes": (
        lambda: ir.deserialize(b""),
        Refused(SerializeError, "these bytes are not serialised IR"),
    ),
    "other bytes": (
        lambda: ir.deserialize(b"\x93abc"),
        Refused(SerializeError, "not serialised IR"),
    ),
    "cut short": (lambda: ir.deserialize(DATA[:-1]), Refused(SerializeError, "damaged")),
    "one byte too many": (lambda: ir.deserialize(DATA + b"\0"), Refused(SerializeError, "damaged")),
    "errors are ValueErrors": (
        lambda: ir.deserialize(b""),
        Refused(ValueError, "not serialised IR"),
    ),
    "file that is not there": (
        lambda: ir.deserialize_from_file("no/such/file"),
        Refused(ValueError, "cannot read 'no/such/file'"),
    ),
    "folder that is not there": (
        lambda: ir.serialize_to_file(x, "no/such/file"),
        Refused(ValueError, "cannot write 'no/such/file'"),
    ),
}


@rows(REFUSED)
def test_refused(make: Callable[[], Any], wanted: Any) -> None:
    """Data that is not serialised IR is rejected with an error that says so."""
    check(make, wanted)


def test_files(tmp_path: Path) -> None:
    """A file contains the bytes of `serialize`, and is replaced atomically."""
    path = tmp_path / "program.pir"
    for node in (program(loop_sum()), program(kernel())):
        ir.serialize_to_file(node, path)
        assert path.read_bytes() == ir.serialize(node)
        ir.assert_structural_equal(ir.deserialize_from_file(str(path)), node)
    assert [p.name for p in tmp_path.iterdir()] == ["program.pir"]


@pytest.mark.parametrize("kind", effort.part(DEEP, 3))
def test_depth(kind: str) -> None:
    """Depth costs no recursion: 10,000 nested expressions or 2,000 nested statements."""
    make = DEEP[kind]
    again(make(1))


def test_bytes_are_the_same_in_every_process() -> None:
    """Processes with other hash seeds write the same bytes as this one."""
    root = Path(__file__).parents[2]
    code = (
        "from pypto import ir\nfrom tests.ir.samples import kernel, loop_sum, program\n"
        "print(ir.serialize(program(kernel(), loop_sum())).hex())"
    )
    wanted = ir.serialize(program(kernel(), loop_sum())).hex()
    path = os.pathsep.join([str(root / "src"), str(root)])
    for seed in ("0", "99"):
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == wanted
