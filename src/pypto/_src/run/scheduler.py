"""Runs host functions as compiled C++: one call from Python, no Python for each task.

Owns the runtime's object (``pto/runtime``) with its threads, the data that it shares with Python,
and what a report of it means. The order of tasks, their threads and the memory of tensors made by
the program are the runtime's.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
import threading
import weakref
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pypto._src import knobs
from pypto._src.emit.host.native.generate import ENTRY_SYMBOL, HostText
from pypto._src.emit.host.native.types import MAX_DIMS, leaf_types
from pypto._src.emit.host.runtime_api import DTYPES
from pypto._src.errors import CallError, EvaluationError, PyptoError
from pypto._src.interp.op_calls import Eval, op_eval
from pypto._src.interp.scalars import wrapper
from pypto._src.ir.array_types import TensorType, dtype_of
from pypto._src.ir.exprs import Call, MakeTuple, const_value
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import Function
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.lazy import lazy_module
from pypto._src.ranks import current
from pypto._src.run.arguments.array_views import is_array
from pypto._src.run.arguments.parameters import word_of
from pypto._src.run.arguments.signature import Bound
from pypto._src.run.cache import build
from pypto._src.run.interrupts import HOST, IN_A_HANDLER, NOT_TICKING, Host, start_ticking
from pypto._src.run.kernels import Kernel
from pypto._src.run.native import KernelError, Library, load
from pypto._src.run.toolchain import Toolchain

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.dtypes import DataType

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

_RUNTIME: Final = '#include "pto/runtime/runtime.hpp"\n'
# Integers wrap, as the language says; kernels do not throw, and the host catches its exceptions.
_HOST_FLAGS: Final = ("-O1", "-fwrapv")
_RUNTIME_FLAGS: Final = ("-pthread",)

_NUMBER_OF: Final = {dtype: number for number, dtype in enumerate(DTYPES)}
_DTYPE_OF: Final = tuple(DTYPES)
_Dims = ctypes.c_int64 * MAX_DIMS


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("wanted", ctypes.c_char_p),
        ("is_tensor", ctypes.c_int32),
        ("writes", ctypes.c_int32),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("shape", _Dims),
    )


class _Size(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("axes", ctypes.POINTER(ctypes.c_int32)),
        ("count", ctypes.c_int64),
    )


class _Kernel(ctypes.Structure):
    _fields_ = (
        ("run", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("params", ctypes.POINTER(_Parameter)),
        ("sizes", ctypes.POINTER(_Size)),
        ("count", ctypes.c_int32),
        ("size_count", ctypes.c_int32),
        ("solved_count", ctypes.c_int32),
        ("counters", ctypes.c_void_p),
    )


class _Result(ctypes.Structure):
    is_tensor: int
    external: int
    word: int
    data: int | None
    dtype: int
    ndim: int
    whole: Sequence[int]
    starts: Sequence[int]
    shape: Any
    _fields_ = (
        ("is_tensor", ctypes.c_int32),
        ("external", ctypes.c_int32),
        ("word", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("whole", _Dims),
        ("starts", _Dims),
        ("shape", _Dims),
    )


class _Report(ctypes.Structure):
    failed: int
    line: int
    in_kernel: int
    stopped: int
    slug: bytes
    message: ctypes.Array[ctypes.c_uint8]  # a text, or a report (bounds_report.py)
    tasks: int
    peak_bytes: int
    most_open: int
    result_count: int
    _fields_ = (
        ("failed", ctypes.c_int32),
        ("line", ctypes.c_int32),
        ("in_kernel", ctypes.c_int32),
        ("stopped", ctypes.c_int32),
        ("slug", ctypes.c_char * 32),
        ("message", ctypes.c_uint8 * 2048),
        ("tasks", ctypes.c_int64),
        ("peak_bytes", ctypes.c_int64),
        ("most_open", ctypes.c_int64),
        ("result_count", ctypes.c_int32),
        ("result_room", ctypes.c_int32),
        ("results", ctypes.POINTER(_Result)),
    )


_InPython = ctypes.CFUNCTYPE(
    None,
    ctypes.c_int,
    ctypes.POINTER(_Result),
    ctypes.c_int,
    ctypes.POINTER(_Result),
    ctypes.POINTER(ctypes.c_int32),
)


class _Options(ctypes.Structure):
    _fields_ = (
        ("window", ctypes.c_int64),
        ("delay_ns", ctypes.c_int64),
        ("budget_bytes", ctypes.c_int64),
        ("host", ctypes.POINTER(Host)),
        ("python", _InPython),
    )


@dataclass(frozen=True)
class Scheduling:
    """Limits of one call, for tests and measurements; 0 means the runtime's default."""

    window: int = 0
    """The most tasks that may be submitted and not yet finished."""

    delay_ns: int = 0
    """The longest delay before a task runs; each task's delay depends on its number."""

    budget_bytes: int = 0
    """The most bytes of tensors that no variable names any more but tasks still use."""


