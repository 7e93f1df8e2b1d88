"""What all kernels include, compiled once: a precompiled header for each toolchain.

With it goes an object of the functions that are the same in every kernel: the header only declares
them, so that no kernel compiles them again, which took two fifths of a small one's time.

Owns which includes are worth it, where header and object lie in the cache, and when they are made:
beside the first source that has them, which does not wait for them. Nothing depends on them: a
source that fails with them is compiled again without, and does the same. Knows a source by the
lines that it begins with.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pypto._src.records import NamedTuple
from pypto._src.run.objects.entries import is_verified, publish
from pypto._src.run.objects.ownership import make_private, why_not_trusted
from pypto._src.run.shield import Abandoned, adopt, current
from pypto._src.run.toolchain import Finished, Kind, run

PRELUDES: Final[dict[tuple[str, ...], str]] = {
    ("<cstdint>", "<pto/pto-inst.hpp>"): "kernel.hpp",
    ("<stddef.h>", "<stdint.h>", '"pto_orchestration_api.h"'): "host.hpp",
}
"""What kernels and host functions include first, and the name of the header that stands for it."""

_AHEAD: Final = {"kernel.hpp": ("PTO_COMPILED_AHEAD", "PTO_COMPILES_AHEAD")}
"""Headers with functions to be compiled ahead: what leaves them out, and what makes an object of
them (config.hpp)."""

_INCLUDE: Final = re.compile(r"#include ([<\"]\S+[>\"])")
_SUFFIXES: Final[dict[Kind, str]] = {"gcc": ".gch", "clang": ".pch"}
"""A compiled header stands beside its text under these names; ``-include`` of the text finds it."""

_PORTABLE: Final[dict[Kind, tuple[str, ...]]] = {"clang": ("-Xclang", "-fno-pch-timestamp")}
"""The folder's name has the hash of all texts, so that their times do not matter."""

# GCC keeps no pragmas in such a header. An always_inline function that is not inline is meant so.
_QUIET: Final[dict[Kind, tuple[str, ...]]] = {"gcc": ("-Wno-attributes", "-Wno-psabi")}
_OBJECT: Final = "ahead.o"
_UNUSED_AFTER_S: Final = 7 * 24 * 3600.0


class Compilation(NamedTuple):
    """A C++ source that is about to be compiled."""

    kind: Kind
    command: tuple[str, ...]
    flags: tuple[str, ...]
    source: Path
    output: Path
    work: Path
    """A directory for files that nobody else looks at."""
    timeout_s: float

    @property
    def line(self) -> tuple[str, ...]:
        """The command line, without a precompiled header."""
        return (*self.command, *self.flags, str(self.source), "-o", str(self.output))

    def run(self, line: Sequence[str]) -> Finished:
        """Run a compiler whose own temporary files go to ``work``."""
        return run(line, timeout_s=self.timeout_s, environment={"TMPDIR": str(self.work)})


def prelude(source: str) -> tuple[str, ...]:
    """Return what a source includes before it says anything else."""
    found: list[str] = []
    for line in source.splitlines():
        text = line.strip()
        if not text or text.startswith("//"):
            continue
        match = _INCLUDE.fullmatch(text)
        if match is None:
            break
        found.append(match[1])
    return tuple(found)


class Headers:
    """The precompiled headers of one folder, as far as this process knows them."""

    def __init__(self, folder: Path, root: Path) -> None:
        """Look at a folder that is named by all that its headers depend on.

        Args:
            folder: Where they are or will be; ``root`` or a directory below.
            root: What is above it may be written by others as far as `why_not_trusted` allows.
        """
        self._folder, self._root = folder, root
        self._lock = threading.Lock()
        self._verified: set[Path] = set()
        self._taken: set[Path] = set()
        """Those that a thread makes, or that cannot be made or used."""

    def compile(self, given: Compilation, includes: tuple[str, ...]) -> Finished:
        """Compile a source that begins with ``includes``, with the header if it is there.

        One that is not there is made meanwhile, by the first thread that wants it.
        """
        name, suffix = PRELUDES.get(includes), _SUFFIXES.get(given.kind)
        if name is None or suffix is None:
            return given.run(given.line)
        entry = self._folder / (name + suffix)
        if self._is_usable(entry):
            quiet = _QUIET.get(given.kind, ())
            ahead = (*quiet, "-include", str(self._folder / name))
            source, *output = given.line[-3:]
            objects = [str(self._folder / _OBJECT)] if name in _AHEAD else []
            done = given.run((*given.line[:-3], *ahead, source, *objects, *output))
            if done.code in (0, None):
                return done
            # Whether the header or the source is to blame, what is said of the source alone counts.
            done = given.run(given.line)
            if done.code == 0:
                self._give_up(entry)
            return done
        if not self._take(entry):
            return given.run(given.line)
        shield = current()

        def make() -> None:
            adopt(shield)
            with contextlib.suppress(OSError, Abandoned):
                self._make(self._folder / name, entry, includes, given)

        thread = threading.Thread(target=make, name="pypto-precompile", daemon=True)
        thread.start()
        try:
            return given.run(given.line)
        finally:
            thread.join()

    def _is_usable(self, entry: Path) -> bool:
        if entry in self._taken:
            return False
        if entry not in self._verified:
            try:
                trusted = why_not_trusted(entry.parent, self._root) is None
            except OSError:  # there is no such folder
                return False
            files = [entry, entry.parent / _OBJECT] if entry.stem in _AHEAD else [entry]
            if not trusted or not all(map(is_verified, files)):
                return False
            with contextlib.suppress(OSError):
                os.utime(entry.parent)  # it is in use
            self._verified.add(entry)
        return entry.exists()

    def _take(self, entry: Path) -> bool:
        with self._lock:
            is_first = entry not in self._taken
            self._taken.add(entry)
        return is_first

    def _give_up(self, entry: Path) -> None:
        with self._lock:
            self._taken.add(entry)

    def _make(self, header: Path, entry: Path, includes: Sequence[str], given: Compilation) -> None:
        """Compile a header and its object; if that is interrupted, the next one tries again."""
        done = None
        try:
            make_private(header.parent)
            includes_text = "".join(f"#include {name}\n" for name in includes)
            declared, defined = _AHEAD.get(header.name, ("", ""))
            draft, built = given.work / header.name, given.work / entry.name
            draft.write_text(_define(declared) + includes_text, encoding="ascii")
            draft.chmod(0o600)
            draft.replace(header)
            command = (*given.command, *(flag for flag in given.flags if flag != "-shared"))
            portable = _PORTABLE.get(given.kind, ())
            done = given.run(
                [*command, *portable, *("-x", "c++-header", str(header), "-o", str(built))]
            )
            if done.code == 0 and defined:
                source, built_object = given.work / "ahead.cpp", given.work / _OBJECT
                source.write_text(_define(defined) + includes_text, encoding="ascii")
                done = given.run([*command, "-c", str(source), "-o", str(built_object)])
                if done.code == 0:
                    publish(built_object, header.parent / _OBJECT)
            if done.code == 0:
                publish(built, entry)
                _remove_unused(header.parent)
        finally:
            if done is None or done.code == 0:
                with self._lock:
                    self._taken.discard(entry)


def _define(macro: str) -> str:
    return f"#define {macro}\n" if macro else ""


def _remove_unused(folder: Path) -> None:
    """Remove the folders beside this one that nobody used for long: of older headers, say."""
    oldest = time.time() - _UNUSED_AFTER_S
    for other in folder.parent.iterdir():
        with contextlib.suppress(OSError):
            if other != folder and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
