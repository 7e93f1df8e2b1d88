"""The sizes of the symbolic dimensions of a call's arguments, and those that follow from them.

A size may be a dimension itself, a number that is passed, or what a dimension that is computed of
others is solved for. Knows signatures and arrays that fit, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, NoReturn

from pypto._src.errors import CallError, EvaluationError
from pypto._src.interp.evaluate import FLAT, Evaluator
from pypto._src.ir.array_types import TensorType
from pypto._src.ir.exprs import Expr, MakeTuple, Var
from pypto._src.ir.stmts import Function, ReturnStmt
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.recursion import nesting, room
from pypto._src.ir.traversal.symbolic_dims import (
    SolvedDim,
    dependent_dims,
    dimension_vars,
    solved_dims,
)
from pypto._src.ir.types import ScalarType, TupleType
from pypto._src.run.arguments.parameters import type_text


class KnownSizes:
    """The sizes of the dimensions of a function's tensors, and the numbers that may be sizes."""

    def __init__(self, function: Function, given: int) -> None:
        """Find the sizes that the first ``given`` parameters determine."""
        self._function = function
        self._params = function.params[:given]
        self._solved: list[tuple[SolvedDim, list[Var], Computation]] = []
        self.vars = {*self._params, *_dimensions(self._params)}
        for row in solved_dims(function, given):
            others = [var for var in dict.fromkeys(uses([row.value])) if var is not row.size]
            solve = Computation([row.size, *others], [row.value], function)
            self._solved.append((row, others, solve))
            self.vars.add(row.var)

    def of(self, values: Sequence[Any]) -> dict[Var, int]:
        """Return the sizes and numbers for arguments.

        Raises:
            CallError: a size would be negative or undefined.
        """
        found: dict[Var, int] = {}
        numbers: dict[Var, int] = {}
        for param, value in zip(self._params, values, strict=False):
            if isinstance(param.type, TensorType):
                pairs = zip(param.type.shape, value.shape, strict=True)
                found |= {dim: size for dim, size in pairs if isinstance(dim, Var)}
            elif isinstance(param.type, ScalarType) and not param.type.dtype.is_float():
                numbers[param] = value
        found |= numbers
        for row, others, solve in self._solved:
            whole = values[row.param].shape[row.axis]
            try:
                (size,) = solve.of([whole, *(found[var] for var in others)])
            except EvaluationError as error:
                self._refuse(row, values, f"which gives no {row.var.name}: {error.message}")
            if size < 0:
                self._refuse(row, values, f"and {row.var.name} would be {size}")
            found[row.var] = size
        return found

    def _refuse(self, row: SolvedDim, values: Sequence[Any], why: str) -> NoReturn:
        param = self._function.params[row.param]
        assert isinstance(param.type, TensorType)
        raise CallError(
            f"argument {param.name!r} of {self._function.name} is an array "
            f"{list(values[row.param].shape)}; {type_text(param.type)} was wanted, {why}",
            slug="argument-shape",
        )


class Computation:
    """Computes several numbers from others, however deeply operators are nested."""

    def __init__(self, params: Sequence[Var], values: Sequence[Expr], function: Function) -> None:
        body = ReturnStmt([MakeTuple(values, function.span)], function.span)
        kind = TupleType([value.type for value in values])
        made = Function("sizes", params, [kind], body, function.span)
        self._depth = nesting(made)
        with room(self._depth):
            self._plan = Evaluator(made).plan(made)

    def of(self, numbers: Sequence[int]) -> Sequence[int]:
        with room(self._depth) if self._depth > FLAT else nullcontext():
            return self._plan.call(numbers)


class DependentSizes:
    """Dimensions whose sizes follow from other arguments, to be checked against the tensors."""

    def __init__(self, function: Function, given: int) -> None:
        """Find these dimensions among the first ``given`` parameters.

        Raises:
            CallError: nothing determines a size that such a dimension depends on.
        """
        self._axes = [axis for axis in dependent_dims(function) if axis[0] < given]
        if not self._axes:  # as for most functions
            return
        dims = [dim for _, _, dim in self._axes]
        self._vars = list(dict.fromkeys(uses(dims)))
        self._known = KnownSizes(function, given)
        for var in self._vars:
            if var not in self._known.vars:
                raise _undetermined(function, var)
        self._plan = Computation(self._vars, dims, function)

    def __bool__(self) -> bool:
        return bool(self._axes)

    def misfit(self, values: Sequence[Any]) -> tuple[int, int, int] | None:
        """Return the first mismatched dimension: parameter, axis and expected size."""
        known = self._known.of(values)
        wanted = self._plan.of([known[var] for var in self._vars])
        for (index, axis, _), size in zip(self._axes, wanted, strict=True):
            if values[index].shape[axis] != size:
                return index, axis, size
        return None


def _undetermined(function: Function, var: Var) -> CallError:
    return CallError(
        f"{function.name} cannot be called: the size {var.name!r} is not a dimension of any of "
        "its tensors",
        function.span,
        hint=f"add a parameter {var.name}: pl.Scalar[pl.INT64]",
        slug="argument-kind",
    )


class SizeWords:
    """The symbolic sizes of a kernel's tensors: words after those of its arguments."""

    def __init__(self, function: Function) -> None:
        """Find where each size can be read.

        Raises:
            CallError: a size is not a dimension of any tensor, so nothing determines it.
        """
        self.name = function.name
        self._axes: list[tuple[Var, list[tuple[int, int]]]] = []
        self._solved: KnownSizes | None = None
        found = _dimensions(function.params)
        for var in dimension_vars(function):
            if var not in found:
                self._solved = self._solved or KnownSizes(function, len(function.params))
                if var not in self._solved.vars:
                    raise _undetermined(function, var)
            self._axes.append((var, found.get(var, [])))

    def __bool__(self) -> bool:
        return bool(self._axes)

    @property
    def axes(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """For each size its name, and the (parameter, axis) pairs that have it."""
        return [(var.name, list(found)) for var, found in self._axes]

    def words(self, values: Sequence[Any]) -> list[int]:
        """Return the sizes of arguments, in the order in which the kernel takes them.

        Raises:
            CallError: two tensors differ in a size of the same name.
        """
        words: list[int] = []
        known = {} if self._solved is None else self._solved.of(values)
        for var, axes in self._axes:
            if not axes:
                words.append(known[var])
                continue
            (first, axis), *others = axes
            size: int = values[first].shape[axis]
            for index, other_axis in others:
                other = values[index].shape[other_axis]
                if other != size:
                    raise CallError(
                        f"the tensors of {self.name} have {size} and {other} elements in the "
                        f"dimension {var.name!r}",
                        slug="argument-shape",
                    )
            words.append(size)
        return words


def _dimensions(params: Sequence[Var]) -> dict[Var, list[tuple[int, int]]]:
    """Return where each variable is by itself a dimension: parameter and axis."""
    found: dict[Var, list[tuple[int, int]]] = {}
    for index, param in enumerate(params):
        if isinstance(param.type, TensorType):
            for axis, dim in enumerate(param.type.shape):
                if isinstance(dim, Var):
                    found.setdefault(dim, []).append((index, axis))
    return found
