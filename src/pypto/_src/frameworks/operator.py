"""A kernel as a function from arrays to new arrays, like the operators of other libraries.

Owns what such a library needs to know about a kernel: its parameters, the shapes of its results,
and which kernel computes its gradients. Knows no library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, cast

from pypto._src.driver import CompiledProgram, compile_program, entry_function
from pypto._src.errors import CallError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import ConstInt, Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.types import ScalarType
from pypto._src.jit.function import JitFunction
from pypto._src.jit.parameters import (
    REQUIRED,
    ArrayParameter,
    ConstantParameter,
    WindowParameter,
)
from pypto._src.records import NamedTuple
from pypto._src.run.arguments.parameters import type_text

Role = Literal["input", "output", "changed"]

GRADIENT: Final = "grad_"
"""The prefix of a gradient's name, before the name of a result or argument."""


class Parameter(NamedTuple):
    """A parameter of an operator; a tensor of any shape and type has the kind None."""

    name: str
    kind: TensorType | ScalarType | None
    role: Role
    default: Any = REQUIRED

    @property
    def is_tensor(self) -> bool:
        """False for a number."""
        return not isinstance(self.kind, ScalarType)

    @property
    def is_differentiable(self) -> bool:
        """True for a tensor that can have a gradient."""
        kind = self.kind
        return self.is_tensor and (kind is None or kind.dtype.is_float())


class Result(NamedTuple):
    """Shape and element type of a new array; sizes are what the library uses for them."""

    shape: tuple[Any, ...]
    dtype_name: str


class Operator:
    """A kernel that takes its inputs and returns its outputs, which are new arrays.

    Args:
        kernel: A ``@pl.jit`` function, a ``@pl.program``, or what `runtime.compile` returns.

    Raises:
        CallError: no operator can be made of it.
    """

    def __init__(self, kernel: JitFunction | Program | CompiledProgram) -> None:
        self._constants: dict[int, Any] = {}
        if isinstance(kernel, JitFunction):
            self.name = kernel.__name__
            self.parameters = tuple(self._of_jit(kernel))
            self._call: Callable[[Sequence[Any]], Any] = kernel.run_kernel
        elif isinstance(kernel, Program | CompiledProgram):  # pyright: ignore[reportUnnecessaryIsInstance]  users are not checked
            compiled = compile_program(kernel) if isinstance(kernel, Program) else kernel
            function = entry_function(compiled.source, compiled.entry)
            self.name = function.name
            self.parameters = tuple(_of_function(function))
            self._call = compiled.run
        else:
            raise CallError(
                f"{kernel!r} is not a kernel",
                hint="pass a function decorated with @pl.jit",
                slug="operator",
            )
        self.inputs = [p for p in self.parameters if p.role != "output"]
        self.outputs = [p for p in self.parameters if p.role == "output"]
        self._order = [*self.inputs, *self.outputs]
        self._places = [
            next(i for i, p in enumerate(self._order) if p.name == parameter.name)
            for parameter in self.parameters
        ]
        self._new_shapes = [self._output_dims(output) for output in self.outputs]

    def _of_jit(self, kernel: JitFunction) -> Sequence[Parameter]:
        found: list[Parameter] = []
        for index, parameter in enumerate(kernel.parameters()):
            if isinstance(parameter, ConstantParameter) and parameter.default is not REQUIRED:
                self._constants[index] = parameter.default
                continue
            if isinstance(parameter, ConstantParameter | WindowParameter):
                is_window = isinstance(parameter, WindowParameter)
                what = "a window" if is_window else "a constant without a default"
                raise CallError(
                    f"parameter {parameter.name!r} of {kernel.__name__} is {what}, which no "
                    "operator takes",
                    hint=None if is_window else f"give {parameter.name} a default",
                    slug="operator",
                )
            role: Role = "input"
            if isinstance(parameter, ArrayParameter):
                role = "output" if parameter.is_out else "changed" if parameter.is_inout else role
                kind = parameter.kind and parameter.with_symbols(parameter.kind)
                found.append(Parameter(parameter.name, kind, role))
            else:
                found.append(Parameter(parameter.name, parameter.kind, role, parameter.default))
        return found

    def _output_dims(self, output: Parameter) -> list[int | tuple[int, int]]:
        """Return the sizes of an output: a number, or the index and the axis of an input.

        Raises:
            CallError: the inputs do not determine one of them.
        """
        known = {
            dim: (index, axis)
            for index, parameter in enumerate(self.inputs)
            for axis, dim in enumerate(_dims(parameter))
            if isinstance(dim, Var)
        }
        found = [
            dim.value if isinstance(dim, ConstInt) else known.get(dim) for dim in _dims(output)
        ]
        told = [dim for dim in found if dim is not None]
        if output.kind is None or len(told) < len(found):
            kind = "pl.Tensor" if output.kind is None else type_text(output.kind)
            raise CallError(
                f"the shape of output {output.name!r} of {self.name} is not told by its inputs: "
                f"it is {kind}",
                hint=f"write {output.name}: pl.Out[pl.Tensor[[ROWS, 64], pl.FP32]] with "
                'ROWS = pl.dynamic("ROWS") in the type of an input',
                slug="operator",
            )
        return told

    def complete(self, args: Sequence[Any]) -> Sequence[Any]:
        """Return the inputs in order, with their defaults for those that a call leaves out."""
        if len(args) == len(self.inputs):
            return args
        return [*args, *(parameter.default for parameter in self.inputs[len(args) :])]

    def results(self, shapes: Mapping[str, Sequence[Any]]) -> list[Result]:
        """Return shapes and types of the outputs for inputs of these shapes, given by name.

        Sizes may be symbols of a library: they are compared with numbers where the kernel has
        numbers, and with each other where the kernel has one name for both.

        Raises:
            CallError: the inputs do not fit the kernel.
        """
        sizes: dict[Var, Any] = {}
        for parameter in self.inputs:
            dims, shape = _dims(parameter), shapes.get(parameter.name, ())
            if not isinstance(parameter.kind, TensorType):
                continue
            fits = len(dims) == len(shape)
            for dim, size in zip(dims, shape, strict=False):
                if isinstance(dim, Var):
                    fits = fits and bool(sizes.setdefault(dim, size) == size)
                elif isinstance(dim, ConstInt):
                    fits = fits and bool(dim.value == size)
            if not fits:
                text = "".join(f", with {dim.name} = {size}" for dim, size in sizes.items())
                raise CallError(
                    f"argument {parameter.name!r} of {self.name} is an array "
                    f"{[*shape]}; {type_text(parameter.kind)} was wanted{text}",
                    slug="argument-shape",
                )
        found: list[Result] = []
        for output in self.outputs:
            assert isinstance(output.kind, TensorType)
            shape = tuple(
                dim.value if isinstance(dim, ConstInt) else sizes[dim]  # pyright: ignore[reportArgumentType]
                for dim in output.kind.shape
            )
            found.append(Result(shape, output.kind.dtype.numpy.name))
        return found

    def new_shapes(self, args: Sequence[Any]) -> list[tuple[int, ...]]:
        """Return the shapes of the outputs for inputs that the kernel will check."""
        return [
            tuple([dim if isinstance(dim, int) else args[dim[0]].shape[dim[1]] for dim in dims])
            for dims in self._new_shapes
        ]

    def run(self, arrays: Sequence[Any]) -> None:
        """Run the kernel on its inputs, in order, followed by its outputs.

        Raises:
            CallError: they do not fit the parameters.
        """
        args = [arrays[i] for i in self._places]
        for index, value in self._constants.items():
            args.insert(index, value)
        self._call(args)


