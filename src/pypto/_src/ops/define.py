"""The decorators that register an op, and the registry.

A definition is a function whose signature and docstring are the user's manual; the decorator's
keywords state the facts. Annotations decide the kind of a parameter: ``Tensor``, ``Tile``,
``Scalar``, ``Ints`` (a list of index expressions) and ``Axis`` (an integer constant) are
positional expressions of the call; everything else is a constant attribute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from importlib import import_module
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    ParamSpec,
    TypeAlias,
    TypeVar,
)

from pypto._src.dtypes import MEMBERS, DataType
from pypto._src.ir.annotations import Tensor, Tile
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call
from pypto._src.ir.op_params import (
    ATTR,
    AXIS,
    INDEX,
    INTS,
    OFFSETS,
    REQUIRED,
    SCALAR,
    TENSOR,
    TILE,
    Param,
)
from pypto._src.ir.opdef import Complete, Decomposition, OpDef, TypeRule, ValidRule

P = ParamSpec("P")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")

if TYPE_CHECKING:
    from typing import Required, TypedDict, Unpack

    from pypto._src.ir.emit_sites import CppSite, PtoSite
    from pypto._src.ir.opdef import Promotion
    from pypto._src.ir.static_names import Number as Scalar
else:
    from pypto._src.ir.annotations import Scalar

Ints: TypeAlias = list[Any] | tuple[Any, ...]
"""A list of index expressions and ints: offsets, shapes, indices."""

Offsets: TypeAlias = Ints
"""A list of which types depend only on the constants: the offsets of a region, an index."""

Axis = int
"""A dimension number, a constant."""

D = DataType
FLOATS: Final = frozenset({D.FP16, D.FP32})
INTEGERS: Final = frozenset({D.INT16, D.INT32, D.UINT16, D.UINT32})
ARITHMETIC: Final = FLOATS | INTEGERS
"""Element types of the vector unit's arithmetic on A2/A3."""
FACTORS: Final = frozenset({D.INT8, D.FP16, D.BF16, D.FP32})
"""Element types of the operands of a matrix product."""
STORABLE: Final = frozenset(
    d for d in MEMBERS.values() if d.mlir is not None and d is not D.BOOL and d.kind != "bool"
) - {D.FP8E4M3FN, D.FP8E5M2, D.FP64}
"""Element types that move between memories on A2/A3."""
ANY: Final = frozenset(MEMBERS.values())


class Table(MutableMapping[K, V]):
    """A table of ops; some belong to families that are loaded when one of their ops is named.

    Looking up a key loads its families; iterating over the table loads all.
    """

    def __init__(self) -> None:
        self._held: dict[K, V] = {}
        self.lazy: dict[K, tuple[str, ...]] = {}  # families by key, loaded or not
        self.loaded = self._held.get  # looks up a key in the loaded families only

    def __getitem__(self, key: K) -> V:
        for family in self.lazy.get(key, ()):
            load_family(family)
        if key not in self._held and key in self.lazy:
            raise KeyError(f"no definition has the listed {key!r}: run `make generate`")
        return self._held[key]

    def __setitem__(self, key: K, value: V) -> None:
        self._held[key] = value

    def __delitem__(self, key: K) -> None:
        del self._held[key]

    def __contains__(self, key: object) -> bool:
        return key in self._held or key in self.lazy

    def __iter__(self) -> Iterator[K]:
        self._load_all()
        early = [key for key in self._held if key not in self.lazy]
        return iter([*early, *self.lazy])  # independent of the order of loading

    def __len__(self) -> int:
        self._load_all()
        return len(self._held)

    def _load_all(self) -> None:
        for families in self.lazy.values():
            for family in families:
                load_family(family)


REGISTRY: Final[Table[str, OpDef[..., Any]]] = Table()
"""Every op by its full name, such as ``block.add``."""

OVERLOADS: Final[Table[str, list[OpDef[..., Any]]]] = Table()
"""Maps a unified name to its overloads; the kinds of the operands choose one."""

BY_PYTHON_NAME: Final[Table[tuple[str, str], OpDef[..., Any]]] = Table()
"""Maps (level, Python name) to the op: ``("block", "and_")`` is ``block.and``."""


DISPATCHED: Final[set[tuple[str, str]]] = set()
"""(level, name) of lazily loaded ops whose names dispatch; level "" stands for any."""

_ORDER: Final[dict[str, int]] = {}
"""The order of ops whose names dispatch, after all others, independent of the load order."""


