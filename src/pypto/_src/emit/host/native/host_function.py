"""One host function as a C++ function, in a file for the task runtime on this machine.

Tensors are C++ objects that branches and loops may exchange, the host reads what tasks write, host
functions call each other, sizes may be known at run time only, and ops on whole tensors go back to
Python. Knows nothing of how the runtime enters the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.names import RESERVED
from pypto._src.emit.cpp.scalar_exprs import loop_test
from pypto._src.emit.host.native.scalar_exprs import (
    HostScalars,
    element_text,
    from_word,
    host_type,
    to_word,
)
from pypto._src.emit.host.native.types import (
    Value,
    check_rank,
    element_dtype,
    items_of,
    leaf_types,
    leaves_of,
    value_type,
    wanted_text,
)
from pypto._src.emit.host.runtime_api import MAKE_PARAM, WORDS, WORKERS, assign_together
from pypto._src.emit.host.statement_kinds import write_statements
from pypto._src.emit.writer import CodeEmitter, Names, comment_text, source_comment, string_literal
from pypto._src.errors import EmitError
from pypto._src.ir.array_types import TensorType, dtype_of
from pypto._src.ir.enums import ForKind, ParamDirection
from pypto._src.ir.exprs import (
    Call,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    Var,
    const_value,
)
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.roles import Role, native_core_type, role
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    Stmt,
    WhileStmt,
    yielded,
)
from pypto._src.ir.text.printer import python_print
from pypto._src.ir.traversal.symbolic_dims import dependent_dims, dimension_vars, solved_dims
from pypto._src.ir.traversal.walk import children
from pypto._src.ir.types import ScalarType, TupleType, Type
from pypto._src.ops import tensor as tensor_ops

TAKEN: Final = RESERVED | WORDS | {"line", "pto2", "std"}
"""Names that no variable of a host function may have."""


class HostFile:
    """What the functions of one file share: its lines, the numbers of kernels and ops, names."""

    def __init__(
        self,
        program: Program,
        results: Mapping[str, Sequence[int]],
        only_written: Mapping[str, Sequence[int]],
    ) -> None:
        self.program = program
        self.kernel_results = results
        self.only_written = only_written
        self.names = Names(TAKEN)
        self.kernels: dict[str, int] = {}
        self.ops: list[Call] = []
        self.out = CodeEmitter()
        self.spans: list[Span] = []
        self.span = UNKNOWN_SPAN
        self.tasks = 0
        self.functions: dict[str, str] = {}

    def line(self, text: str = "") -> None:
        """Append one line, which belongs to the user's statement at `span`."""
        self.out.emit_line(text)
        self.spans.append(self.span)


