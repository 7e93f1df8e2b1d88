"""ConvertToSSA: text before and after, semantics, errors."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.dtypes import DataType
from pypto._src.emit.cpp.generate import kernel_file
from pypto._src.errors import PassError
from pypto._src.ir.array_types import TensorType, TileType, TileView
from pypto._src.ir.enums import ForKind, ScopeKind
from pypto._src.ir.exprs import Call, ConstBool, ConstInt, Expr, IterArg, Op, Var
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
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto._src.ir.traversal.queries import stmts_in
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA, to_ssa
from pypto._src.passes.sync.checker import check_sync
from tests import effort
from tests.passes.scalar_machine import run
from tests.passes.scalars import INT64, T, body_text, function, program, python, sources


def converted(source: str) -> str:
    [result] = ConvertToSSA()(program(dedent(source))).functions_
    return body_text(result)


def lines(expected: str) -> str:
    return dedent(expected).strip("\n")


def integer(value: int) -> Expr:
    return ConstInt(value, INT64)


def let(var: Var, value: Expr) -> AssignStmt:
    return AssignStmt(var=var, value=value)


def assert_single_assignment(function: Function) -> None:
    """Fail if a variable is defined twice or a jump remains."""
    seen: set[Var] = set()
    names: list[str] = [param.name for param in function.params]
    for stmt in stmts_in(function.body):
        match stmt:
            case AssignStmt():
                new: tuple[Var, ...] = (stmt.var,)
            case IfStmt():
                new = stmt.return_vars
            case ForStmt():
                new = (stmt.loop_var, *stmt.iter_args, *stmt.return_vars)
            case WhileStmt():
                new = (*stmt.iter_args, *stmt.return_vars)
            case EvalStmt() | YieldStmt() | ReturnStmt() | ScopeStmt():
                new = ()
            case _:
                pytest.fail(f"{stmt.type_name()} is left")
        for var in new:
            assert var not in seen, var.name
            seen.add(var)
            names.append(var.name)
    assert len(names) == len(set(names))


def test_names_that_others_have() -> None:
    """A new name never clashes with a variable that the function reads but never assigns."""
    x, other = Var("x", T), Var("x_1", T)
    stmts = [AssignStmt(x, ConstInt(1, INT64)), AssignStmt(x, other), AssignStmt(x, x)]
    found = to_ssa(Function("f", [], [T], SeqStmts((*stmts, ReturnStmt((x,))))))
    assigned = [stmt for stmt in stmts_in(found.body) if isinstance(stmt, AssignStmt)]
    assert [stmt.var.name for stmt in assigned] == ["x_0", "x_2", "x_3"]
    assert [str(stmt.value) for stmt in assigned] == ["1", "x_1", "x_2"]


def test_single_definitions_stay() -> None:
    """A program whose variables are assigned once is returned as the same object."""
    before = program("def f(n):\n    x = n + 1\n    y = x + n\n    return y")
    assert ConvertToSSA()(before) is before


def test_result_is_in_ssa_form_already() -> None:
    """Converting the result again changes nothing."""
    before = function(
        "def f(n):\n    s = 0\n    for i in range(n):\n        s = s + i\n    return s"
    )
    after = to_ssa(before)
    assert after is not before
    assert to_ssa(after) is after


def test_versions_are_numbered_by_name() -> None:
    """A name assigned twice is numbered from 0; a parameter keeps its name and counts as 0."""
    source = """
        def f(n):
            x = n
            x = x + 1
            n = x
            return n
        """
    assert converted(source) == lines("""
        x_0 = n
        x_1 = x_0 + 1
        n_1 = x_1
        return n_1
        """)


def test_taken_names_are_skipped() -> None:
    """A number or `_iter` suffix that would yield a name of the source is skipped."""
    source = """
        def f(n):
            x_1 = n
            x = 1
            x = x_1 + x
            x_iter = 0
            for i in range(n):
                x = x + x_iter
            return x
        """
    assert converted(source) == lines("""
        x_1 = n
        x_0 = 1
        x_2 = x_1 + x_0
        x_iter = 0
        for i, (x_iter_1,) in pl.range(0, n, 1, init_values=(x_2,)):
            x_3 = x_iter_1 + x_iter
            x_4 = pl.yield_(x_3)
        return x_4
        """)


def test_branch_merges_what_is_read_after_it() -> None:
    """A variable assigned in one branch is merged with its old value; the unread `t` is not."""
    source = """
        def f(n):
            x = n
            if n < 3:
                x = x + 1
                t = x
            return x
        """
    assert converted(source) == lines("""
        x_0 = n
        if n < 3:
            x_1 = x_0 + 1
            t = x_1
            x_2 = pl.yield_(x_1)
        else:
            x_2 = pl.yield_(x_0)
        return x_2
        """)


def test_variable_first_assigned_in_both_branches() -> None:
    """No value before the if is needed when both branches assign; merges are in name order."""
    source = """
        def f(n):
            if n < 3:
                y = 1
                x = 2
            else:
                x = 3
                y = x
            return x, y
        """
    assert converted(source) == lines("""
        if n < 3:
            y_0 = 1
            x_0 = 2
            x_2, y_2 = pl.yield_(x_0, y_0)
        else:
            x_1 = 3
            y_1 = x_1
            x_2, y_2 = pl.yield_(x_1, y_1)
        return x_2, y_2
        """)


def test_loop_carries_what_the_next_iteration_or_the_rest_reads() -> None:
    """`s` is carried; `t`, assigned before it is read in each iteration, is not."""
    source = """
        def f(n):
            s = 0
            t = 0
            for i in range(n):
                t = i + s
                s = t
            return s
        """
    assert converted(source) == lines("""
        s_0 = 0
        t_0 = 0
        for i, (s_iter,) in pl.range(0, n, 1, init_values=(s_0,)):
            t_1 = i + s_iter
            s_1 = t_1
            s_2 = pl.yield_(s_1)
        return s_2
        """)


def test_value_may_be_carried_unread() -> None:
    """A variable that the loop only overwrites is carried when it is read after the loop."""
    source = """
        def f(n):
            s = 0
            for i in range(n):
                s = i
            return s
        """
    assert converted(source) == lines("""
        s_0 = 0
        for i, (s_iter,) in pl.range(0, n, 1, init_values=(s_0,)):
            s_1 = i
            s_2 = pl.yield_(s_1)
        return s_2
        """)


def test_while_and_nested_loops() -> None:
    """The condition of a while sees the carried values; inner loops start from the outer's."""
    source = """
        def f(n, m):
            s = 0
            while n < m:
                n = n + 1
                for i in range(n):
                    if i < 3:
                        s = s + i
            return s
        """
    assert converted(source) == lines("""
        s_0 = 0
        for (n_iter, s_iter) in pl.while_(init_values=(n, s_0)):
            pl.cond(n_iter < m)
            n_1 = n_iter + 1
            for i, (s_iter_1,) in pl.range(0, n_1, 1, init_values=(s_iter,)):
                if i < 3:
                    s_1 = s_iter_1 + i
                    s_2 = pl.yield_(s_1)
                else:
                    s_2 = pl.yield_(s_iter_1)
                s_3 = pl.yield_(s_2)
            n_2, s_4 = pl.yield_(n_1, s_3)
        return s_4
        """)


