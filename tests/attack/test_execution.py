"""Texts that try to run Python when they are read: none of them succeeds."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto._src import cli
from pypto._src.errors import NotExecutedError, PyptoError
from pypto._src.ir.stmts import Function

KERNEL = "@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return n + {}\n"
MARK = "marker"
WRITE = f"open({MARK!r}, 'w').close()"


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with a module that leaves a mark when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (tmp_path / "evil.py").write_text(f"{WRITE}\nSIZE = 3\n")
    return tmp_path


def marked() -> bool:
    """True if any part of a text was executed."""
    sys.modules.pop("evil", None)
    return Path(MARK).exists()


def read(text: str, **words: Any) -> Any:
    """Return the result of reading a text, or the error that it raises."""
    try:
        return pl.parse(text, "given.py", **words)
    except (PyptoError, SyntaxError) as error:
        return error


AROUND = {
    "a call": WRITE,
    "an import": "import evil",
    "an import from": "from evil import SIZE",
    "all of a module": "from evil import *",
    "a constant": f"SIZE = {WRITE}",
    "a part of a tuple": f"SIZE, OTHER = 3, {WRITE}",
    "an annotation": f"SIZE: {WRITE} = 3",
    "a default": f"def g(a={WRITE}): pass",
    "a decorator": f"@(lambda f: {WRITE})\ndef g(): pass",
    "the body of a class": f"class C:\n    {WRITE}",
    "a metaclass": f"class C(metaclass={WRITE}): pass",
    "a base": f"class C({WRITE}): pass",
    "a loop": f"for i in [1]:\n    {WRITE}",
    "a branch": f"if True:\n    {WRITE}",
    "a condition": f"if {WRITE}:\n    pass",
    "another branch": f"if __name__ == '__main__':\n    pass\nelse:\n    {WRITE}",
    "a with": f"with open({MARK!r}, 'w'): pass",
    "a try": f"try:\n    {WRITE}\nfinally:\n    pass",
    "a comprehension": f"SIZES = [{WRITE} for i in [1]]",
    "a lambda": f"(lambda: {WRITE})()",
    "a walrus": f"(size := {WRITE})",
    "an f-string": f'SIZE = f"{{{WRITE}}}"',
    "an assert": f"assert {WRITE} is None",
    "a deletion": f"del [1][{WRITE} or 0]",
    "a subscript": f"SIZES = {{}}\nSIZES[{WRITE}] = 3",
    "an attribute": "pl.function.__globals__['__builtins__']['open']('marker', 'w')",
    "a decorator's option": f"@pl.inline(x={WRITE})\ndef g(n): return n",
    "a program's option": f"@pl.program(strict_ssa={WRITE})\nclass P: pass",
    "a program's base": f"@pl.program\nclass P({WRITE}): pass",
    "a program's constant": f"@pl.program\nclass P:\n    SIZE = {WRITE}",
    "a program's loop": f"@pl.program\nclass P:\n    for i in [1]:\n        {WRITE}",
    "a second decorator": f"@pl.inline\n@(lambda f: {WRITE})\ndef g(n): return n",
}


@pytest.mark.parametrize("statement", AROUND.values(), ids=AROUND)
def test_around_kernels(statement: str) -> None:
    """A statement outside kernels is skipped or rejected with its location, and never executed."""
    found = read(f"{statement}\n{KERNEL.format(1)}")
    assert not marked()
    assert isinstance(found, Function | PyptoError)
    if isinstance(found, NotExecutedError):
        assert found.location.filename == "given.py"
        assert found.hint is not None


@pytest.mark.parametrize("header", ["# pypto.program: P\n", "# pypto.entry: f\n"])
@pytest.mark.parametrize("statement", [WRITE, "import evil", f"SIZE = {WRITE}"])
def test_with_a_header(header: str, statement: str) -> None:
    """A header saying that the text was printed does not make Python execute the rest."""
    read(f"{header}{statement}\n{KERNEL.format(1)}")
    with pytest.raises((PyptoError, SyntaxError)):
        ir.parse(f"{header}{statement}\n{KERNEL.format(1)}")
    assert not marked()


INSIDE = {
    "open": WRITE,
    "import": "__import__('evil').SIZE",
    "eval": f"eval({WRITE!r})",
    "a key": f"max([{WRITE!r}], key=eval)",
    "a sort": f"len(sorted([{WRITE!r}], key=exec))",
    "a default": f"max([], default=eval, key=eval)({WRITE!r})",
    "getattr": "getattr(pl, 'load')",
    "the globals of a function": "pl.function.__globals__['sys'].modules['os'].mkdir('marker')",
    "an op's own function": "pl.exp.numpy.__globals__['__builtins__']['open']('marker', 'w')",
    "the classes of Python": "().__class__.__base__.__subclasses__()[0]",
    "a format": "'{0.__class__}'.format(pl)",
    "a module": "pl.parser.sys.modules['os'].mkdir('marker')",
    "a trusted text": f"pl.parse({WRITE!r}, trusted=True)",
    "a trusted file": "pl.loads('evil.py', trusted=True)",
    "a decorator": "pl.jit(pl)",
    "an enumeration": "pl.FunctionType.__class__.__init__.__globals__['sys']",
    "a lambda": f"(lambda: {WRITE})()",
    "exit": "exit(3)",
    "breakpoint": "breakpoint()",
}


@pytest.mark.parametrize("text", INSIDE.values(), ids=INSIDE)
def test_inside_a_kernel(text: str) -> None:
    """An expression in a kernel can reach the language, but nothing of Python behind it."""
    assert isinstance(read(KERNEL.format(text)), PyptoError)
    program = f"@pl.program\nclass P:\n    SIZE = {text}\n" + indent(
        KERNEL.format("self.SIZE").replace("(n", "(self, n"), "    "
    )
    assert isinstance(read(program), PyptoError)
    annotated = KERNEL.format(1).replace("n: pl.INT64", f"n: pl.Tensor[[{text}, 4], pl.FP32]")
    assert isinstance(read(annotated), PyptoError)
    assert not marked()


def test_inside_an_inline_function() -> None:
    """An inline function in the text is read like the kernel it is expanded in."""
    text = f"@pl.inline\ndef g(n):\n    return n + {WRITE}\n{KERNEL.format('g(n)')}"
    assert isinstance(read(text), PyptoError)
    assert not marked()


PLAIN = """
\"\"\"A kernel.\"\"\"
from __future__ import annotations
import math
import pypto.language as lang
from pypto import language as again
from pypto.language import FP32, Tensor as T
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

