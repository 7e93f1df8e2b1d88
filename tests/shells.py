"""Shells on a terminal: what is typed, Tab after it, and the resulting command line."""

from __future__ import annotations

import contextlib
import os
import select
from pathlib import Path
from typing import Final

START: Final = {
    "bash": ["bash", "--noprofile", "--norc", "-i"],
    "zsh": ["zsh", "-f", "-i"],
}
SETUP: Final = {
    "bash": "",
    "zsh": "zstyle ':completion:*' insert-tab false; autoload -Uz compinit; compinit -u -D; ",
}
"""Setup commands that a shell needs before it can complete words."""

CASES: Final = [
    ("pypto doc", "doctor"),
    ("pypto doctor --j", "doctor --json"),
    ("pypto run kernel.py --targ", "run kernel.py --target"),
    ("pypto run kernel.py --target inter", "run kernel.py --target interpreter"),
    ("pypto show ker", "show kernel.py"),
    ("pypto show kernel.py orch", "show kernel.py orchestration"),
]
"""What is typed in a folder with a file kernel.py, and the words that the command then gets."""


def completed(shell: str, script: str, folder: Path) -> list[str]:
    """Return what the command gets for each line of `CASES`, with Tab at its end.

    ``script`` is a command of the shell that defines the completion. The program itself is a
    function that prints its arguments.
    """
    (folder / "kernel.py").touch()
    stand_in = 'pypto() { echo "$*" >> said; }'
    typed = [f"{SETUP[shell]}{script}; {stand_in}", *(f"{words}\t" for words, _ in CASES)]
    type_in(START[shell], typed, folder)
    return (folder / "said").read_text(encoding="utf-8").splitlines()


def type_in(command: list[str], lines: list[str], folder: Path) -> None:
    """Type lines on a terminal in which a shell runs, each when the shell prompts for one."""
    import pty

    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update(TERM="dumb", HOME=str(folder), PS1="READY> ")
        os.execvp(command[0], command)
    try:
        for line in [*lines, "exit"]:
            said = b""
            while b"READY> " not in said:
                assert select.select([terminal], [], [], 60.0)[0], said
                said += os.read(terminal, 1 << 16)
            os.write(terminal, f"{line}\n".encode())
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while os.read(terminal, 1 << 16):
                pass
    finally:
        os.close(terminal)
        os.waitpid(process, 0)
