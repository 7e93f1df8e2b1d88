"""Assignments, branches, loops, yields and the visibility of names."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto._src.errors import (
    LostVariableError,
    ParserSyntaxError,
    ParserTypeError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto._src.ir.array_types import TileType
from pypto._src.ir.enums import ForKind
from pypto._src.ir.exprs import IterArg
from pypto._src.ir.stmts import (
    AssignStmt,
    ForStmt,
    Function,
    IfStmt,
    SeqStmts,
    WhileStmt,
    YieldStmt,
    statements,
)
from pypto._src.ir.traversal.queries import stmts_in
from tests.frontend.texts import body, error, kernel, lines

N = "n: pl.INT64"


def test_name_is_one_variable_while_its_type_stays() -> None:
    """Assigning a name again, also in loops and branches, assigns the same Var."""
    found = kernel(N, "x = n\nfor i in pl.range(n):\n    if i > 2:\n        x += i\nx = 3")
    first, loop, last = statements(found.body)
    assert isinstance(first, AssignStmt)
    assert isinstance(last, AssignStmt)
    assert isinstance(loop, ForStmt)
    assert isinstance(loop.body, IfStmt)
    assert isinstance(loop.body.then_body, AssignStmt)
    assert first.var is loop.body.then_body.var is last.var


def test_new_type_makes_a_new_variable() -> None:
    """Within a block a name may change its type; it is then another Var."""
    found = kernel(N, "x = n\nx = n > 2\nx = n")
    a, b, c = (s.var for s in statements(found.body) if isinstance(s, AssignStmt))
    assert a is not b
    assert b is not c
    assert a.name == b.name == c.name == "x"


def test_number_keeps_the_type_of_the_variable() -> None:
    """A bare number assigned to a scalar variable takes its element type."""
    assert body("n: pl.INT32", "x = n\nx = 0\ny: pl.FP16 = 1\ny += 1") == lines("""
        x = n
        x = pl.const(0, pl.INT32)
        y = pl.const(1.0, pl.FP16)
        y = y + pl.const(1.0, pl.FP16)
        """)


def test_assignment_forms() -> None:
    """Several targets, tuple targets, swaps and augmented assignment."""
    assert body(
        N,
        """
        a = b = n
        c, d = n, 2 * n
        c, d = d, c
        (e, g), k = (n, 1), 2
        a **= 2
        a <<= 1
        """,
    ) == lines("""
        a = n
        b = a
        c = n
        d = 2 * n
        _tmp = d
        _tmp_1 = c
        c = _tmp
        d = _tmp_1
        e = n
        g = 1
        k = 2
        a = a ** 2
        a = a << 1
        """)


def test_constants_in_kernels_make_no_code() -> None:
    """Lists of constants, element types and ops may be bound to a local name."""
    assert body(
        "x: pl.Tensor[[64, 64], pl.FP32]",
        """
        shape = [32, 64]
        origin = (0, 0)
        dtype = pl.FP16
        read = pl.load
        t = pl.cast(read(x, origin, shape), dtype)
        """,
    ) == lines("""
        t = pl.block.cast(pl.block.load(x, [0, 0], [32, 64], target_memory=pl.MemorySpace.Vec), \
target_type=pl.FP16, mode="round")
        """)


def test_branches_define_one_variable() -> None:
    """A name that all branches define is one Var, visible after them."""
    found = kernel(
        N,
        """
        if n > 3:
            x = n
        elif n > 2:
            x = 2 * n
        else:
            x = 3 * n
        return x
        """,
    )
    assigned = [s.var for s in stmts_in(found.body) if isinstance(s, AssignStmt)]
    assert len(assigned) == 3
    assert all(var is assigned[0] for var in assigned)


def test_branches_with_different_variables_are_joined() -> None:
    """If the last definitions in two branches are different Vars, the else branch copies."""
    assert body(
        N,
        """
        if n > 3:
            x = n
        else:
            x = n > 2
            x = 2 * n
        y = x
        """,
    ) == lines("""
        if n > 3:
            x = n
        else:
            x_1 = n > 2
            x_2 = 2 * n
            x = x_2
        y = x
        """)


def test_branch_that_jumps_does_not_count() -> None:
    """After `if c: continue`, what the other branch defines is visible."""
    assert body(
        N,
        """
        y = n
        for i in pl.range(n):
            if i > 3:
                continue
            else:
                x = i
            y += x
        """,
    ) == lines("""
        y = n
        for i in pl.range(0, n, 1):
            if i > 3:
                continue
            else:
                x = i
            y = y + x
        """)


def test_yields_of_branches() -> None:
    """`x = pl.yield_(v)` last in both branches makes return_vars with those names."""
    found = kernel(
        N,
        """
        if n > 3:
            x, y = pl.yield_(n, 1)
        else:
            m = 2 * n
            x, y = pl.yield_(m, 2)
        return x + y
        """,
    )
    branch = statements(found.body)[0]
    assert isinstance(branch, IfStmt)
    assert [var.name for var in branch.return_vars] == ["x", "y"]
    assert isinstance(branch.then_body, YieldStmt)


def test_yields_of_elif() -> None:
    """A branch that ends with an if of its own yields what that yields."""
    assert body(
        N,
        """
        if n > 3:
            x, y = pl.yield_(n, 1)
        elif n > 2:
            x, y = pl.yield_(2, n)
        else:
            x, y = pl.yield_(n, 3)
        if n > 5:
            if n > 6:
                z = pl.yield_(x)
            else:
                z = pl.yield_(y)
        else:
            z = pl.yield_(0)
        return z
        """,
    ) == lines("""
        if n > 3:
            x, y = pl.yield_(n, 1)
        else:
            if n > 2:
                x_1, y_1 = pl.yield_(2, n)
            else:
                x_1, y_1 = pl.yield_(n, 3)
            x, y = pl.yield_(x_1, y_1)
        if n > 5:
            if n > 6:
                z_1 = pl.yield_(x)
            else:
                z_1 = pl.yield_(y)
            z = pl.yield_(z_1)
        else:
            z = pl.yield_(0)
        return z
        """)


def test_loop_forms() -> None:
    """pl.range has one to three bounds; pl.parallel marks the loop."""
    found = kernel(
        N,
        """
        for i in pl.range(n):
            pass
        for i in pl.range(1, n):
            pass
        for i in pl.parallel(n, 0, -2):
            pass
        """,
    )
    loops = [s for s in statements(found.body) if isinstance(s, ForStmt)]
    assert [(str(s.start), str(s.stop), str(s.step), s.kind) for s in loops] == [
        ("0", "n", "1", ForKind.Sequential),
        ("1", "n", "1", ForKind.Sequential),
        ("n", "0", "-2", ForKind.Parallel),
    ]
    assert loops[0].loop_var is not loops[1].loop_var
    assert isinstance(loops[0].body, SeqStmts)


def test_loop_carries_values() -> None:
    """init_values make IterArgs; after the loop both names mean the last value."""
    found = kernel(
        N,
        """
        for i, (a, b) in pl.range(0, n, init_values=(n, 1)):
            a, c = pl.yield_(b, a + b)
        return a + b + c
        """,
    )
    loop, _ = statements(found.body)
    assert isinstance(loop, ForStmt)
    assert [type(arg) for arg in loop.iter_args] == [IterArg, IterArg]
    assert [var.name for var in loop.return_vars] == ["a", "c"]
    assert str(found).endswith("return a + c + c")


def test_bare_yield_names_results_as_iter_args() -> None:
    """A yield without targets, also Python's own, passes values to the iter_args' names."""
    for text in ("pl.yield_(a + i)", "yield a + i"):
        assert body(
            N, f"for i, (a,) in pl.range(n, init_values=[n]):\n    {text}\nreturn a"
        ) == lines("""
            for i, (a,) in pl.range(0, n, 1, init_values=(n,)):
                a = pl.yield_(a + i)
            return a
            """)


def test_assigned_iter_arg_is_carried() -> None:
    """An iter_arg may be assigned in the body before it is yielded, also in a branch."""
    assert body(
        N,
        """
        for i, (a,) in pl.range(n, init_values=(n,)):
            if i > 2:
                a = a * 2
            a = pl.yield_(a)
        return a
        """,
    ) == lines("""
        for i, (a,) in pl.range(0, n, 1, init_values=(n,)):
            if i > 2:
                a = a * 2
            a = pl.yield_(a)
        return a
        """)


def test_result_in_an_outer_loop_is_the_outer_variable() -> None:
    """A loop result with the name of a variable from outside the block assigns that variable."""
    found = kernel(
        N,
        """
        acc = n
        for i in pl.range(n):
            for j, (a,) in pl.range(n, init_values=(acc,)):
                acc = pl.yield_(a + j)
        return acc
        """,
    )
    first, outer, _ = statements(found.body)
    assert isinstance(first, AssignStmt)
    assert isinstance(outer, ForStmt)
    assert isinstance(outer.body, ForStmt)
    assert outer.body.return_vars[0] is first.var


def test_while_loops() -> None:
    """Plain while, and the form that carries values and starts with pl.cond."""
    found = kernel(
        N,
        """
        x = n
        while x > 3:
            x //= 2
            if x == 5:
                break
        for (y,) in pl.while_(init_values=(x,)):
            pl.cond(y < n)
            y = pl.yield_(2 * y)
        return y
        """,
    )
    natural, carrying = (s for s in statements(found.body) if isinstance(s, WhileStmt))
    assert (natural.iter_args, natural.return_vars) == ((), ())
    assert str(natural.condition) == "x > 3"
    assert str(carrying.condition) == "y < n"
    assert carrying.return_vars[0].name == "y"


def test_scope_is_transparent() -> None:
    """Names that a pl.incore scope defines are visible after it."""
    assert body(N, "with pl.incore():\n    x = n\nreturn x") == lines("""
        with pl.incore():
            x = n
        return x
        """)


def test_results_are_inferred() -> None:
    """Without an arrow the result types are those of the return statement."""
    assert [str(t) for t in kernel(N, "return n, n > 2").return_types] == [
        "pl.Scalar[pl.INT64]",
        "pl.Scalar[pl.BOOL]",
    ]
    assert kernel(N, "x = n").return_types == ()
    assert kernel(N, "return").return_types == ()
    assert kernel(N, "pass", result="None").return_types == ()


def test_annotation_gives_the_type() -> None:
    """Memory and layout in an annotation become the variable's; else the value's layout is kept."""
    found = kernel(
        "x: pl.Tensor[[64, 64], pl.FP16]",
        """
        a: pl.Tile[[64, 64], pl.FP16] = pl.load(x, [0, 0], [64, 64], pl.MemorySpace.Mat)
        b: pl.Tile[[64, 64], pl.FP16, pl.MemRef(pl.MemorySpace.Mat, 0, 8192, 7)] = \
