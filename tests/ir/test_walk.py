"""Traversal and rebuilding, derived from the field marks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from pypto import ir
from pypto._src.ir.traversal.mutator import Mutator, map_bodies, substitute
from pypto._src.ir.traversal.queries import (
    call_order,
    calls_of,
    defined_by,
    exprs_in,
    functions_called,
    is_arithmetic,
    is_flat,
    occurring,
    ops_called,
    stmts_in,
    uses,
    variable_names,
)
from pypto._src.ir.traversal.walk import children, copy_with, walk
from tests.ir.samples import INT, assign, function, kernel, loop_sum, program, seq, var

x, y, z = var("x"), var("y"), var("z")


def names(node: ir.IRNode) -> list[str]:
    return [type(child).__name__ for child in children(node)]


CHILDREN: list[tuple[ir.IRNode, list[str]]] = [
    (x, []),
    (ir.IterArg("s", INT, 0), ["ConstInt"]),
    (ir.MemRef(ir.MemorySpace.Vec, 0, 1), ["ConstInt"]),
    (ir.ConstInt(1), []),
    (x + 1, ["Var", "ConstInt"]),
    (-x, ["Var"]),
    (ir.MakeTuple([x, 1]), ["Var", "ConstInt"]),
    (ir.Call(ir.Op("o"), [x]), ["Var"]),
    (assign(x, y + z), ["Var", "Add"]),
    (ir.EvalStmt(x), ["Var"]),
    (ir.YieldStmt([x, y]), ["Var", "Var"]),
    (ir.BreakStmt(), []),
    (ir.IfStmt(x > y, seq(), None, [z]), ["Gt", "SeqStmts", "Var"]),
    (
        ir.ForStmt(x, 0, 1, 1, [ir.IterArg("s", INT, 0)], seq(), [z]),
        ["ConstInt", "ConstInt", "ConstInt", "Var", "IterArg", "SeqStmts", "Var"],
    ),
    (
        ir.WhileStmt(x > y, [ir.IterArg("s", INT, 0)], seq(), [z]),
        ["IterArg", "Gt", "SeqStmts", "Var"],
    ),
    (ir.ScopeStmt(ir.ScopeKind.InCore, seq()), ["SeqStmts"]),
    (function([x, y], results=[INT]), ["Var", "Var", "SeqStmts"]),
    (program(function([])), ["Function"]),
]


@pytest.mark.parametrize(
    ("node", "kinds"), CHILDREN, ids=[type(node).__name__ for node, _ in CHILDREN]
)
def test_children(node: ir.IRNode, kinds: list[str]) -> None:
    """Each node class has its children in evaluation order."""
    assert names(node) == kinds


def test_walk_visits_parents_first() -> None:
    """A walk is in textual order, parents before their children."""
    kinds = [type(node).__name__ for node in walk(assign(x, (y + 1) * z))]
    assert kinds == ["AssignStmt", "Var", "Mul", "Add", "Var", "ConstInt", "Var"]


def test_stmts_in_are_in_textual_order() -> None:
    """Nested statements come after their parent; sequences are left out."""
    inner = ir.IfStmt(x > 1, assign(y, 1), assign(y, 2))
    outer = ir.ForStmt(x, 0, 4, 1, [], seq(inner, seq(ir.BreakStmt())), [])
    kinds = [type(stmt).__name__ for stmt in stmts_in(seq(outer, ir.ReturnStmt()))]
    assert kinds == ["ForStmt", "IfStmt", "AssignStmt", "AssignStmt", "BreakStmt", "ReturnStmt"]


def test_uses() -> None:
    """The variables in expressions, once per occurrence."""
    value = ir.Call(ir.Op("o"), [x + y, ir.MakeTuple([x])])
    assert [v.name for v in uses([value])] == ["x", "y", "x"]
    assert [type(e).__name__ for e in exprs_in(assign(z, value))] == ["Var", "Call"]


def test_ops_called() -> None:
    """Each op once, in textual order, with its first call, nested ones included."""
    a, b, c, d = (ir.Op(name) for name in "abcd")
    inner = ir.Call(b, [y])
    outer = ir.Call(a, [x, ir.MakeTuple([inner])])
    again = ir.Call(b, [x])
    test = ir.Call(c, [x], INT)
    last = ir.Call(d, [])
    body = seq(
        assign(z, outer),
        ir.IfStmt(test > 0, assign(z, again), ir.EvalStmt(last)),
        ir.EvalStmt(ir.Call(a, [])),
    )
    found = ops_called(stmts_in(body))
    assert [op.name for op in found] == ["a", "b", "c", "d"]
    for call, first in zip(found.values(), [outer, inner, test, last], strict=True):
        assert call is first
    assert is_flat(inner)
    assert not is_flat(outer)


def test_arithmetic() -> None:
    """Operators on variables and constants are; a call, nested or alone, and a variable are not."""
    call = ir.Call(ir.Op("o"), [x], INT)
    assert is_arithmetic((x + 1) * y - z)
    assert not is_arithmetic((x + call) * y)
    assert not is_arithmetic(call)
    assert not is_arithmetic(x)


def test_calls_below_shared_operands() -> None:
    """A sum of itself, many times over, is searched once per node, and its call is found."""
    call = ir.Call(ir.Op("o"), [x], INT)
    for leaf, found in ((call, [call]), (x, [])):
        total: ir.Expr = leaf
        for _ in range(200):
            total = total + total
        assert all(a is b for a, b in zip(calls_of(assign(z, total)), found, strict=True))


def test_occurring_variables() -> None:
    """Each occurrence, whatever the statement is: a call, a sum, values carried by a loop."""
    call = ir.Call(ir.Op("o"), [x, 1, y + ir.Call(ir.Op("o"), [z], INT), ir.MakeTuple([x, 2])])
    loop = ir.WhileStmt(x > 0, [ir.IterArg("s", INT, y)], seq(assign(z, z)), [z])
    found = [occurring(stmt) for stmt in (assign(z, call), assign(z, x + x), ir.BreakStmt(), loop)]
    assert [sorted(v.name for v in each) for each in found] == [
        ["x", "x", "y", "z"],
        ["x", "x"],
        [],
        ["s", "x", "y", "z"],
    ]


def test_variable_names() -> None:
    """Everything a function defines in any way, and the sizes of its parameters, used or not."""
    size = var("rows", ir.ScalarType(ir.INDEX))
    tensor = var("t", ir.TensorType([size, 8], ir.FP32))
    loop = ir.ForStmt(var("i"), 0, x, 1, [ir.IterArg("s", INT, 0)], seq(assign(y, x)), [var("r")])
    branch = ir.IfStmt(x > 0, seq(loop), seq(assign(z, 1)), [var("w")])
    assert variable_names(function([tensor, x], branch)) == set("tixyzsrw") | {"rows"}


# --------------------------------------------------------------------------------------------
# Rebuilding
# --------------------------------------------------------------------------------------------


class _Nothing(Mutator):
    """Changes nothing."""


class _Double(Mutator):
    """1 -> 2, everywhere."""

    def visit_ConstInt(self, node: ir.ConstInt) -> ir.Expr:
        return ir.ConstInt(2) if node.value == 1 else node


class _Twice(Mutator):
    """Duplicates each evaluation."""

    def visit_EvalStmt(self, node: ir.EvalStmt) -> Any:
        return [node, node]


class _Count(Mutator):
    """Counts binary and other expressions by base class."""

    def __init__(self) -> None:
        super().__init__()
        self.binary = self.other = 0

    def visit_BinaryExpr(self, node: ir.BinaryExpr) -> ir.Expr:
        self.binary += 1
        return self.rebuild(node)

    def visit_Expr(self, node: ir.Expr) -> ir.Expr:
        self.other += 1
        return self.rebuild(node)


def test_unchanged_trees_keep_their_identity() -> None:
    """A rewrite that changes nothing returns the same program object."""
    for whole in (program(loop_sum()), program(kernel())):
        assert _Nothing().program(whole) is whole
        assert _Double().visit(assign(x, y)) is not None
    stmt = assign(x, y + 3)
    assert _Double().visit(stmt) is stmt


def test_methods_that_come_later() -> None:
    """A user's class, or an instance of it, may get methods after it was used."""

    class Late(Mutator):
        """Changes nothing yet."""

    expr = y + 1
    assert Late().visit(expr) is expr
    setattr(Late, "visit_ConstInt", _Double.visit_ConstInt)  # noqa: B010  as a user patches
    assert str(Late().visit(expr)) == "y + 2"
    alone = _Nothing()
    setattr(alone, "visit_ConstInt", _Double().visit_ConstInt)  # noqa: B010
    assert str(alone.visit(expr)) == "y + 2"


