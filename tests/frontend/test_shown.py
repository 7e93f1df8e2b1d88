"""How errors are displayed: many at once, in a script, in a notebook, in colour or not."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pypto.language as pl
from pypto._src.diagnostics import wants_colour
from pypto._src.errors import ParserError, PyptoError
from pypto._src.frontend.excepthook import report
from pypto._src.frontend.state.messages import dtype_like, nearest

SOURCES = str(Path(__file__).parents[2] / "src")
HEAD = "import numpy as np\nimport pypto.language as pl\nfrom pypto import runtime\n\n\n"
JIT = f"""{HEAD}@pl.jit
def kernel(x: pl.Tensor, out: pl.Out[pl.Tensor]):
    t = pl.load(x, [0, 0], [16, 16])
    t = pl.expp(t)
    out = pl.store(t, [0, 0], [16, 16], out)


a = np.zeros((16, 16), np.float32)
kernel(a, np.zeros_like(a))
"""
COMPILED = f"""{HEAD}@pl.program
class Kernel:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[16, 16], pl.FP32]]):
        t = pl.load(x, [0, 0], [16, 16])
        out = pl.store(t, [0, 0], [16, 16], out)


compiled = runtime.compile(Kernel, target="interpreter")
a = np.zeros((16, 16), np.float32)
compiled(a, a.astype(np.float64))
"""
ALONE = f"{HEAD}@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return m\n"
METHOD = (
    f"{HEAD}@pl.program\nclass Kernel:\n    @pl.function\n"
    "    def f(self, n: pl.INT64) -> pl.INT64:\n        return m\n"
)
TEXT = f'{HEAD}pl.parse("@pl.function\\ndef f(n: pl.INT64) -> pl.INT64:\\n    return m\\n")\n'
NO_PYTHON = f'{HEAD}pl.parse("def f(:", "text.py")\n'

SHOWN = {
    "a function": (
        ALONE,
        """\
error: 'm' is not defined  [undefined-name]
 --> kernel.py:8:12
  |
8 |     return m
  |            ^
""",
    ),
    "a program": (
        METHOD,
        """\
error: 'm' is not defined  [undefined-name]
  --> kernel.py:10:16
   |
10 |         return m
   |                ^
""",
    ),
    "a text": (
        TEXT,
        """\
error: 'm' is not defined  [undefined-name]
 --> <string>:3:12
  |
3 |     return m
  |            ^
""",
    ),
    "a text that is no Python": (
        NO_PYTHON,
        """\
