"""Every environment variable that PyPTO reads, one row each in `KNOBS`.

A knob is read on each use, so a change takes effect at once; an empty value counts as unset.
The module knows which values a variable may have, not what they do. It is imported everywhere, so
it stays light: no ``typing`` and no ``pathlib`` until a value needs them.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_FLAGS = {
    "0": False,
    "1": True,
    "false": False,
    "true": True,
    "no": False,
    "yes": True,
    "off": False,
    "on": True,
}


class KnobError(ValueError):
    """A variable has a value that it cannot have: ``PYPTO_NUM_THREADS=many``."""


class Knob:
    """One environment variable: the values it takes, its default, its meaning."""

    def __init__(self, name: str, wants: str, unset: str, meaning: str) -> None:
        self.name = name
        self.wants = wants
        self.unset = unset
        self.meaning = meaning

    def text(self) -> str | None:
        """Return the value as written, without surrounding space; None when unset or empty."""
        return os.environ.get(self.name, "").strip() or None

    def error(self, found: str) -> KnobError:
        """Return the error for a value that this knob cannot have."""
        return KnobError(f"{self.name} is {found!r}; it takes {self.wants}")


class Text(Knob):
    """A knob whose value is taken as it is."""

    def get(self) -> str | None:
        """Return the value, or None when unset."""
        return self.text()


class Choice(Knob):
    """A knob with a few words as values, in any case; the first word is the default."""

    def __init__(self, name: str, words: tuple[str, ...], meaning: str) -> None:
        super().__init__(name, " or ".join(words), words[0], meaning)
        self.words = words

    def get(self) -> str:
        """Return one of ``words``; raise `KnobError` for any other value."""
        found = self.text() or self.unset
        if found.lower() not in self.words:
            raise self.error(found)
        return found.lower()


class Flag(Knob):
    """A knob that is on or off; off when unset."""

    def __init__(self, name: str, meaning: str) -> None:
        super().__init__(name, "0 or 1 (also no/yes, off/on, false/true)", "0", meaning)

    def get(self) -> bool:
        """Return whether the knob is on; raise `KnobError` for anything but a truth value."""
        found = self.text() or self.unset
        if found.lower() not in _FLAGS:
            raise self.error(found)
        return _FLAGS[found.lower()]


class Count(Knob):
    """A knob that counts things."""

    def get(self) -> int | None:
        """Return an integer of 1 or more, or None when unset; raise `KnobError` otherwise."""
        found = self.text()
        if found is None:
            return None
        if not (found.isascii() and found.isdigit() and int(found) > 0):
            raise self.error(found)
        return int(found)


class Directory(Knob):
    """A knob that names a directory, which need not exist yet; unset is the user's cache."""

    def get(self) -> Path:
        """Return an absolute path; raise `KnobError` when its home directory is not known."""
        from pathlib import Path

        found = self.text() or _user_cache()
        path = os.path.expanduser(found)  # noqa: PTH111  Path.expanduser raises RuntimeError
        if path.startswith("~"):
            what = f"{self.name} is {found!r}, and that home directory is not known"
            raise KnobError(f"{what}; it takes {self.wants}")
        return Path(path).absolute()


def _user_cache() -> str:
    """Return the platform's location for a user's PyPTO cache; may start with ``~``."""
    local = os.environ.get("LOCALAPPDATA", "")
    if sys.platform == "win32" and local:
        return f"{local}\\pypto"
    if sys.platform == "darwin":
        return "~/Library/Caches/pypto"
    xdg = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG standard says that a relative path is to be ignored.
    return f"{xdg}/pypto" if xdg.startswith("/") else "~/.cache/pypto"


CXX = Text(
    "PYPTO_CXX",
    "a C++17 compiler command",
    "the first that works",
    "compiler for running kernels on the CPU, with arguments if any: ccache g++",
)
CACHE_DIR = Directory(
    "PYPTO_CACHE_DIR",
    "the path of a directory",
    "pypto in the user's cache directory",
    "where compiled kernels are kept",
)
NUM_THREADS = Count(
    "PYPTO_NUM_THREADS",
    "an integer of 1 or more",
    "as many as the CPU has",
    "how many threads run the kernels of an orchestration",
)
RANK_SEED = Count(
    "PYPTO_RANK_SEED",
    "an integer of 1 or more",
    "ranks run at the same time",
    "let the ranks of a program take turns, in an order that the number gives",
)
MAX_SPECIALISATIONS = Count(
    "PYPTO_MAX_SPECIALISATIONS",
    "an integer of 1 or more",
    "1024",
    "how many specialisations of pl.jit kernels a process keeps",
)
SANITIZE = Choice(
    "PYPTO_SANITIZE",
    ("none", "address,undefined", "thread", "poison"),
    "build with these sanitizers, whose runtime Python must have been started with; poison needs "
    "none: uninitialized memory is NaN",
)
VERIFY_LEVEL = Choice(
    "PYPTO_VERIFY_LEVEL", ("basic", "none"), "what is verified between compiler passes"
)
DEBUG = Flag("PYPTO_DEBUG", "check more and say more, at the price of speed")
BACKTRACE = Choice(
    "PTO_BACKTRACE", ("0", "1"), "1 adds the Python traceback below a kernel's error report"
)
PTOAS = Text(
    "PTOAS",
    "the path of the PTO assembler",
    "ptoas in PTOAS_ROOT or on PATH",
    "assembler that turns PTO text into C++",
)
PTOAS_ROOT = Text(
    "PTOAS_ROOT", "the path of a directory", "PATH", "where the PTO assembler is installed"
)

KNOBS: tuple[Knob, ...] = (
    CXX,
    CACHE_DIR,
    NUM_THREADS,
    RANK_SEED,
    MAX_SPECIALISATIONS,
    SANITIZE,
    VERIFY_LEVEL,
    DEBUG,
    BACKTRACE,
    PTOAS,
    PTOAS_ROOT,
)
