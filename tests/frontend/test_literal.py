"""Reading IR text: what is rejected, what is left to the front end, and rare constructs."""

from __future__ import annotations

from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import ParserError, ParserSyntaxError, TextError, TextRunError
from tests.ir.samples import FP32, INT, assign, function, kernel, program, var

KERNEL = str(program(kernel(), name="K"))


def check(whole: Any, *, prefix: str = "pl") -> str:
    """Read the text of a value back; return the text."""
    text = ir.python_print(whole, prefix)
    again: Any = ir.parse(text)
    ir.assert_structural_equal(whole, again, True)
    assert ir.python_print(again, prefix) == text
    return text


# --------------------------------------------------------------------------------------------
# What the front end alone could not read
# --------------------------------------------------------------------------------------------


def test_item_of_a_tuple_made_in_place() -> None:
    """``[a, b][0]`` is not simplified."""
    a = var("a")
    item = ir.TupleGetItemExpr(ir.MakeTuple([a, 1]), 0)
    assert check(program(function([a], assign(var("b"), item)))).endswith("= [a, 1][0]")


def test_statements_without_effect() -> None:
    """An expression statement need not be a call."""
    a = var("a")
    text = check(program(function([a], ir.EvalStmt(a), ir.EvalStmt(a + 1))))
    assert text.endswith("        a\n        a + 1")


def test_variable_in_two_bodies() -> None:
    """One variable assigned in two unrelated loops stays one variable."""
    v = var("v")
    loops = [ir.ForStmt(var("i"), 0, 4, 1, [], assign(v, n), []) for n in (1, 2)]
    whole = program(function([], *loops))
    again: Any = ir.parse(check(whole))
    first, second = again.functions_[0].body.stmts
    assert first.body.var is second.body.var


def test_fp64() -> None:
    """The element type without a name of its own is written out, and read by both readers."""
    x = ir.Var("x", ir.ScalarType(ir.DataType.FP64))
    y = ir.Var("y", x.type)
    add = assign(y, x + ir.ConstFloat(1.5, ir.DataType.FP64))
    text = check(function([x], add, ir.ReturnStmt([y]), results=[x.type]))
    assert "x + pl.const(1.5, pl.DataType.FP64)" in text
    ir.assert_structural_equal(pl.parse(text), ir.parse(text))


def test_attributes_are_not_filled_in() -> None:
    """A call that omits an attribute with a default is printed as an exact call."""
    x = var("x", ir.TensorType([64, 64], ir.FP32))
    load = ir.get_op("block.load")
    args = [x, ir.MakeTuple([0, 0]), ir.MakeTuple([16, 16])]
    t = var("t", ir.TileType([16, 16], ir.FP32))
    text = check(program(function([x], assign(t, ir.Call(load, args, t.type)))))
    assert text.endswith('= pl.call("block.load", x, [0, 0], [16, 16])')


def test_op_with_the_name_of_a_registered_one() -> None:
    """It is written out, so that the reader does not mistake it for the registered op."""
    for op in (ir.Op("test.op"), ir.Op("block.add"), ir.Op("tensor.dim"), ir.Op("system.bar_v")):
        x = var("x", ir.TensorType([64, 64], ir.FP32))
        text = check(program(function([x], ir.EvalStmt(ir.Call(op, [x])))))
        assert text.endswith(f'pl.call("{op.name}", x)')


def test_order_of_attributes() -> None:
    """Keywords keep the order of the call, which counts in comparison."""
    words = {"wait_pipe": ir.PipeType.V, "set_pipe": ir.PipeType.M, "event_id": 0}
    call = ir.Call(ir.get_op("system.sync_src"), [], words)
    text = check(program(function([], ir.EvalStmt(call))))
    assert text.endswith("(wait_pipe=pl.PipeType.V, set_pipe=pl.PipeType.M, event_id=0)")


