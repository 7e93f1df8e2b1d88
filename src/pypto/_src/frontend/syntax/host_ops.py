"""What ops mean outside the regions of a function: tensors are memory, or views of it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pypto._src.frontend.state.context import Context
from pypto._src.frontend.syntax.calls import op_call
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Expr
from pypto._src.ops import tensor


def call(
    ctx: Context, callee: Any, args: Sequence[Any], kwargs: Mapping[str, Any], node: ast.Call
) -> Any:
    """Return the call of an op whose name stands for something else here."""
    name: str = callee.__name__
    source = args[0] if args else None
    if name == "reshape" and isinstance(source, Expr) and isinstance(source.type, TensorType):
        return op_call(ctx, tensor.reshape_view, args, kwargs, node)
    if name in ("create", "create_tensor"):
        names = ("shape", "dtype", "layout", "manual_dep", "init_value")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if given.get("init_value") is None and not given.keys() - set(names):
            return op_call(ctx, tensor.create, (given["shape"], given["dtype"]), {}, node)
    if name == "slice" and isinstance(source, Expr) and isinstance(source.type, TensorType):
        given = {**dict(zip(("x", "shape", "offset", "valid_shape"), args, strict=False)), **kwargs}
        if given.get("valid_shape") is None and "shape" in given and "offset" in given:
            return op_call(ctx, tensor.view, (source, given["shape"], given["offset"]), {}, node)
    return op_call(ctx, callee, args, kwargs, node)
