"""A kernel as a JAX function that works under `jax.jit` and `jax.grad`.

Arrays are used in place. Where JAX traces, say under `jax.jit`, a call leaves the computation
through `jax.pure_callback`, for which JAX copies the arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pypto._src.driver import CompiledProgram
from pypto._src.errors import CallError
from pypto._src.frameworks.operator import Gradient, Operator, as_results, as_tuple
from pypto._src.ir.stmts import Program
from pypto._src.jit.function import JitFunction
from pypto._src.jit.parameters import REQUIRED
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")


def register(
    kernel: JitFunction | Program | CompiledProgram,
    *,
    backward: JitFunction | Program | CompiledProgram | None = None,
    constants: Sequence[str] = (),
) -> Callable[..., Any]:
    """Return a kernel as a function of JAX arrays, for use inside and outside `jax.jit`.

    The function takes what the kernel reads, in order or by name, and returns its ``pl.Out``
    tensors, which are new, with shapes that follow from the types of the kernel: annotations of the
    outputs have a shape, with named sizes (``pl.dynamic``) of inputs in it. Under `jax.vmap` the
    kernel runs once for each element of the batch.

    Args:
        kernel: A ``@pl.jit`` function, a ``@pl.program``, or what `runtime.compile` returns.
        backward: A kernel that computes the gradients. Its parameters say by their names what they
            are: ``grad_y`` is the gradient of the output ``y``; inputs and outputs of ``kernel``
            have their names; an output ``grad_x`` is the gradient of the input ``x``.
        constants: Inputs whose gradient is never needed, and ``backward`` has none.

    Raises:
        CallError: the kernel cannot be such a function, or JAX is not installed.
    """
    try:
        jax: Any = import_module("jax")
    except ImportError:
        raise CallError(
            "a kernel as a function of JAX needs JAX, which is not installed",
            hint="pip install 'pypto[jax]'",
            slug="missing-package",
        ) from None
    operator = Operator(kernel)
    for parameter in operator.inputs:
        if parameter.role == "changed":
            raise CallError(
                f"parameter {parameter.name!r} of {operator.name} is changed by the kernel, and "
                "arrays of JAX are not changed",
                hint=f"take {parameter.name} as an input, and return it as another pl.Out tensor",
                slug="operator",
            )
    call = _function(jax, operator)
    if backward is not None:
        call = _differentiable(jax, operator, call, Gradient(operator, backward, constants))
    names = [parameter.name for parameter in operator.inputs]
    defaults = {p.name: p.default for p in operator.inputs if p.default is not REQUIRED}

    def arranged(*args: Any, **named: Any) -> Any:
        given = dict(zip(names, args, strict=False))
        known = {**defaults, **given, **named}
        if len(args) > len(names) or given.keys() & named.keys() or known.keys() != {*names}:
            raise CallError(
                f"{operator.name} takes {', '.join(names)}",
                hint=f"call it as {operator.name}({', '.join(names)})",
                slug="argument-count",
            )
        return call(*(known[name] for name in names))

    arranged.__name__ = arranged.__qualname__ = operator.name
    arranged.__doc__ = kernel.__doc__
    return arranged


def _function(jax: Any, operator: Operator) -> Callable[..., Any]:
    """Return the function of all inputs in order, without gradients."""
    inputs = operator.inputs

    def run(*args: Any) -> Any:
        arrays = [np.asarray(arg) for arg in args]
        shapes = {p.name: a.shape for p, a in zip(inputs, arrays, strict=True)}
        made = [np.zeros(each.shape, _dtype(each.dtype_name)) for each in operator.results(shapes)]
        given = [a if p.is_tensor else a.item() for p, a in zip(inputs, arrays, strict=True)]
        operator.run([*given, *made])
        return as_results(made)

    def call(*args: Any) -> Any:
        if not any(isinstance(arg, jax.core.Tracer) for arg in args):
            return jax.tree.map(jax.numpy.asarray, run(*args))
        shapes = {p.name: np.shape(a) for p, a in zip(inputs, args, strict=True)}
        kinds = [
            jax.ShapeDtypeStruct(each.shape, _dtype(each.dtype_name))
            for each in operator.results(shapes)
        ]
        return jax.pure_callback(run, as_results(kinds), *args, vmap_method="sequential")

    return call


def _dtype(name: str) -> Any:
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name, None) or name)


def _differentiable(
    jax: Any, operator: Operator, call: Callable[..., Any], gradient: Gradient
) -> Callable[..., Any]:
    compute = _function(jax, gradient.operator)
    names = [parameter.name for parameter in operator.inputs]
    outputs = [parameter.name for parameter in operator.outputs]

    def forward(*args: Any) -> Any:
        found = call(*args)
        values = dict(zip(names, args, strict=True))
        values |= dict(zip(outputs, as_tuple(found), strict=True))
        return found, ({name: values[name] for name in gradient.saved}, args)

    def backward(kept: Any, gradients: Any) -> Any:
        values, args = kept
        each = as_tuple(gradients)
        found = compute(*gradient.arguments(values, each))
        made = dict(zip(gradient.made, as_tuple(found), strict=True))
        return tuple(
            made[name] if name in made else _no_gradient(jax, arg)
            for name, arg in zip(names, args, strict=True)
        )

    function: Any = jax.custom_vjp(call)
    function.defvjp(forward, backward)
    return function


def _no_gradient(jax: Any, arg: Any) -> Any:
    """Return what JAX expects as the gradient of an argument that has none."""
    dtype = jax.numpy.result_type(arg)
    if jax.numpy.issubdtype(dtype, jax.numpy.inexact):
        return jax.numpy.zeros(np.shape(arg), dtype)
    return np.zeros(np.shape(arg), jax.dtypes.float0)
