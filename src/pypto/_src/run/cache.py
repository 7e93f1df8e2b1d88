"""Keep compiled shared objects on disk, named by the hash of all that went into them.

An entry is ``<cache>/<schema>/<key[:2]>/<key>.so``, with its source in ``<key>.cpp`` and the hash
of the object in ``<key>.sha256``. There are no locks: a build happens in its own directory and
ends with atomic renames, the hash last, so an object that is damaged or half replaced does not have
its hash and is rebuilt. Two processes that build the same entry at once both get it right.

Anyone who can write an entry can run code as this user, so the hash does not protect against
others: directories and files that others can write are not used at all (`ownership`), and a checked
file cannot change before it is loaded. Knows compilers only as a `Toolchain`, and nothing about
what the source means.
"""

from __future__ import annotations

import atexit
import contextlib
import errno
import functools
import hashlib
import os
import shlex
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path

from pypto._src import knobs
from pypto._src.errors import PyptoError
from pypto._src.records import NamedTuple
from pypto._src.run.objects.entries import is_verified, publish
from pypto._src.run.objects.ownership import make_private, why_not_trusted
from pypto._src.run.objects.precompiled import PRELUDES, Compilation, Headers, prelude
from pypto._src.run.shield import shielded
from pypto._src.run.toolchain import Toolchain, forget, machine

SCHEMA = 2  # increase it when keys or entries change their meaning

COMPILE_TIMEOUT_S = 600.0  # of wall time: on a busy machine the compiler may mostly wait

_STALE_AFTER_S = 3600.0
_WORK_PREFIX = "tmp-"
_SHOWN_LINES = 8  # of the compiler's output
_FULL_BELOW_BYTES = 1 << 16

Listing = tuple[tuple[str, int, int], ...]  # name below the directory, bytes, mtime in ns


class CompileError(PyptoError, RuntimeError):
    """The C++ compiler rejected a source, or took too long over it.

    Attributes:
        command: The command line, word by word.
        stderr: All that the compiler wrote.
        source: The file that was compiled; it is kept for inspection.
    """

    slug = "compiler"

    def __init__(
        self, command: tuple[str, ...], stderr: str, source: Path, code: int | None
    ) -> None:
        super().__init__(_compile_report(command, stderr, code))
        self.args = (command, stderr, source, code)  # all of them, so that it can be unpickled
        self.command = command
        self.stderr = stderr
        self.source = source
        self.code = code

    def __str__(self) -> str:
        """Return how the compiler ended, its first lines about an error, and the command."""
        return self.message


class CacheError(PyptoError, RuntimeError):
    """No directory can store compiled kernels: the disk is full, and so is that of ``/tmp``."""

    slug = "cache"


class _UnusableError(Exception):
    """A directory cannot store objects; the text follows its name in messages."""

    def __init__(self, what: str, wanted: str) -> None:
        super().__init__(what, wanted)  # so that a copy without traceback can be made from `args`
        self.what = what
        self.hint = f"set PYPTO_CACHE_DIR to a directory {wanted}"

    def about(self, shared: Path) -> str:
        """Return the whole text, for a cache directory."""
        return f"the kernel cache {shared / str(SCHEMA)} {self.what}"


def _compile_report(command: Sequence[str], stderr: str, code: int | None) -> str:
    end = f"failed with exit code {code}"
    if code is None:
        end = f"took longer than {COMPILE_TIMEOUT_S:.0f} s"
    lines = (f"  {line}" for line in _error_lines(stderr))
    return "\n".join((f"the C++ compiler {end}", *lines, f"  command: {shlex.join(command)}"))


