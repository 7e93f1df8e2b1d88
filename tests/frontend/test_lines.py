"""Lines that stay text until someone asks: the trees, the programs and the errors are the same."""

from __future__ import annotations

import ast
import copy
import importlib
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src.errors import PyptoError
from pypto._src.frontend import line_calls, lines, source
from pypto._src.frontend.context import Context
from pypto._src.frontend.hook import report
from pypto._src.frontend.lines import Line, TypeText, names_assigned, syntax_tree_of, walk
from pypto._src.outside import names_read
from pypto._src.python_text import parse_python
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
            pl = pl
            c = pl.maximum(a, -0.5)
            c = pl.add(c, b)
            b = pl.mul(c, 2)
            z = pl.cast(b, pl.BF16)
            x2 = pl.cast(z, pl.FP32)
            if i > 1:
                x2 = pl.exp(a)
            y = pl.store(x2, [row, 0], [ROWS, 64], y)
"""


def lines_of(tree: ast.AST) -> list[str]:
    """Return the names that lines of a tree assign."""
    found = [names_assigned(node) for node in walk(tree) if isinstance(node, Line)]
    return [name for names in found for name in names]


def dumped(tree: ast.AST) -> str:
    """Return all of a tree, places included."""
    return ast.dump(tree, include_attributes=True)


CUT = {
    "alone": ("def f():\n    x = pl.add(a, b)\n", ["x"]),
    "all arguments": (
        "if n:\n    x = a.b.c(d, -1, 2.5, [e, 0], f.g, k=[h, 1], w=pl.FP32, m=-3)\n",
        ["x"],
    ),
    "methods": ("def f():\n    x = self.a(c)\n    self.b(c, [0, 1], k=2)\n    self.c(0)\n", ["x"]),
    "Python's own": ("if n:\n    x = min(a, max(b, 2) + 1)\n    y = a.b(abs(c))\n", ["x", "y"]),
    "keywords in names": ("def f():\n    for_x = a.yield_(in_c, None_)\n", ["for_x"]),
    "blocks end where they did": (
        "def f():\n  for i in n:\n    x = a.b(c)\n    long_name = a.b(c, d)\n  y = a.b(x)\nz = 1\n",
        ["x", "long_name", "y"],
    ),
    "in every block": (
        "def f():\n  if a:\n    b = c.d(e)\n  elif f:\n    g = h.i(j)\n  else:\n    k = l.m(n)\n"
        "  try:\n    o = p.q(r)\n  except E:\n    s = t.u(v)\n  finally:\n    w = x.y(z)\n"
        "  match a:\n    case 1:\n      b = c.d(e)\n  with a:\n    b = c.d(e)\n  while a:\n"
        "    b = c.d(e)\n  else:\n    b = c.d(e)\n",
        ["b", "g", "k", "o", "s", "w", "b", "b", "b", "b"],
    ),
    "among other alphabets": (
        "def f():\n    g('\u00e9\U0001f600')  # \u00e9\n    x = a.b(c)\n    \u00e9 = d\n"
        "    y = a.b(\u00e9)\n",
        ["x"],
    ),
    "beside other statements": (
        "def f():\n    '''Text.'''\n    x = a.b(c)\n    n + 1\n"
        "    x = a.b(c) # why\n\n    x = a.b(c)\n",
        ["x", "x"],
    ),
    "calls within calls": (
        "def f():\n    x = a.b(c.d(e), f.g(h.i(j), [k, 1]), w=[1])\n    y = a.b(c.d(e.f(g)))\n",
        ["x", "y"],
    ),
    "sums": (
        "def f():\n    x = (a + 3) * b.c - -2 // d % e / 1.5\n"
        "    y = a.b([(c + 1) * 2, 0], (d - e))\n"
        "    z = a.b(c + 1, k=2 * d) + (e * f)\n    y = (a * b)\n",
        ["x", "y", "z", "y"],
    ),
    "several at once": (
        "def f():\n    x, y = a.b(c), d\n    z, u = a.b(c)\n    v = a, b + c\n    w = a\n",
        ["x", "y", "z", "u", "v", "w"],
    ),
    "constants as keywords": (
        "def f():\n    x = a.b(c, k=True, w=None)\n    y = a.b(d.e(f, k=False), Trueish)\n",
        ["x", "y"],
    ),
}
WHOLE = {
    "a string": 'def f():\n    """\n    x = a.b(c)\n    """\n    x = a.b(c)\n',
    "brackets": "def f():\n    y = g(\n    x = a.b(c)\n    )\n    x = a.b(c)\n",
    "a continued line": "def f():\n    y = \\\n    x = a.b(c)\n",
    "module level": "x = a.b(c)\n",
    "a plain name": "def f():\n    x = a(c)\n",
    "a method within": "def f():\n    y = a.b(self.c(d))\n    z = self.a + b\n",
    "a method of nothing": "def f():\n    x = self.a()\n    self.a()\n",
    "another call alone": "def f():\n    a.b(c)\n    itself.b(c)\n    self.b.c(d)\n",
    "a call of nothing": "def f():\n    x = a.b(c.d())\n",
    "a call of a plain name": "def f():\n    x = a.b(c(d))\n    y = a + b(c)\n    z = amin(b, c)\n",
    "calls too deep": "def f():\n    x = a.b(a.b(a.b(a.b(c))))\n",
    "a sum too long": f"def f():\n    x = {' + '.join('a' * 100)}\n",
    "too many arguments": f"def f():\n    x = a.b({'c + 1, ' * 99}c + 1)\n",
    "a number": "def f():\n    x = 1\n    y = -2.5\n",
    "other operators": "def f():\n    x = a ** b\n    y = a < b\n    z = a @ b\n    u = a or b\n",
    "other spaces": "def f():\n    x = a+b\n    y = a.b( c)\n    z = a.b(c,d)\n    x, = a\n",
    "other brackets": "def f():\n    x = a[b]\n    y = a.b((c, d))\n    z = a.b([c.d(e)])\n",
    "letters beyond ASCII": "def f():\n    x = a.b(c)  \n    y = a.b(\u00e9)\n",
    "a block on a continued line": "if y: \\\n    x = a.b(c)\n",
    "a lone carriage return": "def f():\r    z\n    x = a.b(c)\n",
    "carriage returns": "def f():\r\n    x = a.b(c)\r\n",
    "a keyword for a name": "def f():\n    x = a.b(True)\n    y = a.b(None)\n",
    "no arguments": "def f():\n    x = a.b()\n",
    "no new line at the end": "def f():\n    x = a.b(c)",
}
NO_PYTHON = {
    "a keyword assigned": "def f():\n    for = a.b(c)\n",
    "a keyword given": "def f():\n    x = a.b(if)\n",
    "a keyword in a path": "def f():\n    x = a.in(c)\n",
    "a position after a keyword": "def f():\n    x = a.b(c=1, d)\n",
    "zeros before a number": "def f():\n    x = a.b(007)\n",
    "zeros in a sum": "def f():\n    x = a + 007\n",
    "an operator and nothing": "def f():\n    x = a.b(c + )\n",
    "an operator and a comma": "def f():\n    x = a.b(c + , d)\n",
    "a list in a sum": "def f():\n    x = a.b([c + , d])\n",
    "a letter behind a number": "def f():\n    x, y = a, 0x\n",
    "two commas": "def f():\n    x = a.b(c, , d)\n",
    "a keyword in brackets": "def f():\n    x = (a=1) + b\n",
    "a constant assigned": "def f():\n    x, True = a.b(c)\n",
    "a constant for a keyword": "def f():\n    x = a.b(True=c)\n",
    "a constant in a path": "def f():\n    x = a.b(k=c.True)\n",
    "a bracket too few": "def f():\n    x = a.b(c.d(e)\n",
    "a position after a keyword, within": "def f():\n    x = a.b(c.d(e=1, f))\n",
    "an open string": 'def f():\n    x = a.b(c)\n    """\n    x = a.b(c)\n',
    "an open bracket": "def f():\n    y = (\n    x = a.b(c)\n",
    "indented without a block": "x = 1\n    x = a.b(c)\n",
    "two lines in a block of one": "if y: \\\n    x = a.b(c)\n    x = a.b(c)\n",
    "one column too far": "def f():\n    x = a.b(c)\n     y = a.b(c)\n",
}


