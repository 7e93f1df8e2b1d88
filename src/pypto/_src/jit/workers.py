"""Workers: they run programs many times, and own tensors that stay on the devices.

The devices of this machine are threads over the same memory, so a tensor "on a device" is an array
that the worker owns, and a transfer to it is a copy. Programs that use them are also valid for
devices with separate memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Semaphore
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from pypto._src.errors import of_type
from pypto._src.golden.specs import numpy_dtype
from pypto._src.jit.cluster_ranks import ClusterRanks
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np

    from pypto._src.jit.host_values import Buffer

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")

_IN_FLIGHT: Final = 2
"""The most runs that a worker has in flight: one that runs, and one that waits for it."""


class RankProgram(Protocol):
    """What a worker runs."""

    def run(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        windows: list[Buffer] | None = None,
        ranks: ClusterRanks | None = None,
    ) -> Any:
        """Do what a call does, with the windows of earlier runs; the first run adds them."""


class DeviceTensor:
    """A tensor that stays where programs run; a worker's `alloc_tensor` makes it.

    ``shape`` and ``dtype`` are those of NumPy.
    """

    def __init__(self, array: Array) -> None:
        self._array: Array | None = array
        self.shape, self.dtype = array.shape, array.dtype

    @property
    def array(self) -> Array:
        """The elements.

        Raises:
            ValueError: the tensor was freed.
        """
        if self._array is None:
            raise ValueError(f"{self!r} was freed")
        return self._array

    def free(self) -> None:
        """Release the memory."""
        self._array = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {list(self.shape)} {self.dtype}>"


class StackedDeviceTensor(DeviceTensor):
    """A tensor whose slice i along dimension 0 stays on device i."""


class DistributedRunHandle:
    """A run that was submitted."""

    def __init__(self, future: Future[Any]) -> None:
        self._future = future

    def result(self, timeout: float | None = None) -> Any:
        """Wait for the run and return the call's result.

        Raises:
            TimeoutError: it takes longer than ``timeout`` seconds.
            CallError, ParserError, EvaluationError: as the call.
        """
        return self._future.result(timeout)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the run; False if it takes longer than ``timeout`` seconds."""
        try:
            self._future.exception(timeout)
        except TimeoutError:
            return False
        return True

    def done(self) -> bool:
        """True once the run has ended."""
        return self._future.done()


