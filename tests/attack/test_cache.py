"""The cache of compiled kernels, attacked: planted files, damage, full disks and odd paths.

Whatever is in the cache, a build returns an object that computes what its source says, or an
error of ours; files that others could have written are never loaded.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import random
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pypto._src import knobs
from pypto._src.run import cache
from pypto._src.run.cache import CacheError, build, is_verified
from pypto._src.run.native import NativeKernel
from pypto._src.run.toolchain import Toolchain
from tests.natively import compiler

if sys.platform == "win32":
    pytest.skip("owners and modes are not how files are protected there", allow_module_level=True)

# Processes that a test starts look for the entries that it made.
pytestmark = pytest.mark.usefixtures("shipped_flags")

SRC = Path(__file__).parents[2] / "src"
MUTANTS = 1000

SOURCE = 'extern "C" __attribute__((visibility("default"))) int answer() { return 42; }\n'
PLANTED = SOURCE.replace("42", "666")

# Builds and calls; prints the result and the first warning.
PROGRAM = """\
import ctypes, sys, warnings
from pypto._src.run.cache import build
from pypto._src.run.toolchain import find_toolchain
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    path = build(sys.argv[1], toolchain=find_toolchain(), include_dirs=[])
print(ctypes.CDLL(str(path)).answer())
for warning in seen:
    print(warning.message)
"""


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    return compiler()


@pytest.fixture(autouse=True)
def no_substitutes() -> Iterator[None]:
    """Forget the substitute directories, before and after the test."""
    cache._substitutes.clear()  # pyright: ignore[reportPrivateUsage]
    yield
    cache._substitutes.clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory, which does not exist yet."""
    path = tmp_path / "above" / "cache"
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(path))
    return path


def answer(path: Path) -> int:
    """Call a copy: the loader does not reload a path that it has loaded before."""
    copy = path.with_name(f"copy-{random.random()}")
    copy.write_bytes(path.read_bytes())
    found: int = ctypes.CDLL(str(copy)).answer()
    copy.unlink()
    return found


def make(toolchain: Toolchain, source: str = SOURCE) -> Path:
    return build(source, toolchain=toolchain, include_dirs=[])


def plant(toolchain: Toolchain, home: Path) -> Path:
    """Replace an entry by an object with a different result, and a matching hash."""
    entry = make(toolchain)
    other = make(toolchain, PLANTED)
    digest = hashlib.sha256(other.read_bytes()).hexdigest()
    other.replace(entry)
    entry.with_suffix(".sha256").write_text(f"{digest}  {entry.name}\n")
    assert is_verified(entry)
    assert home in entry.parents
    return entry


