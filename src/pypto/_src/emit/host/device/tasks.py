"""Calls in an orchestration: one task per kernel call, and calls of other host functions.

Owns the numbers of kernels and tasks, and what is passed: tensors with directions, scalars, and the
sizes after them. Does not know statements, or how the functions that it calls are written.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto._src.dtypes import DataType
from pypto._src.emit.host.device.host_state import Handle, Host
from pypto._src.emit.host.device.types import no_scalar
from pypto._src.emit.host.runtime_api import MAKE_PARAM, WORKERS
from pypto._src.emit.host.tensor_aliases import noun
from pypto._src.emit.writer import comment_text
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.roles import Role, core_type, role
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.ir.types import ScalarType, TupleType


class Tasks:
    """Writes calls of functions of the program.

    Args:
        host: The state of the generator.
        function: Writes another host function if need be; returns its C++ name.
    """

    def __init__(self, host: Host, function: Callable[[Function], str]) -> None:
        self._host = host
        self._function = function

    def write(self, call: Call, var: Var | None = None) -> None:
        """Write a call of a function of the program; its results are called ``var``."""
        file = self._host.file
        callee = file.program.get_function(call.op.name)
        if callee is None:
            raise EmitError(f"the program has no function {call.op.name!r}")
        if role(callee) is Role.HOST:
            results = file.results.of(callee)
            self._call(call, callee)
        else:
            self._submit(call, callee)
            results = file.results.of(callee)
        handles = tuple(self._host.handle(call.args[i]) for i in results)
        if var is not None:
            self._name(var, handles)

    def _name(self, var: Var, results: tuple[Handle, ...]) -> None:
        if isinstance(var.type, TupleType):
            self._host.tuples[var] = results
        elif results:
            self._host.handles[var] = results[0]

    def _submit(self, call: Call, callee: Function) -> None:
        """Write a task."""
        file, body = self._host.file, self._host.body
        number = file.ids.setdefault(callee.name, len(file.ids))
        if callee.name not in file.cores:
            file.cores[callee.name] = core_type(callee)
        worker = WORKERS[file.cores[callee.name]]
        task = file.tasks
        file.tasks += 1
        params = self._host.names.fresh(f"params_t{task}")
        entries = [
            self._param(arg, direction)
            for arg, direction in zip(call.args, callee.param_directions, strict=True)
        ]
        entries += [self._param(size, ParamDirection.In) for size in _passed_sizes(call, callee)]
        body.emit_line(f"// Task {task}: {comment_text(callee.name)}")
        body.emit_line(f"PTOParam {params}[] = {{")
        body.emit_lines(f"    {entry}," for entry in entries)
        body.emit_line("};")
        body.emit_line(f"pto2_rt_submit_task(rt, {number}, {worker}, {params}, {len(entries)});")

    def _param(self, arg: Expr, direction: ParamDirection) -> str:
        if isinstance(arg.type, TensorType):
            return f"{MAKE_PARAM[direction]}({self._host.handle(arg).alone})"
        if not isinstance(arg.type, ScalarType):
            raise EmitError(f"a kernel takes tensors and scalars, got {type(arg.type).__name__}")
        dtype, text = arg.type.dtype, self._host.scalars.text(arg)
        if dtype is DataType.FP32:
            return f"make_scalar_param(float_to_u64({text}))"
        if dtype.is_float():
            raise no_scalar(dtype, arg)
        return f"make_scalar_param(static_cast<uint64_t>({text}))"

    def _call(self, call: Call, callee: Function) -> None:
        """Write the call of another host function."""
        host = self._host
        name = self._function(callee)
        args = [
            host.handle(arg).alone if isinstance(arg.type, TensorType) else host.scalars.text(arg)
            for arg in call.args
        ]
        args += [host.scalars.text(size) for size in _passed_sizes(call, callee)]
        host.body.emit_line(f"{name}({', '.join(['rt', *args])});")


def _passed_sizes(call: Call, callee: Function) -> list[Expr]:
    """Return, for ``call``, the sizes that ``callee`` takes after its parameters."""
    found: dict[Var, Expr] = {}
    for param, arg in zip(callee.params, call.args, strict=True):
        if isinstance(param.type, TensorType) and isinstance(arg.type, TensorType):
            for dim, size in zip(param.type.shape, arg.type.shape, strict=True):
                if isinstance(dim, Var):
                    found.setdefault(dim, size)
    sizes = dimension_vars(callee)
    for var in sizes:
        if var not in found:
            raise EmitError(
                f"no tensor determines the size {var.name!r} of {noun(callee)} {callee.name!r}",
                hint=f"add a parameter {var.name.lower()}: pl.INT64 and use it in the shapes",
                slug="emit-shape",
            )
    return [found[var] for var in sizes]
