"""What lines of a kernel mean, right or wrong, regardless of what was parsed before.

Call signatures are cached per process, so each text is parsed with an empty cache, and again with
all of its own: program, spans and error reports are the same, byte for byte.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from random import Random

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import PyptoError
from pypto._src.frontend.excepthook import report
from pypto._src.ir import call_forms
from tests.case_files import parts

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
MISTAKES = sorted((ROOT / "tests" / "errors").glob("*.md"))
KERNEL = """\
import pypto.language as pl

SIZES = [16, 64]
ROWS = 16

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 64], pl.FP32],
        y: pl.Out[pl.Tensor[[64, 64], pl.FP32]],
    ):
        for i in pl.range(4):
            row = i * ROWS
            a = pl.load(x, [row, 0], [ROWS, 64])
            b = pl.load(x, [row, 0], SIZES, target_memory=pl.MemorySpace.Vec)
            c = pl.maximum(a, -0.5)
            c = pl.add(c, b)
            b = pl.mul(c, 2)
            z = pl.cast(b, pl.BF16)
            x2 = pl.cast(z, pl.FP32)
            if i > 1:
                x2 = pl.exp(a)
            y = pl.store(x2, [row, 0], [ROWS, 64], y)
"""


def outcome(text: str) -> bytes | str:
    """Return the program of a text with all of its spans, or the report of its error."""
    try:
        return ir.serialize(pl.parse(text, "kernel.py"))
    except PyptoError as error:
        return report(error)
    except SyntaxError as error:
        return str(error)


def same_again(text: str) -> bytes | str:
    """Return the outcome of a text, after checking that a warm cache does not change it."""
    call_forms.FORMS.clear()
    first = outcome(text)
    assert outcome(text) == first
    return first


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_mistakes(path: Path) -> None:
    """A kernel with a mistake gets the same report again."""
    same_again(parts(path)[1])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """Examples give the same programs again."""
    assert same_again(path.read_text(encoding="utf-8"))


MISUSES = {
    "none": ("", ""),
    "a name that is hidden": ("c = pl.maximum(a, -0.5)", "pl = 3"),
    "a name not defined": ("pl.add(c, b)", "pl.add(c, d)"),
    "an op that there is not": ("pl.add(c, b)", "pl.plus(c, b)"),
    "operands that do not fit": ("pl.mul(c, 2)", "pl.mul(c, x)"),
    "an attribute of a value": ("pl.mul(c, 2)", "c.mul(b)"),
    "an output that is lost": ("x2 = pl.cast(z, pl.FP32)", "y = pl.cast(b, pl.FP32)"),
    "a keyword that there is not": ("target_memory", "target"),
    "another type in a loop": ("row = i * ROWS", "x = pl.full([4, 8], pl.FP32, 0.0)"),
    "the variable of the loop": ("x2 = pl.cast(z, pl.FP32)", "i = pl.exp(b)"),
    "a name that is broken": ("row = i * ROWS", "row = i @ ROWS"),
    "a list of too many": ("[ROWS, 64])", "[ROWS, 64, 1])"),
    "an argument twice": ("SIZES, target", "SIZES, shapes=SIZES, target"),
    "a dtype by another path": ("pl.FP32)\n            if", "pl.DataType.FP32)\n            if"),
}
RIGHT = ("", "pl.DataType.FP32)\n            if")


@pytest.mark.parametrize(("old", "new"), MISUSES.values(), ids=MISUSES)
def test_misuses(old: str, new: str) -> None:
    """One changed line makes a kernel wrong, and it stays wrong in the same way."""
    text = KERNEL.replace(old, new)
    assert isinstance(same_again(text), bytes) == (new in RIGHT)


CHANGING = """\
class K:
    rows = 0
    give = pl.yield_

    @staticmethod
    def move(by):
        K.rows += by
        return K.rows

    @property
    def next(self):
        K.rows += 16
        return K.rows