@dataclass(frozen=True)
class Usage:
    """Resources that the last call used."""

    tasks: int
    """Number of submitted kernels."""

    peak_bytes: int
    """Peak of the bytes of tensors made by the program."""

    most_open: int
    """The most tasks that were submitted and not finished at one time."""

    argument_bytes: int = 0
    """Bytes of the caller's tensors, which are used in place."""


def thread_count() -> int:
    """Return how many threads run tasks: PYPTO_NUM_THREADS, else the CPUs of this process."""
    chosen = knobs.NUM_THREADS.get()
    if chosen is not None:
        return chosen
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Scheduler:
    """The runtime's object; its threads live as long as the process."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.make_pool = library.function("pto2_pool", releases_lock=True)
        self.make_pool.restype = ctypes.c_void_p
        self.call = library.function("pto2_call")
        self.call.restype = ctypes.c_char_p
        self.free = library.function("pto2_free", releases_lock=True)
        self.free.restype = None
        self.free.argtypes = (ctypes.c_void_p,)
        self._pools: dict[tuple[int, int, int | None], tuple[int, threading.Lock]] = {}

    def pool(self, threads: int) -> tuple[int, threading.Lock]:
        """Return a pool of ``threads`` threads, and the lock that gives it to one call at a time.

        Each rank of a program on several devices has one thread of its own, which may wait for
        signals of the others.
        """
        rank = current()
        threads = threads if rank is None else 1
        # A forked child has none of its parent's threads.
        key = (os.getpid(), threads, None if rank is None else rank.number)
        found = self._pools.get(key)
        if found is None:
            made = (int(self.make_pool(threads)), threading.Lock())
            found = self._pools.setdefault(key, made)
        return found


@functools.cache
def _scheduler(path: Path) -> Scheduler:
    return Scheduler(Library(path))


class NativeHost:
    """A compiled host function, with everything it calls.

    Calls from several threads run one after the other; the tasks of one call run in parallel.
    """

    def __init__(
        self,
        function: Function,
        text: HostText,
        kernels: Mapping[str, Kernel],
        *,
        toolchain: Toolchain,
        include_dirs: Sequence[Path],
    ) -> None:
        """Compile the host function and load it.

        Args:
            function: The function that is called, after the passes.
            text: Its C++.
            kernels: The compiled kernels, by name.
            toolchain: The compiler.
            include_dirs: Where ``pto/runtime`` is.

        Raises:
            CompileError: the compiler rejected the text.
        """
        make = functools.partial(build, toolchain=toolchain, include_dirs=include_dirs)
        runtime = load(functools.partial(make, _RUNTIME, extra_flags=_RUNTIME_FLAGS))
        self._scheduler = _scheduler(runtime.path)
        self._library = load(functools.partial(make, text.code, extra_flags=_HOST_FLAGS))
        self._enter = ctypes.cast(self._library.function(ENTRY_SYMBOL), ctypes.c_void_p)
        self._text = text
        self.kernels = kernels
        self._kept: list[Any] = []  # memory that the tables below point to
        rows = [self._kernel(kernels[name]) for name in text.kernels]
        self._table = (_Kernel * max(len(rows), 1))(*rows)
        self._return_types = function.return_types
        self._tensors = [i for i, p in enumerate(function.params) if isinstance(p.type, TensorType)]
        self._sizes = [
            (index, axis)
            for index in self._tensors
            for axis, dim in enumerate(_shape_of(function, index))
            if (const_value(dim) or 0) < 0 or const_value(dim) is None
        ]
        self._ops_of_rank: dict[int | None, list[_PythonOp]] = {}
        self.scheduling = Scheduling()
        self.usage = Usage(0, 0, 0)

    def launch(self, bound: Bound) -> Any:
        """Call the function on checked arguments; return its results when all tasks have ended.

        Raises:
            EvaluationError: the program, or a kernel, does something undefined.
            KeyboardInterrupt: Ctrl-C arrived while this, the main thread, was in the call; no task
                runs any more. Or whatever else a signal handler raised.
        """
        words = [*bound.words, *(bound.values[i].shape[axis] for i, axis in self._sizes)]
        count = len(leaf_types(self._return_types))
        results = (_Result * max(count, 1))()
        report = _Report(result_room=count, results=results)
        trouble: list[BaseException] = []
        limits = self.scheduling
        in_python = functools.partial(self._in_python, trouble)
        options = _Options(
            limits.window,
            limits.delay_ns,
            limits.budget_bytes,
            ctypes.pointer(HOST),
            _InPython(in_python) if self._text.ops else _InPython(),
        )
        args = (ctypes.c_uint64 * len(words))(*(word & _MASK for word in words))
        pool, lock = self._scheduler.pool(thread_count())
        if HOST.is_handling and threading.get_ident() == HOST.main_thread:
            raise KernelError(IN_A_HANDLER)  # this thread holds the lock
        with lock, _interrupts_kept(in_python) if self._text.ops else nullcontext():
            while True:
                refusal: bytes | None = self._scheduler.call(
                    ctypes.c_void_p(pool),
                    self._enter,
                    args,
                    len(words),
                    self._table,
                    len(self._text.kernels),
                    ctypes.byref(options),
                    ctypes.byref(report),
                )
                if refusal != NOT_TICKING:
                    break
                start_ticking()
            given = sum(bound.values[i].nbytes for i in self._tensors)
            self.usage = Usage(report.tasks, report.peak_bytes, report.most_open, given)
        if report.failed:
            raise self._error(report, trouble)
        made: dict[int, Array] = {}
        values = iter(results)
        found = [self._value(kind, values, bound, made) for kind in self._return_types]
        return found[0] if len(found) == 1 else tuple(found) or None

    # ----- what the runtime reads -----------------------------------------------------------

    def _kernel(self, kernel: Kernel) -> _Kernel:
        signature = kernel.signature
        params = (_Parameter * max(len(signature.params), 1))()
        for row, param in zip(params, signature.params, strict=False):
            row.name, row.wanted = param.name.encode(), param.text.encode()
            row.is_tensor, row.writes = int(param.is_tensor), int(param.writes)
            row.dtype = _NUMBER_OF.get(param.dtype, -1)
            row.ndim = len(param.sizes)
            row.shape = _Dims(*[-1 if size is None else size for size in param.sizes])
        sizes: list[_Size] = []
        for name, axes in signature.sizes.axes:
            flat = (ctypes.c_int32 * (2 * len(axes)))(*(n for axis in axes for n in axis))
            self._kept.append(flat)
            pointer = ctypes.cast(flat, ctypes.POINTER(ctypes.c_int32))
            sizes.append(_Size(name.encode(), pointer, len(axes)))
        table = (_Size * max(len(sizes), 1))(*sizes)
        self._kept += [params, table]
        return _Kernel(
            kernel.launcher.address,
            signature.name.encode(),
            ctypes.cast(params, ctypes.POINTER(_Parameter)),
            ctypes.cast(table, ctypes.POINTER(_Size)),
            len(signature.params),
            len(sizes),
            sum(not size.count for size in sizes),
            kernel.counters,
        )

    # ----- what the runtime reports ---------------------------------------------------------

    def _error(self, report: _Report, trouble: Sequence[BaseException]) -> BaseException:
        span = self._text.span(report.line)
        slug, text = report.slug.decode(), bytes(report.message).partition(b"\0")[0]
        message = text.decode(errors="replace")
        if report.in_kernel:
            kernel = self.kernels[self._text.kernels[report.in_kernel - 1]]
            name, reported = kernel.signature.name, bytes(report.message)
            return KernelError.of(reported, name, kernel.names).at(span)
        if slug == "python":
            # Without trouble, a signal arrived before the op could catch what its handler raised.
            error = trouble[0] if trouble else KeyboardInterrupt()
            return error.at(span) if isinstance(error, PyptoError) else error
        if slug == "argument-shape":
            return CallError(message, slug=slug).at(span)
        if slug == "out-of-memory":
            return MemoryError(message)
        return EvaluationError(message, slug=slug).at(span)

    def _value(
        self, kind: Type, results: Iterator[_Result], bound: Bound, made: dict[int, Array]
    ) -> Any:
        """Return the next result as a Python value."""
        if isinstance(kind, TupleType):
            return tuple([self._value(item, results, bound, made) for item in kind.types])
        result = next(results)
        if isinstance(kind, ScalarType):
            return _number(kind.dtype, result.word)
        if result.external >= 0:
            whole: Array = bound.values[self._tensors[result.external]]
        else:
            whole = self._made(result, made)
        return _part(whole, result)

    def _made(self, result: _Result, made: dict[int, Array]) -> Array:
        """Return the array over a tensor's memory, which is freed with the last array over it."""
        address = result.data or 0
        found = made.get(address)
        if found is None:
            memory, found = _array_over(result)
            made[address] = found
            weakref.finalize(memory, self._scheduler.free, address).atexit = False
        return found

    def _in_python(
        self,
        trouble: list[BaseException],
        number: int,
        values: Any,
        count: int,
        made: Any,
        is_done: Any,
    ) -> None:
        try:
            rank = current()
            key = None if rank is None else rank.number  # ranks run at the same time
            if key not in self._ops_of_rank:
                self._ops_of_rank[key] = [_PythonOp(call) for call in self._text.ops]
            self._ops_of_rank[key][number].run([values[i] for i in range(count)], made[0])
        except BaseException as error:  # no exception may leave a callback
            trouble.append(error)
        else:
            is_done[0] = 1


