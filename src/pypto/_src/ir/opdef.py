"""What an operator is: one definition holds every fact that any part of the compiler asks for.

`OpDef` is data. It knows no particular op; the definitions are in `pypto._src.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, ParamSpec, Protocol, TypeVar, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import OpError, OpTypeError
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.nodes import (
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    Op,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
    Var,
    as_expr,
    caller_span,
)

P = ParamSpec("P")
R = TypeVar("R")

# Kinds of parameters. Everything but an attribute is a positional expression of the call.
TENSOR: Final = "Tensor"
TILE: Final = "Tile"
SCALAR: Final = "Scalar"
INTS: Final = "Ints"  # a tuple of index expressions: offsets, shape, indices
ATTR: Final = "attribute"

REQUIRED: Final = object()
RESULT: Final = -1
"""Stands for the result where operands are numbered."""


class Param(NamedTuple):
    """One parameter of an op, read from the definition's signature."""

    name: str
    kind: str  # TENSOR, TILE, SCALAR, INTS or ATTR
    default: Any  # REQUIRED if it must be given
    attr_type: str = ""  # annotation text of an attribute: DataType, MemorySpace, bool, int, str


class Operands(NamedTuple):
    """What a type rule looks at: the op, its positional expressions, its keywords."""

    op: OpDef[..., Any]
    args: tuple[Expr, ...]
    kwargs: Mapping[str, Any]

    def tile(self, index: int) -> TileType:
        """Return the type of tile operand ``index``."""
        kind = self.args[index].type
        assert isinstance(kind, TileType)
        return kind

    def tensor(self, index: int) -> TensorType:
        """Return the type of tensor operand ``index``."""
        kind = self.args[index].type
        assert isinstance(kind, TensorType)
        return kind

    def scalar(self, index: int) -> ScalarType:
        """Return the type of scalar operand ``index``."""
        kind = self.args[index].type
        assert isinstance(kind, ScalarType)
        return kind

    def ints(self, index: int) -> tuple[Expr, ...]:
        """Return the elements of tuple operand ``index``."""
        value = self.args[index]
        assert isinstance(value, MakeTuple)
        return value.elements

    def param(self, index: int) -> str:
        """Return the name of positional operand ``index``."""
        return [p.name for p in self.op.params if p.kind != ATTR][index]


TypeRule = Callable[[Operands], Type]


class CppSite(Protocol):
    """What an op with its own C++ form sees of the emitter, for one call."""

    call: Call
    # C++ name of the result tile; ``float v``, the declaration, for a scalar; "" without result.
    dst: str
    args: tuple[str, ...]  # C++ text of the operands; "" for tuples

    def emit(self, line: str) -> None:
        """Write one line of code."""
        ...

    def expr(self, value: Expr) -> str:
        """Return the C++ text of a scalar expression."""
        ...

    def global_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr], layout: str = "ND"
    ) -> str:
        """Return the GlobalTensor name for a region of a tensor, after pointing it there."""
        ...

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> str:
        """Return the C++ text of one element of a tensor."""
        ...

    def retype(self, tile: Expr, kind: TileType, suffix: str) -> str:
        """Declare a tile of ``kind`` over the bytes of ``tile`` (TRESHAPE); return its name."""
        ...


