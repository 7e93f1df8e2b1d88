"""Loops and branches in the PTO dialect, and the values that they carry and return.

Loops and branches carry scalars only: a carried tile is one buffer that is written in place, a
carried tensor one name. Does not know what the statements inside do: a callback writes each
body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.pto.regions import Carried, Range, Write
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.tensors import TensorName
from pypto._src.emit.pto.types import scalar_dtype
from pypto._src.emit.writer import check_carried
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Expr, IterArg, Var, const_value
from pypto._src.ir.stmts import ForStmt, IfStmt, Stmt, WhileStmt, YieldStmt, statements, yielded
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.ir.types import ScalarType


class Flow:
    """Writes loops and branches.

    Args:
        kernel: The state of the generator.
        write: Writes the statements of a body.
    """

    def __init__(self, kernel: Kernel, write: Callable[[Stmt | None], None]) -> None:
        self._kernel = kernel
        self._write = write
        self._scalars = kernel.scalars
        self._tensors = kernel.tensors
        self._regions = kernel.regions

    # Trap: the assembler rejects scf.for and scf.if with results of f16 and bf16. They are held as
    # f32, which represents all their values.

    def _carried(self, variables: Sequence[Var], inits: Sequence[str]) -> Carried:
        return Carried([self._type(var) for var in variables], inits)

    def _type(self, var: Var) -> str:
        return "f32" if _is_short(var) else self._scalars.type_of(var)

    def _held(self, var: Var, value: Expr) -> str:
        """Return the name of a value, converted to the type in which ``var`` is held."""
        name = self._scalars.value_for(var, value)
        return (
            self._scalars.convert(name, scalar_dtype(var), _held_dtype(var))
            if _is_short(var)
            else name
        )

    def _take(self, variables: Sequence[Var], names: Sequence[str]) -> None:
        """Bind variables to the values from a loop or branch."""
        for var, held in zip(variables, names, strict=True):
            name = held
            if _is_short(var):
                name = self._scalars.convert(held, _held_dtype(var), scalar_dtype(var))
            self._scalars.names[var] = name

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        check_carried(iter_args)
        for var in iter_args:
            if isinstance(var.type, TileType):
                self._kernel.own_buffer(var)
            elif isinstance(var.type, TensorType):
                self._tensors.names[var] = self._tensors.of(var.initValue)

    def _leave(self, iter_args: Sequence[IterArg], stmt: ForStmt | WhileStmt) -> None:
        """Bind the results of a loop to the values it carried."""
        for var, result, value in zip(iter_args, stmt.return_vars, yielded(stmt.body), strict=True):
            if isinstance(var.type, TileType):
                self._kernel.own_buffer(result)
            elif isinstance(var.type, TensorType):
                carried = self._tensors.of(var)
                if self._tensors.of(value) != carried:
                    raise _several_tensors(f"a loop carries {var.name!r}")
                self._tensors.names[result] = carried

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        is_signed = bool(carried) and not self._regions.only_whiles
        bounds = _Bounds(self._scalars, stmt, is_signed)
        inits = [self._held(a, a.initValue) for a in carried]

        def write(inside: Sequence[str]) -> list[str]:
            *values, counter = inside
            self._scalars.begin_statement()
            for key in self._kernel.inner_buffers.get(stmt, ()):
                self._kernel.allocate(key)
            self._take(carried, values)
            self._scalars.names[stmt.loop_var] = bounds.value(counter)
            self._write(stmt.body)
            return self._yielded(stmt.body, carried, values, stmt.iter_args)

        names = self._regions.counted(
            Range(bounds.low, bounds.high, bounds.step), self._carried(carried, inits), write
        )
        self._take(results, names)
        self._leave(stmt.iter_args, stmt)

    def _yielded(
        self,
        body: Stmt | None,
        carried: Sequence[Var],
        inside: Sequence[str],
        targets: Sequence[Var],
    ) -> list[str]:
        """Return the scalars that a body yields."""
        self._scalars.begin_statement()
        if not carried:
            return []
        values = [
            self._held(target, self._kernel.item(value))
            for target, value in zip(targets, yielded(body), strict=True)
            if isinstance(target.type, ScalarType)
        ]
        kinds = [(_held_dtype(var), var in self._scalars.long) for var in carried]
        return self._scalars.handed_over(values, inside, kinds)

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that runs while a condition holds."""
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        inits = [self._held(a, a.initValue) for a in carried]

        def test(inside: Sequence[str]) -> str:
            self._scalars.begin_statement()
            self._take(carried, inside)
            return self._scalars.condition(stmt.condition)

        def write(inside: Sequence[str]) -> list[str]:
            self._scalars.begin_statement()
            self._take(carried, inside)
            self._write(stmt.body)
            return self._yielded(stmt.body, carried, inside, stmt.iter_args)

        has_whiles = any(isinstance(inner, WhileStmt) for inner in stmts_in(stmt.body))
        names = self._regions.conditional(
            self._carried(carried, inits), test, write, has_whiles=has_whiles
        )
        self._take(results, names)
        self._leave(stmt.iter_args, stmt)

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        condition = self._scalars.condition(stmt.condition)
        tensors: list[list[TensorName]] = []

        def body(part: Stmt | None) -> Write:
            def write(_inside: Sequence[str]) -> list[str]:
                self._write(part)
                values = self._yielded(part, results, [], stmt.return_vars)
                tensors.append(self._tensor_yielded(part))
                return values

            return write

        def zeros() -> list[str]:
            return [self._scalars.zero(_held_dtype(v), v in self._scalars.long) for v in results]

        has_else = bool(results) or any(
            not isinstance(s, YieldStmt) for s in statements(stmt.else_body)
        )
        names = self._regions.branch(
            condition,
            [self._type(var) for var in results],
            zeros,
            body(stmt.then_body),
            body(stmt.else_body) if has_else else None,
        )
        if not has_else and stmt.else_body is not None:
            tensors.append(self._tensor_yielded(stmt.else_body))
        if tensors[0] != tensors[-1]:
            raise _several_tensors("the branches hand on")
        self._take(results, names)
        merged = iter(tensors[0])
        for var in stmt.return_vars:
            if isinstance(var.type, TensorType):
                self._tensors.names[var] = next(merged)
            elif isinstance(var.type, TileType):
                self._kernel.own_buffer(var)

    def _tensor_yielded(self, body: Stmt | None) -> list[TensorName]:
        return [self._tensors.of(v) for v in yielded(body) if isinstance(v.type, TensorType)]


