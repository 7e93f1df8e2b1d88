"""The head of a function in the PTO dialect, and the order of its sections.

Owns parameters, views of tensors, allocations of tiles, and the sections of the text. Does not
know the operations of the body.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.allocation_scopes import loops_of_allocations
from pypto._src.emit.pto.function_body import Lines, location, symbol
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.pto.types import (
    element_type,
    parameter_type,
    pointer_type,
    signless,
)
from pypto._src.errors import EmitError, of_type
from pypto._src.ir.array_types import TensorType, exprs_of_type
from pypto._src.ir.exprs import Var
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType

BODY: Final = "body"
"""The section of the operations."""

_CONSTANTS: Final = "Constants"
_VIEWS: Final = "Tensor views"
_ALLOCATIONS: Final = "Allocations"
_PARAMETERS: Final = "Parameters"
_SECTIONS: Final = (_CONSTANTS, _PARAMETERS, _VIEWS, _ALLOCATIONS)
"""The sections before the operations, in this order."""


class Head:
    """Writes what precedes the operations of a kernel.

    Args:
        kernel: The state of the generator.
        read: Element types of tensors from which single elements are read.
    """

    def __init__(self, kernel: Kernel, read: frozenset[DataType]) -> None:
        self._kernel = kernel
        self._function = kernel.function
        self._body = kernel.body
        self._read = read
        self._parameters: list[str] = []

    def write(self) -> None:
        """Name the parameters, and write the sections of views and allocations."""
        self._write_parameters()
        self._check_results()
        with self._body.section(_ALLOCATIONS):
            self._allocate()

    def around(self, attributes: str) -> Lines:
        """Return the lines of the whole function, after its body has been written."""
        span, sections = self._function.span, self._body.sections
        where = f" {location(span)}".rstrip() if self._body.locations else ""
        head = f"  func.func {symbol(self._function.name)}"
        separator = ",\n" + " " * len(head)
        text = f"{head}({separator.join(self._parameters)}){attributes} {{"
        constants = sections[_CONSTANTS] = Lines()
        for right, name in self._body.constants.items():
            constants.add(f"    {name} = {right}{where}", span)
        out = Lines()
        for line in text.split("\n"):
            out.add(line, span)
        for title in _SECTIONS:
            if title in sections and sections[title].texts:
                out.add(f"    // {title}")
                out.append(sections[title])
                out.add("")
        body = sections[BODY]
        out.append(body)
        if body.texts:
            out.add("")
        out.add(f"    return{where}", span)
        out.add(f"  }}{where}", span)
        return out

    def _write_parameters(self) -> None:
        tensors: list[tuple[Var, TensorType, str, str]] = []
        for var in self._function.params:
            pointer = f"%arg{len(self._parameters)}"
            match var.type:
                case TensorType():
                    element = element_type(var.type.dtype)
                    # A scalar read through an unsigned pointer is a value that no operation takes.
                    element = signless(element) if var.type.dtype in self._read else element
                    self._parameters.append(f"{pointer}: {pointer_type(element)}")
                    tensors.append((var, var.type, pointer, element))
                case ScalarType():
                    self._scalar_parameter(var, var.type.dtype, pointer)
                case _:
                    pass  # `check_parameters` rejected it
        self._symbolic_dimensions(kind for _, kind, _, _ in tensors)
        with self._body.section(_VIEWS):
            for var, kind, pointer, element in tensors:
                view = self._kernel.tensors.make_view(pointer, element, kind)
                self._kernel.tensors.names[var] = view

    def _scalar_parameter(self, var: Var, dtype: DataType, name: str) -> None:
        self._parameters.append(f"{name}: {parameter_type(dtype)}")
        if dtype is DataType.INT64 and var not in self._kernel.scalars.long:
            with self._body.section(_PARAMETERS):
                name = self._body.assign(f"arith.index_cast {name} : i64 to index")
        self._kernel.scalars.names[var] = name

    def _symbolic_dimensions(self, kinds: Iterator[TensorType]) -> None:
        """Add an ``index`` parameter for each symbolic dimension that no parameter supplies."""
        for kind in kinds:
            for var in uses(exprs_of_type(kind)):
                if var in self._kernel.scalars.names or var.name in self._kernel.scalars.symbols:
                    continue
                name = f"%arg{len(self._parameters)}"
                self._parameters.append(f"{name}: index")
                self._kernel.scalars.symbols[var.name] = name

    def _check_results(self) -> None:
        for kind in self._function.return_types:
            if not isinstance(kind, TensorType):
                raise EmitError(
                    f"kernel {self._function.name!r} returns {of_type(kind)}, "
                    "and a kernel returns only tensors",
                    hint="store the value to a pl.Out tensor",
                    slug="emit-result",
                )

    def _allocate(self) -> None:
        kernel = self._kernel
        inner = {} if kernel.has_addresses else loops_of_allocations(self._function, kernel.buffers)
        for key, _ in kernel.buffers:
            if key in inner:
                kernel.inner_buffers.setdefault(inner[key], []).append(key)
            else:
                kernel.allocate(key)


def check_parameters(function: Function) -> None:
    """Raise EmitError unless all parameters are tensors and scalars."""
    for var in function.params:
        if not isinstance(var.type, TensorType | ScalarType):
            raise EmitError(
                f"parameter {var.name!r} is neither a tensor nor a scalar",
                var.span,
                hint="load the tile in the kernel",
                slug="emit-parameter",
            )
