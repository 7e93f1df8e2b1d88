"""Keep compiled shared objects on disk, named by the hash of all that went into them.

An entry is ``<cache>/<schema>/<key[:2]>/<key>.so`` with its ``<key>.cpp`` beside it. There are no
locks: a build happens in a directory of its own and ends with an atomic rename, so a reader sees a
whole entry or none, and two processes that build the same entry at once both get it right. Knows
compilers only as a `Toolchain`, and nothing about what the source means.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import os
import platform
import shlex
import shutil
import struct
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from pathlib import Path

from pypto._src import knobs
from pypto._src.errors import PyptoError
from pypto._src.run.shield import shielded
from pypto._src.run.toolchain import Toolchain, run

SCHEMA = 1  # raise it when keys or entries change their meaning

COMPILE_TIMEOUT_S = 120.0

_STALE_AFTER_S = 3600.0
_WORK_PREFIX = "tmp-"
_ELF64 = b"\x7fELF\x02"
_SHOWN_LINES = 8  # of what the compiler wrote

Listing = tuple[tuple[str, int, int], ...]  # name below the directory, bytes, mtime in ns


class CompileError(PyptoError, RuntimeError):
    """The C++ compiler refused a source, or took too long over it.

    Attributes:
        command: The command line, word by word.
        stderr: All that the compiler wrote.
        source: The file that was compiled; it stays there to be looked at.
    """

    slug = "compiler"

    def __init__(
        self, command: tuple[str, ...], stderr: str, source: Path, code: int | None
    ) -> None:
        super().__init__(_compile_report(command, stderr, code))
        self.args = (command, stderr, source, code)  # all of them, so that it can be pickled
        self.command = command
        self.stderr = stderr
        self.source = source
        self.code = code

    def __str__(self) -> str:
        """Return how it ended, the first lines about an error, and the command."""
        return self.message


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
    cache directory cannot be written, the object goes to a directory that lives as long as the
    process, with one warning.

    Raises:
        CompileError: The compiler refused the source.
        FileNotFoundError: An include directory does not exist.
        KnobError: ``PYPTO_CACHE_DIR`` has a value it cannot have.
    """
    flags = (*toolchain.flags, *(f"-I{path.absolute()}" for path in include_dirs), *extra_flags)
    key_now = functools.partial(_key, source, toolchain, include_dirs, extra_flags)
    while True:
        key = key_now()
        home = knobs.CACHE_DIR.get() / str(SCHEMA)
        entry = _entry(home, key)
        if is_whole(entry):
            return entry
        home = _writable(home)
        entry = _entry(home, key)
        if is_whole(entry):
            return entry
        compiled = functools.partial(_compile, source, entry, toolchain.command, flags)
        if shielded(functools.partial(_make, home, entry, compiled, key_now)):
            return entry


def _make(
    home: Path, entry: Path, compiled: Callable[[Path], Path], key_now: Callable[[], str]
) -> bool:
    """Compile an entry and put it in its place; False if it is not what is wanted any more."""
    with _work_directory(home) as work:
        built = compiled(work)
        # A header edited meanwhile would leave the old key with the new meaning.
        is_wanted = key_now() == entry.stem
        if is_wanted:
            _publish(built, entry)
    return is_wanted


def discard(entry: Path) -> None:
    """Remove an entry that does not load, so that the next `build` makes it anew."""
    with contextlib.suppress(OSError):
        entry.unlink()


def is_whole(path: Path) -> bool:
    """Return whether a shared object is there with all of its bytes.

    Only ELF needs a look inside: its loader maps a truncated file and dies of SIGBUS, where the
    loaders of macOS and Windows report an error.
    """
    try:
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = file.read(64)
            if not head.startswith(_ELF64):
                return not _ELF64.startswith(head)
            phoff, shoff, phsize, phnum, shsize, shnum = struct.unpack("=32xQQ6xHHHH2x", head)
            file.seek(phoff)
            segments = [struct.unpack("=8xQ16xQ16x", file.read(phsize)) for _ in range(phnum)]
    except (OSError, ValueError, struct.error):  # ValueError: an offset of 2^63 or more
        return False
    ends = [offset + length for offset, length in segments]
    return size >= max(shoff + shsize * shnum, *ends, 0)


def _entry(home: Path, key: str) -> Path:
    return home / key[:2] / f"{key}.so"


