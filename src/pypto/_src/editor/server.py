"""The language server itself: open files, and messages of the editor.

Needs pygls, which the extra ``pypto[editor]`` brings. A file is analysed in a thread, a moment
after its last change; what is published always belongs to the newest text analysed.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from pathlib import Path
from typing import Final

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from pypto._src.diagnostics import Diagnostic, DiagnosticSeverity
from pypto._src.editor.analysis import Analyser, Hint
from pypto._version import __version__

DELAY_S: Final = 0.3
"""Seconds from the last change of a file to its analysis."""


class Server:
    """The files that are open in one editor."""

    def __init__(self) -> None:
        self.protocol = LanguageServer("pypto", __version__)
        self._pending: dict[str, asyncio.Task[None]] = {}
        self._hints: dict[str, tuple[list[str], list[Hint]]] = {}
        self._analysers: dict[str, Analyser] = {}
        self._lock = asyncio.Lock()  # one file at a time: two threads are no faster
        self._register()

    def serve(self) -> None:
        """Serve an editor on the standard streams until it says that it is done."""
        out = sys.stdout.buffer
        sys.stdout = sys.stderr  # what a file prints must not mix with messages
        self.protocol.start_io(sys.stdin.buffer, out)

    def _register(self) -> None:
        """Register handlers, as functions: pygls sets attributes on them, and methods take none."""
        feature = self.protocol.feature

        @feature(types.TEXT_DOCUMENT_DID_OPEN)
        def opened(params: types.DidOpenTextDocumentParams) -> None:
            self._schedule(params.text_document.uri, 0)

        @feature(types.TEXT_DOCUMENT_DID_CHANGE)
        def changed(params: types.DidChangeTextDocumentParams) -> None:
            self._schedule(params.text_document.uri, DELAY_S)

        @feature(types.TEXT_DOCUMENT_DID_CLOSE)
        def closed(params: types.DidCloseTextDocumentParams) -> None:
            self._close(params.text_document.uri)

        @feature(types.TEXT_DOCUMENT_INLAY_HINT)
        def inlay_hints(params: types.InlayHintParams) -> list[types.InlayHint]:
            return self._inlay_hints(params)

        _ = opened, changed, closed, inlay_hints  # registered with pygls

    def _close(self, uri: str) -> None:
        if uri in self._pending:
            self._pending.pop(uri).cancel()
        self._hints.pop(uri, None)
        self._analysers.pop(uri, None)
        self.protocol.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _schedule(self, uri: str, delay: float) -> None:
        if uri in self._pending:
            self._pending[uri].cancel()
        self._pending[uri] = asyncio.get_running_loop().create_task(self._analyse(uri, delay))

    async def _analyse(self, uri: str, delay: float) -> None:
        await asyncio.sleep(delay)
        async with self._lock:
            document = self.protocol.workspace.get_text_document(uri)
            text, version = document.source, document.version
            name = to_fs_path(uri) or uri
            folder = str(Path(name).parent)
            if folder not in sys.path:
                sys.path.insert(0, folder)  # as Python does for a script
            try:
                analyser = self._analysers.setdefault(uri, Analyser(name))
                found = await asyncio.to_thread(analyser.analyse, text)
            except Exception:  # an error of PyPTO itself: the editor goes on
                logging.getLogger(__name__).exception("cannot analyse %s", name)
                return
        lines = text.splitlines()
        self.protocol.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(
                uri, [_diagnostic(each, lines) for each in found.findings], version
            )
        )
        if found.hints is not None:
            self._hints[uri] = (lines, found.hints)
            workspace = self.protocol.client_capabilities.workspace
            if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
                self.protocol.workspace_inlay_hint_refresh(None)

    def _inlay_hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """Return the newest hints of lines that have not changed since."""
        uri = params.text_document.uri
        lines, hints = self._hints.get(uri, ([], []))
        now = self.protocol.workspace.get_text_document(uri).source.splitlines()
        first, last = params.range.start.line, params.range.end.line
        return [
            types.InlayHint(
                _position(now, hint.line, hint.column), hint.text, types.InlayHintKind.Type
            )
            for hint in hints
            if first <= hint.line <= last and now[hint.line : hint.line + 1] == [lines[hint.line]]
        ]


def _position(lines: list[str], line: int, column: int) -> types.Position:
    """Return a position as editors count: in UTF-16 code units."""
    before = lines[line][:column] if line < len(lines) else ""
    return types.Position(line, len(before.encode("utf-16-le")) // 2)


def _diagnostic(found: Diagnostic, lines: list[str]) -> types.Diagnostic:
    span = found.span
    line = min(max(span.begin_line - 1, 0), max(len(lines) - 1, 0))
    text = lines[line] if lines else ""
    begin = span.begin_column if span.begin_column >= 0 else len(text) - len(text.lstrip())
    last, end = span.end_line - 1, span.end_column
    if not (line <= last < len(lines) and end >= 0) or (last, end) <= (line, begin):
        last, end = line, max(len(text), begin + 1)
    is_error = found.severity is DiagnosticSeverity.Error
    severity = types.DiagnosticSeverity.Error if is_error else types.DiagnosticSeverity.Warning
    hint = f"\nhint: {found.hint}" if found.hint else ""
    return types.Diagnostic(
        types.Range(_position(lines, line, begin), _position(lines, last, end)),
        f"{found.message}{hint}",
        severity=severity,
        code=found.rule_name,
        source="pypto",
    )