def test_loop_variable_read_after_the_loop() -> None:
    """As in Python, a loop variable keeps its last value; its old one if the loop is empty."""
    source = """
        def f(n):
            i = 7
            for i in range(n):
                i = i + 1
            return i
        """
    assert converted(source) == lines("""
        i_0 = 7
        for i_1, (i_iter,) in pl.range(0, n, 1, init_values=(i_0,)):
            i_2 = i_1 + 1
            i_3 = pl.yield_(i_2)
        return i_3
        """)


def test_continue_becomes_a_branch() -> None:
    """What follows `if c: continue` moves into the else branch."""
    source = """
        def f(n):
            s = 0
            for i in range(n):
                if i == 2:
                    continue
                s = s + i
            return s
        """
    assert converted(source) == lines("""
        s_0 = 0
        for i, (s_iter,) in pl.range(0, n, 1, init_values=(s_0,)):
            if i == 2:
                s_2 = pl.yield_(s_iter)
            else:
                s_1 = s_iter + i
                s_2 = pl.yield_(s_1)
            s_3 = pl.yield_(s_2)
        return s_3
        """)


def test_break_lets_the_other_iterations_idle() -> None:
    """A counted loop with a break keeps counting, with its body guarded by the flag `broke`."""
    source = """
        def f(n):
            s = 0
            for i in range(n):
                if s >= 9:
                    break
                s = s + i
            return s
        """
    assert converted(source) == lines("""
        s_0 = 0
        broke_0: pl.Scalar[pl.BOOL] = False
        for i, (broke_iter, s_iter) in pl.range(0, n, 1, init_values=(broke_0, s_0)):
            if not broke_iter:
                if s_iter >= 9:
                    broke_1: pl.Scalar[pl.BOOL] = True
                    broke_2, s_2 = pl.yield_(broke_1, s_iter)
                else:
                    s_1 = s_iter + i
                    broke_2, s_2 = pl.yield_(broke_iter, s_1)
                broke_3, s_3 = pl.yield_(broke_2, s_2)
            else:
                broke_3, s_3 = pl.yield_(broke_iter, s_iter)
            broke_4, s_4 = pl.yield_(broke_3, s_3)
        return s_4
        """)