@pytest.mark.parametrize(("text", "names"), CUT.values(), ids=CUT)
def test_cut(text: str, names: list[str]) -> None:
    """Lines are in the tree where they were; asked for their nodes, they are Python's."""
    tree = syntax_tree_of(text)
    assert lines_of(tree) == names
    assert ast.unparse(syntax_tree_of(text)) == ast.unparse(ast.parse(text))
    compile(syntax_tree_of(text), "text", "exec")
    assert dumped(tree) == dumped(ast.parse(text))
    assert not lines_of(tree)


def types_of(tree: ast.AST) -> list[str]:
    """Return the types of parameters that are text."""
    return [node.text for node in walk(tree) if isinstance(node, TypeText)]


FP32 = "pl.Tensor[[64, N], pl.FP32]"
TYPES = {
    "on lines of their own": (
        f"class C:\n  def f(\n    self,\n    x: {FP32},\n    y: pl.Out[{FP32}]\n  ): z\n",
        [FP32, f"pl.Out[{FP32}]"],
    ),
    "on one line": (
        f"def f(x: a[[k.N], b], /, y: {FP32}, *, z: {FP32}):\n  z\n",
        ["a[[k.N], b]", FP32, FP32],
    ),
    "among other alphabets": (
        f"def f(\u00e9: {FP32}, \U0001f600x: A, y: {FP32}): z\n".replace("\U0001f600", "\u00ef"),
        [FP32, FP32],
    ),
    "following each other": (
        f"def f(\n  \u00e9: {FP32}, y: a[[b], c],\n\n    z: {FP32},\n  u: v,\n  w: {FP32}, *,\n"
        f"  k: {FP32}, m: {FP32},\n): z\n",
        [FP32, "a[[b], c]", FP32, FP32, FP32, FP32],
    ),
    "with lines": (f"def f(x: {FP32}):\n    x = a.b(c)\n", [FP32]),
    "inside each other": (
        f"def f(x: {FP32}):\n  def g(y: {FP32}): z\n  if a:\n    def h(y: {FP32}): z\n",
        [FP32, FP32, FP32],
    ),
    "with others": (
        f"def f(x: a[{FP32}, 1], y: a[b[{FP32}]], z: {FP32}.c, u: {FP32}, v: {FP32} = 0): z\n",
        [FP32],
    ),
}
TYPES_ELSEWHERE = {
    "in a string": f'def f(x: {FP32}):\n    """y: {FP32}, z"""\n',
    "in a dictionary": f"def f(x: {FP32}):\n    return {{x: {FP32}, y: z}}\n",
    "of more values": f"def f(x: {FP32}, *y: {FP32}, **z: {FP32}): z\n",
    "a lambda": f"f = lambda: {FP32}, a\n",
    "a slice": f"a[b: {FP32}, c]\n",
    "a coroutine": f"async def f(x: {FP32}): z\n",
    "of more entries": f"def f(x: {FP32}, y: {FP32}):\n    return {{x: {FP32}, y: {FP32}, z: u}}\n",
    "a name like that of a cut": f"def f(x: {FP32}, y: __t_0): __t_0{'_' * 20}\n",
}
NO_TYPES = {
    "a keyword": "def f(x: a[[if], b]): z\n",
    "an unclosed one": f"def f(x: pl.Out[{FP32}, y: z): z\n",
    "a type in brackets": f"def f((x: {FP32})): z\n",
    "a keyword for a parameter": f"def f(x: {FP32}, if: {FP32}): z\n",
    "an odd space": f"def f(x: {FP32},\v y: {FP32}): z\n",
}