def lazy_family(
    family: str, ops: Iterable[tuple[str, str, str]], *, dispatched: bool = True
) -> None:
    """Declare a family's ops by full name, Python name and unified name, without loading it.

    If ``dispatched``, its names dispatch, so that listing them loads nothing; otherwise the names
    are the ops themselves, imported when they are read.
    """
    for name, python_name, overload in ops:
        level = name.partition(".")[0]
        REGISTRY.lazy[name] = (family,)
        BY_PYTHON_NAME.lazy[level, python_name] = (family,)
        if dispatched:
            _ORDER[name] = len(_ORDER)
            DISPATCHED.update([(level, python_name), (level, overload), ("", overload)])
        known = OVERLOADS.lazy.get(overload, ())
        OVERLOADS.lazy[overload] = known if family in known else (*known, family)


def _place(op: OpDef[..., Any]) -> tuple[int, str]:
    """Return the sort key for the ops of one unified name, independent of the load order."""
    return _ORDER.get(op.name, -1), op.level


def load_family(family: str) -> None:
    """Import a family, which registers its ops."""
    name = f"{__package__}.{family}"
    if name not in sys.modules:
        import_module(name)


Index = Scalar
"""A scalar that counts rows, columns or elements: bare numbers have type INDEX."""

Space = MemorySpace
"""A memory space passed as a positional expression of the call: its number, a constant."""

_KINDS: Final = {
    "Tensor": TENSOR,
    "Tile": TILE,
    "Scalar": SCALAR,
    "Index": SCALAR,
    "Space": SCALAR,
    "Ints": INTS,
    "Offsets": INTS,
    "Axis": AXIS,
}


def _params(function: Callable[..., Any]) -> tuple[Param, ...]:
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    defaults = function.__defaults__ or ()
    first = code.co_argcount - len(defaults)
    keyword_defaults = function.__kwdefaults__ or {}
    params: list[Param] = []
    for index, name in enumerate(names):
        text = str(function.__annotations__.get(name, ""))
        default: Any = REQUIRED
        if name in keyword_defaults:
            default = keyword_defaults[name]
        elif first <= index < code.co_argcount:
            default = defaults[index - first]
        kind = _KINDS.get(text.removesuffix(" | None"), ATTR)  # `OpDef.complete` fills in None
        if text == "Space":
            text = MemorySpace.__name__
        elif kind != ATTR and text not in (OFFSETS, INDEX):
            text = ""
        params.append(Param(name, kind, default, text))
    return tuple(params)


Spaces = Mapping[int, MemorySpace | frozenset[MemorySpace]]
"""Memory spaces of tile operands by index; those not listed are in vector memory."""


Numpy = (
    Callable[[], Any]
    | Callable[[Any], Any]
    | Callable[[Any, Any], Any]
    | Callable[[Any, Any, Any], Any]
    | Callable[[Any, Any, Any, Any], Any]
)
"""The meaning on arrays: takes operands by position, keywords by name."""


if TYPE_CHECKING:  # used only in annotations, and as slow to create as six other classes

    class Facts(TypedDict, total=False):
        """The facts that a definition states about its op; see `OpDef`."""

        types: Required[TypeRule]
        dtypes: Iterable[DataType]
        numpy: Numpy | None
        pto: str | Callable[[PtoSite], None] | None
        isa: str | Callable[[CppSite], None] | None
        reads: Iterable[int] | None
        writes: Iterable[int]
        space: MemorySpace | Callable[[Call], MemorySpace] | None
        view_of: int | None
        in_place: Iterable[int] | None
        columns: Iterable[int]
        spaces: Spaces | Callable[[Mapping[str, Any]], Spaces] | None
        name: str | None
        overload: str | None
        typed: bool
        decomposition: Decomposition | None
        of_padded: Decomposition | None
        complete: Complete | None
        with_scratch: OpDef[..., Any] | None
        last_operand: str | None
        valid: ValidRule | None
        rest: Callable[[Mapping[str, Any], Any], Any] | None
        promotion: Promotion | None
        masks: bool
        commutes: bool
        unsupported: str | None
        instead: str | None


def _spaces_rule(
    tiles: Iterable[int], given: Spaces | Callable[[Mapping[str, Any]], Spaces]
) -> Callable[[Mapping[str, Any]], Mapping[int, frozenset[MemorySpace]]]:
    """Return the rule that maps keywords to the memory spaces accepted for each tile operand."""
    wanted = tuple(tiles)

    def allowed(spaces: Spaces) -> dict[int, frozenset[MemorySpace]]:
        found = {index: spaces.get(index, MemorySpace.Vec) for index in wanted}
        return {
            index: frozenset({space}) if isinstance(space, MemorySpace) else space
            for index, space in found.items()
        }

    if callable(given):
        return lambda kwargs: allowed(given(kwargs))
    fixed = allowed(given)
    return lambda _kwargs: fixed


