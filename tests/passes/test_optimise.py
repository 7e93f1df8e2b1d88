"""The optional passes: what they change, as text, and what they must not change."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import pypto.language as pl
from pypto import DataType, ir
from pypto._src.errors import PassError
from pypto._src.ir.exprs import Add, Call, ConstInt, Expr, Mul, const_value
from pypto._src.passes.optimize.common_subexpr import CommonSubexpr
from pypto._src.passes.optimize.dead_code import DeadCode
from pypto._src.passes.optimize.loop_invariant_motion import LoopInvariantMotion
from pypto._src.passes.optimize.simplify import Simplify
from pypto._src.passes.optimize.unroll_loops import UnrollLoops
from pypto._src.passes.pass_base import Pass, PassContext
from pypto._src.passes.pass_manager import OPTIONAL, PassManager, optional_pass
from pypto._src.passes.rewrite import RewritePass
from pypto._src.passes.statistics import PassStatistics
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr
from tests import effort
from tests.passes.preservation import check

HEADER = """\
import pypto.language as pl

@pl.function
def f(
    n: pl.Scalar[pl.INT64],
    m: pl.Scalar[pl.INT64],
    g: pl.Scalar[pl.FP32],
    x: pl.Tensor[[64, 64], pl.FP32],
    out: pl.InOut[pl.Tensor[[64, 64], pl.FP32]],
):
"""


def in_ssa(body: str) -> ir.Program:
    """Return a program of one function in SSA form, without nested calls."""
    text = HEADER + textwrap.indent(textwrap.dedent(body).strip(), "    ")
    function = pl.parse(text)
    assert isinstance(function, ir.Function)
    return FlattenCallExpr()(ConvertToSSA()(ir.Program([function], "P")))


def lines(program: ir.Program) -> str:
    """Return the body of the function, without types, block and memory spaces."""
    written = str(program.functions_[0]).splitlines()
    first = next(i for i, line in enumerate(written) if line.startswith("def f(")) + 1
    kept: list[str] = []
    for line in textwrap.dedent("\n".join(written[first:])).splitlines():
        head, equals, tail = line.partition(" = ")
        if equals and ": pl." in head:
            line = f"{head.partition(': pl.')[0]} = {tail}"
        line = line.replace("pl.block.", "").replace(", target_memory=pl.MemorySpace.Vec", "")
        kept.append(line)
    return "\n".join(kept)


def after(pass_: Pass, body: str) -> str:
    return lines(pass_(in_ssa(body)))


def text(wanted: str) -> str:
    return textwrap.dedent(wanted).strip()


def test_simplify_folds_and_removes() -> None:
    """Constants are computed, identities removed, copies replaced, known branches taken."""
    found = after(
        Simplify(),
        """
        a = n + (2 * 3 - 6)
        b = (a * 1 + 2) + 3
        c = b
        if 1 < 2:
            d = c - c + m
        else:
            d = m
        for i in pl.range(4, 4):
            d = d + i
        t = pl.load(x, [d * 0, 0], [16, 64])
        out = pl.store(pl.mul(t, g * 1.0), [0, 0], [16, 64], out)
        return c + d
        """,
    )
    assert found == text(
        """
        b = n + 5
        t = load(x, [0, 0], [16, 64])
        _t0 = muls(t, g)
        out_1 = store(_t0, [0, 0], [16, 64], out)
        return b + m
        """
    )


@pytest.mark.parametrize(
    "kept",
    [
        "a = g + 0.0\nreturn a",  # -0.0 + 0.0 is 0.0
        "a = g * 0.0\nreturn a",  # of infinity that is NaN
        "a = g - g\nreturn a",
        "a = (n // m) * 0\nreturn a",  # an error if m is 0
        "a = 1 << n\nreturn a",
    ],
)
def test_simplify_keeps_what_may_differ(kept: str) -> None:
    """Signs of zero, NaN and errors are preserved."""
    before = in_ssa(kept)
    assert lines(Simplify()(before)) == lines(before)


def test_simplify_keeps_a_division_by_zero() -> None:
    """What fails at run time still fails; a literal one is rejected by the parser."""
    before = in_ssa("z = 0\na = n // z\nreturn a")
    assert lines(Simplify()(before)) == "a = n // 0\nreturn a"


def test_simplify_wraps_as_the_type_does() -> None:
    """The largest INT64 plus one folds to the smallest."""
    found = after(Simplify(), "a = n + 9223372036854775807\nb = a + 1\nc = b + 1\nreturn c")
    assert found == text(
        """
        a = n + 9223372036854775807
        b = a + 1
        c = b + 1
        return c
        """
    )
    found = after(Simplify(), "return (n + 9223372036854775807) + 1")
    assert found == "return n + -9223372036854775808"


def test_nothing_to_simplify_returns_the_program() -> None:
    """Every optional pass returns the same object for a program that it does not change."""
    before = in_ssa("out = pl.store(pl.load(x, [n, 0], [8, 64]), [m, 0], [8, 64], out)\nreturn n")
    for name in OPTIONAL:
        assert optional_pass(name)(before) is before, name


def test_common_values_are_computed_once() -> None:
    """Equal calls on equal operands are merged, but not across a write or out of a branch."""
    found = after(
        CommonSubexpr(),
        """
        a = pl.load(x, [0, 0], [16, 64])
        b = pl.load(x, [0, 0], [16, 64])
        c = pl.add(a, b)
        out = pl.store(c, [0, 0], [16, 64], out)
        d = pl.load(x, [0, 0], [16, 64])
        e = pl.add(a, a)
        if n > 0:
            u = pl.mul(e, d)
            out = pl.store(u, [16, 0], [16, 64], out)
        v = pl.mul(e, d)
        out = pl.store(v, [32, 0], [16, 64], out)
        """,
    )
    assert found == text(
        """
        a = load(x, [0, 0], [16, 64])
        c = add(a, a)
        out_1 = store(c, [0, 0], [16, 64], out)
        d = load(x, [0, 0], [16, 64])
        if n > 0:
            u = mul(c, d)
            out_2 = store(u, [16, 0], [16, 64], out_1)
            out_3 = pl.yield_(out_2)
        else:
            out_3 = pl.yield_(out_1)
        v = mul(c, d)
        out_4 = store(v, [32, 0], [16, 64], out_3)
        """
    )


def test_new_tiles_stay_two() -> None:
    """Two scratch tiles are not merged, whatever their shape."""
    body = """
        s = pl.create_tile([8, 64], pl.FP32)
        u = pl.create_tile([8, 64], pl.FP32)
        a = pl.load(x, [0, 0], [8, 64])
        out = pl.store(pl.row_expand_add(a, pl.row_max(a, s)), [0, 0], [8, 64], out)
        out = pl.store(pl.row_expand_add(a, pl.row_sum(a, u)), [8, 0], [8, 64], out)
        """
    before = in_ssa(body)
    assert CommonSubexpr()(before) is before


def test_results_of_one_call_stay_apart() -> None:
    """Two items of a tuple are two values; the same item taken twice is merged."""
    source = """
    @pl.program
    class P:
        @pl.function
        def pair(self, n: pl.INT64) -> tuple[pl.INT64, pl.INT64]:
            return n + 1, n + 2

        @pl.function
        def f(self, n: pl.INT64) -> tuple[pl.INT64, pl.INT64, pl.INT64]:
            both = self.pair(n)
            first = both[0]
            second = both[1]
            again = both[1]
            return second, first, again
    """
    before = ConvertToSSA()(pl.parse_program(textwrap.dedent(source)))
    after_pass = str(CommonSubexpr()(before).get_function("f"))
    assert [line.strip() for line in after_pass.splitlines()[-4:]] == [
        "both: pl.Tuple[[pl.Scalar[pl.INT64], pl.Scalar[pl.INT64]]] = pair(n)",
        "first: pl.Scalar[pl.INT64] = both[0]",
        "second: pl.Scalar[pl.INT64] = both[1]",
        "return second, first, second",
    ]


def test_dead_values_go() -> None:
    """Values that only feed themselves go too: carried values, branches, loops; stores stay."""
    found = after(
        DeadCode(),
        """
        unused = pl.load(x, [0, 0], [16, 64])
        total = n
        last = m
        for i in pl.range(0, 4):
            total = total + i
            last = last + 2
            out = pl.store(pl.load(x, [0, 0], [16, 64]), [i * 16, 0], [16, 64], out)
        if n > 3:
            w = m * 2
        else:
            w = m * 3
        for j in pl.range(0, n):
            w = w + j
        return last
        """,
    )
    assert found == text(
        """
        last_0 = m
        for i, (last_iter, out_iter) in pl.range(0, 4, 1, init_values=(last_0, out)):
            last_1 = last_iter + 2
            _t0 = load(x, [0, 0], [16, 64])
            out_1 = store(_t0, [i * 16, 0], [16, 64], out_iter)
            last_2, out_2 = pl.yield_(last_1, out_1)
        return last_2
        """
    )


def test_invariant_values_move_out() -> None:
    """Out of two loops at once; a load only out of a loop that runs and writes nothing."""
    found = after(
        LoopInvariantMotion(),
        """
        total = 0
        for i in pl.range(0, 4):
            for j in pl.range(0, n):
                a = m * 2
                b = i * 3
                q = n // m
                total = total + a * b + q * j
        a = pl.load(x, [0, 0], [16, 64])
        for k in pl.range(0, 4):
            c = pl.load(x, [16, 0], [16, 64])
            d = pl.full([16, 64], pl.FP32, 2.0)
            a = pl.add(a, pl.mul(c, d))
        for k in pl.range(0, 2):
            e = pl.load(x, [32, 0], [16, 64])
            out = pl.store(pl.add(a, e), [0, 0], [16, 64], out)
        return total
        """,
    )
    assert found == text(
        """
        total_0 = 0
        a_0 = m * 2
        for i, (total_iter,) in pl.range(0, 4, 1, init_values=(total_0,)):
            b = i * 3
            for j, (total_iter_1,) in pl.range(0, n, 1, init_values=(total_iter,)):
                q = n // m
                total_1 = total_iter_1 + a_0 * b + q * j
                total_2 = pl.yield_(total_1)
            total_3 = pl.yield_(total_2)
        a_1 = load(x, [0, 0], [16, 64])
        c = load(x, [16, 0], [16, 64])
        d = full([16, 64], dtype=pl.FP32, value=2.0)
        _t0 = mul(c, d)
        for k_0, (a_iter,) in pl.range(0, 4, 1, init_values=(a_1,)):
            a_2 = add(a_iter, _t0)
            a_3 = pl.yield_(a_2)
        for k_1, (out_iter,) in pl.range(0, 2, 1, init_values=(out,)):
            e = load(x, [32, 0], [16, 64])
            _t1 = add(a_3, e)
            out_1 = store(_t1, [0, 0], [16, 64], out_iter)
            out_2 = pl.yield_(out_1)
        return total_3
        """
    )


LOOP = """
    total = n
    for i in pl.range(2, 8, 3):
        total = total * i
    for j in pl.range(0, 6):
        total = total + j * m
    for k in pl.range(0, n):
        total = total - k
    return total
    """


def test_short_loops_become_straight_code() -> None:
    """A loop of 2 iterations is unrolled fully, one of 6 by two; one of unknown length stays."""
    assert after(UnrollLoops(whole=2, factor=2), LOOP) == text(
        """
        total_0 = n
        total_1_1 = total_0 * 2
        total_1_2 = total_1_1 * 5
        for j, (total_iter_1,) in pl.range(0, 6, 2, init_values=(total_1_2,)):
            total_3_1 = total_iter_1 + j * m
            total_3_2 = total_3_1 + (j + 1) * m
            total_4 = pl.yield_(total_3_2)
        for k, (total_iter_2,) in pl.range(0, n, 1, init_values=(total_4,)):
            total_5 = total_iter_2 - k
            total_6 = pl.yield_(total_5)
        return total_6
        """
    )
    assert UnrollLoops(whole=0)(before := in_ssa(LOOP)) is before
    assert UnrollLoops(whole=2, most=1)(before) is before


def test_options_of_unrolling_are_checked() -> None:
    """Meaningless numbers are rejected."""
    with pytest.raises(ValueError, match="whole=-1, factor=1, most=1024: wanted whole >= 0"):
        UnrollLoops(whole=-1)


# --------------------------------------------------------------------------------------------
# Rules of users
# --------------------------------------------------------------------------------------------


def double_is_sum(e: Mul) -> Expr | None:
    """x * 2 -> x + x."""
    if const_value(e.right) != 2:
        return None
    return Add(e.left, e.left, e.dtype, e.span)


def swap(e: Add) -> Expr | None:
    """x + y -> y + x, forever."""
    return Add(e.right, e.left, e.dtype, e.span)


def test_rules_of_users() -> None:
    """A pass with a user's own rules, and how often each one fired, with its location."""
    mine = RewritePass([double_is_sum], name="Doubles")
    assert mine.get_name() == "Doubles"
    assert lines(mine(in_ssa("a = n * 2 + m * 2\nreturn a"))) == "a = n + n + (m + m)\nreturn a"
    assert mine.stats() == {"double_is_sum": 2}
    [hits] = mine.hits
    assert (hits.meaning, hits.hits) == ("x * 2 -> x + x.", 2)
    assert hits.location.endswith(f"test_optimise.py:{double_is_sum.__code__.co_firstlineno}")


