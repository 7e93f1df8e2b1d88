"""Each form of the grammar: its meaning, and how it is printed."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from pypto import ir
from pypto._src.dtypes import MEMBERS
from pypto._src.statement.mnemonics import DTYPE_WORD, DTYPES
from tests.statement.documents import TILE, check, module, ops


class Form(NamedTuple):
    """A text, the Python of the function it defines, and its printed text if that differs."""

    text: str
    python: str
    printed: str = ""


IMPLIED = "statement.yield // implied"

FORMS: dict[str, Form] = {
    "a constant": Form(ops("%a = 2.0 : fp16"), "a: pl.Scalar[pl.FP16] = pl.const(2.0, pl.FP16)"),
    "an integer as a float": Form(
        ops("%a = 2 : fp32"), "a: pl.Scalar[pl.FP32] = 2.0", ops("%a = 2.0 : fp32")
    ),
    "infinity": Form(
        ops("%a = -inf : fp32"), 'a: pl.Scalar[pl.FP32] = pl.const(float("-inf"), pl.FP32)'
    ),
    "index": Form(ops("%a = 7 : index"), "a: pl.Scalar[pl.INT64] = 7", ops("%a = 7 : int64")),
    "truth": Form(ops("%a = true : bool"), "a: pl.Scalar[pl.BOOL] = True"),
    "a scalar operator": Form(
        ops("%a = tensor.OP_SCALAR_FLOORDIV %n, 3 : (int64, int64) -> int64"),
        "a: pl.Scalar[pl.INT64] = n // 3",
    ),
    "a cast": Form(
        ops("%a = tensor.OP_SCALAR_CAST %n : (int64) -> fp16"),
        "a: pl.Scalar[pl.FP16] = pl.cast(n, pl.FP16)",
    ),
    "another name": Form(
        ops(f"%a = tile.OP_ASSIGN %x : ({TILE}) -> {TILE}"),
        "a: pl.Tile[[16, 32], pl.FP32] = x",
    ),
    "POS": Form(
        ops("%a = tensor.OP_SCALAR_POS %n : (int64) -> int64"),
        "a: pl.Scalar[pl.INT64] = n",
        ops("%a = tensor.OP_SCALAR_ASSIGN %n : (int64) -> int64"),
    ),
    "a nested expression": Form(
        ops(
            "%.0 = tensor.OP_SCALAR_ADD %n, 1 : (int64, int64) -> int64",
            "%a = tensor.OP_SCALAR_MUL %.0, %.0 : (int64, int64) -> int64",
        ),
        "a: pl.Scalar[pl.INT64] = (n + 1) * (n + 1)",
    ),
    "a tile and a scalar": Form(
        ops(f"%a = tile.OP_MUL %x, %s : ({TILE}, fp32) -> {TILE}"),
        "a: pl.Tile[[16, 32], pl.FP32] = pl.block.muls(x, s)",
    ),
    "a scalar for its type": Form(
        ops(f"%a = tile.OP_MUL %x, %s : ({TILE}, %s) -> {TILE}"),
        "a: pl.Tile[[16, 32], pl.FP32] = pl.block.muls(x, s)",
        ops(f"%a = tile.OP_MUL %x, %s : ({TILE}, fp32) -> {TILE}"),
    ),
    "a constant for its type": Form(
        ops(f"%a = tile.OP_MUL %x, 2 : ({TILE}, 2) -> {TILE}"),
        "a: pl.Tile[[16, 32], pl.FP32] = pl.block.muls(x, 2.0)",
        ops(f"%a = tile.OP_MUL %x, 2.0 : ({TILE}, fp32) -> {TILE}"),
    ),
    "the op's own name": Form(
        ops(f"%a = block.muls %x, %s : ({TILE}, fp32) -> {TILE}"),
        "a: pl.Tile[[16, 32], pl.FP32] = pl.block.muls(x, s)",
        ops(f"%a = tile.OP_MUL %x, %s : ({TILE}, fp32) -> {TILE}"),
    ),
    "words of keywords": Form(
        ops(
            f"%a = tile.OP_CAST %x : ({TILE}) -> tile<[16, 32], [16, 32], int32> "
            "{target_type=int32, mode=floor}"
        ),
        'a: pl.Tile[[16, 32], pl.INT32] = pl.block.cast(x, target_type=pl.INT32, mode="floor")',
    ),
    "synchronisation": Form(
        ops(
            "system.sync_src : () -> () {set_pipe=PipeType.MTE2, wait_pipe=PipeType.V, event_id=3}"
        ),
        "pl.system.sync_src(set_pipe=pl.PipeType.MTE2, wait_pipe=pl.PipeType.V, event_id=3)",
    ),
    "lists of values": Form(
        ops(
            "%a = tensor.view %t : (tensor<[%m, 64], fp32>) -> tensor<[16, 64], fp32> "
            "{shape=[16, 64], offset=[%i, 0]}",
            signature="%t: tensor<[%m, 64], fp32>, %i: int64",
        ),
        "a: pl.Tensor[[16, 64], pl.FP32] = pl.tensor.view(t, [16, 64], [i, 0])",
    ),
    "valid shape": Form(
        ops(
            "%a = tile.OP_ASSIGN %t : (tile<[%n, 32], [16, 32], fp32>) -> "
            "tile<[%n, 32], [16, 32], fp32>",
            signature="%t: tile<[%n, 32], [16, 32], fp32>, %n: int64",
        ),
        "a: pl.Tile[[16, 32], pl.FP32, pl.TileView(valid_shape=[n, 32])] = t",
    ),
    "a view and a memory reference": Form(
        ops(
            "%a = tile.OP_ASSIGN %t : (tile<[16, 16], [16, 16], fp32, view={blayout=col_major, "
            "fractal=1024}, memref={space=Acc, addr=-1, size=1024, id=2}>) -> "
            "tile<[16, 16], [16, 16], fp32, view={blayout=col_major, fractal=1024}, "
            "memref={space=Acc, addr=-1, size=1024, id=2}>",
            signature="%t: tile<[16, 16], [16, 16], fp32, view={blayout=col_major, fractal=1024}, "
            "memref={space=Acc, addr=-1, size=1024, id=2}>",
        ),
        "a: pl.Tile[[16, 16], pl.FP32, pl.MemRef(pl.MemorySpace.Acc, -1, 1024, 2), "
        "pl.TileView(blayout=pl.TileLayout.col_major, fractal=1024)] = t",
    ),
    "for": Form(
        module(
            "%r = statement.for %i = 0 to %n step 2 iter_args(%a = 1 : int64) "
            "attributes { kind=parallel } {\n"
            "    statement.op {\n"
            "        %b = tensor.OP_SCALAR_ADD %a, %i : (int64, int64) -> int64\n"
            "    }\n"
            "    statement.yield %b\n"
            "}\n"
            "statement.return %r",
            results="int64",
        ),
        "for i, (a,) in pl.parallel(0, n, 2, init_values=(1,)):\n"
        "    b: pl.Scalar[pl.INT64] = a + i\n"
        "    r: pl.Scalar[pl.INT64] = pl.yield_(b)\n"
        "return r",
    ),
    "if": Form(
        module(
            "%r = statement.if %c {\n    statement.yield 1.5\n} else {\n    statement.yield %s\n}\n"
            "statement.return %r",
            results="fp32",
        ),
        "if c:\n    r: pl.Scalar[pl.FP32] = pl.yield_(1.5)\n"
        "else:\n    r: pl.Scalar[pl.FP32] = pl.yield_(s)\n"
        "return r",
    ),
    "a branch of nothing": Form(
        module(
            f"statement.if %c {{\n    statement.yield\n}} else {{\n    {IMPLIED}\n}}\n"
            "statement.return // implied",
        ),
        "if c:\n    pl.yield_()",
    ),
    "ITE": Form(
        ops("%r = tensor.OP_SCALAR_ITE %c, 1, %n : (bool, int64, int64) -> int64"),
        "if c:\n    r: pl.Scalar[pl.INT64] = pl.yield_(1)\n"
        "else:\n    r: pl.Scalar[pl.INT64] = pl.yield_(n)",
        module(
            "%r = statement.if %c {\n    statement.yield 1\n} else {\n    statement.yield %n\n}\n"
            "statement.return"
        ),
    ),
    "while": Form(
        module(
            "%r = statement.while iter_args(%a = %n : int64) {\n"
            "    statement.op {\n"
            "        %.0 = tensor.OP_SCALAR_LT %a, 9 : (int64, int64) -> bool\n"
            "    }\n"
            "    statement.condition %.0\n"
            "} do {\n"
            "    statement.yield %a\n"
            "}\n"
            "statement.return %r",
            results="int64",
        ),
        "for (a,) in pl.while_(init_values=(n,)):\n    pl.cond(a < 9)\n"
        "    r: pl.Scalar[pl.INT64] = pl.yield_(a)\nreturn r",
    ),
    "break": Form(
        module(
            "statement.while {\n    statement.condition %c\n} do {\n"
            f"    statement.break\n    {IMPLIED}\n}}\nstatement.return"
        ),
        "while c:\n    break\nreturn",
    ),
    "scope": Form(
        module(
            "statement.scope incore {\n"
            "    statement.op {\n"
            "        %a = 1 : int64\n"
            "    }\n"
            "}\n"
            "statement.return"
        ),
        "with pl.incore():\n    a: pl.Scalar[pl.INT64] = 1\nreturn",
    ),
    "a constant yielded with its type": Form(
        module(
            "%r = statement.if %c {\n    statement.yield 1: int32\n} else {\n"
            "    statement.yield 2: int32\n}\nstatement.return"
        ),
        "if c:\n    r: pl.Scalar[pl.INT32] = pl.yield_(pl.const(1, pl.INT32))\n"
        "else:\n    r: pl.Scalar[pl.INT32] = pl.yield_(pl.const(2, pl.INT32))\nreturn",
    ),
}


def body_of(program: ir.Program) -> str:
    """Return the Python of the only function's body, unindented."""
    lines = str(program).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("    def "))
    return "\n".join(line[8:] for line in lines[begin + 1 :])


