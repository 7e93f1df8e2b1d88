"""Signals during native code: the memory it shares with Python, and the thread that prompts it.

Python runs signal handlers in the main thread, between two bytecode instructions: never while
that thread is in native code. So native code pauses now and then to run them itself, at points
where it can stop: at the start of a loop's iteration. There it checks one word of memory, which a
thread sets at intervals while the main thread is in native code. What a handler raises ends the
run and propagates out of the call. Knows nothing of kernels and tasks.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import os
import threading
import time
from typing import Final

TICK_S: Final = 0.03
"""The longest that a signal waits for its handler, roughly."""

_QUIET_S: Final = 1.0
"""The ticking thread ends when the main thread has called no native code for this long."""

NOT_TICKING: Final = b"\x02"
"""What native code returns when `start_ticking` has to be called first (``kNotTicking``)."""

IN_A_HANDLER: Final = "a signal handler cannot run a kernel while its thread is in the midst of one"
"""The error for a native call from a signal handler that a native call runs."""


def _address(name: str) -> int:
    """Return the address of a function of Python's C API."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


class Host(ctypes.Structure):
    """``pto::cpu::Host`` of include/pto/detail/core/stop.hpp."""

    tick: int
    is_ticking: int
    inside: int
    is_handling: int
    calls: int
    main_thread: int
    notify: int | None
    wait: int | None
    transfer: int | None
    _fields_ = (
        ("tick", ctypes.c_uint8),  # this and the next make up `attention`
        ("over", ctypes.c_uint8 * 3),
        ("is_ticking", ctypes.c_int32),
        ("inside", ctypes.c_int32),
        ("is_handling", ctypes.c_int32),
        ("calls", ctypes.c_int64),
        ("main_thread", ctypes.c_uint64),
        ("thread", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("acquire", ctypes.c_void_p),
        ("check_signals", ctypes.c_void_p),
        ("notify", ctypes.c_void_p),  # these three are set by the first program with ranks
        ("wait", ctypes.c_void_p),
        ("transfer", ctypes.c_void_p),
    )


class _Run(ctypes.Structure):
    """``pto::cpu::Run``."""

    _fields_ = (("host", ctypes.POINTER(Host)), ("is_over", ctypes.c_void_p))


HOST: Final = Host(
    main_thread=threading.main_thread().ident or 0,
    thread=_address("PyThread_get_thread_ident"),
    release=_address("PyEval_SaveThread"),
    acquire=_address("PyEval_RestoreThread"),
    check_signals=_address("PyErr_CheckSignals"),
)
"""The only instance of this process; its memory lives as long as the module."""

_run = _Run(ctypes.pointer(HOST), None)
RUN: Final = ctypes.byref(_run)
"""Tells a kernel that Python has called it."""


def start_ticking() -> None:
    """Start the thread that prompts native code in the main thread to check for signals."""
    HOST.is_ticking = 1
    with contextlib.suppress(RuntimeError):  # the process is exiting, or cannot start a thread
        _thread.start_new_thread(_tick, ())


def _tick() -> None:
    quiet, calls = 0.0, -1
    while True:
        time.sleep(TICK_S)
        if HOST.inside:
            HOST.tick = 1
        elif HOST.calls == calls:
            quiet += TICK_S
            if quiet > _QUIET_S and _has_ended(calls):
                return
            continue
        quiet, calls = 0.0, HOST.calls


def _has_ended(calls: int) -> bool:
    """Let the next call start another thread; False if a call has begun meanwhile."""
    HOST.is_ticking = 0
    if HOST.calls == calls:
        return True
    HOST.is_ticking = 1  # the call saw this thread ticking, or started a second one beside it
    return False


def _after_fork() -> None:
    """Reset the state in a child: its main thread is the one that forked, and it has no other."""
    HOST.main_thread = threading.get_ident()
    HOST.is_ticking = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
