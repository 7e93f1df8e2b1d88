"""Finding the text of kernels: files, nested definitions, notebooks, ``python -c``."""

from __future__ import annotations

import ast
import linecache
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto._src.errors import ParserSyntaxError, UndefinedVariableError
from pypto._src.frontend.source.source import parse_definition
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.stmts import Function, Program
from tests.frontend import kernels

SRC = Path(__file__).parents[2] / "src"
KERNELS = Path(kernels.__file__).read_text(encoding="utf-8").splitlines()


def line_of(text: str) -> int:
    (number,) = [n for n, line in enumerate(KERNELS, 1) if text in line]
    return number


def test_function_in_a_file() -> None:
    """Aliases, stacked decorators, comments and an outdented docstring are no obstacle."""
    assert isinstance(kernels.plain, Function)
    assert kernels.plain.name == "plain"
    assert kernels.plain.param_directions == (ParamDirection.In, ParamDirection.Out)
    assert str(kernels.plain.params[0].type) == "pl.Tensor[[32, 32], pl.FP32]"
    place = kernels.plain.params[1].span
    assert (place.filename, place.begin_line) == (kernels.__file__, line_of("out: Out[Tensor[[BL"))
    assert place.begin_column == 4


def test_program_in_nested_functions() -> None:
    """Names of all enclosing functions are visible, also in postponed annotations."""
    found: Program = kernels.make(16)
    (function,) = found.functions_
    assert (found.name, function.name, function.func_type) == (
        "Made",
        "scaled",
        FunctionType.InCore,
    )
    assert str(function.params[0].type) == "pl.Tensor[[16, 32], pl.FP32]"
    assert "pl.block.muls" in str(function)
    assert "2.5" in str(function)
    assert function.span.begin_line == line_of("def scaled(")
    assert str(kernels.make(8).functions_[0].params[0].type) == "pl.Tensor[[8, 16], pl.FP32]"


def test_program_in_a_class() -> None:
    """A program may be defined inside a class; columns count characters."""
    found: Any = kernels.Holder.Inner
    assert isinstance(found, Program)
    assert found.functions_[0].func_type is FunctionType.Orchestration


def run(tmp_path: Path, *args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(SRC), *filter(None, [os.environ.get("PYTHONPATH")])])
    return subprocess.run(
        [sys.executable, *args],
        input=text,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "PTO_BACKTRACE": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )


GOOD = """\
import pypto.language as pl
@pl.function
def f(n: pl.INT64) -> pl.INT64:
    return n + 1
print(f.name)
"""
BAD = GOOD.replace("n + 1", "n + m")


def test_command_line_text(tmp_path: Path) -> None:
    """A kernel in the text of ``python -c`` is found."""
    assert run(tmp_path, "-c", GOOD).stdout == "f\n"


def test_no_source(tmp_path: Path) -> None:
    """If the source is unavailable, the error says what to do."""
    result = run(tmp_path, "-", text=GOOD)
    assert result.returncode == 1
    assert result.stderr == (
        "error: the source text of 'f' (<stdin>) cannot be read  [no-source]\n"
        "  = hint: put the kernel in a file, or use pl.parse(text)\n"
    )


def test_uncaught_error(tmp_path: Path) -> None:
    """An uncaught error is shown as its report alone; PTO_BACKTRACE=1 adds the traceback."""
    path = tmp_path / "kernel.py"
    path.write_text(BAD)
    result = run(tmp_path, "kernel.py")
    report = (
        "error: 'm' is not defined  [undefined-name]\n"
        f" --> {path}:4:16\n"
        "  |\n"
        "4 |     return n + m\n"
        "  |                ^\n"
    )
    assert (result.returncode, result.stderr) == (1, report)
    debug = run(tmp_path, "-c", "import os; os.environ['PTO_BACKTRACE'] = '1'; import kernel")
    assert debug.stderr.startswith(report)
    assert "Traceback (most recent call last):" in debug.stderr


def test_other_errors_go_to_the_previous_hook(tmp_path: Path) -> None:
    """Errors that are not ours are shown as Python shows them."""
    result = run(tmp_path, "-c", "import pypto.language\n1 / 0")
    assert result.stderr.endswith("ZeroDivisionError: division by zero\n")
    assert "Traceback" in result.stderr


