"""A kernel as an operator of PyTorch: registered with its shapes, so that `torch.compile` knows it.

Tensors on the CPU are used in place. Inputs that are not contiguous are copied; a tensor that the
kernel changes has to be contiguous, since a copy would lose what it writes.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Final

from pypto._src.driver import CompiledProgram
from pypto._src.errors import CallError
from pypto._src.frameworks.operator import Gradient, Operator, Parameter, as_results, as_tuple
from pypto._src.ir.stmts import Program
from pypto._src.ir.types import ScalarType
from pypto._src.jit.function import JitFunction
from pypto._src.jit.parameters import REQUIRED
from pypto._src.run.arguments.array_views import bfloat16_view

_NAME: Final = re.compile(r"(\w+)::(\w+)")

_libraries: Final[dict[str, Any]] = {}
"""The registration of each operator; registering one again replaces it."""


def register(
    kernel: JitFunction | Program | CompiledProgram,
    name: str | None = None,
    *,
    backward: JitFunction | Program | CompiledProgram | None = None,
    constants: Sequence[str] = (),
) -> Callable[..., Any]:
    """Register a kernel as an operator of PyTorch, and return it.

    The operator takes what the kernel reads and returns its ``pl.Out`` tensors, which are new, with
    shapes that follow from the types of the kernel: annotations of the outputs have a shape, with
    named sizes (``pl.dynamic``) of inputs in it. ``pl.InOut`` tensors are changed in place.
    `torch.compile` calls it as it is.

    Args:
        kernel: A ``@pl.jit`` function, a ``@pl.program``, or what `runtime.compile` returns.
        name: The operator's name, ``library::operator``; by default ``pypto::`` and the kernel's.
        backward: A kernel that computes the gradients. Its parameters say by their names what they
            are: ``grad_y`` is the gradient of the output ``y``; inputs and outputs of ``kernel``
            have their names; an output ``grad_x`` is the gradient of the input ``x``.
        constants: Inputs whose gradient is never needed, and ``backward`` has none.

    Raises:
        CallError: the kernel cannot be an operator, or PyTorch is not installed.
    """
    torch = _torch()
    operator = Operator(kernel)
    qualified = name or f"pypto::{operator.name}"
    if _NAME.fullmatch(qualified) is None:
        raise CallError(
            f"{qualified!r} is not the name of an operator",
            hint=f"name='mylibrary::{operator.name}'",
            slug="operator",
        )
    gradient = None if backward is None else Gradient(operator, backward, constants)
    made = _define(torch, qualified, operator)
    if gradient is not None:
        compute = _define(torch, f"{qualified}_backward", gradient.operator)
        _differentiate(torch, qualified, operator, gradient, compute)
        _refuse_gradients(torch, f"{qualified}_backward", gradient.operator)
    return made


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError:
        raise CallError(
            "registering an operator needs PyTorch, which is not installed",
            hint="pip install 'pypto[torch]'",
            slug="missing-package",
        ) from None


def _define(torch: Any, qualified: str, operator: Operator) -> Callable[..., Any]:
    """Register an operator without gradients."""
    before = _libraries.pop(qualified, None)
    if before is not None:  # a notebook cell that runs again
        before._destroy()
    namespace, _, name = qualified.partition("::")
    library = _libraries[qualified] = torch.library.Library(namespace, "FRAGMENT")
    tags = (torch.Tag.pt2_compliant_tag, torch.Tag.needs_contiguous_strides)
    library.define(f"{name}{_schema(operator)}", tags=tags)
    library.impl(name, _implementation(torch, operator), "CPU")
    torch.library.register_fake(qualified, _shapes(torch, operator), lib=library)
    return getattr(getattr(torch.ops, namespace), name).default


def _schema(operator: Operator) -> str:
    """Return the types of parameters and results: ``(Tensor x, float factor) -> Tensor``."""
    words: list[str] = []
    for index, parameter in enumerate(operator.inputs):
        default = "" if parameter.default is REQUIRED else f"={parameter.default}"
        words.append(f"{_schema_type(parameter, index)} {parameter.name}{default}")
    results = ", ".join("Tensor" for _ in operator.outputs)
    return f"({', '.join(words)}) -> {results if len(operator.outputs) == 1 else f'({results})'}"


def _schema_type(parameter: Parameter, index: int) -> str:
    kind = parameter.kind
    if not isinstance(kind, ScalarType):
        return f"Tensor(a{index}!)" if parameter.role == "changed" else "Tensor"
    return "bool" if kind.dtype.member == "BOOL" else "float" if kind.dtype.is_float() else "int"


def _shapes(torch: Any, operator: Operator) -> Callable[..., Any]:
    """Return the fake implementation, which makes the results without computing them."""

    def shapes(*args: Any) -> Any:
        values = operator.complete(args)
        given = dict(zip((p.name for p in operator.inputs), values, strict=True))
        tensors = {p.name: given[p.name] for p in operator.inputs if p.is_tensor}
        for parameter in operator.inputs:
            _check_type(torch, operator, parameter, given[parameter.name])
        results = operator.results({name: tensor.shape for name, tensor in tensors.items()})
        device = next((tensor.device for tensor in tensors.values()), "cpu")
        made = [
            torch.empty(each.shape, dtype=getattr(torch, each.dtype_name), device=device)
            for each in results
        ]
        return as_results(made)

    return shapes


def _check_type(torch: Any, operator: Operator, parameter: Parameter, value: Any) -> None:
    if not parameter.is_tensor or parameter.kind is None:
        return
    wanted = getattr(torch, parameter.kind.dtype.numpy.name)
    if value.dtype != wanted:
        raise CallError(
            f"argument {parameter.name!r} of {operator.name} is a tensor of {value.dtype}; "
            f"{wanted} was wanted",
            hint=f"pass {parameter.name}.to({wanted})",
            slug="argument-dtype",
        )


def _implementation(torch: Any, operator: Operator) -> Callable[..., Any]:
    """Return the function that runs the kernel; what its calls share is computed once, here."""
    array = functools.partial(_array, torch.bfloat16)
    inputs = [(parameter.is_tensor, parameter.role == "changed") for parameter in operator.inputs]
    dtypes = [getattr(torch, each.kind.dtype.numpy.name) for each in operator.outputs if each.kind]

    def call(*given: Any) -> Any:
        args = operator.complete(given)  # PyTorch leaves out what equals the default
        shapes = operator.new_shapes(args)
        made = [
            torch.zeros(shape, dtype=dtype) for shape, dtype in zip(shapes, dtypes, strict=True)
        ]
        arrays = [
            array(arg, is_changed) if is_tensor else arg
            for arg, (is_tensor, is_changed) in zip(args, inputs, strict=True)
        ]
        operator.run([*arrays, *[array(each, True) for each in made]])
        return as_results(made)

    return call


def _array(bfloat16: Any, tensor: Any, is_written: bool) -> Any:
    """Return a tensor as a NumPy array over its memory, or as it is if NumPy cannot view it."""
    if not is_written and not tensor.is_contiguous():
        tensor = tensor.contiguous()
    if tensor.requires_grad:
        tensor = tensor.detach()
    try:
        if tensor.dtype is bfloat16:
            return bfloat16_view(tensor)
        return tensor.numpy()
    except (TypeError, RuntimeError):
        return tensor  # the kernel reports what is wrong with it, if anything


def _differentiate(
    torch: Any, qualified: str, operator: Operator, gradient: Gradient, compute: Callable[..., Any]
) -> None:
    """Register how gradients are computed."""
    names = [parameter.name for parameter in operator.inputs]
    tensors = {p.name for p in (*operator.inputs, *operator.outputs) if p.is_tensor}

    def keep(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        outputs = as_tuple(output)
        values = dict(zip(names, operator.complete(inputs), strict=True))
        values |= dict(zip((p.name for p in operator.outputs), outputs, strict=True))
        ctx.save_for_backward(*(values[name] for name in gradient.saved if name in tensors))
        ctx.numbers = {name: values[name] for name in gradient.saved if name not in tensors}

    def backward(ctx: Any, *gradients: Any) -> Any:
        saved = iter(ctx.saved_tensors)
        values = {
            name: next(saved) if name in tensors else ctx.numbers[name] for name in gradient.saved
        }
        found = compute(*gradient.arguments(values, gradients))
        made = dict(zip(gradient.made, as_tuple(found), strict=True))
        results = [made.get(name) for name in names]
        return results[0] if len(results) == 1 else tuple(results)

    torch.library.register_autograd(
        qualified, backward, setup_context=keep, lib=_libraries[qualified]
    )


def _refuse_gradients(torch: Any, qualified: str, operator: Operator) -> None:
    """Make gradients of gradients an error: PyTorch would take them for zero."""
    if any(parameter.role == "changed" for parameter in operator.inputs):
        return  # PyTorch registers no gradients of operators that change their arguments

    def backward(_ctx: Any, *_gradients: Any) -> Any:
        raise CallError(
            f"gradients of {qualified.removesuffix('_backward')} have no gradients of their own",
            hint="call backward() without create_graph=True",
            slug="operator",
        )

    torch.library.register_autograd(qualified, backward, lib=_libraries[qualified])