def test_methods_of_other_kinds() -> None:
    """A method may be a static one, a class method, or any callable object."""

    class Two:
        def __call__(self, node: ir.ConstInt) -> ir.Expr:
            return ir.ConstInt(2)

    class Static(Mutator):
        @staticmethod
        def visit_ConstInt(node: ir.ConstInt) -> ir.Expr:
            return ir.ConstInt(2)

    class OfClass(Mutator):
        @classmethod
        def visit_ConstInt(cls, node: ir.ConstInt) -> ir.Expr:
            return ir.ConstInt(2)

    class Called(Mutator):
        visit_ConstInt = Two()

    for made in (Static(), OfClass(), Called()):
        assert str(made.visit(y + 1)) == "y + 2"


def test_a_method_of_an_object_is_of_no_other() -> None:
    """A method set on one mutator does not affect another one of the same class."""
    alone = Mutator()
    setattr(alone, "visit_ConstInt", _Double().visit_ConstInt)  # noqa: B010
    assert str(alone.visit(y + 1)) == "y + 2"
    assert str(Mutator().visit(y + 1)) == "y + 1"


def test_changes_keep_the_rest() -> None:
    """Only the path to a change is copied; spans are kept."""
    span = ir.Span("f.py", 7, 1)
    kept = assign(z, y)
    before = ir.SeqStmts([ir.AssignStmt(x, y + 1, span), kept])
    after = _Double().visit(before)
    assert str(after.stmts[0]) == "x: pl.Scalar[pl.INT64] = y + 2"
    assert after.stmts[0].span is span
    assert after.stmts[0].var is x
    assert after.stmts[1] is kept
    assert str(before.stmts[0]) == "x: pl.Scalar[pl.INT64] = y + 1"