pl.load(x, [0, 0], [64, 64], pl.MemorySpace.Mat)
        c: pl.Tile[[64, 64], pl.FP16, pl.MemRef(pl.MemorySpace.Mat, 0, 8192, 7)] = b
        """,
    )
    a, b, c = (s.var.type for s in statements(found.body) if isinstance(s, AssignStmt))
    assert isinstance(a, TileType)
    assert isinstance(b, TileType)
    assert isinstance(c, TileType)
    assert a.tile_view is not None
    assert b.tile_view is not None
    assert b.memref is not None
    assert b.memref is c.memref


@pytest.mark.parametrize(
    ("text", "kind", "slug"),
    [
        ("for i in pl.range(n):\n    x = i\ny = x", LostVariableError, "undefined-name"),
        (
            "if n > 1:\n    x = n\nelse:\n    x = n > 2\ny = x",
            LostVariableError,
            "undefined-name",
        ),
        ("i = n\nfor i in pl.range(n):\n    pass\ny = i", LostVariableError, "undefined-name"),
        ("y = x\nx = n", UndefinedVariableError, "undefined-name"),
        ("for i in pl.range(n):\n    i = 2", ParserTypeError, "loop-variable"),
        ("x = n\nfor i in pl.range(n):\n    x = n > 2\ny = x", ParserTypeError, "type-change"),
        ("x = [1]\nif n > 1:\n    x = [2]", ParserTypeError, "type-change"),
        (
            "for i, (a,) in pl.range(n, init_values=(n,)):\n    b = pl.yield_(a)\n"
            "for i in pl.range(n):\n    a = n",
            ParserTypeError,
            "type-change",
        ),
        ("for i in pl.range():\n    pass", ParserSyntaxError, "range-arguments"),
        ("for i in pl.range(1, 2, 3, 4):\n    pass", ParserSyntaxError, "range-arguments"),
        ("for i in pl.range(n, 0, 0):\n    pass", ParserTypeError, "range-arguments"),
        ("for i in pl.range(n, init=(n,)):\n    pass", ParserSyntaxError, "range-arguments"),
        ("for i in pl.range(0.5):\n    pass", ParserTypeError, "scalar-wanted"),
        ("for i in pl.range(n, init_values=(n,)):\n    pass", ParserSyntaxError, "loop-target"),
        ("for i, j in pl.range(n):\n    pass", ParserSyntaxError, "loop-target"),
        (
            "for i, (a, b) in pl.range(n, init_values=(n,)):\n    pass",
            ParserSyntaxError,
            "loop-target",
        ),
        ("for i in [1, 2]:\n    pass", ParserSyntaxError, "for-iterable"),
        ("for i in pl.range(n):\n    x = pl.yield_(i)", ParserSyntaxError, "yield-count"),
        (
            "for i, (a,) in pl.range(n, init_values=(n,)):\n    a, b = pl.yield_(a)",
            ParserSyntaxError,
            "yield-count",
        ),
        ("if n > 1:\n    x = pl.yield_(n)", ParserSyntaxError, "yield-count"),
        (
            "if n > 1:\n    x = pl.yield_(n)\nelse:\n    y = pl.yield_(n)",
            ParserSyntaxError,
            "yield-names",
        ),
        (
            "if n > 1:\n    x = pl.yield_(n)\nelif n > 0:\n    y = pl.yield_(n)\n"
            "else:\n    y = pl.yield_(n)",
            ParserSyntaxError,
            "yield-count",
        ),
        (
            "if n > 1:\n    x = pl.yield_(n)\nelif n > 0:\n    x = pl.yield_(pl.cast(n, pl.FP32))\n"
            "else:\n    x = pl.yield_(1.0)",
            ParserTypeError,
            "yield-type",
        ),
        (
            "if n > 1:\n    pl.yield_(n)\nelse:\n    pl.yield_(n)",
            ParserSyntaxError,
            "yield-names",
        ),
        ("x = pl.yield_(n)\ny = n", ParserSyntaxError, "misplaced"),
        ("for (x,) in pl.while_():\n    pl.cond(x > 1)", ParserSyntaxError, "loop-target"),
        (
            "for (x,) in pl.while_(init_values=(n,)):\n    x = pl.yield_(x)",
            ParserSyntaxError,
            "while-condition",
        ),
        (
            "for i, (a,) in pl.range(n, init_values=(n,)):\n    break",
            UnsupportedFeatureError,
            "jump",
        ),
        (
            "for i in pl.range(n):\n    pass\nelse:\n    pass",
            UnsupportedFeatureError,
            "unsupported",
        ),
        ("x = n, n\na, b, c = x", ParserTypeError, "unpack"),
        ("a, b = n", ParserTypeError, "unpack"),
        ("n[0] = 1", UnsupportedFeatureError, "target"),
        ("n", ParserSyntaxError, "no-effect"),
        ("n + 1", ParserSyntaxError, "no-effect"),
        ("pl.full([16, 16], pl.FP32, 1.0)", ParserSyntaxError, "no-effect"),
        ("pl.block.get_block_idx()", ParserSyntaxError, "no-effect"),
        ("pl.full([16, 16], pl.FP32, 1.0) * 2", ParserSyntaxError, "no-effect"),
        (
            "for i in pl.range(n):\n    for i in pl.range(2):\n        pass",
            ParserTypeError,
            "loop-variable",
        ),
        ("while (n if n > 1 else 2) > n:\n    pass", UnsupportedFeatureError, "while-condition"),
        ("n[0] += 1", UnsupportedFeatureError, "target"),
        ("n.x = 1", UnsupportedFeatureError, "target"),
        ("with open('f'):\n    pass", UnsupportedFeatureError, "with"),
        ("return n\nx = n", ParserSyntaxError, "unreachable"),
        ("if n > 1:\n    return n\nreturn n > 1", ParserTypeError, "return-type"),
        ("x = pl.system.bar_all()", ParserTypeError, "no-value"),
        *[
            (text, UnsupportedFeatureError, "unsupported")
            for text in (
                "assert n > 1",
                "raise n",
                "import os",
                "del n",
                "def g(): pass",
                "class C: pass",
                "global g",
                "try:\n    pass\nfinally:\n    pass",
                "match n:\n    case 1:\n        pass",
            )
        ],
    ],
)
def test_refused(text: str, kind: type[Exception], slug: str) -> None:
    """What has no meaning in a kernel is rejected with its class and slug."""
    found = error(N, text)
    assert (type(found), found.slug) == (kind, slug)


def test_statements_with_effects() -> None:
    """Stores, synchronisation, functions and inline functions that store may be statements."""
    before = """
        @pl.inline
        def twice(t, out):
            pl.store(t, [0, 0], [16, 16], out)
            out = pl.store(t, [16, 0], [16, 16], out)
            return out
        """
    params = "x: pl.Tensor[[16, 16], pl.FP32], out: pl.Out[pl.Tensor[[32, 16], pl.FP32]]"
    code = "t = pl.load(x, [0, 0], [16, 16])\ntwice(t, out)\npl.system.bar_all()"
    assert body(params, code, before=before).splitlines()[1:] == [
        "out_1 = out",
        "pl.block.store(t, [0, 0], [16, 16], out_1)",
        "out_1 = pl.block.store(t, [16, 0], [16, 16], out_1)",
        "pl.system.bar_all()",
    ]


def test_loop_variables_may_follow_one_another() -> None:
    """A loop variable shadows an earlier variable, and one name serves successive loops."""
    code = "i = n\nfor i in pl.range(2):\n    n = n + i\nfor i in pl.range(3):\n    n = n + i"
    assert body(N, code) == lines("""
        i = n
        for i_1 in pl.range(0, 2, 1):
            n = n + i_1
        for i_2 in pl.range(0, 3, 1):
            n = n + i_2
        """)


def test_strict_ssa() -> None:
    """Under strict_ssa a second assignment is an error that shows the first one's location."""
    found = error(N, "x = n\nx = 2", options="(strict_ssa=True)")
    assert isinstance(found, SSAViolationError)
    assert found.previous_span is not None
    assert (found.previous_span["begin_line"], found.location.begin_line) == (5, 6)
    assert body(N, "x = n\ny = x", options="(strict_ssa=True)") == "x = n\ny = x"