def build(
    source: str,
    *,
    toolchain: Toolchain,
    include_dirs: Sequence[Path],
    extra_flags: Sequence[str] = (),
) -> Path:
    """Return the shared object of a C++ source, compiled now or found in the cache.

    The key covers the source, the files below ``include_dirs``, the compiler with its version and
    flags, and this machine's CPU. Files that ``extra_flags`` may name are not covered. When the
    cache directory cannot be used, because it cannot be written, others can write it, or nothing
    there can be executed, the object goes to a directory that lives as long as the process, with
    one warning.

    Raises:
        CompileError: The compiler rejected the source.
        CacheError: That directory cannot be used, either.
        FileNotFoundError: An include directory does not exist.
        KnobError: ``PYPTO_CACHE_DIR`` has an invalid value.
    """
    flags = (*toolchain.flags, *(f"-I{path.absolute()}" for path in include_dirs), *extra_flags)
    key_now = functools.partial(_key, source, toolchain, include_dirs, extra_flags)
    key_of_headers = functools.partial(_key, "", toolchain, include_dirs, extra_flags)

    def found_in(root: Path, home: Path, given_up: _UnusableError | None) -> Path:
        while True:
            key = key_now()
            entry = _entry(home, key)
            if _is_ready(entry, root):
                return entry
            if given_up is not None:
                raise _UnusableError(*given_up.args)
            ahead = functools.partial(_headers, home, root, key_of_headers, flags)
            compiled = functools.partial(_compile, source, entry, toolchain, flags, ahead)
            if shielded(functools.partial(_make, home, root, entry, compiled, key_now)):
                return entry

    shared = knobs.CACHE_DIR.get()
    substitute = _substitutes.get(shared)
    try:
        with _storing():
            root = Path(os.path.realpath(shared))
        return found_in(root, root / str(SCHEMA), None if substitute is None else substitute.reason)
    except _UnusableError as error:
        unusable = _UnusableError(*error.args)
    try:
        if substitute is None:
            substitute = _make_substitute(shared, unusable)
        return found_in(substitute.directory, substitute.directory, None)
    except _UnusableError as error:
        raise CacheError(
            f"{unusable.about(shared)}, and its substitute in {_temporary()} {error.what}",
            hint=unusable.hint,
        ) from None


def _make(
    home: Path,
    root: Path,
    entry: Path,
    compiled: Callable[[Path], Path],
    key_now: Callable[[], str],
) -> bool:
    """Compile an entry and publish it; False if its key has changed meanwhile."""
    with _work_directory(home, entry, root) as work:
        built = compiled(work)
        # A header edited meanwhile would store the new meaning under the old key.
        is_wanted = key_now() == entry.stem
        if is_wanted:
            with _storing():
                publish(built, entry)
    return is_wanted


def why_unusable(shared: Path) -> CacheError | None:
    """Create a cache directory; return the reason it cannot be used, None if it can."""
    try:
        with _storing():
            root = Path(os.path.realpath(shared))
        with _work_directory(root / str(SCHEMA), root / str(SCHEMA) / "00" / "entry", root):
            return None
    except _UnusableError as error:
        return CacheError(error.about(shared), hint=error.hint)


def discard(entry: Path) -> None:
    """Remove an entry that does not load, so that the next `build` rebuilds it."""
    with contextlib.suppress(OSError):
        entry.unlink()


def _entry(home: Path, key: str) -> Path:
    return home / key[:2] / f"{key}.so"


def _is_ready(entry: Path, root: Path) -> bool:
    """Return whether an entry can be loaded.

    Raises:
        _UnusableError: Nothing may be loaded from its directory.
    """
    with _storing():
        if not os.path.lexists(entry.parent):
            return False
    _check_directory(entry.parent, root)
    return is_verified(entry)


def _check_directory(directory: Path, root: Path) -> None:
    with _storing():
        reason = why_not_trusted(directory, root)
        noexec = getattr(os, "ST_NOEXEC", 0)
        is_noexec = bool(noexec) and bool(os.statvfs(directory).f_flag & noexec)
    if reason is not None:
        raise _UnusableError(f"is not safe ({reason})", "that only you can write")
    if is_noexec:
        what = "holds no programs (its file system is mounted noexec)"
        raise _UnusableError(what, "on another file system")