def test_bases_serve_their_classes() -> None:
    """A visitor of a base class gets the nodes of every class without its own visitor."""
    counter = _Count()
    counter.visit(assign(x, (y + 1) * ir.Abs(z, ir.INT64)))
    assert (counter.binary, counter.other) == (2, 2)


def test_lists_are_spliced() -> None:
    """Several statements that replace one are spliced into its sequence, or form one."""
    stmt = ir.EvalStmt(x)
    assert len(_Twice().visit(seq(stmt, assign(y, 1))).stmts) == 3
    branch = _Twice().visit(ir.IfStmt(x > 1, stmt, None))
    assert str(branch) == "if x > 1:\n    x\n    x"


def test_init_values_are_rebuilt() -> None:
    """A changed init value creates a new iter_arg, to which its uses refer."""
    carried = ir.IterArg("s", INT, 1)
    loop = ir.ForStmt(x, 0, 4, 1, [carried], ir.YieldStmt([carried + 5]), [y])
    after = _Double().visit(loop)
    assert after.iter_args[0] is not carried
    assert str(after) == (
        "for x, (s,) in pl.range(0, 4, 2, init_values=(2,)):\n"
        "    y: pl.Scalar[pl.INT64] = pl.yield_(s + 5)"
    )
    assert after.body.value[0].left is after.iter_args[0]


