"""Who can change a file: files loaded into this process must be the user's own.

Others cannot change what a path leads to if they can write neither its directories nor the file.
Then the time between a check and a use of that path does not matter. Knows owners and modes, not
what the files are for.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from io import BufferedReader
from pathlib import Path


def make_private(directory: Path) -> None:
    """Create a directory and its missing parents, accessible only to this user.

    Raises:
        OSError: it cannot be created.
    """
    missing: list[Path] = []
    for path in (directory, *directory.parents):
        try:
            path.lstat()  # a path that is too long fails here, before half of it is created
            break
        except FileNotFoundError:
            missing.append(path)
    for path in reversed(missing):
        with suppress(FileExistsError):  # created by another process meanwhile
            path.mkdir(mode=0o700)


def why_not_trusted(directory: Path, root: Path) -> str | None:
    """Return what lets others change the files in a directory; None if nothing does.

    Directories from ``root`` down must not be writable by others. Those above it may be writable
    by everybody if they are sticky, as ``/tmp`` is. Windows has access control lists instead, which
    give a user's folders to that user; nothing is checked there.

    Args:
        directory: Where the files are; it exists, and no part of its path is a symbolic link.
        root: The directory itself, or one above it.

    Raises:
        OSError: there is no such directory.
    """
    if sys.platform == "win32":
        return None
    trusted = _trusted_users()
    is_above = False
    for path in (directory, *directory.parents):
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode):
            return f"{path} is not a directory"
        if status.st_uid not in trusted:
            return f"{path} belongs to another user"
        writers = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if is_above and (status.st_mode & stat.S_ISVTX):
            writers = 0
        if is_above and status.st_gid == os.getegid() == os.geteuid():
            writers &= ~stat.S_IWGRP  # the user's private group has the user's number
        if writers:
            return f"{path} can be written by other users"
        is_above = is_above or path == root
    return None


def open_own(path: Path) -> BufferedReader | None:
    """Open a regular file that only this user can write; None if there is no such file.

    Links are not followed, and opening a pipe does not block. The check is made on the open file,
    wherever the path leads afterwards.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    try:
        number = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    except (OSError, ValueError):  # ValueError: a zero byte in the path
        return None
    if not _is_own(os.fstat(number)):
        os.close(number)
        return None
    return os.fdopen(number, "rb")


def _is_own(status: os.stat_result) -> bool:
    if not stat.S_ISREG(status.st_mode):
        return False
    if sys.platform == "win32":
        return True
    writers = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid in _trusted_users() and not writers


def _trusted_users() -> frozenset[int]:
    """Return this user, the administrator, and the owner of the root directory.

    In a container that maps no administrator the last one takes that role: it owns all programs.
    """
    assert sys.platform != "win32"
    return frozenset({os.geteuid(), 0, Path("/").stat().st_uid})