def test_types_that_nothing_deduces() -> None:
    """The annotation gives a call its type, or else ``pl.typed``; the variable keeps its own."""
    t = var("t", ir.TileType([16, 16], ir.FP32))
    viewed = ir.TileType([16, 16], ir.FP32, None, ir.TileView(fractal=1024))
    scalar = ir.ConstFloat(2.0, ir.DataType.FP64)
    adds = ir.Call(ir.get_op("block.adds"), [t, scalar], t.type)
    nested = ir.Call(ir.get_op("block.exp"), [ir.Call(adds.op, adds.args, viewed)], t.type)
    other = ir.Call(ir.get_op("block.exp"), [t], viewed)
    body = [assign(var("a", t.type), value) for value in (adds, nested, other)]
    lines = check(program(function([t], *body))).splitlines()
    two = "pl.const(2.0, pl.DataType.FP64)"
    wide = "pl.Tile[[16, 16], pl.FP32, pl.TileView(fractal=1024)]"
    assert [line.split(" = ")[1] for line in lines[-3:]] == [
        f"pl.block.adds(t, {two})",
        f"pl.block.exp(pl.typed(pl.block.adds(t, {two}), {wide}))",
        f"pl.typed(pl.block.exp(t), {wide})",
    ]


def test_calls_without_type() -> None:
    """A comment marks an assigned call as untyped, unless its variable has an unknown type, too."""
    y, u = var("y"), ir.Var("u", ir.UnknownType.get())
    calls = [ir.Call(ir.GlobalVar("f"), []), ir.Call(ir.Op("foo"), [1])]
    text = check(program(function([], *[assign(v, c) for v in (y, u) for c in calls])))
    assert [line.strip() for line in text.splitlines()[-4:]] == [
        "y: pl.Scalar[pl.INT64] = self.f()  # untyped",
        "y: pl.Scalar[pl.INT64] = foo(1)  # untyped",
        "u: pl.UnknownType = self.f()",
        "u: pl.UnknownType = foo(1)",
    ]
    assert check(program(function([], assign(u, calls[1])))).endswith("        u = foo(1)")


def test_what_is_printed_alone_is_plain() -> None:
    """Single expressions and statements are printed for people: without exact forms."""
    odd = ir.Add(var("a"), var("b"), ir.INT8)
    assert str(odd) == "a + b"
    assert str(ir.ReturnStmt([odd])) == "return a + b"
    whole = function([], ir.ReturnStmt([odd]))
    assert str(whole).endswith("    return pl.typed(a + b, pl.Scalar[pl.INT8])")


def test_names_of_functions() -> None:
    """A name that is no Python identifier is in the decorator, and calls quote it."""
    inner = function([], name="match_")
    outer = function([], ir.EvalStmt(ir.Call(ir.GlobalVar("for"), [])), name="class")
    text = check(program(inner, outer, function([], name="for")))
    assert '@pl.function(name="for")\n    def for_1(self):' in text
    assert '@pl.function(name="class")\n    def class_1(self):\n        self["for"]()' in text


def test_callee_that_is_nowhere() -> None:
    """A call of a function that the program does not have can be read."""
    check(program(function([], ir.EvalStmt(ir.Call(ir.GlobalVar("gone"), [])))))


def test_header_lines() -> None:
    """Unusual keys and values in the comment lines round-trip."""
    attrs: dict[str, Any] = {"a": float("nan"), "x y": {"k": [1, None]}, "b=c": "\n", "": ir.FP16}
    whole = ir.Program([], "class", attrs=attrs, entry="")
    again: Any = ir.parse(check(whole))
    assert again.name == "class"
    assert again.entry == ""
    assert list(again.attrs) == list(attrs)


def test_memory_references_stay_shared() -> None:
    """Types sharing one memory reference share it after reading, separate ones stay separate."""
    memrefs = [ir.MemRef(ir.MemorySpace.Vec, 0, 256, number) for number in (0, 1)]
    kinds = [ir.TileType([8, 8], ir.FP32, memrefs[index]) for index in (0, 0, 1)]
    again: Any = ir.parse(check(function([var(f"p{i}", kind) for i, kind in enumerate(kinds)])))
    first, second, third = [param.type for param in again.params]
    assert first.shares_memref_with(second)
    assert not first.shares_memref_with(third)