def test_substitute() -> None:
    """Uses are replaced, definitions stay."""
    stmt = assign(x, x + y)
    after = substitute(stmt, {x: z, y: ir.ConstInt(3)})
    assert str(after) == "x: pl.Scalar[pl.INT64] = z + 3"
    assert substitute(stmt, {}) is stmt
    assert substitute(stmt, {var("other"): z}) is stmt


def test_map_bodies() -> None:
    """Every body is replaced; a statement without changed bodies is returned itself."""
    first, second = assign(y, 1), assign(y, 2)
    branch = ir.IfStmt(x > 1, first, second, [z])
    assert map_bodies(branch, lambda body: body) is branch
    new = map_bodies(branch, lambda body: second if body is first else first)
    assert isinstance(new, ir.IfStmt)
    assert (new.then_body, new.else_body) == (second, first)
    assert new.condition is branch.condition
    assert new.return_vars is branch.return_vars
    short = ir.IfStmt(x > 1, first, None)
    assert map_bodies(short, lambda _: second).else_body is None  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert map_bodies(first, lambda _: second) is first


def test_copy_with() -> None:
    """A copy has all fields of the original except those given."""
    call = ir.Call(ir.Op("o"), [x], {"k": 1}, INT, ir.Span("f.py", 1, 1))
    copy = copy_with(call, {"args": (y,)})
    assert (copy.op, copy.kwargs, copy.type, copy.span) == (
        call.op,
        call.kwargs,
        call.type,
        call.span,
    )
    assert copy.args == (y,)
    assert call.args == (x,)


# --------------------------------------------------------------------------------------------
# Depth and length
# --------------------------------------------------------------------------------------------


class _Guarded(ir.Stmt):
    """A class unknown to the project: fields of every shape, a body, and no slots."""

    label: str
    guard: ir.Expr | None
    items: tuple[ir.Expr, ...]
    extra: ir.Expr | tuple[ir.Expr, ...]
    body: ir.Stmt

    def __init__(self, label: str, guard: Any, items: Any, extra: Any, body: ir.Stmt) -> None:
        super().__init__()
        given = {"label": label, "guard": guard, "items": items, "extra": extra, "body": body}
        for name, value in given.items():
            object.__setattr__(self, name, value)


@pytest.mark.parametrize("guard", [None, z])
@pytest.mark.parametrize("extra", [y, (y, x)])
def test_a_class_from_outside(guard: Any, extra: Any) -> None:
    """Its children, statements, variables and copies follow from its declarations."""
    inner = assign(x, 1)
    node = _Guarded("a", guard, (x, y), extra, seq(inner))
    after: list[ir.IRNode] = [y, x] if isinstance(extra, tuple) else [y]
    held: list[ir.IRNode] = [*([] if guard is None else [z]), x, y, *after]

    def same(found: Iterable[ir.IRNode], wanted: list[ir.IRNode]) -> bool:
        return [id(each) for each in found] == [id(each) for each in wanted]

    assert same(children(node), [*held, node.body])
    assert same(exprs_in(node), held)
    assert same(uses(exprs_in(node)), held)
    assert same(walk(node), [node, *held, node.body, inner, x, inner.value])
    assert same(stmts_in(node), [node, inner])
    copy = copy_with(node, {"label": "b", "items": ()})
    assert type(copy) is _Guarded
    assert (copy.label, copy.items, copy.guard is guard) == ("b", (), True)
    assert copy.body is node.body
    assert (node.label, len(node.items), copy.span) == ("a", 2, node.span)
    double: Any = _Double().visit(node)
    assert (double.label, double.body.stmts[0].value.value) == ("a", 2)
    with pytest.raises(AttributeError, match=r"^_Guarded is immutable: cannot set 'label'$"):
        node.label = "c"


def test_long_bodies() -> None:
    """10,000 statements in a row are walked and rewritten."""
    body = seq(*[assign(var(f"v{n}"), x + 1) for n in range(10_000)])
    assert sum(isinstance(node, ir.Add) for node in walk(body)) == 10_000
    after = _Double().visit(body)
    assert all(str(stmt.value) == "x + 2" for stmt in after.stmts)


