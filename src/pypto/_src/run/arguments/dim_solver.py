"""The sizes of arguments that do not exist yet: the values of symbolic dimensions, by name.

Knows signatures and numbers; knows nothing of arrays.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

from pypto._src.diagnostics import Span, spelled_like
from pypto._src.errors import CallError, of_type
from pypto._src.interp.evaluate import evaluate
from pypto._src.ir.array_types import TensorType, symbols_of_type
from pypto._src.ir.exprs import ConstInt, Expr, Var
from pypto._src.ir.stmts import Function, ReturnStmt
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.types import ScalarType


class SizeMissingError(CallError):
    """The sizes called ``names`` were not given."""

    slug = "size-missing"

    def __init__(self, message: str, span: Span, names: Sequence[str]) -> None:
        rows = ", ".join(f"{name!r}: 64" for name in names)
        super().__init__(message, span, hint=f"sizes={{{rows}}}")
        self.names = names


def _whole(name: str, size: Any) -> int:
    """Return a size as an integer."""
    try:
        found = operator.index(size)
    except TypeError:
        plain = size is None or isinstance(size, float | str)
        found = repr(size) if plain else of_type(size)
        near = int(size) if isinstance(size, float) and size.is_integer() else 64
        raise CallError(
            f"the size {name!r} is {found}, an integer was wanted",
            hint=f"sizes={{{name!r}: {near}}}",
            slug="argument-kind",
        ) from None
    if found < 0:
        raise CallError(
            f"the size {name!r} is {found}, 0 or more was wanted",
            hint=f"sizes={{{name!r}: {-found}}}",
            slug="argument-range",
        )
    return found


class Sizes:
    """The sizes of the tensors of one function, and the numbers that are sizes."""

    def __init__(self, function: Function, given: Mapping[str, int]) -> None:
        """Give each named size its value.

        Args:
            function: Its parameters say which names there are.
            given: Sizes by the names of dimensions, and of parameters that are integers.

        Raises:
            CallError: there is no such name, a dimension has none, or its size is missing or
                makes no sense.
        """
        self._function = function
        if not isinstance(given, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CallError(
                f"sizes is {of_type(given)}, a dict of names and integers was wanted",
                hint=f"sizes={{{next((var.name for var in self._vars()), 'N')!r}: 64}}",
                slug="argument-kind",
            )
        sizes = {name: _whole(name, size) for name, size in given.items()}
        self._values = {var: sizes[var.name] for var in self._vars() if var.name in sizes}
        known = {var.name for var in self._values}
        for name in sizes:
            if name not in known:
                self._refuse_name(name)

    @classmethod
    def of(cls, function: Function, values: Mapping[Var, int]) -> Sizes:
        """Return the sizes of a call from the unchecked ``values`` of dimensions and numbers."""
        sizes = cls(function, {})
        sizes._values = dict(values)
        return sizes

    def number(self, param: Var) -> int | None:
        """Return the value given for an integer parameter, None if there is none."""
        return self._values.get(param)

    def shape(self, param: Var, kind: TensorType) -> tuple[int, ...]:
        """Return the sizes of a parameter's dimensions."""
        return tuple(self._size(param, axis, dim) for axis, dim in enumerate(kind.shape))

    def _vars(self) -> Iterator[Var]:
        """Yield the variables that may be given, in the order of the parameters."""
        for param in self._function.params:
            if isinstance(param.type, TensorType):
                yield from uses(symbols_of_type(param.type))
            elif isinstance(param.type, ScalarType) and not param.type.dtype.is_float():
                yield param

    def _refuse_name(self, name: str) -> NoReturn:
        names = list(dict.fromkeys(var.name for var in self._vars()))
        if not names:
            raise CallError(
                f"{self._function.name} has no size {name!r}: all its sizes are constant",
                hint="leave it out",
                slug="size-name",
            )
        near = spelled_like(str(name), names) or (names[0] if len(names) == 1 else None)
        raise CallError(
            f"{self._function.name} has no size {name!r}; it has {', '.join(names)}",
            hint=None if near is None else f"did you mean {near}?",
            slug="size-name",
        )

    def _size(self, param: Var, axis: int, dim: Expr) -> int:
        if isinstance(dim, ConstInt):
            if dim.value >= 0:
                return dim.value
            raise CallError(
                f"{self._dimension(param, axis)} has no name by which its size could be given",
                param.span,
                hint=f"{param.name}_{axis} = pl.dynamic('{param.name}_{axis}')",
                slug="size-unnamed",
            )
        missing = next((var for var in uses([dim]) if var not in self._values), None)
        if missing is not None:
            raise SizeMissingError(
                f"{self._function.name} is given no size {missing.name!r}, which "
                f"{self._dimension(param, axis)} needs",
                param.span,
                self._missing(),
            )
        size = self._values[dim] if isinstance(dim, Var) else self._computed(dim)
        if size < 0:
            raise CallError(
                f"{self._dimension(param, axis)}, {python_print(dim)}, is {size}",
                param.span,
                slug="argument-range",
            )
        return size

    def _missing(self) -> list[str]:
        """Return the names of all dimensions whose size was not given."""
        params = self._function.params
        kinds = [param.type for param in params if isinstance(param.type, TensorType)]
        found = (var for kind in kinds for var in uses(kind.shape))
        return list(dict.fromkeys(var.name for var in found if var not in self._values))

    def _dimension(self, param: Var, axis: int) -> str:
        return f"dimension {axis} of {param.name!r}"

    def _computed(self, dim: Expr) -> int:
        """Return the value of an expression of sizes."""
        names = list(dict.fromkeys(uses([dim])))
        body = ReturnStmt([dim], dim.span)
        function = Function("size", names, [dim.type], body, dim.span)
        return evaluate(function, [self._values[var] for var in names])
