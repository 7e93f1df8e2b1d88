"""Too few tasks: a kernel whose loop could be divided among several cores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pypto._src.analysis.purity import trips
from pypto._src.dtypes import DataType
from pypto._src.ir.array_types import TensorType, static_shape
from pypto._src.ir.exprs import Call, ConstInt, Expr, GlobalVar, IterArg, MakeTuple, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.opdef import op_of
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    Program,
    ReturnStmt,
    Stmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import calls_of, stmts_in, variable_names
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import ScalarType
from pypto._src.ops.tensor import view
from pypto._src.records import NamedTuple
from pypto._src.timeline.changes.change import (
    Change,
    ChangePass,
    coefficient,
    region_operands,
    scalar_values,
    tensor_origins,
)

_MOST_TRIED: Final = 3


class _Cut(NamedTuple):
    """How the iterations of a kernel's loop can be divided."""

    loop: ForStmt
    dims: Mapping[int, int]  # by parameter, the dimension that is divided among the tasks
    size: int  # of that dimension: where the loop ends


def changes(kernel: Function, tasks: int, cores: int) -> Iterator[Change]:
    """Yield numbers of parts that keep more of the cores busy, if the loop can be divided."""
    if tasks >= cores:
        return
    cut = _cut(kernel)
    if cut is None:
        return
    count = trips(cut.loop)
    assert count is not None
    wanted = cores // tasks
    fitting = [parts for parts in range(count, 1, -1) if count % parts == 0]
    fitting.sort(key=lambda parts: abs(parts - wanted))
    for parts in fitting[:_MOST_TRIED]:
        yield Change(
            "too few tasks",
            kernel.name,
            (cut.loop.span, kernel.span),
            f"{tasks} of {cores} cores have work",
            f"{parts} times as many tasks: a loop to {cut.size // parts} in place of {cut.size} in "
            f"each, which gets its part of {_names(kernel, cut)}",
            (MoreTasks(kernel.name, parts),),
            is_divided=True,
            subject=("tasks", kernel.name),
        )


def _names(kernel: Function, cut: _Cut) -> str:
    return ", ".join(kernel.params[index].name for index in cut.dims)


class MoreTasks(ChangePass):
    """``k(x)``  ->  ``for p in range(parts): k(part of x)``, with a shorter loop in k."""

    def __init__(self, kernel: str, parts: int) -> None:
        super().__init__(kernel)
        self.parts = parts

    def run(self, program: Program) -> Program:
        """Return the program with several tasks in place of one."""
        kernel = program.get_function(self.kernel)
        cut = None if kernel is None else _cut(kernel)
        if kernel is None or cut is None:
            return program
        part = cut.size // self.parts
        shorter = _shorter(kernel, cut, part)
        return program.with_functions(
            [
                shorter if f is kernel else _Launches(f, kernel, shorter, cut, part).function(f)
                for f in program.functions_
            ]
        )


def _cut(kernel: Function) -> _Cut | None:
    """Return how a kernel's iterations can be divided, None if they may depend on each other.

    The kernel is one loop from 0 to N. Each iteration accesses either its own part of a parameter,
    no longer than the step, in a dimension of size N, or only reads the parameter.
    """
    body = [s for s in statements(kernel.body) if not isinstance(s, ReturnStmt)]
    loops = [stmt for stmt in body if isinstance(stmt, ForStmt)]
    if len(loops) != 1 or not isinstance(body[-1], ForStmt) or len(kernel.return_types) > 1:
        return None
    [loop] = loops
    if not (isinstance(loop.stop, ConstInt) and isinstance(loop.step, ConstInt)):
        return None
    if not isinstance(loop.start, ConstInt) or loop.start.value != 0 or trips(loop) is None:
        return None
    if any(not isinstance(arg.type, TensorType) for arg in loop.iter_args):
        return None
    if loop.stop.value % loop.step.value:
        return None
    origins = tensor_origins(kernel)
    values = scalar_values(kernel.body)
    dims: dict[int, int | None] = {}
    written: set[int] = set()
    for stmt in stmts_in(kernel.body):
        for call in calls_of(stmt):
            op = op_of(call)
            if op is None:
                return None
            for index, arg in enumerate(call.args):
                if isinstance(arg, Var) and isinstance(arg.type, TensorType):
                    param = origins.get(arg)
                    dim = _own_part(call, loop, values)
                    if param is None or dim is None:
                        return None
                    if dims.setdefault(param, dim) != dim:
                        return None
                    if index in op.writes:
                        written.add(param)
    owned = {param: dim for param, dim in dims.items() if dim is not None and dim >= 0}
    if not owned or not written <= owned.keys():
        return None
    for param, dim in owned.items():
        kind = kernel.params[param].type
        assert isinstance(kind, TensorType)
        shape = static_shape(kind)
        if shape is None or shape[dim] != loop.stop.value or kind.tensor_view is not None:
            return None
    return _Cut(loop, dict(sorted(owned.items())), loop.stop.value)


def _own_part(call: Call, loop: ForStmt, values: Mapping[Var, Expr]) -> int | None:
    """Return the dimension in which an access is its own iteration's part, -1 if in none.

    None if the accesses of two iterations may overlap.
    """
    at = region_operands(call)
    if at is None:
        return None
    offsets, shapes = call.args[at[0]], call.args[at[1]]
    if not (isinstance(offsets, MakeTuple) and isinstance(shapes, MakeTuple)):
        return None
    assert isinstance(loop.step, ConstInt)
    found = -1
    for dim, (offset, size) in enumerate(zip(offsets.elements, shapes.elements, strict=False)):
        times = coefficient(offset, loop.loop_var, values)
        if times == 0:
            continue
        if offset is not loop.loop_var or not isinstance(size, ConstInt) or found >= 0:
            return None
        if size.value > loop.step.value:
            return None
        found = dim
    return found