class PtoSite(Protocol):
    """What an op with its own PTO form sees of the emitter, for one call."""

    call: Call
    dst: str  # SSA name of the result buffer, "" if the call has none
    dst_type: str  # its tile_buf type
    args: tuple[str, ...]  # SSA names of the operands; "" for tuples
    arg_types: tuple[str, ...]

    def emit(self, line: str) -> None:
        """Write one line of code."""
        ...

    def expr(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression, emitting what computes it."""
        ...

    def index(self, value: Expr) -> str:
        """Return the SSA name of a scalar expression as an ``index`` value."""
        ...

    def new_name(self) -> str:
        """Return a fresh SSA name."""
        ...

    def partition_view(
        self, tensor: Expr, offsets: Sequence[Expr], shape: Sequence[Expr]
    ) -> tuple[str, str]:
        """Emit a partition view of a tensor; return its name and type."""
        ...

    def element(self, tensor: Expr, indices: Sequence[Expr]) -> tuple[str, str, str]:
        """Return pointer, linear index and pointee type of one element of a tensor."""
        ...

    def alias(self, name: str) -> None:
        """Let the call's result be the value ``name``, without code."""
        ...

    def retype(self, tile: Expr, kind: TileType) -> tuple[str, str]:
        """Emit a treshape of ``tile`` to ``kind``; return name and type of the alias."""
        ...


class OpDef(Op, Generic[P, R]):
    """A registered operator. Calling it with expressions builds a `Call` of the deduced type."""

    FIELDS = Op.FIELDS  # two ops are equal when their names are

    level: str  # "block", "tensor" or "system"
    python_name: str  # name after pl.block. / pl.tensor., such as and_ for block.and
    overload: str  # unified name that dispatches here: "add" for block.adds
    params: tuple[Param, ...]
    doc: str
    types: TypeRule
    dtypes: frozenset[DataType]  # element types that the target executes
    pipe_rule: PipeType | Callable[[Call], PipeType] | None
    reads: frozenset[int]  # operands whose bytes it reads
    writes: frozenset[int]  # operands (tensors) whose bytes it writes
    space: MemorySpace | Callable[[Call], MemorySpace] | None  # memory of the result
    view_of: int | None  # operand whose bytes the result is
    in_place: frozenset[int]  # operands whose bytes the result may overwrite
    columns: frozenset[int]  # tiles that the target takes as column vectors: operands, RESULT
    spaces_rule: Callable[[Mapping[str, Any]], Mapping[int, frozenset[MemorySpace]]]
    pto: str | Callable[[PtoSite], None] | None
    isa: str | Callable[[CppSite], None] | None
    numpy: Callable[..., Any] | None
    unsupported: str | None  # why no backend emits it

    def __init__(self, name: str, **facts: Any) -> None:
        object.__setattr__(self, "name", name)
        for key, value in facts.items():
            object.__setattr__(self, key, value)

    @property
    def pipe(self) -> Any:
        """The pipe, when it is the same for every call."""
        return self.pipe_rule if isinstance(self.pipe_rule, PipeType) else None

    def pipe_of(self, call: Call) -> PipeType | None:
        """Return the pipe that executes ``call``, None if it runs nothing."""
        rule = self.pipe_rule
        return rule(call) if callable(rule) and not isinstance(rule, PipeType) else rule

    def space_of(self, call: Call) -> MemorySpace:
        """Return the memory space of the call's result tile."""
        rule = self.space
        if rule is None:
            return MemorySpace.Vec
        return rule if isinstance(rule, MemorySpace) else rule(call)

    def operand_spaces(self, kwargs: Mapping[str, Any]) -> Mapping[int, frozenset[MemorySpace]]:
        """Return where each tile operand may live, given the call's keywords."""
        return self.spaces_rule(kwargs)

    def get_attr_keys(self) -> list[str]:
        """Return the keywords that the op declares."""
        return [p.name for p in self.params if p.kind == ATTR]

    @property
    def operands(self) -> tuple[Param, ...]:
        """The parameters that are positional expressions of a call."""
        return tuple(p for p in self.params if p.kind != ATTR)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Build the call, in the way of `build`."""
        values: dict[str, Any] = dict(kwargs)
        span = values.pop("span", None)
        return self.build(args, values, span or caller_span())

    def build(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span = UNKNOWN_SPAN
    ) -> Any:
        """Return a `Call` from Python arguments in signature order or by keyword.

        Numbers become constants; a bare number beside a tile or tensor takes its element type.

        Raises:
            OpError: wrong number, kind, element type or shape of operands.
            OpTypeError: a keyword of the wrong type.
        """
        values = self._bind(args, kwargs)
        element = _element_type(values.values())
        operands: list[Expr] = []
        attributes: dict[str, Any] = {}
        for param in self.params:
            value = values[param.name]
            if param.kind == ATTR:
                if value is not None:
                    attributes[param.name] = _attribute(self, param, value)
            else:
                operands.append(_operand(self, param, value, element, attributes, values, span))
        return self.call(operands, attributes, span)

    def call(
        self, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span = UNKNOWN_SPAN
    ) -> Call:
        """Return a `Call` of ready operands with the type that the op's rule gives."""
        operands = tuple(args)
        params = self.operands
        if len(operands) != len(params):
            raise OpError(
                f"{self.name} takes {len(params)} operands, got {len(operands)}",
                slug="argument-count",
            )
        for param, value in zip(params, operands, strict=True):
            _check_kind(self, param, value)
        for key in kwargs:
            if key not in self.get_attr_keys():
                raise OpError(f"{self.name} has no keyword {key!r}", slug="unknown-keyword")
        return Call(self, operands, kwargs, self.types(Operands(self, operands, kwargs)), span)

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = [p.name for p in self.params]
        if len(args) > len(names):
            raise OpError(
                f"{self.name} takes {len(names)} arguments ({', '.join(names)}), got {len(args)}",
                slug="argument-count",
            )
        values = dict(zip(names, args, strict=False))
        for key, value in kwargs.items():
            if key not in names:
                raise OpError(
                    f"{self.name} has no argument {key!r}",
                    hint=f"its arguments are {', '.join(names)}",
                    slug="unknown-keyword",
                )
            if key in values:
                raise OpError(f"{self.name} got {key!r} twice", slug="argument-count")
            values[key] = value
        for param in self.params:
            if param.name not in values:
                if param.default is REQUIRED:
                    raise OpError(
                        f"{self.name} misses its argument {param.name!r}",
                        hint=f"its arguments are {', '.join(names)}",
                        slug="argument-count",
                    )
                values[param.name] = param.default
        return values


def op_of(value: object) -> OpDef[..., Any] | None:
    """Return the registered op that a call uses, None for anything else."""
    op: object = value.op if isinstance(value, Call) else None
    return cast("OpDef[..., Any]", op) if isinstance(op, OpDef) else None


def aliased(value: Expr) -> Expr | None:
    """Return the value whose bytes ``value`` is, None for one with bytes of its own.

    That is a variable itself, the operand of a view, or the tensor that a store writes.
    """
    if isinstance(value, Var):
        return value
    op = op_of(value)
    if op is None or not isinstance(value, Call):
        return None
    if op.view_of is not None:
        return value.args[op.view_of]
    if isinstance(value.type, TensorType) and len(op.writes) == 1:
        return value.args[next(iter(op.writes))]
    return None


_KIND_TYPES: Final = {TENSOR: TensorType, TILE: TileType, SCALAR: ScalarType, INTS: TupleType}
ROUND_MODES: Final = {
    "none": 0,
    "rint": 1,
    "round": 2,
    "floor": 3,
    "ceil": 4,
    "trunc": 5,
    "odd": 6,
}
"""Names of the rounding modes of casts, and the numbers that the IR keeps."""

_ATTR_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "DataType": (DataType, int),
    "MemorySpace": (MemorySpace,),
    "PipeType": (PipeType, int),
    "RoundMode": (int,),
    "bool": (bool,),
    "int": (int,),
    "str": (str,),
    "float": (float, int),
}


