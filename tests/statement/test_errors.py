"""The error messages for faulty texts, in full, in one golden file."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pypto import ir
from pypto._src.errors import ParserError
from tests.statement.documents import TILE, module, ops

TEXTS: dict[str, str] = {
    "no module": "kernel",
    "nothing": "",
    "not closed": "program.module @m {",
    "no name": "program.module { }",
    "no attribute": "program.module @m { attr x = abc }",
    "attribute twice": "program.module @m { attr x = 1 attr x = 2 }",
    "misspelt word": "program.module @m { func.fnc @f() { } }",
    "kind in a module": "program.module @m { // func.kind = kernel\n}",
    "character": "program.module @m { ; }",
    "name without letters": "program.module @ { }",
    "open text": 'program.module @m { attr x = "abc }',
    "escape": 'program.module @m { attr x = "a\\q" }',
    "digits": f"program.module @m {{ attr x = {'9' * 5000} }}",
    "deep attribute": "program.module @m { attr x = " + "[" * 10_000,
    "two functions": "program.module @m { func.func @f() { statement.return } "
    "func.func @f() { statement.return } }",
    "function without name": 'program.module @m { func.func @"" () { statement.return } }',
    "parameter": module("statement.return", "x: fp32"),
    "parameter twice": module("statement.return", "%x: fp32, %x: int64"),
    "type": module("statement.return", "%x: fp31"),
    "element type": module("statement.return", "%x: tensor<[4, 4], fp31>"),
    "valid shape missing": module("statement.return", "%x: tile<[4, %n], fp32>, %n: int64"),
    "dimension": module("statement.return", "%x: tensor<[%s, 4], fp32>, %s: fp32"),
    "view": module("statement.return", "%x: tensor<[4], fp32, view={stride=[1], pad=zero}>"),
    "memref": module("statement.return", "%x: tensor<[4], fp32, memref={space=DDR, addr=0}>"),
    "memref space": module("statement.return", "%x: tensor<[4], fp32, memref={space=Vex}>"),
    "deep type": module("statement.return", f"%x: {'tuple<' * 10_000}"),
    "mark": module("statement.return", "%x: fp32 #ou"),
    "kind": module("statement.return", kind="kernal"),
    "two kinds": module("// func.kind = kernel\nstatement.return").replace(
        "    // func.kind = kernel\n    statement.return",
        "    statement.return\n  // func.kind = kernel",
    ),
    "statement": module("statement.fro %i = 0 to 1 step 1 { }"),
    "range": module("statement.for %i = 0, 4 { statement.yield }"),
    "loop attribute": module("statement.for %i = 0 to 1 step 1 attributes { kind=fast } { }"),
    "iter_arg": module("statement.for %i = 0 to 1 step 1 iter_args(%a : fp32) { }"),
    "no return": module("statement.op {\n}"),
    "no yield": module("statement.for %i = 0 to 1 step 1 {\n}\nstatement.return"),
    "no else": module("statement.if %c {\n    statement.yield\n}\nstatement.return"),
    "after yield": module("statement.if %c { statement.yield statement.op { } }"),
    "op outside": module("%y = 1.0 : fp32\nstatement.return"),
    "for among ops": ops("statement.for %i = 0 to 1 step 1 { }"),
    "ops before a condition": module(
        "statement.while {\n    statement.op {\n        %y = 1 : int64\n    }\n"
        "    statement.condition %c\n} do { statement.yield }"
    ),
    "deep regions": module("statement.if true {" * 10_000),
    "unknown op": ops(f"%y = tile.OP_AD %x, %x : ({TILE}, {TILE}) -> {TILE}"),
    "op of nobody": ops("%y = quantum.flip %s : (fp32) -> fp32"),
    "kinds of operands": ops(f"%y = tile.OP_ADD %s, %x : (fp32, {TILE}) -> {TILE}"),
    "count of types": ops(f"%y = tile.OP_ADD %x, %x : ({TILE}) -> {TILE}"),
    "type of an operand": ops(f"%y = tile.OP_ADD %x, %s : ({TILE}, fp64) -> {TILE}"),
    "count of results": ops("%y, %z = tensor.OP_SCALAR_NEG %n : (int64) -> int64"),
    "count of scalars": ops("%y = tensor.OP_SCALAR_NEG %n, %n : (int64, int64) -> int64"),
    "assignment": ops("%y = tensor.OP_SCALAR_ASSIGN %n : (int64) -> fp32"),
    "item": ops("%y = tuple.get %n : (int64) -> int64 {index=0}"),
    "list missing": ops(f"%y = tile.create_tile : () -> {TILE} {{dtype=fp32}}"),
    "attribute value": ops(f"%y = tile.OP_MOVE %x : ({TILE}) -> {TILE} {{target_memory=Vec}}"),
    "member": ops(f"%y = tile.OP_MOVE %x : ({TILE}) -> {TILE} {{target_memory=MemorySpace.Vex}}"),
    "key twice": ops('op @"a" : () -> () {k=1, k=2}'),
    "constant": ops("%y = 1.5 : int32"),
    "bool constant": ops("%y = true : int32"),
    "large constant": ops(f"%y = {1 << 63} : int64"),
    "fraction beside integers": ops(
        "%y = tensor.mul %t, 1.5 : (tensor<[4], int32>, 1.5) -> tensor<[4], int32>",
        signature="%t: tensor<[4], int32>",
    ),
    "undefined": ops(f"%y = tile.OP_ADD %x, %z : ({TILE}, {TILE}) -> {TILE}"),
    "misspelt value": module("statement.return %scael", "%scale: fp32"),
    "twice": ops("%s = 1.0 : fp32"),
    "scope": module(
        "statement.if %c {\n    statement.op {\n        %y = 1 : int64\n    }\n"
        "    statement.yield\n} else {\n    statement.yield\n}\nstatement.return %y"
    ),
    "select": ops("%y = tensor.OP_SCALAR_ITE %c, 1 : (bool, int64) -> int64"),
    "unused": ops("%.0 = tensor.OP_SCALAR_NEG %n : (int64) -> int64"),
    "free": ops("value.free : () -> int64"),
}


def message(name: str) -> str:
    with pytest.raises(ParserError) as error:
        ir.from_statement_text(TEXTS[name], "kernel.txt")
    rendered = error.value.render()
    # Some texts are long.
    lines = [line if len(line) <= 160 else f"{line[:157]}..." for line in rendered.splitlines()]
    return f"== {name}: {type(error.value).__name__}\n" + "\n".join(lines) + "\n"


def test_messages(golden: Callable[[str, str], None]) -> None:
    """Each message says what was found and expected, and where."""
    golden("statement/errors.txt", "\n".join(message(name) for name in TEXTS))


@pytest.mark.parametrize("name", TEXTS)
def test_every_message_has_a_place(name: str) -> None:
    """Line and column are inside the text, and the excerpt shows the line."""
    with pytest.raises(ParserError) as error:
        ir.from_statement_text(TEXTS[name], "kernel.txt")
    place = error.value.location
    lines = TEXTS[name].split("\n")
    assert place.filename == "kernel.txt"
    assert 1 <= place.begin_line <= len(lines)
    assert 0 <= place.begin_column <= len(lines[place.begin_line - 1])


def test_messages_differ() -> None:
    """No two mistakes have the same message, except the same mistake in two places."""
    firsts = [message(name).splitlines()[1] for name in TEXTS]
    assert len(set(firsts)) == len(firsts)
