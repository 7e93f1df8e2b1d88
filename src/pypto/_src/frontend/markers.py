"""What kernels write besides ops: loops, yields, constants, scopes, symbolic dimensions.

The front end recognises these objects by identity, whatever name they are imported under. Called
outside a kernel they do next to nothing, so that a kernel's text remains ordinary Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, TypeVarTuple, overload

from pypto._src.dtypes import DataType
from pypto._src.ir.annotations import Scalar
from pypto._src.ir.exprs import (
    Add,
    BinaryExpr,
    Expr,
    FloorDiv,
    FloorMod,
    Mul,
    Sub,
    Symbol,
    Var,
    binary,
)
from pypto._src.ir.types import scalar_type

if TYPE_CHECKING:
    from pypto._src.ir.static_names import Integer, Number

    Size = int
else:
    Size = object

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


class DynVar(Symbol, Size):
    """A dimension that is known only when a kernel is called: ``M = pl.dynamic("M")``.

    One object stands for one size wherever it is used.
    """

    __slots__ = ("name", "var")

    def __init__(self, name: str) -> None:
        is_name = isinstance(name, str) and name.isidentifier()  # pyright: ignore[reportUnnecessaryIsInstance]
        if not is_name or iskeyword(name):
            word = "Python's word " if is_name else ""
            raise ValueError(f"the name of a dimension is an identifier, got {word}{name!r}")
        self.name = name
        self.var = Var(name, scalar_type(DataType.INDEX))

    def __repr__(self) -> str:
        return f"DynVar({self.name!r})"


def _operator(kind: type[BinaryExpr], *, swapped: bool) -> Any:
    """Return the method of `DynVar` for an operator: Python evaluates sizes in annotations."""

    def method(self: DynVar, other: Any) -> Any:
        left, right = self.var, other.var if isinstance(other, DynVar) else other
        if not isinstance(right, int | Expr):
            return NotImplemented
        return binary(kind, right, left) if swapped else binary(kind, left, right)

    return method


for _kind, _name in (
    (Add, "add"),
    (Sub, "sub"),
    (Mul, "mul"),
    (FloorDiv, "floordiv"),
    (FloorMod, "mod"),
):
    setattr(DynVar, f"__{_name}__", _operator(_kind, swapped=False))
    setattr(DynVar, f"__r{_name}__", _operator(_kind, swapped=True))


def dynamic(name: str) -> DynVar:
    """Return a dimension for use in shapes: ``pl.Tensor[[M, 64], pl.FP32]``."""
    return DynVar(name)


IntLike: TypeAlias = int | Scalar | Expr
"""Anything that can be used as an integer: a number, a scalar, an expression."""


class Tuple:
    """Several values as one: ``pl.Tuple[[pl.Scalar[pl.INT64], pl.Tensor[[64], pl.FP32]]]``."""

    def __init__(self, types: Sequence[Any]) -> None:
        self.types = tuple(types)

    def __class_getitem__(cls, types: Sequence[Any]) -> Tuple:
        return cls(types)

    if TYPE_CHECKING:

        def __getitem__(self, index: int) -> Any: ...


@overload
def range_(*bounds: Number, init_values: None = None) -> Iterator[Integer]: ...
@overload
def range_(*bounds: Number, init_values: tuple[*Ts]) -> Iterator[tuple[Integer, tuple[*Ts]]]: ...
@overload
def range_(*bounds: Number, init_values: list[T]) -> Iterator[tuple[Integer, tuple[T, ...]]]: ...
def range_(*args: Any, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """Iterate in order: ``for i in pl.range(stop)``, ``(start, stop)`` or ``(start, stop, step)``.

    With ``init_values=(x, y)`` the loop carries values:
    ``for i, (a, b) in pl.range(n, init_values=(x, y)):`` and, last in the body,
    ``a, b = pl.yield_(...)``.
    """
    return _iterations(args, init_values)


@overload
def parallel(*bounds: Number, init_values: None = None) -> Iterator[Integer]: ...
@overload
def parallel(*bounds: Number, init_values: tuple[*Ts]) -> Iterator[tuple[Integer, tuple[*Ts]]]: ...
@overload
def parallel(*bounds: Number, init_values: list[T]) -> Iterator[tuple[Integer, tuple[T, ...]]]: ...
def parallel(*args: Any, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """Iterate like `range`, in any order or at the same time."""
    return _iterations(args, init_values)


def _iterations(bounds: Sequence[Any], init_values: Sequence[Any] | None) -> Iterator[Any]:
    steps = range(*bounds)
    if init_values is None:
        return iter(steps)
    values = tuple(init_values)
    return iter([(i, values) for i in steps])


@overload
def while_(*, init_values: tuple[*Ts]) -> Iterator[tuple[*Ts]]: ...
@overload
def while_(*, init_values: list[T] | None = None) -> Iterator[tuple[T, ...]]: ...
def while_(*, init_values: Sequence[Any] | None = None) -> Iterator[Any]:
    """Loop while ``pl.cond(...)``, first in the body, holds, carrying ``init_values``.

    ``for (x,) in pl.while_(init_values=(x0,)):``
    """
    if init_values is None:
        raise ValueError("pl.while_ carries values: give init_values=(...)")
    return iter([tuple(init_values)])


@overload
def yield_(value: T, /) -> T: ...
@overload
def yield_(*values: *Ts) -> tuple[*Ts]: ...
def yield_(*values: Any) -> Any:
    """Yield ``values`` from a loop body or branch to what follows, as its last statement."""
    return values[0] if len(values) == 1 else values


def cond(c: Any) -> None:
    """Set the condition ``c`` of a `while_` loop, as the first statement of its body."""


def const(value: T, dtype: DataType) -> T:
    """Return ``value`` as a constant of element type ``dtype``: ``pl.const(1, pl.INT32)``."""
    return value


def typed(value: Any, kind: Any) -> Any:
    """Return a call with the given type, as printed programs have it.

    ``pl.typed(self.f(x), pl.Tensor[[n, 64], pl.FP32])``
    """
    return value


class incore:
    """Mark statements that run on one core: ``with pl.incore():``.

    They become a kernel called ``name_hint``, with a number if that name is taken.
    """

    def __init__(self, name_hint: str = "") -> None:
        self.name_hint = name_hint

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exception: object) -> None:
        return None


range_.__name__ = range_.__qualname__ = "range"
