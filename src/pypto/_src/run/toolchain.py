"""Find a C++ compiler that works on this machine, and say what was tried when there is none.

Owns the compiler's command, flags and process; knows nothing about kernels.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import platform
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pypto._src import knobs
from pypto._src.errors import PyptoError
from pypto._src.logs import log_event
from pypto._src.run.objects.ownership import make_private
from pypto._src.run.shield import current, shielded

Kind = Literal["gcc", "clang", "zig", "other"]

NAMES = ("c++", "g++", "clang++")  # looked for on PATH, in this order

VERSION_TIMEOUT_S = 30.0
PROBE_TIMEOUT_S = 600.0  # zig builds its C++ library at first use: 40 s on four cores
_KILL_GRACE_S = 5.0  # until killed processes are gone
NOTICE_AFTER_S = 3.0  # how long a user waits without a message

# Results have to be the same on every machine and equal NumPy's, so nothing that reorders or fuses
# arithmetic is allowed: no -ffast-math, and no contraction of a * b + c into one rounding. Where
# one rounding is meant, as in matmul, the headers call std::fma, which -march=native makes one
# instruction. The two -fno flags leave every value alone: they give up errno and the floating
# point exception flags, which nobody reads, and let sqrt and selects become vector code.
_NUMERICS = ("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-fwrapv")

# Hidden symbols: the functions and variables of the headers stay private to one kernel, unless a
# header exports them. Otherwise the compiler would decide: g++ shares inline variables between all
# objects of a process, clang on Linux does not.
_COMMON = ("-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", *_NUMERICS)

# zig switches trapping UBSan on in unoptimized builds; the others take the flag as a no-op.
FAST = ("-O3", "-fno-sanitize=undefined")
_SANITIZE = ("-O1", "-g", "-fno-omit-frame-pointer", "-fno-sanitize-recover=all")

# Compilers spell "this machine" in one of two ways, or have no flag for it.
_TUNINGS: tuple[tuple[str, ...], ...] = (("-march=native",), ("-mcpu=native",), ())
_ZIG_TUNINGS = (_TUNINGS[1], _TUNINGS[2])

ADDRESS = "address,undefined"
"""The sanitizers of memory and undefined behaviour, which cannot be combined with `THREAD`."""

THREAD = "thread"

POISON = "poison"
"""Not a compiler sanitizer: tiles and tensors begin as NaN (-1 in integers), not as zeros."""

_CLANG_NAMES = {ADDRESS: "asan", THREAD: "tsan"}
_RUNTIMES: dict[tuple[Kind, str], tuple[str, ...]] = {
    ("gcc", ADDRESS): ("libasan.so",),
    ("gcc", THREAD): ("libtsan.so",),
    **{
        ("clang", which): (
            f"libclang_rt.{name}.so",
            f"libclang_rt.{name}-{platform.machine()}.so",
            f"libclang_rt.{name}_osx_dynamic.dylib",
        )
        for which, name in _CLANG_NAMES.items()
    },
}
_NOT_RACES = Path(__file__).with_name("thread_sanitizer.txt")
_SANITIZER_OPTIONS = {
    # Python itself leaks memory at exit.
    ADDRESS: {"ASAN_OPTIONS": "detect_leaks=0"},
    THREAD: {"TSAN_OPTIONS": f"halt_on_error=1:exitcode=66:suppressions='{_NOT_RACES}'"},
}

_PROBE = """\
#include <cstdint>
extern "C" __attribute__((visibility("default"))) std::int64_t pypto_probe() { return 910; }
"""


class ToolchainError(PyptoError, RuntimeError):
    """PYPTO_CXX names a compiler that cannot be used: ``PYPTO_CXX=no-such-compiler``."""

    slug = "toolchain"


@dataclass(frozen=True)
class Toolchain:
    """A compiler that has built a shared object which loads here.

    ``[*command, *flags, source, "-o", output]`` is a complete command line. ``version`` is the
    whole output of ``--version``.
    """

    command: tuple[str, ...]
    kind: Kind
    version: str
    tuning: tuple[str, ...]
    sanitize: bool | str = False  # True is `ADDRESS`

    @property
    def label(self) -> str:
        """One readable line: the command and the first line of its version."""
        first_line = self.version.partition("\n")[0]
        return f"{shlex.join(self.command)} ({first_line})"

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags that make a shared object of one C++ source."""
        if self.sanitize == POISON:
            mode = (*FAST, "-DPTO_POISON")
        else:
            mode = (*_SANITIZE, *self._sanitizers()) if self.sanitize else FAST
        return (*_COMMON, *mode, *self.tuning)

    def _sanitizers(self) -> tuple[str, ...]:
        which = ADDRESS if self.sanitize is True else self.sanitize
        match self.kind:
            case "zig":  # has no address sanitizer, and ignores the flag silently
                return ("-fsanitize=undefined",)
            case "clang":  # its static runtime cannot be loaded into a running process
                return (f"-fsanitize={which}", "-shared-libsan")
            case _:
                return (f"-fsanitize={which}",)


