"""Which compiler is found, which is skipped and why, and the exact texts about it."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import select
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pypto._src.run import toolchain
from pypto._src.run.toolchain import (
    Toolchain,
    ToolchainError,
    find_toolchain,
    no_compiler_message,
    sanitizer_environment,
)

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts"),
    pytest.mark.usefixtures("shipped_flags"),
]

PATH = os.environ["PATH"]
SYSTEM = next((path for name in toolchain.NAMES if (path := shutil.which(name))), None)
needs_compiler = pytest.mark.skipif(SYSTEM is None, reason="no C++ compiler on PATH")


@pytest.fixture(autouse=True)
def forget_probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Forget what is known about each command: here one command means different compilers."""
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(tmp_path / "cache"))
    toolchain._probe.cache_clear()  # pyright: ignore[reportPrivateUsage]
    yield
    toolchain._probe.cache_clear()  # pyright: ignore[reportPrivateUsage]


@pytest.fixture
def bin_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty directory as the whole PATH; PYPTO_CXX is not set."""
    path = tmp_path / "bin"
    path.mkdir()
    monkeypatch.setenv("PATH", str(path))
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    return path


@pytest.fixture
def no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(name: str) -> None:
        assert name == "ziglang"

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)


@pytest.fixture
def tmp_path(tmp_path: Path) -> Path:
    """A path that a shell would split in two, as temporary paths on some systems."""
    path = tmp_path / "two words"
    path.mkdir()
    return path


def word(path: Path) -> str:
    """Return a path quoted for a shell."""
    return shlex.quote(str(path))


def write_script(path: Path, body: str) -> Path:
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def write_compiler(path: Path) -> Path:
    """Write a script that runs the system's compiler."""
    return write_script(path, f'PATH={shlex.quote(PATH)} exec {shlex.quote(str(SYSTEM))} "$@"')


@pytest.mark.usefixtures("bin_dir", "no_wheel")
def test_no_compiler() -> None:
    """With an empty PATH there is no toolchain, and the message says what was tried."""
    assert find_toolchain() is None
    assert no_compiler_message() == (
        "no C++ compiler that works was found; tried\n"
        "  c++: not on PATH\n"
        "  g++: not on PATH\n"
        "  clang++: not on PATH\n"
        "  ziglang: not installed\n"
        'hint: pip install "pypto[toolchain]", or set PYPTO_CXX to a C++17 compiler'
    )


@pytest.mark.usefixtures("no_wheel")
def test_broken_candidates_are_reported(bin_dir: Path) -> None:
    """A program on PATH that does not work is skipped, with its own message as the reason."""
    write_script(bin_dir / "c++", 'echo "xcrun: error: no developer tools" >&2; exit 1')
    write_script(
        bin_dir / "g++",
        '[ "$1" = --version ] && { echo "g++ 1"; exit; }\necho "x.cpp:1: fatal error: gone" >&2\n'
        "exit 1",
    )
    write_script(bin_dir / "clang++", "echo nothing")
    assert find_toolchain() is None
    assert no_compiler_message() == (
        "no C++ compiler that works was found; tried\n"
        f"  c++: {word(bin_dir / 'c++')} --version fails: xcrun: error: no developer tools\n"
        f"  g++: {word(bin_dir / 'g++')} does not compile: x.cpp:1: fatal error: gone\n"
        f"  clang++: {word(bin_dir / 'clang++')} makes no object\n"
        "  ziglang: not installed\n"
        'hint: pip install "pypto[toolchain]", or set PYPTO_CXX to a C++17 compiler'
    )


@needs_compiler
def test_order_and_skipping(bin_dir: Path) -> None:
    """The first name that works wins, even after one that does not."""
    for name in ("g++", "clang++"):
        write_compiler(bin_dir / name)
    write_script(bin_dir / "c++", "exit 3")
    found = find_toolchain()
    assert found is not None
    assert found.command == (str(bin_dir / "g++"),)


@needs_compiler
def test_probe_runs_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A compiler is tried once per process: a version and a compilation."""
    log = tmp_path / "calls"
    real = write_compiler(tmp_path / "real")
    counting = write_script(tmp_path / "counting", f'echo >> {word(log)}\nexec {word(real)} "$@"')
    monkeypatch.setenv("PYPTO_CXX", str(counting))
    assert find_toolchain() == find_toolchain()
    assert len(log.read_text()) == 2


@needs_compiler
def test_another_process_remembers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For a compiler that worked, only the version is queried, until it changes or fails."""
    log = tmp_path / "calls"
    real = write_compiler(tmp_path / "real")
    text = f'echo >> {word(log)}\nexec {word(real)} "$@"'
    monkeypatch.setenv("PYPTO_CXX", str(write_script(tmp_path / "counting", text)))

    def calls_of_a_process() -> int:
        toolchain._probe.cache_clear()  # pyright: ignore[reportPrivateUsage]
        before = len(log.read_text()) if log.exists() else 0
        found.append(find_toolchain())
        return len(log.read_text()) - before

    found: list[Toolchain | None] = []
    assert [calls_of_a_process(), calls_of_a_process()] == [2, 1]
    assert found[0] == found[1]
    assert found[0] is not None
    toolchain.forget(found[0])
    assert [calls_of_a_process(), calls_of_a_process()] == [2, 1]
    write_script(tmp_path / "counting", f"{text} -Wall")
    assert [calls_of_a_process(), calls_of_a_process()] == [2, 1]
    for kept in (tmp_path / "cache" / "compilers").iterdir():
        kept.write_text("-march=other")
    assert [calls_of_a_process(), calls_of_a_process()] == [2, 1]


