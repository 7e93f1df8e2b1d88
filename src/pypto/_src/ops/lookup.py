"""Ops by name, for code that builds IR: `create_op_call`, `get_op`, and ``op.block.add(x, y)``."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span, span_of_frame, spelled_like, text_at
from pypto._src.errors import OpError, UnknownNameError
from pypto._src.ir.exprs import Call, ConstFloat, ConstInt, Expr, Operand, as_exprs
from pypto._src.ir.opdef import OpDef
from pypto._src.ops.define import BY_PYTHON_NAME, REGISTRY
from pypto._src.ops.unified import Unified, named
from pypto._src.suggestions import did_you_mean


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
        near = spelled_like(op_name, REGISTRY)
        hint = f"did you mean {near}?" if near else "dir(pypto.ir.op.block) lists block ops"
        raise OpError(f"there is no op {op_name!r}", hint=hint, slug="unknown-op")
    return op


def create_op_call(
    op_name: str,
    args: Sequence[Operand],
    *rest: Any,
    kwargs: Mapping[str, Any] | None = None,
    span: Span = UNKNOWN_SPAN,
) -> Call:
    """Return a call of an op: ``(op_name, args, span)`` or ``(op_name, args, kwargs, span)``.

    The last two may also be named. Keywords are checked for ops that declare any.

    Raises:
        OpError: there is no such op, it rejects the operands, or it has no such keyword.
        OpTypeError: a keyword has the wrong type.
    """
    words = kwargs or {}
    for item in rest:
        if isinstance(item, Span):
            span = item
        elif isinstance(item, Mapping):
            words = cast("Mapping[str, Any]", item)
        else:
            raise TypeError(f"create_op_call takes kwargs and a span, got {item!r}")
    op = get_op(op_name)
    operands = as_exprs(args)
    declared = op.get_attr_keys()
    if not declared and words:  # an op without keywords ignores them, and keeps them
        made = create_op_call(op_name, args, span)
        return Call(op, made.args, words, made.type, span)
    names = [param.name for param in op.operands]
    if len(operands) != len(names) and op.complete is not None:  # as in kernels: scratch omitted
        return op.build([_plain(item) for item in operands], words, span)
    if len(operands) != len(names) or not words.keys() <= set(declared):
        return op.call(operands, words, span)
    return op.build((), {**dict(zip(names, operands, strict=True)), **words}, span)


def _plain(operand: Expr) -> Expr | float:
    """Return the value of a constant, which may be given for a keyword; else the operand."""
    return operand.value if isinstance(operand, ConstInt | ConstFloat) else operand


class Level:
    """The ops of one level by their Python names: ``op.block.and_``."""

    def __init__(self, level: str) -> None:
        self._level = level

    def __getattr__(self, name: str) -> OpDef[..., Any] | Unified:
        if name.startswith("_"):  # looked up by Python itself, even before anything is set
            raise AttributeError(f"there is no op {name!r}")
        op = named(self._level, name)
        if op is None:
            message = f"there is no op {name!r} in {self._level}"
            location = span_of_frame(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
            text = text_at(location)
            prefix = text.removesuffix(name) if text.endswith(f".{name}") else ""
            raise UnknownNameError(message, location, did_you_mean(name, dir(self), prefix))
        return op

    def __dir__(self) -> list[str]:
        return [name for level, name in BY_PYTHON_NAME if level == self._level]


block_ops: Final = Level("block")
tensor_ops: Final = Level("tensor")
system_ops: Final = Level("system")
