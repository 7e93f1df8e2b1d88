"""Calling compiled kernels: words in, errors out, and damaged objects."""

from __future__ import annotations

import ctypes
import hashlib
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pypto._src.run.cache import is_verified
from pypto._src.run.native import KernelError, NativeKernel, launcher_source, load_kernel, pack
from pypto._src.run.toolchain import (
    NAMES,
    Toolchain,
    ToolchainError,
    find_toolchain,
    sanitizer_environment,
)
from tests.natively import compiler

SRC = Path(__file__).parents[2] / "src"
REAL_HEADERS = SRC / "pypto" / "include"

# What the launcher and the tests use, with the real headers' names; `stop.hpp` is theirs.
STAND_IN = """\
#pragma once
#include <cstdint>
#include <pto/detail/core/stop.hpp>
namespace pto::cpu {
inline thread_local const char* message = nullptr;
inline thread_local uint32_t index = 0, count = 1;
inline const char* launch(
    Run* run, uint32_t idx, uint32_t num, void (*body)(int64_t*), int64_t* args) {
    PythonCall call(*run->host);
    if (const char* refusal = call.begin()) return refusal;
    message = nullptr;
    index = idx;
    count = num;
    body(args);
    call.end();
    return message;
}
}
"""

# args[0] += 2 * args[1]; args[2], args[3] = block index and count; args[4] != 0 is an error
KERNEL = """\
#include <pto/pto-inst.hpp>
extern "C" void kernel_entry(int64_t* args) {
    args[0] += 2 * args[1];
    args[2] = pto::cpu::index;
    args[3] = pto::cpu::count;
    if (args[4] != 0) pto::cpu::message = "tile is not \\xc3\\xa0 la mode";
}
"""


@pytest.fixture
def toolchain(monkeypatch: pytest.MonkeyPatch) -> Toolchain:
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    return compiler()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(path))
    return path


@pytest.fixture
def headers(tmp_path: Path) -> Path:
    path = tmp_path / "include"
    (path / "pto" / "detail" / "core").mkdir(parents=True)
    (path / "pto" / "pto-inst.hpp").write_text(STAND_IN)
    stop = Path("pto", "detail", "core", "stop.hpp")
    (path / stop).write_text((REAL_HEADERS / stop).read_text())
    return path


@pytest.fixture
def kernel(toolchain: Toolchain, headers: Path) -> NativeKernel:
    return load_kernel(KERNEL, toolchain=toolchain, include_dirs=[headers])


def test_words_are_passed_in_place(kernel: NativeKernel) -> None:
    """A packed array is passed to the kernel itself, which may write to it, call after call."""
    words = pack([10, 3, -1, -1, 0])
    kernel(words)
    assert list(words) == [16, 3, 0, 1, 0]
    kernel(words, 7, 24)
    assert list(words) == [22, 3, 7, 24, 0]


def test_sequence_is_copied(kernel: NativeKernel) -> None:
    """A list is only read."""
    words = [10, 3, -1, -1, 0]
    kernel(words)
    assert words == [10, 3, -1, -1, 0]


def test_error_is_raised_once(kernel: NativeKernel) -> None:
    """The kernel's message becomes the exception, and the next call starts clean."""
    with pytest.raises(KernelError) as caught:
        kernel([0, 0, 0, 0, 1])
    assert str(caught.value) == "tile is not à la mode"
    kernel([0, 0, 0, 0, 0])


def test_pack_keeps_64_bits() -> None:
    """The ends of the range fit; the next integers are rejected instead of truncated."""
    ends = [-(2**63), 2**63 - 1]
    assert list(pack(ends)) == ends
    assert list(pack([])) == []
    for word in (2**63, -(2**63) - 1):
        with pytest.raises(OverflowError):
            pack([word])
    with pytest.raises(TypeError):
        pack([1.5])  # pyright: ignore[reportArgumentType]


def test_address_of_memory(toolchain: Toolchain, headers: Path) -> None:
    """A word can be the address of memory that the kernel changes."""
    source = '#include <pto/pto-inst.hpp>\nextern "C" void scale(int64_t* args) {\n'
    source += "  float* x = reinterpret_cast<float*>(args[0]);\n"
    source += "  for (int64_t i = 0; i < args[1]; ++i) x[i] *= 2.0f;\n}\n"
    kernel = load_kernel(source, "scale", toolchain=toolchain, include_dirs=[headers])
    values = (ctypes.c_float * 4)(1, 2, 3, 4)
    kernel([ctypes.addressof(values), 4])
    assert list(values) == [2, 4, 6, 8]


