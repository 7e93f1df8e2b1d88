"""Every file here shows a wrong kernel and the exact message that its author sees.

A file has a title, a ``python`` block and a ``text`` block; the Python is a whole file called
kernel.py. ``stage: compile`` on a line of its own means that the mistake is found by the passes.
``--update-golden`` rewrites the messages.
"""

from __future__ import annotations

import linecache
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pypto._src.errors import PyptoError
from pypto._src.frontend.hook import report
from pypto._src.ir.stmts import Program
from pypto._src.passes.pipelines import PassManager

CASES = sorted(Path(__file__).parent.glob("*.md"))
FORM = re.compile(
    r"# (?P<title>[^\n]+)\n(?P<words>.*?)```python\n(?P<code>.*?)```\n+```text\n(?P<text>.*?)```\n",
    re.DOTALL,
)


class Case(NamedTuple):
    """One file, taken apart."""

    code: str
    text: str
    compiles: bool


def read(path: Path) -> Case:
    form = FORM.fullmatch(path.read_text(encoding="utf-8"))
    assert form is not None, f"{path.name} is not: title, python block, text block"
    return Case(form["code"], form["text"], "stage: compile" in form["words"])


def message(code: str, *, compiles: bool) -> str:
    """Run ``code`` as kernel.py; return the report of the error that it raises."""
    lines = code.splitlines(keepends=True)
    linecache.cache["kernel.py"] = (len(code), None, lines, "kernel.py")
    names: dict[str, Any] = {"__name__": "kernel"}
    try:
        exec(compile(code, "kernel.py", "exec"), names)
        programs = [value for value in names.values() if isinstance(value, Program)]
        if compiles:
            PassManager.get_strategy().run_passes(programs[-1])
    except PyptoError as error:
        return report(error) + "\n"
    finally:
        del linecache.cache["kernel.py"]
    pytest.fail("the kernel has no mistake", pytrace=False)


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_message(path: Path, request: pytest.FixtureRequest) -> None:
    """The message is the one in the file, letter for letter."""
    case = read(path)
    found = message(case.code, compiles=case.compiles)
    if request.config.getoption("--update-golden"):
        text = path.read_text(encoding="utf-8")
        begin = text.index("```text\n") + len("```text\n")
        path.write_text(text[:begin] + found + "```\n", encoding="utf-8")
        return
    assert found == case.text


def test_messages_differ() -> None:
    """Each file is about a mistake of its own: no two messages start alike."""
    firsts = [read(path).text.splitlines()[0] for path in CASES]
    assert len(firsts) == len(set(firsts)) >= 25


def test_compiler_is_not_shown() -> None:
    """No message names a file of the compiler."""
    for path in CASES:
        assert "_src" not in read(path).text, path.name