class Worker:
    """Runs programs many times, and owns tensors that stay where they run.

    `ChipWorker` runs programs of one device, `DistributedWorker` those of several. Both are context
    managers: ``with ChipWorker() as worker:``. Leaving them frees their tensors.
    """

    def __init__(self) -> None:
        """Own no tensors yet.

        Raises:
            TypeError: it is neither of the two.
        """
        if type(self) is Worker:
            raise TypeError(
                "Worker is what ChipWorker and DistributedWorker have in common: make a "
                "ChipWorker(), or a DistributedWorker by prepare() of a compiled pl.jit.host "
                "function"
            )
        self._tensors: dict[DeviceTensor, None] = {}

    # Tensors ----------------------------------------------------------------------------------

    def alloc_tensor(self, shape: Sequence[int], dtype: Any, *, init: Any = None) -> DeviceTensor:
        """Return a tensor on a device: zeros, or a copy of ``init``, a number or an array.

        Args:
            shape: The sizes.
            dtype: An element type of PyTorch, of the language, or of NumPy.
            init: Its initial contents.

        Raises:
            TypeError, ValueError: there is no such element type, or ``init`` does not fit.
        """
        made = np.zeros(tuple(shape), numpy_dtype(dtype))
        if init is not None:
            made[...] = _host(init)
        return self._owned(DeviceTensor(made))

    def free_tensor(self, tensor: DeviceTensor) -> None:
        """Free a tensor of this worker.

        Raises:
            ValueError: it is not one, or was freed.
        """
        if self._tensors.pop(tensor, self) is self:
            raise ValueError(f"{tensor!r} is not a tensor of this worker, or was freed")
        tensor.free()

    def alloc_stacked_tensor(self, host: Any) -> StackedDeviceTensor:
        """Return a copy of an array whose slice i along dimension 0 is on device i."""
        return self._owned(StackedDeviceTensor(np.array(_host(host))))

    def free_stacked_tensor(self, tensor: StackedDeviceTensor) -> None:
        """Free a stacked tensor of this worker; see `free_tensor`."""
        self.free_tensor(tensor)

    def copy_to(self, tensor: DeviceTensor, host: Any) -> None:
        """Copy an array to a tensor.

        Raises:
            ValueError: the shapes differ, or the tensor was freed.
        """
        source = _host(host)
        if source.shape != tensor.shape:
            raise ValueError(f"an array {list(source.shape)} does not fill {tensor!r}")
        self._bring(tensor.array)
        tensor.array[...] = source

    def copy_from(self, tensor: DeviceTensor, host: Any = None) -> Any:
        """Copy a tensor to ``host``, or to a new array if it is None; return it.

        Raises:
            ValueError: the shapes differ, or the tensor was freed.
        """
        self._bring(tensor.array)
        if host is None:
            return tensor.array.copy()
        target = _host(host)
        if target.shape != tensor.shape:
            raise ValueError(f"{tensor!r} does not fill an array {list(target.shape)}")
        target[...] = tensor.array
        return host

    def copy_stacked_from(self, tensor: StackedDeviceTensor, host: Any = None) -> Any:
        """Copy a stacked tensor to ``host``; see `copy_from`."""
        return self.copy_from(tensor, host)

    def _bring(self, array: Array) -> None:
        """Bring what programs have written elsewhere into the array of a tensor."""

    def _owned(self, tensor: Any) -> Any:
        self._tensors[tensor] = None
        return tensor

    # End --------------------------------------------------------------------------------------

    def close(self) -> None:
        """Free all tensors; a second call does nothing."""
        for tensor in self._tensors:
            tensor.free()
        self._tensors.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class RegistrationHandle:
    """A program that a `ChipWorker` knows; calling it runs it there."""

    def __init__(self, worker: ChipWorker, program: Callable[..., Any]) -> None:
        self._worker = worker
        self.program = program
        """What was registered."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program; see `ChipWorker.run`."""
        return self._worker.run(self, *args, **named)


