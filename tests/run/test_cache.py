"""The cache of compiled objects: keys, concurrency, damage, and errors."""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import os
import pickle
import shlex
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from pypto._src.run import cache
from pypto._src.run.cache import CompileError, build, discard, is_verified
from pypto._src.run.objects.precompiled import Compilation
from pypto._src.run.toolchain import Toolchain
from tests.natively import compiler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts")

SOURCE = """\
#include "answer.hpp"
extern "C" __attribute__((visibility("default"))) int answer() { return ANSWER; }
"""
SRC = Path(__file__).parents[2] / "src"

PROGRAM = """\
import ctypes, sys
from pathlib import Path
from pypto._src.run.cache import build
from pypto._src.run.toolchain import find_toolchain
path = build(Path(sys.argv[1]).read_text(), toolchain=find_toolchain(),
             include_dirs=[Path(sys.argv[2])])
print(path, ctypes.CDLL(str(path)).answer())
"""


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    return compiler()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the cache directory of the test, which does not exist yet."""
    path = tmp_path / "cache"
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(path))
    return path


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    path = tmp_path / "headers"
    (path / "deep").mkdir(parents=True)
    (path / "answer.hpp").write_text('#include "deep/value.hpp"\n')
    (path / "deep" / "value.hpp").write_text("#define ANSWER 42\n")
    return path


@pytest.fixture
def fresh_fallback() -> Iterator[None]:
    """Forget the process's own directory before and after the test."""
    cache._substitutes.clear()  # pyright: ignore[reportPrivateUsage]
    yield
    cache._substitutes.clear()  # pyright: ignore[reportPrivateUsage]


def answer(path: Path) -> int:
    """Call a copy: the loader would not reread a path that it has already loaded."""
    copy = path.with_name(f"copy-{time.monotonic_ns()}")
    copy.write_bytes(path.read_bytes())
    result: int = ctypes.CDLL(str(copy)).answer()
    copy.unlink()
    return result


def entries(home: Path) -> list[Path]:
    return sorted(home.rglob("*.so"))


def slow_compiler(path: Path, toolchain: Toolchain, delay_s: float, mark: Path) -> Path:
    """Write a compiler that creates ``mark`` and sleeps before it compiles a kernel."""
    quoted = shlex.quote(str(mark))
    path.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *kernel.so*) touch {quoted}; sleep {delay_s};; esac\n'
        f'exec {shlex.join(toolchain.command)} "$@"\n'
    )
    path.chmod(0o755)
    return path