def kind_of(value: Any) -> str:
    """Return the parameter kind that ``value`` (an expression or Python value) can stand for."""
    if isinstance(value, Expr):
        for kind, type_ in _KIND_TYPES.items():
            if isinstance(value.type, type_):
                return kind
        return ATTR
    if isinstance(value, bool):
        return ATTR
    if isinstance(value, int | float):
        return SCALAR
    return INTS if isinstance(value, list | tuple) else ATTR


def _check_kind(op: OpDef[..., Any], param: Param, value: Expr) -> None:
    if not isinstance(value.type, _KIND_TYPES[param.kind]):
        found = kind_of(value)
        raise OpError(
            f"argument {param.name!r} of {op.name} is a {found}, a {param.kind} was wanted",
            slug="argument-kind",
        )
    if param.kind == INTS:
        if not isinstance(value, MakeTuple):
            raise OpError(
                f"argument {param.name!r} of {op.name} is not a list of numbers",
                slug="argument-kind",
            )
        for item in value.elements:
            if not (isinstance(item.type, ScalarType) and item.type.dtype.is_int()):
                raise OpError(
                    f"argument {param.name!r} of {op.name} holds integers, "
                    f"got a value of {_spell(item.type)}",
                    slug="argument-kind",
                )


def _spell(kind: Type) -> str:
    return str(kind.dtype) if isinstance(kind, ScalarType) else type(kind).__name__


def _element_type(values: Iterable[Any]) -> DataType | None:
    for value in values:
        if isinstance(value, Expr) and isinstance(value.type, TensorType | TileType):
            return value.type.dtype
    return None


def _operand(
    op: OpDef[..., Any],
    param: Param,
    value: Any,
    element: DataType | None,
    attributes: Mapping[str, Any],
    values: Mapping[str, Any],
    span: Span,
) -> Expr:
    if isinstance(value, Expr):
        return value
    if param.kind == INTS and isinstance(value, list | tuple):
        try:
            return MakeTuple(cast("Sequence[Any]", value), span)
        except TypeError as error:
            raise OpError(
                f"argument {param.name!r} of {op.name}: {error}", slug="argument-kind"
            ) from error
    if param.kind == SCALAR and isinstance(value, int | float) and not isinstance(value, bool):
        dtype = attributes.get("dtype", values.get("dtype")) or element
        return literal(value, dtype, span)
    raise OpError(
        f"argument {param.name!r} of {op.name} is {value!r}, a {param.kind} was wanted",
        slug="argument-kind",
    )


def literal(value: float, dtype: DataType | None, span: Span = UNKNOWN_SPAN) -> Expr:
    """Return a bare number as a constant of element type ``dtype``.

    Raises:
        OpError: a number with a fraction where the element type is an integer.
    """
    if dtype is None:
        return as_expr(value, span)
    if dtype.is_float():
        return ConstFloat(float(value), dtype, span)
    if isinstance(value, float):
        if not value.is_integer():
            raise OpError(
                f"the number {value} stands beside elements of {dtype}",
                hint=f"cast the tile first, or write pl.const({value}, pl.FP32)",
                slug="literal-dtype",
            )
        value = int(value)
    return ConstInt(value, dtype, span)


def _attribute(op: OpDef[..., Any], param: Param, value: Any) -> Any:
    if isinstance(value, ConstInt | ConstFloat):
        value = value.value
    if param.attr_type == "RoundMode" and isinstance(value, str):
        if value not in ROUND_MODES:
            raise OpError(
                f"argument {param.name!r} of {op.name} is {value!r}",
                hint=f"write one of {', '.join(ROUND_MODES)}",
                slug="argument-kind",
            )
        return ROUND_MODES[value]
    wanted = _ATTR_TYPES.get(param.attr_type.removesuffix(" | None"), (object,))
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        raise OpTypeError(
            f"argument {param.name!r} of {op.name} is {value!r}, a {param.attr_type} was wanted",
            slug="argument-kind",
        )
    return value
