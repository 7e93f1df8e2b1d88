"""Results for candidates, on disk: small JSON files in the cache, one for each candidate.

The name of a file is the hash of all that the result depends on: the text of the program, its
options, sizes and costs, and the compiler. Files are data and are checked when they are read; one
that is damaged, or that others can write, counts as missing.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, cast

from pypto._src import knobs
from pypto._src.run.objects.ownership import make_private, open_own, why_not_trusted
from pypto._version import __version__

_MAX_BYTES = 1 << 16
_NUMBERS = {"estimate", "cycles", "us", "tasks", "bound_share", "above", "launch"}


@cache
def compiler_key() -> str:
    """Return a key that changes whenever this package does."""
    package = Path(__file__).parents[2]
    found = hashlib.sha256(__version__.encode())
    for path in sorted([*package.rglob("*.py"), *package.rglob("*.toml")]):
        status = path.stat()
        found.update(f"{path.relative_to(package)} {status.st_size} {status.st_mtime_ns}".encode())
    return found.hexdigest()


def key_of(*parts: object) -> str:
    """Return the key of a result that depends on these parts, by their text."""
    found = hashlib.sha256(compiler_key().encode())
    for part in parts:
        text = str(part).encode("utf-8", "surrogatepass")
        found.update(len(text).to_bytes(8, "little") + text)
    return found.hexdigest()


class Results:
    """Results by key; only in memory if there is no directory to write to."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._root = knobs.CACHE_DIR.get() / "tune"
        self._is_usable = _is_usable(self._root)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return a result, None if there is none."""
        known = self._known.get(key)
        if known is None and self._is_usable:
            known = _read(self._path(key))
            if known is not None:
                self._known[key] = known
        return known

    def put(self, key: str, result: Mapping[str, Any]) -> None:
        """Keep a result."""
        self._known[key] = {**result}
        if not self._is_usable:
            return
        with suppress(OSError):
            path = self._path(key)
            make_private(path.parent)
            number, name = tempfile.mkstemp(dir=path.parent)
            with os.fdopen(number, "w", encoding="utf-8") as file:
                json.dump(result, file)
            Path(name).replace(path)

    def _path(self, key: str) -> Path:
        return self._root / key[:2] / f"{key}.json"


def _is_usable(root: Path) -> bool:
    try:
        make_private(root)
        real = Path(os.path.realpath(root))
        return why_not_trusted(real, real) is None
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any] | None:
    file = open_own(path)
    if file is None:
        return None
    with file:
        data = file.read(_MAX_BYTES + 1)
    try:
        found: object = json.loads(data) if len(data) <= _MAX_BYTES else None
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", found) if _is_result(found) else None


def _is_result(found: object) -> bool:
    """Return whether a value has the form of an answer by `examine`."""
    if not isinstance(found, dict):
        return False
    for key, value in cast("dict[str, Any]", found).items():
        if key in _NUMBERS:
            fits = isinstance(value, int | float) and not isinstance(value, bool)
        elif key in ("memory", "busy"):
            fits = isinstance(value, dict) and all(
                isinstance(each, int | float) for each in cast("dict[str, Any]", value).values()
            )
        else:
            fits = key in ("refused", "slug", "bound") and isinstance(value, str)
        if not fits:
            return False
    return True
