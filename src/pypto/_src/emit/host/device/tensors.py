"""Ops that an orchestration runs itself: creating tensors, views, reading elements and sizes.

Owns how a view's elements map to the tensor that an argument of the entry points to. Does not
know kernel calls, or statements other than assignments of these ops.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto._src.emit.host.device.host_state import Handle, Host, source_name
from pypto._src.emit.host.device.types import element_type, scalar_type
from pypto._src.errors import EmitError
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.inspect.source_names import user_call
from pypto._src.ir.opdef import op_of
from pypto._src.ops import tensor as tensor_ops
from pypto._src.ops import tensor_math
from pypto._src.ops.rules.boxes import elements


def write_op(host: Host, var: Var, call: Call) -> None:
    """Write ``var = call``, where ``call`` calls an op.

    Raises:
        EmitError: the device's host has no such op.
    """
    op = op_of(call)
    if op is tensor_ops.create:
        _create(host, var, call)
    elif op is tensor_ops.view:
        _view(host, var, call)
    elif op is tensor_ops.read:
        _read(host, var, call)
    elif op is tensor_ops.dim:
        host.declare_scalar(var, host.scalars.text(tensor_ops.size_of(call)))
    elif op is tensor_math.assemble:
        raise no_copy(call)
    else:
        raise EmitError(
            f"{user_call(call)} has no form in an orchestration",
            hint="move it into an InCore function and call that",
            slug="emit-op",
        )


def no_copy(call: Call) -> EmitError:
    """Return the error for ``out[0:16] = x``: the runtime runs kernels, and cannot copy."""
    target, source = (source_name(arg) for arg in call.args[:2])
    return EmitError(
        f"{target}[...] = {source} copies a tensor on the host, and the device's runtime has no "
        "task that copies",
        hint="let a kernel copy it: write with pl.incore(): above it",
        slug="emit-op",
    )


def _create(host: Host, var: Var, call: Call) -> None:
    sizes = elements(call.args[0])
    name = host.names.fresh(var.name)
    shapes = host.declare_array(host.body, f"{name}_shapes", host.sizes(sizes))
    made = f"make_tensor({shapes}, {len(sizes)}, {element_type(var)})"
    host.body.emit_line(f"Tensor {name} = {made};")
    host.handles[var] = Handle(name, level=host.level)


def _view(host: Host, var: Var, call: Call) -> None:
    source = host.handle(call.args[0])
    shape, offsets = elements(call.args[1]), elements(call.args[2])
    name = host.names.fresh(var.name)
    sizes, starts = ", ".join(host.sizes(shape)), ", ".join(host.sizes(offsets))
    host.body.emit_line(f"Tensor {name} = {source.text}.view({{{sizes}}}, {{{starts}}});")
    base = _distance(host, source, offsets) if source.pointer else ""
    host.handles[var] = source._replace(text=name, base=base, level=host.level, is_choice=False)


def _read(host: Host, var: Var, call: Call) -> None:
    source = host.handle(call.args[0])
    root = host.roots.get(call.args[0])
    is_parameter = any(root is param for param in host.function.params)
    if is_parameter and host.file.path[0] != host.function.name:
        raise EmitError(
            f"{host.function.name!r} reads an element, and another function calls it",
            hint="read it in the function that is called first, and pass the scalar",
            slug="emit-read",
        )
    if not source.pointer or root in host.written:
        raise EmitError(
            "the host reads an element that a kernel writes; it is not there yet when the "
            "orchestration runs",
            hint="read it in the kernel that needs it",
            slug="emit-read",
        )
    kind = scalar_type(var)
    at = _distance(host, source, elements(call.args[1]))
    host.declare_scalar(var, f"static_cast<const {kind}*>({source.pointer})[{at}]")


def _distance(host: Host, source: Handle, indices: Sequence[Expr]) -> str:
    """Return the offset in elements from the pointer of ``source`` to one of its elements."""
    terms = [source.base] if source.base else []
    for index, stride in zip(indices, source.strides, strict=True):
        text = host.scalars.text(index, 11 if stride != "1" else 10)
        terms.append(f"{text} * {stride}" if stride != "1" else text)
    return " + ".join(terms) or "0"