def test_kernels_do_not_share_state(toolchain: Toolchain, headers: Path) -> None:
    """Each kernel has its own copy of the headers' variables and functions."""
    counting = STAND_IN + "namespace pto::cpu { inline int64_t calls = 0; }\n"
    (headers / "pto" / "pto-inst.hpp").write_text(counting)
    source = '#include <pto/pto-inst.hpp>\nextern "C" void kernel_entry(int64_t* args) {\n'
    source += "  args[0] = ++pto::cpu::calls;\n}\n"
    first = load_kernel(source, toolchain=toolchain, include_dirs=[headers])
    second = load_kernel(source + "\n", toolchain=toolchain, include_dirs=[headers])
    words = pack([0])
    first(words)
    first(words)
    assert words[0] == 2
    second(words)
    assert words[0] == 1


def test_threads_run_at_once(toolchain: Toolchain, headers: Path) -> None:
    """A call releases the GIL: two calls wait for each other and both end."""
    source = '#include <pto/pto-inst.hpp>\nextern "C" void kernel_entry(int64_t* args) {\n'
    source += "  int* n = reinterpret_cast<int*>(args[0]);\n  __atomic_fetch_add(n, 1, 5);\n"
    source += "  for (int64_t i = 0; i < 5000000000 && __atomic_load_n(n, 5) < 2; ++i) {}\n"
    source += "  args[1] = __atomic_load_n(n, 5);\n}\n"
    kernel = load_kernel(source, toolchain=toolchain, include_dirs=[headers])
    met = ctypes.c_int(0)
    both = [pack([ctypes.addressof(met), 0]) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(kernel, both))
    assert [words[1] for words in both] == [2, 2]


def test_errors_stay_with_their_thread(kernel: NativeKernel) -> None:
    """An error in one thread is not reported in another."""
    barrier = threading.Barrier(4)

    def call(i: int) -> str:
        barrier.wait()
        for _ in range(200):
            try:
                kernel([0, 0, 0, 0, i % 2])
            except KernelError:
                if i % 2 == 0:
                    return "foreign"
            else:
                if i % 2 == 1:
                    return "lost"
        return "right"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(call, range(4))) == ["right"] * 4


@pytest.mark.parametrize("keep", [0, 100, 0.5])
def test_damaged_object_is_healed(
    keep: float, toolchain: Toolchain, headers: Path, tmp_path: Path, home: Path
) -> None:
    """A truncated object in the cache is rebuilt before it is loaded."""
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from pypto._src.run.native import load_kernel, pack\n"
        "from pypto._src.run.toolchain import find_toolchain\n"
        "kernel = load_kernel(Path(sys.argv[1]).read_text(), toolchain=find_toolchain(),\n"
        "                     include_dirs=[Path(sys.argv[2])])\n"
        "words = pack([10, 3, 0, 0, 0]); kernel(words); print(words[0])\n"
    )
    source = tmp_path / "kernel.cpp"
    source.write_text(KERNEL)
    command = [sys.executable, "-c", program, str(source), str(headers)]
    environment = {**os.environ, "PYTHONPATH": str(SRC)}
    for _ in range(2):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        assert (done.stdout, done.stderr) == ("16\n", "")
        (entry,) = home.rglob("*.so")
        size = entry.stat().st_size
        os.truncate(entry, int(keep * size) if isinstance(keep, float) else keep)