ROWS, COLS = 2 * 32, 1 << 6
ROWS *= 2
SHAPE = [ROWS, COLS]
NAMES = {"rows": ROWS}
HALF: float = 0.5 if ROWS > 4 else 1.0
N = pl.dynamic("N")
DT = again.FP32
TYPE = T[[N, COLS], DT]
SPACE = lang.MemorySpace.Vec
assert ROWS % 2 == 0


def reference(x):
    return math.sqrt(x) * np.ones(SHAPE)


@pl.inline
def half(t):
    return pl.mul(t, HALF)


@lang.program
class P:
    BLOCK = NAMES["rows"] // 2

    @lang.function(type=again.FunctionType.InCore)
    def kernel(self, x: TYPE, out: lang.Out[T[[N, COLS], FP32]]):
        t = pl.load(x, [0, 0], [self.BLOCK, SHAPE[1]], SPACE)
        out = pl.store(half(t), [0, 0], [self.BLOCK, COLS], out)
        return out


if __name__ == "__main__":
    print(reference(3))
"""


def test_plain_kernel_text() -> None:
    """Imports of the language, constants and types mean the same when read as when executed."""
    found, executed = pl.parse_program(PLAIN), pl.parse_program(PLAIN, trusted=True)
    assert ir.structural_equal(found, executed, True)
    assert str(found) == str(executed)


EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
MADE_BY_PYTHON = {"gelu_mlp", "matmul", "projections"}
"""Examples with a constant of `math`, a function that creates programs, and `@pl.jit` functions."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    """An example read is the same program as executed, or the error tells what it needs."""
    if path.stem in MADE_BY_PYTHON:
        with pytest.raises(PyptoError) as caught:
            pl.loads(path)
        assert re.search("names=|trusted=True", caught.value.hint or "")
        return
    assert str(pl.loads(path)) == str(pl.loads(path, trusted=True))


def test_given_names() -> None:
    """A constant computed by Python is passed in; the text's own constants take precedence."""
    text = f"from sizes import SIZE\nOWN = 4\n{KERNEL.format('SIZE + OWN')}"
    with pytest.raises(NotExecutedError) as caught:
        pl.parse(text)
    assert caught.value.hint == 'give it: pl.parse(text, names={"SIZE": ...})'
    assert str(pl.parse(text, names={"SIZE": 3, "OWN": 9})).endswith("return n + 3 + 4")
    computed = f"SIZE = len(__file__)\n{KERNEL.format('SIZE')}"
    assert str(pl.parse(computed, names={"SIZE": 3, "__file__": "x"})).endswith("return n + 1")
    with pytest.raises(TypeError, match="a name is an identifier, got 'a b'"):
        pl.parse(text, names={"a b": 3})