LOST = """\
import pypto.language as pl
@pl.function
def f(n: pl.INT64) -> pl.INT64:
    return n + 1

"""
CONSOLE = """\
import code
lines = iter(TEXT.splitlines())
def read(prompt):
    for line in lines:
        return line
    raise EOFError
code.interact("", read, exitmsg="")
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="the newer prompts keep their text")
@pytest.mark.parametrize(
    ("args", "text", "place"),
    [
        (["-i", "-q", "-"], LOST, "<stdin>"),
        (["-c", f"TEXT = {LOST!r}\n{CONSOLE}"], "", "<console>"),
        (["-c", f"exec({LOST!r})"], "", "<string>"),
    ],
    ids=["prompt", "console", "exec"],
)
def test_text_that_is_not_kept(tmp_path: Path, args: list[str], text: str, place: str) -> None:
    """At a prompt and in ``exec`` the error says what to do, and nothing else."""
    lines = [line for line in run(tmp_path, *args, text=text).stderr.splitlines() if line.strip()]
    lines = [line.replace(">>> ", "").replace("... ", "") for line in lines]
    assert [line for line in lines if line.strip()] == [
        f"error: the source text of 'f' ({place}) cannot be read  [no-source]",
        "  = hint: put the kernel in a file, or use pl.parse(text)",
    ]


def test_text_inside_another(tmp_path: Path) -> None:
    """Code executed by the command-line text is not mistaken for that text."""
    result = run(tmp_path, "-c", f"text = {LOST!r}\n\nexec(text)")
    assert (result.returncode, result.stderr) == (
        1,
        "error: no definition starts at <string>:2  [no-source]\n"
        "  = hint: put the kernel in a file, or use pl.parse(text)\n",
    )


def test_threads_that_parse_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A parse disturbed by another thread is restarted; other errors are raised."""
    parse, left = ast.parse, [SystemError("AST constructor recursion depth mismatch")] * 3

    def spoilt(text: str, filename: str, mode: str) -> ast.AST:
        if left:
            raise left.pop()
        return parse(text, filename, mode)

    monkeypatch.setattr(ast, "parse", spoilt)
    assert isinstance(pl.parse(LOST), Function)
    assert left == []
    left += [SystemError("of another kind")] * 1000
    with pytest.raises(SystemError, match="of another kind"):
        pl.parse(LOST)


def test_text_in_linecache(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook cell, which is only in linecache, is found like a file."""
    name = "<cell 1>"
    lines = GOOD.splitlines(keepends=True)
    monkeypatch.setitem(linecache.cache, name, (len(GOOD), None, lines, name))
    names: dict[str, Any] = {}
    exec(compile(GOOD, name, "exec"), names)
    assert isinstance(names["f"], Function)
    assert names["f"].span.filename == name


@pytest.mark.parametrize("end", ["", "\n"])
def test_text_of_a_file_that_changes(tmp_path: Path, end: str) -> None:
    """A file that was parsed as text, and is executed after a change, uses its new lines."""
    path = tmp_path / "kernel.py"
    text = GOOD.partition("\nprint")[0]
    path.write_text(text + end, encoding="utf-8")
    assert isinstance(pl.loads(path), Function)
    path.write_text("\n" * 100 + text.replace("def f", "def g"), encoding="utf-8")
    assert "g" in runpy.run_path(str(path))


def test_text_with_the_name_of_a_file(tmp_path: Path) -> None:
    """A text that differs from the file of its name is shown as it is, not as the file."""
    path = tmp_path / "kernel.py"
    path.write_text("# another one\n" * 9, encoding="utf-8")
    with pytest.raises(UndefinedVariableError) as caught:
        pl.parse(BAD.partition("\nprint")[0], str(path))
    assert "return n + m" in caught.value.render()
    path.write_text(GOOD.partition("\nprint")[0], encoding="utf-8")
    assert "f" in runpy.run_path(str(path))  # once executed, the file's own source counts


def test_columns_count_characters() -> None:
    """A column counts characters, whatever precedes it."""
    text = 'import pypto.language as pl\n@pl.function\ndef f(n: pl.INT64): "äöü"; x = "é" and m\n'
    with pytest.raises(UndefinedVariableError) as caught:
        pl.parse(text)
    place = caught.value.location
    assert (place.begin_line, place.begin_column, place.end_column) == (3, 39, 40)
    assert text.splitlines()[2][39] == "m"


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("def f():\n    x\n\n# c\n    y\nz\n", 5),
        ("def f(\n    a,\n) -> int:\n    x\nz\n", 4),
        ("@d(\n    1\n)\ndef f(): x\nz\n", 4),
        ('def f():\n    """a\nb\n    """\n    x\nz\n', 5),
        ("    def f():\n        x\n    z\n", 2),
        ("def f():\n    x = [\n1,\n2]\n    y\nz\n", 5),
        ("def f(): x", 1),
    ],
)
def test_definition_ends(text: str, last: int) -> None:
    """The end of a definition is found, whatever its lines contain."""
    lines = text.splitlines(keepends=True)
    source, node = parse_definition("k.py", lines, 0)
    assert source.span(node).end_line == last


class WithoutMethods:
    """No program."""


def test_decorator_on_something_else() -> None:
    """The decorators' errors say what they are for."""
    with pytest.raises(ParserSyntaxError, match="a function was wanted"):
        pl.function(3)  # pyright: ignore[reportArgumentType, reportCallIssue]
    with pytest.raises(ParserSyntaxError, match="has no method decorated"):
        pl.program(WithoutMethods)
    with pytest.raises(ParserSyntaxError, match=r"@pl.program is for a class"):
        pl.program(3)  # pyright: ignore[reportArgumentType, reportCallIssue]
