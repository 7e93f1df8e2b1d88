"""The sizes of a kernel's tensors as C++ text, for callers that have its argument words.

Sizes that are expressions are computed by functions in a separate namespace, so that the helper
functions they need do not meet those of the kernel.
"""

from __future__ import annotations

from typing import Final

from pypto._src.emit.cpp.helper_functions import helper_lines
from pypto._src.emit.cpp.scalar_exprs import ScalarText
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.stmts import Function
from pypto._src.ir.traversal.symbolic_dims import dimension_vars
from pypto._src.records import NamedTuple

_NAMESPACE: Final = "kernel_sizes"


class TensorSizes(NamedTuple):
    """The sizes of the tensor parameters of a kernel."""

    shapes: dict[Var, tuple[int | str, ...]]
    """Of each parameter: numbers, and texts where the sizes follow from ``args``."""
    functions: str
    """The functions that these texts call, to precede them; "" if none."""


def tensor_sizes(function: Function) -> TensorSizes:
    """Return the sizes of a kernel's tensors.

    Raises:
        EmitError: one is an expression that has no C++ form.
    """
    words = enumerate((*function.params, *dimension_vars(function)))
    names = {var: f"args[{index}]" for index, var in words}
    scalars = ScalarText(names.__getitem__, checked=True)
    definitions: list[str] = []

    def size(dim: Expr) -> int | str:
        if isinstance(dim, ConstInt):
            return dim.value
        if isinstance(dim, Var):
            return names[dim]
        name = f"size_{len(definitions)}"
        definitions.append(
            f"static int64_t {name}(const int64_t* args) {{ return {scalars.text(dim)}; }}"
        )
        return f"{_NAMESPACE}::{name}(args)"

    shapes = {
        param: tuple(map(size, param.type.shape))
        for param in function.params
        if isinstance(param.type, TensorType)
    }
    if not definitions:
        return TensorSizes(shapes, "")
    lines = [f"namespace {_NAMESPACE} {{", *helper_lines(scalars.helpers), *definitions, "}"]
    return TensorSizes(shapes, "\n".join(["", *lines, ""]))
