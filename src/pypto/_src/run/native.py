"""Load compiled kernels into this process and call them.

Owns the launcher, the one C function through which Python enters a kernel, and what its result
means. Knows nothing about tensors: a kernel's arguments are 64-bit words here.
"""

from __future__ import annotations

import ctypes
import re
import sys
import weakref
from array import array
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

if sys.platform == "win32":
    from _ctypes import FreeLibrary as _unload  # pyright: ignore[reportPrivateUsage]
else:
    from _ctypes import dlclose as _unload

from pypto._src.emit.writer import string_literal
from pypto._src.errors import EvaluationError
from pypto._src.records import NamedTuple
from pypto._src.run import bounds_report
from pypto._src.run.cache import build, discard
from pypto._src.run.interrupts import NOT_TICKING, RUN, start_ticking
from pypto._src.run.toolchain import Toolchain

INCLUDE: Final = Path(__file__).parents[2] / "include"
"""The folder with the headers of the tile library, as they compute on this machine."""

LAUNCH_SYMBOL = "pypto_launch"

Words = ctypes.Array[ctypes.c_int64]

_LAUNCHER = """
#if defined(_WIN32)
#define PYPTO_EXPORT __declspec(dllexport)
#else
#define PYPTO_EXPORT __attribute__((visibility("default")))
#endif

extern "C" PYPTO_EXPORT const char* pypto_launch(
    int64_t* args, uint32_t block_idx, uint32_t block_num, pto::cpu::Run* run) {
    return pto::cpu::launch(run, block_idx, block_num, [](int64_t* args) {
@body@    }, args);
}
"""


MAX_CHECKED_TENSORS = 64
"""The most tensors whose bounds a launch can pass to the headers (``kMaxExtents`` there)."""

_LOOP = re.compile(r"^( *(?:for|while) \(.*\) \{)$", re.MULTILINE)  # as the emitter writes loops

_ANY_BYTES = "int64_t{1} << 62"  # the size of a tensor whose end is not known

WHERE = 'run it with target="interpreter", which names the line'


class KernelError(EvaluationError):
    """A kernel reported an error while it ran, or its object cannot be called."""

    slug = "kernel"
    access: bounds_report.Access | None = None

    @classmethod
    def of(
        cls, reported: bytes, kernel: str | None = None, names: Mapping[str, str] | None = None
    ) -> KernelError:
        """Return the error for what a kernel reported: a text, or a report as in `bounds_report`.

        Args:
            reported: The report.
            kernel: The kernel's name in the message, if ``names`` is given.
            names: New names for tensors, by the names in the report.
        """
        if not reported.startswith(bounds_report.MARK):
            return cls(reported.partition(b"\0")[0].decode(errors="replace"), hint=WHERE)
        report = bounds_report.Report.from_buffer_copy(reported)
        if names:
            bounds_report.rename(report, kernel, names)
        message, hint = bounds_report.words(report)
        error = cls(message, hint=hint or WHERE, slug="out-of-bounds")
        error.access = bounds_report.access(report)
        return error


class LaunchTensor(NamedTuple):
    """A tensor parameter, as the launcher describes it to the headers."""

    name: str
    element_bytes: int
    shape: tuple[int | str, ...] | None
    """Sizes of a dense tensor, as C++ text where they follow from ``args``; None if not known."""


class Library:
    """A shared object, which stays loaded as long as this is referenced.

    A caller of one of its functions or addresses must hold a reference. Objects that are loaded
    when the process ends stay loaded: its threads may still run in them.
    """

    __slots__ = ("__weakref__", "_object", "path")

    def __init__(self, path: Path) -> None:
        """Load the object.

        Raises:
            OSError: it cannot be loaded.
        """
        self.path = path
        self._object = ctypes.PyDLL(str(path))
        weakref.finalize(self, _unload, self._object._handle).atexit = False

    def function(self, symbol: str, *, releases_lock: bool = False) -> Any:
        """Return a function of the object, as `ctypes` has it.

        Args:
            symbol: Its name.
            releases_lock: Other Python threads run meanwhile. Without this the function releases
                Python's lock itself if it wants to, and may return with an exception set.

        Raises:
            KernelError: the object has no such symbol.
        """
        found = self._object
        if releases_lock:
            found = ctypes.CDLL(str(self.path), handle=self._object._handle)
        try:
            return found[symbol]
        except AttributeError:
            raise KernelError(f"{self.path} has no symbol {symbol}") from None