def start(source: Path, headers: Path, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(source), str(headers)],
        env={**os.environ, "PYTHONPATH": str(SRC), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_second_build_is_found(
    toolchain: Toolchain, home: Path, headers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same source gives the same path without running anything, and leaves no files behind."""
    first = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    monkeypatch.setattr(Compilation, "run", None)
    assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) == first
    assert answer(first) == 42
    key = first.stem
    assert first == home / str(cache.SCHEMA) / key[:2] / f"{key}.so"
    assert first.with_suffix(".cpp").read_text() == SOURCE
    assert [path.name for path in first.parents[1].iterdir()] == [key[:2]]


def test_key_covers_everything(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """Source, flags, compiler version, compiler command and headers each give a new entry."""
    first = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    others = [
        build(SOURCE + "\n", toolchain=toolchain, include_dirs=[headers]),
        build(SOURCE, toolchain=toolchain, include_dirs=[headers], extra_flags=["-O0"]),
        build(SOURCE, toolchain=replace(toolchain, version="2"), include_dirs=[headers]),
        build(SOURCE, toolchain=replace(toolchain, tuning=()), include_dirs=[headers]),
    ]
    defining = replace(toolchain, command=(*toolchain.command, "-DX"))
    others.append(build(SOURCE, toolchain=defining, include_dirs=[headers]))
    (headers / "deep" / "value.hpp").write_text("#define ANSWER 430\n")
    others.append(build(SOURCE, toolchain=toolchain, include_dirs=[headers]))
    assert len({first, *others}) == 7
    assert answer(others[-1]) == 430
    assert len(entries(home)) == 7


def test_headers_may_move(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """The location of the headers does not matter, only their names and contents."""
    first = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    moved = headers.rename(headers.with_name("moved"))
    assert build(SOURCE, toolchain=toolchain, include_dirs=[moved]) == first


def test_other_cpu_has_other_entries(
    toolchain: Toolchain, home: Path, headers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with another CPU does not run this one's objects from a shared directory."""
    first = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    monkeypatch.setattr(cache, "machine", lambda: "another")
    assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) != first


def test_header_edited_during_build(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """If a header is edited during a build, the result is not stored under the old key."""
    value = headers / "deep" / "value.hpp"
    script = headers.parent / "editing"
    done = shlex.quote(f"{script}.done")
    edit = f"touch {done}; echo '#define ANSWER 7777' > {shlex.quote(str(value))}"
    script.write_text(
        f'#!/bin/sh\n[ -e {done} ] || {{ {edit}; }}\nexec {shlex.join(toolchain.command)} "$@"\n'
    )
    script.chmod(0o755)
    editing = replace(toolchain, command=(str(script),))
    path = build(SOURCE, toolchain=editing, include_dirs=[headers])
    assert answer(path) == 7777
    assert entries(home) == [path]
    assert build(SOURCE, toolchain=editing, include_dirs=[headers]) == path


def test_two_processes_at_once(
    toolchain: Toolchain, home: Path, headers: Path, tmp_path: Path
) -> None:
    """Two processes that compile the same source at once both succeed, and leave one entry."""
    source = tmp_path / "kernel.cpp"
    source.write_text(SOURCE)
    slow = slow_compiler(tmp_path / "slow", toolchain, 0.5, tmp_path / "mark")
    processes = [start(source, headers, PYPTO_CXX=str(slow)) for _ in range(2)]
    outputs = [process.communicate(timeout=250) for process in processes]
    (entry,) = entries(home)
    assert outputs == [(f"{entry} 42\n", "")] * 2
    assert [path.suffix for path in sorted(entry.parent.iterdir())] == [".cpp", ".sha256", ".so"]
    assert len(list(entry.parents[1].iterdir())) == 1


def test_killed_build(toolchain: Toolchain, home: Path, headers: Path, tmp_path: Path) -> None:
    """After SIGKILL in the middle of a compilation there is no entry, and the next build works."""
    source = tmp_path / "kernel.cpp"
    source.write_text(SOURCE)
    mark = tmp_path / "mark"
    slow = slow_compiler(tmp_path / "slow", toolchain, 30, mark)
    process = start(source, headers, PYPTO_CXX=str(slow))
    deadline = time.monotonic() + 250
    while not mark.exists() and time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    assert entries(home) == []
    (work,) = home.glob("*/tmp-*")
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    assert answer(path) == 42
    assert work.exists()  # it might belong to a build that is still running
    os.utime(work, (0, 0))
    build(SOURCE + "\n", toolchain=toolchain, include_dirs=[headers])
    assert not work.exists()


def test_truncated_entry_is_rebuilt(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """An object truncated at any point is rebuilt."""
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    whole = path.read_bytes()
    for kept in (0, 3, 40, 64, 200, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) == path
        assert path.stat().st_size == len(whole)
        assert answer(path) == 42


def test_every_truncation_is_seen(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """No truncated object is accepted as complete."""
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    size = path.stat().st_size
    assert is_verified(path)
    for kept in itertools.chain(range(size - 1, 1024, -997), range(1024, -1, -1)):
        os.truncate(path, kept)
        assert not is_verified(path)


def test_object_without_its_hash(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """An object whose hash is missing, truncated or followed by more data is not used."""
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    kept = path.with_suffix(".sha256")
    line = kept.read_bytes()
    assert line == f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n".encode()
    for damaged in (b"", line[:-1], line + b"x", line.replace(line[:1], b"g")):
        kept.write_bytes(damaged)
        assert not is_verified(path)
    kept.unlink()
    assert not is_verified(path)
    assert not is_verified(path.with_name("missing.so"))


def test_discard(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """A discarded entry is rebuilt; discarding twice is not an error."""
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    discard(path)
    discard(path)
    assert entries(home) == []
    assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) == path


def test_compile_error(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """For rejected source, the error has the compiler's message, the command, and a file to see."""
    with pytest.raises(CompileError) as caught:
        build("int f() {\n  return nothing;\n}\n", toolchain=toolchain, include_dirs=[headers])
    error = caught.value
    lines = str(error).splitlines()
    assert lines[0] == "the C++ compiler failed with exit code 1"
    assert lines[1].startswith(f"  {error.source}:2:10: error: ")
    assert "nothing" in lines[1]
    assert lines[-1] == f"  command: {shlex.join(error.command)}"
    assert error.command[: len(toolchain.command)] == toolchain.command
    assert "nothing" in error.stderr
    assert error.source.read_text() == "int f() {\n  return nothing;\n}\n"
    assert entries(home) == []
    assert list(home.glob("*/tmp-*")) == []
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_compile_error_text() -> None:
    """The text starts at the first error line, skips warnings, and stays short."""
    noise = "k.cpp:1:1: warning: unused\n\n"
    errors = "".join(f"k.cpp:{i}:1: error: bad\n" for i in range(1, 20))
    error = CompileError(("c++", "a b.cpp"), noise + errors, Path("k.cpp"), 1)
    shown = "".join(f"  k.cpp:{i}:1: error: bad\n" for i in range(1, 9))
    expected = f"the C++ compiler failed with exit code 1\n{shown}  command: c++ 'a b.cpp'"
    assert str(error) == expected


def test_compile_timeout(
    toolchain: Toolchain, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler that hangs is stopped, and the error says so."""
    monkeypatch.setattr(cache, "COMPILE_TIMEOUT_S", 0.2)
    slow = slow_compiler(tmp_path / "slow", toolchain, 30, tmp_path / "mark")
    with pytest.raises(CompileError, match=r"^the C\+\+ compiler took longer than 0 s\n"):
        build("\n", toolchain=replace(toolchain, command=(str(slow),)), include_dirs=[])
    assert list(home.glob("*/tmp-*")) == []


@pytest.mark.usefixtures("fresh_fallback")
def test_unwritable_directory(
    toolchain: Toolchain, headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache directory that cannot be created gives one warning, and kernels still build."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "file" / "cache"))
    home = tmp_path / "file" / "cache" / str(cache.SCHEMA)
    with pytest.warns(RuntimeWarning) as seen:
        path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    assert [str(warning.message) for warning in seen] == [
        f"the kernel cache {home} cannot be written (Not a directory), so compiled kernels are "
        "kept for this process only; set PYPTO_CACHE_DIR to a directory that can be written"
    ]
    assert seen[0].filename == __file__
    assert answer(path) == 42
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) == path
        build(SOURCE + "\n", toolchain=toolchain, include_dirs=[headers])


def test_own_directory_ends_with_process(
    toolchain: Toolchain, headers: Path, tmp_path: Path
) -> None:
    """The temporary substitute for an unwritable directory is removed when the process ends."""
    source = tmp_path / "kernel.cpp"
    source.write_text(SOURCE)
    process = start(source, headers, PYPTO_CACHE_DIR=str(source / "cache"))
    stdout, stderr = process.communicate(timeout=250)
    path, value = stdout.rsplit(maxsplit=1)
    assert value == "42"
    assert not Path(path).parents[1].exists()
    assert stderr.count("RuntimeWarning") == 1


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
@pytest.mark.usefixtures("fresh_fallback")
def test_read_only_cache_is_used(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """Entries of a read-only directory are found without a warning."""
    path = build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    (home / str(cache.SCHEMA)).chmod(0o500)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert build(SOURCE, toolchain=toolchain, include_dirs=[headers]) == path
    finally:
        (home / str(cache.SCHEMA)).chmod(0o700)


def test_directory_is_private(toolchain: Toolchain, home: Path, headers: Path) -> None:
    """Nobody else can write objects that this user would then run."""
    build(SOURCE, toolchain=toolchain, include_dirs=[headers])
    assert home.stat().st_mode & 0o777 == 0o700


def test_concurrent_threads_and_many_sources(
    toolchain: Toolchain, home: Path, headers: Path
) -> None:
    """Threads that build different and equal sources at once get the right objects."""

    def make(i: int) -> int:
        text = SOURCE.replace("return ANSWER", f"return ANSWER + {i % 3}")
        return answer(build(text, toolchain=toolchain, include_dirs=[headers]))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(make, range(12))) == [42 + i % 3 for i in range(12)]
    assert len(entries(home)) == 3