def test_break_ends_a_while() -> None:
    """The condition of a while is not evaluated again after a break."""
    source = """
        def f(n):
            while n < 9:
                n = n + 1
                if n == 5:
                    break
            return n
        """
    assert converted(source) == lines("""
        go_0: pl.Scalar[pl.BOOL] = n < 9
        for (go_iter, n_iter) in pl.while_(init_values=(go_0, n)):
            pl.cond(go_iter)
            broke_0: pl.Scalar[pl.BOOL] = False
            n_1 = n_iter + 1
            if n_1 == 5:
                broke_1: pl.Scalar[pl.BOOL] = True
                broke_2: pl.Scalar[pl.BOOL] = pl.yield_(broke_1)
            else:
                broke_2: pl.Scalar[pl.BOOL] = pl.yield_(broke_0)
            if broke_2:
                go_1: pl.Scalar[pl.BOOL] = False
                go_3: pl.Scalar[pl.BOOL] = pl.yield_(go_1)
            else:
                go_2: pl.Scalar[pl.BOOL] = n_1 < 9
                go_3: pl.Scalar[pl.BOOL] = pl.yield_(go_2)
            go_4, n_2 = pl.yield_(go_3, n_1)
        return n_2
        """)


def test_early_return_becomes_a_branch() -> None:
    """What follows `if c: return a` moves into the else branch; one return remains."""
    source = """
        def f(n):
            if n < 0:
                return 0
            n = n + 1
            return n
        """
    assert converted(source) == lines("""
        if n < 0:
            result_0 = 0
            result_2 = pl.yield_(result_0)
        else:
            n_1 = n + 1
            result_1 = n_1
            result_2 = pl.yield_(result_1)
        return result_2
        """)


def test_explicit_values_come_first() -> None:
    """Carried values in the source keep their position and name; others follow in name order."""
    n, s, z, i = (Var(name, T) for name in ("n", "s", "z", "i"))
    acc = IterArg("acc", T, n)
    iteration = SeqStmts(stmts=(let(z, z + i), let(s, s + acc), YieldStmt([acc + s])))
    loop = ForStmt(i, 0, n, 1, [acc], iteration, [Var("acc", T)])
    end = ReturnStmt([loop.return_vars[0], s, z])
    body = [let(s, integer(0)), let(z, integer(0)), loop, end]
    assert body_text(to_ssa(Function("f", [n], [T, T, T], body))) == lines("""
        s_0 = 0
        z_0 = 0
        for i, (acc, s_iter, z_iter) in pl.range(0, n, 1, init_values=(n, s_0, z_0)):
            z_1 = z_iter + i
            s_1 = s_iter + acc
            acc, s_2, z_2 = pl.yield_(acc + s_1, s_1, z_1)
        return acc, s_2, z_2
        """)


