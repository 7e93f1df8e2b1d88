"""``@pl.jit.host``: functions that launch kernels on several devices, each a rank of one program.

A host function has no work of its own: loops whose bounds are numbers, parts of tensors, windows,
launches. So it is evaluated, statement by statement, and what it gives is a list of launches.
Those run as threads of this process (`run.launches`). What a kernel does is the kernel's.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto._src.diagnostics import span_of_frame
from pypto._src.driver import CompiledProgram
from pypto._src.dtypes import DataType
from pypto._src.errors import CallError
from pypto._src.jit.function import JitFunction
from pypto._src.jit.host_evaluator import Evaluation
from pypto._src.jit.host_values import HostTensor
from pypto._src.jit.parameters import ArrayParameter
from pypto._src.lazy import lazy_module
from pypto._src.run.array_views import Argument, array_view, is_array
from pypto._src.run.config import RunConfig, check_runs_here

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")


class HostFunction(JitFunction):
    """A function that launches kernels on devices; a call returns when all launches have ended."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Evaluate the function on these arguments, and run what it launches.

        ``config=RunConfig(distributed_config=DistributedConfig(device_ids=[0, 1]))`` says how many
        devices there are; without it there is one.

        Raises:
            CallError: the arguments do not fit the parameters.
            ParserError: the function, or a kernel, makes no sense for these arguments.
            EvaluationError: the ranks wait for each other, or a kernel does what has no meaning.
        """
        try:
            return self._evaluated(args, named, runs=True).run()
        except CallError as error:
            error.at(span_of_frame(sys._getframe(1)))  # pyright: ignore[reportPrivateUsage]
            raise

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

    def _evaluated(
        self, args: Sequence[Any], named: Mapping[str, Any], *, runs: bool
    ) -> Evaluation:
        version = self._present()
        words = dict(named)
        config = version.config(words)
        if config is not None and runs:
            check_runs_here(config)
        given = version.arguments(args, words)
        names = [parameter.name for parameter in version.parameters]
        values: dict[str, Any] = {}
        for parameter, value in zip(version.parameters, given, strict=True):
            if isinstance(parameter, ArrayParameter):
                value = HostTensor(self._array(parameter.name, value))
            values[parameter.name] = value
        definition = version.definition
        evaluation = Evaluation(_count(config), version.environment)
        evaluation.outputs = dict(zip(names, given, strict=True))
        evaluation.run_body(definition.source, definition.node, version.environment, values)
        return evaluation

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


class HostProgram:
    """A host function whose kernels are compiled; a call runs it on the devices it was told."""

    def __init__(
        self, function: HostFunction, config: Any, programs: Sequence[CompiledProgram]
    ) -> None:
        self._function = function
        self._config = config
        self.programs = tuple(programs)
        """What the devices run, each once, in the order of the first launches."""

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; see `HostFunction`."""
        return self._function(*args, **{"config": self._config, **named})

    @property
    def output_dir(self) -> Path:
        """The folder with the texts for the device of the kernel that is launched first.

        Raises:
            PyptoError: an emitter refuses the kernel.
        """
        return self.programs[0].output_dir

    def __repr__(self) -> str:
        names = ", ".join(program.entry for program in self.programs)
        return f"<HostProgram {self._function.__name__} of {names}>"


def _count(config: RunConfig | None) -> int:
    """Return how many devices a configuration names."""
    devices = getattr(getattr(config, "distributed_config", None), "device_ids", None)
    return 1 if devices is None else len(devices)
