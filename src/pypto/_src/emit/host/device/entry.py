"""The arguments of an orchestration's entry: words, from which it makes tensors and scalars.

Owns their order and their macros: parameters, sizes known only at run time, and tensors
that the function makes and returns. Does not know what the function does with them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.tensors import parameter_sizes
from pypto._src.emit.cpp.types import c_type
from pypto._src.emit.host.device.host_state import Handle, Host, source_name
from pypto._src.emit.host.device.types import element_type, no_scalar
from pypto._src.emit.writer import CodeEmitter, Names
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, dtype_of, same_dims, static_shape
from pypto._src.ir.exprs import Expr, Var
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import AssignStmt, ReturnStmt, statements
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.ir.types import ScalarType
from pypto._src.ops import tensor as tensor_ops


class Arguments:
    """Writes how the entry ``host`` unpacks its arguments, and binds its variables to them."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._macros = Names(frozenset())
        self._defines: dict[int, str] = {}  # by the number of the argument
        self.unpack = CodeEmitter(1)

    @property
    def defines(self) -> list[str]:
        """The lines that name the arguments' numbers, one per argument."""
        return [self._defines[index] for index in sorted(self._defines)]

    def write(self) -> None:
        """Write all of them.

        Raises:
            EmitError: the runtime has no such argument, or a result cannot become one.
        """
        function = self._host.function
        later: list[tuple[int, Var]] = []  # their sizes are scalars, which get names before
        for index, param in enumerate(function.params):
            match param.type:
                case TensorType():
                    if static_shape(param.type) is None:
                        later.append((index, param))
                    else:
                        self._tensor(param, index)
                case ScalarType():
                    self._scalar(param, index)
                case _:
                    raise EmitError(
                        f"parameter {param.name!r} is neither a tensor nor a scalar", param.span
                    )
        for index, var in enumerate(dimension_vars(function), len(function.params)):
            self._scalar(var, index)
        for index, param in later:
            self._tensor(param, index)
        for stmt in statements(function.body):
            if isinstance(stmt, ReturnStmt):
                self._results(stmt)

    def _results(self, stmt: ReturnStmt) -> None:
        """Make returned tensors that are not parameters arguments of the entry, too."""
        host = self._host
        made = {
            s.var
            for s in statements(host.function.body)
            if isinstance(s, AssignStmt) and op_of(s.value) is tensor_ops.create
        }
        for value in stmt.value:
            root = host.roots.get(value)
            if root is None or (root in made and not _same_shape(value, root)):
                raise EmitError(
                    "an orchestration returns whole tensors: parameters, and ones that it makes",
                    stmt.span,
                    slug="emit-return",
                )
            if root in host.handles:
                continue
            if root not in made:
                raise EmitError(
                    f"the returned tensor {root.name!r} is made inside a loop or branch",
                    stmt.span,
                    hint=f"make {root.name} before it",
                    slug="emit-return",
                )
            self._tensor(root, len(self._defines), source_name(root))

    def _define(self, name: str, index: int) -> str:
        macro = self._macros.fresh(name)
        self._defines[index] = f"#define {macro} {index}"
        return macro

    def _tensor(self, var: Var, index: int, name: str | None = None) -> None:
        assert isinstance(var.type, TensorType)
        host, names = self._host, self._host.names
        sizes = list(parameter_sizes(var, lambda size: host.scalars.text(size, 11)))
        shape = host.sizes(var.type.shape)
        name = names.fresh(name or var.name)
        macro = self._define(f"ARG_PTR_{name.upper()}", index)
        pointer, handle = names.fresh(f"arg_{name}_ptr"), names.fresh(f"ext_{name}")
        self.unpack.emit_line()
        self.unpack.emit_line(f"void* {pointer} = reinterpret_cast<void*>(args[{macro}]);")
        shapes = host.declare_array(self.unpack, f"{name}_shapes", shape)
        made = f"make_tensor_external({pointer}, {shapes}, {len(shape)}, {element_type(var)})"
        self.unpack.emit_line(f"Tensor {handle} = {made};")
        host.handles[var] = Handle(handle, pointer, "", _dense_strides(sizes))

    def _scalar(self, param: Var, index: int) -> None:
        names, dtype = self._host.names, dtype_of(param)
        name = names.register(param)
        word = f"args[{self._define(f'ARG_{name.upper()}', index)}]"
        self.unpack.emit_line()
        if dtype is DataType.BOOL:
            self.unpack.emit_line(f"bool {name} = {word} != 0;")
        elif dtype is DataType.FP32:
            bits = names.fresh(f"{name}_bits")
            self.unpack.emit_line(f"union {{ uint64_t word; float value; }} {bits};")
            self.unpack.emit_line(f"{bits}.word = {word};")
            self.unpack.emit_line(f"float {name} = {bits}.value;")
        elif dtype.is_int():
            kind = c_type(dtype)
            self.unpack.emit_line(f"{kind} {name} = static_cast<{kind}>({word});")
        else:
            raise no_scalar(dtype, param)


def _dense_strides(sizes: Sequence[int | str]) -> tuple[str, ...]:
    """Return the strides of a dense tensor as factors of a product."""
    strides: list[str] = []
    known, unknown = 1, ""
    for size in reversed(sizes):
        strides.append(f"{unknown}{known}" if known != 1 or not unknown else unknown[:-3])
        if isinstance(size, int):
            known *= size
        else:
            unknown = f"{size} * {unknown}"
    return tuple(reversed(strides))


def _same_shape(a: Expr, b: Expr) -> bool:
    assert isinstance(a.type, TensorType)
    assert isinstance(b.type, TensorType)
    return same_dims(a.type.shape, b.type.shape)