def test_branch_with_explicit_yield_and_merge() -> None:
    """A branch that yields and also assigns passes on both, the yielded value first."""
    n, x, y = (Var(name, T) for name in ("n", "x", "y"))
    then = SeqStmts(stmts=(let(x, n + x), YieldStmt([n])))
    branch = IfStmt(condition=n < 3, then_body=then, else_body=YieldStmt([x]), return_vars=(y,))
    body = [let(x, integer(0)), branch, ReturnStmt([x, y])]
    assert body_text(to_ssa(Function("f", [n], [T, T], body))) == lines("""
        x_0 = 0
        if n < 3:
            x_1 = n + x_0
            y, x_2 = pl.yield_(n, x_1)
        else:
            y, x_2 = pl.yield_(x_0, x_0)
        return x_2, y
        """)


def test_return_vars_without_yields() -> None:
    """The form of document 002, whose branches assign the result themselves, is accepted."""
    n, r = Var("n", T), Var("r", T)
    branch = IfStmt(
        condition=n < 0,
        then_body=let(r, integer(1)),
        else_body=let(r, integer(2)),
        return_vars=(r,),
    )
    result = to_ssa(Function("f", [n], [T], [branch, ReturnStmt([r])]))
    assert body_text(result) == lines("""
        if n < 0:
            r_0 = 1
            r_2 = pl.yield_(r_0)
        else:
            r_1 = 2
            r_2 = pl.yield_(r_1)
        return r_2
        """)


def test_tensor_is_carried() -> None:
    """`out = store(out)` in a loop carries the tensor like any other variable."""
    kind = TensorType([64, 64], DataType.FP32)
    out, n, i = Var("out", kind), Var("n", T), Var("i", T)
    store = let(out, Call(Op(name="store"), [i, out], type=kind))
    loop = ForStmt(i, integer(0), n, integer(1), (), store, ())
    result = to_ssa(Function("f", [n, out], [kind], [loop, ReturnStmt([out])]))
    assert body_text(result) == lines("""
        for i, (out_iter,) in pl.range(0, n, 1, init_values=(out,)):
            out_1: pl.Tensor[[64, 64], pl.FP32] = store(i, out_iter)
            out_2: pl.Tensor[[64, 64], pl.FP32] = pl.yield_(out_1)
        return out_2
        """)


def test_types_name_the_present_variables() -> None:
    """A tile whose valid shape is a variable keeps the value that it was created with."""
    m = Var("m", T)
    tile = Var("t", TileType([64, 64], DataType.FP32, None, TileView([m, 64])))
    again = Var("u", tile.type)
    body = [
        let(m, m + 1),
        let(tile, Call(Op(name="load"), [m], type=tile.type)),
        let(m, m + 1),
        let(again, tile),
        ReturnStmt([m]),
    ]
    result = to_ssa(Function("f", [m], [T], body))
    first, load, second, copy, _ = stmts_in(result.body)
    assert isinstance(first, AssignStmt)
    assert isinstance(load, AssignStmt)
    assert isinstance(second, AssignStmt)
    assert isinstance(copy, AssignStmt)
    for var in (load.var, copy.var):
        assert isinstance(var.type, TileType)
        assert var.type.tile_view is not None
        assert var.type.tile_view.valid_shape[0] is first.var
    assert second.var is not first.var


def test_scope_is_transparent() -> None:
    """What a scope assigns is visible after it, and merged around it."""
    n, x = Var("n", T), Var("x", T)
    scope = ScopeStmt(scope_kind=ScopeKind.InCore, body=let(x, x + n))
    branch = IfStmt(condition=n < 3, then_body=scope, else_body=None)
    result = to_ssa(Function("f", [n], [T], [let(x, n), branch, ReturnStmt([x])]))
    assert body_text(result) == lines("""
        x_0 = n
        if n < 3:
            with pl.incore():
                x_1 = x_0 + n
            x_2 = pl.yield_(x_1)
        else:
            x_2 = pl.yield_(x_0)
        return x_2
        """)