@pytest.mark.parametrize("name", FORMS)
def test_form(name: str) -> None:
    """A text gives the program shown, and is printed unchanged or as shown."""
    text, python, printed = FORMS[name]
    program = ir.from_statement_text(text)
    wanted = python if "statement.return //" in text or "return" in python else f"{python}\nreturn"
    assert body_of(program) == wanted
    assert check(program) == (printed or text)


@pytest.mark.parametrize("member", MEMBERS)
def test_element_types(member: str) -> None:
    """Every element type has its own keyword, which is read as that type."""
    dtype = MEMBERS[member]
    assert DTYPES[DTYPE_WORD[dtype]] is dtype
    kind = f"tensor<[4, 4], {DTYPE_WORD[dtype]}>"
    [function] = ir.from_statement_text(
        module("statement.return", f"%x: {kind}, %s: {DTYPE_WORD[dtype]}")
    ).functions_
    assert [var.type for var in function.params] == [
        ir.TensorType([4, 4], dtype),
        ir.ScalarType(dtype),
    ]
    assert f"%x: {kind}, %s: {DTYPE_WORD[dtype]}" in ir.to_statement_text(ir.Program([function]))


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("control_flow", ir.Orchestration),
        ("dataflow", ir.Opaque),
        ("kernel", ir.FunctionType.InCore),
    ],
)
def test_kinds(word: str, kind: ir.FunctionType) -> None:
    """func.kind is read after and before the closing brace, and printed after it."""
    text = module("statement.return", kind=word)
    inside = text.replace(f"  }}\n  // func.kind = {word}", f"  // func.kind = {word}\n  }}")
    assert inside != text
    for each in (text, inside):
        [function] = ir.from_statement_text(each).functions_
        assert function.func_type is kind
    assert ir.to_statement_text(ir.from_statement_text(inside)) == text