class _Calls(Mutator):
    """Counts its visits, in order; its own method is also called in deep expressions."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def visit_Call(self, call: ir.Call) -> ir.Expr:
        new = self.rebuild(call)
        self.seen.append(call.op.name)
        return new


def test_deep_expressions() -> None:
    """10,000 nested operators are rewritten, whichever side they are nested on."""
    ways: list[Callable[[ir.Expr], ir.Expr]] = [lambda e: e + x, lambda e: x + e, lambda e: -e]
    for grow in ways:
        chain: ir.Expr = x * 1
        for _ in range(10_000):
            chain = grow(chain)
        after = _Double().visit(chain)
        assert [str(n.value) for n in walk(after) if isinstance(n, ir.ConstInt)] == ["2"]
        assert sum(1 for _ in walk(after)) == sum(1 for _ in walk(chain))
        assert _Nothing().visit(chain) is chain


def test_visits_in_deep_expressions_keep_their_order() -> None:
    """Operands are visited from left to right, each occurrence once, at any depth."""

    def called(name: str, *args: Any) -> ir.Call:
        return ir.Call(ir.Op(name), args, INT)

    shared = called("s")
    chain: ir.Expr = called("a", called("b")) + shared * shared
    for _ in range(200):
        chain = chain + 1
    calls = _Calls()
    assert calls.visit(chain + called("z")) is not None
    assert calls.seen == ["b", "a", "s", "s", "z"]


def test_deep_nesting() -> None:
    """200 nested loops are walked and rewritten."""
    stmt: ir.Stmt = assign(y, x + 1)
    for _ in range(200):
        stmt = ir.ForStmt(var("i"), 0, 1, 3, [], stmt, [])
    assert sum(isinstance(node, ir.ForStmt) for node in walk(stmt)) == 200
    after = _Double().visit(stmt)
    assert str(after).splitlines()[-1].strip() == "y: pl.Scalar[pl.INT64] = x + 2"


# --------------------------------------------------------------------------------------------
# Functions and parents
# --------------------------------------------------------------------------------------------


def calling(name: str, *others: str) -> ir.Function:
    calls = [ir.EvalStmt(ir.Call(ir.GlobalVar(other), [])) for other in others]
    return function([], *calls, name=name)


def test_call_order() -> None:
    """Callees come first, in name order where nothing else decides."""
    whole = program(calling("a", "c", "b", "c"), calling("b", "d"), calling("c"), calling("d"))
    assert [f.name for f in call_order(whole)] == ["d", "b", "c", "a"]
    first = whole.get_function("a")
    assert first is not None
    assert functions_called(first) == ["c", "b"]


def test_parents() -> None:
    """Every statement has its parent in the map, until that is cleared."""
    inner = assign(y, 1)
    branch = ir.IfStmt(x > 1, inner, None)
    f = ir.Function("f", [x], [], seq(branch))
    parents = ir.ParentStmtAnalysis()
    parents.build_map(f)
    assert parents.get_parent(inner) is branch
    assert parents.get_parent(branch) is f.body
    assert parents.get_parent(f.body) is None
    assert parents.has_parent(inner)
    assert not parents.has_parent(f.body)
    parents.clear()
    assert not parents.has_parent(inner)


def test_defined_by() -> None:
    """A statement defines what it assigns, counts, carries and results in, and nothing else."""
    arg = ir.IterArg("s", INT, 0)
    inner = assign(y, 1)
    defined: list[tuple[ir.Stmt, list[ir.Var]]] = [
        (inner, [y]),
        (ir.EvalStmt(x), []),
        (ir.ReturnStmt([x]), []),
        (ir.IfStmt(x > y, inner, None, [z]), [z]),
        (ir.ForStmt(x, 0, 1, 1, [arg], inner, [z]), [x, arg, z]),
        (ir.WhileStmt(x > y, [arg], inner, [z]), [arg, z]),
        (ir.ScopeStmt(ir.ScopeKind.InCore, inner), []),
    ]
    for stmt, wanted in defined:
        assert [id(var) for var in defined_by(stmt)] == [id(var) for var in wanted]