def _shorter(kernel: Function, cut: _Cut, part: int) -> Function:
    """Return the kernel for parts of its parameters."""
    retype = _Retype(cut.loop, part)
    params: list[Var] = []
    for index, param in enumerate(kernel.params):
        new = param
        if index in cut.dims:
            new = copy_with(param, {"type": _part_type(param, cut.dims[index], part)})
            retype.new[param] = new
        params.append(new)
    body = retype.body(kernel.body)
    results = [
        value.type
        for stmt in statements(body)
        if isinstance(stmt, ReturnStmt)
        for value in stmt.value
    ]
    return kernel.with_body(body, params=params, return_types=results)


def _part_type(param: Var, dim: int, part: int) -> TensorType:
    kind = param.type
    assert isinstance(kind, TensorType)
    shape: list[Any] = list(kind.shape)
    shape[dim] = part
    return TensorType(shape, kind.dtype)


class _Retype(Mutator):
    """Gives the tensors of a kernel the types of their parts, and shortens its loop."""

    def __init__(self, loop: ForStmt, part: int) -> None:
        super().__init__()
        self._loop = loop
        self._part = part
        self.new: dict[Var, Var] = {}

    def visit_Var(self, var: Var) -> Expr:
        return self.new.get(var, var)

    def visit_Call(self, call: Call) -> Expr:
        new: Call = self.rebuild(call)
        op = op_of(call)
        if new is call or op is None or not isinstance(call.type, TensorType):
            return new
        return op.call(new.args, new.kwargs, new.span)

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt:
        value = self.visit(stmt.value)
        if value is stmt.value:
            return stmt
        return AssignStmt(self._typed(stmt.var, value), value, stmt.span)

    def visit_ForStmt(self, stmt: ForStmt) -> Stmt:
        args: list[IterArg] = []
        for arg in stmt.iter_args:
            init = self.visit(arg.initValue)
            new = copy_with(arg, {"initValue": init, "type": init.type})
            self.new[arg] = new
            args.append(new)
        body = self.body(stmt.body)
        results = [self._typed(var, arg) for var, arg in zip(stmt.return_vars, args, strict=True)]
        changes: dict[str, Any] = {
            "iter_args": tuple(args),
            "body": body,
            "return_vars": tuple(results),
        }
        if stmt is self._loop:
            changes["stop"] = ConstInt(self._part, DataType.INDEX, stmt.stop.span)
        return copy_with(stmt, changes)

    def _typed(self, var: Var, value: Expr) -> Var:
        if isinstance(var.type, TensorType):
            self.new[var] = copy_with(var, {"type": value.type})
        return self.new.get(var, var)


class _Launches(Mutator):
    """Replaces each launch by a loop of launches."""

    def __init__(
        self, function: Function, kernel: Function, shorter: Function, cut: _Cut, part: int
    ) -> None:
        super().__init__()
        self._function = function
        self._kernel = kernel
        self._shorter = shorter
        self._cut = cut
        self._part = part
        self._names = FreshNames(variable_names(function))

    def visit_AssignStmt(self, stmt: AssignStmt) -> Stmt | list[Stmt]:
        call = stmt.value
        if not self._is_launch(call):
            return stmt
        origins = tensor_origins(self._kernel)
        returned = [
            origins.get(value)
            for each in statements(self._kernel.body)
            if isinstance(each, ReturnStmt)
            for value in each.value
            if isinstance(value, Var)
        ]
        assert isinstance(call, Call)
        if len(returned) != 1 or returned[0] is None:
            return stmt
        return [self._loop(call), AssignStmt(stmt.var, call.args[returned[0]], stmt.span)]

    def visit_EvalStmt(self, stmt: EvalStmt) -> Stmt:
        call = stmt.expr
        if not self._is_launch(call):
            return stmt
        assert isinstance(call, Call)
        return self._loop(call)

    def _is_launch(self, expr: Expr) -> bool:
        if not (isinstance(expr, Call) and isinstance(expr.op, GlobalVar)):
            return False
        return expr.op.name == self._kernel.name

    def _loop(self, call: Call) -> Stmt:
        span = call.span
        first = Var(self._names.like("first"), ScalarType(DataType.INDEX), span)
        body: list[Stmt] = []
        args = list(call.args)
        for index, dim in self._cut.dims.items():
            whole = args[index]
            kind = whole.type
            assert isinstance(kind, TensorType)
            shape: list[Any] = list(kind.shape)
            shape[dim] = self._part
            offsets: list[Any] = [0] * len(shape)
            offsets[dim] = first
            value: Any = view.build((whole, shape, offsets), {}, span)
            name = self._names.like(f"{self._kernel.params[index].name}_part")
            var = Var(name, value.type, span)
            body.append(AssignStmt(var, value, span))
            args[index] = var
        results = self._shorter.return_types
        kind = results[0] if results else call.type
        launch = Call(call.op, args, call.kwargs, kind, span)
        if results:
            body.append(AssignStmt(Var(self._names.like("done"), kind, span), launch, span))
        else:
            body.append(EvalStmt(launch, span))
        return ForStmt(first, 0, self._cut.size, self._part, (), seq(body, span), (), span)