@needs_compiler
def test_system_compiler_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    """The flags ask for C++17, this CPU, and no floating-point contraction or fast math."""
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    found = find_toolchain()
    assert found is not None
    assert {"-std=c++17", "-O3", "-fPIC", "-shared", "-ffp-contract=off"} < set(found.flags)
    assert found.tuning in (("-march=native",), ("-mcpu=native",))
    assert not any("fast-math" in flag for flag in found.flags)
    assert found.label == f"{found.command[0]} ({found.version.splitlines()[0]})"


@needs_compiler
def test_products_are_not_fused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A product and a sum round twice, std::fma once."""
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    found = find_toolchain()
    assert found is not None
    source = tmp_path / "fuse.cpp"
    export = 'extern "C" __attribute__((visibility("default"))) double'
    source.write_text(
        "#include <cmath>\n"
        f"{export} two(double a, double b, double c) {{ return a * b + c; }}\n"
        f"{export} one(double a, double b, double c) {{ return std::fma(a, b, c); }}\n"
    )
    output = tmp_path / "fuse.so"
    subprocess.run([*found.command, *found.flags, source, "-o", output], check=True)
    library = ctypes.CDLL(str(output))
    results: list[float] = []
    for function in (library.two, library.one):
        function.restype = ctypes.c_double
        function.argtypes = [ctypes.c_double] * 3
        results.append(function(1 + 2**-30, 1 - 2**-30, -1.0))
    assert results == [0.0, -(2.0**-60)]


@needs_compiler
def test_chosen_with_arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PYPTO_CXX may hold arguments, quotes, or one path with a space in it."""
    (tmp_path / "a b").mkdir()
    compiler = write_compiler(tmp_path / "a b" / "cxx")
    monkeypatch.setenv("PYPTO_CXX", f"'{compiler}' -DX=1")
    found = find_toolchain()
    assert found is not None
    assert found.command == (str(compiler), "-DX=1")
    monkeypatch.setenv("PYPTO_CXX", str(compiler))
    found = find_toolchain()
    assert found is not None
    assert found.command == (str(compiler),)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("no-such-compiler", "not on PATH"),
        ("/no/such/compiler -O2", "no program /no/such/compiler"),
        ("g++ 'open", "No closing quotation"),
    ],
)
def test_chosen_is_missing(value: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad PYPTO_CXX is an error with its value, and no other compiler is used."""
    monkeypatch.setenv("PYPTO_CXX", value)
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        f"PYPTO_CXX is {value!r}: {reason}; it takes a C++17 compiler command"
    )


def test_chosen_is_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A PYPTO_CXX that runs but does not compile is an error with the compiler's own line."""
    script = write_script(
        tmp_path / "cxx", '[ "$1" = --version ] && exit 0\necho "cxx: error: no" >&2; exit 1'
    )
    monkeypatch.setenv("PYPTO_CXX", str(script))
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        f"PYPTO_CXX is '{script}': {word(script)} does not compile: cxx: error: no; "
        "it takes a C++17 compiler command"
    )


def test_chosen_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An executable file that the system cannot start is an error, not a crash."""
    path = tmp_path / "cxx"
    path.write_bytes(b"\0not a program")
    path.chmod(0o755)
    monkeypatch.setenv("PYPTO_CXX", str(path))
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    assert str(caught.value) == (
        f"PYPTO_CXX is '{path}': {path} cannot be started (Exec format error); "
        "it takes a C++17 compiler command"
    )


def test_object_for_another_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler whose objects do not load here, such as a cross compiler, is not used."""
    body = '[ "$1" = --version ] && exit\nfor last; do :; done\necho "for another" > "$last"'
    script = write_script(tmp_path / "cross", body)
    monkeypatch.setenv("PYPTO_CXX", str(script))
    with pytest.raises(ToolchainError) as caught:
        find_toolchain()
    begin = f"PYPTO_CXX is '{script}': {word(script)} makes an object that does not load: "
    assert str(caught.value).startswith(begin)


