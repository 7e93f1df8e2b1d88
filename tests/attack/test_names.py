"""Names and files from outside: what `deserialize` and the parsers reject."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import PyptoError, SerializeError
from pypto._src.ir.name_rules import is_file_name, is_op_name, is_variable_name
from tests.attack.markers import MARKERS, packed, tokens_of
from tests.ir.samples import INT, function, loop_sum, program, var

ODD = [
    "../../x",
    "/etc/x",
    "a b",
    "a-b",
    "1st",
    "a\nb",
    "a\0b",
    "a/b",
    "a\\b",
    "C:x",
    "a;b",
    '"',
    *MARKERS,
]
"""Strings that are not identifiers."""
FILES = ["a\nb", "a\rb", "a\0b", "a\x1bb", "a\x85b", "a\u2028b"]


def call() -> ir.Program:
    """Return a program with each kind of name: NAME is a placeholder for all of them in turn."""
    callee = function([var("n")], ir.ReturnStmt([]), name="callee")
    body = ir.SeqStmts(
        [
            ir.EvalStmt(ir.Call(ir.GlobalVar("callee"), [1], INT)),
            ir.EvalStmt(ir.Call(ir.Op("my.op"), [2], INT)),
        ]
    )
    return ir.Program([callee, function([], body, name="caller")], "Whole", entry="caller")


@pytest.mark.parametrize("old", ["callee", "caller", "Whole", "my.op"])
@pytest.mark.parametrize("odd", ODD, ids=count())
def test_bytes_with_odd_names(old: str, odd: str) -> None:
    """Names of functions, programs, entries and ops in bytes must be identifiers."""
    tokens = [odd if token == old else token for token in tokens_of(call())]
    with pytest.raises(SerializeError):
        ir.deserialize(packed(tokens))


@pytest.mark.parametrize("odd", [odd for odd in ODD if not is_variable_name(odd)], ids=count())
def test_bytes_with_odd_variables(odd: str) -> None:
    """So must variables, except that digits, `.` and `$` may be anywhere."""
    tokens = [odd if token == "n" else token for token in tokens_of(call())]
    with pytest.raises(SerializeError, match=r"a Var is called .*, wanted letters, digits"):
        ir.deserialize(packed(tokens))


@pytest.mark.parametrize("file", FILES, ids=count())
def test_bytes_with_odd_files(file: str) -> None:
    """A file name has no character that ends a line or controls a terminal."""
    node = ir.BreakStmt(ir.Span("a.py", 1, 0))
    tokens = [file if token == "a.py" else token for token in tokens_of(node)]
    with pytest.raises(SerializeError, match="which has control characters"):
        ir.deserialize(packed(tokens))
    with pytest.raises(SerializeError, match="which has control characters"):
        ir.serialize(ir.BreakStmt(ir.Span(file, 1, 0)))


MAKERS: dict[str, Callable[[str], ir.Program]] = {
    "program": lambda odd: ir.Program([], odd),
    "entry": lambda odd: ir.Program([], "P", entry=odd),
    "function": lambda odd: ir.Program([function([], name=odd)], "P"),
    "callee": lambda odd: program(function([], ir.EvalStmt(ir.Call(ir.GlobalVar(odd), [])))),
    "op": lambda odd: program(function([], ir.EvalStmt(ir.Call(ir.Op(odd), [])))),
}


@pytest.mark.parametrize("what", MAKERS)
def test_no_reader_takes_what_constructors_do(what: str) -> None:
    """What constructors accept nevertheless is printed; as bytes and by parsers it is rejected."""
    for odd in ODD:
        made: Any = MAKERS[what](odd)
        with pytest.raises(SerializeError, match="is called"):
            ir.serialize(made)
        with pytest.raises(PyptoError):
            ir.parse(str(made))
        with pytest.raises(PyptoError):
            pl.parse(str(made))
        with pytest.raises(PyptoError):
            ir.from_statement_text(ir.to_statement_text(made))


@pytest.mark.parametrize("name", ['"a b"', '"../x"', '"a\\nb"', '"a;"'])
def test_statement_texts_with_odd_names(name: str) -> None:
    """Quoting in the statement form does not make a name valid; the error shows it."""
    text = f"program.module @{name} {{ func.func @{name}(%{name}: fp32) {{ statement.return }} }}"
    for at in range(3):
        parts = text.split(name)
        kept = "m".join(parts[: at + 1]) + name + "m".join(parts[at + 1 :])
        with pytest.raises(PyptoError, match=r"is not a name, .* was wanted") as caught:
            ir.from_statement_text(kept)
        assert caught.value.location.begin_line == 1


def test_header_of_a_kernel_with_an_odd_name() -> None:
    """Neither does a comment header in a hand-written text give a program an invalid name."""
    kernel = "@pl.function\ndef f(x: pl.INT64):\n    y = x + 1\n"
    text = f"# pypto.program: ../../x\n\n{kernel}"
    with pytest.raises(PyptoError, match="is not an identifier") as caught:
        pl.parse(text)
    assert caught.value.location.begin_line == 1


def test_usual_names_are_taken() -> None:
    """Unicode, Python keywords, and numbered names of the statement form are valid."""
    assert all(map(is_variable_name, ["x", "β", "for", "0", "x.1", "$", ""]))
    assert all(map(is_op_name, ["block.add", "foo", "my.and"]))
    assert not any(map(is_op_name, ["", ".", "a.", "a..b", "a b"]))
    assert all(map(is_file_name, ["", "a b.py", "<string>", "C:\\x\\ü.py", "a\udc80.py"]))
    whole = ir.Program([function([], name="class"), function([], name="β")], "", entry="")
    ir.assert_structural_equal(whole, ir.deserialize(ir.serialize(whole)))


# --------------------------------------------------------------------------------------------
# Bytes that no constructor would have made
# --------------------------------------------------------------------------------------------


def _broken() -> dict[str, tuple[ir.IRNode, str, Any]]:
    """Return nodes, and a field of a part with a value that it must not have."""
    size = ir.ConstFloat(1.5)
    tile = ir.TileType([16, 16], ir.FP32)
    pair = ir.MakeTuple([ir.ConstInt(1), ir.ConstFloat(0.5)])
    memref = ir.MemRef(ir.MemorySpace.Vec, 0, 256, 3)
    view = ir.TileView([16, 16])
    tensor_view = ir.TensorView([16, 1])
    item = ir.TupleGetItemExpr(pair, 1)
    return {
        "dimension": (ir.Var("x", tile), "shape", (size,)),
        "valid size": (ir.Var("x", ir.TileType([16], ir.FP32, None, view)), "valid_shape", (size,)),
        "tile stride": (ir.Var("x", ir.TileType([16], ir.FP32, None, view)), "stride", (size,)),
        "offset": (ir.Var("x", ir.TileType([16], ir.FP32, None, view)), "start_offset", size),
        "stride": (
            ir.Var("x", ir.TensorType([16], ir.FP32, None, tensor_view)),
            "stride",
            (size,),
        ),
        "bytes": (memref, "size_", -1),
        "memref": (memref, "name", "mem_vec_4"),
        "tuple": (pair, "type", ir.TupleType([INT, INT])),
        "item": (item, "type", INT),
        "item number": (item, "index", 2),
    }


@pytest.mark.parametrize("what", _broken())
def test_bytes_that_constructors_would_refuse(what: str) -> None:
    """Inconsistent values are rejected on reading: their text would be another program's."""
    root, field, value = _broken()[what]
    parts: list[Any] = [root, getattr(root, "type", None), *_views(root)]
    holder = next(part for part in parts if part is not None and hasattr(part, field))
    assert ir.deserialize(ir.serialize(root)) is not None
    object.__setattr__(holder, field, value)
    with pytest.raises(SerializeError, match=r"the serialised IR is damaged: a .*, this one not"):
        ir.deserialize(ir.serialize(root))


def _views(root: Any) -> list[Any]:
    kind = getattr(root, "type", None)
    return [getattr(kind, name, None) for name in ("tile_view", "tensor_view")]


def test_span_that_ends_nowhere() -> None:
    """A location whose end is 2^62 lines after its file is handled in no time."""
    from pypto._src.diagnostics import lines_at

    tokens = tokens_of(ir.BreakStmt(ir.Span(__file__, 1, 0, 77, 1)))
    node: Any = ir.deserialize(packed([1 << 62 if token == 77 else token for token in tokens]))
    assert lines_at(node.span).startswith('"""Names and files')


def test_whole_programs_still_come_back() -> None:
    """A program as users write it has none of these faults."""
    node = ir.Program([loop_sum()], "P")
    ir.assert_structural_equal(node, ir.deserialize(ir.serialize(node)))
