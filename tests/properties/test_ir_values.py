"""Drawn programs over all of the IR come back from their text and bytes, and hash alike."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto import ir
from pypto._src.dtypes import MEMBERS
from pypto._src.errors import ParserError, PassError
from pypto._src.ops.lookup import REGISTRY
from pypto._src.statement.form import to_statement_form
from tests import effort
from tests.properties.ir_values import ENUM_MEMBERS, Coverage, drawn_program, recipes

CHUNKS = effort.count(1, thorough_run=10)
"""Of programs."""

CHUNK = effort.count(200, thorough_run=500)


def check(whole: ir.Program) -> None:
    """Compare a program with what its text and its bytes mean, and the texts and hashes."""
    text, number = str(whole), ir.structural_hash(whole, True)
    read = ir.parse(text)
    ir.assert_structural_equal(whole, read, True)
    again = str(read)
    if "pl.IterArg(" in text:
        # A type names what a loop of another function carries. Read, it is called as in that loop,
        # and the second text is the one that stays.
        assert str(ir.parse(again)) == again
    else:
        assert again == text
    assert ir.structural_hash(read, True) == number
    copied: Any = ir.deserialize(ir.serialize(whole))
    ir.assert_structural_equal(whole, copied, True)
    assert str(copied) == text  # bytes keep the names as well
    assert ir.structural_hash(copied) == ir.structural_hash(whole)


def check_statement_form(whole: ir.Program) -> None:
    """Compare a program, brought into the statement form, with what its text in it means."""
    form = to_statement_form(whole)
    text = ir.to_statement_text(whole)
    read = ir.from_statement_text(text)
    ir.assert_structural_equal(form, read, True)
    assert ir.to_statement_text(read) == text


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_drawn_programs_come_back(chunk: int) -> None:
    """500 programs: print and parse, serialise and deserialise, print again, hash."""
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        whole = drawn_program(seed)
        try:
            check(whole)
        except Exception as error:
            pytest.fail(f"the program of seed {seed}: {type(error).__name__}: {error}")


NOT_IN_THE_FORM = {
    "jump-from-scope",
    "jump-in-while",
    "kernel-calls-host",
    "merge-type",
    "parallel-break",
    "result-count",
}
"""What the passes that lead to the statement form refuse, and rightly."""


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_statement_form_comes_back(chunk: int) -> None:
    """500 well-typed programs: to the statement form, its text, and back, the same text again."""
    checked = 0
    refused: list[str] = []
    for seed in range(chunk << 20, (chunk + 1) << 20, 2):  # even seeds are well-typed
        if checked == CHUNK:
            break
        try:
            check_statement_form(drawn_program(seed))
            checked += 1
        except PassError as error:
            refused.append(error.slug)
        except Exception as error:
            pytest.fail(f"the program of seed {seed}: {type(error).__name__}: {error}")
    assert checked == CHUNK
    assert set(refused) <= NOT_IN_THE_FORM
    assert len(refused) < CHUNK // 20


@given(st.integers(CHUNKS * CHUNK, 1 << 40))
def test_more_drawn_programs_come_back(seed: int) -> None:
    """The same for seeds that hypothesis chooses."""
    check(drawn_program(seed))


@given(st.integers(0, 1 << 40))
def test_functions_come_back_alone(seed: int) -> None:
    """A function printed without its program is read back."""
    for function in drawn_program(seed).functions_:
        text = str(function)
        again: Any = ir.parse(text)
        ir.assert_structural_equal(function, again, True)
        assert str(again) == text


@given(st.integers(0, 1 << 40))
def test_types_come_back_alone(seed: int) -> None:
    """So is a type; the names in it are symbolic dimensions."""
    for function in drawn_program(2 * seed).functions_:
        for kind in (*function.return_types, *[var.type for var in function.params]):
            again: Any = ir.parse(str(kind))
            ir.assert_structural_equal(kind, again, True)
            assert str(again) == str(kind)


@pytest.mark.parametrize("prefix", ["ir_lang", "x"])
def test_other_prefixes_come_back(prefix: str) -> None:
    """The prefix of the text is that of its import, or of a function's decorator."""
    for seed in range(60):
        whole = drawn_program(seed)
        text = ir.python_print(whole, prefix)
        again: Any = ir.parse(text)
        ir.assert_structural_equal(whole, again, True)
        assert ir.python_print(again, prefix) == text
        for function in whole.functions_:
            read: Any = ir.parse(ir.python_print(function, prefix))
            ir.assert_structural_equal(function, read, True)


def test_pl_parse_reads_every_program() -> None:
    """pl.parse gives what ir.parse gives, whether the program verifies or not."""
    for seed in range(100):
        whole = drawn_program(seed)
        ir.assert_structural_equal(whole, pl.parse(str(whole)), True)


