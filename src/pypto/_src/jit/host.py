"""``@pl.jit.host``: functions that launch kernels on several devices, each a rank of one program.

A host function computes nothing itself: it has loops whose bounds are numbers, parts of tensors,
windows and launches. So it is evaluated, statement by statement, and the result is a list of
launches. Those run as threads of this process (`run.launches`). Kernels do the computing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import span_of_caller, span_of_frame
from pypto._src.driver import CompiledProgram
from pypto._src.dtypes import DataType
from pypto._src.errors import CallError, EvaluationError
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.stmts import Program
from pypto._src.jit.function import JitFunction
from pypto._src.jit.host_evaluator import Evaluation
from pypto._src.jit.host_values import Buffer, HostTensor, TensorWithoutShape
from pypto._src.jit.parameters import REQUIRED, ArrayParameter
from pypto._src.lazy import lazy_module
from pypto._src.output_folder import OutputFolder
from pypto._src.run.arguments.array_views import Argument, array_view, is_array
from pypto._src.run.config import DistributedConfig, RunConfig, check_runs_here

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.jit.cluster_ranks import ClusterRanks
    from pypto._src.jit.workers import DistributedWorker
else:
    np = lazy_module("numpy")


_ORDERS: Final = 6
"""The number of orders in which ranks take turns in a check."""


class HostFunction(JitFunction):
    """A function that launches kernels on devices; a call returns when all launches have ended."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Evaluate the function on these arguments, and run what it launches.

        Outputs that are left out are new arrays, which the call returns.

        ``config=RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))`` says how many
        devices there are; without it there is one.

        Raises:
            CallError: the arguments do not fit the parameters.
            ParserError: the function, or a kernel, makes no sense for these arguments.
            EvaluationError: the ranks deadlock, or a kernel does something undefined.
        """
        try:
            return self.run(args, named)
        except CallError as error:
            error.at(span_of_caller(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

    def run(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        windows: list[Buffer] | None = None,
        ranks: ClusterRanks | None = None,
    ) -> Any:
        """Do what a call does, with the windows of earlier runs; the first run adds them.

        ``ranks`` are those of a worker, if they are processes of a cluster.
        """
        evaluation = self._evaluated(args, named, runs=True, windows=windows)
        if evaluation.is_remote:
            from pypto._src.jit.cluster_ranks import run_on

            run_on(ranks, evaluation, _distributed(named.get("config")), windows or ())
        else:
            evaluation.run()
        passed = (*args, *named.values())
        new = [
            value
            for value in evaluation.outputs
            if not any(value is argument for argument in passed)
        ]
        return new[0] if len(new) == 1 else tuple(new) or None

    def compile(self, *args: Any, **named: Any) -> HostProgram:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Compile all kernels that a call with such arguments launches; return what runs them.

        Raises:
            CallError, ParserError, PyptoError: as in a call.
        """
        try:
            made = self._evaluated(args, named, runs=False)
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise
        return HostProgram(self, named.get("config"), [*made.programs])

    def declared(self, sizes: Mapping[str, int] = MappingProxyType({})) -> Program:
        """Raise an error: there are no programs but those of the kernels.

        Raises:
            CallError: always.
        """
        raise CallError(
            f"{self.__name__} launches kernels, which are programs; it is not one itself",
            hint="name one of the kernels, or call it from Python",
            slug="program-name",
        )

    def check(self, *args: Any, orders: int = _ORDERS, **named: Any) -> None:
        """Run the function with its ranks in several orders, and look for races between them.

        Kernels run in the interpreter, which knows what they access. Two ranks that access an
        element of a window, one of them to write it, need a signal between them that orders the
        accesses; a race is found even if none of these orders goes wrong. Results are compared
        between the orders, too, except for the last bits of floats: ranks that add to one window
        do so in any order. The arrays that are passed are not changed.

        Args:
            args: As in a call.
            orders: In how many orders the ranks take turns.
            named: As in a call.

        Raises:
            EvaluationError: two accesses race (the slug is ``rank-race``), a signal is set again
                before any rank has seen it (``signal-reuse``) or left over (``signal-left``), ranks
                wait for each other (``deadlock``), two orders give different results
                (``rank-order``), or any other error of a run.
            CallError, ParserError, PyptoError: as in a call.
        """
        location = span_of_frame(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        try:
            self.check_signals(*args, orders=orders, **named)
        except EvaluationError as error:
            if error.slug != "signal-data":
                raise
        first: dict[str, Any] = {}
        programs: dict[CompiledProgram, CompiledProgram] = {}
        version = self._present()
        names = [each.name for each in version.parameters]
        for seed in range(orders):
            words = dict(named)
            config = words.pop("config", None)
            given = dict(zip(names, version.arranged(args, words), strict=True))
            copies = {
                each.name: self._array(each.name, given[each.name]).copy()
                for each in version.parameters
                if isinstance(each, ArrayParameter)
            }
            self._evaluated(
                (), {**given, **copies, "config": config}, runs=True, is_local=True
            ).run_watched(seed, programs)
            first = first or copies
            for name, array in copies.items():
                at = _difference(first[name], array)
                if at is not None:
                    raise EvaluationError(
                        f"{self.__name__} depends on the order of its ranks: {name}{at} is "
                        f"{first[name][tuple(at)]} where they begin with rank 0, and "
                        f"{array[tuple(at)]} in another order",
                        location,
                        hint="wait for a signal before reading what another rank writes",
                        note=f"PYPTO_RANK_SEED={seed} runs them in that order",
                        slug="rank-order",
                    )

    def check_signals(self, *args: Any, orders: int = _ORDERS, **named: Any) -> None:
        """Look for mistakes in the signals of ranks, and for races, without running the program.

        What ranks send, wait for and access is traced for the number of ranks of ``config=``, from
        loops, conditions and offsets alone: no element of a tensor is computed. So arguments may
        be types, ``pl.Tensor[[4, 1, 128], pl.FP32]``, and their size costs little.

        Args:
            args: As in a call; only their shapes count.
            orders: The number of orders in which the ranks are traced.
            named: As in a call.

        Raises:
            EvaluationError: a deadlock, with the cycle of ranks that wait for each other or the
                signal that is never sent (``deadlock``), ``rank-race``, ``signal-reuse`` or
                ``signal-left`` as in `check`; or which signals are sent depends on elements of a
                tensor (``signal-data``), which `check` can follow.
            CallError, ParserError, PyptoError: as in a call.
        """
        from pypto._src.jit.signal_check import check_signals

        check_signals(self._evaluated(args, named, runs=False, is_local=True), orders)

    def check_declared(self, ranks: int, sizes: Mapping[str, int]) -> None:
        """Do what `check_signals` does, for arguments as the annotations declare them.

        Raises:
            CallError: a shape is needed that is not declared.
            EvaluationError, ParserError, PyptoError: as `check_signals`.
        """
        from pypto._src.jit.signal_check import check_signals

        version = self._present()
        values: dict[str, Any] = {}
        for parameter in version.parameters:
            name = parameter.name
            if isinstance(parameter, ArrayParameter):
                values[name] = _declared(parameter, sizes)
            elif parameter.default is REQUIRED or name in sizes:
                values[name] = sizes.get(name, 1)
            else:
                values[name] = parameter.default
        evaluation = Evaluation(ranks, version.environment)
        self._evaluate(evaluation, values)
        check_signals(evaluation, _ORDERS)

    def _evaluated(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        *,
        runs: bool,
        windows: list[Buffer] | None = None,
        is_local: bool = False,
    ) -> Evaluation:
        version = self._present()
        words = dict(named)
        config = version.config(words)
        if config is not None and runs:
            check_runs_here(config)
        given = version.arguments(args, words)
        values: dict[str, Any] = {}
        for parameter, value in zip(version.parameters, given, strict=True):
            if isinstance(parameter, ArrayParameter):
                value = HostTensor(self._array(parameter.name, value))
            values[parameter.name] = value
        devices = _distributed(config)
        evaluation = Evaluation(
            len(devices.device_ids),
            version.environment,
            windows,
            is_remote=devices.on is not None and not is_local,
        )
        evaluation.outputs = [
            value
            for parameter, value in zip(version.parameters, given, strict=True)
            if isinstance(parameter, ArrayParameter) and parameter.is_out
        ]
        self._evaluate(evaluation, values)
        return evaluation

    def _evaluate(self, evaluation: Evaluation, values: dict[str, Any]) -> None:
        definition = self._present().definition
        body, environment = definition.node, evaluation.environment
        evaluation.run_body(definition.source, body, environment, values)

    def _array(self, name: str, value: Any) -> Any:
        shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
        if isinstance(dtype, DataType):  # pl.Tensor[[64, 64], pl.FP32] in place of an array
            return np.empty(tuple(shape or ()), dtype.numpy)
        if not is_array(value) and not hasattr(value, "__dlpack__") and shape is not None:
            if None in shape:
                raise CallError(
                    f"argument {name!r} of {self.__name__} has a size that only calls give",
                    hint=f"compile it with an array: {self.__name__}.compile({name})",
                    slug="argument-shape",
                )
            return np.empty(shape, dtype)
        return array_view(
            value, Argument(name, self.__name__, "an array", "np.float32", is_written=True)
        )

    def __repr__(self) -> str:
        return f"<pl.jit.host {self.__qualname__}>"


def _declared(parameter: ArrayParameter, sizes: Mapping[str, int]) -> HostTensor:
    """Return an uninitialised array of the declared shape; if there is none, kernels declare it."""
    kind = parameter.kind
    shape = [
        dim.value
        if isinstance(dim, ConstInt)
        else sizes.get(dim.name)
        if isinstance(dim, Var)
        else None
        for dim in (() if kind is None else parameter.with_symbols(kind).shape)
    ]
    if kind is None or None in shape:
        return TensorWithoutShape(parameter.name)
    return HostTensor(np.empty([size or 0 for size in shape], kind.dtype.numpy))


def _difference(a: Any, b: Any) -> list[int] | None:
    """Return where two arrays first differ by more than a different order of sums explains."""
    wide_a, wide_b = (each.astype(np.float64) for each in (a, b))
    close = np.isclose(wide_a, wide_b, rtol=1e-5, atol=1e-6, equal_nan=True)
    return None if close.all() else [int(n) for n in np.argwhere(~close)[0]]


class HostProgram:
    """A host function with compiled kernels; a call runs it on the devices it was compiled for."""

    def __init__(
        self,
        function: HostFunction,
        config: RunConfig | None,
        programs: Sequence[CompiledProgram],
    ) -> None:
        self._function = function
        self._config = config
        self._output_dir: Path | None = None
        self.programs = tuple(programs)
        """The programs that devices run, without repeats, in the order of their first launches."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; see `HostFunction`."""
        return self._function(*args, **{"config": self._config, **named})

    def run(
        self,
        args: Sequence[Any],
        named: Mapping[str, Any],
        windows: list[Buffer] | None = None,
        ranks: ClusterRanks | None = None,
    ) -> Any:
        """Do what a call does, with the windows of an earlier run; see `HostFunction.run`."""
        return self._function.run(args, {"config": self._config, **named}, windows, ranks)

    def prepare(
        self,
        config: RunConfig | None = None,
        *,
        extra_compiled: Sequence[HostProgram] = (),
        persistent: bool = False,
        reset_persistent_windows: bool | None = None,
        callbacks: None = None,
        sub_worker_overrides: None = None,
        startup_timeout_s: float | None = None,
    ) -> DistributedWorker:
        """Return a worker that runs this program, and ``extra_compiled``, many times.

        Args:
            config: The devices, if they differ from those at ``compile``.
            extra_compiled: Other programs for `DistributedWorker.run`.
            persistent: Windows keep their contents from run to run; otherwise each run begins with
                zeros.
            reset_persistent_windows: Whether each run sets them to zero nevertheless.
            callbacks: For Python functions as workers, which are not supported here.
            sub_worker_overrides: The same.
            startup_timeout_s: Ignored: nothing has to start on this machine.

        Raises:
            ValueError: ``callbacks`` or ``sub_worker_overrides`` is given.
        """
        from pypto._src.jit.workers import DistributedWorker

        if callbacks is not None or sub_worker_overrides is not None:
            raise ValueError("Python functions as workers do not run here; leave callbacks out")
        del startup_timeout_s
        return DistributedWorker(
            [self, *extra_compiled],
            {} if config is None else {"config": config},
            persistent=persistent,
            reset_windows=bool(reset_persistent_windows),
        )

    @property
    def output_dir(self) -> Path:
        """A folder with the C++ of all kernels; it is written on first use.

        The C++ is for this machine: there is no text for ranks of the device.

        Raises:
            OutputError: the files cannot be written.
        """
        if self._output_dir is None:
            from pypto._src.build_output import new_folder

            folder = None if self._config is None else self._config.save_kernels_dir
            made = new_folder(self.programs[0].source) if folder is None else Path(folder)
            OutputFolder(made).write(
                {
                    f"{program.entry}/{name}.cpp": text
                    for program in self.programs
                    for name, text in program.sources.items()
                }
            )
            self._output_dir = made
        return self._output_dir

    def __repr__(self) -> str:
        names = ", ".join(program.entry for program in self.programs)
        return f"<HostProgram {self._function.__name__} of {names}>"


def _distributed(config: RunConfig | None) -> DistributedConfig:
    """Return which devices a configuration names; one, if it names none."""
    found = None if config is None else config.distributed_config
    return DistributedConfig() if found is None else found
