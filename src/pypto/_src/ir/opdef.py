"""What an operator is: one definition holds every fact that any part of the compiler asks for.

`OpDef` is data. It knows no particular op; the definitions are in `pypto._src.ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EmitError, OpError
from pypto._src.ir.annotations import unwrapped, wrapped
from pypto._src.ir.array_types import ShapedType, TensorType, TileType, valid_part
from pypto._src.ir.call_forms import FORMS, PLAIN_KEYWORDS, keep, key_of
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import (
    Call,
    ConstInt,
    Expr,
    MakeTuple,
    Op,
    Var,
    caller_span,
)
from pypto._src.ir.interning import unique_result
from pypto._src.ir.node_base import NO_KEYWORDS, Keywords, NodeMeta
from pypto._src.ir.op_params import (
    ATTR,
    INTS,
    OFFSETS,
    REQUIRED,
    TYPE_IS_ENOUGH,
    Param,
    as_attribute,
    as_operand,
    check_kind,
)
from pypto._src.ir.types import ScalarType, Type
from pypto._src.ir.unchecked import checked_call
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    from pypto._src.ir.emit_sites import CppSite, Let, PtoSite

P = ParamSpec("P")
R = TypeVar("R")

RESULT: Final = -1
"""Stands for the result where operands are numbered."""

_VEC: Final = MemorySpace.Vec  # looking it up in its class takes five times as long


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

    def axis(self, index: int) -> int:
        """Return the value of axis operand ``index``."""
        value = self.args[index]
        assert isinstance(value, ConstInt)
        return value.value

    def param(self, index: int) -> str:
        """Return the name of positional operand ``index``."""
        return [p.name for p in self.op.params if p.kind != ATTR][index]

    def name(self, index: int) -> str:
        """Return the user's name or text of an operand, else the name of the parameter."""
        value, texts = self.args[index], _TEXTS.get()
        if texts and value in texts:
            return texts[value]
        return value.name if isinstance(value, Var) else self.param(index)


_TEXTS: ContextVar[Mapping[Expr, str]] = ContextVar("_TEXTS", default=MappingProxyType({}))


@contextmanager
def spelling(texts: Mapping[Expr, str]) -> Generator[None]:
    """Make errors call expressions by ``texts``, rather than by variable or parameter.

    The texts of an enclosing ``with`` hold for other expressions.
    """
    token = _TEXTS.set({**_TEXTS.get(), **texts})
    try:
        yield
    finally:
        _TEXTS.reset(token)


TypeRule = Callable[[Operands], Type]


ValidRule = Callable[[Operands, Type], Type]
"""Returns the result type of a call with partly valid tiles, given the type for whole ones."""


Decomposition: TypeAlias = "Callable[[Call, Let], Expr | None]"
"""Returns what replaces a call, None if the targets execute it directly."""


class Promotion(Protocol):
    """What an op does with tiles of several element types or shapes."""

    def differ(self, args: Sequence[Expr]) -> bool:
        """True if the tiles of a call have several element types or shapes."""
        ...

    def type_of(self, o: Operands) -> Type | None:
        """Return the type of a call whose tiles differ, None if they do not."""
        ...

    def parts(self, call: Call, let: Let) -> Expr | None:
        """Return the expansion of a call whose tiles differ, None if they do not."""
        ...

    def meaning(self, call: Call, compute: Callable[..., Any]) -> Callable[..., Any]:
        """Return what a call computes on arrays, given what the op does on matching ones."""
        ...


Complete = Callable[
    [Sequence[Any], Mapping[str, Any], Span], tuple[Sequence[Any], Mapping[str, Any]]
]
"""Returns the arguments of a call, with an operand that users may leave out filled in."""