def test_errors_are_reported_together() -> None:
    """Parsing continues after an error; what depends on a wrong statement is not reported."""
    found = error(N, "a = q\nb = a + 1\nfor i in pl.range(n):\n    c = r\nd = c\ne = s")
    errors = [found, *found.others]
    assert [e.message for e in errors] == [
        "'q' is not defined",
        "'r' is not defined",
        "'s' is not defined",
    ]
    assert [e.location.begin_line for e in errors] == [5, 8, 10]


def test_at_most_ten_errors() -> None:
    """No more than ten errors are reported at once."""
    found = error(N, "\n".join(f"a{i} = q{i}" for i in range(20)))
    assert len(found.others) == 9


@pytest.mark.parametrize("use", ["y = i", "y = i + n", "y = min(i, n)", "y = pl.max(i, n)"])
def test_a_hidden_name_is_lost_after_the_loop(use: str) -> None:
    """A loop variable that shadows a name is not that name after the loop, in any expression."""
    found = error(N, f"i = n\nfor i in pl.range(n):\n    pass\n{use}")
    assert isinstance(found, LostVariableError)


@pytest.mark.parametrize(("items", "count"), [("t, t", 60), ("t, n", 600)])
def test_tuples_of_tuples(items: str, count: int) -> None:
    """Nested tuples take no longer to read than others, however deep they are."""
    head = "import pypto.language as pl\n\n@pl.function\ndef f(n: pl.INT64):\n    t = (n, n)\n"
    found = pl.parse(head + f"    t = ({items})\n" * count)
    assert isinstance(found, Function)
    assert len(statements(found.body)) == count + 1