def substitute(toolchain: Toolchain, home: Path) -> str:
    """Build; check that the result is right and not in ``home``, and return the one warning."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        path = make(toolchain)
        assert make(toolchain) == path
        other = make(toolchain, SOURCE.replace("42", "43"))
    assert (answer(path), answer(other)) == (42, 43)
    assert home not in path.parents
    (warning,) = seen
    assert warning.filename == __file__
    return str(warning.message)


def unsafe(home: Path, reason: str) -> str:
    return (
        f"the kernel cache {home / str(cache.SCHEMA)} is not safe ({reason}), so compiled kernels "
        "are kept for this process only; set PYPTO_CACHE_DIR to a directory that only you can write"
    )


# --------------------------------------------------------------------------------------------
# What others can write
# --------------------------------------------------------------------------------------------

PLACES: dict[str, Callable[[Path], Path]] = {
    "above": lambda entry: entry.parents[3],
    "cache": lambda entry: entry.parents[2],
    "schema": lambda entry: entry.parents[1],
    "shard": lambda entry: entry.parents[0],
}


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
@pytest.mark.parametrize("place", PLACES)
def test_directories_of_others(place: str, mode: int, toolchain: Toolchain, home: Path) -> None:
    """A planted object in a directory that others can write, at any level, is not loaded."""
    where = PLACES[place](plant(toolchain, home))
    where.chmod(mode)
    if place == "above" and mode == 0o770 and where.stat().st_gid == os.geteuid():
        os.chown(where, -1, 12345) if os.geteuid() == 0 else pytest.skip("a group of one's own")
    assert substitute(toolchain, home) == unsafe(home, f"{where} can be written by other users")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("place", PLACES)
def test_directories_of_another_owner(place: str, toolchain: Toolchain, home: Path) -> None:
    """A planted object in a directory of another user, or below one, is not loaded."""
    where = PLACES[place](plant(toolchain, home))
    os.chown(where, 12345, -1)
    assert substitute(toolchain, home) == unsafe(home, f"{where} belongs to another user")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("suffix", [".so", ".sha256"])
def test_files_of_another_owner(suffix: str, toolchain: Toolchain, home: Path) -> None:
    """A file that another user left, while the directory was writable, is replaced."""
    entry = plant(toolchain, home)
    os.chown(entry.with_suffix(suffix), 12345, -1)
    assert answer(make(toolchain)) == 42


@pytest.mark.parametrize("suffix", [".so", ".sha256"])
@pytest.mark.parametrize("mode", [0o766, 0o662])
def test_files_that_others_can_write(
    suffix: str, mode: int, toolchain: Toolchain, home: Path
) -> None:
    """An entry that others could have changed is rebuilt, and belongs to the user alone."""
    entry = plant(toolchain, home)
    entry.with_suffix(suffix).chmod(mode)
    path = make(toolchain)
    assert (path, answer(path)) == (entry, 42)
    assert entry.with_suffix(suffix).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("suffix", [".so", ".sha256"])
def test_links_are_not_followed(
    suffix: str, toolchain: Toolchain, home: Path, tmp_path: Path
) -> None:
    """A link in place of an entry is replaced; its target stays."""
    entry = plant(toolchain, home)
    elsewhere = entry.with_suffix(suffix).rename(tmp_path / "elsewhere")
    kept = elsewhere.read_bytes()
    entry.with_suffix(suffix).symlink_to(elsewhere)
    assert answer(make(toolchain)) == 42
    assert not entry.with_suffix(suffix).is_symlink()
    assert elsewhere.read_bytes() == kept


def test_linked_directories(toolchain: Toolchain, home: Path, tmp_path: Path) -> None:
    """A cache that is a link is judged by its target; links inside it are rejected."""
    real = tmp_path / "real"
    real.mkdir(mode=0o700)
    home.parent.mkdir(mode=0o700)
    home.symlink_to(real)
    entry = make(toolchain)
    assert real in entry.parents
    shard = entry.parent.rename(tmp_path / "shard")
    entry.parent.symlink_to(shard)
    assert substitute(toolchain, real) == unsafe(home, f"{entry.parent} is not a directory")
    cache._substitutes.clear()  # pyright: ignore[reportPrivateUsage]
    entry.parent.unlink()
    real.chmod(0o777)
    assert substitute(toolchain, real) == unsafe(home, f"{real} can be written by other users")


def test_sticky_directories_may_be_above(toolchain: Toolchain, home: Path) -> None:
    """In /tmp nobody removes others' files, so a cache may be below it, but not be /tmp itself."""
    home.parent.mkdir()
    home.parent.chmod(0o1777)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entry = make(toolchain)
    assert home in entry.parents
    home.chmod(0o1777)
    assert "can be written by other users" in substitute(toolchain, home)


def test_made_directories_are_private(toolchain: Toolchain, home: Path) -> None:
    """Whatever the umask, nobody else can write the directories that a build creates."""
    before = os.umask(0)
    try:
        entry = make(toolchain)
    finally:
        os.umask(before)
    made = [*entry.parent.iterdir(), *list(entry.parents)[:4]]
    assert home.parent in made
    assert [path for path in made if path.stat().st_mode & 0o022] == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert make(toolchain) == entry