class OpDef(Op, Generic[P, R], metaclass=NodeMeta):
    """A registered operator. Calling it with expressions builds a `Call` of the deduced type."""

    FIELDS = Op.FIELDS  # two ops are equal when their names are

    level: str  # "block", "tensor", "system" or "test"
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
    in_place: frozenset[int]  # operands whose bytes the result may overwrite, also those not read
    columns: frozenset[int]  # tiles that the target takes as column vectors: operands, RESULT
    spaces_rule: Callable[[Mapping[str, Any]], Mapping[int, frozenset[MemorySpace]]]
    # Takes a tile from memory other than Vec. For any other op, the type of a call does not depend
    # on whether a plain tile is known to be in Vec, and a tensor in global memory.
    names_spaces: bool
    pto: str | Callable[[PtoSite], None] | None
    isa: str | Callable[[CppSite], None] | None
    numpy: Callable[..., Any] | None
    typed: bool  # ``numpy`` has a keyword ``result``: the NumPy type of the result's elements
    # Expands a call that no target executes into other ops. An op that is always expanded needs
    # neither ``pto`` nor ``isa``.
    decomposition: Decomposition | None
    # The same for calls with a tile that is padded, or a column [N, 1]; see `ops.padding`.
    of_padded: Decomposition | None
    complete: Complete | None  # gives the operand that may be left out
    # The form with scratch tiles after the operands. Targets need them, passes supply them.
    with_scratch: OpDef[..., Any] | None = None
    # The keyword that is the last operand of that form, if the user gives it: valid_shapes.
    last_operand: str | None
    base: OpDef[..., Any] | None  # the op that this is such a form of; calls name that op
    # The rule for partly valid tiles; None if the op takes whole tiles only.
    valid: ValidRule | None
    # What fills the rest of a whole result if the operand is partly valid; 0 by default.
    rest: Callable[[Mapping[str, Any], Any], Any] | None
    promotion: Promotion | None  # how it takes tiles that differ; None if they must be equal
    masks: bool  # takes the masks of comparisons, which are always partly valid
    commutes: bool  # with a tile and a number: the number may come first, ``pl.add(2, tile)``
    unsupported: str | None  # why no backend emits it
    instead: str | None  # what to write where no backend emits it
    operands: tuple[Param, ...]  # the parameters that are positional expressions of a call
    offsets: frozenset[int | str]  # positions and names of the parameters that are lists of offsets
    sizes: frozenset[int | str]  # and of those that are lists of sizes
    attributes: frozenset[str]  # the names of the others
    names: tuple[str, ...]  # of all parameters

    def __init__(self, name: str, **facts: Any) -> None:
        params: tuple[Param, ...] = facts.get("params", ())
        facts["operands"] = tuple([p for p in params if p.kind != ATTR])
        lists = [(at, p) for at, p in enumerate(params) if p.kind == INTS]
        offsets = [pair for pair in lists if pair[1].attr_type == OFFSETS]
        facts["offsets"] = frozenset([key for at, p in offsets for key in (at, p.name)])
        sizes = [pair for pair in lists if pair[1].attr_type != OFFSETS]
        facts["sizes"] = frozenset([key for at, p in sizes for key in (at, p.name)])
        facts["attributes"] = frozenset([p.name for p in params if p.kind == ATTR])
        facts["names"] = tuple([p.name for p in params])
        for key in (
            "complete",
            "of_padded",
            "with_scratch",
            "last_operand",
            "base",
            "valid",
            "promotion",
        ):
            facts.setdefault(key, None)
        facts.setdefault("masks", False)
        facts.setdefault("rest", None)
        facts.setdefault("commutes", False)
        object.__setattr__(self, "name", name)
        for key, value in facts.items():
            object.__setattr__(self, key, value)
        if self.last_operand is not None:
            object.__setattr__(self.with_scratch, "base", self)

    def written(self, operands: int) -> OpDef[..., Any]:
        """Return the op that texts name for a call with so many operands.

        It is the op itself unless the call has `last_operand`.
        """
        form = self.with_scratch
        if self.last_operand is None or form is None or operands != len(form.operands):
            return self
        return form

    @property
    def pipe(self) -> Any:
        """The pipe, when it is the same for every call."""
        return self.pipe_rule if isinstance(self.pipe_rule, PipeType) else None

    def parts_of(self, call: Call, let: Let) -> Expr | None:
        """Return the expansion of a call for targets, None if they execute it directly."""
        found = None if self.promotion is None else self.promotion.parts(call, let)
        for expand in (self.of_padded, self.decomposition):
            if found is None and expand is not None:
                found = expand(call, let)
        return found

    def pipe_of(self, call: Call) -> PipeType | None:
        """Return the pipe that executes ``call``, None if it runs nothing."""
        rule = self.pipe_rule
        return rule(call) if callable(rule) and not isinstance(rule, PipeType) else rule

    def space_of(self, call: Call) -> MemorySpace:
        """Return the memory space of the call's result tile."""
        rule = self.space
        if rule is None:
            return _VEC
        return rule if isinstance(rule, MemorySpace) else rule(call)

    def operand_spaces(self, kwargs: Mapping[str, Any]) -> Mapping[int, frozenset[MemorySpace]]:
        """Return where each tile operand may live, given the call's keywords."""
        return self.spaces_rule(kwargs)

    def get_attr_keys(self) -> list[str]:
        """Return the keywords that the op declares."""
        return [p.name for p in self.params if p.kind == ATTR]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Build the call as `build` does; a span may follow as last argument.

        With wrapped operands, ``pl.Tile(expr=...)``, the call is wrapped, too.
        """
        bare = unwrapped(args, kwargs)
        given, values, span = with_span(*(bare or (args, kwargs)))
        if bare is not None:
            return cast("R", of_wrapped(self, given, values, span or caller_span()))
        return self.build(given, values, span or caller_span())

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What the definition says, for `help`, notebooks and editors."""
        return self.doc

    @property
    def __name__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.python_name

    @property
    def __signature__(self) -> Any:
        """The parameters, for `inspect`."""
        from inspect import Parameter, Signature

        kind, empty = Parameter.POSITIONAL_OR_KEYWORD, Parameter.empty
        shown = [
            Parameter(p.name, kind, default=empty if p.default is REQUIRED else p.default)
            for p in self.params
        ]
        return Signature([*shown, Parameter("span", kind, default=None)])

    def build(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span = UNKNOWN_SPAN
    ) -> Any:
        """Return a `Call` from Python arguments in signature order or by keyword.

        Numbers become constants; a bare number beside a tile or tensor takes its element type.

        Raises:
            OpTypeError: an operand or keyword of the wrong kind.
            OpError: wrong number, element type or shape of operands.
        """
        if self.complete is not None:
            args, kwargs = self.complete(args, kwargs, span)
        last, form = self.last_operand, self.with_scratch
        if last is not None and last in kwargs and form is not None:
            if kwargs[last] is not None:
                return form.build(args, kwargs, span)
            kwargs = {key: value for key, value in kwargs.items() if key != last}
        values = self._bind(args, kwargs)
        operands: list[Expr] = []
        attributes: dict[str, Any] = {}
        for param in self.params:
            value = values[param.name]
            if param.kind != ATTR:
                if not isinstance(value, Expr):
                    value = as_operand(self, param, value, attributes, values, span)
                operands.append(value)
            elif value is not None and param.default is not None:
                attributes[param.name] = as_attribute(self, param, value)
        if self.attributes:
            for param in self.params:  # optional ones come last
                is_keyword = param.kind == ATTR and param.default is None
                if is_keyword and values[param.name] is not None:
                    attributes[param.name] = as_attribute(self, param, values[param.name])
        return self.call(operands, attributes, span)

    def call(
        self, args: Sequence[Expr], kwargs: Mapping[str, Any], span: Span = UNKNOWN_SPAN
    ) -> Call:
        """Return a `Call` of ready operands with the type that the op's rule gives."""
        operands = tuple(args)
        op = self if self.base is None else self.base
        kind = self.result_type(operands, kwargs)
        if kwargs and not PLAIN_KEYWORDS.issuperset(map(type, kwargs.values())):
            return Call(op, operands, kwargs, kind, span)
        keywords = Keywords(kwargs) if kwargs else NO_KEYWORDS
        return checked_call(op, operands, keywords, kind, span)

    def result_type(self, operands: tuple[Expr, ...], kwargs: Mapping[str, Any]) -> Type:
        """Return the type that the op's rule gives to a call of ready operands.

        It follows from the operands' types, the constants among them, and the keywords. So the rule
        runs once for all calls that agree in these, across programs. A plain type is the one object
        that `unique` gives.

        Raises:
            OpError: the rule refuses them.
        """
        key = key_of(self, operands, kwargs)
        form = None if key is None else FORMS.get(key)
        if form is not None:
            return form.type
        kind = unique_result(self._type_of(operands, kwargs), operands)
        if key is not None and not any(map(_is_in_memory, operands)):
            keep(key, kind, self, operands, kwargs)
        return kind

    def _type_of(self, operands: tuple[Expr, ...], kwargs: Mapping[str, Any]) -> Type:
        params = self.operands
        if len(operands) != len(params):
            raise OpError(
                f"{self.name} takes {len(params)} operands, got {len(operands)}",
                slug="argument-count",
            )
        for param, value in zip(params, operands, strict=True):
            if TYPE_IS_ENOUGH.get(param.kind) is not value.type.__class__:
                check_kind(self, param, value)
        for key in kwargs:
            if key not in self.attributes:
                raise OpError(f"{self.name} has no keyword {key!r}", slug="unknown-keyword")
        return self.type_of(Operands(self, operands, kwargs))

    def type_of(self, o: Operands) -> Type:
        """Return the result type for operands of the right kinds.

        Raises:
            OpError: the rule refuses them, or one is a partly valid tile and the op takes none.
        """
        mixed = None if self.promotion is None else self.promotion.type_of(o)
        kind = self.types(o) if mixed is None else mixed
        if self.masks:
            return kind
        for at, arg in enumerate(o.args):
            if arg.type.__class__ is TileType and valid_part(arg.type) is not None:
                first = at
                break
        else:
            return kind
        if self.valid is not None:
            return self.valid(o, kind) if mixed is None else mixed
        raise not_whole(f"pl.{self.overload} takes", o.name(first))

    def _bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        names = self.names
        if not kwargs and len(args) == len(names):
            return dict(zip(names, args, strict=True))
        if len(args) > len(names):
            raise OpError(
                f"{self.name} takes {_counted(names)}, got {len(args)}",
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
        for param in self.params[len(args) :]:
            if param.name not in values:
                if param.default is REQUIRED:
                    raise OpError(
                        f"{self.name} misses its argument {param.name!r}",
                        hint=f"its arguments are {', '.join(names)}",
                        slug="argument-count",
                    )
                values[param.name] = param.default
        return values


def _counted(names: Sequence[str]) -> str:
    """Return the arguments of an op in words: ``2 arguments (lhs, rhs)``."""
    if not names:
        return "no arguments"
    return f"{len(names)} argument{'s' * (len(names) > 1)} ({', '.join(names)})"


def with_span(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any], Span | None]:
    """Return arguments without a last or named span, and the span."""
    named = dict(kwargs)
    span = named.pop("span", None)
    if span is None and args and isinstance(args[-1], Span):
        return args[:-1], named, args[-1]
    return args, named, span


