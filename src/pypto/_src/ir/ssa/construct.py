"""SSA form: every definition gets its own variable, and yields, iter_args and results are supplied.

Branches pass on what they assign through `return_vars`, loops through `IterArg`s; which variables
those are is decided in `liveout`. A variable that the function defines once keeps its name (and
stays the same object); others are numbered, see docs/decisions/0003-ssa-names.md.

The builder and the pass ConvertToSSA both use `to_ssa`. Expects no jumps (`jumps`) and knows
nothing of calls between functions, which the pass expands first.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pypto._src.diagnostics import Label, Span
from pypto._src.errors import PassError
from pypto._src.ir.array_types import MemRef, symbols_of_type
from pypto._src.ir.exprs import (
    CONSTANTS,
    BinaryExpr,
    Call,
    ConstFloat,
    ConstInt,
    Expr,
    GlobalVar,
    IterArg,
    MakeTuple,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
)
from pypto._src.ir.interning import is_plain
from pypto._src.ir.opdef import op_of
from pypto._src.ir.ssa.liveout import Block, Branching, Plan, Region
from pypto._src.ir.stmts import (
    SIMPLE,
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    checked_assign,
    seq,
    yielded_by,
)
from pypto._src.ir.traversal.mutator import Mutator
from pypto._src.ir.traversal.queries import uses
from pypto._src.ir.traversal.symbolic_dims import map_dims
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import Type, same_type
from pypto._src.ir.unchecked import checked_binary, checked_tuple, checked_var, with_args

UnassignedValue: TypeAlias = "Callable[[Var], Expr | None]"
"""Returns the value of a variable on paths that do not assign it; None if there is none."""

_SHALLOW: Final = 20
"""The depth to which expressions are rewritten by recursive functions."""


def to_ssa(function: Function, unassigned_value: UnassignedValue | None = None) -> Function:
    """Return ``function`` in SSA form; one that is already in SSA form is returned unchanged.

    The function has no break, continue or early return: `jumps.lower_function_jumps`. On paths
    that do not assign a variable, it has the value that ``unassigned_value`` returns.

    Raises:
        PassError: a variable is read without being assigned on every path there, or changes its
            type from one path to another.
    """
    return ssa_and_calls(function, unassigned_value)[0]


def ssa_and_calls(
    function: Function, unassigned_value: UnassignedValue | None = None
) -> tuple[Function, bool]:
    """Return the result of `to_ssa`, and whether the function calls functions of the program."""
    parameters = dict.fromkeys(function.params)
    kinds = [param.type for param in function.params if not is_plain(param.type)]
    if kinds:
        symbols = [expr for kind in kinds for expr in symbols_of_type(kind)]
        parameters.update(dict.fromkeys(uses(symbols)))
    plan = Plan(function.body, [var.name for var in parameters])
    while True:
        rewrite = _Rewrite(plan, list(parameters), unassigned_value)
        try:
            body = rewrite.block(plan.block, function.body)
        except _Unassigned as found:
            raise rewrite.unassigned(found.var) from None
        if rewrite.names_are_free():
            made = function if body is function.body else function.with_body(body)
            return made, rewrite.calls_functions


class _Names:
    """Hands out the names of definitions, no name twice."""

    def __init__(self, plan: Plan, parameters: Sequence[Var]) -> None:
        self._counts = plan.counts
        self._taken = {*plan.names, *plan.counts}
        self._next: dict[str, int] = {var.name: 1 for var in parameters}
        self._iter_names: set[str] = set()

    def definition(self, name: str) -> str:
        """Return the name of the next definition of ``name``: itself if there is only one."""
        if self._counts[name] == 1:
            return name
        number = self._next.get(name, 0)
        new = f"{name}_{number}"
        if new in self._taken:
            return self._numbered(name, number, name)
        self._next[name] = number + 1
        self._taken.add(new)
        return new

    def has(self, name: str) -> bool:
        """True if a variable of the function has ``name``."""
        return name in self._taken

    def iter_arg(self, name: str) -> str:
        """Return a name for the iter_arg that carries variable ``name``."""
        base = name if name.endswith("_iter") else f"{name}_iter"
        if base not in self._taken:
            self._taken.add(base)
            return base
        return self._numbered(base, self._next.get(base, 1), base)

    def explicit_iter_arg(self, name: str, result: str) -> str:
        """Return the name of an iter_arg of the source: its own, unless others have that name.

        ``result`` is the name of the loop's result for it, which may be the same.
        """
        others = self._counts.get(name, 0) - (name == result)
        if others <= 0 and name not in self._iter_names:
            self._iter_names.add(name)
            return name
        return self.iter_arg(name)

    def _numbered(self, base: str, number: int, key: str) -> str:
        while (name := f"{base}_{number}") in self._taken:
            number += 1
        self._next[key] = number + 1
        self._taken.add(name)
        return name


class _Unassigned(Exception):
    """A variable is read that some paths to the current statement do not assign."""

    def __init__(self, var: Var) -> None:
        super().__init__()
        self.var = var


class _Now(dict[Var, Expr]):
    """The current definition of each variable of the source; other variables map to themselves."""

    def __init__(self, written: Container[Var]) -> None:
        super().__init__()
        self._written = written
        self.others: dict[Var, None] = {}

    def __missing__(self, var: Var) -> Expr:
        if var in self._written:
            raise _Unassigned(var)
        self.others[var] = None
        return var

    def of(self, variables: Iterable[Var]) -> list[tuple[Var, Expr | None]]:
        """Return the current definitions of some variables, for `restore`."""
        return [(var, self.get(var)) for var in variables]

    def restore(self, before: Sequence[tuple[Var, Expr | None]]) -> None:
        """Go back to the definitions that `of` returned."""
        for var, value in before:
            if value is not None:
                self[var] = value
            elif var in self:
                del self[var]


_NO_STMT: Final = SeqStmts(())


class _Rewrite(Mutator):
    """Walks forward with the current definition of each variable of the source."""

    def __init__(
        self, plan: Plan, parameters: Sequence[Var], unassigned_value: UnassignedValue | None
    ) -> None:
        super().__init__()
        self._plan = plan
        self._unassigned_value = unassigned_value
        self._names = _Names(plan, parameters)
        self._now = _Now(plan.written)
        self._stmt: Stmt = _NO_STMT  # the one being rewritten
        self._finite: Stmt = _NO_STMT  # the last one that was found not to be `endless`
        self.calls_functions = False  # so far
        self._plain: dict[int, Type] = {}  # by identity, types without assigned variables
        for var in parameters:
            self._now[var] = var

    def names_are_free(self) -> bool:
        """True unless a variable without a definition has a name that was given to another one.

        Such a name is reserved for it from then on.
        """
        others = {var.name for var in self._now.others}
        taken = {name for name in others - self._plan.names if self._names.has(name)}
        self._plan.names |= others
        return taken <= self._plan.counts.keys()

    def block(self, block: Block, old: Stmt) -> Stmt:
        """Return ``block``, the occurrence of body ``old``, rewritten."""
        return _close(block, old, self._statements(block), (), old.span)

    def _statements(self, block: Block) -> list[Stmt]:
        regions = (part for part in block.parts if isinstance(part, Region))
        out: list[Stmt] = []
        stmts: Any = block.stmts
        for stmt in stmts:
            self._stmt = stmt
            if stmt.__class__ is AssignStmt:
                old, value = stmt.var, self._present(stmt.value)
                kind = old.type
                if kind is not value.type:
                    kind = self._kind(kind, value.type)
                var = self._define(old, kind)
                same = var is old and value is stmt.value
                out.append(stmt if same else checked_assign(var, value, stmt.span))
            elif stmt.__class__ in SIMPLE:
                out.append(self._operation(stmt))
            else:
                out.append(self._region(next(regions), out))
        return out

    def _operation(self, stmt: Stmt) -> Stmt:
        if isinstance(stmt, EvalStmt):
            expr = self._present(stmt.expr)
            return stmt if expr is stmt.expr else EvalStmt(expr, stmt.span)
        if isinstance(stmt, YieldStmt | ReturnStmt):
            values = self._all_present(stmt.value, 0)
            return stmt if values is stmt.value else copy_with(stmt, {"value": values})
        return self.rebuild(stmt)

    def _region(self, region: Region, before: list[Stmt]) -> Stmt:
        """Rewrite a statement with bodies; statements that have to come first go to ``before``."""
        match region.stmt:
            case IfStmt() as stmt:
                return self._if(region, stmt)
            case ScopeStmt() as stmt:
                return _copy(stmt, {"body": self.block(region.blocks[0], stmt.body)})
            case stmt:
                return self._loop(region, stmt, before)

    def _if(self, region: Region, stmt: IfStmt) -> Stmt:
        condition = self._present(stmt.condition)
        then, other = region.blocks
        then_stmts, then_values = self._branch(then, region.merged)
        else_stmts, else_values = self._branch(other, region.merged)
        merged: list[tuple[Var, Expr, Expr]] = []
        for var, a, b in zip(region.merged, then_values, else_values, strict=True):
            if a is None and b is not None:
                a = self._begin(var, then_stmts)
            elif b is None and a is not None:
                b = self._begin(var, else_stmts)
            merged.append(self._merge(stmt, var, a, b))
        then_body = _close(then, stmt.then_body, then_stmts, [a for _, a, _ in merged], stmt.span)
        else_body = stmt.else_body
        if else_body is not None or merged:
            old = SeqStmts(stmts=()) if else_body is None else else_body
            else_body = _close(other, old, else_stmts, [b for _, _, b in merged], stmt.span)
        yielded = yielded_by(then_stmts)
        results = [
            self._define(
                var, self._kind(var.type, yielded[i].type if i < len(yielded) else var.type)
            )
            for i, var in enumerate(region.results)
        ]
        results += [self._define(var, a.type) for var, a, _ in merged]
        self._name_results(region, results)
        return _copy(
            stmt,
            {
                "condition": condition,
                "then_body": then_body,
                "else_body": else_body,
                "return_vars": tuple(results),
            },
        )

    def _branch(self, block: Block, merged: Sequence[Var]) -> tuple[list[Stmt], list[Expr | None]]:
        before = self._now.of(block.writes)
        stmts = self._statements(block)
        values = [self._now.get(var) for var in merged]
        self._now.restore(before)
        return stmts, values

    def _merge(
        self, stmt: IfStmt, var: Var, then: Expr | None, other: Expr | None
    ) -> tuple[Var, Expr, Expr]:
        if then is None or other is None:
            raise self._half_assigned(stmt, var)
        if not same_type(then.type, other.type):
            raise self._two_types(stmt.span, var, then.type, other.type, "two branches")
        return var, then, other

    def _begin(self, var: Var, stmts: list[Stmt]) -> Expr | None:
        """Return a variable's value on a path that does not assign it, defined at its end."""
        value = None if self._unassigned_value is None else self._unassigned_value(var)
        if value is None or isinstance(value, ConstInt | ConstFloat):
            return value
        value = self._present(value)
        last = [stmts.pop()] if stmts and isinstance(stmts[-1], YieldStmt) else []
        begun = self._define(var, value.type)
        stmts += [checked_assign(begun, value, var.span), *last]
        return begun

    def _loop(self, region: Region, stmt: ForStmt | WhileStmt, outside: list[Stmt]) -> Stmt:
        changes: dict[str, Any] = {}
        if isinstance(stmt, ForStmt):
            bounds = self._all_present((stmt.start, stmt.stop, stmt.step), 0)
            changes = dict(zip(("start", "stop", "step"), bounds, strict=True))
        explicit_inits = [self._present(arg.initValue) for arg in stmt.iter_args]
        inits = [self._init(region, stmt, var, outside) for var in region.merged]
        before = self._now.of((*stmt.iter_args, *region.candidates))
        explicit = [
            self._explicit(arg, init, result.name)
            for arg, init, result in zip(
                stmt.iter_args, explicit_inits, region.results, strict=True
            )
        ]
        carried = [self._carry(var, init) for var, init in zip(region.merged, inits, strict=True)]
        if isinstance(stmt, ForStmt):
            changes["loop_var"] = self._define(stmt.loop_var, stmt.loop_var.type)
        else:
            changes["condition"] = self._present(stmt.condition)
        [block] = region.blocks
        stmts = self._statements(block)
        values = [self._now[var] for var in region.merged]
        self._now.restore(before)
        for var, arg, value in zip(region.merged, carried, values, strict=True):
            if not same_type(arg.type, value.type):
                raise self._two_types(
                    stmt.span, var, arg.type, value.type, "iterations of this loop"
                )
        changes["iter_args"] = (*explicit, *carried)
        changes["body"] = _close(block, stmt.body, stmts, values, stmt.span)
        results = [
            self._define(var, self._kind(var.type, arg.type))
            for var, arg in zip(region.results, explicit, strict=True)
        ]
        results += [
            self._define(var, arg.type) for var, arg in zip(region.merged, carried, strict=True)
        ]
        self._name_results(region, results)
        changes["return_vars"] = tuple(results)
        return _copy(stmt, changes)

    def _name_results(self, region: Region, results: Sequence[Var]) -> None:
        # A variable that is both yielded by the source and merged has the yielded value afterwards.
        for var, result in zip(region.results, results, strict=False):
            self._now[var] = result

    def _init(self, region: Region, stmt: Stmt, var: Var, outside: list[Stmt]) -> Expr:
        value = self._now.get(var)
        # A variable that iterations assign before they read it has no value without an iteration.
        if value is None and (var in region.at_top or var not in region.blocks[0].defines):
            value = self._begin(var, outside)
        if value is None:
            raise self._loop_assigned(stmt, var)
        return value

    def _explicit(self, arg: IterArg, init: Expr, result: str) -> IterArg:
        name = self._names.explicit_iter_arg(arg.name, result)
        kind = self._kind(arg.type, init.type)
        new = arg
        if not (name == arg.name and kind is arg.type and init is arg.initValue):
            new = IterArg(name, kind, init, arg.span)
        self._now[arg] = new
        return new

    def _carry(self, var: Var, init: Expr) -> IterArg:
        arg = IterArg(self._names.iter_arg(var.name), init.type, init, var.span)
        self._now[var] = arg
        return arg

    # Variables and expressions ------------------------------------------------------------

    def _define(self, var: Var, kind: Type) -> Var:
        new = var
        if var.__class__ is Var or not isinstance(var, MemRef):
            old = var.name
            name = self._names.definition(old)
            if name is not old or kind is not var.type or var.__class__ is not Var:
                new = checked_var(name, kind, var.span)
        self._now[var] = new
        return new

    def _kind(self, declared: Type, found: Type) -> Type:
        """Return ``declared``, unless it depends on variables that have new names in ``found``."""
        if declared is found or not self._is_symbolic(declared) or same_type(declared, found):
            return declared
        return found

    def _is_symbolic(self, kind: Type) -> bool:
        """True if a type depends on variables that the function assigns."""
        if id(kind) in self._plain:
            return False
        if not is_plain(kind):
            symbols = uses(symbols_of_type(kind))
            if not self._plan.written.keys().isdisjoint(symbols):
                return True
        self._plain[id(kind)] = kind
        return False

    def visit_Var(self, var: Var) -> Expr:
        """Replace a variable of the source by its current definition."""
        return self._now[var]

    def visit_ConstInt(self, number: ConstInt) -> Expr:
        """Return the constant: most expressions are constants, and their types need no check."""
        return number

    def _present(self, expr: Expr, depth: int = 0) -> Expr:
        """Return what `visit` returns, faster for the usual kinds of expressions."""
        if depth >= _SHALLOW:
            self._refuse_endless()
            return self.visit(expr)
        if isinstance(expr, Call):
            if expr.op.__class__ is GlobalVar:
                self.calls_functions = True
            args = self._all_present(expr.args, depth)
            if args is expr.args:
                return expr
            new = with_args(expr, args)
            return new if id(new.type) in self._plain else self._typed(new)
        if isinstance(expr, MakeTuple):
            items = self._all_present(expr.elements, depth)
            same = items is expr.elements
            return expr if same else self._typed(checked_tuple(items, expr.type, expr.span))
        if isinstance(expr, BinaryExpr):
            old = (expr.left, expr.right)
            new = self._all_present(old, depth)
            if new is old:
                return expr
            return checked_binary(expr.__class__, new[0], new[1], expr.type, expr.span)
        if isinstance(expr, UnaryExpr):
            old = (expr.operand,)
            new = self._all_present(old, depth)
            return expr if new is old else self._typed(copy_with(expr, {"operand": new[0]}))
        if isinstance(expr, TupleGetItemExpr):
            old = (expr.tuple,)
            new = self._all_present(old, depth)
            return expr if new is old else self._typed(copy_with(expr, {"tuple": new[0]}))
        return self.visit(expr)

    def _all_present(self, exprs: tuple[Expr, ...], depth: int) -> tuple[Expr, ...]:
        """Return `_present` of several expressions, ``exprs`` itself if nothing changes."""
        now: Any = self._now
        same = True
        new: list[Expr] = []
        each: Any
        for each in exprs:
            cls = each.__class__
            if cls is Var or cls is IterArg:
                item = now[each]
            elif cls in CONSTANTS or (
                cls is MakeTuple and CONSTANTS.issuperset(map(type, each.elements))
            ):
                item = each
            else:
                item = self._present(each, depth + 1)
            new.append(item)
            if item is not each:
                same = False
        return exprs if same else tuple(new)

    def rebuild(self, node: Any) -> Any:
        """Rebuild ``node``; derive its type again if that depends on renamed variables."""
        if node.__class__ is Call and node.op.__class__ is GlobalVar:
            self.calls_functions = True
        new = super().rebuild(node)
        return new if new is node or not isinstance(new, Expr) else self._typed(new)

    def _typed(self, new: Expr) -> Expr:
        if not self._is_symbolic(new.type):
            return new
        op = op_of(new)
        if isinstance(new, Call) and op is not None:
            return op.call(new.args, new.kwargs, new.span)
        match new:
            case MakeTuple():
                return MakeTuple(new.elements, new.span)
            case TupleGetItemExpr():
                return TupleGetItemExpr(new.tuple, new.index, new.span)
            case _:
                return copy_with(new, {"type": map_dims(new.type, self.visit)})

    # Errors -------------------------------------------------------------------------------

    def _refuse_endless(self) -> None:
        """Raise an error for a statement with an expression that sharing makes too long."""
        if self._stmt is self._finite:
            return
        from pypto._src.ir.traversal.common_parts import endless

        why = endless(self._stmt)
        self._finite = self._stmt
        if why is not None:
            raise PassError(
                f"a statement is too large to write out: {why}",
                self._stmt.span,
                "give the shared parts names: assign them to variables",
                slug="too-deep",
            )

    def unassigned(self, var: Var) -> PassError:
        """Return the error for a variable that the current statement reads too early."""
        return self._error(
            self._stmt.span,
            var,
            f"'{var.name}' is read here, and some paths to this statement do not assign it",
            f"assign '{var.name}' before",
        )

    def _half_assigned(self, stmt: IfStmt, var: Var) -> PassError:
        return self._error(
            stmt.span,
            var,
            f"'{var.name}' is assigned in one branch of this if only, and read after it",
            f"assign '{var.name}' before the if",
        )

    def _loop_assigned(self, stmt: Stmt, var: Var) -> PassError:
        return self._error(
            stmt.span,
            var,
            f"'{var.name}' is first assigned in this loop, and read by the next iteration or "
            "after it",
            f"assign '{var.name}' before the loop",
        )

    def _error(self, span: Span, var: Var, message: str, hint: str) -> PassError:
        for other, value in self._now.items():
            if other.name == var.name and not same_type(other.type, var.type):
                return self._two_types(span, var, value.type, var.type, "the paths to this place")
        label = Label(self._plan.span_of(var), f"'{var.name}' is assigned here")
        return PassError(message, span, hint, slug="maybe-unassigned", related=(label,))

    def _two_types(self, span: Span, var: Var, a: Type, b: Type, where: str) -> PassError:
        from pypto._src.ir.text.printer import python_print

        return PassError(
            f"'{var.name}' has different types on {where}: {python_print(a)} and {python_print(b)}",
            span,
            f"give '{var.name}' one shape and element type, or use another name",
            slug="merge-type",
            related=(Label(self._plan.span_of(var), f"'{var.name}' is assigned here"),),
        )


def _copy(stmt: Branching, changes: Mapping[str, Any]) -> Stmt:
    """Return ``stmt`` with other fields, or itself if they do not differ."""
    return (
        stmt
        if all(_same(getattr(stmt, k), v) for k, v in changes.items())
        else copy_with(stmt, changes)
    )


def _same(old: Any, new: Any) -> bool:
    if not isinstance(old, tuple):
        return old is new
    items = cast("tuple[Any, ...]", old)
    return len(items) == len(new) and all(a is b for a, b in zip(items, new, strict=True))


def _close(block: Block, old: Stmt, stmts: list[Stmt], values: Sequence[Expr], span: Span) -> Stmt:
    """Return ``stmts``, the rewritten ``block``, as a body that yields ``values`` besides its own.

    ``old``, the body of the block, is returned if nothing changed.
    """
    if not values:
        return old if _same(block.stmts, stmts) else seq(stmts)
    own = yielded_by(stmts)
    if stmts and isinstance(stmts[-1], YieldStmt):
        span = stmts.pop().span
    return seq([*stmts, YieldStmt((*own, *values), span)])
