"""Which instructions of the tile library an op is: document 000's ISAMapper.

The facts are in the ops' definitions; this reads them. An op that writes its own form is made to
write an example call: the instructions in it are the answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.calls import form_of
from pypto._src.errors import EmitError, PyptoError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, Expr, Var
from pypto._src.ir.op_params import ATTR, AXIS, INTS, REQUIRED, TENSOR, TILE, Param
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.types import scalar_type
from pypto._src.ops.lookup import get_op

_INSTRUCTION: Final = r"([A-Za-z_]\w*)[(<]"
_ROWS, _COLUMNS = 16, 32  # of the example's tiles
_SHAPES: Final = {
    "row_vec": [_ROWS, 1],
    "col_vec": [1, _COLUMNS],
    "col_tile": [1, _COLUMNS],
}
_ATTRIBUTES: Final[dict[str, Any]] = {
    "set_pipe": PipeType.MTE2,
    "wait_pipe": PipeType.V,
    "event_id": 0,
    "target_memory": MemorySpace.Vec,
    "DataType": DataType.FP16,
}


class ISAMapper:
    """Names the instruction of each op."""

    def instructions(self, call: Call) -> tuple[str, ...]:
        """Return the instructions that a call is written as, in order.

        Raises:
            EmitError: it has no C++ form.
        """
        op = op_of(call)
        if op is None:
            raise EmitError(f"{call.op.name} is not an op", slug="emit-op")
        if op.decomposition is not None or op.promotion is not None:
            calls: list[Call] = []
            value = op.parts_of(call, _Collector(calls))
            if value is not None:
                calls += [value] if isinstance(value, Call) else []
                return tuple(
                    name for each in calls if _computes(each) for name in self.instructions(each)
                )
        form = form_of(op)
        if isinstance(form, str):
            return (form,)
        site = _Recorder(call)
        form(site)
        found = (re.match(_INSTRUCTION, line) for line in site.lines)
        return tuple(match.group(1) for match in found if match is not None)

    def get_instruction(self, op_name: str, **attributes: Any) -> str:
        """Return the instruction of an op: ``TADD`` for ``block.add``.

        ``attributes`` are what the instruction depends on: ``axis`` for ``block.sum``.

        Raises:
            EmitError: the op is unknown, has no instruction, or needs an attribute.
        """
        try:
            op = get_op(op_name)
        except PyptoError as error:
            raise EmitError(error.message, hint=error.hint, slug="emit-op") from error
        form = op.isa
        if isinstance(form, str) and op.decomposition is None:
            return form
        if op.isa is None and op.decomposition is None:
            form_of(op)
        found = self.instructions(_example(op, attributes))
        if not found:
            raise EmitError(f"{op_name} is not an instruction", slug="emit-op")
        return found[-1]

    GetInstruction = get_instruction


class _Recorder:
    """A `CppSite` that keeps what is written; names mean nothing."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.dst = "dst"
        self.args = tuple(f"a{index}" for index in range(len(call.args)))
        self.lines: list[str] = []

    def emit(self, line: str) -> None:
        self.lines.append(line)

    def expr(self, value: Expr) -> str:
        return "x"

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        return "view"

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        return "x"

    def reinterpret(self, tile: Expr | None, kind: TileType, suffix: str) -> str:
        return "tile"


def _computes(call: Call) -> bool:
    op = op_of(call)
    return op is not None and op.view_of is None


class _Collector:
    """Collects the calls that a decomposition makes (`ir.emit_sites.Let`)."""

    def __init__(self, calls: list[Call]) -> None:
        self.calls = calls

    def __call__(self, name: str, value: Expr) -> Var:
        if isinstance(value, Call):
            self.calls.append(value)
        return Var(name, value.type)

    def made(self, value: Expr) -> Call | None:
        return None

    def space(self, tile: Expr) -> MemorySpace | None:
        return None


def _example(op: OpDef[..., Any], attributes: dict[str, Any]) -> Call:
    """Return an example call of an op.

    Raises:
        EmitError: no valid call was found; the text says what is missing.
    """
    for param in op.params:
        known = param.name in attributes or _attribute(param) is not None
        if param.kind in (ATTR, AXIS) and param.default is REQUIRED and not known:
            raise EmitError(
                f"the instruction of {op.name} depends on {param.name!r}",
                hint=f"get_instruction({op.name!r}, {param.name}=0)",
                slug="emit-op",
            )
    dtype = next((d for d in (DataType.FP32, DataType.INT32) if d in op.dtypes), DataType.FP32)
    values = {p.name: attributes.get(p.name, _value(p, dtype)) for p in op.params}
    given = {name: value for name, value in values.items() if value is not None}
    try:
        call = op.build([], given)
    except PyptoError as error:
        raise EmitError(
            f"no example of {op.name} could be made: {error.message}", slug="emit-op"
        ) from error
    assert isinstance(call, Call)
    return call


def _value(param: Param, dtype: DataType) -> Any:
    if param.kind == TILE:
        return Var(param.name, TileType(_SHAPES.get(param.name, [_ROWS, _COLUMNS]), dtype))
    if param.kind == TENSOR:
        return Var(param.name, TensorType([_ROWS, _COLUMNS], dtype))
    if param.default is not REQUIRED:
        return None
    if param.kind == INTS:
        return [_ROWS, _COLUMNS] if param.name.startswith("shape") else [0, 0]
    if param.kind in (ATTR, AXIS):
        return _attribute(param)
    return Var(param.name, scalar_type(dtype))


def _attribute(param: Param) -> Any:
    """Return a value for an attribute that the instruction does not depend on."""
    return _ATTRIBUTES.get(param.name, _ATTRIBUTES.get(param.attr_type))
