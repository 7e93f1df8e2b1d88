"""Reducing failing programs: the candidates tried, what is kept, and the command's exit."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from pypto._src import cli
from pypto._src.numerics import reduce
from tests.numerics.test_bisect import REFERENCE, RIGHT, write

LONG = """\
import math


def unused(x):
    return x


def kept(x):
    # a remark
    a = 1
    for i in range(3):
        b = math.sqrt(abs(a + i))
    if a:
        c = 2
    else:
        c = 3
    return fail(b, c)
"""


def test_what_can_go_goes() -> None:
    """Only what makes a text fail is left, and each step is reported."""
    steps: list[str] = []
    small = reduce.reduced(LONG, lambda text: "fail(" in text, keep=("kept",), found=steps.append)
    assert small.strip() == "def kept(x):\n    return fail(b, c)"
    assert steps[-1] == small
    assert all("fail(" in text for text in steps)
    again = reduce.reduced(LONG, lambda text: "fail(" in text, keep=("kept",))
    assert again == small


def test_every_try_is_less() -> None:
    """No candidate has more characters, except for the word pass."""
    for candidate in reduce.smaller(LONG):
        assert len(candidate) <= len(LONG) + len("pass")
    assert list(reduce.smaller(LONG)) == list(reduce.smaller(LONG))


def test_an_end_keeps_what_is_found() -> None:
    """When time is up, the smallest text so far is returned."""
    left = iter([False] * 3 + [True] * 100)
    small = reduce.reduced(LONG, lambda text: "fail(" in text, is_over=lambda: next(left))
    assert "fail(" in small
    assert small != LONG


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = cli.main(["reduce", *words])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


WIDE = RIGHT.replace(
    "    return out\n",
    "    with pl.incore():\n"
    "        wide = pl.load(x, [0, 0], [64, 4096])\n"
    "        out[:] = wide\n"
    "    return out\n",
)


def test_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rejected program is reduced to a few lines that are rejected for the same reason."""
    path = write(tmp_path, "wide.py", WIDE)
    out = str(tmp_path / "small.py")
    status, printed, _ = run(capsys, path, "--check", "error:out-of-bounds", "-o", out)
    small = Path(out).read_text()
    assert status == 0
    assert printed.startswith(f"{out}: ")
    assert len([line for line in small.split("\n") if line.strip()]) <= 6
    assert cli.main(["check", out]) == 1
    assert "[out-of-bounds]" in capsys.readouterr().err


def test_a_wrong_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong result stays wrong, from statements that write all of the output."""
    wrong = RIGHT.replace("total = pl.row_sum(part)", "total = pl.row_max(part)")
    path, reference = write(tmp_path, "wrong.py", wrong), write(tmp_path, "ref.py", REFERENCE)
    words = [path, "--check", "reference", "--against", reference]
    status, printed, _ = run(capsys, *words)
    out = tmp_path / "wrong.reduced.py"
    assert status == 0
    assert printed.startswith(str(out))
    assert len(out.read_text()) < len(wrong)
    assert cli.main(["bisect", str(out), "--against", reference]) == 1


def test_a_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A traceback of ours is a failure, identified by type and location; the file's own is not."""
    from pypto._src.commands import reduce as command

    def broken(program: Any, *_: Any, **__: Any) -> Any:
        if "row_max" in str(program):
            raise AssertionError("a fault of ours")

    monkeypatch.setattr(command, "compile_program", broken)
    broken.__globals__["__name__"] = "pypto.fault"
    try:
        path = write(tmp_path, "right.py", RIGHT)
        status, _, _ = run(capsys, path, "--check", "crash")
    finally:
        broken.__globals__["__name__"] = __name__
    small = (tmp_path / "right.reduced.py").read_text()
    assert status == 0
    assert "pl.row_max(" in small
    assert "row_expand_div" not in small
    ast.parse(small)


def test_interrupted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the user presses Ctrl-C, the result so far is in the file."""

    def cut(source: str, fails: Any, *, found: Any) -> str:
        found("smaller")
        raise KeyboardInterrupt

    monkeypatch.setattr(reduce, "reduced", cut)
    path = write(tmp_path, "wide.py", WIDE)
    status, printed, _ = run(capsys, path, "--check", "error:out-of-bounds")
    assert status == 130
    assert printed.endswith(", interrupted\n")
    assert (tmp_path / "wide.reduced.py").read_text() == "smaller"


def test_what_does_not_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that does not fail as requested is an error; so are wrong arguments."""
    path = write(tmp_path, "right.py", RIGHT)
    status, _, printed = run(capsys, path, "--check", "error:no-such")
    assert status == 1
    assert "does not fail so" in printed
    assert run(capsys, path, "--check", "reference")[0] == 2
    assert run(capsys, path, "--check", "nonsense")[0] == 2


def test_a_difference_of_the_compiled_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A difference between the compiled program and the interpreter is kept."""
    from pypto._src.commands import reduce as command

    compile_program = command.compile_program

    def miscompiled(program: Any, target: str = "cpu", **words: Any) -> Any:
        compiled = compile_program(program, "interpreter", **words)
        if target == "interpreter" or "row_sum" not in str(program):
            return compiled

        def run(x: Any, out: Any) -> None:
            compiled(x, out)
            out[3] += 1

        return run

    monkeypatch.setattr(command, "compile_program", miscompiled)
    path = write(tmp_path, "right.py", RIGHT)
    assert run(capsys, path, "--check", "native")[0] == 0
    small = (tmp_path / "right.reduced.py").read_text()
    assert "pl.row_sum(" in small
    assert "pl.row_max(" not in small