@pytest.mark.parametrize(("text", "types"), TYPES.values(), ids=TYPES)
def test_types(text: str, types: list[str]) -> None:
    """Types of parameters are in the tree where they were; asked for nodes, they are Python's."""
    tree = syntax_tree_of(text)
    assert types_of(tree) == types
    assert ast.unparse(syntax_tree_of(text)) == ast.unparse(ast.parse(text))
    compile(syntax_tree_of(text), "text", "exec")
    copied = copy.deepcopy(syntax_tree_of(text))
    assert not types_of(copied)
    assert dumped(copied) == dumped(tree) == dumped(ast.parse(text))
    assert not types_of(tree)


@pytest.mark.parametrize("text", TYPES_ELSEWHERE.values(), ids=TYPES_ELSEWHERE)
def test_types_elsewhere(text: str) -> None:
    """What only seems to be the type of a parameter is parsed with its surroundings."""
    tree = syntax_tree_of(text)
    assert not types_of(tree)
    assert dumped(tree) == dumped(ast.parse(text))


def test_changed_types() -> None:
    """A type whose nodes are changed is a subscript like any other."""
    text = f"def f(x: {FP32}): pass\n"
    tree = Renamed().visit(syntax_tree_of(text.replace("N", "x")))
    assert ast.unparse(tree.body[0].args) == f"x: {FP32.replace('N', 'z')}"
    for field, wanted in (("value", "q[[64, N], pl.FP32]"), ("slice", "pl.Tensor[q]")):
        [kind] = [n for n in walk(syntax_tree_of(text)) if isinstance(n, TypeText)]
        setattr(kind, field, ast.Name("q"))
        assert ast.unparse(kind) == wanted