@dataclass(frozen=True)
class Finished:
    """The output of a process; ``code`` is None if it timed out."""

    code: int | None
    stdout: str
    stderr: str


def find_toolchain(*, sanitize: bool | str | None = None) -> Toolchain | None:
    """Return the compiler to use, or None if no compiler on this machine works.

    ``PYPTO_CXX`` decides alone when it is set. Otherwise the first of c++, g++ and clang++ on PATH
    that builds a shared object, then zig from the ``ziglang`` wheel. Each compiler is tried once;
    that it works is remembered in the cache directory.

    Args:
        sanitize: Build with the sanitizers `ADDRESS` (or True) or `THREAD`. The object then loads
            only into a process started with `sanitizer_environment`; with `POISON` into any.
            If None, ``PYPTO_SANITIZE`` decides.

    Raises:
        ToolchainError: ``PYPTO_CXX`` is set and does not work, or ``PYPTO_SANITIZE`` is set in a
            process that was not started for it.
    """
    command = knobs.CXX.get()
    found = _first_working() if command is None else _chosen(command)
    if found is None:
        return None
    if sanitize is not None:
        return replace(found, sanitize=sanitize)
    wanted = knobs.SANITIZE.get()
    if wanted == knobs.SANITIZE.unset:
        return found
    found = replace(found, sanitize=wanted)
    if wanted != POISON:
        _check_loaded(found)
    return found


def _check_loaded(toolchain: Toolchain) -> None:
    """Reject sanitizers whose runtime is not loaded: the first kernel would end the process."""
    needed = sanitizer_environment(toolchain)
    if not needed:
        raise ToolchainError(
            f"PYPTO_SANITIZE is {toolchain.sanitize!r}, and {toolchain.label} has no such runtime"
        )
    variable, libraries = next(iter(needed.items()))
    if libraries.partition(":")[0] in os.environ.get(variable, ""):
        return
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in needed.items())
    raise ToolchainError(
        f"PYPTO_SANITIZE is {toolchain.sanitize!r}, and the sanitizer's runtime is not loaded",
        hint=f"start Python with {words}",
    )


def no_compiler_message() -> str:
    """Return what was tried, why each candidate was rejected, and what to type."""
    tried = [f"  {name}: {found}" for name, found in candidates() if isinstance(found, str)]
    return "\n".join(
        (
            "no C++ compiler that works was found; tried",
            *tried,
            'hint: pip install "pypto[toolchain]", or set PYPTO_CXX to a C++17 compiler',
        )
    )


def sanitizer_environment(toolchain: Toolchain) -> dict[str, str]:
    """Return the variables to start Python with before it loads sanitized objects.

    A sanitizer has to be loaded before everything else, together with the C++ library, whose
    exceptions it intercepts.
    """
    if not toolchain.sanitize or toolchain.sanitize == POISON:
        return {}
    which = ADDRESS if toolchain.sanitize is True else toolchain.sanitize
    variable = "DYLD_INSERT_LIBRARIES" if sys.platform == "darwin" else "LD_PRELOAD"
    runtime = _library(toolchain, _RUNTIMES.get((toolchain.kind, which), ()))
    if runtime is None:
        return {}
    standard = _library(toolchain, ("libstdc++.so.6", "libstdc++.so"))
    loaded = ":".join(str(path) for path in (runtime, standard) if path is not None)
    return {variable: loaded, **_SANITIZER_OPTIONS[which]}


