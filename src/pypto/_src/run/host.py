"""Runs host functions: control flow and scalars in Python, each kernel call as a task.

The interpreter evaluates the statements. Tensors are regions here, tensor ops on them wait for the
tasks in their way, and calling a kernel submits a task. Knows nothing of compilers.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import EvaluationError
from pypto._src.interp.evaluate import Env, Eval, Evaluator, Plan, Store
from pypto._src.ir.nodes import Call, ScalarType, TensorType, Var, const_value
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.stmts import Function, Program
from pypto._src.ops import tensor
from pypto._src.ops.rules import new_array
from pypto._src.run.arguments import (
    Bound,
    SizeWords,
    ToldSizes,
    is_array,
    type_text,
    word_of,
)
from pypto._src.run.effects import Effects
from pypto._src.run.graph import Access, Buffer, Region, TaskGraph, thread_count

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]


SHORT_S: Final = 40e-6
"""Handing a task to another thread costs about as much."""


class Kernel:
    """A compiled kernel with what a call of it does to its parameters."""

    def __init__(
        self, function: Function, native: Callable[[list[int]], object], effects: Effects
    ) -> None:
        """Prepare launches.

        Args:
            function: The kernel after the passes.
            native: Runs it, given the words of its arguments.
            effects: What it does to its parameters.

        Raises:
            EvaluationError: a result is not one of the parameters, so no caller can have it.
        """
        self.name = function.name
        self.native = native
        self.results = [
            _result(function, index, candidates) for index, candidates in enumerate(effects.results)
        ]
        self._seconds = math.inf  # about what one run takes; waiting for Python's lock left out
        rows = zip(function.params, effects.writes, strict=True)
        self.params = [KernelParameter(var, writes) for var, writes in rows]
        self.sizes = SizeWords(function)
        self._told = ToldSizes(function, len(self.params))

    def launch(self, graph: TaskGraph, span: Span, args: Sequence[Any]) -> Any:
        """Submit one run of the kernel; return its results, which have their values later.

        Raises:
            EvaluationError: a tensor has another shape or element type than its parameter.
        """
        words: list[int] = []
        accesses: list[Access] = []
        is_dense = True
        for param, value in zip(self.params, args, strict=True):
            if param.word is not None:
                words.append(param.word(value))
                continue
            if not param.fits(value.shape) or value.buffer.array.dtype != param.dtype:
                raise self._mismatch(param, value).at(span)
            words.append(value.address)
            accesses.append((value, param.writes))
            is_dense = is_dense and value.is_dense
        misfit = self._told.misfit(args) if self._told else None
        if misfit is not None:
            index = misfit[0]
            raise self._mismatch(self.params[index], args[index]).at(span)
        if self.sizes:
            words += self.sizes.words(args)
        run = partial(self._run, words)
        if not is_dense:
            _check_staging(self.name, accesses, span)
            run = partial(self._run_staged, words, args)
        graph.submit(run, accesses, span, args, self._seconds < SHORT_S)
        if len(self.results) == 1:
            return args[self.results[0]]
        return tuple([args[index] for index in self.results]) or None

    def _run(self, words: list[int]) -> None:
        begin = perf_counter()
        self.native(words)
        seconds = perf_counter() - begin
        # The measured time includes the wait for Python's lock, so the least ones are the best.
        self._seconds = min(seconds, self._seconds * 1.1)

    def _run_staged(self, words: list[int], args: Sequence[Any]) -> None:
        """Run on dense copies of the views that have gaps: kernels take dense tensors only."""
        copies: dict[tuple[int, Any], Array] = {}
        written: list[tuple[Array, Array]] = []
        for index, (param, value) in enumerate(zip(self.params, args, strict=True)):
            if param.word is not None or value.is_dense:
                continue
            key = (id(value.buffer), value.box)
            copy = copies.get(key)
            if copy is None:
                # Of an Out tensor, too: a kernel need not write all of it.
                copy = copies[key] = value.array.copy()
            words[index] = copy.ctypes.data
            if param.writes:
                written.append((value.array, copy))
        self.native(words)
        for target, copy in written:
            target[...] = copy

    def _mismatch(self, param: KernelParameter, value: Region) -> EvaluationError:
        return EvaluationError(
            f"argument {param.name!r} of {self.name} is a tensor {list(value.shape)} of "
            f"{value.dtype}; {param.text} was wanted",
            slug="argument",
        )


class KernelParameter:
    """A parameter of a kernel: what fits it, and what a call does to it."""

    def __init__(self, var: Var, writes: bool) -> None:
        kind = var.type
        assert isinstance(kind, TensorType | ScalarType)  # the C++ emitter refuses others
        self.name = var.name
        self.text = type_text(kind)
        self.writes = writes
        self.word = word_of(kind.dtype) if isinstance(kind, ScalarType) else None
        self.dtype = kind.dtype.numpy
        dims = kind.shape if isinstance(kind, TensorType) else ()
        self.sizes = [const_value(dim) for dim in dims]  # None where any will do

    def fits(self, shape: Sequence[int]) -> bool:
        """True for the shape of a tensor that the kernel takes here."""
        return len(shape) == len(self.sizes) and all(
            known is None or known == size for known, size in zip(self.sizes, shape, strict=True)
        )


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


def _check_staging(name: str, accesses: Sequence[Access], span: Span) -> None:
    """Refuse views that overlap without being the same: copies of them would not."""
    for number, (first, first_writes) in enumerate(accesses):
        for second, second_writes in accesses[:number]:
            if first.buffer is not second.buffer or first.box == second.box:
                continue
            apart = any(
                a[1] <= b[0] or b[1] <= a[0] for a, b in zip(first.box, second.box, strict=True)
            )
            if not apart and (first_writes or second_writes):
                raise EvaluationError(
                    f"{name} gets two views of one tensor that overlap, and writes one of them",
                    span,
                    slug="overlapping-views",
                )


class HostProgram(Evaluator):
    """The host functions of a program, whose kernels are compiled.

    Calls from several threads run one after the other; the tasks of one call run in parallel.
    """

    def __init__(self, program: Program, kernels: Mapping[str, Kernel]) -> None:
        super().__init__(program)
        self._kernels = kernels
        self._lock = threading.Lock()
        self.graph = TaskGraph(1)

    def launch(self, name: str, bound: Bound) -> Any:
        """Call a host function on arguments that fit; return its results when all is done.

        Raises:
            EvaluationError: the program, or a kernel, does something that has no meaning.
        """
        with self._lock:
            self.graph = graph = TaskGraph(thread_count())
            args = [
                Buffer(value, word).whole() if is_array(value) else value
                for value, word in zip(bound.values, bound.words, strict=True)
            ]
            try:
                found = self.call(name, args)
            except Exception:
                graph.finish()  # a task that failed came before what failed here
                raise
            except BaseException:
                graph.cancel()
                raise
            graph.finish()
        if isinstance(found, tuple):
            return tuple([_outside(item) for item in found])  # pyright: ignore[reportUnknownVariableType]
        return _outside(found)

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call a host function, or launch a kernel, from within a call."""
        kernel = self._kernels.get(name)
        if kernel is None:
            return super().run(name, args, span)
        return kernel.launch(self.graph, span, args)

    def plan(self, function: Function) -> Plan:
        """Return a host function ready to be called."""
        return _HostPlan(function, self)