def made_in_place(whole: ir.Program) -> bool:
    """True if an item is read from a tuple made in place, which source reads as the item."""
    items = [node for node in ir.walk(whole) if isinstance(node, ir.TupleGetItemExpr)]
    return any(isinstance(item.tuple, ir.MakeTuple) for item in items)


def test_both_readers_agree() -> None:
    """Where the front end takes printed text as source, it reads the same program."""
    agreed = 0
    for seed in range(0, 600, 2):
        whole = drawn_program(seed)
        if made_in_place(whole):
            continue
        source = "\n".join(str(whole).split("\n")[1:])
        try:
            found = pl.parse(source)
        except ParserError:
            continue
        ir.assert_structural_equal(found, whole, True)
        agreed += 1
    assert agreed > 60


@cache
def coverage() -> Coverage:
    found = Coverage()
    for seed in range(800):
        found.add(drawn_program(seed))
    return found


def test_every_field_is_drawn() -> None:
    """Every field of every node class has two different values, where there are two."""
    assert coverage().empty() == [], coverage().table()


def test_every_op_is_drawn() -> None:
    """Every registered op has accepted operands, and stands in some program."""
    assert [name for name, found in recipes().items() if not found] == []
    assert sorted(set(REGISTRY) - coverage().ops) == []


def test_every_member_is_drawn() -> None:
    """Every member of every enumeration and every element type stands in some program."""
    assert [str(m) for m in ENUM_MEMBERS if m not in coverage().members] == []
    assert [name for name, dtype in MEMBERS.items() if dtype not in coverage().dtypes] == []


HASHES = """
import json, sys
from pypto import ir
from tests.properties.ir_values import drawn_program
programs = [drawn_program(seed) for seed in range(300)]
print(json.dumps([(ir.structural_hash(p), ir.structural_hash(p, True), str(p)) for p in programs]))
"""


def hashes(hash_seed: str) -> list[Any]:
    """Return hashes and texts of drawn programs from a process of its own."""
    root = Path(__file__).parents[2]
    environment = {
        **os.environ,
        "PYTHONHASHSEED": hash_seed,
        "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)]),
    }
    done = subprocess.run(
        [sys.executable, "-c", HASHES], env=environment, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_hashes_are_the_same_in_every_process() -> None:
    """Hash and text of 300 programs do not depend on the process or its hash seed."""
    first, second = hashes("1"), hashes("4711")
    assert len(first) == 300
    assert first == second


# --------------------------------------------------------------------------------------------
# Damaged texts
# --------------------------------------------------------------------------------------------

DAMAGED = 200 * CHUNKS
JUNK = ["(", ")", "[", "]", ":", ",", "=", " ", "\n", "    ", "pl", ".", "0", "-", "**", '"',
        "'", "#", "\\", "\x00", "\ud800", "é", "self", "for", "lambda", "9" * 30, "1e999", "@",
        "{"]  # fmt: skip


def pieces(text: str) -> list[str]:
    """Return the text cut at spaces and around punctuation."""
    return re.findall(r"\w+|\s+|[^\w\s]", text)


def damaged(random: Random, text: str) -> str:
    """Return a text with tokens or lines deleted, inserted, doubled or swapped, or cut off."""
    for _ in range(random.choice([1, 1, 1, 2, 5])):
        kind = random.randrange(6)
        parts = text.splitlines(keepends=True) if kind == 0 else pieces(text)
        if len(parts) < 2:
            return text
        a, b = random.randrange(len(parts)), random.randrange(len(parts))
        if kind <= 1:
            parts.insert(a, parts[b])
        elif kind == 2:
            del parts[a]
        elif kind == 3:
            parts[a], parts[b] = parts[b], parts[a]
        elif kind == 4:
            parts.insert(a, random.choice(JUNK))
        else:
            del parts[a if random.random() < 0.3 else len(parts) - 1 :]
        text = "".join(parts)
    return text


@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("chunk", range(4))
def test_damaged_texts_are_read_or_refused(chunk: int) -> None:
    """Each damaged text is a program all the same, or gives one clean error."""
    random = Random(chunk)
    texts = [str(drawn_program(seed)) for seed in range(chunk * 100, chunk * 100 + 100)]
    refused = 0
    for _ in range(DAMAGED // 4):
        text = damaged(random, random.choice(texts))
        for read in (ir.parse, pl.parse):
            try:
                found = read(text)
            except (ParserError, SyntaxError):
                refused += 1
            except Exception as error:
                pytest.fail(f"{read.__module__}: {type(error).__name__}: {error}\n{text}")
            else:
                assert isinstance(found, ir.Program | ir.Function)
                str(found)
    assert refused > DAMAGED // 4