@needs_compiler
def test_tuning_falls_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that refuses -march=native is used without it."""
    real = write_compiler(tmp_path / "real")
    refuse = 'for a; do case "$a" in -m*=native) echo "error: $a" >&2; exit 1;; esac; done'
    picky = write_script(tmp_path / "picky", f'{refuse}\nexec {word(real)} "$@"')
    monkeypatch.setenv("PYPTO_CXX", str(picky))
    found = find_toolchain()
    assert found is not None
    assert found.tuning == ()


@needs_compiler
@pytest.mark.usefixtures("bin_dir")
def test_ziglang_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An installed ziglang is used last, through the Python that runs, without an import."""
    compiler = write_compiler(tmp_path / "real")
    package = tmp_path / "site" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(
        "import os, sys\n"
        "assert sys.argv[1] == 'c++'\n"
        "args = [a for a in sys.argv[2:] if a != '-mcpu=native']\n"
        f"os.execv({str(compiler)!r}, ['cxx', *args])\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.setattr(sys, "path", [str(package.parent), *sys.path])
    found = find_toolchain()
    assert found is not None
    assert found.command == (sys.executable, "-m", "ziglang", "c++")
    assert found.kind == "zig"
    assert found.tuning == ("-mcpu=native",)
    assert "ziglang" not in sys.modules


def test_long_wait_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """When the first use of zig takes long, a log line says why."""
    monkeypatch.setattr(toolchain, "NOTICE_AFTER_S", 0.05)
    script = write_script(tmp_path / "zig", '[ "$2" = --version ] || { sleep 0.5; exit 1; }')
    monkeypatch.setenv("PYPTO_CXX", f"{word(script)} c++")
    with pytest.raises(ToolchainError, match="does not compile: exit code 1"):
        find_toolchain()
    assert caplog.messages[0] == (
        f"trying the C++ compiler {word(script)} c++; "
        "zig builds its C++ library first, once, in about a minute"
    )


@pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="ziglang not installed")
@pytest.mark.usefixtures("bin_dir")
def test_real_ziglang() -> None:
    """The real wheel makes objects that load, for this CPU and without sanitizer traps."""
    found = find_toolchain()
    assert found is not None
    assert found.kind == "zig"
    assert found.tuning == ("-mcpu=native",)
    assert "-fno-sanitize=undefined" in found.flags


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("gcc", ["-fno-sanitize-recover=all", "-fsanitize=address,undefined"]),
        (
            "clang",
            ["-fno-sanitize-recover=all", "-fsanitize=address,undefined", "-shared-libsan"],
        ),
        ("zig", ["-fno-sanitize-recover=all", "-fsanitize=undefined"]),
    ],
)
def test_sanitizer_flags(kind: toolchain.Kind, expected: list[str]) -> None:
    """Each compiler gets the sanitizers that it supports, and light optimization."""
    flags = Toolchain(("cxx",), kind, "", (), sanitize=True).flags
    assert [flag for flag in flags if "san" in flag] == expected
    assert "-O1" in flags
    assert "-O3" not in flags


@pytest.mark.skipif("CI" not in os.environ, reason="a laptop may have no compiler")
def test_ci_has_a_compiler() -> None:
    """In CI, no test is skipped for lack of a compiler."""
    assert find_toolchain() is not None


def test_sanitizer_environment_of_plain_toolchain() -> None:
    """Without sanitizers nothing needs to be preloaded."""
    assert sanitizer_environment(Toolchain(("cxx",), "gcc", "", ())) == {}


@pytest.mark.parametrize(
    ("loaded", "kept"),
    [
        ("/lib/libasan.so:/lib/none.so", "/lib/none.so"),
        ("/lib/libtsan.so", ""),
        ("/lib/none.so", "/lib/none.so"),
    ],
)
def test_compilers_run_without_sanitizers(
    loaded: str, kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sanitizer that this process was started with is not loaded into a compiler."""
    script = write_script(tmp_path / "cxx", 'echo "[$DYLD_INSERT_LIBRARIES]"')
    # The other platform's loader variable: with this platform's, the libraries would have to exist.
    monkeypatch.setenv("DYLD_INSERT_LIBRARIES", loaded)
    assert toolchain.run([str(script)], timeout_s=30.0).stdout == f"[{kept}]\n"


def test_timeout_kills_children(tmp_path: Path) -> None:
    """A command that times out is killed with the processes it started."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    child = f"(echo began; exec sleep 600) > {shlex.quote(str(fifo))}"
    script = write_script(tmp_path / "slow", f"{child} & sleep 600")
    reading = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    try:
        found = b""
        for timeout_s in (0.3, 3.0, 30.0):  # on a busy machine the child may not begin at once
            assert toolchain.run([str(script)], timeout_s=timeout_s).code is None
            found = os.read(reading, 100)
            if found:
                break
        assert found == b"began\n"
        select.select([reading], [], [], 120)  # until no process holds the other end any more
        assert os.read(reading, 100) == b""
    finally:
        os.close(reading)