def no_form(op: OpDef[..., Any], language: str, otherwise: str) -> EmitError:
    """Return the error for a call of an op that has no form in ``language``.

    The user has to change the call, unless LegalizeTiles decomposes the op.
    """
    if op.unsupported is None and op.decomposition is not None:
        message, hint = f"{op.name} is several instructions", "run passes.legalize_tiles() first"
    else:
        message, hint = (
            f"{op.name} has no {language} form: {op.unsupported or otherwise}",
            op.instead,
        )
    return EmitError(message, hint=hint, slug="emit-op")


def of_wrapped(
    op: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
) -> Any:
    """Return the wrapped call of an op whose operands were wrapped.

    Raises:
        OpTypeError: an operand is of the wrong kind, such as a tile in place of a tensor.
        OpError: anything else that the op refuses.
    """
    return wrapped(op(*args, **kwargs, span=span))


def op_of(value: object) -> OpDef[..., Any] | None:
    """Return the registered op that a call uses, None for anything else."""
    if not isinstance(value, Call):
        return None
    op: Any = value.op
    if op.__class__ is not OpDef:
        return None
    other: OpDef[..., Any] | None = op.with_scratch
    if other is not None and len(value.args) == len(other.operands):
        return other
    return op


def aliased(value: Expr) -> Expr | None:
    """Return the value whose bytes ``value`` shares, None if it has bytes of its own.

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


def _is_in_memory(value: Expr) -> bool:
    """True for an operand whose type has a memory reference, so that hardly any other has it."""
    return isinstance(value.type, ShapedType) and value.type.memref is not None


def not_whole(takes: str, name: str, *, fill: bool = True) -> OpError:
    """Return the error for the partly valid tile ``name``; ``takes`` is a subject and its verb.

    With ``fill``, the hint is to fill the rest of the tile.
    """
    return OpError(
        f"{takes} tiles that are valid throughout, {name} is valid in part",
        hint=f"pl.fillpad({name}) is a whole tile with zeros in the rest" if fill else None,
        slug="valid-shape",
    )