@contextmanager
def _interrupts_kept(callback: object) -> Generator[None]:
    """Make an interrupt that ``callback`` is too late to catch end the call, and not be printed.

    Python runs signal handlers at the start of a function; ctypes prints what they raise there.
    """
    if threading.get_ident() != HOST.main_thread:
        yield  # handlers run in the main thread
        return
    shown = sys.unraisablehook

    def show(lost: sys.UnraisableHookArgs) -> None:
        if lost.object is not callback or lost.exc_type is not KeyboardInterrupt:
            shown(lost)

    sys.unraisablehook = show
    try:
        yield
    finally:
        sys.unraisablehook = shown


_MASK: Final = (1 << 64) - 1


def _shape_of(function: Function, index: int) -> Sequence[Any]:
    kind = function.params[index].type
    assert isinstance(kind, TensorType)
    return kind.shape


def _number(dtype: DataType, word: int) -> Any:
    """Return the number in a 64-bit word."""
    if not dtype.is_float():
        return wrapper(dtype)(word)
    data = word.to_bytes(8, "little")
    return float(np.frombuffer(data, dtype.numpy, 1)[0])


def _array_over(result: _Result) -> tuple[ctypes.Array[ctypes.c_char], Array]:
    """Return the memory of a tensor's whole buffer, and an array that keeps it alive."""
    shape = tuple(result.whole[: result.ndim])
    dtype = _DTYPE_OF[result.dtype].numpy
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    memory = (ctypes.c_char * max(size, 1)).from_address(result.data or 0)
    flat: Array = np.frombuffer(memoryview(memory), np.uint8, size)
    return memory, flat.view(dtype).reshape(shape)