def _library(toolchain: Toolchain, names: Sequence[str]) -> Path | None:
    """Return the path of the first of these libraries that the compiler has."""
    for name in names:
        done = run([*toolchain.command, f"-print-file-name={name}"], timeout_s=VERSION_TIMEOUT_S)
        path = Path(done.stdout.strip())
        if path.is_absolute():  # the compiler echoes a name that it does not know
            return path
    return None


def run(
    command: Sequence[str], *, timeout_s: float, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run a command to its end, without a shell, and return its output.

    On a timeout, or when the work that it is part of is abandoned (`shield`), the command and all
    that it started are killed: a compiler driver's own children would otherwise keep running. They
    have ended when this returns, and write no more files. A sanitizer that is loaded into
    this process is not loaded into the command, which would take three times as long under it.

    Args:
        command: The program and its arguments.
        timeout_s: Seconds until the command is killed.
        environment: Variables that differ from this process's.

    Raises:
        OSError: The program cannot be started.
        Abandoned: Nobody waits for the output any more.
    """
    shield = current()
    shield.check()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # English messages, so that errors can be distinguished from notes.
        env={**_without_sanitizers(os.environ), "LC_ALL": "C", **(environment or {})},
        process_group=None if sys.platform == "win32" else 0,
    )
    with process, shield.command(functools.partial(_kill, process)):
        try:
            stdout, stderr = process.communicate(timeout=timeout_s)
        except BaseException as error:
            _kill(process)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.communicate(
                    timeout=_KILL_GRACE_S
                )  # its children hold the other ends of pipes
            if isinstance(error, subprocess.TimeoutExpired):
                return Finished(None, "", "")
            raise
    return Finished(process.returncode, stdout, stderr)


def _without_sanitizers(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables without the libraries that `sanitizer_environment` preloads."""
    found = dict(variables)
    runtimes = {name for names in _RUNTIMES.values() for name in names}
    for variable in ("LD_PRELOAD", "DYLD_INSERT_LIBRARIES"):
        loaded = found.get(variable, "").split(":")
        if any(Path(library).name in runtimes for library in loaded):
            kept = [library for library in loaded if Path(library).name not in runtimes]
            found[variable] = ":".join(kept)
    return found


def _kill(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        process.kill()
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):  # ended by itself meanwhile
        os.killpg(process.pid, signal.SIGKILL)


def _chosen(text: str) -> Toolchain:
    """Return the toolchain that PYPTO_CXX asks for, or raise `ToolchainError`."""
    found = _try_words(_words(text))
    if isinstance(found, str):
        raise ToolchainError(f"PYPTO_CXX is {text!r}: {found}; it takes {knobs.CXX.wants}")
    return found


def _words(text: str) -> tuple[str, ...]:
    """Split as a shell does; an existing path with spaces is one word."""
    if Path(text).is_file():
        return (text,)
    try:
        words = shlex.split(text, posix=sys.platform != "win32")
    except ValueError as error:  # an open quote
        raise ToolchainError(
            f"PYPTO_CXX is {text!r}: {error}; it takes {knobs.CXX.wants}"
        ) from None
    return tuple(word.strip('"') for word in words)


def _first_working() -> Toolchain | None:
    return next((found for _, found in candidates() if isinstance(found, Toolchain)), None)


def candidates() -> Iterator[tuple[str, Toolchain | str]]:
    """Yield the name of each compiler looked for, with its toolchain or the reason it has none."""
    for name in NAMES:
        yield name, _try_words((name,))
    if importlib.util.find_spec("ziglang") is None:
        yield "ziglang", "not installed"
    else:
        yield "ziglang", _try_words((sys.executable, "-m", "ziglang", "c++"))


def _try_words(words: tuple[str, ...]) -> Toolchain | str:
    program = shutil.which(words[0])
    if program is None:
        return "not on PATH" if Path(words[0]).name == words[0] else f"no program {words[0]}"
    return _probe((str(Path(program).absolute()), *words[1:]))


@functools.cache
def _probe(command: tuple[str, ...]) -> Toolchain | str:
    """Build, load and call a one-line shared object; return the reason if that fails."""
    return shielded(lambda: _tried(command))


def _tried(command: tuple[str, ...]) -> Toolchain | str:
    try:
        version = run([*command, "--version"], timeout_s=VERSION_TIMEOUT_S)
    except OSError as error:
        return f"{command[0]} cannot be started ({error.strerror})"
    if version.code != 0:
        return f"{shlex.join(command)} --version fails: {_outcome(version)}"
    text = version.stdout.strip()
    kind = _kind(command, text)
    kept = _record(command, text)
    tuning = _recalled(kept)
    if tuning is not None:
        return Toolchain(command, kind, text, tuning)
    reason = ""
    for tuning in _ZIG_TUNINGS if kind == "zig" else _TUNINGS:
        toolchain = Toolchain(command, kind, text, tuning)
        with _notice(toolchain):
            reason = _failure(toolchain)
        if not reason:
            _remember(kept, toolchain)
            return toolchain
    return f"{shlex.join(command)} {reason}"


def _record(command: tuple[str, ...], version: str) -> Path | None:
    """Return the file that records the tuning with which this exact compiler works here."""
    try:
        status = Path(command[0]).stat()
        parts = (*command, str(status.st_mtime_ns), str(status.st_size), version, machine())
        digest = hashlib.sha256("\0".join(parts).encode(errors="surrogateescape")).hexdigest()
        return knobs.CACHE_DIR.get() / "compilers" / digest
    except (OSError, ValueError):  # errors of the cache directory are reported later
        return None


def _recalled(kept: Path | None) -> tuple[str, ...] | None:
    """Return the tuning of a compiler that another process has tested."""
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):
            words = tuple(kept.read_text(encoding="ascii").split())
            return words if words in _TUNINGS else None
    return None


