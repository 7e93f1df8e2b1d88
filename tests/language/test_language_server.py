"""What an editor shows for kernels, as reported by Pyright's language server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

SRC = Path(__file__).parents[2] / "src"
SERVER = "import sys; from pyright.langserver import entrypoint; sys.exit(entrypoint())"
SETTINGS = {
    "python": {"pythonPath": sys.executable},
    "python.analysis": {"extraPaths": [str(SRC)], "diagnosticMode": "openFilesOnly"},
}
TEXT = """\
import pypto.language as pl


@pl.jit
def kernel(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Out[pl.Tensor[[64, 64], pl.FP32]]):
    tile = pl.load(x, [0, 0], [64, 64])
    largest = pl.row_max(tile)
    pl.row_
    tile.s
    pl.MemorySpace.
    pl.block.
    pl.tensor.
    pl.store(
"""


class Server:
    """A language server in which one file is open."""

    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", SERVER, "--", "--stdio"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
        )
        self._asked = 0
        path = folder / "kernel.py"
        path.write_text(TEXT, encoding="utf-8")
        self.file = path.as_uri()
        root = {"uri": folder.as_uri(), "name": "kernels"}
        formats = {"contentFormat": ["plaintext"]}
        texts = {"hover": formats, "completion": {"completionItem": {"snippetSupport": False}}}
        capabilities = {"workspace": {"configuration": True}, "textDocument": texts}
        self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": root["uri"],
                "workspaceFolders": [root],
                "capabilities": capabilities,
            },
        )
        self._send({"method": "initialized", "params": {}})
        opened = {"uri": self.file, "languageId": "python", "version": 1, "text": TEXT}
        self._send({"method": "textDocument/didOpen", "params": {"textDocument": opened}})

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def _received(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        size = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            size = int(value) if name == b"Content-Length" else size
        assert size, "the server has ended"
        return json.loads(self._process.stdout.read(size))

    def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """Return the result of a request; the server's own requests meanwhile are answered."""
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while True:
            message = self._received()
            if message.get("method") == "workspace/configuration":
                wanted = [item.get("section") for item in message["params"]["items"]]
                found = [SETTINGS.get(section, {}) for section in wanted]
                self._send({"id": message["id"], "result": found})
            elif "method" in message and "id" in message:
                self._send({"id": message["id"], "result": None})
            elif message.get("id") == self._asked:
                assert "error" not in message, message
                return message["result"]

    def at(self, feature: str, behind: str) -> Any:
        """Return the server's result for the position right after a text of the file."""
        before, found, _ = TEXT.partition(behind)
        assert found
        lines = (before + found).split("\n")
        position = {"line": len(lines) - 1, "character": len(lines[-1])}
        return self.ask(
            f"textDocument/{feature}", {"textDocument": {"uri": self.file}, "position": position}
        )

    def close(self) -> None:
        self.ask("shutdown", {})
        self._send({"method": "exit"})
        self._process.communicate(timeout=60)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = Server(tmp_path_factory.mktemp("editor"))
    yield started
    started.close()


def completions(server: Server, behind: str) -> list[str]:
    found = server.at("completion", behind)
    return [item["label"] for item in found["items"]]


def test_completions(server: Server) -> None:
    """After a dot, the operators, the methods of a tile, and the members of an enum are offered."""
    operators = completions(server, "    pl.row_\n"[:-1])
    assert {"row_max", "row_sum", "row_expand_sub"} <= set(operators)
    assert {"Vec", "Mat", "Left", "Right", "Acc"} <= set(completions(server, "pl.MemorySpace."))
    for name in ("block", "tensor"):
        assert {"add", "mul", "exp"} <= set(completions(server, f"pl.{name}."))
    assert "shape" in completions(server, "    tile.s")


def test_hover(server: Server) -> None:
    """Hovering shows the signature and what the operator does."""
    text = server.at("hover", "pl.row_ma")["contents"]["value"]
    assert "row_max(" in text
    assert "Return the largest element of each row" in text
    tile = server.at("hover", "    til")["contents"]["value"]
    assert "tile: Tile" in tile


def test_signature(server: Server) -> None:
    """After a parenthesis, the parameters are shown."""
    found = server.at("signatureHelp", "    pl.store(")
    labels = [each["label"] for each in found["signatures"]]
    assert any("offsets" in label and "output_tensor" in label for label in labels), labels
