"""Loops and branches in the PTO dialect, and what they carry and result in.

Loops and branches carry scalars only: a carried tile is one buffer that is written in place, a
carried tensor one name. Refuses to know what the statements inside do: it is told how to write a
body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto._src.dtypes import DataType
from pypto._src.emit.pto.kernel_state import Kernel
from pypto._src.emit.pto.scalar_exprs import Scalars
from pypto._src.emit.pto.tensors import TensorName
from pypto._src.emit.pto.types import scalar_dtype
from pypto._src.emit.writer import check_carried
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import IterArg, Var, const_value
from pypto._src.ir.stmts import ForStmt, IfStmt, Stmt, WhileStmt, YieldStmt, statements, yielded
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
        self._body = kernel.body
        self._scalars = kernel.scalars
        self._tensors = kernel.tensors

    def _types(self, variables: Sequence[Var]) -> str:
        return ", ".join(map(self._scalars.type_of, variables))

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        check_carried(iter_args)
        for var in iter_args:
            if isinstance(var.type, TileType):
                self._kernel.own_buffer(var)
            elif isinstance(var.type, TensorType):
                self._tensors.names[var] = self._tensors.of(var.initValue)

    def _leave(self, iter_args: Sequence[IterArg], stmt: ForStmt | WhileStmt) -> None:
        """Let the results of a loop be what it carried."""
        for var, result, value in zip(iter_args, stmt.return_vars, yielded(stmt.body), strict=True):
            if isinstance(var.type, TileType):
                self._kernel.own_buffer(result)
            elif isinstance(var.type, TensorType):
                carried = self._tensors.of(var)
                if self._tensors.of(value) != carried:
                    raise _several_tensors(f"a loop carries {var.name!r}")
                self._tensors.names[result] = carried

    def counted(self, stmt: ForStmt) -> None:
        """Write a loop that counts."""
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        bounds = _Bounds(self._scalars, stmt, bool(carried))
        inits = [self._scalars.value_for(a, a.initValue) for a in carried]
        names = [self._body.fresh() for _ in results]
        counter = self._body.fresh()
        inside = [self._body.fresh() for _ in carried]
        head = f"scf.for {counter} = {bounds.low} to {bounds.high} step {bounds.step}"
        if carried:
            pairs = ", ".join(f"{a} = {b}" for a, b in zip(inside, inits, strict=True))
            head = f"{', '.join(names)} = {head} iter_args({pairs}) -> ({self._types(carried)})"
        self._body.emit(head + " {")
        self._scalars.names.update(zip(carried, inside, strict=True))
        with self._body.indented():
            self._scalars.begin_statement()
            self._scalars.names[stmt.loop_var] = bounds.value(counter)
            self._write(stmt.body)
            self._yield(stmt.body, carried, inside, stmt.iter_args)
        self._body.emit("}")
        self._scalars.names.update(zip(results, names, strict=True))
        self._leave(stmt.iter_args, stmt)

    def _yield(
        self,
        body: Stmt | None,
        carried: Sequence[Var],
        inside: Sequence[str],
        targets: Sequence[Var],
    ) -> None:
        """Write the scalars of a body's yield."""
        self._scalars.begin_statement()
        if not carried:
            return
        values = [
            self._scalars.value_for(target, self._kernel.item(value))
            for target, value in zip(targets, yielded(body), strict=True)
            if isinstance(target.type, ScalarType)
        ]
        values = self._scalars.handed_over(values, inside, carried)
        self._body.emit(f"scf.yield {', '.join(values)} : {self._types(carried)}")

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that goes on as long as a condition holds."""
        carried = [a for a in stmt.iter_args if isinstance(a.type, ScalarType)]
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        self._enter(stmt.iter_args)
        inits = [self._scalars.value_for(a, a.initValue) for a in carried]
        names = [self._body.fresh() for _ in results]
        before = [self._body.fresh() for _ in carried]
        after = [self._body.fresh() for _ in carried]
        types = self._types(carried)
        pairs = ", ".join(f"{a} = {b}" for a, b in zip(before, inits, strict=True))
        self._body.emit(
            f"{', '.join(names)} = scf.while ({pairs}) : ({types}) -> ({types}) {{"
            if carried
            else "scf.while : () -> () {"
        )
        self._scalars.names.update(zip(carried, before, strict=True))
        with self._body.indented():
            self._scalars.begin_statement()
            condition = self._scalars.condition(stmt.condition)
            passed = f" {', '.join(before)} : {types}" if carried else ""
            self._body.emit(f"scf.condition({condition}){passed}")
        self._body.emit("} do {")
        self._scalars.names.update(zip(carried, after, strict=True))
        if carried:
            arguments = (f"{n}: {self._types([a])}" for n, a in zip(after, carried, strict=True))
            self._body.emit(f"^bb0({', '.join(arguments)}):")
        with self._body.indented():
            self._write(stmt.body)
            self._yield(stmt.body, carried, after, stmt.iter_args)
            if not carried:
                self._body.emit("scf.yield")
        self._body.emit("}")
        self._scalars.names.update(zip(results, names, strict=True))
        self._leave(stmt.iter_args, stmt)

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        results = [v for v in stmt.return_vars if isinstance(v.type, ScalarType)]
        condition = self._scalars.condition(stmt.condition)
        names = [self._body.fresh() for _ in results]
        head = f"scf.if {condition}"
        if results:
            head = f"{', '.join(names)} = {head} -> ({self._types(results)})"
        self._body.emit(head + " {")
        tensors = self._branch(stmt.then_body, results, stmt.return_vars)
        others = tensors
        if results or any(not isinstance(s, YieldStmt) for s in statements(stmt.else_body)):
            self._body.emit("} else {")
            others = self._branch(stmt.else_body, results, stmt.return_vars)
        elif stmt.else_body is not None:
            others = self._tensor_yielded(stmt.else_body)
        self._body.emit("}")
        if tensors != others:
            raise _several_tensors("the branches hand on")
        self._scalars.names.update(zip(results, names, strict=True))
        merged = iter(tensors)
        for var in stmt.return_vars:
            if isinstance(var.type, TensorType):
                self._tensors.names[var] = next(merged)
            elif isinstance(var.type, TileType):
                self._kernel.own_buffer(var)

    def _branch(
        self, body: Stmt | None, results: Sequence[Var], targets: Sequence[Var]
    ) -> list[TensorName]:
        with self._body.indented():
            self._write(body)
            self._yield(body, results, [], targets)
        return self._tensor_yielded(body)

    def _tensor_yielded(self, body: Stmt | None) -> list[TensorName]:
        return [self._tensors.of(v) for v in yielded(body) if isinstance(v.type, TensorType)]


class _Bounds:
    """The three bounds of an scf.for that runs the iterations of a counted loop, and its counter.

    Trap: the C++ counter of a loop that carries nothing is unsigned, so with a negative bound it
    would run for ever. Such a loop, and one that counts down, counts its iterations instead.
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
        self._starts_natural = scalars.is_natural(self._start)
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
            scalars.set_natural(counter)
        return scalars.convert(counter, DataType.INDEX, self._dtype)


def _several_tensors(what: str) -> EmitError:
    return EmitError(
        f"{what} different tensors, and the dialect has no choice between views",
        hint="store in each branch to its own tensor",
        slug="emit-tensor-merge",
    )
