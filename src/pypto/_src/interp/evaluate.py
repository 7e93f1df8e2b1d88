"""Evaluates any verified IR on NumPy arrays.

A function is planned once: each statement and expression becomes a Python closure over a list of
values, one slot per variable. Tensors are the caller's arrays, written in place by store. A tile
without a memory reference is a new array; with one it is the bytes at its address (`memory`), so
that two tiles wrongly given one address overwrite each other. Nothing here knows an op by name:
what a call computes is the op's ``numpy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import DataType
from pypto._src.errors import EvaluationError, OpError, of_type
from pypto._src.interp.memory import Layout, address_of, poison
from pypto._src.interp.op_calls import Env, Eval, op_eval, operands_of
from pypto._src.interp.scalars import binary_function, unary_function, wrapper
from pypto._src.ir.array_types import TensorType, TileType, dtype_of
from pypto._src.ir.exprs import (
    And,
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    MakeTuple,
    Or,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.inspect.source_names import size_text, user_call
from pypto._src.ir.op_params import TILE
from pypto._src.ir.opdef import OpDef, op_of
from pypto._src.ir.roles import outermost, uncalled
from pypto._src.ir.stmts import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.common_parts import endless, name_shared_subexpressions
from pypto._src.ir.traversal.recursion import nesting, room
from pypto._src.ir.traversal.symbolic_dims import dependent_dims, solved_dims
from pypto._src.ir.types import ScalarType
from pypto._src.lazy import lazy_module
from pypto._src.ops.layout import tile_spaces

if TYPE_CHECKING:
    import numpy as np

    from pypto._src.interp.view_copies import ViewCopy
else:
    np = lazy_module("numpy")

Run = Callable[[Env], "str | None"]  # None to continue, else why the rest is skipped
Store = Callable[[Env, Any], None]

BREAK: Final = "break"
CONTINUE: Final = "continue"
RETURN: Final = "return"


class _Unset:
    """The value of a variable before its definition."""


UNSET: Final = _Unset()
FLAT: Final = 20  # nesting depth, as `nesting` counts it, within Python's recursion limit
RESULT: Final = 0  # the slot of the values that a function returns


def evaluate(program: Program | Function, args: Sequence[Any], *, entry: str | None = None) -> Any:
    """Evaluate a function on arguments; return its value, a tuple of several, or None.

    Tensors are NumPy arrays, which stores change in place; scalars are Python numbers. Of a
    program the function ``entry`` is called; without it the program's entry, its only function,
    or its only orchestration function that no other one calls.

    Raises:
        EvaluationError: the arguments do not fit the parameters, or the program does something
            that has no meaning, such as reading outside a tensor; has the span of the source.
    """
    evaluator = Evaluator(program)
    return evaluator.call(entry or evaluator.entry(), args)


class Evaluator:
    """Evaluates the functions of one program; plans are kept between calls."""

    is_exact: bool = False
    """Whether floats have 64 bits, whatever the program's types say."""

    def element(self, dtype: DataType) -> DataType:
        """Return the element type in which values of ``dtype`` are held."""
        return DataType.FP64 if self.is_exact and dtype.is_float() else dtype

    def __init__(self, program: Program | Function) -> None:
        self._program = program if isinstance(program, Program) else None
        functions = program.functions_ if isinstance(program, Program) else (program,)
        self._functions = {f.name: f for f in functions}
        self._depth = sum(map(nesting, functions))
        self._plans: dict[str, Plan] = {}
        self._running: list[str] = []
        self.orders: Mapping[ForStmt, Callable[[range], Sequence[int]]] = {}
        """The order in which loops run their iterations, if not ascending."""
        self.copies: list[ViewCopy] = []  # views that NumPy can only make as copies

    def entry(self) -> str:
        """Return the name of the function that is called by default.

        Raises:
            EvaluationError: there are several functions and none is marked as entry.
        """
        names = list(self._functions)
        if self._program is not None:
            if self._program.entry is not None:
                return self._program.entry
            if len(hosts := outermost(self._program)) == 1:
                return hosts[0].name
            if len(alone := uncalled(self._program)) == 1:
                return alone[0].name
        if len(names) == 1:
            return names[0]
        raise EvaluationError(
            f"the program has {len(names)} functions and none is its entry",
            hint=f"entry={names[0]!r}" if names else None,
            slug="entry",
        )

    def call(self, name: str, args: Sequence[Any]) -> Any:
        """Call function ``name``; see `evaluate`."""
        # A run changes its tensors, so it cannot be restarted after a RecursionError.
        with np.errstate(all="ignore"), room(self._depth) if self._depth > FLAT else nullcontext():
            return self.run(name, args)

    def note_view(self, view: Any, source: Any) -> None:
        """Record a view of a tensor if it had to be a copy."""
        if view.size and not np.may_share_memory(view, source):
            from pypto._src.interp.view_copies import ViewCopy

            owner = view if view.base is None else view.base
            self.copies.append(ViewCopy(owner, source))

    def update_copies(self) -> None:
        """Synchronise copies made in place of views with their sources."""
        from pypto._src.interp.view_copies import updated

        self.copies = updated(self.copies)

    def plan(self, function: Function) -> Plan:
        """Return ``function`` ready to be called."""
        return Plan(function, self)

    def run(self, name: str, args: Sequence[Any], span: Span = UNKNOWN_SPAN) -> Any:
        """Call function ``name`` from a call at ``span``."""
        function = self._functions.get(name)
        if function is None:
            raise EvaluationError(
                f"the program has no function {name!r}",
                hint=f"it has {', '.join(self._functions)}",
                slug="entry",
            )
        if name in self._running:
            circle = [*self._running[self._running.index(name) :], name]
            raise EvaluationError(
                f"{name!r} calls itself: {' -> '.join(circle)}",
                hint="write a loop",
                slug="recursion",
            )
        plan = self._plans.get(name)
        if plan is None:
            plan = self._plans[name] = self.plan(function)
        self._running.append(name)
        try:
            return plan.call(args)
        finally:
            self._running.pop()