def test_shared_statement_is_converted_in_each_place() -> None:
    """One statement object in two positions gets different variables in each."""
    n, x = Var("n", T), Var("x", T)
    step = IfStmt(condition=n < x, then_body=let(x, x + 1), else_body=let(x, x + 2))
    result = to_ssa(Function("f", [n, x], [T], [step, step, ReturnStmt([x])]))
    assert_single_assignment(result)
    assert run(result, [5, 4]) == (7,)


@pytest.mark.parametrize(
    ("source", "message", "line"),
    [
        (
            """
            def f(n):
                for i in range(n):
                    x = i
                return x
            """,
            "'x' is first assigned in this loop, and read by the next iteration or after it",
            2,
        ),
        (
            """
            def f(n):
                y = x
                x = n
                return y
            """,
            "'x' is read here, and some paths to this statement do not assign it",
            2,
        ),
        (
            """
            def f(n):
                for i in range(n):
                    if i < 2:
                        return i
                return n
            """,
            "this return is inside a loop",
            4,
        ),
        (
            """
            def f(n):
                if n < 5:
                    if n < 3:
                        return 1
                    n = 2
                return n
            """,
            "a return in this if leaves only on some paths",
            2,
        ),
        (
            """
            def f(n):
                if n < 5:
                    return 1
            """,
            "some paths through 'f' end without a return, others return a value",
            1,
        ),
    ],
)
def test_errors(source: str, message: str, line: int) -> None:
    """Code without an SSA form is reported at the statement, with a way to fix it."""
    with pytest.raises(PassError) as caught:
        ConvertToSSA()(program(lines(source)))
    assert caught.value.message == message
    assert caught.value.location.begin_line == line


UNASSIGNED = [
    (
        """
        def f(n):
            if n < 0:
                x = 0
            return x
        """,
        "'x' is assigned in one branch of this if only, and read after it",
        -1,
        (0,),
    ),
    (
        """
        def f(n):
            while n < 3:
                if 1 < n:
                    n = x
                x = 7
                n = n + 1
            return n
        """,
        "'x' is first assigned in this loop, and read by the next iteration or after it",
        1,
        (8,),
    ),
    (
        """
        def f(n):
            for i in range(n):
                if i < 2:
                    x = i
            return x
        """,
        "'x' is first assigned in this loop, and read by the next iteration or after it",
        5,
        (1,),
    ),
]


@pytest.mark.parametrize(("source", "message", "argument", "result"), UNASSIGNED)
def test_paths_that_do_not_assign(
    source: str, message: str, argument: int, result: tuple[int, ...]
) -> None:
    """A variable without a value may take any; other paths are unaffected. `to_ssa` rejects it."""
    before = program(lines(source))
    after = ConvertToSSA()(before)
    assert_single_assignment(after.functions_[0])
    assert run(before.functions_[0], [argument]) == result
    assert run(after.functions_[0], [argument]) == result
    with pytest.raises(PassError) as caught:
        to_ssa(before.functions_[0])
    assert caught.value.message == message


def test_two_types_of_one_name() -> None:
    """A name that has another type on one path is reported with both types."""
    small, large = (TileType([size, 64], DataType.FP32) for size in (32, 64))
    n, x, y = Var("n", T), Var("x", small), Var("x", large)
    make = Op(name="make")
    branch = IfStmt(
        condition=n < 3,
        then_body=let(y, Call(make, [], type=large)),
        else_body=None,
    )
    body = [let(x, Call(make, [], type=small)), branch, EvalStmt(expr=Call(make, [y]))]
    with pytest.raises(PassError) as caught:
        to_ssa(Function("f", [n], [], body))
    assert caught.value.slug == "merge-type"
    assert caught.value.message == (
        "'x' has different types on the paths to this place: "
        "pl.Tile[[32, 64], pl.FP32] and pl.Tile[[64, 64], pl.FP32]"
    )