def test_several_results() -> None:
    """A call with several results is a tuple and its items."""
    text = module(
        "statement.op {\n    %a, %b = call @f %n : (int64) -> int64, fp32\n}\nstatement.return",
        "%n: int64",
    )
    program = ir.from_statement_text(text)
    check(program)
    [function] = program.functions_
    stmts = [node for node in ir.walk(function) if isinstance(node, ir.AssignStmt)]
    assert [str(stmt.var.type) for stmt in stmts] == [
        "pl.Tuple[[pl.Scalar[pl.INT64], pl.Scalar[pl.FP32]]]",
        "pl.Scalar[pl.INT64]",
        "pl.Scalar[pl.FP32]",
    ]


def test_directions() -> None:
    """Direction marks are printed for all parameters or, if all are read-only, for none."""
    marked = module("statement.return", "%x: fp32 #in, %y: fp32 #inout, %z: fp32 #out")
    assert check(ir.from_statement_text(marked)) == marked
    [function] = ir.from_statement_text(marked).functions_
    assert function.param_directions == (ir.In, ir.InOut, ir.Out)
    plain = module("statement.return", "%x: fp32, %y: fp32")
    assert check(ir.from_statement_text(plain.replace("fp32,", "fp32 #in,"))) == plain


def test_attributes() -> None:
    """Attributes of a program are strings, numbers, lists and dictionaries."""
    attrs: dict[str, Any] = {
        "a b": 'q"\\\n\u2028',
        "n": -3,
        "x": 0.5,
        "d": {"k": [True, {}]},
        "e": float("-inf"),
    }
    program = ir.Program([], "class", attrs=attrs, entry=None)
    text = check(program)
    assert text == (
        "program.module @class {\n"
        '  attr "a b" = "q\\"\\\\\\n\\u2028"\n'
        "  attr n = -3\n"
        "  attr x = 0.5\n"
        "  attr d = { k=[true, {}] }\n"
        "  attr e = -inf\n"
        "}\n"
    )
    assert ir.from_statement_text(text).name == "class"