def _register(
    level: str,
    *,
    types: TypeRule,
    dtypes: Iterable[DataType] = ANY,
    pipe: PipeType | Callable[[Call], PipeType] | None = None,
    numpy: Callable[..., Any] | None = None,
    pto: str | Callable[[PtoSite], None] | None = None,
    isa: str | Callable[[CppSite], None] | None = None,
    reads: Iterable[int] | None = None,
    writes: Iterable[int] = (),
    space: MemorySpace | Callable[[Call], MemorySpace] | None = None,
    view_of: int | None = None,
    in_place: Iterable[int] | None = None,
    columns: Iterable[int] = (),
    spaces: Spaces | Callable[[Mapping[str, Any]], Spaces] | None = None,
    name: str | None = None,
    overload: str | None = None,
    typed: bool = False,
    decomposition: Decomposition | None = None,
    of_padded: Decomposition | None = None,
    complete: Complete | None = None,
    with_scratch: OpDef[..., Any] | None = None,
    last_operand: str | None = None,
    valid: ValidRule | None = None,
    rest: Callable[[Mapping[str, Any], Any], Any] | None = None,
    promotion: Promotion | None = None,
    masks: bool = False,
    commutes: bool = False,
    unsupported: str | None = None,
    instead: str | None = None,
    listed: bool = True,
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    def define(function: Callable[P, R]) -> OpDef[P, R]:
        params = tuple([p for p in _params(function) if p.name != last_operand])
        operands = [p for p in params if p.kind != ATTR]
        data = [i for i, p in enumerate(operands) if p.kind in (TENSOR, TILE)]
        tiles = [i for i in data if operands[i].kind == TILE]
        python_name: str = function.__name__
        op: OpDef[P, R] = OpDef(
            f"{level}.{name or python_name.rstrip('_')}",
            level=level,
            python_name=python_name,
            overload=overload or python_name,
            params=params,
            doc=function.__doc__ or "",
            types=types,
            dtypes=frozenset(dtypes),
            pipe_rule=pipe,
            numpy=numpy,
            pto=pto,
            isa=isa,
            reads=frozenset(set(data) - set(writes) if reads is None else reads),
            writes=frozenset(writes),
            space=space,
            view_of=view_of,
            in_place=frozenset(tiles if in_place is None else in_place),
            columns=frozenset(columns),
            spaces_rule=_spaces_rule(tiles, spaces or {}),
            names_spaces=bool(spaces),
            typed=typed,
            decomposition=decomposition,
            of_padded=of_padded,
            complete=complete,
            with_scratch=with_scratch,
            last_operand=last_operand,
            valid=valid,
            rest=rest,
            promotion=promotion,
            masks=masks,
            commutes=commutes,
            unsupported=unsupported,
            instead=instead,
        )
        if not listed:
            return op
        if REGISTRY.loaded(op.name) is not None:
            raise ValueError(f"op {op.name} is defined twice")
        REGISTRY[op.name] = op
        found = [*(OVERLOADS.loaded(op.overload) or ()), op]
        OVERLOADS[op.overload] = sorted(found, key=_place)
        BY_PYTHON_NAME[level, python_name] = op
        return op

    return define


def block_op(
    *, pipe: PipeType | Callable[[Call], PipeType] | None = PipeType.V, **facts: Unpack[Facts]
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on tiles; see `OpDef` for the facts.

    By default it runs on the vector pipe, reads all its tiles, writes only its result, to vector
    memory, may overwrite any tile operand with the result, and takes no column vectors.
    """
    return _register("block", pipe=pipe, **facts)


def target_form(
    *, pipe: PipeType | Callable[[Call], PipeType] | None = PipeType.V, **facts: Unpack[Facts]
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Define the variant of an op that takes the scratch tiles targets need as its last operands.

    Users never write it, so the registry does not list it: see `OpDef.with_scratch`.
    """
    return _register("block", pipe=pipe, listed=False, **facts)


def tensor_op(
    *, pipe: PipeType | Callable[[Call], PipeType] | None = None, **facts: Unpack[Facts]
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op on whole tensors; see `OpDef` for the facts."""
    return _register("tensor", pipe=pipe, **facts)


def system_op(
    *, pipe: PipeType | Callable[[Call], PipeType] | None = PipeType.S, **facts: Unpack[Facts]
) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op without a value that acts on the core itself; see `OpDef`."""
    return _register("system", pipe=pipe, **facts)


def test_op(**facts: Unpack[Facts]) -> Callable[[Callable[P, R]], OpDef[P, R]]:
    """Register an op that only tests of the registry use; see `OpDef`."""
    return _register("test", pipe=None, **facts)


__all__ = [
    "ANY",
    "ARITHMETIC",
    "BY_PYTHON_NAME",
    "FACTORS",
    "FLOATS",
    "INTEGERS",
    "OVERLOADS",
    "REGISTRY",
    "STORABLE",
    "Axis",
    "Index",
    "Ints",
    "Offsets",
    "Scalar",
    "Space",
    "Tensor",
    "Tile",
    "block_op",
    "lazy_family",
    "load_family",
    "system_op",
    "target_form",
    "tensor_op",
    "test_op",
]