def test_break_from_parallel_loop() -> None:
    """Iterations of a parallel loop have no order, so none of them can end the others."""
    n, i = Var("n", T), Var("i", T)
    test = IfStmt(condition=ConstBool(True), then_body=BreakStmt(), else_body=None)
    loop = ForStmt(i, 0, n, 1, (), test, (), kind=ForKind.Parallel)
    with pytest.raises(PassError, match="its iterations run in any order"):
        ConvertToSSA()(Program([Function("f", [n], [], loop)]))


@given(source=sources())
@settings(max_examples=effort.count(50, thorough_run=150))
def test_meaning_is_kept(source: str) -> None:
    """Random functions with loops, branches and jumps return what Python returns."""
    expected = python(source)
    [after] = ConvertToSSA()(program(source)).functions_
    assert_single_assignment(after)
    for args in ((0, 1), (3, 2), (-1, 5)):
        assert run(after, args) == expected(*args)


def test_long_functions() -> None:
    """Time is linear for ten thousand statements, and nothing recurses."""
    names = [f"v{k}" for k in range(40)]
    steps: list[Stmt] = []
    variables = {name: Var(name, T) for name in names}
    steps += [let(var, integer(k)) for k, var in enumerate(variables.values())]
    for k in range(10_000):
        target, source = variables[names[k % 40]], variables[names[(k * 7) % 40]]
        steps.append(let(target, source + 1))
    end: list[Any] = [ReturnStmt(list(variables.values()))]
    before = Function("f", [], [T] * 40, [*steps, *end])
    after = to_ssa(before)
    assert_single_assignment(after)
    assert run(after, []) == run(before, [])


def test_jump_keeps_explicitly_carried_values() -> None:
    """A continue before the yield of the source leaves the carried values as they are."""
    n, i = Var("n", T), Var("i", T)
    a, b = IterArg("a", T, integer(1)), IterArg("b", T, integer(2))
    results = (Var("a", T), Var("b", T))
    jump = IfStmt(condition=i == 2, then_body=ContinueStmt(), else_body=None)
    iteration = SeqStmts(stmts=(jump, YieldStmt([b, a + i])))
    loop = ForStmt(i, 0, n, 1, (a, b), iteration, results)
    [after] = ConvertToSSA()(
        Program([Function("f", [n], [T, T], [loop, ReturnStmt(results)])])
    ).functions_
    assert_single_assignment(after)
    expected = [1, 2]
    for number in range(5):
        if number != 2:
            expected = [expected[1], expected[0] + number]
    assert run(after, [5]) == tuple(expected)


def test_jump_out_of_a_yielding_branch() -> None:
    """A break in a branch of an if that yields leaves the loop with what was carried before."""
    n, i, s, x = (Var(name, T) for name in ("n", "i", "s", "x"))
    branch = IfStmt(
        condition=i >= 3,
        then_body=BreakStmt(),
        else_body=YieldStmt([s + i]),
        return_vars=(x,),
    )
    loop = ForStmt(i, 0, n, 1, (), SeqStmts(stmts=(branch, let(s, x))), ())
    body = [let(s, integer(10)), loop, ReturnStmt([s])]
    [after] = ConvertToSSA()(Program([Function("f", [n], [T], body)])).functions_
    assert_single_assignment(after)
    assert run(after, [2]) == (11,)
    assert run(after, [9]) == (13,)


def test_jump_beside_a_branch_that_yields_nothing() -> None:
    """What follows such a branch replaces its yield, instead of following it."""
    n, i, s = (Var(name, T) for name in ("n", "i", "s"))
    branch = IfStmt(condition=i >= 3, then_body=BreakStmt(), else_body=YieldStmt([]))
    loop = ForStmt(i, 0, n, 1, (), SeqStmts(stmts=(branch, let(s, s + i))), ())
    body = [let(s, integer(10)), loop, ReturnStmt([s])]
    [after] = ConvertToSSA()(Program([Function("f", [n], [T], body)])).functions_
    assert_single_assignment(after)
    assert run(after, [2]) == (11,)
    assert run(after, [9]) == (13,)