class Renamed(ast.NodeTransformer):
    """Gives a name another one, wherever it is read or written."""

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Return the other name."""
        return ast.copy_location(ast.Name("z" if node.id == "x" else node.id, node.ctx), node)


def first_line(text: str) -> Line:
    """Return the first line of a text."""
    return next(node for node in walk(syntax_tree_of(text)) if isinstance(node, Line))


def test_changed() -> None:
    """A line whose nodes are changed is an assignment like any other, to the front end too."""
    text = "def f():\n    x = a.b(x, [x, 0])\n"
    tree = Renamed().visit(copy.deepcopy(syntax_tree_of(text)))
    assert ast.unparse(tree) == text.replace("x", "z").rstrip()
    assert not lines_of(tree)
    line = first_line(text)
    line.value = ast.Constant(1)
    assert ast.unparse(line) == "x = 1"
    line = first_line(text)
    line.targets = [ast.Name("y")]
    assert ast.unparse(line) == "y = a.b(x, [x, 0])"


def test_copied() -> None:
    """A copy of a line is an assignment: Python may make it before it has its parts."""
    line = first_line("def f():\n    x = a.b(c, [d, 0])\n")
    copied = copy.deepcopy(line)
    assert type(copied) is ast.Assign
    assert ast.unparse(copied) == "x = a.b(c, [d, 0])"


@pytest.fixture
def many_switches() -> Iterator[None]:
    """Let Python change between threads all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("many_switches")
def test_read_by_several_threads() -> None:
    """A line that several threads make an assignment has its nodes at each moment for all."""
    text = "def f():\n" + "".join(f"    x{i} = a.b(c, {i})\n" for i in range(400))
    body = next(n for n in walk(syntax_tree_of(text)) if isinstance(n, ast.FunctionDef)).body

    def read(_: int) -> list[str]:
        return [ast.unparse(node) for node in body]

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(read, range(8)):
            assert found == text.replace("    ", "").splitlines()[1:]


