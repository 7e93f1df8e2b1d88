"""The includes that all kernels share, compiled once: a precompiled header for each toolchain.

An object beside it has the functions that are the same in every kernel: the header only declares
them, so that no kernel compiles them again, which took two fifths of a small one's time.

Owns which includes are worth it, where header and object are in the cache, and when they are built:
in parallel with the first source that includes them, which is compiled without. They are optional:
a source that fails with them is compiled again without them, to the same effect. Recognises a
source by its first lines.
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
"""The first includes of kernels and host functions, and the name of the header for them."""

_AHEAD: Final = {"kernel.hpp": ("PTO_COMPILED_AHEAD", "PTO_COMPILES_AHEAD")}
"""Headers with functions to be compiled ahead: the macro that leaves them out, and the one that
defines them for an object (config.hpp)."""

_INCLUDE: Final = re.compile(r"#include ([<\"]\S+[>\"])")
_SUFFIXES: Final[dict[Kind, str]] = {"gcc": ".gch", "clang": ".pch"}
"""Suffixes of compiled headers, which are beside their texts: ``-include`` finds them there."""

_PORTABLE: Final[dict[Kind, tuple[str, ...]]] = {"clang": ("-Xclang", "-fno-pch-timestamp")}
"""The folder's name has the hash of all texts, so timestamps do not matter."""

# GCC drops pragmas from such a header. Functions are always_inline without inline on purpose.
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
    """A private directory for temporary files."""
    timeout_s: float

    @property
    def line(self) -> tuple[str, ...]:
        """The command line, without a precompiled header."""
        return (*self.command, *self.flags, str(self.source), "-o", str(self.output))

    def run(self, line: Sequence[str]) -> Finished:
        """Run a compiler whose own temporary files go to ``work``."""
        return run(line, timeout_s=self.timeout_s, environment={"TMPDIR": str(self.work)})


def prelude(source: str) -> tuple[str, ...]:
    """Return the includes at the beginning of a source."""
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
        """Use a folder whose name identifies all that its headers depend on.

        Args:
            folder: Where they are or will be; ``root`` or a directory below.
            root: Directories above it may be writable by others as far as `why_not_trusted` allows.
        """
        self._folder, self._root = folder, root
        self._lock = threading.Lock()
        self._verified: set[Path] = set()
        self._taken: set[Path] = set()
        """Headers that a thread is building, or that cannot be built or used."""

    def compile(self, given: Compilation, includes: tuple[str, ...]) -> Finished:
        """Compile a source that begins with ``includes``, with their header if it exists.

        A missing header is built meanwhile, by the first thread that needs it.
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
            # Whether header or source is to blame, only errors of the source alone are reported.
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
        """Compile a header and its object; if that is interrupted, the next caller tries again."""
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
    """Remove sibling folders that have long been unused, such as those of older headers."""
    oldest = time.time() - _UNUSED_AFTER_S
    for other in folder.parent.iterdir():
        with contextlib.suppress(OSError):
            if other != folder and other.stat().st_mtime < oldest:
                shutil.rmtree(other, ignore_errors=True)
