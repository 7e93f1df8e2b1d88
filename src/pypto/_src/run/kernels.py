"""Kernels as their callers see them: what parameters accept, what is written and returned.

Knows functions after the passes; knows nothing of compilers and tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Var, const_value
from pypto._src.ir.stmts import Function
from pypto._src.ir.types import ScalarType
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.parameters import type_text
from pypto._src.run.arguments.symbolic_sizes import DependentSizes, SizeWords
from pypto._src.run.effects import Effects


class KernelParameter(NamedTuple):
    """A parameter of a kernel: what it accepts, and what a call does to it."""

    name: str
    text: str
    is_tensor: bool
    dtype: DataType
    sizes: tuple[int | None, ...]
    """The sizes of a tensor's dimensions, None where any size is accepted."""
    writes: bool


class KernelSignature:
    """What a call of a kernel takes, writes and returns."""

    def __init__(self, function: Function, effects: Effects) -> None:
        """Prepare launches.

        Args:
            function: The kernel after the passes.
            effects: What it does to its parameters.

        Raises:
            EvaluationError: a result is not one of the parameters, so no caller can get it.
            CallError: nothing determines one of its sizes.
        """
        self.name = function.name
        self.results = [
            _result(function, index, candidates) for index, candidates in enumerate(effects.results)
        ]
        self.only_written = [
            index
            for index, (writes, reads) in enumerate(zip(effects.writes, effects.reads, strict=True))
            if writes and not reads
        ]
        """The positions of parameters whose elements it stores and never loads."""
        rows = zip(function.params, effects.writes, strict=True)
        self.params = [_parameter(var, writes) for var, writes in rows]
        self.sizes = SizeWords(function)
        DependentSizes(function, len(self.params))  # raises if a size cannot be computed


class Launcher(Protocol):
    """Compiled code that runs one block of a kernel."""

    @property
    def address(self) -> int:
        """The address of its C function."""
        ...

    def __call__(self, words: Sequence[int]) -> None:
        """Run one block on argument words."""
        ...


class Kernel(NamedTuple):
    """A kernel that can be launched."""

    signature: KernelSignature
    launcher: Launcher
    counters: int = 0
    """Address of the counters that a profiled kernel takes as its last argument; otherwise 0."""
    names: Mapping[str, str] = {}
    """New names for parameters in the launcher's reports, if it was made for another kernel."""


def _parameter(var: Var, writes: bool) -> KernelParameter:
    kind = var.type
    assert isinstance(kind, TensorType | ScalarType)  # the C++ emitter rejects others
    is_tensor = isinstance(kind, TensorType)
    sizes = tuple([const_value(dim) for dim in kind.shape]) if is_tensor else ()
    return KernelParameter(var.name, type_text(kind), is_tensor, kind.dtype, sizes, writes)


def _result(function: Function, index: int, candidates: Sequence[int]) -> int:
    if len(candidates) == 1:
        return candidates[0]
    found = " or ".join(repr(function.params[i].name) for i in candidates)
    raise EvaluationError(
        f"result {index} of kernel {function.name!r} is "
        + (f"{found}, which the caller cannot know" if found else "not one of its parameters"),
        function.span,
        hint="return the tensor that the kernel stores to",
        slug="kernel-result",
    )