def _is_short(var: Var) -> bool:
    return scalar_dtype(var) in _SHORT


def _held_dtype(var: Var) -> DataType:
    """Return the type in which loops and branches hold a variable."""
    return DataType.FP32 if _is_short(var) else scalar_dtype(var)


_SHORT: Final = frozenset({DataType.FP16, DataType.BF16})


class _Bounds:
    """The three bounds of an scf.for that runs the iterations of a counted loop, and its counter.

    Trap: the C++ counter of a loop that carries nothing is unsigned, so with a negative bound it
    would never end. Such a loop, and one that counts down, counts its iterations instead.
    """

    def __init__(self, scalars: Scalars, stmt: ForStmt, carries: bool) -> None:
        self._scalars = scalars
        self._dtype = scalar_dtype(stmt.loop_var)
        step = const_value(stmt.step)
        if step == 0:
            raise EmitError("the step of a loop is zero", slug="emit-loop")
        self._start, high = scalars.index(stmt.start), scalars.index(stmt.stop)
        self._stride = scalars.index(stmt.step)
        start = const_value(stmt.start)
        self._factor: str | int = self._stride if step is None else step
        self._offset: str | int = self._start if start is None else start
        self._starts_natural = scalars.is_nonnegative(self._start)
        upward = step is not None and step > 0
        self._by_iterations = not upward or not (carries or self._starts_natural)
        if self._by_iterations:
            self._count_iterations(high)
            return
        self.low, self.step = self._start, self._stride
        self.high = high if carries else scalars.clamped(high)

    def _count_iterations(self, high: str) -> None:
        scalars, body = self._scalars, self._scalars.body
        length = body.assign(f"arith.subi {high}, {self._start} : index")
        iterations = body.assign(f"arith.ceildivsi {length}, {self._stride} : index")
        self.low, self.step = body.index(0), body.index(1)
        self.high = scalars.clamped(iterations)

    def value(self, counter: str) -> str:
        """Return the loop variable's value, computed in the loop's body."""
        scalars = self._scalars
        if self._by_iterations:
            counter = scalars.sum_of_products([(counter, self._factor), (self._offset, 1)])
        elif self._starts_natural:
            scalars.set_nonnegative(counter)
        return scalars.convert(counter, DataType.INDEX, self._dtype)


def _several_tensors(what: str) -> EmitError:
    return EmitError(
        f"{what} different tensors, and the dialect has no choice between views",
        hint="store in each branch to its own tensor",
        slug="emit-tensor-merge",
    )
