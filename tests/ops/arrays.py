"""Runs an op's ``numpy`` as the interpreter does: operands in order, keywords by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import dtype_of
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, MakeTuple
from tests.cases import AnyOp, Array


def apply(op: AnyOp, *operands: Any, **kwargs: Any) -> Array:
    """Return the result of the op's array semantics."""
    assert op.numpy is not None
    with np.errstate(all="ignore"):
        return op.numpy(*operands, **kwargs)


def apply_call(call: Call, op: AnyOp, arrays: Sequence[Array]) -> Array:
    """Return the result of a call whose tiles and tensors are ``arrays``, in order."""
    given = iter(arrays)
    operands: list[Any] = []
    for arg in call.args:
        match arg:
            case ConstInt() | ConstFloat():
                operands.append(arg.value)
            case MakeTuple():
                numbers = [e.value for e in arg.elements if isinstance(e, ConstInt)]
                operands.append(tuple(numbers))
            case _:
                operands.append(next(given))
    typed = {"result": dtype_of(call).numpy} if op.typed else {}
    return apply(op, *operands, **call.kwargs, **typed)


def array(values: Any, dtype: DataType) -> Array:
    """Return ``values`` as an array [1, n] of ``dtype``."""
    return np.atleast_2d(np.asarray(values).astype(dtype.numpy))