def test_substitute_is_private(
    toolchain: Toolchain, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A temporary directory for the process is held to the same rules."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    temporary.chmod(0o777)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    home.mkdir(parents=True)
    home.chmod(0o777)
    with (
        pytest.warns(RuntimeWarning, match="is not safe"),
        pytest.raises(CacheError) as caught,
    ):
        make(toolchain)
    assert str(caught.value) == (
        f"the kernel cache {home / str(cache.SCHEMA)} is not safe ({home} can be written by other "
        f"users), and its substitute in {temporary} is not safe ({temporary} can be written by "
        "other users)"
    )
    assert caught.value.hint == "set PYPTO_CACHE_DIR to a directory that only you can write"


# --------------------------------------------------------------------------------------------
# Damage
# --------------------------------------------------------------------------------------------


def test_every_flipped_bit_is_seen(toolchain: Toolchain, home: Path) -> None:
    """No object with one flipped bit is taken for the one that was built."""
    entry = make(toolchain)
    whole = entry.read_bytes()
    random_bits = random.Random(0)
    for _ in range(MUTANTS):
        damaged = bytearray(whole)
        damaged[random_bits.randrange(len(whole))] ^= 1 << random_bits.randrange(8)
        entry.write_bytes(damaged)
        assert not is_verified(entry)
    assert answer(make(toolchain)) == 42


def test_flipped_bytes_are_never_loaded(toolchain: Toolchain, home: Path) -> None:
    """A process that finds a damaged object rebuilds it, and does not crash."""
    entry = make(toolchain)
    whole = entry.read_bytes()
    for offset in (24, 40, 64, len(whole) // 3, len(whole) // 2, len(whole) - 8):
        damaged = bytearray(whole)
        damaged[offset : offset + 8] = b"\xff" * 8
        entry.write_bytes(damaged)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, SOURCE],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (0, "42\n"), done.stderr
        assert is_verified(entry)


def test_object_of_another_entry(toolchain: Toolchain, home: Path) -> None:
    """Two entries swapped together with their hashes are both rebuilt."""
    first, second = make(toolchain), make(toolchain, PLANTED)
    for suffix in (".so", ".sha256"):
        kept = first.with_suffix(suffix).read_bytes()
        first.with_suffix(suffix).write_bytes(second.with_suffix(suffix).read_bytes())
        second.with_suffix(suffix).write_bytes(kept)
    assert answer(make(toolchain)) == 42
    assert answer(make(toolchain, PLANTED)) == 666


# --------------------------------------------------------------------------------------------
# Other things in an entry's place
# --------------------------------------------------------------------------------------------


def unwritable(home: Path, reason: str) -> str:
    return (
        f"the kernel cache {home / str(cache.SCHEMA)} cannot be written ({reason}), so compiled "
        "kernels are kept for this process only; set PYPTO_CACHE_DIR to a directory that can be "
        "written"
    )


def put_directory(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("")


PUT: dict[str, Callable[[Path], object]] = {
    "directory": put_directory,
    "pipe": os.mkfifo,
    "file": Path.touch,
    "loop": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("suffix", [".so", ".sha256", ".cpp"])
@pytest.mark.parametrize("what", PUT)
def test_something_else_for_a_file(
    what: str, suffix: str, toolchain: Toolchain, home: Path
) -> None:
    """What is not a file is replaced; a nonempty directory stays, with a warning."""
    entry = make(toolchain)
    for each in (".so", suffix):
        entry.with_suffix(each).unlink(missing_ok=True)
    PUT[what](entry.with_suffix(suffix))
    if what == "directory":
        assert substitute(toolchain, home) == unwritable(home, "Is a directory")
        assert (entry.with_suffix(suffix) / "inside").exists()
    else:
        assert answer(make(toolchain)) == 42
        assert is_verified(entry)


@pytest.mark.parametrize("place", ["cache", "schema", "shard"])
@pytest.mark.parametrize("what", ["pipe", "file", "loop"])
def test_something_else_for_a_directory(
    what: str, place: str, toolchain: Toolchain, home: Path
) -> None:
    """What is not a directory stays, and kernels build elsewhere, with one warning."""
    where = PLACES[place](make(toolchain))
    shutil.rmtree(where)
    PUT[what](where)
    text = substitute(toolchain, home)
    assert text.startswith(f"the kernel cache {home / str(cache.SCHEMA)} ")
    assert os.path.lexists(where)
    assert not where.is_dir()


# --------------------------------------------------------------------------------------------
# Disks
# --------------------------------------------------------------------------------------------


def test_compiler_without_space(toolchain: Toolchain, home: Path, tmp_path: Path) -> None:
    """A compiler that finds the disk full causes a warning, and the kernel builds elsewhere."""
    script = tmp_path / "compiler"
    script.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *{shlex.quote(str(home))}*)\n'
        '  echo "ld: final link failed: No space left on device" >&2; exit 1;;\nesac\n'
        f'exec {shlex.join(toolchain.command)} "$@"\n'
    )
    script.chmod(0o755)
    full = replace(toolchain, command=(str(script),))
    assert substitute(full, home) == unwritable(home, "No space left on device")


def test_no_space_anywhere(
    toolchain: Toolchain, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the temporary directory is full as well, an error says so, with what to do."""

    def full(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", full)
    with (
        pytest.warns(RuntimeWarning, match="No space left on device"),
        pytest.raises(CacheError) as caught,
    ):
        make(toolchain)
    assert "and its substitute in" in str(caught.value)
    assert caught.value.hint == "set PYPTO_CACHE_DIR to a directory that can be written"


def mounted(options: str, home: Path, toolchain: Toolchain) -> list[str]:
    """Build in a process with a file system with these options mounted at the cache."""
    home.mkdir(parents=True)
    program = [sys.executable, "-c", PROGRAM, SOURCE]
    script = f"mount -t tmpfs -o {options} tmpfs {shlex.quote(str(home))}"
    probe = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True)
    if probe.returncode != 0:
        pytest.skip("no file systems can be mounted here")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", f"{script} && exec {shlex.join(program)}"],
        env={**os.environ, "PYTHONPATH": str(SRC), "PYPTO_CXX": shlex.join(toolchain.command)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_full_disk(toolchain: Toolchain, home: Path) -> None:
    """On a disk of two pages nothing can be stored, but the kernel still runs."""
    found = mounted("size=8k,mode=700", home, toolchain)
    assert found == ["42", unwritable(home, "No space left on device")]


@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare")
def test_disk_without_programs(toolchain: Toolchain, home: Path) -> None:
    """Nothing is loaded from a file system mounted noexec, but the kernel still runs."""
    found = mounted("noexec,mode=700", home, toolchain)
    assert found == [
        "42",
        f"the kernel cache {home / str(cache.SCHEMA)} holds no programs (its file system is "
        "mounted noexec), so compiled kernels are kept for this process only; set PYPTO_CACHE_DIR "
        "to a directory on another file system",
    ]


# --------------------------------------------------------------------------------------------
# Odd paths
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "a\nb",
        "-o",
        "%s%n",
        "'\"",
        "$(touch x)",
        "a;b",
        "\udcff",
        "ü",
        "*",
        "a\\b",
        "x" * 255,
    ],
)
def test_odd_names(
    name: str, toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A directory with any name that the system allows can store kernels."""
    home = tmp_path / name
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(home))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        entry = make(toolchain)
    assert home in entry.parents
    assert answer(entry) == 42


def test_impossible_names(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that the system does not allow causes a warning; so does a zero byte."""
    for path in (tmp_path / ("x" * 256), tmp_path / ("x/" * 4000), Path("/dev/null/x")):
        monkeypatch.setenv("PYPTO_CACHE_DIR", str(path))
        assert "cannot be written" in substitute(toolchain, path)
    assert list(tmp_path.iterdir()) == []  # an unusable path leaves nothing behind
    zero = tmp_path / "a\0b"
    monkeypatch.setattr(knobs.CACHE_DIR, "get", lambda: zero)
    assert "cannot be written (embedded null byte)" in substitute(toolchain, zero)


def test_missing_symbol_is_no_crash(toolchain: Toolchain, home: Path) -> None:
    """An object with the right hash but no launcher is an error with its name."""
    entry = make(toolchain)
    with pytest.raises(Exception, match="has no symbol pypto_launch"):
        NativeKernel(entry)