TILES = """\
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, n: pl.INT64, x: pl.Tensor[[16, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ):
        t = pl.load(x, [0, 0], [16, 64]{valid})
        out = pl.store(pl.log(pl.exp(t)), [0, 0], [16, 64], out)
"""


def log_of_exp(e: Call) -> Expr | None:
    """log(exp(x)) -> x."""
    inner = e.args[0]
    if e.op.name != "block.log" or not isinstance(inner, Call) or inner.op.name != "block.exp":
        return None
    return inner.args[0]


@pytest.mark.parametrize("valid", ["", ", valid_shapes=[n, 64]"])
def test_rules_of_calls_that_make_tiles(valid: str) -> None:
    """Rules on calls match tile ops, also on tiles whose valid shape is a variable."""
    program = pl.parse_program(TILES.format(valid=valid))
    mine = RewritePass([log_of_exp])
    after = mine(program)
    assert "pl.block.store(t, " in str(after)
    assert mine.stats() == {"log_of_exp": 1}
    PassManager.get_strategy().run_passes(after)


def wider(e: Call) -> Expr | None:
    """A tile of another shape."""
    return ir.op.block.full([32, 64], DataType.FP32, 0.0) if is_exp(e) else None


def is_exp(e: Call) -> bool:
    return e.op.name == "block.exp"


