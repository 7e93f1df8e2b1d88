"""What a terminal shows while something takes long."""

from __future__ import annotations

import io
import re
import threading

import pytest

from pypto._src.run import progress
from pypto._src.run.progress import Progress


class Terminal(io.StringIO):
    """Records the text that was written, and whether any has arrived."""

    def __init__(self) -> None:
        super().__init__()
        self.wrote = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        self.wrote.set()
        return done


def test_terminal_shows_what_is_built_and_is_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line names what is done and in progress; nothing of it remains."""
    monkeypatch.setattr(progress, "_AFTER_S", 0.0)
    shown, terminal = Progress("compiling kernels", 3), Terminal()
    with shown.part("done"):
        pass
    with shown.part("q_proj"), shown.part("k_proj"), shown.shown(terminal):
        assert terminal.wrote.wait(10)
    text = terminal.getvalue()
    assert re.match(r"\rcompiling kernels 1 of 3, 0 s: q_proj, k_proj\r? *", text)
    assert text.endswith("\r")
    assert not text.split("\r")[-2].strip()


def test_quick_work_shows_nothing() -> None:
    """Nothing is shown in the first second."""
    terminal = Terminal()
    with Progress("compiling kernels", 1).shown(terminal):
        pass
    assert not terminal.getvalue()


def test_the_outermost_work_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested work is not shown; the next top-level work has the line again."""
    monkeypatch.setattr(progress, "_AFTER_S", 0.0)
    outer, inner = Terminal(), Terminal()
    demo, kernels = Progress("running examples", 2), Progress("compiling kernels", 1)
    with demo.part("softmax"), demo.shown(outer), kernels.shown(inner):
        assert outer.wrote.wait(10)
    assert outer.getvalue().startswith("\rrunning examples 0 of 2, 0 s: softmax")
    assert not inner.getvalue()
    with kernels.part("softmax"), kernels.shown(inner):
        assert inner.wrote.wait(10)


def test_files_get_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not a terminal gets no progress output: other programs read it."""
    monkeypatch.setattr(progress, "_AFTER_S", 0.0)
    file = io.StringIO()
    with Progress("compiling kernels", 1).shown(file):
        pass
    assert not file.getvalue()