def test_given_functions() -> None:
    """A function passed in may be called; what it is an attribute of is inaccessible."""
    text = KERNEL.format("twice(4)")
    assert str(pl.parse(text, names={"twice": lambda n: 2 * n})).endswith("return n + 8")  # pyright: ignore[reportUnknownLambdaType]
    with pytest.raises(NotExecutedError, match=r"sys\.maxsize is an attribute of Python"):
        pl.parse(KERNEL.format("sys.maxsize"), names={"sys": sys})


def test_constants_that_python_may_change() -> None:
    """A list is not a constant if a skipped statement may have changed it."""
    text = f"SIZES = [1]\nother = SIZES.append(2)\n{KERNEL.format('len(SIZES)')}"
    assert str(pl.parse(text, trusted=True)).endswith("return n + 2")
    with pytest.raises(NotExecutedError, match="'SIZES' is perhaps changed by Python"):
        pl.parse(text)


def test_a_trusted_text_is_executed() -> None:
    """With explicit trust the text gets all of Python, from a string and from a file."""
    text = f"import evil\n{KERNEL.format('evil.SIZE')}"
    Path("kernel.py").write_text(text)
    for found in (pl.parse(text, trusted=True), pl.loads("kernel.py", trusted=True)):
        assert str(found).endswith("return n + 3")
    assert marked()


def test_convert(capsys: pytest.CaptureFixture[str]) -> None:
    """The command reads a file, rejects what reading cannot determine, and executes on request."""
    head = "import pypto.language as pl\nfrom evil import SIZE\n"
    Path("kernel.py").write_text(head + KERNEL.format("SIZE"))
    assert cli.main(["convert", "kernel.py", "--to", "python"]) == 1
    assert not marked()
    error = capsys.readouterr().err
    assert " --> kernel.py:5:16\n" in error
    assert "if you trust it: pypto convert kernel.py --to python --execute" in error
    assert cli.main(["convert", "kernel.py", "--to", "python", "--execute"]) == 0
    assert marked()
    assert "return n + 3" in capsys.readouterr().out


def test_convert_of_a_file_with_a_header(capsys: pytest.CaptureFixture[str]) -> None:
    """A header above other Python is no reason to execute it."""
    Path("kernel.py").write_text(f"# pypto.program: P\n{WRITE}\n{KERNEL.format(1)}")
    assert cli.main(["convert", "kernel.py", "--to", "statement"]) == 1
    assert not marked()
    assert "[not-executed]" in capsys.readouterr().err


def test_convert_one_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    """A program in a file that is read is named like one in a file that is executed."""
    second = KERNEL.format(2).replace("def f", "def g")
    Path("kernel.py").write_text(f"import evil\n{KERNEL.format(1)}\n{second}")
    assert cli.main(["convert", "kernel.py:g", "--to", "python"]) == 0
    assert "return n + 2" in capsys.readouterr().out
    assert cli.main(["convert", "kernel.py", "--to", "python"]) == 1
    assert "name one: kernel.py:f" in capsys.readouterr().err
    assert cli.main(["convert", "kernel.py:h", "--to", "python"]) == 1
    assert not marked()


def test_statement_form() -> None:
    """The reader of the statement form has no Python expressions to execute."""
    function = pl.parse(KERNEL.format(1))
    assert isinstance(function, Function)
    text = ir.to_statement_text(ir.Program([function], "P"))
    for old in ("1 :", '"', "@f"):
        with pytest.raises(PyptoError):
            ir.from_statement_text(text.replace(old, f"{WRITE} {old}", 1) + WRITE)
    assert not marked()