Traceback (most recent call last):
  File "kernel.py", line 6, in <module>
    pl.parse("def f(:", "text.py")
  File "text.py", line 1
    def f(:
          ^
SyntaxError: invalid syntax
""",
    ),
    "a call of a compiled program": (
        COMPILED,
        """\
error: argument 'out' of kernel is an array [16, 16] of float64; \
Out[Tensor[[16, 16], FP32]] was wanted  [argument-dtype]
  --> kernel.py:16:1
   |
16 | compiled(a, a.astype(np.float64))
   | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
   = hint: make it with dtype=np.float32
""",
    ),
    "a kernel that is compiled when called": (
        JIT,
        """\
error: there is no pl.expp  [unknown-op]
 --> kernel.py:9:9
  |
9 |     t = pl.expp(t)
  |         ^^^^^^^
  = hint: did you mean pl.exp?
""",
    ),
}


def run(folder: Path, code: str, **environment: str) -> str:
    """Return what a script writes to standard error."""
    (folder / "kernel.py").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "kernel.py"],
        env={**os.environ, "PYTHONPATH": SOURCES, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr.replace(f"{folder}{os.sep}", "")


@pytest.mark.parametrize(("code", "text"), SHOWN.values(), ids=SHOWN)
def test_script(code: str, text: str, tmp_path: Path) -> None:
    """An uncaught error shows the user's lines, and no frame of the compiler."""
    lines = run(tmp_path, code).splitlines(keepends=True)
    # Python 3.13 and newer also mark a call that is a whole line: ~~~~~~~~^^^
    assert "".join(line for line in lines if set(line.strip()) != {"~", "^"}) == text


@pytest.mark.parametrize(("code", "text"), SHOWN.values(), ids=SHOWN)
def test_script_with_frames(code: str, text: str, tmp_path: Path) -> None:
    """PYPTO_DEBUG=1 adds the traceback with the compiler's frames."""
    shown = run(tmp_path, code, PYPTO_DEBUG="1")
    assert shown.splitlines()[0] == text.splitlines()[0]
    assert "Traceback (most recent call last):\n" in shown
    assert f"{os.sep}_src{os.sep}" in shown


# ------------------------------------------------------------------------------------ notebooks


def failure(code: str) -> ParserError:
    """Return the error that parsing ``code`` raises."""
    with pytest.raises(ParserError) as caught:
        pl.parse(code)
    return caught.value


def notebook(error: PyptoError) -> list[str]:
    """Return what IPython shows: it calls this method of an exception that has it."""
    shown: Any = error
    return shown._render_traceback_()


WRONG = "@pl.function\ndef f(n: pl.INT64) -> pl.INT64:\n    return m\n"
LINES = [
    "error: 'm' is not defined  [undefined-name]",
    " --> <string>:3:12",
    "  |",
    "3 |     return m",
    "  |            ^",
]


def test_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook shows only the report."""
    for name in ("FORCE_COLOR", "PYPTO_DEBUG", "PTO_BACKTRACE"):
        monkeypatch.delenv(name, raising=False)
    assert notebook(failure(WRONG)) == LINES


def test_notebook_names_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """The location of an error in a cell has the cell's number, not Jupyter's generated name."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    names = {"<string>": ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=names.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert notebook(failure(WRONG))[1] == " --> Cell In[7]:3:12"
    names.clear()  # an imported file
    assert notebook(failure(WRONG)) == LINES


def test_notebook_with_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    """PYPTO_DEBUG=1 adds the traceback, without a second report, and changes no error."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("PYPTO_DEBUG", "1")
    error = failure(WRONG)
    notes = list(error.__notes__)
    shown = notebook(error)
    assert shown[: len(LINES)] == LINES
    assert shown[len(LINES)] == "Traceback (most recent call last):"
    assert shown[-1].endswith("UndefinedVariableError: 'm' is not defined")
    assert error.__notes__ == notes


def test_notebook_in_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    """FORCE_COLOR also colours what a notebook shows."""
    monkeypatch.delenv("PYPTO_DEBUG", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert notebook(failure(WRONG))[0] == (
        "\x1b[1;31merror\x1b[0m: \x1b[1m'm' is not defined\x1b[0m  [undefined-name]"
    )


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "stream", "colour"),
    [
        ({}, Terminal(), True),
        ({}, io.StringIO(), False),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"TERM": "dumb"}, Terminal(), False),
        ({"FORCE_COLOR": "1"}, io.StringIO(), True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, io.StringIO(), True),
    ],
)
def test_colour(
    environment: dict[str, str], stream: Any, colour: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Colour is used on terminals that support it, unless the user says otherwise."""
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_colour(stream) is colour


# ------------------------------------------------------------------------------- many mistakes


@pytest.mark.parametrize(
    ("count", "shown", "end"),
    [
        (1, 1, "  |          ^^"),
        (3, 3, "3 errors"),
        (10, 10, "10 errors"),
        (11, 10, "10 errors; there are more, which are not shown"),
        (15, 10, "10 errors; there are more, which are not shown"),
    ],
)
def test_many(count: int, shown: int, end: str) -> None:
    """Up to ten mistakes are reported at once, in source order; the report says if more follow."""
    lines = [f"    v{i} = w{i} + 1" for i in range(count)]
    error = failure("@pl.function\ndef f(n: pl.INT64):\n" + "\n".join(lines))
    errors = (error, *error.others)
    assert [e.message for e in errors] == [f"'w{i}' is not defined" for i in range(shown)]
    assert [e.location.begin_line for e in errors] == [3 + i for i in range(shown)]
    assert report(error).splitlines()[-1] == end


@pytest.mark.parametrize(
    "statement",
    [
        "t = pl.cast(t, 'fp16')",
        "def t(): pass",
        "import os as t",
        "with open('t') as t:\n        pass",
        "if (t := n + 1) > 2:\n        pass",
        "for i in [t]:\n        t = pl.exp(t)",
    ],
)
def test_what_follows_from_a_mistake_is_not_reported(statement: str) -> None:
    """A name whose definition is wrong is not reported again where it is read."""
    error = failure(
        "@pl.function\n"
        "def f(n: pl.INT64, x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64],"
        " pl.FP16]]):\n"
        "    t = pl.load(x, [0, 0], [64, 64])\n"
        f"    {statement}\n"
        "    out = pl.store(t, [0, 0], [64, 64], out)\n"
    )
    assert error.others == ()
    assert error.location.begin_line == 4


def test_an_output_stays_what_it_is() -> None:
    """A store that fails does not hide mistakes in the next one."""
    error = failure(
        "@pl.function\n"
        "def f(x: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):\n"
        "    t = pl.load(x, [0, 0], [64, 64])\n"
        "    out = pl.store(t, [0], [64, 64], out)\n"
        "    out = pl.store(t, [0, 0], [32, 64], out)\n"
    )
    assert [e.slug for e in (error, *error.others)] == ["region-rank", "shape-mismatch"]


# ---------------------------------------------------------------------------------- suggestions


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("exo", ["exp", "expand"], "exp"),
        ("fp32", ["FP16", "FP32"], "FP32"),
        ("Vector", ["Vec", "Mat"], "Vec"),
        ("multiply", ["mul", "add"], "mul"),
        ("dot", ["matmul"], "matmul"),
        ("dot", ["add"], None),
        ("softmax", ["exp", "row_max"], None),
        ("x", ["y", "z"], None),
    ],
)
def test_nearest(name: str, known: list[str], found: str | None) -> None:
    """Similar names, names with the same beginning and names of other libraries are suggested."""
    assert nearest(name, known) == found


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("fp16", pl.FP16),
        ("float32", pl.FP32),
        ("bfloat16", pl.BF16),
        ("torch.int8", pl.INT8),
        (float, pl.FP32),
        (int, pl.INT64),
        (bool, pl.BOOL),
        ("complex64", None),
        (3, None),
    ],
)
def test_dtype_like(value: Any, found: Any) -> None:
    """Spellings of other libraries are mapped to the element type that is meant."""
    assert dtype_like(value) is found


SUGGESTED = [
    ("pl.addd(n, 1)", "did you mean pl.add?"),
    ("pl.block.row_maxx(n)", "did you mean pl.block.row_max?"),
    ("number + 1", "did you mean numbers?"),
    ("x.shap", "did you mean x.shape?"),
    ("n.dtyp", "did you mean n.dtype?"),
    ("pl.MemorySpace.Vector", "did you mean pl.MemorySpace.Vec?"),
    ("pl.load(x, [0, 0], [8, 8], target_mem=pl.MemorySpace.Vec)", "did you mean target_memory=?"),
    ("pl.fp32", "did you mean pl.FP32?"),
]


@pytest.mark.parametrize(("text", "hint"), SUGGESTED, ids=[text for text, _ in SUGGESTED])
def test_suggestion(text: str, hint: str) -> None:
    """For unknown ops, names, attributes and keywords, the nearest known one is suggested."""
    error = failure(
        "@pl.function\n"
        "def f(n: pl.INT64, x: pl.Tensor[[8, 8], pl.FP32]):\n"
        "    numbers = n\n"
        f"    y = {text}\n"
    )
    assert error.hint == hint