class ChipWorker(Worker):
    """Runs programs of one device, which is this machine: compiled ones and `pl.jit` kernels."""

    def __init__(self, *, platform: str = "a2a3sim", device_id: int = 0) -> None:
        """Run programs on a device of a platform; ``device_id`` is kept and changes nothing here.

        Raises:
            ValueError: there is no such platform.
            CallError: the platform is a device.
        """
        from pypto._src.run.config import RunConfig, check_runs_here

        super().__init__()
        self.config = RunConfig(platform=platform, device_id=device_id)
        """The platform and the number of the device."""
        check_runs_here(self.config)
        self._is_open = True

    def register(self, program: Callable[..., Any]) -> RegistrationHandle:
        """Return a handle that runs a compiled program, or a `pl.jit` kernel, on this worker.

        Raises:
            TypeError: it is neither.
        """
        return RegistrationHandle(self, _runnable(program))

    def run(self, program: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """Run a program or what `register` returned; tensors of the worker stand for arrays.

        Raises:
            TypeError: it is not a program.
            ValueError: the worker is closed, or a tensor was freed.
            CallError, ParserError, EvaluationError: as the program's own call.
        """
        if not self._is_open:
            raise ValueError("the worker is closed")
        runnable = _runnable(program)
        words = {name: _unwrapped(arg) for name, arg in named.items()}
        return runnable(*[_unwrapped(arg) for arg in args], **words)

    def close(self) -> None:
        """Free all tensors; the worker runs nothing afterwards."""
        self._is_open = False
        super().close()


def _runnable(program: Any) -> Callable[..., Any]:
    """Return the compiled program that a call of a program, or of its handle, runs."""
    from pypto._src.driver import CompiledProgram
    from pypto._src.jit.function import JitFunction

    if isinstance(program, RegistrationHandle):
        return program.program
    if isinstance(program, CompiledProgram | JitFunction):
        return program
    raise TypeError(
        f"a worker runs compiled programs and pl.jit kernels, got {of_type(program)}; "
        "for a @pl.program class pass runtime.compile(program)"
    )


class DistributedWorker(Worker):
    """Runs programs of ranks one after another; a compiled host function's `prepare` makes it.

    ``with compiled.prepare() as worker: worker(x, y)``
    """

    def __init__(
        self,
        programs: Sequence[RankProgram],
        options: Mapping[str, Any],
        *,
        persistent: bool,
        reset_windows: bool,
    ) -> None:
        super().__init__()
        self.programs = tuple(programs)
        """The programs it was made for."""
        self._options = options
        self._persistent, self._reset = persistent, reset_windows
        self._windows: dict[RankProgram, list[Buffer]] = {}
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(1)
        self._room = Semaphore(_IN_FLIGHT)
        self._ranks = ClusterRanks(self._resident)

    # Runs -------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the program; tensors of the worker stand for arrays.

        Raises:
            TypeError: there are several programs: `run` names one.
            ValueError: the worker is closed, or a tensor was freed.
            CallError, ParserError, EvaluationError: as the program's own call.
        """
        if len(self.programs) != 1:
            raise TypeError(
                f"this worker has {len(self.programs)} programs; worker.run(program, ...) names one"
            )
        return self.run(self.programs[0], *args, **named)

    def run(self, program: RankProgram, *args: Any, **named: Any) -> Any:
        """Run one of the programs and return what its call returns.

        Raises:
            ValueError: the worker was not made for the program, or as `__call__`.
            CallError, ParserError, EvaluationError: as the program's own call.
        """
        return self.submit(program, *args, **named).result()

    def submit(self, program: RankProgram, *args: Any, **named: Any) -> DistributedRunHandle:
        """Queue a run of a program; block while two runs are in flight.

        Raises:
            ValueError: as `run`.
        """
        if self._pool is None:
            raise ValueError("the worker is closed")
        if program not in self.programs:
            raise ValueError(
                f"the worker was not made for {program!r}: name it in prepare(extra_compiled=[...])"
            )
        given = [_unwrapped(arg) for arg in args]
        words = {name: _unwrapped(arg) for name, arg in named.items()}
        self._room.acquire()
        future = self._pool.submit(self._run, program, given, words)
        future.add_done_callback(lambda _: self._room.release())
        return DistributedRunHandle(future)

    def _run(self, program: RankProgram, args: Sequence[Any], named: dict[str, Any]) -> Any:
        keeps = self._persistent and not self._reset
        windows = self._windows.setdefault(program, []) if keeps else None
        return program.run(args, {**self._options, **named}, windows, self._ranks)

    def _bring(self, array: Array) -> None:
        self._ranks.bring(array)

    def _resident(self) -> list[Array]:
        """Return the arrays of all tensors."""
        return [tensor.array for tensor in self._tensors]

    def close(self) -> None:
        """Wait for the runs, and free all tensors; a second call does nothing."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self._ranks.close()
        super().close()


def _unwrapped(value: Any) -> Any:
    return value.array if isinstance(value, DeviceTensor) else value


def _host(value: Any) -> Any:
    """Return a host's number or array as a NumPy array over the same memory."""
    from pypto._src.run.arguments.array_views import Argument, array_view, is_array

    if isinstance(value, int | float) or is_array(value):
        return np.asarray(value)
    return array_view(
        value, Argument("host", "the worker", "an array", "np.float32", is_written=True)
    )