class Plan:
    """One function as closures."""

    def __init__(self, function: Function, evaluator: Evaluator) -> None:
        self.function = function = name_shared_subexpressions(function)
        why = endless(function)
        if why is not None:
            raise EvaluationError(
                f"{function.name} is too large to compute: {why}",
                hint="give the shared parts names: assign them to variables",
                slug="too-deep",
            )
        self.evaluator = evaluator
        self.slots: dict[Var, int] = {}
        self.initial: Env = [UNSET]
        self.layout = Layout()
        self.address_at: dict[int, int] = {}  # slot of a tile to the index of its address
        self.addresses_slot = self._reserve()
        try:
            tile_spaces(function)
        except OpError as error:
            raise EvaluationError(
                error.message, error.location, error.hint, slug=error.slug
            ) from error
        self.bind = [self._binder(index, param) for index, param in enumerate(function.params)]
        self.solved = [
            (row.param, row.axis, self._slot(row.size), self._slot(row.var), self._value(row.value))
            for row in solved_dims(function)
        ]
        self.dependent = [(i, axis, self._value(dim)) for i, axis, dim in dependent_dims(function)]
        self.body = self._body(function.body, ())

    # ---------------------------------------------------------------------------------------
    # Calling
    # ---------------------------------------------------------------------------------------

    def call(self, args: Sequence[Any]) -> Any:
        """Call the function."""
        params = self.function.params
        if len(args) != len(params):
            raise EvaluationError(
                f"{self.function.name!r} takes {len(params)} arguments "
                f"({', '.join(p.name for p in params)}), got {len(args)}",
                slug="argument",
            )
        env = self.initial.copy()
        if self.layout.addresses:
            env[self.addresses_slot] = self.layout.fresh()
        for bind, value in zip(self.bind, args, strict=True):
            bind(env, value)
        for index, axis, size_slot, slot, solve in self.solved:
            env[size_slot] = args[index].shape[axis]
            env[slot] = solved = solve(env)
            if solved < 0:
                raise self._misfit(params[index], args[index])
        for index, axis, size in self.dependent:
            if args[index].shape[axis] != size(env):
                raise self._misfit(params[index], args[index])
        self.body(env)
        values = env[RESULT]
        if values is UNSET or not values:
            return None
        return values[0] if len(values) == 1 else values

    def _binder(self, index: int, param: Var) -> Store:
        match param.type:
            case TensorType():
                return self._tensor_binder(param, param.type)
            case ScalarType():
                return self._scalar_binder(param, param.type)
            case TileType():
                return self._store(param)
            case _:
                slot = self._slot(param)

                def bind(env: Env, value: Any) -> None:
                    env[slot] = value

                return bind

    def _scalar_binder(self, param: Var, kind: ScalarType) -> Store:
        slot, wrap = self._slot(param), wrapper(self.evaluator.element(kind.dtype))

        def bind(env: Env, value: Any) -> None:
            item: Any = value.item() if hasattr(value, "item") and not _shape(value) else value
            whole = not isinstance(item, float) or kind.dtype.is_float()
            if not isinstance(item, int | float) or not whole:
                raise EvaluationError(
                    f"argument {param.name!r} is {item!r}, Scalar[{kind.dtype.member}] was wanted",
                    slug="argument",
                )
            number = wrap(item)
            # A dimension of a tensor may already have bound the same variable.
            known = env[slot]
            if known is not UNSET and known != number:
                raise EvaluationError(
                    f"argument {param.name!r} is {number}, a dimension of a tensor is {known}",
                    slug="argument",
                )
            env[slot] = number

        return bind

    def _misfit(self, param: Var, value: Any) -> EvaluationError:
        kind = param.type
        assert isinstance(kind, TensorType)
        wanted = f"Tensor[[{', '.join(map(size_text, kind.shape))}], {kind.dtype.member}]"
        return EvaluationError(
            f"argument {param.name!r} is an array {list(value.shape)} of {value.dtype}, "
            f"{wanted} was wanted",
            slug="argument",
        )

    def _tensor_binder(self, param: Var, kind: TensorType) -> Store:
        slot, dtype = self._slot(param), self.evaluator.element(kind.dtype).numpy
        checks: list[Callable[[Env, int], bool]] = [self._dimension(dim) for dim in kind.shape]
        wanted = f"Tensor[[{', '.join(map(size_text, kind.shape))}], {kind.dtype.member}]"

        def bind(env: Env, value: Any) -> None:
            array: Any = value
            if not isinstance(value, np.ndarray):
                raise EvaluationError(
                    f"argument {param.name!r} is {of_type(value)}, {wanted} was wanted",
                    slug="argument",
                )
            shape = array.shape
            fits = array.dtype == dtype and len(shape) == len(checks)
            if not fits or not all(c(env, n) for c, n in zip(checks, shape, strict=True)):
                raise self._misfit(param, array)
            env[slot] = array

        return bind

    def _dimension(self, dim: Expr) -> Callable[[Env, int], bool]:
        """Return a check of one dimension, which binds a variable that has no value yet."""
        if isinstance(dim, ConstInt):
            size = dim.value
            return lambda _env, found: size in (found, -1)
        if not isinstance(dim, Var):
            return lambda _env, _found: True
        slot = self._slot(dim)

        def check(env: Env, found: int) -> bool:
            if env[slot] is UNSET:
                env[slot] = found
            return env[slot] == found

        return check

    # ---------------------------------------------------------------------------------------
    # Variables
    # ---------------------------------------------------------------------------------------

    def _reserve(self) -> int:
        self.initial.append(UNSET)
        return len(self.initial) - 1

    def _slot(self, var: Var) -> int:
        slot = self.slots.get(var)
        if slot is None:
            slot = self.slots[var] = self._reserve()
            if isinstance(var.type, TileType):
                number = self._address(var)
                if number is not None:
                    self.address_at[slot] = number
        return slot

    def _address(self, var: Var) -> int | None:
        assert isinstance(var.type, TileType)
        try:
            address = address_of(var.type)
        except EvaluationError as error:
            raise error.at(var.span) from None
        return None if address is None else self.layout.index(address)

    def _store(self, var: Var) -> Store:
        """Return the function that assigns a variable."""
        slot = self._slot(var)
        number = self.address_at.get(slot)
        if number is None:

            def assign(env: Env, value: Any) -> None:
                env[slot] = value

            return assign
        addresses_slot = self.addresses_slot

        def write(env: Env, value: Any) -> None:
            tile = env[addresses_slot][number]
            if value is not tile:
                tile[...] = value
            env[slot] = tile

        return write

    # ---------------------------------------------------------------------------------------
    # Statements
    # ---------------------------------------------------------------------------------------

    def _body(self, body: Stmt | None, targets: Sequence[Var]) -> Run:
        """Plan statements in order; a yield among them goes to ``targets``."""
        runs = [self._statement(stmt, targets) for stmt in statements(body)]
        if len(runs) == 1:
            return runs[0]

        def run(env: Env) -> str | None:
            for each in runs:
                signal = each(env)
                if signal is not None:
                    return signal
            return None

        return run

    def _statement(self, stmt: Stmt, targets: Sequence[Var]) -> Run:
        match stmt:
            case AssignStmt():
                return self._assign(stmt)
            case EvalStmt():
                return self._evaluation(stmt)
            case YieldStmt():
                return self._yield(stmt, targets)
            case ReturnStmt():
                return self._return(stmt)
            case IfStmt():
                return self._if(stmt)
            case ForStmt():
                return self._for(stmt)
            case WhileStmt():
                return self._while(stmt)
            case ScopeStmt():
                return self._body(stmt.body, targets)
            case BreakStmt():
                return lambda _env: BREAK
            case ContinueStmt():
                return lambda _env: CONTINUE
            case _:
                raise EvaluationError(
                    f"the statement {type(stmt).__name__} has no meaning", stmt.span
                )

    def _assign(self, stmt: AssignStmt) -> Run:
        value, store, span = self._value(stmt.value), self._store(stmt.var), stmt.span
        slot = self._slot(stmt.var)
        op = op_of(stmt.value)
        is_view = op is not None and op.view_of is not None  # its bytes stay in place
        if is_view or _is_renaming(stmt) or slot not in self.address_at:

            def assign(env: Env) -> None:
                try:
                    env[slot] = value(env)
                except EvaluationError as error:
                    raise error.at(span) from None

            return assign

        def run(env: Env) -> None:
            try:
                store(env, value(env))
            except EvaluationError as error:
                raise error.at(span) from None

        scratch = self._scratch(stmt.value)
        return run if not scratch else _then_poison(run, scratch)

    def _scratch(self, value: Expr) -> list[int]:
        """Return the slots of tiles that a call uses as scratch: they are poisoned afterwards."""
        op = op_of(value)
        if op is None or not isinstance(value, Call):
            return []
        operands = op.operands
        return [
            self._slot(arg)
            for index, arg in enumerate(value.args)
            if index in op.writes and operands[index].kind == TILE and isinstance(arg, Var)
            if self._slot(arg) in self.address_at
        ]

    def _evaluation(self, stmt: EvalStmt) -> Run:
        return _located(self._value(stmt.expr), stmt.span)

    def _yield(self, stmt: YieldStmt, targets: Sequence[Var]) -> Run:
        return _located(self._hand_over(stmt.value, targets), stmt.span)

    def _hand_over(self, values: Sequence[Expr], targets: Sequence[Var]) -> Callable[[Env], None]:
        """Plan an assignment of several values at once: all are computed before any is stored."""
        pairs = list(zip(values, targets, strict=False))
        evals = [self._value(value) for value, _ in pairs]
        stores = [self._store(target) for _, target in pairs]
        if len(pairs) == 1:
            only, store = evals[0], stores[0]
            return lambda env: store(env, only(env))

        def run(env: Env) -> None:
            found = [each(env) for each in evals]
            for store, value in zip(stores, found, strict=True):
                store(env, value)

        return run

    def _return(self, stmt: ReturnStmt) -> Run:
        evals, span = [self._value(value) for value in stmt.value], stmt.span

        def run(env: Env) -> str:
            try:
                env[RESULT] = tuple([each(env) for each in evals])
            except EvaluationError as error:
                raise error.at(span) from None
            return RETURN

        return run

    def _if(self, stmt: IfStmt) -> Run:
        condition = self._guarded(stmt.condition, stmt.span)
        then_run = self._body(stmt.then_body, stmt.return_vars)
        else_run = self._body(stmt.else_body, stmt.return_vars)

        def run(env: Env) -> str | None:
            return then_run(env) if condition(env) else else_run(env)

        return run

    def _guarded(self, expr: Expr, span: Span) -> Eval:
        """Plan an expression of a compound statement; its errors get the statement's span."""
        value = self._value(expr)

        def guarded(env: Env) -> Any:
            try:
                return value(env)
            except EvaluationError as error:
                raise error.at(span) from None

        return guarded

    def _for(self, stmt: ForStmt) -> Run:
        span = stmt.span
        bounds = [self._guarded(e, span) for e in (stmt.start, stmt.stop, stmt.step)]
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        slot = self._slot(stmt.loop_var)
        body = self._body(stmt.body, stmt.iter_args)
        leave = self._hand_over(stmt.iter_args, stmt.return_vars)
        order = self.evaluator.orders.get(stmt)

        def run(env: Env) -> str | None:
            start, stop, step = (int(bound(env)) for bound in bounds)
            if step == 0:
                raise EvaluationError("the step of a loop is zero", slug="loop-step").at(span)
            enter(env)
            numbers = range(start, stop, step)
            for index in numbers if order is None else order(numbers):
                env[slot] = index
                signal = body(env)
                if signal is BREAK:
                    break
                if signal is RETURN:
                    return signal
            leave(env)
            return None

        return run

    def _while(self, stmt: WhileStmt) -> Run:
        enter = self._hand_over([a.initValue for a in stmt.iter_args], stmt.iter_args)
        condition = self._guarded(stmt.condition, stmt.span)
        body = self._body(stmt.body, stmt.iter_args)
        leave = self._hand_over(stmt.iter_args, stmt.return_vars)

        def run(env: Env) -> str | None:
            enter(env)
            while condition(env):
                signal = body(env)
                if signal is BREAK:
                    break
                if signal is RETURN:
                    return signal
            leave(env)
            return None

        return run

    # ---------------------------------------------------------------------------------------
    # Expressions
    # ---------------------------------------------------------------------------------------

    def _value(self, expr: Expr) -> Eval:
        match expr:
            case Var():
                return self._read(expr)
            case ConstInt() | ConstFloat():
                value = wrapper(self.evaluator.element(expr.dtype))(expr.value)
                return lambda _env: value
            case ConstBool():
                truth = expr.value
                return lambda _env: truth
            case And() | Or():
                return self._short_circuit(expr)
            case BinaryExpr():
                return self._binary(expr)
            case UnaryExpr():
                return self._unary(expr)
            case MakeTuple():
                return self._tuple(expr)
            case TupleGetItemExpr():
                source, index = self._value(expr.tuple), expr.index
                return lambda env: source(env)[index]
            case Call():
                return self._call(expr)
            case _:
                raise EvaluationError(
                    f"the expression {type(expr).__name__} has no meaning", expr.span
                )

    def _read(self, var: Var) -> Eval:
        slot, name = self._slot(var), var.name

        def read(env: Env) -> Any:
            value = env[slot]
            if value is UNSET:
                raise EvaluationError(f"{name!r} is read before it has a value", slug="unset")
            return value

        return read

    def _short_circuit(self, expr: BinaryExpr) -> Eval:
        left, right = self._value(expr.left), self._value(expr.right)
        if isinstance(expr, And):
            return lambda env: bool(left(env)) and bool(right(env))
        return lambda env: bool(left(env)) or bool(right(env))

    def _binary(self, expr: BinaryExpr) -> Eval:
        left, right = self._value(expr.left), self._value(expr.right)
        compute = binary_function(type(expr), dtype_of(expr.left))
        wrap, span = wrapper(self.evaluator.element(expr.dtype)), expr.span
        if isinstance(expr.right, ConstInt | ConstFloat):
            constant = right([])

            def with_constant(env: Env) -> Any:
                value = left(env)
                try:
                    return wrap(compute(value, constant))
                except EvaluationError as error:
                    raise error.at(span) from None

            return with_constant

        def run(env: Env) -> Any:
            a, b = left(env), right(env)
            try:
                return wrap(compute(a, b))
            except EvaluationError as error:
                raise error.at(span) from None

        return run

    def _unary(self, expr: UnaryExpr) -> Eval:
        operand = self._value(expr.operand)
        compute = unary_function(type(expr), dtype_of(expr.operand), expr.dtype)
        wrap = wrapper(self.evaluator.element(expr.dtype))
        return lambda env: wrap(compute(operand(env)))

    def _tuple(self, expr: MakeTuple) -> Eval:
        items = expr.elements
        numbers = [item.value for item in items if isinstance(item, ConstInt)]
        if len(numbers) == len(items):
            constant = tuple(numbers)
            return lambda _env: constant
        evals = [self._value(item) for item in items]
        if len(evals) == 2:  # most tuples are offsets or sizes of matrices
            first, second = evals
            return lambda env: (first(env), second(env))
        return lambda env: tuple([each(env) for each in evals])

    def _call(self, call: Call) -> Eval:
        evals = [self._value(arg) for arg in operands_of(call)]
        if isinstance(call.op, GlobalVar):
            return self._function_call(call.op.name, evals, call.span)
        op = op_of(call)
        if op is None or op.numpy is None:
            raise EvaluationError(
                f"the op {user_call(call)} has no meaning on arrays", call.span, slug="unknown-op"
            )
        return self._op_call(call, op, evals)

    def _function_call(self, name: str, evals: Sequence[Eval], span: Span) -> Eval:
        evaluator = self.evaluator

        def run(env: Env) -> Any:
            args = [each(env) for each in evals]
            try:
                value = evaluator.run(name, args, span)
            except EvaluationError as error:
                raise error.at(span) from None
            if evaluator.copies:
                evaluator.update_copies()
            return value

        return run

    def _op_call(self, call: Call, op: OpDef[..., Any], evals: Sequence[Eval]) -> Eval:
        evaluator = self.evaluator
        if op.view_of is not None and isinstance(call.type, TensorType):
            return self._tensor_view(call, op, op.view_of, evals)
        run = op_eval(call, op, evals, evaluator.element)
        if not any(isinstance(call.args[index].type, TensorType) for index in op.writes):
            return run

        def write(env: Env) -> Any:
            value = run(env)
            if evaluator.copies:
                evaluator.update_copies()
            return value

        return write

    def _tensor_view(self, call: Call, op: OpDef[..., Any], at: int, evals: Sequence[Eval]) -> Eval:
        """Plan a view of a tensor, the operand at position ``at``."""
        evaluator, found = self.evaluator, [None]

        def source(env: Env) -> Any:
            found[0] = value = evals[at](env)
            return value

        operands = [source if index == at else each for index, each in enumerate(evals)]
        run = op_eval(call, op, operands, evaluator.element)

        def view(env: Env) -> Any:
            value = run(env)
            if value is not found[0] and value.base is not found[0]:
                evaluator.note_view(value, found[0])
            return value

        return view


def _is_renaming(stmt: AssignStmt) -> bool:
    """True if a tile gets a second name: its bytes stay in place, even if it is a view."""
    value, kind = stmt.value, stmt.var.type
    return isinstance(value, Var) and isinstance(kind, TileType) and value.type == kind


def _shape(value: Any) -> tuple[int, ...]:
    return getattr(value, "shape", ())


def _then_poison(run: Run, slots: Sequence[int]) -> Run:
    def both(env: Env) -> str | None:
        signal = run(env)
        for slot in slots:
            poison(env[slot])
        return signal

    return both


def _located(act: Callable[[Env], object], span: Span) -> Run:
    """Return a function that runs ``act``; an error without a span gets ``span``."""

    def run(env: Env) -> None:
        try:
            act(env)
        except EvaluationError as error:
            raise error.at(span) from None

    return run
