"""Cache files that are stored with their hash: how they are published, and checked before use.

The hash of ``name.so`` is in ``name.sha256``. It is written last, so a file that is damaged or
half replaced does not match its hash. Knows nothing of what the files are for.
"""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from pypto._src.run.objects.ownership import open_own


def is_verified(entry: Path) -> bool:
    """Return whether a file exists, only this user can write it, and it matches its hash."""
    with contextlib.suppress(OSError):
        file, kept = open_own(entry), open_own(hash_file(entry))
        with file or contextlib.nullcontext(), kept or contextlib.nullcontext():
            if file is not None and kept is not None:
                wanted = _hash_line(hashlib.file_digest(file, "sha256").hexdigest(), entry)
                return kept.read(len(wanted) + 1) == wanted
    return False


def publish(built: Path, entry: Path) -> None:
    """Move a file to its final path, together with its hash.

    Raises:
        OSError: the file system does not allow it.
    """
    built.chmod(0o700)
    with built.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    line = built.with_suffix(".sha256")
    line.write_bytes(_hash_line(digest, entry))
    line.chmod(0o600)
    try:
        built.replace(entry)
        line.replace(hash_file(entry))
    except PermissionError:  # Windows does not replace an object that is loaded somewhere
        if not is_verified(entry):
            raise


def hash_file(entry: Path) -> Path:
    """Return the file with an entry's hash."""
    return entry.with_suffix(".sha256")


def _hash_line(digest: str, entry: Path) -> bytes:
    """Return the contents of a hash file, in the format of ``sha256sum --check``."""
    return f"{digest}  {entry.name}\n".encode()
