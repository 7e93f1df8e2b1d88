"""Files below one folder: written whole, all of them or none, and nowhere else.

Files are named after parts of programs, which may be untrusted. So a path may not leave the folder,
by its own text or through a link.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path, PurePosixPath
from threading import get_ident
from typing import Final

from pypto._src.diagnostics import shortened
from pypto._src.errors import OutputError

_NO_NAME: Final = re.compile(r'[\0-\x1f\x7f<>:"|?*\\]|[. ]\Z')
"""Not allowed in any part of a name: Windows would refuse it, or interpret it."""
_DEVICE: Final = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows treats as devices, in every folder."""


class OutputFolder:
    """A folder for files with names such as ``kernels/aiv/add.cpp``; created for the first one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def write(self, files: Mapping[str, str]) -> None:
        """Write texts by name: readers see the old file or the whole new one.

        If one cannot be written, none is.

        Raises:
            OutputError: a name leaves the folder or is not a file name, or writing fails.
        """
        paths = {name: self.path_of(name) for name in files}
        drafts: dict[Path, Path] = {}
        name = ""
        try:
            for (name, text), number in zip(files.items(), count()):
                path = paths[name]
                self._check_inside(name, path)
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = path.with_name(f".{os.getpid()}.{get_ident()}.{number}.new")
                drafts[draft] = path
                # File names in comments may have arbitrary bytes.
                draft.write_bytes(text.encode(errors="surrogateescape"))
            self._check_case_collisions(paths.values())
            for path in paths.values():  # a rename would fail on these
                if path.is_dir():
                    raise IsADirectoryError(0, "there is a folder of this name", str(path))
            for draft, path in drafts.items():
                draft.replace(path)
        except OutputError:
            raise
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise OutputError(
                f"cannot write {shortened(name)} to {self.path}: {reason}",
                hint="name another folder",
            ) from error
        finally:
            for draft in drafts:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)

    def path_of(self, name: str) -> Path:
        """Return the path of a file.

        Raises:
            OutputError: the name leaves the folder, or is not a file name.
        """
        parts = PurePosixPath(name).parts
        for part in parts:
            if _NO_NAME.search(part) or part == "/":
                raise OutputError(f"{shortened(name)} is not a name for a file in {self.path}")
            if _DEVICE.fullmatch(part) and sys.platform == "win32":
                raise OutputError(f"{shortened(name)} is the name of a device", hint="rename it")
        if not parts:
            raise OutputError(f"a file in {self.path} has no name")
        return self.path.joinpath(*parts)

    def _check_inside(self, name: str, path: Path) -> None:
        """Refuse a path that a link leads out of the folder."""
        if not path.parent.resolve().is_relative_to(self.path.resolve()):
            raise OutputError(
                f"{shortened(name)} leaves {self.path} through a link",
                hint="remove the link, or name another folder",
            )

    def _check_case_collisions(self, paths: Iterable[Path]) -> None:
        """Refuse two names that are the same on a file system that ignores case."""
        known: dict[tuple[Path, str], Path] = {}
        for path in paths:
            key = path.parent, unicodedata.normalize("NFKC", path.name).casefold()
            other = known.setdefault(key, path)
            if other != path and _ignores_case(path.parent):
                raise OutputError(
                    f"{other.name} and {path.name} are one file in {path.parent}",
                    hint="rename one of the functions",
                )


def _ignores_case(folder: Path) -> bool:
    """True if two names that differ only in case are one file."""
    probe = folder / f".{os.getpid()}.{get_ident()}.case"
    try:
        probe.write_bytes(b"")
        return probe.with_suffix(".CASE").exists()
    finally:
        probe.unlink(missing_ok=True)