k = K()
"""
HEADERS = {
    "sizes by name": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[ROWS, 64]"),
    "a symbol": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[M, 64]"),
    "a size that is a parameter": ("x: pl.Tensor[[64, 64]", "n: pl.INT64, x: pl.Tensor[[n, 64]"),
    "a later one": ("pl.FP32]],", "pl.FP32]], ROWS: pl.INT64, z: pl.Tensor[[ROWS], pl.FP32],"),
    "a tile": ("x: pl.Tensor", "t: pl.Tile[[16, 16], pl.FP32], x: pl.Tensor"),
    "no size": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[half, 64]"),
    "a size that is not defined": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[Q, 64]"),
    "a true one": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[yes, 64]"),
    "a negative one": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[less, 64]"),
    "no element type": ("[[64, 64], pl.FP32],", "[[64, 64], pl.FP33],"),
    "another one": ("[[64, 64], pl.FP32],", "[[64, 64], ROWS],"),
    "no type": ("x: pl.Tensor", "x: pl.Tuple"),
    "no direction": ("pl.Out[", "pl.In["),
    "another direction": ("pl.Out[", "pl.InOut["),
    "a tensor in a tensor": ("pl.Out[", "pl.Tensor["),
    "two directions": ("pl.Out[pl.Tensor", "pl.Out[pl.InOut"),
    "a path of its own": ("x: pl.Tensor[[64, 64]", "x: pl.Tensor[[k.next, 64]"),
}


@pytest.mark.parametrize(("old", "new"), HEADERS.values(), ids=HEADERS)
def test_headers(old: str, new: str) -> None:
    """Parameter types give the same result again, and not another signature's."""
    names = "half, yes, less = 0.5, True, -3\nM = pl.dynamic('M')\n"
    text = KERNEL.replace("ROWS = 16\n", f"ROWS = 16\n{names}")
    changed = text.replace(old, new, 1).replace("SIZES =", f"{CHANGING}SIZES =", 1)
    assert same_again(changed) != outcome(text)


VALUES = {
    "calls within calls": "x2 = pl.exp(pl.mul(pl.add(a, b), 2))",
    "a scalar": "n = pl.cast(pl.min(i + 1, pl.max(3, i)), pl.FP32)",
    "products first": "n = row - i * 2 // ROWS + (i % 3) * (row + 4)",
    "from the left": "n = row - i - 2 - ROWS",
    "numbers alone": "n = ROWS * 2 + 1",
    "numbers that divide by nothing": "n = i + ROWS // (ROWS - 16)",
    "numbers with fractions": "x2 = pl.add(a, ROWS / 3 + 0.5)",
    "tiles": "x2 = a * 2.0 + b - a * b",
    "a number before a tile": "x2 = 2.0 * a",
    "a tile taken from a number": "x2 = 2.0 - a",
    "a whole in brackets": "n = (i + row)",
    "an argument in brackets": "n = pl.max((i + row), (3))",
    "a list of sums": "x2 = pl.load(x, [(i + 1) * 8 - 8, 0 * 4], [ROWS - 8 + 8, 64])",
    "no common type": "n = i + pl.cast(a, pl.BF16)",
    "an operand too few": "x2 = pl.exp(pl.add(a))",
    "a keyword twice within": "x2 = pl.exp(pl.cast(a, target_type=pl.FP32, target_type=pl.FP32))",
    "an argument computed": "x2 = pl.load(x, [i * 4 + row, 0], [ROWS, 64], target_memory=row + 1)",
    "two values": "x2, n = pl.exp(a), row * 2",
    "two that change places": "a, b = pl.exp(b), pl.exp(a)",
    "two of one": "a, b = pl.exp(a)",
    "one of two": "a = pl.exp(a), b",
    "two, one of which fails": "n, i = row + 1, row + 2",
    "a number and a tile": "n, x2 = 3, pl.exp(a)",
    "another name": "x2 = a",
    "a name of a number": "n = ROWS",
    "a name that is not defined": "n = i + k",
    "a value without effect": "n = pl.add(pl.free, i)",
    "an output within": "y = pl.store(b, [row, 0], [16, 64], pl.store(a, [0, 0], [16, 64], y))",
    "a constant": "x2 = pl.matmul(a, b, transpose=True)",
    "the least of scalars": "n = pl.cast(min(row - i * 2, ROWS, i), pl.FP32)",
    "the least with a number first": "n = min(3, i)",
    "the larger elements": "x2 = max(a, b)",
    "the larger of a tile and a number": "x2 = max(a, 0.5)",
    "the larger of a number and a tile": "x2 = max(0.5, a)",
    "the least of one": "n = min(i)",
    "the least of numbers": "n = min(ROWS, 3)",
    "what is positive": "x2 = abs(a)",
    "an absolute number": "n = abs(i - 3)",
}


OLD = "x2 = pl.cast(z, pl.FP32)\n"


@pytest.mark.parametrize("line", VALUES.values(), ids=VALUES)
def test_values(line: str) -> None:
    """Calls, sums and multiple assignments give the same result again."""
    same_again(KERNEL.replace(OLD, f"{OLD}            {line}\n"))