@pytest.mark.parametrize(("text", "names"), CUT.values(), ids=CUT)
def test_what_lines_read(text: str, names: list[str]) -> None:
    """The names that a function reads are known without parsing its lines."""
    function = "def f():\n" + textwrap.indent(text, "  ")
    cut, whole = syntax_tree_of(function).body[0], ast.parse(function).body[0]
    assert isinstance(cut, ast.FunctionDef)
    assert isinstance(whole, ast.FunctionDef)
    assert lines_of(cut) == names
    found = names_read(cut)
    assert found == names_read(whole)
    assert list(found) == list(names_read(whole))
    assert found
    assert lines_of(cut) == names


@pytest.mark.parametrize("text", WHOLE.values(), ids=WHOLE)
def test_whole(text: str) -> None:
    """What only seems to be such a line is parsed with its surroundings."""
    tree = syntax_tree_of(text)
    assert not lines_of(tree)
    assert dumped(tree) == dumped(ast.parse(text))


@pytest.mark.parametrize(
    "text", [*NO_PYTHON.values(), *NO_TYPES.values()], ids=[*NO_PYTHON, *NO_TYPES]
)
def test_no_python(text: str) -> None:
    """The error of a text is that of the whole text."""
    errors: list[tuple[object, ...]] = []
    for parse in (syntax_tree_of, ast.parse):
        with pytest.raises(SyntaxError) as caught:
            parse(text)
        errors.append((str(caught.value), caught.value.args))
    assert errors[0] == errors[1]


def test_no_text() -> None:
    """The error of a text that cannot be encoded names its place in the whole text."""
    text = "def f():\n    x = a.b(c)\n    long_name = a.b(c)\n# \ud800\n"
    errors: list[str] = []
    for parse in (syntax_tree_of, ast.parse):
        with pytest.raises(UnicodeEncodeError) as caught:
            parse(text)
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_trees_of_examples(path: Path) -> None:
    """Whole files have the trees that Python gives them, and lines are many."""
    text = path.read_text(encoding="utf-8")
    tree = syntax_tree_of(text)
    assert lines_of(tree)
    assert dumped(tree) == dumped(ast.parse(text))


def outcome(text: str) -> bytes | str:
    """Return the program of a text with all of its places, or the report of its error."""
    try:
        return ir.serialize(pl.parse(text, "lines.py"))
    except PyptoError as error:
        return report(error)
    except SyntaxError as error:
        return str(error)


def both(text: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes | str, bytes | str]:
    """Return the outcome of a text that was cut twice, and of one that was not."""
    first, again = outcome(text), outcome(text)
    assert first == again  # a call of a known form is read as the first one
    with monkeypatch.context() as patch:
        patch.setattr(source, "syntax_tree_of", parse_python)
        return first, outcome(text)


@pytest.mark.parametrize("path", MISTAKES, ids=lambda path: path.stem)
def test_errors_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel with a mistake has the same report, or is the same program, either way."""
    cut, whole = both(parts(path)[1], monkeypatch)
    assert cut == whole


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_programs_are_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Examples are the same programs, with the same places, either way."""
    cut, whole = both(path.read_text(encoding="utf-8"), monkeypatch)
    assert cut == whole