@contextlib.contextmanager
def _storing() -> Generator[None]:
    """Turn errors of the file system into errors about the cache directory."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        words = error.strerror if isinstance(error, OSError) else None
        raise _UnusableError(
            f"cannot be written ({words or error})", "that can be written"
        ) from error


def _headers(home: Path, root: Path, key: Callable[[], str], flags: Sequence[str]) -> Headers:
    """Return the precompiled headers of a toolchain, which are kept with the objects."""
    folder = home / "headers" / _digest(map(_bytes, (key(), *flags)))
    found = _known_headers.get(folder)
    return found or _known_headers.setdefault(folder, Headers(folder, root))


_known_headers: dict[Path, Headers] = {}


def _compile(
    source: str,
    entry: Path,
    toolchain: Toolchain,
    flags: tuple[str, ...],
    headers: Callable[[], Headers],
    work: Path,
) -> Path:
    """Compile into ``work`` and return the object; the source stays beside ``entry``."""
    kept = entry.with_suffix(".cpp")
    with _storing():
        draft = work / "kernel.cpp"
        draft.write_bytes(_bytes(source))
        draft.chmod(0o600)
        written = draft.stat()
        draft.replace(kept)
    built = work / "kernel.so"
    given = Compilation(
        toolchain.kind, toolchain.command, flags, kept, built, work, COMPILE_TIMEOUT_S
    )
    try:
        includes = prelude(source)
        is_common = includes in PRELUDES
        done = headers().compile(given, includes) if is_common else given.run(given.line)
    except BaseException:
        _remove_same(kept, written)
        raise
    if done.code != 0:
        with _storing():
            if _is_full(work, done.stderr):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        forget(toolchain)  # if the compiler is to blame, the next process finds another one
        raise CompileError(given.line, done.stderr, kept, done.code)
    return built


def _remove_same(path: Path, written: os.stat_result) -> None:
    """Remove a file that was written here, unless another build has written it since."""
    with contextlib.suppress(OSError):
        if os.path.samestat(path.stat(), written):
            path.unlink()


def _is_full(directory: Path, stderr: str) -> bool:
    """Return whether a compiler failed because the disk is full, which not all tools report."""
    words = (os.strerror(errno.ENOSPC), os.strerror(errno.EDQUOT))
    if any(text in stderr for text in words):
        return True
    return shutil.disk_usage(directory).free < _FULL_BELOW_BYTES


@contextlib.contextmanager
def _work_directory(home: Path, entry: Path, root: Path) -> Generator[Path]:
    """Make a build its own directory on the file system of the entry, and the entry's folder."""
    with _storing():
        make_private(entry.parent)
    _check_directory(entry.parent, root)
    with _storing():
        _sweep(home)
        work = Path(tempfile.mkdtemp(prefix=_WORK_PREFIX, dir=home))
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep(home: Path) -> None:
    """Remove the work directories of builds that were killed more than an hour ago."""
    oldest = time.time() - _STALE_AFTER_S
    for work in home.glob(f"{_WORK_PREFIX}*"):
        with contextlib.suppress(OSError):
            if work.stat().st_mtime < oldest:
                shutil.rmtree(work, ignore_errors=True)


class _Substitute(NamedTuple):
    """A directory of this process that stands in for a cache directory, and why it does."""

    directory: Path
    reason: _UnusableError


_substitutes: dict[Path, _Substitute] = {}  # by the cache directory


def _make_substitute(shared: Path, reason: _UnusableError) -> _Substitute:
    with _storing():
        own = Path(os.path.realpath(tempfile.mkdtemp(prefix="pypto-")))
    atexit.register(_remove_own, own, os.getpid())
    made = _Substitute(own, reason)
    first = _substitutes.setdefault(shared, made)
    if first is made:  # no other thread was first
        warnings.warn(
            f"{reason.about(shared)}, so compiled kernels are kept for this process only; "
            f"{reason.hint}",
            RuntimeWarning,
            stacklevel=3,  # the caller of build
        )
    return first


def _temporary() -> str:
    with contextlib.suppress(OSError):
        return tempfile.gettempdir()
    return "a temporary directory"  # none is writable


def _remove_own(own: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must leave it to its parent
        shutil.rmtree(own, ignore_errors=True)


def _key(
    source: str, toolchain: Toolchain, include_dirs: Iterable[Path], extra_flags: Iterable[str]
) -> str:
    """Return the hash of everything that determines what the object does, as hex."""
    parts = (
        str(SCHEMA),
        source,
        *(_headers_digest(path, _listing(path)) for path in include_dirs),
        *toolchain.command,
        toolchain.version,
        *toolchain.flags,
        *extra_flags,
        machine(),
    )
    return _digest(map(_bytes, parts))


def _bytes(text: str) -> bytes:
    """Return a text as it is stored in a file; file names in it may have any bytes."""
    return text.encode(errors="surrogateescape")


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))  # so that (ab, c) differs from (a, bc)
        total.update(part)
    return total.hexdigest()


def _listing(directory: Path, below: str = "") -> Listing:
    """Return all files below a directory, in the order of their names."""
    found: list[tuple[str, int, int]] = []
    with os.scandir(directory) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            if entry.is_dir(follow_symlinks=False):
                found.extend(_listing(Path(entry.path), f"{below}{entry.name}/"))
            else:
                stat = entry.stat()
                found.append((below + entry.name, stat.st_size, stat.st_mtime_ns))
    return tuple(found)


@functools.lru_cache(maxsize=16)
def _headers_digest(directory: Path, listing: Listing) -> str:
    """Return the hash of names and contents, which does not depend on the directory's path."""
    files = ((name.encode(), (directory / name).read_bytes()) for name, _, _ in listing)
    return _digest(part for file in files for part in file)


def _error_lines(stderr: str) -> list[str]:
    """Return a few lines of output, starting at the first that reports an error."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    marks = ("error:", "undefined ")
    is_error = [any(mark in line for mark in marks) for line in lines]
    first = is_error.index(True) if True in is_error else 0
    return lines[first : first + _SHOWN_LINES]
