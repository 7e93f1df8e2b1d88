"""`pypto language-server`, driven over its standard streams as an editor would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pypto._src.checks import check_program
from pypto._src.editor import analysis
from pypto._src.editor.definitions import definitions

SRC = Path(__file__).parents[2] / "src"
KERNEL = """\
import pypto.language as pl

print("this must not reach the editor")
ROWS = 64


@pl.jit
def half(x: pl.Tensor[[ROWS, 32], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, 32], pl.FP32]]):
    with pl.incore():
        tile = pl.load(x, [0, 0], [32, 32])
        out = pl.store(pl.exp(tile), [0, 0], [32, 32], out)
    return out


half(open("removed", "w"))
"""
MESSAGE = "output 'out' of half is written in part only: nothing writes 32:64 in dimension 0"


class Client:
    """An editor with one open file."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "pypto", "language-server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(SRC)},
        )
        self.uri = (folder / "kernel.py").as_uri()
        self.version = 0
        self.asked = 0
        self.ask("initialize", {"processId": None, "rootUri": None, "capabilities": {}})
        self.send({"method": "initialized", "params": {}})

    def send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def received(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        size = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name == b"Content-Length" else size
        assert size, "the server has ended"
        return json.loads(self.process.stdout.read(size))

    def ask(self, method: str, params: Any) -> Any:
        """Return the result of a request."""
        self.asked += 1
        self.send({"id": self.asked, "method": method, "params": params})
        while (message := self.received()).get("id") != self.asked:
            pass
        assert "error" not in message, message
        return message["result"]

    def findings(self) -> list[dict[str, Any]]:
        """Return what is published for the newest text."""
        while True:
            message = self.received()
            published = message.get("params", {})
            is_new = published.get("version") == self.version
            if message.get("method") == "textDocument/publishDiagnostics" and is_new:
                return published["diagnostics"]

    def opened(self, text: str) -> list[dict[str, Any]]:
        """Open the file; return its findings."""
        self.version = 1
        document = {"uri": self.uri, "languageId": "python", "version": 1, "text": text}
        self.send({"method": "textDocument/didOpen", "params": {"textDocument": document}})
        return self.findings()

    def typed(self, *texts: str) -> list[dict[str, Any]]:
        """Change the file, to each text in turn; return the findings of the last."""
        for text in texts:
            self.version += 1
            document = {"uri": self.uri, "version": self.version}
            params = {"textDocument": document, "contentChanges": [{"text": text}]}
            self.send({"method": "textDocument/didChange", "params": params})
        return self.findings()

    def hints(self) -> dict[int, str]:
        """Return the inlay hints by line."""
        whole = {"start": {"line": 0, "character": 0}, "end": {"line": 999, "character": 0}}
        params = {"textDocument": {"uri": self.uri}, "range": whole}
        found = self.ask("textDocument/inlayHint", params)
        return {each["position"]["line"]: each["label"] for each in found}


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    made = Client(tmp_path)
    yield made
    made.ask("shutdown", None)
    made.send({"method": "exit"})
    made.process.communicate(timeout=60)
    assert made.process.returncode == 0
    assert not (tmp_path / "removed").exists(), "a call of the file was executed"


def test_session(client: Client) -> None:
    """Findings follow the text, also through texts that are not Python; so do shapes of tiles."""
    [found] = client.opened(KERNEL)
    assert found["message"] == f"{MESSAGE}\nhint: write out: pl.InOut[...]"
    assert found["source"] == "pypto"
    assert found["code"] == "out-partly-written"
    assert found["severity"] == 2
    assert found["range"]["start"]["line"] == 7
    column = found["range"]["start"]["character"]
    assert KERNEL.splitlines()[7][column:].startswith("out: pl.Out")
    assert client.hints() == {9: ": [32, 32] FP32", 10: ": [64, 32] FP32 tensor"}

    half_typed = KERNEL.replace("pl.exp(tile)", "pl.exp(")
    [broken] = client.typed(*(half_typed[:length] for length in (80, 200)), half_typed)
    assert broken["message"].startswith("SyntaxError: ")
    assert client.hints() == {9: ": [32, 32] FP32"}  # of the unchanged line

    [misspelt] = client.typed(KERNEL.replace("pl.exp(tile)", "pl.exp(tilee)"))
    assert misspelt["message"] == "'tilee' is not defined\nhint: did you mean tile?"
    assert misspelt["severity"] == 1

    whole = KERNEL.replace("32, 32]", "64, 32]")
    assert client.typed(whole) == []
    assert client.hints() == {9: ": [64, 32] FP32", 10: ": [64, 32] FP32 tensor"}


def test_columns_are_of_utf16(client: Client) -> None:
    """A column after letters that take two UTF-16 units is counted as editors count it."""
    before = 'NAME = "\N{GRINNING FACE}"; '
    [found] = client.opened(f"{before}X = 1 // 0\n")
    column = len(before.encode("utf-16-le")) // 2
    assert column == len(before) + 1
    assert found["range"]["start"] == {"line": 0, "character": column}


FILE = "/kernels/kernel.py"


def messages(text: str) -> list[str]:
    return [found.message for found in analysis.Analyser(FILE).analyse(text).findings]


def test_nothing_runs_but_definitions() -> None:
    """Calls, loops and main guards are not executed; names that they define are unknown."""
    text = """\
import os
import pypto.language as pl
from pypto.language import dynamic as named
M = named("M")
N = 2 * 3
at = os.getcwd()
for i in range(3):
    last = i
with open("x") as f:
    lines = f.read()
if N > 5:
    BIG = True
if __name__ == "__main__":
    raise SystemExit
class Plain:
    made = os.getcwd()
def helper(n):
    return n * N
"""
    found = definitions(text, FILE)
    assert found.findings == []
    assert {"M", "N", "BIG", "helper"} < found.names.keys()
    assert found.unknown == {"at", "i", "last", "f", "lines", "Plain"}


def test_names_that_only_a_run_knows() -> None:
    """A kernel that reads such a name has no finding because of it."""
    text = KERNEL.replace("ROWS = 64", "ROWS = int(input())")
    assert messages(text) == []


def test_failures_have_their_line() -> None:
    """A statement that fails is a finding; kernels that do not need it are still checked."""
    text = "import no_such_module\nX = 1 // 0\n" + KERNEL
    first, second, third = analysis.Analyser(FILE).analyse(text).findings
    assert first.message == "ModuleNotFoundError: No module named 'no_such_module'"
    assert (second.message, second.span.begin_line) == (
        "ZeroDivisionError: integer division or modulo by zero",
        2,
    )
    assert third.message == MESSAGE


def test_programs_and_functions() -> None:
    """Programs, and functions outside them, are checked as well; incomplete text never raises."""
    text = """\
import pypto.language as pl


@pl.program
class Half:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]):
        tile = pl.load(x, [0, 0], [32, 32])
        out = pl.store(tile, [0, 0], [32, 32], out)
        return out


@pl.function(type=pl.FunctionType.InCore)
def alone(x: pl.Tensor[[64, 32], pl.FP32], out: pl.Out[pl.Tensor[[64, 32], pl.FP32]]):
    tile = pl.load(x, [0, 0], [64, 32])
    spare = pl.exp(tile)
    out = pl.store(tile, [0, 0], [64, 32], out)
    return out
"""
    found = analysis.Analyser(FILE).analyse(text)
    assert [each.span.begin_line for each in found.findings] == [7, 16]
    assert found.hints is not None
    assert [hint.line for hint in found.hints] == [7, 8, 14, 15, 16]
    analyser = analysis.Analyser(FILE)
    for length in range(0, len(text), 37):
        analyser.analyse(text[:length])


def test_programs_that_have_not_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edits above a program move its findings without a new check; an edit inside is checked."""
    checked: list[str] = []

    def check(program: Any) -> Any:
        checked.append(program.name)
        return check_program(program)

    monkeypatch.setattr(analysis, "check_program", check)
    analyser = analysis.Analyser(FILE)
    texts = [KERNEL, "\n\n" + KERNEL, KERNEL, KERNEL.replace("32, 32]", "16, 32]")]
    texts.append(KERNEL.replace("        tile =", "\n        tile ="))
    for text in texts:
        found, anew = analyser.analyse(text), analysis.Analyser(FILE).analyse(text)
        assert found.hints == anew.hints
        for one, other in zip(found.findings, anew.findings, strict=True):
            assert (one.message, str(one.span)) == (other.message, str(other.span))
    # Each is checked by the new analyser, and by the other if it differs from the previous one.
    assert len(checked) == len(texts) + 3