class HostFunction:
    """One host function as a C++ function; results go to its last parameters."""

    def __init__(self, file: HostFile, function: Function) -> None:
        self.file = file
        self.function = function
        self.names = Names(TAKEN | {"entry", *file.functions.values()})
        self.scalars = HostScalars(self._leaf)
        self.tuples: dict[Var, tuple[Value, ...]] = {}
        self.comment: str | None = None
        self.results: list[str] = []
        self.launches: list[dict[Call, str]] = [{}]
        """For each enclosing loop, the names of the launches that its tasks belong to."""

    def line(self, text: str = "") -> None:
        self.file.line(text)

    def write(self) -> None:
        self.file.span = self.function.span
        params = ["int line", "PTO2Runtime* rt"]  # the line of the call
        for param in self.function.params:
            params += self._parameter(param)
        for index, kind in enumerate(leaf_types(self.function.return_types)):
            name = self.names.fresh(f"result_{index}")
            self.results.append(name)
            params.append(f"{value_type(kind)}& {name}")
        own = self.file.functions[self.function.name]
        self.line(f"static void {own}({', '.join(params)})")
        self.line("{")
        self.file.out.increase_indent()
        self.line("(void)line, (void)rt;")
        self._dimensions()
        write_statements(self, self.function.body)
        self.file.out.decrease_indent()
        self.line("}")

    def _parameter(self, param: Var) -> list[str]:
        """Return the C++ parameters for a parameter: one, or one for each number of a tuple."""
        kinds = leaf_types([param.type])
        if isinstance(param.type, TupleType):
            names = [self.names.fresh(f"{param.name}_{index}") for index in range(len(kinds))]
            self.tuples[param] = items_of(param.type, iter(names))
        else:
            names = [self.names.register(param)]
        found: list[str] = []
        for name, kind in zip(names, map(value_type, kinds), strict=True):
            passed = f"const Tensor& {name}"
            found.append(passed if kind == "Tensor" else f"[[maybe_unused]] {kind} {name}")
        return found

    def _dimensions(self) -> None:
        """Check the shapes of tensors, and give names to their sizes."""
        for param in self.function.params:
            if not isinstance(param.type, TensorType):
                continue
            shape = param.type.shape
            name = self.name(param)
            sizes = [self._wanted(dim) for dim in shape]
            wanted = f"{string_literal(param.name)}, {wanted_text(param.type)}, line"
            dtype = f"DataType::{element_dtype(param.type.dtype)}"
            self.line(f"pto2_rt_check(rt, {name}, {dtype}, {{{', '.join(sizes)}}}, {wanted});")
            for axis, dim in enumerate(shape):
                if isinstance(dim, Var):
                    self._dimension(dim, name, axis)
        args = ["" if p in self.tuples else self.name(p) for p in self.function.params]
        values = self._dependent_sizes(self.function, args, "line")
        for row in solved_dims(self.function):
            self.names.register(row.var, values[row.var])

    def _dependent_sizes(
        self, function: Function, args: Sequence[str], line: str
    ) -> dict[Var, str]:
        """Check the sizes in a call of ``function`` that other arguments determine.

        Returns:
            The texts of numbers and sizes; sizes to be solved for are computed here.
        """
        values: dict[Var, str] = {}
        for param, text in zip(function.params, args, strict=True):
            if isinstance(param.type, TensorType):
                for axis, dim in enumerate(param.type.shape):
                    if isinstance(dim, Var):
                        values.setdefault(dim, f"{text}.shapes[{axis}]")
        values |= zip(function.params, args, strict=True)  # numbers, before what follows from them
        scalars = HostScalars(lambda expr: _size_text(function, values, expr), line)
        for row in solved_dims(function):
            param, tensor = function.params[row.param], args[row.param]
            values[row.size] = f"{tensor}.shapes[{row.axis}]"
            name = values[row.var] = self.names.fresh(row.var.name)
            assert isinstance(param.type, TensorType)
            wanted = f"{tensor}, {string_literal(param.name)}, {wanted_text(param.type)}, {line}"
            size = f"pto2_rt_solved(rt, {scalars.text(row.value)}, {wanted})"
            self.line(f"const int64_t {name} = {size};")
            self.line(f"(void){name};")
        dependent = {(index, axis): dim for index, axis, dim in dependent_dims(function)}
        for index in dict.fromkeys(index for index, _ in dependent):
            param, text = function.params[index], args[index]
            kind = param.type
            assert isinstance(kind, TensorType)
            sizes = [
                f"pto2_rt_dependent({scalars.text(dependent[index, axis])})"
                if (index, axis) in dependent
                else "-1"
                for axis in range(len(kind.shape))
            ]
            wanted = f"{string_literal(param.name)}, {wanted_text(kind)}, {line}"
            dtype = f"DataType::{element_dtype(kind.dtype)}"
            self.line(f"pto2_rt_check(rt, {text}, {dtype}, {{{', '.join(sizes)}}}, {wanted});")
        return values

    def _dimension(self, dim: Var, tensor: str, axis: int) -> None:
        if self.names.get(dim) is None:
            self.line(f"const int64_t {self.names.register(dim)} = {tensor}.shapes[{axis}];")
            self.line(f"(void){self.name(dim)};")

    def _wanted(self, dim: Expr) -> str:
        if isinstance(dim, ConstInt):
            return str(dim.value)
        known = self.names.get(dim) if isinstance(dim, Var) else None
        return f"static_cast<int64_t>({known})" if known is not None else "-1"

    # ----- names and values -----------------------------------------------------------------

    def name(self, var: Var) -> str:
        """Return the C++ name of a tensor or scalar."""
        name = self.names.get(var)
        if name is None:
            raise EmitError(f"the value of {var.name!r} is not known on the host", var.span)
        return name

    def value(self, expr: Expr) -> str:
        """Return the text of a scalar, or the name of a tensor."""
        if isinstance(expr.type, TensorType):
            if isinstance(expr, Var | TupleGetItemExpr):
                return self._leaf(expr)
            raise EmitError("this tensor has no name", expr.span)
        return self.scalars.text(expr)

    def _leaf(self, expr: Var | TupleGetItemExpr) -> str:
        if isinstance(expr, Var):
            return self.name(expr)
        found = self._items(expr.tuple)[expr.index]
        assert isinstance(found, str)
        return found

    def _items(self, expr: Expr) -> tuple[Value, ...]:
        """Return the elements of a tuple."""
        if isinstance(expr, Var) and expr in self.tuples:
            return self.tuples[expr]
        if isinstance(expr, MakeTuple):
            return tuple([self._value(item) for item in expr.elements])
        if isinstance(expr, TupleGetItemExpr):
            found = self._items(expr.tuple)[expr.index]
            assert not isinstance(found, str)
            return found
        raise EmitError("this tuple is not the result of a call", expr.span)

    def _value(self, expr: Expr) -> Value:
        return self._items(expr) if isinstance(expr.type, TupleType) else self.value(expr)

    def _leaves(self, values: Sequence[Expr]) -> list[str]:
        """Return the texts of values, with tuples flattened."""
        return [text for value in values for text in leaves_of(self._value(value))]

    def _sizes(self, expr: Expr) -> tuple[list[str], int]:
        assert isinstance(expr, MakeTuple)
        check_rank(len(expr.elements))
        texts: list[str] = []
        for item in expr.elements:
            known = const_value(item)
            negative = known is not None and known < 0
            text = self.scalars.text(item)
            plain = known is not None and not negative
            texts.append(text if plain else f"static_cast<uint64_t>({text})")
        return texts, len(texts)

    def _indices(self, expr: Expr) -> list[str]:
        assert isinstance(expr, MakeTuple)
        texts = [(item, self.scalars.text(item)) for item in expr.elements]
        return [
            text if const_value(item) is not None else f"static_cast<int64_t>({text})"
            for item, text in texts
        ]

    # ----- statements -----------------------------------------------------------------------

    def begin(self, stmt: Stmt) -> None:
        """Attribute the lines that follow to a statement."""
        self.file.span = stmt.span

    def evaluate(self, stmt: EvalStmt) -> None:
        """Write a call whose results have no name."""
        self._say(stmt)
        if isinstance(stmt.expr, Call):
            self._call(None, stmt.expr)

    def refuse(self, what: str) -> NoReturn:
        """Reject a jump."""
        raise EmitError(f"a host function has no {what} after the passes")

    def _say(self, stmt: Stmt) -> None:
        text = source_comment(stmt.span)
        if text is not None and text != self.comment:
            self.line(f"// {text}")
            self.comment = text

    def finish(self, stmt: ReturnStmt) -> None:
        """Write the results to their output parameters."""
        self._say(stmt)
        for name, text in zip(self.results, self._leaves(stmt.value), strict=True):
            self.line(f"{name} = {text};")

    def assign(self, stmt: AssignStmt) -> None:
        """Write an assignment, or give a tensor another name."""
        self._say(stmt)
        var, value = stmt.var, stmt.value
        if isinstance(value, Call):
            self._call(var, value)
        elif isinstance(var.type, TupleType):
            self.tuples[var] = self._items(value)
        elif isinstance(var.type, TensorType):
            self.names.register(var, self.value(value))  # another name of the same tensor
        else:
            self._declare(var, self.value(value))

    def _declare(self, var: Var, text: str) -> None:
        self.line(f"{value_type(var.type)} {self.names.register(var)} = {text};")
        self.line(f"(void){self.name(var)};")

    # ----- calls ----------------------------------------------------------------------------

    def _call(self, var: Var | None, call: Call) -> None:
        if call.span is not UNKNOWN_SPAN:
            self.file.span = call.span
        if isinstance(call.op, GlobalVar):
            self._function(var, call)
            return
        op = op_of(call)
        if op is tensor_ops.create:
            self._create(var, call)
        elif op is tensor_ops.view:
            source = self.value(call.args[0])
            (shape, _), (offset, _) = self._sizes(call.args[1]), self._sizes(call.args[2])
            parts = f"{{{', '.join(shape)}}}, {{{', '.join(offset)}}}"
            self._keep(var, f"{source}.view({parts})")
        elif op is tensor_ops.read:
            at = ", ".join(self._indices(call.args[1]))
            arguments = f"rt, {self.value(call.args[0])}, {{{at}}}"
            self._keep(var, element_text(dtype_of(call), arguments))
        elif op is tensor_ops.dim:
            axis = const_value(call.args[1])
            assert axis is not None
            kind = call.args[0].type
            assert isinstance(kind, TensorType)
            self._keep(var, f"{self.value(call.args[0])}.dim({axis % len(kind.shape)})")
        elif op is not None and op.numpy is not None:
            self._in_python(var, call, op)
        else:
            raise EmitError(f"{call.op.name} has no meaning on arrays", slug="emit-op")

    def _keep(self, var: Var | None, text: str) -> None:
        if var is None:
            self.line(f"(void){text};")
        elif isinstance(var.type, TensorType):
            self.line(f"Tensor {self.names.register(var)} = {text};")
        else:
            self._declare(var, text)

    def _create(self, var: Var | None, call: Call) -> None:
        shape, rank = self._sizes(call.args[0])
        assert isinstance(call.type, TensorType)
        dtype = f"DataType::{element_dtype(call.type.dtype)}"
        name = self.names.fresh(f"{'made' if var is None else var.name}_shapes")
        values = ", ".join(shape) or "0"
        self.line(f"uint64_t {name}[{max(rank, 1)}] = {{{values}}};")
        self._keep(var, f"make_tensor({name}, {rank}, {dtype})")

    def _function(self, var: Var | None, call: Call) -> None:
        callee = self.file.program.get_function(call.op.name)
        if callee is None:
            raise EmitError(f"the program has no function {call.op.name!r}")
        if role(callee) is Role.KERNEL:
            self._name_results(var, self._task(call, callee))
            return
        kinds = leaf_types(callee.return_types)
        results = [self.names.fresh(f"{callee.name}_{index}") for index in range(len(kinds))]
        for name, kind in zip(results, kinds, strict=True):
            self.line(f"{value_type(kind)} {name}{{}};")
        args = ["__LINE__", "rt", *self._leaves(call.args), *results]
        self.line(f"{self.file.functions[callee.name]}({', '.join(args)});")
        self._name_results(var, results)

    def _name_results(self, var: Var | None, results: Sequence[str]) -> None:
        if var is None:
            return
        if isinstance(var.type, TupleType):
            self.tuples[var] = items_of(var.type, iter(results))
        elif results:
            self.names.register(var, results[0])

    def _task(self, call: Call, callee: Function) -> list[str]:
        """Write a task; return the tensors that are the call's results."""
        number = self.file.kernels.setdefault(callee.name, len(self.file.kernels))
        worker = WORKERS[native_core_type(callee)]
        params = self.names.fresh(f"params_t{self.file.tasks}")
        self.line(f"// Task {self.file.tasks}: {comment_text(callee.name)}")
        self.file.tasks += 1
        launch = self.launches[-1].get(call)
        parts = self.file.only_written.get(callee.name, ()) if launch is not None else ()
        entries = [
            self._param(arg, param.type, direction, launch if index in parts else None)
            for index, (arg, param, direction) in enumerate(
                zip(call.args, callee.params, callee.param_directions, strict=True)
            )
        ]
        if dependent_dims(callee):
            args = [f"({self.value(arg)})" for arg in call.args]
            values = self._dependent_sizes(callee, args, "__LINE__")
            solved = {row.var for row in solved_dims(callee)}
            entries += [
                f"make_scalar_param({to_word(DataType.INDEX, values[var])})"
                for var in dimension_vars(callee)
                if var in solved
            ]
        self._params(params, entries)
        self.line(f"pto2_rt_submit_task(rt, {number}, {worker}, {params}, {len(entries)});")
        return [self.value(call.args[i]) for i in self.file.kernel_results[callee.name]]

    def _params(self, name: str, entries: Sequence[str]) -> None:
        if not entries:
            self.line(f"PTOParam* {name} = nullptr;")
            return
        self.line(f"PTOParam {name}[] = {{")
        for entry in entries:
            self.line(f"    {entry},")
        self.line("};")

    def _param(
        self, arg: Expr, wanted: Type, direction: ParamDirection, launch: str | None = None
    ) -> str:
        text = self.value(arg)
        if isinstance(arg.type, TensorType):
            if direction is ParamDirection.Out and launch is not None:
                text += f", {launch}"
            return f"{MAKE_PARAM[direction]}({text})"
        if isinstance(wanted, ScalarType) and wanted.dtype is not dtype_of(arg):
            text = f"pto2::cast<{host_type(wanted.dtype)}>({text})"
        dtype = wanted.dtype if isinstance(wanted, ScalarType) else dtype_of(arg)
        return f"make_scalar_param({to_word(dtype, text)})"

    def _in_python(self, var: Var | None, call: Call, op: OpDef[..., object]) -> None:
        """Write an op that Python evaluates on arrays: its operands, with tuples flattened."""
        if op.view_of is not None:
            raise EmitError(f"{op.name} is a view that the runtime does not have", slug="emit-op")
        entries: list[str] = []
        for index, arg in enumerate(call.args):
            direction = ParamDirection.InOut if index in op.writes else ParamDirection.In
            items = arg.elements if isinstance(arg, MakeTuple) else (arg,)
            entries += [self._param(item, item.type, direction) for item in items]
        number = len(self.file.ops)
        self.file.ops.append(call)
        params = self.names.fresh(f"params_op{number}")
        self._params(params, entries)
        arguments = f"rt, {number}, {params}, {len(entries)}"
        target = min(op.writes, default=None)
        if target is not None:
            self.line(f"pto2_rt_scalar_op({arguments});")
            if var is not None:
                self.names.register(var, self.value(call.args[target]))
        elif isinstance(call.type, TensorType):
            check_rank(len(call.type.shape))
            self._keep(var, f"pto2_rt_tensor_op({arguments})")
        elif isinstance(call.type, ScalarType):
            self._keep(var, from_word(call.type.dtype, f"pto2_rt_scalar_op({arguments})"))
        else:
            raise EmitError(f"{op.name} has a result that the host cannot hold", slug="emit-op")

    # ----- control flow ---------------------------------------------------------------------

    def counted(self, stmt: ForStmt) -> None:
        """Write a counted loop."""
        self._say(stmt)
        self.launches.append(self._begin_launches(stmt))
        self._enter(stmt.iter_args)
        name = self.names.register(stmt.loop_var)
        bounds: list[str] = []
        for part, expr in (("start", stmt.start), ("stop", stmt.stop), ("step", stmt.step)):
            bounds.append(self.names.fresh(f"{name}_{part}"))
            self.line(f"const int64_t {bounds[-1]} = {self.scalars.text(expr)};")
        start, stop, step = bounds
        known = const_value(stmt.step)
        if known is None:
            self.line(
                f'if ({step} == 0) pto2_fail(__LINE__, "loop-step", "the step of a loop is zero");'
            )
        test = loop_test(name, stop, step, known)
        kind = host_type(dtype_of(stmt.loop_var))
        self._block(
            f"for ({kind} {name} = {start}; {test}; {name} += {step})", stmt.body, stmt.iter_args
        )
        self._leave(stmt.iter_args, stmt.return_vars)
        self.launches.pop()

    def _begin_launches(self, stmt: ForStmt) -> dict[Call, str]:
        """Begin the launches of a parallel loop: one for each call in it that makes tasks.

        Calls inside a nested sequential loop belong to none, as its iterations keep their order.
        """
        if stmt.kind is not ForKind.Parallel:
            return {}
        if self.launches[-1]:
            return self.launches[-1]  # of the parallel loop around this one
        found: dict[Call, str] = {}
        for call in calls_in_parallel(stmt):
            if self.file.only_written.get(call.op.name):
                name = found[call] = self.names.fresh("launch")
                self.line(f"const uint64_t {name} = pto2_rt_begin_launch(rt);")
        return found

    def conditional(self, stmt: WhileStmt) -> None:
        """Write a loop that runs while a condition holds."""
        self._say(stmt)
        self.launches.append({})
        self._enter(stmt.iter_args)
        header = f"while ({self.scalars.text(stmt.condition)})"
        self._block(header, stmt.body, stmt.iter_args)
        self._leave(stmt.iter_args, stmt.return_vars)
        self.launches.pop()

    def branch(self, stmt: IfStmt) -> None:
        """Write a branch."""
        self._say(stmt)
        for var in stmt.return_vars:
            self.line(f"{value_type(var.type)} {self.names.register(var)}{{}};")
        header = f"if ({self.scalars.text(stmt.condition)})"
        self._block(header, stmt.then_body, stmt.return_vars)
        if stmt.else_body is not None:
            self._block("else", stmt.else_body, stmt.return_vars)

    def _block(self, header: str, body: Stmt, targets: Sequence[Var]) -> None:
        """Write ``header { PTO2_SCOPE(rt) { body } }``; the body's yields go to ``targets``."""
        self.line(f"{header} {{")
        self.file.out.increase_indent()
        self.line("PTO2_SCOPE(rt) {")
        self.file.out.increase_indent()
        write_statements(self, body)
        self._yield(body, targets)
        self.file.out.decrease_indent()
        self.line("}")
        self.file.out.decrease_indent()
        self.line("}")

    def _yield(self, body: Stmt, targets: Sequence[Var]) -> None:
        values = yielded(body)
        if len(values) != len(targets):
            raise EmitError(f"{len(targets)} values are expected, the body yields {len(values)}")
        assign_together(
            [
                (value_type(target.type), self.name(target), self.value(value))
                for target, value in zip(targets, values, strict=True)
            ],
            self.names,
            self.line,
        )

    def _enter(self, iter_args: Sequence[IterArg]) -> None:
        for arg in iter_args:
            text = self.value(arg.initValue)
            self.line(f"{value_type(arg.type)} {self.names.register(arg)} = {text};")

    def _leave(self, iter_args: Sequence[IterArg], return_vars: Sequence[Var]) -> None:
        for arg, var in zip(iter_args, return_vars, strict=True):
            self.names.register(var, self.name(arg))


def calls_in_parallel(loop: ForStmt) -> Iterator[Call]:
    """Yield the function calls in a parallel loop and in parallel loops nested in it."""
    pending: list[Stmt] = [loop.body]
    while pending:
        stmt = pending.pop()
        if isinstance(stmt, ForStmt | WhileStmt):
            if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Parallel:
                pending.append(stmt.body)
            continue
        pending += [child for child in reversed([*children(stmt)]) if isinstance(child, Stmt)]
        value = stmt.value if isinstance(stmt, AssignStmt) else None
        value = stmt.expr if isinstance(stmt, EvalStmt) else value
        if isinstance(value, Call) and isinstance(value.op, GlobalVar):
            yield value


def _size_text(function: Function, values: Mapping[Var, str], expr: Expr) -> str:
    text = values.get(expr) if isinstance(expr, Var) else None
    if text is None:
        name = python_print(expr)
        raise EmitError(f"nothing determines the size {name!r} of {function.name}", expr.span)
    return text
