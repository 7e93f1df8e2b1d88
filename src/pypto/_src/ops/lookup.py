"""Ops by name, for code that makes IR: `create_op_call`, `get_op`, and ``op.block.add(x, y)``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.errors import OpError
from pypto._src.ir.nodes import Call, Operand, as_exprs
from pypto._src.ir.opdef import OpDef
from pypto._src.ir.serialize import deserialize as deserialize
from pypto._src.ir.serialize import deserialize_from_file as deserialize_from_file
from pypto._src.ir.serialize import use_registry
from pypto._src.ops import elementwise, layout, matmul, memory, reduce, system, tensor
from pypto._src.ops.define import BY_PYTHON_NAME, REGISTRY

FAMILIES: Final = (elementwise, layout, matmul, memory, reduce, system, tensor)
"""The modules that register every op, imported here so that none is missing."""

use_registry(REGISTRY.get)


def is_op_registered(op_name: str) -> bool:
    """True if there is an op with the full name ``op_name``, such as ``block.add``."""
    return op_name in REGISTRY


def get_op(op_name: str) -> OpDef[..., Any]:
    """Return the op with the full name ``op_name``.

    Raises:
        OpError: there is none.
    """
    op = REGISTRY.get(op_name)
    if op is None:
        raise OpError(
            f"there is no op {op_name!r}",
            hint="write a full name such as block.add; `pypto ops` lists all",
            slug="unknown-op",
        )
    return op


def create_op_call(op_name: str, args: Sequence[Operand], *rest: Any) -> Call:
    """Return a call of an op: ``(op_name, args, span)`` or ``(op_name, args, kwargs, span)``.

    Raises:
        OpError: there is no such op, or it refuses the operands.
        OpTypeError: a keyword of the wrong type.
    """
    span, kwargs = UNKNOWN_SPAN, cast("Mapping[str, Any]", {})
    for item in rest:
        if isinstance(item, Span):
            span = item
        elif isinstance(item, Mapping):
            kwargs = cast("Mapping[str, Any]", item)
        else:
            raise TypeError(f"create_op_call takes kwargs and a span, got {item!r}")
    op = get_op(op_name)
    operands = as_exprs(args)
    names = [param.name for param in op.operands]
    if len(operands) != len(names):
        return op.call(operands, kwargs, span)
    return op.build((), {**dict(zip(names, operands, strict=True)), **kwargs}, span)


class Level:
    """The ops of one level by their Python names: ``op.block.and_``."""

    def __init__(self, level: str) -> None:
        self._level = level

    def __getattr__(self, name: str) -> OpDef[..., Any]:
        op = BY_PYTHON_NAME.get((self._level, name))
        if op is None:
            raise AttributeError(f"there is no op {name!r} in {self._level}")
        return op

    def __dir__(self) -> list[str]:
        return [name for level, name in BY_PYTHON_NAME if level == self._level]


class Levels:
    """All ops: ``op.block``, ``op.tensor``, ``op.system``."""

    block = block_ops = Level("block")
    tensor = tensor_ops = Level("tensor")
    system = Level("system")


op: Final = Levels()
