"""A sample of `tests.emit.mutants`: every change of what emitters write is detected."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.emit.mutants import SOURCE, mutants

ROOT = Path(__file__).parents[2]
COUNT = 20
FOLDERS = ["pto/forms", "cpp/forms"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="mutants are judged in forked processes")
def test_mutants_are_noticed() -> None:
    """Changed instructions, attributes, types, brackets and operand orders: each fails a text."""
    command = [sys.executable, "-m", "tests.emit.mutants", str(COUNT), *FOLDERS]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    counts = [line.split() for line in done.stdout.splitlines()]
    assert [words[0] for words in counts] == ["name:", "order:", "text:"]
    assert all(words[1] == words[3] for words in counts)
    assert sum(int(words[3]) for words in counts) == COUNT


def test_words_of_errors_are_no_mutants() -> None:
    """Arguments that a function gets only for its errors are in no text; its others are."""
    text = (SOURCE / "emit/cpp/calls.py").read_text(encoding="utf-8").splitlines()
    said = next(
        at for at, line in enumerate(text, 1) if 'constant_sizes(shape, "a region")' in line
    )
    found = {mutant.line for mutant in mutants() if mutant.file == "emit/cpp/calls.py"}
    assert said not in found
    assert len(found) > 10
