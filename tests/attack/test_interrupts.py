"""Native code that would never end is stopped: by its first error, or by Ctrl-C.

Each attack runs in its own process (`endless`), because a failure here cannot be interrupted.
Its time limit does not show how long an interrupt takes; ``bench/interrupts.py`` does.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pypto._src.run.shield import Abandoned, current, shielded
from pypto._src.run.toolchain import Toolchain
from tests import effort
from tests.natively import compiler

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")

SRC = Path(__file__).parents[2] / "src"
ATTACK = Path(__file__).with_name("endless.py")
WATCHDOG_S = 120.0
"""A process still running then never ends; compiling its kernels takes most of the time."""

THREADS = effort.part(["2", "1"], 2)
"""The number of threads that run the tasks of an orchestration."""
ORCHESTRATIONS = ("no_tasks", "short_tasks", "host_ops", "endless_tasks")


def attack(
    *words: str,
    when: Callable[[], bool] = lambda: True,
    signals: bool = True,
    **variables: str,
) -> dict[str, Any]:
    """Return the outcome of a case that is interrupted when it is ready and ``when`` is true."""
    process = subprocess.Popen(
        [sys.executable, str(ATTACK), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SRC), **variables},
    )
    assert process.stdout is not None
    with process:
        try:
            if signals:
                process.stdout.readline()
                until = time.monotonic() + WATCHDOG_S
                while not when() and process.poll() is None and time.monotonic() < until:
                    time.sleep(0.01)
                time.sleep(0.3)  # well within the code to be interrupted
                process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=WATCHDOG_S)
        except BaseException:
            process.kill()
            raise
    assert errors == ""
    return json.loads(out.removeprefix("ready\n"))


@pytest.mark.parametrize("name", ["rows", "scalars", "until"])
def test_interrupt_ends_a_kernel(name: str) -> None:
    """Loops with and without instructions end; the kernel's stores are complete."""
    compiler()
    found = attack(name, "1")
    assert found == {
        "error": "KeyboardInterrupt",
        "message": "",
        "is_still": True,
        "is_whole": True,
        "changed": name == "rows",
        "handler": True,
    }


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals are of processes")
def test_signal_to_another_thread_ends_a_wait() -> None:
    """The system may deliver Ctrl-C to any thread; the main one polls during a compilation."""
    has_begun = threading.Event()
    ends: list[str] = []

    def work() -> None:
        has_begun.set()
        until = time.monotonic() + 20.0
        try:
            while time.monotonic() < until:
                current().check()
                time.sleep(0.01)
            ends.append("by itself")
        except Abandoned:
            ends.append("abandoned")
            raise

    def send() -> None:
        has_begun.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            shielded(work)
    finally:
        thread.join()
        signal.signal(signal.SIGINT, before)
    assert ends == ["abandoned"]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", effort.part(ORCHESTRATIONS, 2, first=1))
def test_interrupt_ends_an_orchestration(name: str, threads: str) -> None:
    """The host and its tasks in all threads end, and the arrays are no longer written."""
    compiler()
    found = attack(name, threads)
    assert found == {
        "error": "KeyboardInterrupt",
        "message": "",
        "is_still": True,
        "is_whole": True,
        "changed": name in ("short_tasks", "endless_tasks"),
        "handler": True,
    }


_MISTAKES = {
    "beyond": "beyond: a load reads [16:20, 0:64] of out, a tensor [16, 64]",
    "element": "element: pl.read takes 16:17 of a dimension of 16 elements",
    "division": "'//' by zero",
    "failing_task": "beyond: a load reads [16:20, 0:64] of out, a tensor [16, 64]",
    "failing_later": "beyond: a load reads [16:20, 0:64] of out, a tensor [16, 64]",
}


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("name", [*_MISTAKES])
def test_mistake_ends_a_run(name: str, threads: str) -> None:
    """The first error ends a kernel at once, and the later tasks that are already running."""
    compiler()
    found = attack(name, threads, signals=False)
    assert (found["error"], found["message"]) == ("KernelError", _MISTAKES[name])
    assert found["is_still"]


def test_other_threads_go_on() -> None:
    """A kernel that another Python thread runs is not interrupted."""
    compiler()
    found = attack("beside_a_thread", "1")
    assert found == {
        "error": "KeyboardInterrupt",
        "message": "",
        "others": 0,
        "value": 4_000_000.0,
    }


def test_handlers_run_in_the_midst_of_a_kernel() -> None:
    """If a handler returns, the kernel goes on; if it raises, the kernel ends."""
    compiler()
    found = attack("own_handlers", "1")
    refusal = "a signal handler cannot run a kernel while its thread is in the midst of one"
    assert found == {"error": "Own", "message": "", "seen": [refusal], "changed": True}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_forked_child_is_interrupted() -> None:
    """A forked child polls for signals itself."""
    compiler()
    assert attack("forked", "1", signals=False) == {"error": "KeyboardInterrupt"}


# A compiler that does not end while a file exists; it records processes that would be left. Its
# output does not matter, so it does not optimize.
_STALLING = """\
#!/bin/sh
case "$*" in *--version*) exec {compiler} --version ;; esac
if [ -e "$STALL" ]; then
    echo junk > "$TMPDIR/junk.s"
    sleep 100000 &
    echo $! $$ >> "$STALL.pids"
    wait
fi
exec {compiler} "$@" -O0
"""


def _is_alive(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"  # a zombie is not running


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("entry", ["rows", "failing_task"], ids=["one-kernel", "two-kernels"])
@pytest.mark.parametrize("threads", THREADS)
def test_interrupt_ends_a_compilation(entry: str, threads: str, tmp_path: Path) -> None:
    """The compiler and its children are killed, and nothing unfinished is left.

    The text of the header that all kernels share may stay, as it is written atomically.
    """
    toolchain: Toolchain = compiler()
    script = tmp_path / "c++"
    script.write_text(_STALLING.format(compiler=shlex.join(toolchain.command)))
    script.chmod(0o755)
    stall, temporary, cache = (tmp_path / name for name in ("stall", "temporary", "cache"))
    temporary.mkdir()
    pids = Path(f"{stall}.pids")
    found = attack(
        "compiling",
        threads,
        entry,
        when=pids.exists,
        PYPTO_CXX=str(script),
        PYPTO_CACHE_DIR=str(cache),
        TMPDIR=str(temporary),
        STALL=str(stall),
    )
    assert found["error"] == "KeyboardInterrupt"
    assert [file for file in found["left"] if Path(file).name != "kernel.hpp"] == []
    assert not [pid for pid in map(int, pids.read_text().split()) if _is_alive(pid)]
    assert not [*temporary.iterdir()]
    assert [*cache.rglob("*.so")]  # afterwards the program was compiled after all