CALLS = {
    "a kernel": "self.scaled(x, s, r)",
    "its result": "z = self.scaled(x, s, r)",
    "its result, in its place": "r = self.scaled(x, s, r)",
    "results": "a, b = self.both(x, s)",
    "results in their places": "s, r = self.both(s, r)",
    "results taken together": "a = self.both(x, s)",
    "results taken apart": "p = self.both(x, s)\n            a, b = p",
    "too many names": "a, b, z = self.both(x, s)",
    "a number": "self.rows(x, 3, r)",
    "a scalar": "self.rows(x, i, r)",
    "a list": "self.rows(x, [i, 0], r)",
    "a keyword": "self.rows(x, i, r=r)",
    "a keyword of another name": "self.rows(x, i, out=r)",
    "an argument too few": "self.scaled(x, s)",
    "an argument of another type": "self.scaled(x, i, r)",
    "one of another size": "self.scaled(pl.view(x, [16, 64], [0, 0]), s, r)",
    "no such kernel": "self.scale(x, s, r)",
    "an argument that is not defined": "self.scaled(x, t, r)",
    "a kernel with a mistake": "self.wrong(x)",
    "a result with a mistake": "z = self.wrong(x)",
    "no result": "z = self.nothing(x, r)",
    "nothing alone": "self.nothing(x, r)",
    "a kernel that stands below": "z = self.below(x, r)",
    "the least": "z = self.rows(x, r, r)",
    "no function at all": "self.n(x)",
}
CALLER = """\
import pypto.language as pl

T = pl.Tensor[[64, 64], pl.FP32]

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def scaled(self, x: T, s: T, r: pl.Out[T]) -> T:
        t = pl.add(pl.load(x, [0, 0], [64, 64]), pl.load(s, [0, 0], [64, 64]))
        r = pl.store(t, [0, 0], [64, 64], r)
        return r

    @pl.function(type=pl.FunctionType.InCore)
    def both(self, s: pl.InOut[T], r: pl.InOut[T]) -> tuple[T, T]:
        t = pl.load(s, [0, 0], [64, 64])
        s = pl.store(pl.load(r, [0, 0], [64, 64]), [0, 0], [64, 64], s)
        r = pl.store(t, [0, 0], [64, 64], r)
        return s, r

    @pl.function(type=pl.FunctionType.InCore)
    def rows(self, x: T, n: pl.INT64, r: pl.Out[T]) -> T:
        r = pl.store(pl.load(x, [n, 0], [16, 64]), [0, 0], [16, 64], r)
        return r

    @pl.function(type=pl.FunctionType.InCore)
    def nothing(self, x: T, r: pl.Out[T]):
        r = pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], [64, 64], r)

    @pl.function(type=pl.FunctionType.InCore)
    def wrong(self, x: T):
        y = pl.free(x)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: T, r: pl.Out[T]) -> T:
        s = pl.create_tensor([64, 64], pl.FP32)
        self.both(s, s)
        for i in pl.range(4):
            LINE
        r = self.scaled(x, s, r)
        return r

    @pl.function(type=pl.FunctionType.InCore)
    def below(self, x: T, r: pl.Out[T]):
        r = pl.store(pl.load(x, [0, 0], [64, 64]), [0, 0], [64, 64], r)
        return r
"""


@pytest.mark.parametrize("line", CALLS.values(), ids=CALLS)
def test_calls_of_the_program(line: str) -> None:
    """Calls of the program's functions give the same result again."""
    wrong = CALLER[CALLER.index("    @pl.function(type=pl.FunctionType.InCore)\n    def wrong") :]
    wrong = wrong[: wrong.index("    @pl.function(type=pl.FunctionType.O")]
    text = CALLER if ".wrong" in line else CALLER.replace(wrong, "")
    same_again(text.replace("LINE", line))


def test_numbers_in_brackets() -> None:
    """Lists that differ only in their items are different lists."""
    rows = ("(ROWS - 8)", "(ROWS + 8)", "(ROWS * 2)")
    new = "".join(f"            x2 = pl.load(x, [{row}, 0], [ROWS, 64])\n" for row in rows)
    text = KERNEL.replace(OLD, f"{OLD}{new}")
    assert isinstance(same_again(text), bytes)
    printed = str(pl.parse(text))
    assert [printed.count(f"pl.block.load(x, [{at}, 0]") for at in (8, 24, 32)] == [1, 1, 1]


SEVERAL = {
    "one that is assigned above": ("u, a = pl.exp(b), pl.exp(b)", "'a' is assigned"),
    "one twice": ("u, u = row + 1, row + 2", "'u' is assigned"),
}


@pytest.mark.parametrize(("line", "problem"), SEVERAL.values(), ids=SEVERAL)
def test_several_assigned_once(line: str, problem: str) -> None:
    """If each name is assigned once, the error is at the one of several that is assigned again."""
    text = KERNEL.replace("pl.program", "pl.program(strict_ssa=True)")
    for name in ("c = pl.add", "b = pl.mul"):
        text = text.replace(name, f"{name[0]}2{name[1:]}")
    found = same_again(text.replace(OLD, f"{OLD}            {line}\n"))
    assert isinstance(found, str)
    assert problem in found