MISUSES = {
    "none": ("", ""),
    "a name that is hidden": ("pl = pl", "pl = 3"),
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
def test_headers(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and paths mean in a type's text what they mean in its nodes."""
    names = "half, yes, less = 0.5, True, -3\nM = pl.dynamic('M')\n"
    text = KERNEL.replace("            pl = pl\n", "").replace("ROWS = 16\n", f"ROWS = 16\n{names}")
    changed = text.replace(old, new, 1).replace("SIZES =", f"{CHANGING}SIZES =", 1)
    cut, whole = both(changed, monkeypatch)
    assert cut == whole
    assert cut != outcome(text)


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


@pytest.mark.parametrize("line", VALUES.values(), ids=VALUES)
def test_values(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls, sums and several values at once mean in a line's text what they mean in its nodes."""
    old = "x2 = pl.cast(z, pl.FP32)\n"
    text = KERNEL.replace("            pl = pl\n", "").replace(old, f"{old}            {line}\n")
    names = line.partition(" = ")[0].split(", ")
    assert set(names) <= set(lines_of(syntax_tree_of(text)))
    cut, whole = both(text, monkeypatch)
    assert cut == whole


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
def test_calls_of_the_program(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of methods mean in a line's text what they mean in its nodes."""
    wrong = CALLER[CALLER.index("    @pl.function(type=pl.FunctionType.InCore)\n    def wrong") :]
    wrong = (
        "" if ".wrong" in line else wrong[: wrong.index("    @pl.function(type=pl.FunctionType.O")]
    )
    text = CALLER.replace(wrong, "").replace("LINE", line)
    cut, whole = both(text, monkeypatch)
    assert cut == whole


def test_numbers_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of which only what is in brackets differs are different lists."""
    old = "x2 = pl.cast(z, pl.FP32)\n"
    rows = ("(ROWS - 8)", "(ROWS + 8)", "(ROWS * 2)")
    new = "".join(f"            x2 = pl.load(x, [{row}, 0], [ROWS, 64])\n" for row in rows)
    text = KERNEL.replace("            pl = pl\n", "").replace(old, f"{old}{new}")
    cut, whole = both(text, monkeypatch)
    assert isinstance(whole, bytes)
    assert cut == whole


@pytest.mark.parametrize("line", ["u, a = pl.exp(b), pl.exp(b)", "u, u = row + 1, row + 2"])
def test_several_assigned_once(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each name is assigned once, the error is at the one of several that is assigned."""
    old = "x2 = pl.cast(z, pl.FP32)\n"
    text = KERNEL.replace("            pl = pl\n", "").replace(
        "pl.program", "pl.program(strict_ssa=True)"
    )
    for name in ("c = pl.add", "b = pl.mul"):
        text = text.replace(name, f"{name[0]}2{name[1:]}")
    cut, whole = both(text.replace(old, f"{old}            {line}\n"), monkeypatch)
    assert isinstance(whole, str)
    assert cut == whole


def random_sum(random: Random, depth: int) -> str:
    """Return a sum, product or call of scalars of `KERNEL`, or what is in one."""
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
    """Return a call or sum of tiles of `KERNEL`, or what is in one."""
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
    """Return an assignment, which may have mistakes."""
    kind = random.randrange(4)
    tile, number = random_tile(random, 3), random_sum(random, 3)
    if kind == 0:
        return f"{random.choice(['a', 'c', 'z'])}, n = {tile}, {number}"
    return f"n = {number}" if kind == 1 else f"{random.choice(['a', 'c', 'z'])} = {tile}"


@pytest.mark.parametrize("seed", range(24))
def test_random_values(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lines assign, their text means what their nodes do."""
    random = Random(seed)
    old = "x2 = pl.cast(z, pl.FP32)\n"
    new = "".join(f"            {random_line(random)}\n" for _ in range(3))
    text = KERNEL.replace("pl = pl", "n = i + 1").replace(old, f"{old}{new}")
    cut, whole = both(text, monkeypatch)
    assert cut == whole


TOKENS = (
    *("a", "b.c", "pl.f(", "self.x", "(", ")", "[", "]", ", ", ",", " + ", " * ", "1", "-2", "07"),
    *(
        "1.5",
        "True",
        "=",
        "k=",
        "k=True",
        " = ",
        "not",
        "if",
        "-",
        "g(",
        "1.",
        "..",
        " ",
        "0x",
        ":",
    ),
)


@pytest.mark.parametrize("seed", range(8))
def test_random_texts(seed: int) -> None:
    """Whatever is cut has the tree, or the error, that the whole text has."""
    random = Random(seed)
    for _ in range(150):
        line = random_line(random)
        for _ in range(random.randrange(4)):
            at = random.randrange(len(line) + 1)
            line = f"{line[:at]}{random.choice(TOKENS)}{line[at + random.randrange(3) :]}"
        text = f"def f():\n    {line}\n"
        found: list[str] = []
        for parse in (syntax_tree_of, ast.parse):
            try:
                found.append(dumped(parse(text)))
            except SyntaxError as error:
                found.append(str(error))
        assert found[0] == found[1], text


RIGHT = ("", "pl.DataType.FP32)\n            if")


@pytest.mark.parametrize(("old", "new"), MISUSES.values(), ids=MISUSES)
def test_misuses(old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, paths and lists mean in a line's text what they mean in its nodes."""
    text = KERNEL.replace("            pl = pl\n", "") if old != "pl = pl" else KERNEL
    text = text.replace(old, new)
    cut, whole = both(text, monkeypatch)
    assert cut == whole
    assert isinstance(cut, bytes) == (new in RIGHT)


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
READS = {
    "set by a call": (
        "a = pl.load(x, [K.rows, 0], [16, 64])",
        "n = K.move(16)",
        "a = pl.load(x, [K.rows, 0], [16, 64])",
    ),
    "a property": (
        "a = pl.load(x, [k.next, 0], [16, 64])",
        "a = pl.load(x, [k.next, 0], [16, 64])",
    ),
    "a yield by a local name": (
        "p = K",
        "a = pl.load(x, [0, 0], [16, 64])",
        "for i, (c,) in pl.range(4, init_values=(a,)):",
        "    b = pl.add(c, c)",
        "    a = p.give(b)",
    ),
}


@pytest.mark.parametrize("lines", READS.values(), ids=READS)
def test_attributes_that_change(lines: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """An attribute is what it is when its line is parsed, and is read as often as it stands."""
    header, _, _ = KERNEL.partition("        for i")
    body = [*lines, "y = pl.store(a, [0, 0], [16, 64], y)"]
    text = header.replace("SIZES", f"{CHANGING}SIZES")
    text += "".join(f"        {line}\n" for line in body)
    cut, whole = both(text, monkeypatch)
    assert isinstance(whole, bytes)
    assert cut == whole


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
    """A name is one thing in a function; the next one sees what a call in the first has set."""
    (tmp_path / "rebinding_kernel.py").write_text(REBINDING)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    imported = importlib.import_module("rebinding_kernel").P
    printed = str(pl.parse(REBINDING))
    assert [printed.count(f"load(x, [{row}, 0]") for row in (0, 16)] == [2, 1]
    assert printed == str(imported)


def test_parsed_by_another_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line is what it was to who reads its text, if another one makes it an assignment."""
    add, values = lines._add_lines, line_calls._values  # pyright: ignore[reportPrivateUsage]
    made: list[Any] = []

    def added(body: list[Any], run: str, last: int) -> None:
        add(body, run, last)
        made.extend(body)

    def parsed(ctx: Context, line: int, text: str, begin: int) -> object:
        found = values(ctx, line, text, begin)
        assert [node.targets for node in made if node.lineno == line]
        return found

    text = KERNEL.replace("            pl = pl\n", "")
    before = outcome(text)
    assert isinstance(before, bytes)
    monkeypatch.setattr(lines, "_add_lines", added)
    monkeypatch.setattr(line_calls, "_values", parsed)
    assert outcome(text) == before
    assert made


def test_lines_are_not_parsed_again() -> None:
    """Of a program whose calls have known forms no line is given to Python's parser."""
    text = KERNEL.replace("            pl = pl\n", "")
    pl.parse(text)
    tree = syntax_tree_of(text)
    found = [node for node in walk(tree.body[-1]) if isinstance(node, Line)]
    assert len(found) == 10
    parsed: list[str] = []

    def refused(line: Line) -> ast.Assign:
        parsed.append(line.text)
        raise AssertionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_parsed", refused)
        pl.parse(text)
    assert not parsed