def _remember(kept: Path | None, toolchain: Toolchain) -> None:
    if kept is None:
        return
    with contextlib.suppress(OSError, ValueError):
        make_private(kept.parent)
        with tempfile.NamedTemporaryFile("w", dir=kept.parent, delete=False) as file:
            file.write(" ".join(toolchain.tuning))
        Path(file.name).replace(kept)


def forget(toolchain: Toolchain) -> None:
    """Forget that a compiler works, so that the next process tests it again."""
    kept = _record(toolchain.command, toolchain.version)
    if kept is not None:
        with contextlib.suppress(OSError, ValueError):
            kept.unlink(missing_ok=True)


@contextlib.contextmanager
def _notice(toolchain: Toolchain) -> Generator[None]:
    """Report what is running if it takes long."""
    text = f"trying the C++ compiler {shlex.join(toolchain.command)}"
    if toolchain.kind == "zig":
        text += "; zig builds its C++ library first, once, in about a minute"
    timer = threading.Timer(NOTICE_AFTER_S, log_event, (text,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _kind(command: tuple[str, ...], version: str) -> Kind:
    if any(Path(word).stem in ("zig", "ziglang") for word in command):
        return "zig"
    if "clang" in version:
        return "clang"
    return "gcc" if "Free Software Foundation" in version else "other"


def _failure(toolchain: Toolchain) -> str:
    """Return why the toolchain fails here, as the end of a sentence; empty if it works."""
    # Windows cannot remove an object that is loaded.
    with tempfile.TemporaryDirectory(prefix="pypto-", ignore_cleanup_errors=True) as name:
        source, output = Path(name, "probe.cpp"), Path(name, "probe.so")
        source.write_text(_PROBE, encoding="ascii")
        command = [*toolchain.command, *toolchain.flags, str(source), "-o", str(output)]
        done = run(command, timeout_s=PROBE_TIMEOUT_S)
        if done.code != 0:
            return f"does not compile: {_outcome(done)}".replace(f"{name}/", "")
        return _load_failure(output)


def _load_failure(output: Path) -> str:
    """Return why the probe's object cannot be called, as one of a cross compiler cannot."""
    if not output.exists():
        return "makes no object"
    try:
        answer = ctypes.CDLL(str(output)).pypto_probe()
    except (OSError, AttributeError) as error:
        text = str(error).replace(f"{output}: ", "")
        # A temporary directory mounted noexec says nothing about the compiler.
        noexec = "failed to map segment" in text
        return "" if noexec else f"makes an object that does not load: {text}"
    return "" if answer == 910 else "makes an object that gives a wrong result"


@functools.cache
def machine() -> str:
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


def _outcome(done: Finished) -> str:
    """Return one line on how a process failed: its first error line, or its exit code."""
    if done.code is None:
        return "it takes too long"
    lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()] or lines
    return errors[0] if errors else f"exit code {done.code}"