def test_long_texts() -> None:
    """10,000 statements and a sum of 900 terms are read without recursion."""
    a = var("a")
    total: ir.Expr = a
    for number in range(900):
        total = total + number
    many = [assign(var(f"v{number}"), a) for number in range(10_000)]
    check(program(function([a], assign(var("t"), total), *many)))


@pytest.mark.parametrize("depth", [5_000, 100_000])
def test_deep_texts_are_refused(depth: int) -> None:
    """Nesting too deep for Python's parser gives one clean error in both readers."""
    text = f"# pypto.program: P\n@pl.program\nclass P:\n    x = {'-' * depth}1\n"
    for read in (ir.parse, pl.parse):
        with pytest.raises((ParserError, SyntaxError)):
            read(text)


# --------------------------------------------------------------------------------------------
# Which reader reads what
# --------------------------------------------------------------------------------------------


def test_marked_text_is_trusted() -> None:
    """What the front end rejects in source is read from a program's printed text."""
    out = var("out", ir.TensorType([8], ir.FP32))
    whole = program(function([(out, ir.ParamDirection.Out)], ir.EvalStmt(out)))
    ir.assert_structural_equal(pl.parse(str(whole)), whole)
    with pytest.raises(ParserError, match="never written"):
        pl.parse(str(whole.functions_[0]).replace("    out", "    pass"))


EDITS: dict[str, tuple[str, str]] = {
    "a unified name": ("pl.block.muls(tile", "pl.mul(tile"),
    "no annotation": ("scaled: pl.Tile[[64, 64], pl.FP16] =", "scaled ="),
    "a default left out": (", target_memory=pl.MemorySpace.Vec", ""),
}


@pytest.mark.parametrize(("old", "new"), EDITS.values(), ids=list(EDITS))
def test_edited_text_is_source(old: str, new: str) -> None:
    """A printed program that has been edited is read by the front end, which completes it."""
    text = KERNEL.replace(old, new)
    assert text != KERNEL
    with pytest.raises(ParserSyntaxError, match="this is not IR text"):
        ir.parse(text)
    ir.assert_structural_equal(pl.parse(text), ir.parse(KERNEL))


def test_typed_calls_are_source() -> None:
    """``pl.typed``, which valid programs need for calls in calls, is part of the language."""
    m = var("M")
    kind = ir.TensorType([m, 8], ir.FP32)
    x = var("x", kind)
    inner = ir.Function("g", [x], [kind], ir.ReturnStmt([x]))
    y = var("y", kind)
    call = ir.Call(ir.GlobalVar("g"), [ir.Call(ir.GlobalVar("g"), [y], kind)], kind)
    text = check(program(inner, function([y], assign(var("z", kind), call))))
    assert "self.g(pl.typed(self.g(y), pl.Tensor[[M, 8], pl.FP32]))" in text
    source = text.split("\n", 1)[1]
    ir.assert_structural_equal(pl.parse(source), ir.parse(text))
    with pytest.raises(ParserError, match="says Tile"):
        pl.parse(source.replace("pl.typed(self.g(y), pl.Tensor", "pl.typed(self.g(y), pl.Tile"))


def test_errors_of_edited_text_are_those_of_source() -> None:
    """A mistake in edited text is explained as in any kernel."""
    with pytest.raises(ParserError, match=r"there is no pl\.block\.mul_s") as caught:
        pl.parse(KERNEL.replace("block.muls", "block.mul_s"))
    assert caught.value.slug == "unknown-op"


NUMBERS = [
    ("y: pl.Scalar[pl.INT32] = x + 1", "a bare number is used with an INT64 or FP32 scalar"),
    ("y: pl.Scalar[pl.INT32] = 1", "a bare number is INT64 or FP32"),
    ("y: pl.Scalar[pl.INT32] = -x * 2", "a bare number is used with an INT64 or FP32 scalar"),
    ("y: pl.Scalar[pl.INT64] = 1 + 2", "a bare number is used with an INT64 or FP32 scalar"),
]