class NativeKernel:
    """A compiled kernel that runs when called; other Python threads run meanwhile.

    Calls from several threads at once are safe if the kernel's own memory accesses do not
    conflict. The object stays loaded as long as this, or a call, exists.
    """

    __slots__ = ("_launch", "_library", "path")

    def __init__(self, path: Path | Library, symbol: str = LAUNCH_SYMBOL) -> None:
        """Load the object and look up its launcher.

        Args:
            path: A shared object made by `build`, which may be loaded already.
            symbol: A function with the signature in `launcher_source`.

        Raises:
            OSError: The object cannot be loaded.
            KernelError: It has no such symbol.
        """
        self._library = path if isinstance(path, Library) else Library(path)
        self.path = self._library.path
        self._launch = self._library.function(symbol)
        # No argtypes: __call__ passes what they would convert to, which halves the cost of a call.
        self._launch.restype = ctypes.c_void_p

    @property
    def address(self) -> int:
        """The address of the launcher, for callers in C."""
        return ctypes.cast(self._launch, ctypes.c_void_p).value or 0

    def __call__(
        self, words: Words | Sequence[int], block_idx: int = 0, block_num: int = 1
    ) -> None:
        """Run one block of the kernel to its end.

        Args:
            words: The arguments, a word each: addresses, scalars. An array from `pack` is passed
                directly, so the kernel can write to it; any other sequence is copied.
            block_idx: Which block this is, from 0.
            block_num: How many blocks there are.

        Raises:
            KernelError: The kernel reported an error; the message is its text.
            KeyboardInterrupt: Ctrl-C arrived while this, the main thread, ran the kernel, which
                has ended; or whatever else a signal handler raised.
            OverflowError: A word does not fit in 64 signed bits.
        """
        packed = words if isinstance(words, ctypes.Array) else pack(words)
        error: int | None = self._launch(packed, block_idx, block_num, RUN)
        if error is not None:
            self._answer(error, packed, block_idx, block_num)

    def _answer(self, answer: int, words: Words, block_idx: int, block_num: int) -> None:
        mark = ctypes.string_at(answer, 1)
        if mark == NOT_TICKING:
            start_ticking()
            self(words, block_idx, block_num)
            return
        size = ctypes.sizeof(bounds_report.Report) if mark == bounds_report.MARK else -1
        raise KernelError.of(ctypes.string_at(answer, size))


def pack(words: Sequence[int]) -> Words:
    """Return the words as a C array that can be reused for many calls.

    Raises:
        OverflowError: A word does not fit in 64 signed bits.
        TypeError: A word is not an integer.
    """
    checked = array("q", words)  # ctypes alone would truncate a large integer
    return (ctypes.c_int64 * len(checked)).from_buffer(checked)


def with_checkpoints(source: str) -> str:
    """Return a kernel's C++ with a checkpoint in each of its loops, where it can be stopped.

    Line numbers do not change. The text is only for this machine: on the device a host cannot stop
    a kernel in this way.
    """
    return _LOOP.sub(r"\1 pto::cpu::checkpoint();", source)


def launcher_source(
    entry: str, tensors: Sequence[LaunchTensor | None] = (), name: str | None = None
) -> str:
    """Return the C++ text to append to a kernel, so that `NativeKernel` can call it.

    The kernel's source includes ``pto/pto-inst.hpp`` and defines ``entry`` with one parameter of
    type ``int64_t*``.

    Args:
        entry: The kernel's function.
        tensors: For each argument the tensor it points to, None for a scalar. If given, loads and
            stores out of bounds of these tensors are errors and access nothing.
        name: The kernel's name in messages.
    """
    return _LAUNCHER.replace("@body@", launch_body(entry, tensors, name))


def launch_body(entry: str, tensors: Sequence[LaunchTensor | None], name: str | None) -> str:
    """Return the C++ statements of a launch: its bounds, and the call; see `launcher_source`."""
    if not (entry.isascii() and entry.isidentifier()):
        raise ValueError(f"{entry!r} is not the name of a C++ function")
    named = "" if name is None else f"        pto::cpu::name_kernel({string_literal(name)});\n"
    allowed = "".join(
        _allowance(index, tensor) for index, tensor in enumerate(tensors) if tensor is not None
    )
    return f"{named}{allowed}        {entry}(args);\n"


def _allowance(index: int, tensor: LaunchTensor) -> str:
    """Return the lines that pass the bounds and name of argument ``index`` to the headers."""
    pointer = f"reinterpret_cast<const void*>(args[{index}])"
    name = string_literal(tensor.name)
    if tensor.shape is None:
        return f"        pto::cpu::allow({pointer}, {_ANY_BYTES}, {name});\n"
    sizes = [str(size) for size in tensor.shape]
    kind = "const" if any(isinstance(size, str) for size in tensor.shape) else "static const"
    rank = len(sizes)
    text = f"{pointer}, {' * '.join([str(tensor.element_bytes), *sizes])}"
    return (
        f"        {kind} int64_t shape_{index}[] = {{{', '.join(sizes) or '1'}}};\n"
        f"        pto::cpu::allow({text}, {name}, shape_{index}, {rank});\n"
    )


def load_kernel(
    source: str,
    entry: str = "kernel_entry",
    *,
    toolchain: Toolchain,
    include_dirs: Sequence[Path],
    extra_flags: Sequence[str] = (),
    tensors: Sequence[LaunchTensor | None] = (),
    name: str | None = None,
) -> NativeKernel:
    """Compile a kernel with its launcher, or find it in the cache, and load it.

    ``tensors`` and ``name`` are as in `launcher_source`.

    Raises:
        CompileError, CacheError: as `build`.
        KernelError: The object does not load, even when new.
    """
    text = with_checkpoints(source) + launcher_source(entry, tensors, name)

    def make() -> Path:
        return build(text, toolchain=toolchain, include_dirs=include_dirs, extra_flags=extra_flags)

    return NativeKernel(load(make))


def load(make: Callable[[], Path]) -> Library:
    """Load the object that ``make`` builds or finds; one that fails to load is rebuilt once.

    Raises:
        KernelError: The object does not load, even when new.
    """
    path = make()
    try:
        return Library(path)
    except OSError:
        discard(path)
    path = make()
    try:
        return Library(path)
    except OSError as error:
        raise KernelError(f"a compiled kernel does not load: {error}") from error