def _part(whole: Array, result: _Result) -> Array:
    """Return the part of an array that a result is; for the whole, the same array object."""
    shape = tuple(result.shape[: result.ndim])
    if shape == whole.shape:
        return whole
    starts = result.starts[: result.ndim]
    return whole[tuple([slice(low, low + n) for low, n in zip(starts, shape, strict=True)])]


class _PythonOp:
    """An op on whole tensors, which NumPy computes once the tasks that it depends on are done."""

    def __init__(self, call: Call) -> None:
        op = op_of(call)
        assert op is not None
        self._call = call
        self._writes = bool(op.writes)
        args: list[Any] = [None] * len(call.args)
        evals: list[Eval] = [functools.partial(_item, args, i) for i in range(len(args))]
        self._args = args
        self._run = op_eval(call, op, evals)
        self._kept: Array | None = None  # until the runtime has copied it

    def run(self, values: Sequence[_Result], made: _Result) -> None:
        """Compute the op on ``values``, its operands with tuples flattened."""
        rest = iter(values)
        for index, arg in enumerate(self._call.args):
            if isinstance(arg, MakeTuple):
                self._args[index] = tuple([_operand(item, next(rest)) for item in arg.elements])
            else:
                self._args[index] = _operand(arg, next(rest))
        with np.errstate(all="ignore"):
            result = self._run([])
        if self._writes:
            return
        kind = self._call.type
        if isinstance(kind, ScalarType):
            made.word = word_of(kind.dtype)(result) & _MASK
            return
        assert isinstance(kind, TensorType)
        assert is_array(result)
        array = self._kept = np.ascontiguousarray(result).reshape(result.shape)
        made.data, made.ndim = array.ctypes.data, array.ndim
        made.dtype = _NUMBER_OF[kind.dtype]
        made.shape = _Dims(*array.shape)


def _item(args: Sequence[Any], index: int, _env: list[Any]) -> Any:
    return args[index]


def _operand(arg: Any, value: _Result) -> Any:
    if not value.is_tensor:
        return _number(dtype_of(arg), value.word)
    return _part(_array_over(value)[1], value)