def test_names() -> None:
    """Names are kept; a repeated name gets a number, and a missing one is a number."""
    kind = ir.ScalarType(ir.INT64)
    x, y, z, odd = (ir.Var(name, kind) for name in ("x", "x", "", "two.words$"))
    stmts = [ir.AssignStmt(v, 1) for v in (y, z, odd)]
    program = ir.Program([ir.Function("f", [x], [], ir.SeqStmts(stmts))], "P")
    text = check(program)
    assert [line.split(" = ")[0].strip() for line in text.splitlines() if " = 1 :" in line] == [
        "%x_1",
        "%1",
        "%two.words$",
    ]


def test_comments_and_white_space_do_not_count() -> None:
    """A text without line ends, or with comments everywhere, means the same."""
    text = FORMS["for"].text
    program = ir.from_statement_text(text)
    commented = text.replace("\n", " // a comment } {\n").replace("implied //", "implied")
    ir.assert_structural_equal(
        program,
        ir.from_statement_text(
            commented.replace("// func.kind = dataflow // a comment } {", "// func.kind = dataflow")
        ),
    )
    flat = " ".join(text.split("\n")).replace(
        "// func.kind = dataflow", "// func.kind = dataflow\n"
    )
    ir.assert_structural_equal(program, ir.from_statement_text(flat))


def test_spans_are_lines_of_the_text() -> None:
    """Each op has its location in the text."""
    [function] = ir.from_statement_text(FORMS["for"].text, "loop.txt").functions_
    [assign] = [node for node in ir.walk(function) if isinstance(node, ir.AssignStmt)]
    assert (str(assign.span), assign.span.end_column) == ("loop.txt:6:12", 70)