def test_tuples_become_their_items() -> None:
    """A variable that is assigned tuples becomes a variable per item, all assigned at once."""

    @pl.program
    class Iterations:
        @pl.function(type=pl.FunctionType.InCore)
        def k(
            self,
            n: pl.INT64,
            x: pl.Tensor[[48, 64], pl.FP32],
            out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
        ):
            pair = (x[0:16], (x[16:32], n))
            for _ in pl.range(3):
                pair = (pair[1][0], (pair[0] + 1, pair[1][1] * 2))
            first, rest = pair
            same = rest
            out[:] = first + same[0] * pl.cast(rest[1], pl.FP32)

    lowered = PassManager.get_strategy().run_passes(Iterations)
    assert "Tuple" not in str(lowered)
    assert not check_sync(lowered)
    x = np.arange(48 * 64, dtype=np.float32).reshape(48, 64) / 64
    out = np.zeros((16, 64), np.float32)
    runtime.compile(Iterations, "interpreter", strict="late")(2, x, out)
    a, b = x[0:16], x[16:32]
    assert (out == (b + 1) + (a + 2) * 16).all()
    kernel_file(lowered.functions_[0])


def test_sizes_of_tiles_in_tuples() -> None:
    """A tile in a tuple keeps the valid size that it was created with, like any other."""

    @pl.program
    class Sizes:
        @pl.function(type=pl.FunctionType.InCore)
        def k(
            self,
            n: pl.INT64,
            x: pl.Tensor[[16, 16], pl.FP32],
            out: pl.Out[pl.Tensor[[16, 16], pl.FP32]],
        ):
            pair = ((pl.load(x, [0, 0], [16, 16], valid_shapes=[n, 16]), n), n)
            n = n + 5
            pair = ((pl.add(pair[0][0], pair[0][0]), n), n)
            out = pl.store(pair[0][0], [0, 0], [16, 16], out)

    x, out = np.ones((16, 16), np.float32), np.zeros((16, 16), np.float32)
    runtime.compile(Sizes, "interpreter")(3, x, out)
    assert out[:, 0].tolist() == [2.0] * 3 + [0.0] * 13


def test_results_of_calls_stay_tuples() -> None:
    """A call is made once, wherever its results go; a name already in use stays unchanged."""

    @pl.program
    class Either:
        @pl.function
        def both(self, n: pl.INT64) -> tuple[pl.INT64, pl.INT64]:
            return n, n + 1

        @pl.function(type=pl.FunctionType.Orchestration)
        def main(self, n: pl.INT64, pair_0: pl.INT64) -> pl.INT64:
            pair = self.both(n)
            if n > 4:
                pair = (pair[1], pair_0)
            return pair[0] * 10 + pair[1]

    program = ConvertToSSA()(Either)
    assert str(program).count("self.both(n)") == 1
    main = runtime.compile(Either, "interpreter")
    assert [main(n, 7) for n in (3, 5)] == [34, 67]
    assert [runtime.compile(program, "interpreter")(n, 7) for n in (3, 5)] == [34, 67]


def test_items_that_nobody_takes_are_computed() -> None:
    """The unused items of a tuple are still evaluated, in its order."""
    text = """
        # pypto.program: Other
        import pypto.language as pl

        @pl.program
        class Other:
            @pl.function
            def half(self, n: pl.Scalar[pl.INT64], d: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:
                return n // d
            @pl.function(type=pl.FunctionType.Orchestration)
            def main(self, n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:
                a: pl.Tuple[[pl.Scalar[pl.INT64]]] = [self.half(n, 2), [self.half(n, 3)]][1]
                a: pl.Tuple[[pl.Scalar[pl.INT64]]] = [[self.half(n, 5) + a[0]], n][0]
                return a[0] + [self.half(n, 7), a[0]][1]
    """
    other = ir.parse(dedent(text))
    assert isinstance(other, Program)
    program = ConvertToSSA()(other)
    assert ConvertToSSA()(program) is program
    kept = [line.partition("self.half")[2] for line in str(program).splitlines()]
    assert [line for line in kept if line] == [
        "(n, 2)",
        "(n, 3)",
        "(n, 5) + a_0_0",
        "(n, 7), a_0_1][1]",
    ]
    for each in (other, program):
        assert runtime.compile(each, "interpreter", entry="main")(35) == 36