def test_unloadable_object_is_made_anew(
    toolchain: Toolchain, headers: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An object that looks complete but is rejected by the loader is removed and rebuilt."""
    first = load_kernel(KERNEL, toolchain=toolchain, include_dirs=[headers])
    first.path.unlink()
    first.path.write_text("not an object at all")
    digest = hashlib.sha256(first.path.read_bytes()).hexdigest()
    first.path.with_suffix(".sha256").write_text(f"{digest}  {first.path.name}\n")
    assert is_verified(first.path)
    moved = home.rename(home.with_name("second"))  # a path that the loader has not seen
    monkeypatch.setenv("PYPTO_CACHE_DIR", str(moved))
    kernel = load_kernel(KERNEL, toolchain=toolchain, include_dirs=[headers])
    words = pack([1, 1, 0, 0, 0])
    kernel(words)
    assert words[0] == 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the linker refuses it")
def test_object_that_never_loads(toolchain: Toolchain, headers: Path) -> None:
    """An object that does not load even after a rebuild is an error with the loader's message."""
    source = 'extern "C" void missing_function();\n' + KERNEL.replace(
        "args[3] =", "missing_function(); args[3] ="
    )
    with pytest.raises(KernelError, match=r"^a compiled kernel does not load: .*missing_function"):
        load_kernel(source, toolchain=toolchain, include_dirs=[headers])


def test_missing_symbol(kernel: NativeKernel) -> None:
    """A missing symbol is reported together with the file."""
    with pytest.raises(KernelError) as caught:
        NativeKernel(kernel.path, "start")
    assert str(caught.value) == f"{kernel.path} has no symbol start"


def test_launcher_text() -> None:
    """The launcher is the same text for every kernel except for the entry's name."""
    text = launcher_source("softmax")
    assert text.endswith(
        'extern "C" PYPTO_EXPORT const char* pypto_launch(\n'
        "    int64_t* args, uint32_t block_idx, uint32_t block_num, pto::cpu::Run* run) {\n"
        "    return pto::cpu::launch(run, block_idx, block_num, [](int64_t* args) {\n"
        "        softmax(args);\n"
        "    }, args);\n"
        "}\n"
    )
    assert text.replace("softmax", "kernel_entry") == launcher_source("kernel_entry")


@pytest.mark.parametrize("entry", ["", "a b", "f();", "4x", "schön"])
def test_launcher_refuses_other_text(entry: str) -> None:
    """Only an identifier can be an entry."""
    with pytest.raises(ValueError, match="is not the name of a C"):
        launcher_source(entry)


@pytest.mark.skipif(sys.platform != "linux", reason="the runtime is loaded with LD_PRELOAD")
def test_sanitizer_finds_overrun(
    headers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sanitized kernel that reads past its memory stops with a report of the source line."""
    monkeypatch.delenv("PYPTO_CXX", raising=False)
    toolchain = find_toolchain(sanitize=True)
    environment = sanitizer_environment(toolchain) if toolchain else {}
    if not environment:
        pytest.skip("no address sanitizer")
    source = tmp_path / "kernel.cpp"
    source.write_text(
        '#include <pto/pto-inst.hpp>\nextern "C" void kernel_entry(int64_t* args) {\n'
        "  int64_t* x = new int64_t[args[1]]();\n  args[0] = x[args[0]];\n  delete[] x;\n}\n"
    )
    program = (
        "import sys\nfrom pathlib import Path\n"
        "from pypto._src.run.native import load_kernel\n"
        "from pypto._src.run.toolchain import find_toolchain\n"
        "toolchain = find_toolchain(sanitize=True)\n"
        "kernel = load_kernel(Path(sys.argv[1]).read_text(), toolchain=toolchain,\n"
        "                     include_dirs=[Path(sys.argv[2])])\n"
        "kernel([int(sys.argv[3]), 4]); print('survived')\n"
    )

    def call(index: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", program, str(source), str(headers), str(index)]
        variables = {**os.environ, "PYTHONPATH": str(SRC), **environment}
        return subprocess.run(command, capture_output=True, text=True, env=variables)

    assert call(3).stdout == "survived\n"
    overrun = call(4)
    assert overrun.returncode != 0
    assert overrun.stdout == ""
    assert "heap-buffer-overflow" in overrun.stderr
    assert ".cpp:4" in overrun.stderr


@pytest.mark.skipif(not (REAL_HEADERS / "pto" / "pto-inst.hpp").exists(), reason="no headers yet")
@pytest.mark.parametrize(
    "name", [*NAMES, f"{sys.executable} -m ziglang c++"], ids=[*NAMES, "ziglang"]
)
def test_real_headers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher compiles against the package's own headers with every available compiler."""
    monkeypatch.setenv("PYPTO_CXX", name)
    try:
        toolchain = find_toolchain()
    except ToolchainError:
        pytest.skip(f"no {name}")
    assert toolchain is not None
    source = '#include <pto/pto-inst.hpp>\nextern "C" void kernel_entry(int64_t* args) {\n'
    source += "  args[0] += 1;\n}\n"
    kernel = load_kernel(source, toolchain=toolchain, include_dirs=[REAL_HEADERS])
    words = pack([41])
    kernel(words)
    assert words[0] == 42


def test_call_is_cheap(kernel: NativeKernel) -> None:
    """A call with packed words is a single C call: nothing is copied, converted or looked up."""
    words = pack([0, 0, 0, 0, 0])
    calls: list[str] = []

    def note(frame: FrameType, event: str, function: Any) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)
        elif event == "c_call":
            calls.append(function.__name__)

    kernel(words)
    sys.setprofile(note)
    try:
        kernel(words)
    finally:
        sys.setprofile(None)
    assert calls == ["__call__", "isinstance", "setprofile"]
