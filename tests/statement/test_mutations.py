"""Damaged texts: a clean error or a program, never a crash or a hang."""

from __future__ import annotations

import re
from random import Random

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import PyptoError
from tests.properties.kernels import random_source
from tests.properties.test_roundtrip import PROGRAMS
from tests.statement.documents import DOCUMENT

TOKEN = re.compile(r"\s+|[%@]?[\w.]+|.", re.DOTALL)
INSERTED = [*"{}()[]<>,=:%@#\"\\-.09eE \n", "\0", "\ud800", "٣", "//", "// func.kind",
            "// implied", "1e400", "9" * 5000, "%.0", "tensor<[", "view={}", "memref={}", "nan",
            "true"]  # fmt: skip


def texts() -> list[str]:
    kernels = [pl.parse_program(random_source(Random(seed).randrange, 8)) for seed in range(2)]
    whole = [*(make() for make in PROGRAMS.values()), *kernels]
    return [*DOCUMENT.values(), *(ir.to_statement_text(program) for program in whole)]


def mutated(random: Random, text: str, words: list[str]) -> str:
    """Return ``text`` with one to three edits: of characters, tokens or lines."""
    for _ in range(random.choice([1, 1, 2, 3])):
        at = random.randrange(len(text) + 1)
        lines: list[str] = text.split("\n")
        tokens: list[str] = TOKEN.findall(text) or [""]
        match random.randrange(7):
            case 0:
                text = text[:at] + text[at + random.randrange(1, 4) :]
            case 1:
                text = text[:at] + random.choice(INSERTED) + text[at:]
            case 2:
                tokens[random.randrange(len(tokens))] = random.choice(words)
                text = "".join(tokens)
            case 3:
                del tokens[random.randrange(len(tokens))]
                text = "".join(tokens)
            case 4:
                del lines[random.randrange(len(lines))]
                text = "\n".join(lines)
            case 5:
                line = random.choice(lines)
                lines.insert(random.randrange(len(lines)), line)
                text = "\n".join(lines)
            case _:
                text = text[:at]
    return text


def outcome(text: str) -> ir.Program | None:
    """Return the program parsed from ``text``, or None if it is rejected with a location."""
    try:
        return ir.from_statement_text(text)
    except PyptoError as found:
        error = found
    assert 1 <= error.location.begin_line <= text.count("\n") + 1
    assert error.render().startswith("error: ")
    return None


@pytest.mark.parametrize("seed", range(4))
def test_damaged_texts(seed: int) -> None:
    """Each of 2,000 damaged texts is rejected with a location in it, or parsed to a program.

    A parsed program is parsed back from its own text.
    """
    random, whole = Random(seed), texts()
    words = sorted({token for text in whole for token in TOKEN.findall(text)})
    read = refused = 0
    for _ in range(500):
        text = mutated(random, random.choice(whole), words)
        program = outcome(text)
        if program is None:
            refused += 1
            continue
        read += 1
        try:
            printed = ir.to_statement_text(program)
        except PyptoError:  # not a valid program: a break outside of loops, a wrong call
            continue
        again = ir.from_statement_text(printed)
        ir.assert_structural_equal(program, again, enable_auto_mapping=True)
        assert ir.to_statement_text(again) == printed
    assert read > 20
    assert refused > 300


@pytest.mark.parametrize(
    "piece", ["{", "(", "[", "<", "tuple<", "statement.if true {", "%x = ", "//"]
)
@pytest.mark.parametrize(
    "begin",
    [
        "",
        "program.module @m { attr x = ",
        "program.module @m { func.func @f(%x: ",
        "program.module @m { func.func @f() { ",
        "program.module @m { func.func @f() { statement.op { op @a : () -> fp32 {k=",
    ],
)
def test_long_repetitions(begin: str, piece: str) -> None:
    """Thousands of open brackets give an error in linear time, without a stack overflow."""
    with pytest.raises(PyptoError):
        ir.from_statement_text(begin + piece * 10_000)