def random_sum(random: Random, depth: int) -> str:
    """Return a sum, product or call of scalars of `KERNEL`, or an operand of one."""
    kind = random.randrange(8) if depth else 0
    if kind < 3:
        return random.choice(["i", "row", "n", "ROWS", "3", "0", "-2"])
    left, right = random_sum(random, depth - 1), random_sum(random, depth - 1)
    if kind == 3:
        return f"({left})"
    if kind == 4:
        return random.choice([f"pl.min({left}, {right})", f"pl.cast({left}, pl.INT32)"])
    return f"{left} {random.choice(['+', '-', '*', '//', '%', '/'])} {right}"


def random_tile(random: Random, depth: int) -> str:
    """Return a call or sum of tiles of `KERNEL`, or an operand of one."""
    kind = random.randrange(8) if depth else 0
    if kind < 3:
        return random.choice(["a", "b", "c", "x2"])
    left, right = random_tile(random, depth - 1), random_tile(random, depth - 1)
    number = random_sum(random, 1)
    if kind == 3:
        return f"pl.load(x, [{number}, 0], [ROWS, 64], target_memory=pl.MemorySpace.Vec)"
    if kind < 6:
        return random.choice([f"pl.add({left}, {right})", f"pl.exp({left})", f"pl.mul({left}, 2)"])
    return f"({left} {random.choice(['+', '-', '*', '/'])} {random.choice([right, number])})"


def random_line(random: Random) -> str:
    """Return an assignment, which may contain mistakes."""
    kind = random.randrange(4)
    tile, number = random_tile(random, 3), random_sum(random, 3)
    if kind == 0:
        return f"{random.choice(['a', 'c', 'z'])}, n = {tile}, {number}"
    return f"n = {number}" if kind == 1 else f"{random.choice(['a', 'c', 'z'])} = {tile}"


@pytest.mark.parametrize("seed", range(24))
def test_random_values(seed: int) -> None:
    """Whatever lines assign, the result is the same again."""
    random = Random(seed)
    new = "".join(f"            {random_line(random)}\n" for _ in range(3))
    text = KERNEL.replace("            row = ", "            n = i + 1\n            row = ")
    same_again(text.replace(OLD, f"{OLD}{new}"))


READS = {
    "set by a call": (
        (
            "a = pl.load(x, [K.rows, 0], [16, 64])",
            "n = K.move(16)",
            "a = pl.load(x, [K.rows, 0], [16, 64])",
        ),
        (0, 16),
    ),
    "a property": (
        (
            "a = pl.load(x, [k.next, 0], [16, 64])",
            "a = pl.load(x, [k.next, 0], [16, 64])",
        ),
        (16, 32),
    ),
    "a yield by a local name": (
        (
            "p = K",
            "a = pl.load(x, [0, 0], [16, 64])",
            "for i, (c,) in pl.range(4, init_values=(a,)):",
            "    b = pl.add(c, c)",
            "    a = p.give(b)",
        ),
        (0,),
    ),
}


@pytest.mark.parametrize(("lines", "rows"), READS.values(), ids=READS)
def test_attributes_that_change(lines: tuple[str, ...], rows: tuple[int, ...]) -> None:
    """An attribute is read when its line is parsed, once per occurrence."""
    header, _, _ = KERNEL.partition("        for i")
    body = [*lines, "y = pl.store(a, [0, 0], [16, 64], y)"]
    text = header.replace("SIZES", f"{CHANGING}SIZES")
    text += "".join(f"        {line}\n" for line in body)
    printed = str(pl.parse(text, trusted=True))
    assert [printed.count(f"load(x, [{row}, 0]") for row in rows] == [1] * len(rows)


REBINDING = """\
import pypto.language as pl

ROWS = 0

def move():
    global ROWS
    ROWS += 16
    return ROWS

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def first(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        a = pl.load(x, [ROWS, 0], [16, 64])
        n = move()
        b = pl.load(x, [ROWS, 0], [16, 64])
        y = pl.store(pl.add(a, b), [0, 0], [16, 64], y)

    @pl.function(type=pl.FunctionType.InCore)
    def second(self, x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
        a = pl.load(x, [ROWS, 0], [16, 64])
        y = pl.store(a, [0, 0], [16, 64], y)
"""


def test_names_that_a_call_rebinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name has one value in a function; the next one sees what a call in the first has set."""
    (tmp_path / "rebinding_kernel.py").write_text(REBINDING)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    imported = importlib.import_module("rebinding_kernel").P
    printed = str(pl.parse(REBINDING, trusted=True))
    assert [printed.count(f"load(x, [{row}, 0]") for row in (0, 16)] == [2, 1]
    assert printed == str(imported)