def _compile(
    source: str, entry: Path, command: tuple[str, ...], flags: tuple[str, ...], work: Path
) -> Path:
    """Compile into ``work`` and return the object; the source stays beside ``entry``."""
    kept = entry.with_suffix(".cpp")
    kept.parent.mkdir(exist_ok=True)
    draft = work / "kernel.cpp"
    draft.write_bytes(_bytes(source))
    written = draft.stat()
    draft.replace(kept)
    built = work / "kernel.so"
    line = (*command, *flags, str(kept), "-o", str(built))
    try:
        # The compiler's own temporary files go where the sweep finds them.
        done = run(line, timeout_s=COMPILE_TIMEOUT_S, environment={"TMPDIR": str(work)})
    except BaseException:
        _remove_same(kept, written)
        raise
    if done.code != 0:
        raise CompileError(line, done.stderr, kept, done.code)
    return built


def _remove_same(path: Path, written: os.stat_result) -> None:
    """Remove a file that was written here, unless another build has written it since."""
    with contextlib.suppress(OSError):
        if os.path.samestat(path.stat(), written):
            path.unlink()


def _publish(built: Path, entry: Path) -> None:
    try:
        built.replace(entry)
    except PermissionError:  # Windows does not replace an object that another process has loaded
        if not is_whole(entry):
            raise


@contextlib.contextmanager
def _work_directory(home: Path) -> Generator[Path]:
    """Give a build a directory of its own, on the file system of the entry."""
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


def _writable(home: Path) -> Path:
    """Return ``home``, made if need be, or this process's own directory in its place."""
    try:
        # Whoever can write here can run code as this user.
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        home.mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=home):
            return home
    except OSError as error:
        return _own_directory(home, error.strerror or str(error))


@functools.cache
def _own_directory(home: Path, reason: str) -> Path:
    own = Path(tempfile.mkdtemp(prefix="pypto-"))
    atexit.register(_remove_own, own, os.getpid())
    warnings.warn(
        f"the kernel cache {home} cannot be written ({reason}), so compiled kernels are kept for "
        "this process only; set PYPTO_CACHE_DIR to a directory that can be written",
        RuntimeWarning,
        stacklevel=4,  # the caller of build
    )
    return own


def _remove_own(own: Path, owner: int) -> None:
    if os.getpid() == owner:  # a forked child must leave it to its parent
        shutil.rmtree(own, ignore_errors=True)


def _key(
    source: str, toolchain: Toolchain, include_dirs: Iterable[Path], extra_flags: Iterable[str]
) -> str:
    """Return the hash of all that decides what the object does, as hex."""
    parts = (
        str(SCHEMA),
        source,
        *(_headers_digest(path, _listing(path)) for path in include_dirs),
        *toolchain.command,
        toolchain.version,
        *toolchain.flags,
        *extra_flags,
        _machine(),
    )
    return _digest(map(_bytes, parts))


def _bytes(text: str) -> bytes:
    """Return a text as a file holds it; the names of files in it may be of any bytes."""
    return text.encode(errors="surrogateescape")


def _digest(parts: Iterable[bytes]) -> str:
    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "little"))  # so that ab, c differs from a, bc
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
    """Return the hash of names and contents; where the directory lies does not matter."""
    files = ((name.encode(), (directory / name).read_bytes()) for name, _, _ in listing)
    return _digest(part for file in files for part in file)


@functools.cache
def _machine() -> str:
    """Return what -march=native depends on: two machines may share one cache directory."""
    return "\n".join((sys.platform, platform.machine(), *platform.libc_ver(), _cpu()))


def _cpu() -> str:
    if sys.platform == "darwin":
        names = ("brand_string", "features", "leaf7_features")
        command = ["/usr/sbin/sysctl", *(f"machdep.cpu.{name}" for name in names)]
        with contextlib.suppress(OSError):
            return run(command, timeout_s=10.0).stdout
    with contextlib.suppress(OSError):
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
        return "\n".join(sorted({line for line in text.splitlines() if _describes_cpu(line)}))
    return platform.processor()


def _describes_cpu(line: str) -> bool:
    field = line.partition(":")[0].strip()
    x86 = ("vendor_id", "cpu family", "model", "flags")
    arm = ("CPU implementer", "CPU part", "Features")
    return field in (*x86, *arm, "isa", "cpu")  # isa for RISC-V, cpu for POWER


def _error_lines(stderr: str) -> list[str]:
    """Return a few lines from the first one on that reports an error."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    marks = ("error:", "undefined ")
    is_error = [any(mark in line for mark in marks) for line in lines]
    first = is_error.index(True) if True in is_error else 0
    return lines[first : first + _SHOWN_LINES]