class Gradient:
    """The operator that computes the gradients of another, its arguments matched by name.

    Its inputs are named like an input or an output of the operator, or ``grad_`` and an output; its
    outputs are named ``grad_`` and an input.

    Raises:
        CallError: a parameter has another name, or an input of the operator has no gradient.
    """

    def __init__(
        self,
        operator: Operator,
        kernel: JitFunction | Program | CompiledProgram,
        constants: Sequence[str],
    ) -> None:
        self.operator = Operator(kernel)
        forward = operator.name
        values = [p.name for p in (*operator.inputs, *operator.outputs)]
        gradients = [GRADIENT + p.name for p in operator.outputs]
        for parameter in self.operator.inputs:
            if parameter.name not in (*values, *gradients) or parameter.role == "changed":
                raise CallError(
                    f"parameter {parameter.name!r} of {self.operator.name} is nothing that "
                    f"{forward} has; it has {', '.join((*values, *gradients))}",
                    slug="operator",
                )
        wanted = [
            p.name for p in operator.inputs if p.is_differentiable and p.name not in constants
        ]
        made = [p.name.removeprefix(GRADIENT) for p in self.operator.outputs]
        for name in made:
            if name not in wanted:
                raise CallError(
                    f"output {GRADIENT + name!r} of {self.operator.name} is the gradient of no "
                    f"input of {forward}; its inputs are {', '.join(wanted)}",
                    slug="operator",
                )
        missing = [name for name in wanted if name not in made]
        if missing:
            raise CallError(
                f"{self.operator.name} has no output {GRADIENT + missing[0]!r}, the gradient of an "
                f"input of {forward}",
                hint=f"add it, or say constants={missing!r} if nobody asks for it",
                slug="operator",
            )
        self._order = {name: index for index, name in enumerate(gradients)}
        self.saved = [p.name for p in self.operator.inputs if p.name in values]
        """The values to save for the backward pass."""
        self.made = made
        """The inputs of the operator whose gradients it returns, in order."""

    def arguments(self, values: Mapping[str, Any], gradients: Sequence[Any]) -> list[Any]:
        """Return the arguments of the operator, from saved values and gradients of the results.

        ``gradients`` are in the order of the results of the operator that this one belongs to.
        """
        return [
            values[p.name] if p.name in values else gradients[self._order[p.name]]
            for p in self.operator.inputs
        ]


def as_tuple(results: Any) -> tuple[Any, ...]:
    """Return the results of a call as a tuple, also a single one."""
    return cast("tuple[Any, ...]", results) if isinstance(results, tuple) else (results,)


def as_results(made: Sequence[Any]) -> Any:
    """Return what a call gives: a single result alone, several as a tuple, None for none."""
    return made[0] if len(made) == 1 else tuple(made) if made else None


def _of_function(function: Function) -> Sequence[Parameter]:
    roles: dict[ParamDirection, Role] = {
        ParamDirection.In: "input",
        ParamDirection.Out: "output",
        ParamDirection.InOut: "changed",
    }
    found: list[Parameter] = []
    for param, direction in zip(function.params, function.param_directions, strict=True):
        assert isinstance(param.type, TensorType | ScalarType)  # others cannot be called
        found.append(Parameter(param.name, param.type, roles[direction]))
    return found


def _dims(parameter: Parameter) -> Sequence[Any]:
    return parameter.kind.shape if isinstance(parameter.kind, TensorType) else ()