def number(e: Call) -> Any:
    """Returns something that is not an expression."""
    return 3 if is_exp(e) else None


@pytest.mark.parametrize(
    ("rule", "returned"),
    [(wider, r"a Tile\[\[32, 64\], FP32\] in place of a Tile\[\[16, 64\], FP32\]"), (number, "3")],
)
def test_rules_keep_the_type_of_a_call(rule: Any, returned: str) -> None:
    """The replacement of a call must have the type of the call."""
    with pytest.raises(PassError, match=f"the rule {rule.__name__} returns {returned}") as caught:
        RewritePass([rule])(pl.parse_program(TILES.format(valid="")))
    assert caught.value.slug == "rule-result"
    assert caught.value.hint == "let a rule return an expression of the same type, or None"
    assert caught.value.location.begin_line == 11


def test_rules_that_never_end_are_named() -> None:
    """Rules that undo each other are an error that names them."""
    with pytest.raises(
        PassError, match=r"64 changes of one expression .* still fire: swap"
    ) as caught:
        RewritePass([swap])(in_ssa("a = n + m\nreturn a"))
    assert caught.value.slug == "rules-in-circles"


def test_a_rule_says_what_it_is_for() -> None:
    """A rule on something that is not an expression is rejected when the pass runs."""

    def wrong(e: int) -> Expr | None:
        return ConstInt(e)

    with pytest.raises(TypeError, match="the parameter of rule wrong is annotated <class 'int'>"):
        RewritePass([wrong]).rewriter()


