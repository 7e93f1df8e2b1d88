"""What ops mean outside the regions of a function: tensors are memory, or views of memory."""

from __future__ import annotations

import ast
from typing import Any, Final, TypeAlias

from pypto._src.frontend.state.call_keywords import refuse_unknown_keyword
from pypto._src.frontend.state.context import Context
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Expr
from pypto._src.ops import tensor
from pypto._src.ops.define import BY_PYTHON_NAME

_Call: TypeAlias = "tuple[Any, list[Any], dict[str, Any]]"


OF_CREATE_TENSOR: Final = ("shape", "dtype", "layout", "manual_dep", "init_value")
"""The arguments of ``pl.create_tensor`` in functions with regions."""


def meant(
    ctx: Context, callee: Any, args: list[Any], kwargs: dict[str, Any], node: ast.Call
) -> _Call:
    """Return the op that a name means here, with its arguments."""
    name: str = callee.__name__
    source = args[0] if args else None
    is_tensor = isinstance(source, Expr) and isinstance(source.type, TensorType)
    if name == "reshape" and is_tensor:
        return tensor.reshape_view, args, kwargs
    if name in ("create", "create_tensor"):
        given = {**dict(zip(OF_CREATE_TENSOR, args, strict=False)), **kwargs}
        refuse_unknown_keyword(ctx, node, kwargs, OF_CREATE_TENSOR)
        if {"shape", "dtype"} <= given.keys():
            init = given.get("init_value")
            words = {} if init is None else {"init_value": init}
            return tensor.create, [given["shape"], given["dtype"]], words
    if name == "full":
        given = {**dict(zip(("shape", "dtype", "value"), args, strict=False)), **kwargs}
        if given.keys() == {"shape", "dtype", "value"} and not isinstance(given["value"], Expr):
            words = {"init_value": given["value"]}
            return tensor.create, [given["shape"], given["dtype"]], words
    if name in ("full", "arange"):
        return BY_PYTHON_NAME["tensor", name], args, kwargs
    if name == "slice" and is_tensor:
        names = ("x", "shape", "offset", "valid_shape")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if given.get("valid_shape") is None and {"shape", "offset"} <= given.keys():
            return tensor.view, [source, given["shape"], given["offset"]], {}
    return callee, args, kwargs
