"""What `OutlineIncoreScopes` does to a function: outlines its scopes, and calls the kernels.

Parameters are the variables from outside, results the tensors that are used afterwards, both in
order of name. A core does matrix or vector work, not both: a scope that alternates becomes one
kernel for each stretch of either. What the host needs from a scope besides tensors (scalars, views,
new tensors) moves out of it. A scope inside another one, or inside a kernel, has no effect.

Does not know how tensor ops are lowered inside the kernels.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from pypto._src.analysis.accesses import alias_bases
from pypto._src.analysis.stmt_tree import Block, call_of, number, points_in
from pypto._src.diagnostics import Span
from pypto._src.errors import PassError
from pypto._src.ir.array_types import ShapedType, TensorType, exprs_of_type
from pypto._src.ir.enums import FunctionType, ParamDirection
from pypto._src.ir.exprs import Call, Expr, GlobalVar, IterArg, TupleGetItemExpr, Var
from pypto._src.ir.fresh_names import FreshNames
from pypto._src.ir.inspect.source_names import user_name
from pypto._src.ir.opdef import op_of
from pypto._src.ir.roles import Role, role
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    Function,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    seq,
    statements,
)
from pypto._src.ir.traversal.mutator import Mutator, Without, as_list, substitute
from pypto._src.ir.traversal.queries import (
    defined_by,
    stmts_in,
    uses,
    variable_names,
)
from pypto._src.ir.traversal.walk import children, walk
from pypto._src.ir.types import ScalarType, TupleType, UnknownType, same_type
from pypto._src.ops import tensor
from pypto._src.records import NamedTuple

_ON_HOST: Final = (tensor.view, tensor.reshape_view, tensor.create, tensor.dim)
"""Tensor ops that the host does as well: they compute no elements."""


_VIEWS: Final = (tensor.view, tensor.reshape_view)
_DEFINED_AND_USED: Final = 2
"""The least count of a variable of a function that something uses."""


def outlined(function: Function, names: FreshNames, stages: int) -> list[Function]:
    """Return ``function`` with calls in place of its scopes, and the kernels that it calls."""
    scopes = [stmt for stmt in stmts_in(function.body) if isinstance(stmt, ScopeStmt)]
    if not scopes or role(function) is not Role.HOST:
        return [function]
    function = _with_own_views(_with_own_tensors(function))
    check_merges(function)
    function = _SplitMixed(function, stages).run()
    outliner = _Outliner(function, names)
    body = outliner.body(function.body)
    if any(op_of(call_of(stmt)) is tensor.reshape_view for stmt in stmts_in(body)):
        from pypto._src.passes.tensors.reshaped_reads import with_reads_of_sources

        body = _without_unused_views(with_reads_of_sources(body))
    return [function.with_body(body), *outliner.kernels]


def _with_own_tensors(function: Function) -> Function:
    """Return ``function`` with one tensor for each name that loops and branches carry."""
    root = number(function)
    roots = alias_bases(function, root)
    if all(len(names) == 1 for names in roots.values()):
        return function
    _, written = _accessed(root, roots)
    from pypto._src.passes.tensors.carried_tensors import with_copies

    return with_copies(function, roots, written)


def _with_own_views(function: Function) -> Function:
    """Return ``function`` without carried views where regions use several of one tensor."""
    if not any(op_of(call_of(stmt)) in _VIEWS for stmt in stmts_in(function.body)):
        return function
    from pypto._src.passes.tensors.carried_views import without_carried_views

    return without_carried_views(function, alias_bases(function, number(function)))


def _without_unused_views(body: Stmt) -> Stmt:
    """Return a body without unused reshaped tensors and unused views of them.

    Kernels that use such tensors create them.
    """
    counts = _counted(_used_by([body]))
    reshaped: dict[Var, AssignStmt] = {}
    for stmt in stmts_in(body):
        if isinstance(stmt, AssignStmt) and isinstance(stmt.value, Call):
            op, source = op_of(stmt.value), stmt.value.args[0]
            if op is tensor.reshape_view or (op is tensor.view and source in reshaped):
                reshaped[stmt.var] = stmt
    dead: set[Stmt] = set()
    for var, stmt in reversed(reshaped.items()):
        if counts[var] < _DEFINED_AND_USED:
            dead.add(stmt)
            for used in _used_by([stmt]):
                counts[used] -= 1
    return Without(dead).body(body) if dead else body


# --------------------------------------------------------------------------------------------
# Variables of a stretch of statements
# --------------------------------------------------------------------------------------------


def _used_by(stmts: Iterable[Stmt]) -> Iterator[Var]:
    """Yield the variables in the expressions and types of statements, nested ones included.

    Variables that the statements define are included.
    """
    for top in stmts:
        for stmt in _with_nested(top):
            for child in children(stmt):
                if isinstance(child, Stmt):
                    continue
                roots = [child, child.initValue] if isinstance(child, IterArg) else [child]
                yield from uses(roots)
                for node in (n for root in roots for n in walk(root)):
                    if isinstance(node, Expr) and not isinstance(node.type, ScalarType):
                        yield from uses(exprs_of_type(node.type))


def _with_nested(stmt: Stmt) -> Iterator[Stmt]:
    yield stmt
    for child in children(stmt):
        if isinstance(child, Stmt):
            yield from stmts_in(child)


def _defined_in(stmts: Iterable[Stmt]) -> set[Var]:
    return {var for top in stmts for stmt in _with_nested(top) for var in defined_by(stmt)}


# --------------------------------------------------------------------------------------------
# Scopes of one function
# --------------------------------------------------------------------------------------------


class _Dissolve(Mutator):
    """Replaces scopes by their contents."""

    def visit_ScopeStmt(self, stmt: ScopeStmt) -> list[Stmt]:
        """Return the contents of the scope."""
        return list(statements(self.body(stmt.body)))


class _SplitMixed(Mutator):
    """Splits scopes in which matrix and vector work share loops or tiles."""

    def __init__(self, function: Function, stages: int) -> None:
        super().__init__()
        self._function = function
        self._stages = stages
        self._names = FreshNames(variable_names(function))
        self._roots = alias_bases(function, number(function))
        self._own: set[Var] | None = None

    def visit_ScopeStmt(self, scope: ScopeStmt) -> Stmt | list[Stmt]:
        """Split a scope into scopes of one kind of work; one that has one kind stays."""
        from pypto._src.passes.tensors.core_work import by_core, core_kinds_count, tiles_cross_cores

        body = list(statements(_Dissolve().body(scope.body)))
        if len(by_core(body)) == 1 and all(core_kinds_count(stmt) < 2 for stmt in body):
            return scope
        from pypto._src.passes.tensors.split_mixed_scopes import split_scope
        from pypto._src.passes.tensors.work_order import hoist_accumulator_stores

        body = hoist_accumulator_stores(body, self._roots)
        whole = ScopeStmt(scope.scope_kind, seq(body, scope.span), scope.span, scope.name_hint)
        if not tiles_cross_cores(by_core(body)):
            return whole
        if self._own is None:
            from pypto._src.passes.tensors.slots import written_once

            self._own = written_once(self._function, self._roots)
        own, stages = self._own, self._stages
        return split_scope(whole, self._names, self._roots, own, stages) or scope

    def run(self) -> Function:
        """Return the function with its scopes split, and tensors that slots replace removed."""
        body = self.body(self._function.body)
        if self._own:
            used = _counted(_used_by([body]))
            dead = {
                stmt
                for stmt in stmts_in(body)
                if isinstance(stmt, AssignStmt)
                and stmt.var in self._own
                and used[stmt.var] < _DEFINED_AND_USED
            }
            body = Without(dead).body(body)
        return self._function.with_body(body)


class _Stretch(NamedTuple):
    """Statements that run in one place: in a kernel, or on the host."""

    stmts: list[Stmt]
    on_host: bool


class _Outliner(Mutator):
    """Replaces the scopes of one host function."""

    def __init__(self, function: Function, names: FreshNames) -> None:
        super().__init__()
        self.kernels: list[Function] = []
        self._parent = function.name
        self._function_names = names
        self._names = FreshNames(variable_names(function))
        self._uses = _counted(_used_by([function.body]))
        self._roots = alias_bases(function, number(function))
        self._made = {
            stmt.var: stmt for stmt in stmts_in(function.body) if isinstance(stmt, AssignStmt)
        }
        self._order = {var: index for index, var in enumerate(self._made)}
        own = _defined_in([function.body]) | set(function.params)
        # Sizes that the tensor parameters define; a kernel may get them from its own tensors.
        self._symbols = {
            var for p in function.params for var in uses(exprs_of_type(p.type)) if var not in own
        }

    def visit_ScopeStmt(self, scope: ScopeStmt) -> list[Stmt]:
        """Return the calls that replace a scope."""
        body = list(statements(_Dissolve().body(scope.body)))
        after: list[Stmt] = []
        while body and isinstance(body[-1], ReturnStmt | YieldStmt):
            after.insert(0, body.pop())
        # Values yielded to the statement around the scope are used outside.
        outside = self._used_outside(body)
        out: list[Stmt] = []
        stretches = self._stretches(body, outside)
        several = sum(not stretch.on_host for stretch in stretches) > 1
        for index, stretch in enumerate(stretches):
            if stretch.on_host:
                out += stretch.stmts
                continue
            name = scope.name_hint
            if several and name:
                from pypto._src.passes.tensors.core_work import wanted_core
                from pypto._src.passes.tensors.split_mixed_scopes import name_on_core

                cores = [core for stmt in stretch.stmts if (core := wanted_core(stmt)) is not None]
                name = name_on_core(name, cores[0] if cores else None)
            later = [stmt for other in stretches[index + 1 :] for stmt in other.stmts]
            wanted = outside | set(_used_by(later))
            out += self._call(stretch.stmts, wanted, scope.span, name)
        return [*out, *after]

    def _used_outside(self, body: Sequence[Stmt]) -> set[Var]:
        """Return the variables of ``body`` that other statements of the function use."""
        inside = _counted(_used_by(body))
        defined = _defined_in(body)
        return {var for var in defined if self._uses.get(var, 0) > inside.get(var, 0)}

    def _stretches(self, body: Sequence[Stmt], outside: set[Var]) -> list[_Stretch]:
        """Return the statements of a scope by where they run, in order."""
        from pypto._src.passes.tensors.core_work import by_core, tiles_cross_cores, wanted_core

        cores = {core for stmt in body if (core := wanted_core(stmt)) is not None}
        splits = len(cores) > 1
        before, rest, after = _for_host(body, outside, every=splits)
        parts = by_core(rest) if splits else []
        if not splits or tiles_cross_cores(parts):
            before, rest, after = _for_host(body, outside, every=False)
            parts = [rest] if rest else []
        out = [_Stretch(before, True), *(_Stretch(p, False) for p in parts), _Stretch(after, True)]
        return [stretch for stretch in out if stretch.stmts]

    def _call(self, body: list[Stmt], wanted: set[Var], span: Span, name: str) -> list[Stmt]:
        """Make a kernel of ``body``; return the statements that call it."""
        results = [v for stmt in body for v in defined_by(stmt) if v in wanted]
        for var in results:
            if not isinstance(var.type, TensorType):
                raise _no_result(var, span)
        results.sort(key=lambda var: var.name)
        body = self._one_name_each(body)
        inputs = self._inputs(body)
        kernel = self._kernel(body, inputs, results, span, self._new_name(name))
        self._check_names(kernel, inputs, span)
        self.kernels.append(kernel)
        kinds = tuple(var.type for var in results)
        kind = UnknownType.get() if not kinds else TupleType(kinds)
        call = Call(GlobalVar(kernel.name), inputs, kinds[0] if len(kinds) == 1 else kind, span)
        if not results:
            return [EvalStmt(call, span)]
        if len(results) == 1:
            return [AssignStmt(results[0], call, span)]
        ret = Var(self._names.like("ret"), call.type, span)
        out: list[Stmt] = [AssignStmt(ret, call, span)]
        for index, var in enumerate(results):
            out.append(AssignStmt(var, TupleGetItemExpr(ret, index, span), span))
        return out

    def _one_name_each(self, body: list[Stmt]) -> list[Stmt]:
        """Return statements in which each tensor from outside has one name.

        If a tensor and a view of it made by the host are both used, the view is made again inside:
        two parameters would not show that they share bytes.
        """
        while True:
            inputs = self._inputs(body)
            shared = _sharing(inputs, self._roots)
            renamed: dict[Var, Expr] = {}
            views: list[AssignStmt] = []
            for var in shared:
                root, stmt = self._roots[var][0], self._made.get(var)
                is_all = len(self._roots[var]) == 1 and same_type(root.type, var.type)
                if is_all and root is not var:
                    renamed[var] = root
                elif stmt is not None and op_of(stmt.value) in _VIEWS:
                    views.append(stmt)
            views += [
                stmt
                for var in inputs
                if var not in shared and (stmt := self._made.get(var)) is not None
                if self._is_reshaped(stmt)
            ]
            if not renamed and not views:
                return body
            views.sort(key=lambda stmt: self._order[stmt.var])  # a view may be of another one
            body = [*views, *(substitute(stmt, renamed) for stmt in body)]

    def _is_reshaped(self, stmt: AssignStmt) -> bool:
        """True for a reshaped tensor and for views of one: they are made in the kernel.

        The runtime represents tensors as boxes of its arguments, which these are not.
        """
        while isinstance(stmt.value, Call) and op_of(stmt.value) is tensor.view:
            source = stmt.value.args[0]
            before = self._made.get(source) if isinstance(source, Var) else None
            if before is None:
                return False
            stmt = before
        return op_of(stmt.value) is tensor.reshape_view

    def _check_names(self, kernel: Function, inputs: Sequence[Var], span: Span) -> None:
        shared = _sharing(inputs, self._roots)
        for var, direction in zip(inputs, kernel.param_directions, strict=True):
            if var in shared and direction is not ParamDirection.In:
                names = " and ".join(f"'{user_name(each)}'" for each in shared)
                raise PassError(
                    f"the scope writes '{user_name(var)}', and {names} may be one tensor",
                    span,
                    hint="use one name of the tensor inside of the scope",
                    slug="scope-aliases",
                )

    def _inputs(self, body: Sequence[Stmt]) -> list[Var]:
        """Return the variables from outside that a kernel gets, in order of name."""
        defined = _defined_in(body)
        found = dict.fromkeys(v for v in _used_by(body) if v not in defined)
        shapes = [v.type.shape for v in found if isinstance(v.type, ShapedType)]
        known = {dim for shape in shapes for dim in shape if isinstance(dim, Var)}
        free = [v for v in found if not (v in self._symbols and v in known)]
        return sorted(free, key=lambda var: var.name)

    def _kernel(
        self,
        body: list[Stmt],
        inputs: Sequence[Var],
        results: Sequence[Var],
        span: Span,
        name: str,
    ) -> Function:
        mapping: dict[Var, Expr] = {}
        from pypto._src.passes.structure.inline_calls import Clone

        clone = Clone(mapping)
        made: dict[Var, Var] = {}
        for var in sorted(inputs, key=lambda v: not isinstance(v.type, ScalarType)):
            mapping[var] = made[var] = Var(var.name, clone.kind(var.type), var.span)
        params = [made[var] for var in inputs]
        stmts = [new for stmt in body for new in as_list(clone.visit(stmt))]
        values = [clone.visit(var) for var in results]
        if values:
            stmts.append(ReturnStmt(values, span))
        kinds = [value.type for value in values]
        kernel = Function(name, params, kinds, seq(stmts, span), span, FunctionType.InCore)
        return with_directions(kernel)

    def _new_name(self, wanted: str) -> str:
        """Return the name of the next kernel: ``wanted``, with a number if that is taken."""
        if not wanted:
            return self._function_names.numbered(f"{self._parent}_incore_", 0)
        return self._function_names.like(wanted)


def _sharing(inputs: Sequence[Var], roots: Mapping[Var, Sequence[Var]]) -> dict[Var, None]:
    """Return the tensors among ``inputs`` that may alias another input."""
    names: dict[Var, list[Var]] = {}
    for var in inputs:
        for root in roots.get(var, ()):
            names.setdefault(root, []).append(var)
    return dict.fromkeys(var for several in names.values() if len(several) > 1 for var in several)


def _counted(variables: Iterable[Var]) -> dict[Var, int]:
    counts: dict[Var, int] = {}
    for var in variables:
        counts[var] = counts.get(var, 0) + 1
    return counts


def _no_result(var: Var, span: Span) -> PassError:
    return PassError(
        f"'{user_name(var)}' is used after the scope but is not a tensor; a kernel can return only "
        "tensors",
        span,
        hint="compute it before the with statement",
        slug="scope-result",
    )


# --------------------------------------------------------------------------------------------
# What the host does itself
# --------------------------------------------------------------------------------------------


def _for_host(
    body: Sequence[Stmt], outside: set[Var], *, every: bool
) -> tuple[list[Stmt], list[Stmt], list[Stmt]]:
    """Split a scope into what the host does before it, what the kernel does, and what comes after.

    The host does scalars, views and new tensors that are used outside (or ``every`` one): before
    the kernel if they need nothing from it, after it if they are scalars that it does not use. The
    others stay.
    """
    wanted = set(outside)
    chosen: set[Stmt] = set()
    for stmt in reversed(body):
        if not _host_computes(stmt):
            continue
        if not wanted.isdisjoint(defined_by(stmt)) or (every and not _reads_tensor(stmt)):
            chosen.add(stmt)
            wanted.update(_used_by([stmt]))
    before: list[Stmt] = []
    rest: list[Stmt] = []
    after: list[Stmt] = []
    inside: set[Var] = set()  # what the kernel, or the host after it, defines
    kept_uses = _counted(_used_by(s for s in body if s not in chosen))
    for stmt in body:
        needs = any(var in inside for var in _used_by([stmt]))
        if stmt in chosen and not needs and not (_reads_tensor(stmt) and rest):
            before.append(stmt)
            continue
        inside.update(_defined_in([stmt]))
        is_late = stmt in chosen and all(
            var not in kept_uses and isinstance(var.type, ScalarType) for var in defined_by(stmt)
        )
        (after if is_late else rest).append(stmt)
    return before, rest, after


def _host_computes(stmt: Stmt) -> bool:
    """True for a statement that a host function executes itself: scalars, views, new tensors.

    A branch or loop that only computes scalars is one, too.
    """
    if isinstance(stmt, AssignStmt):
        return _is_for_host(stmt.value)
    defined = defined_by(stmt)
    if not defined or not all(isinstance(var.type, ScalarType) for var in defined):
        return False
    return all(
        inner is stmt
        or isinstance(inner, YieldStmt | IfStmt | ForStmt | WhileStmt)
        or (
            isinstance(inner, AssignStmt)
            and isinstance(inner.var.type, ScalarType)
            and _is_for_host(inner.value)
        )
        for inner in stmts_in(stmt)
    )


def _is_for_host(value: Expr) -> bool:
    """True for scalars, views and new tensors: what a host function computes itself."""
    for node in walk(value):
        op = op_of(node)
        if isinstance(node, Call) and op not in _ON_HOST and op is not tensor.read:
            return False
    return isinstance(value.type, ScalarType) or isinstance(value, Call)


def _is_read(value: Expr | Stmt) -> bool:
    return any(op_of(node) is tensor.read for node in walk(value))


def _reads_tensor(stmt: Stmt) -> bool:
    return _is_read(stmt)


# --------------------------------------------------------------------------------------------
# Aliases
# --------------------------------------------------------------------------------------------


def check_merges(function: Function) -> None:
    """Check that no variable may be, depending on the path, a written tensor or another one.

    Writes to that tensor would have to be visible through the variable; a copy would not show them.

    Raises:
        PassError: there is such a variable.
    """
    root = number(function)
    roots = alias_bases(function, root)
    merged = {var: names for var, names in roots.items() if len(names) > 1}
    if not merged:
        return
    _, written = _accessed(root, roots)
    for var, names in merged.items():
        for name in names:
            if name in written:
                either, source = user_name(var), user_name(name)
                is_one = either == source
                raise PassError(
                    f"'{either}' is another tensor in each iteration or branch, and it is written"
                    if is_one
                    else f"'{either}' is '{source}' or another tensor, and '{source}' is written",
                    var.span,
                    hint=f"use one tensor, and copy the values into it, in a region: "
                    f"{either}[:] = ..."
                    if role(function) is Role.HOST
                    else f"copy it: {either} = pl.add({source}, 0)",
                    slug="scope-aliases",
                )


def _accessed(root: Block, roots: Mapping[Var, Sequence[Var]]) -> tuple[set[Var], set[Var]]:
    """Return the tensors that ops read, and those that they write."""
    read: set[Var] = set()
    written: set[Var] = set()
    for point in points_in(root):
        for node in _calls_of(point.stmt):
            op = op_of(node)
            if op is None:
                continue
            for index, arg in enumerate(node.args):
                names = roots.get(arg, ()) if isinstance(arg, Var) else ()
                read.update(names if index in op.reads else ())
                written.update(names if index in op.writes else ())
    return read, written


def with_directions(kernel: Function) -> Function:
    """Return ``kernel`` with the direction of each parameter inferred from its accesses.

    A tensor that ops write is Out, one that they also read is InOut; all others are In.
    """
    root = number(kernel)
    read, written = _accessed(root, alias_bases(kernel, root))
    pairs = [(p, _direction(p in read, p in written)) for p in kernel.params]
    return Function(
        kernel.name, pairs, kernel.return_types, kernel.body, kernel.span, kernel.func_type
    )


def _calls_of(stmt: Stmt) -> Iterator[Call]:
    for child in children(stmt):
        if not isinstance(child, Stmt):
            for node in walk(child):
                if isinstance(node, Call):
                    yield node


def _direction(read: bool, written: bool) -> ParamDirection:
    if not written:
        return ParamDirection.In
    return ParamDirection.InOut if read else ParamDirection.Out