def _outside(value: Any) -> Any:
    return value.array if isinstance(value, Region) else value


class _HostPlan(Plan):
    """One host function as closures; its tensors are regions."""

    def __init__(self, function: Function, program: HostProgram) -> None:
        self.program = program
        super().__init__(function, program)

    def _tensor_binder(self, param: Var, kind: TensorType) -> Store:
        slot, checks = self._slot(param), [self._dimension(dim) for dim in kind.shape]
        dtype, wanted = kind.dtype.numpy, type_text(kind)

        def bind(env: Env, value: Region) -> None:
            shape = value.shape
            fits = value.dtype == dtype and len(shape) == len(checks)
            if not fits or not all(c(env, n) for c, n in zip(checks, shape, strict=True)):
                raise EvaluationError(
                    f"argument {param.name!r} is a tensor {list(shape)} of {value.dtype}, "
                    f"{wanted} was wanted",
                    slug="argument",
                )
            env[slot] = value

        return bind

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        if op is tensor.create:
            return _create(call, evals[0])
        if op is tensor.view:
            return _view(call, evals)
        return self._waiting_call(call, op, evals)

    def _waiting_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        """Plan an op that runs here, on the arrays, when no task stands in its way."""
        program, accessed = self.program, op.reads | op.writes
        args: list[Any] = [None] * len(evals)
        run = super()._op_call(call, op, [partial(_item, args, i) for i in range(len(evals))])
        target = min(op.writes, default=None)
        is_tensor = isinstance(call.type, TensorType)

        def run_here(env: Env) -> Any:
            values = [each(env) for each in evals]
            for index, value in enumerate(values):
                if isinstance(value, Region):
                    if index in accessed:
                        program.graph.wait_for(value, index in op.writes)
                    args[index] = value.array
                else:
                    args[index] = value
            result = run(env)
            if not is_tensor:
                return result
            return values[target] if target is not None else Buffer(result).whole()

        return run_here


def _item(args: Sequence[Any], index: int, _env: Env) -> Any:
    return args[index]


def _create(call: Call, shape: Eval) -> Eval:
    assert isinstance(call.type, TensorType)
    dtype = call.type.dtype.numpy

    def create(env: Env) -> Region:
        try:
            return Buffer(new_array(shape(env), dtype)).whole()
        except EvaluationError as error:
            raise error.at(call.span) from None

    return create


def _view(call: Call, evals: Sequence[Eval]) -> Callable[[Env], Region]:
    source, shape, offset = evals
    span = call.span

    def view(env: Env) -> Region:
        try:
            region: Region = source(env)
            return region.view(shape(env), offset(env))
        except EvaluationError as error:
            raise error.at(span) from None

    return view