# --------------------------------------------------------------------------------------------
# In a strategy
# --------------------------------------------------------------------------------------------


def test_optional_passes_stand_before_the_verifier() -> None:
    """By name or as a pass object, in the given order; an unknown name is rejected."""
    mine = UnrollLoops(whole=8)
    names = PassManager.get_strategy(optional=["DeadCode", mine]).pass_names
    plain = PassManager.get_strategy().pass_names
    place = plain.index("RunVerifier")
    assert names == [*plain[:place], "DeadCode", "UnrollLoops", *plain[place:]]
    with pytest.raises(
        ValueError, match="there is no optional pass 'Dead'; available: UnrollLoops, "
    ):
        PassManager.get_strategy(optional=["Dead"])


def test_statistics_of_passes() -> None:
    """Each pass is recorded with its statements before and after, and the hits of its rules."""
    statistics = PassStatistics()
    with PassContext([statistics]):
        DeadCode()(Simplify()(in_ssa("a = n + 0\nb = a * m\nreturn a")))
    shown = [(r.name, r.statements, r.changed) for r in statistics.records[-2:]]
    assert shown == [("Simplify", (3, 2), True), ("DeadCode", (2, 1), True)]
    assert {name: hits for name, hits in statistics.records[-2].stats.items() if hits} == {
        "add_nothing": 1
    }
    report = statistics.report().splitlines()
    assert report[0].split() == ["pass", "ms", "statements"]
    assert [line.split()[0] for line in report[-4:]] == [
        "Simplify",
        "add_nothing",
        "DeadCode",
        "all",
    ]


# --------------------------------------------------------------------------------------------
# Meaning and size
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["written", "multiplied", "built", "launched"])
def test_results_stay_bit_for_bit(kind: str) -> None:
    """Random programs compute the same after every pass; preservation.py tests thousands."""
    seeds = effort.count(4, thorough_run=12)
    compared = sum(check(kind, seed)[0] for seed in range(seeds))
    assert compared > 80 * seeds


def test_thousands_of_statements() -> None:
    """Each optional pass handles 20,000 statements, half of which are dead."""
    body = "\n".join(
        ["t0 = n + 0", *(f"t{i + 1} = t{i} + {i % 7}\nu{i} = t{i} * 2" for i in range(10_000))]
    )
    before = in_ssa(body + "\nreturn t10000")
    for name in OPTIONAL:
        optional_pass(name)(before)
    left = DeadCode()(before).functions_[0]
    assert sum(isinstance(stmt, ir.AssignStmt) for stmt in ir.walk(left)) == 10_001