@pytest.mark.parametrize(("line", "message"), NUMBERS, ids=[line for line, _ in NUMBERS])
def test_numbers_that_source_means_differently(line: str, message: str) -> None:
    """The literal reader leaves to the front end what the latter would read with another type."""
    header = "@pl.function\ndef f(x: pl.Scalar[pl.INT32]):\n    "
    with pytest.raises(ParserSyntaxError, match=message):
        ir.parse(header + line)
    assert isinstance(pl.parse(header + line), ir.Function)


REFUSED = [
    ("x = 1", "a type was wanted"),
    ("def f(): pass", "decorated with pl.function"),
    ("@pl.function\ndef f(n: pl.Scalar[pl.INT64]):\n    return m", "'m' is not defined"),
    ("@pl.function\ndef f(n):\n    return n", "parameter 'n' has no type"),
    ("@pl.function\ndef f():\n    import os", "IR text has no Import"),
    ("@pl.function\ndef f():\n    pl.block.nothing()", "there is no such op"),
    ("@pl.function\ndef f():\n    pl.block.add()", "block.add has other arguments"),
    ('@pl.function\ndef f():\n    pl.call("a.b", k=1, **{"k": 2})', "is given an argument twice"),
    ("@pl.function\ndef f():\n    for i in pl.range(3):\n        pass", "start, stop and step"),
    ("@pl.function\ndef f():\n    v: pl.Scalar[pl.INT8] = pl.const(2.5, pl.INT8)",
     "the element type does not have this number"),
    ("import os\n@pl.function\ndef f():\n    pass\nos.getcwd()", "IR text has one definition"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_refused(text: str, message: str) -> None:
    """Text in another form is rejected where it deviates."""
    with pytest.raises(ParserSyntaxError) as caught:
        ir.parse(text)
    assert caught.value.message.startswith("this is not IR text: ")
    assert caught.value.message.endswith(message)
    assert caught.value.slug == "ir-text"


def test_place_of_a_deviation() -> None:
    """The report shows the line."""
    with pytest.raises(ParserSyntaxError) as caught:
        ir.parse("@pl.function\ndef f(n: pl.Scalar[pl.INT64]):\n    return m", "given.py")
    assert caught.value.render() == (
        "error: this is not IR text: 'm' is not defined  [ir-text]\n"
        " --> given.py:3:12\n"
        "  |\n"
        "3 |     return m\n"
        "  |            ^\n"
        "  = hint: read kernels with pl.parse(text)"
    )


def test_errors_of_texts_are_parser_errors() -> None:
    """No definition, or an error in the Python code around kernels: also of the builtin classes."""
    with pytest.raises(TextError, match="defines 0 functions"):
        pl.parse("x = 1")
    with pytest.raises(TextRunError, match="ZeroDivisionError"):
        pl.parse("1 / 0")
    assert issubclass(TextError, ValueError)
    assert issubclass(TextRunError, RuntimeError)


def test_constants_that_are_too_large() -> None:
    """The front end folds constants, but not for minutes."""
    for expression in ("3 ** 99999999999", "1 << 99999999999", "[0] * 99999999999"):
        with pytest.raises(ParserError, match="too large"):
            pl.parse(f"@pl.function\ndef f():\n    x = {expression}\n")


def test_several_functions_that_call_each_other() -> None:
    """Mutually recursive functions with known result types can be read, nested calls included."""
    n = var("n")
    calls = {"a": "b", "b": "a"}
    functions = [
        function(
            [n],
            ir.ReturnStmt([ir.Call(ir.GlobalVar(other), [n], INT) + 1]),
            name=name,
            results=[INT],
        )
        for name, other in calls.items()
    ]
    assert "pl.typed" not in check(program(*functions))
    wrong = ir.EvalStmt(ir.Call(ir.GlobalVar("f"), [], FP32))
    assert check(program(function([], wrong))).endswith("pl.typed(self.f(), pl.Scalar[pl.FP32])")
