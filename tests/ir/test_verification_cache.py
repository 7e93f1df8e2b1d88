"""The cache of verified statements: what is cached, and that it never hides a fault."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto._src.diagnostics import Diagnostic
from pypto._src.ir import call_forms
from pypto._src.ir.interning import unique
from pypto._src.ir.opdef import OpDef, Operands
from pypto._src.ir.stmts import statements
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import scalar_type
from pypto._src.ir.unchecked import with_memref
from pypto._src.ir.verify import verification_cache as cache_module
from pypto._src.ir.verify.ssa import look
from pypto._src.ir.verify.verification_cache import Look, VerificationCache
from pypto._src.ir.verify.verifier import RULES
from pypto._src.passes.pass_manager import PIPELINES, OptimizationStrategy
from tests.ir.samples import assign, function, program, var
from tests.passes.build import random_kernel

BLOCK: Any = ir.op.block


class Distrust(VerificationCache):
    """Caches nothing, so that the rules check every statement."""

    def look_at(self, function: ir.Function, look: Any) -> Look:
        return look(function, self)

    def pass_over(
        self, stmts: Sequence[Any], begin: int, known: Any, gone: Any, nested: Any, seen: Any
    ) -> int:
        return begin

    def proves(self, stmt: Any) -> bool:
        return False


def verified(whole: ir.Program, cache: VerificationCache | None = None) -> list[Diagnostic]:
    """Return the default verifier's findings, which equal those without the cache."""
    verifier = ir.IRVerifier.create_default()
    found = verifier.verify(whole, cache)
    assert found == verifier.verify(whole, Distrust())
    return found


def messages(whole: ir.Program, cache: VerificationCache | None = None) -> list[str]:
    return [finding.message for finding in verified(whole, cache)]


def tile(*shape: Any) -> ir.TileType:
    return ir.TileType(shape, ir.FP32)


def let(name: str, value: Any) -> ir.AssignStmt:
    return assign(var(name, value.type), value)


T8, T4 = tile(8, 8), tile(4, 8)
INT = scalar_type(ir.INT64)
A, B, X = var("a", T8), var("b", T8), var("x", ir.TensorType([64, 64], ir.FP32))
N, M = var("n", INT), var("m", INT)


def whole(*stmts: ir.Stmt) -> ir.Program:
    return program(function([A, B, X, N, M], *stmts))


def left_of(*stmts: ir.Stmt) -> list[int]:
    """Return which of the statements are not in the cache."""
    left = look(function([], *stmts), VerificationCache()).left
    return [n for n, stmt in enumerate(stmts) if any(stmt is other for other in left)]


# --------------------------------------------------------------------------------------------
# What is proved
# --------------------------------------------------------------------------------------------


def test_right_operations_are_proved() -> None:
    """Op calls on variables, constants and lists of these, and scalar expressions, are cached."""
    proved = (
        let("t", BLOCK.add(A, B)),
        let("u", BLOCK.muls(A, 2.0)),
        let("l", BLOCK.load(X, [N, M * 2], [8, 8])),
        let("r", (N + 1) * 2 - M),
        ir.EvalStmt(ir.create_op_call("system.bar_all", [], {})),
        let("s", N),
    )
    assert left_of(*proved) == []
    assert messages(whole(*proved)) == []


def test_what_depends_on_the_program_is_not_proved() -> None:
    """Calls of functions, nested calls, loops, and terminators of bodies are always checked."""
    assert left_of(
        assign(var("t", T8), ir.Call(ir.GlobalVar("g"), [A], T8)),
        let("u", BLOCK.add(BLOCK.add(A, B), B)),
        ir.EvalStmt(ir.Call(ir.Op("my.op"), [A])),
        ir.ForStmt(var("i"), 0, 4, 1, [], ir.BreakStmt(), []),
        let("v", BLOCK.add(A, B)),
        ir.ReturnStmt([A]),
    ) == [0, 1, 2, 3, 5]


def test_large_expressions_are_looked_at() -> None:
    """One in which each part is used twice, 200 times over, is checked, each part once."""
    value: Any = N
    for _ in range(200):
        value = value + value
    assert left_of(let("r", value)) == [0]
    assert messages(whole(let("r", value), let("s", BLOCK.add(A, var("c", T8))))) == [
        "variable 'c' is read without a definition"
    ]


def test_what_was_found_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements of one form are checked once, and so is a function's statement order."""
    compared: list[object] = []
    compare = cache_module.has_right_type

    def counted(call: ir.Call, var: ir.Var | None) -> bool:
        compared.append(call)
        return compare(call, var)

    monkeypatch.setattr(cache_module, "has_right_type", counted)

    class Counting(VerificationCache):
        looks = 0

        def look_at(self, function: ir.Function, look: Any) -> Look:
            self.looks += self.found_of(function) is None
            return super().look_at(function, look)

    cache, stmts = Counting(), [let(f"t{n}", BLOCK.add(A, B)) for n in range(10)]
    verifier = ir.IRVerifier.create_default()
    assert verifier.verify(whole(*stmts), cache) == []
    assert (len(compared), cache.looks) == (1, 1)
    grouped = whole(ir.OpStmts(stmts[:5]), ir.OpStmts(stmts[5:]))
    assert verifier.verify(grouped, cache) == []
    assert (len(compared), cache.looks) == (1, 1)
    assert verifier.verify(whole(*reversed(stmts), let("u", BLOCK.add(A, B))), cache) == []
    assert (len(compared), cache.looks) == (1, 2)


def test_calls_in_calls_are_proved() -> None:
    """The rule about types need not check them; a fault in one of them is found."""
    wrong = copy_with(ADDED, {"type": T4})
    deep = BLOCK.add(A, B)
    for _ in range(20):
        deep = BLOCK.exp(deep)
    right = let("t", BLOCK.mul(BLOCK.add(A, B), BLOCK.muls(A, 2.0)))
    unknown = let("v", BLOCK.add(BLOCK.exp(var("c", T8)), B))
    called = ir.EvalStmt(BLOCK.exp(ir.Call(ir.GlobalVar("f"), [A], T8)))
    others = [let("u", BLOCK.exp(wrong)), let("w", deep), called]
    found = look(function([A, B], right, unknown, *others), VerificationCache())
    assert found.left == [right, unknown, *others]
    assert found.doubtful == [unknown, *others]
    diagnostics = verified(program(function([A, B], right, *others)))
    assert [d.message for d in diagnostics if d.rule_name != "NoNestedCall"] == [
        "f takes 2 arguments, got 1",
        "block.add gives a pl.Tile[[8, 8], pl.FP32], the call says pl.Tile[[4, 8], pl.FP32]",
    ]
    assert [d.rule_name for d in diagnostics].count("NoNestedCall") == 2 + 1 + 20 + 1


def test_types_come_from_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rule of an op runs for the first call of a form; the verifier finds its result."""
    ran: list[str] = []
    op: Any = OpDef
    rule = op.type_of

    def counted(self: OpDef[..., Any], o: Operands) -> ir.Type:
        ran.append(self.name)
        return rule(self, o)

    monkeypatch.setattr(op, "type_of", counted)
    call_forms.FORMS.clear()
    one = let("one", BLOCK.load(X, [N, 8], [8, 8]))
    two = let("two", BLOCK.muls(one.var, 2.5))
    for _ in range(2):
        assert look(function([X, N], one, two), VerificationCache()).left == []
        assert ran == ["block.load", "block.muls"]
    # A computed size is a different one in each program.
    for size in (N, M):
        ran.clear()
        assert left_of(let("t", BLOCK.load(X, [0, 0], [size, 8]))) == []
        assert ran == ["block.load"]


def test_a_full_table_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never exceeds its limit, and findings do not depend on it."""
    call_forms.FORMS.clear()
    monkeypatch.setattr(call_forms, "MOST_FORMS", 4)
    sizes: list[int] = []
    for rows in range(8, 80, 8):
        one = var("one", tile(rows, 8))
        sound = let("t", BLOCK.muls(one, float(rows)))
        broken = assign(var("u", T4), BLOCK.muls(one, float(rows)))
        found = messages(program(function([one], sound, broken)))
        assert found == [
            f"variable 'u' is a Tile[[4, 8], FP32], its value is a Tile[[{rows}, 8], FP32]"
        ]
        sizes.append(len(call_forms.FORMS))
    assert max(sizes) <= 4
    assert sizes != sorted(sizes)  # it was cleared


# --------------------------------------------------------------------------------------------
# What is broken next to it
# --------------------------------------------------------------------------------------------

GOOD = let("good", BLOCK.add(A, B))
ADDED = GOOD.value


def with_call(**changes: Any) -> ir.Stmt:
    call: Any = copy_with(ADDED, changes)
    return assign(var("bad", call.type), call)


BROKEN: dict[str, tuple[Callable[[], ir.Stmt], str]] = {
    "another result": (
        lambda: with_call(type=T4),
        "block.add gives a pl.Tile[[8, 8], pl.FP32], the call says pl.Tile[[4, 8], pl.FP32]",
    ),
    "another variable for the value": (
        lambda: assign(var("bad", T4), ADDED),
        "variable 'bad' is a Tile[[4, 8], FP32], its value is a Tile[[8, 8], FP32]",
    ),
    "an operand of another type": (
        lambda: with_call(args=(A, copy_with(B, {"type": tile(4, 4)}))),
        "variable 'b' is read without a definition",
    ),
    "an operand too few": (
        lambda: with_call(args=(A,)),
        "block.add takes 2 operands, got 1",
    ),
    "an unknown keyword": (
        lambda: with_call(kwargs={"loud": True}),
        "block.add has no keyword 'loud'",
    ),
    "a call inside of another": (
        lambda: with_call(args=(A, ADDED)),
        "the call of block.add is an argument of another call",
    ),
    "a function instead of the op": (
        lambda: with_call(op=ir.GlobalVar("block.add")),
        "'block.add' is called but is not a function of the program",
    ),
}


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_statement_beside_a_proved_one(broken: str, order: int) -> None:
    """It is found, before and after the right one, even if that was cached."""
    make, wanted = BROKEN[broken]
    cache = VerificationCache()
    assert messages(whole(GOOD), cache) == []
    both = [GOOD, make()][::order]
    for _ in range(2):
        assert wanted in messages(whole(*both), cache)
    assert messages(whole(GOOD), cache) == []


def test_constants_of_equal_value() -> None:
    """A constant of the wrong kind is found after the right one with equal value and type."""
    scaled = let("t", BLOCK.muls(A, 2.0))
    right: Any = scaled.value
    wrong = copy_with(right, {"args": (A, ir.ConstInt(2, ir.FP32))})
    assert right.args[1].type is wrong.args[1].type
    assert messages(whole(scaled, let("u", wrong)), VerificationCache()) == [
        "the integer constant 2 has element type fp32"
    ]


def test_computed_sizes_are_part_of_the_type() -> None:
    """Tiles of n and of m rows differ, whereas computed offsets do not matter."""
    right = let("t", BLOCK.load(X, [N, 0], [N, 64]))
    elsewhere = let("u", BLOCK.load(X, [M, M + 1], [N, 64]))
    other: Any = BLOCK.load(X, [N, 0], [M, 64])
    cache = VerificationCache()
    assert messages(whole(right, elsewhere), cache) == []
    [message] = messages(whole(let("v", copy_with(other, {"type": right.var.type}))), cache)
    assert message.startswith("block.load gives a pl.Tile[[m, 64], pl.FP32")


def test_types_that_are_equal_only_in_numbers() -> None:
    """Types stay distinct if all but the element type, the view, or the kind agrees."""
    add: Any = ADDED
    others = (
        ir.TileType(T8.shape, ir.UINT16),
        ir.TileType(T8.shape, ir.FP32, tile_view=ir.TileView(valid_shape=[4, 8])),
        ir.TensorType(T8.shape, ir.FP32),
    )
    for other in others:
        cache = VerificationCache()
        assert messages(whole(GOOD), cache) == []
        operand = var("o", other)
        stmt = assign(var("t", T8), copy_with(add, {"args": (A, operand)}))
        broken = program(function([A, operand], stmt))
        assert [d.rule_name for d in verified(broken, cache)] == ["TypeCheck"]


def test_keywords_that_are_one_object() -> None:
    """Calls that share keywords, as those of one form do, are distinguished by op and type."""
    flag: Any = ir.create_op_call(
        "system.sync_src",
        [],
        {"set_pipe": ir.PipeType.V, "wait_pipe": ir.PipeType.S, "event_id": 1},
    )
    bar: Any = ir.create_op_call("system.bar_all", [], {})
    cache = VerificationCache()
    assert messages(whole(ir.EvalStmt(flag)), cache) == []
    loud = copy_with(bar, {"kwargs": flag.kwargs})
    typed = copy_with(flag, {"type": T4})
    assert messages(whole(ir.EvalStmt(loud), ir.EvalStmt(typed)), cache) == [
        "system.bar_all has no keyword 'set_pipe'",
        "system.sync_src gives a pl.UnknownType, the call says pl.Tile[[4, 8], pl.FP32]",
    ]


def test_memory_that_an_op_does_not_take() -> None:
    """What is right for tiles in unknown memory is checked again once the memory is known."""

    def placed(space: ir.MemorySpace, name: str) -> ir.Var:
        return var(name, ir.TileType(T8.shape, ir.FP32, ir.MemRef(space, 0, 256)))

    def added(a: ir.Var, b: ir.Var) -> list[str]:
        call = copy_with(ADDED, {"args": (a, b)})
        found = program(function([a, b], assign(var("t", T8), call)))
        return messages(found, cache)

    cache = VerificationCache()
    assert messages(whole(GOOD), cache) == []
    vec, mat = placed(ir.MemorySpace.Vec, "v"), placed(ir.MemorySpace.Mat, "m")
    assert added(vec, placed(ir.MemorySpace.Vec, "w")) == []
    [message] = added(vec, mat)
    assert "memory, it is in Mat" in message


# --------------------------------------------------------------------------------------------
# One statement in several programs
# --------------------------------------------------------------------------------------------


def test_memory_of_a_tile_in_an_earlier_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that had memory in an earlier program is not in that memory without a reference."""
    call_forms.FORMS.clear()
    plain: Any = unique(T8)
    in_left = with_memref(plain, ir.MemRef(ir.MemorySpace.Left, 0, 256))
    a, b, c = var("a", plain), var("b", plain), var("c", in_left)
    assert messages(program(function([c])), VerificationCache()) == []
    assert messages(program(function([a, b], let("t", BLOCK.add(a, b)))), VerificationCache()) == []
    wrong = assign(var("t", plain), ir.Call(BLOCK.add(a, b).op, [c, c], plain))
    assert messages(program(function([c], wrong)), VerificationCache()) == [
        "pl.add takes c from Vec memory, it is in Left"
    ]


def test_a_callee_of_another_signature() -> None:
    """A statement that calls a function is right or wrong by the callee in its program."""
    stmt = assign(var("r", T8), ir.Call(ir.GlobalVar("g"), [A], T8))
    caller = function([A], stmt, name="z")

    def callee(kind: ir.Type, result: ir.Type) -> ir.Function:
        value = var("v", result)
        return function([var("p", kind)], ir.ReturnStmt([value]), name="g", results=[result])

    cache = VerificationCache()

    def found(*functions: ir.Function) -> list[str]:
        diagnostics = verified(program(caller, *functions), cache)
        return [d.message for d in diagnostics if d.rule_name != "SSAVerify"]

    assert found(callee(T8, T8)) == []
    assert found(callee(T4, T8)) == [
        "parameter 'p' of g is a Tile[[4, 8], FP32], the argument is a Tile[[8, 8], FP32]"
    ]
    assert found(callee(T8, T4)) == [
        "the result of g is a Tile[[4, 8], FP32], the call's type is a Tile[[8, 8], FP32]"
    ]
    assert found() == ["'g' is called but is not a function of the program"]
    assert found(callee(T8, T8)) == []


def test_variables_that_are_defined_elsewhere() -> None:
    """A cached statement that reads what its program does not define, or defines it twice."""
    first = let("c", BLOCK.add(A, B))
    second = let("d", BLOCK.mul(first.var, B))
    cache = VerificationCache()
    assert messages(whole(first, second), cache) == []
    assert messages(whole(second, first), cache) == ["variable 'c' is read without a definition"]
    assert messages(whole(first, second, first), cache) == [
        "variable 'c' is assigned a second time"
    ]
    assert (
        messages(program(function([A, X, N, M], first, second)), cache)
        == ["variable 'b' is read without a definition"] * 2
    )
    loop = ir.ForStmt(var("i"), 0, 4, 1, [], ir.SeqStmts([first]), [])
    assert messages(whole(loop, second), cache) == ["variable 'c' is read where it is not known"]
    assert messages(whole(first, second), cache) == []


def test_a_return_under_another_signature() -> None:
    """A function's return is compared with that function's own result types."""
    result = let("c", BLOCK.add(A, B))
    body = result, ir.ReturnStmt([result.var])
    cache = VerificationCache()
    assert messages(program(function([A, B], *body, results=[T8])), cache) == []
    assert messages(program(function([A, B], *body, results=[T4])), cache) == [
        "the result of f is a Tile[[4, 8], FP32], what it returns is a Tile[[8, 8], FP32]"
    ]


def test_one_function_in_two_programs() -> None:
    """The same function object is checked again when it is in another program."""
    stmt = ir.EvalStmt(ir.Call(ir.GlobalVar("g"), [A]))
    caller, empty = function([A], stmt, name="z"), function([A], name="g")
    cache = VerificationCache()
    assert messages(program(caller, empty), cache) == []
    assert messages(program(caller, function([], name="g")), cache) == [
        "g takes 0 arguments, got 1"
    ]


# --------------------------------------------------------------------------------------------
# Random programs
# --------------------------------------------------------------------------------------------


def mutated(rng: random.Random, body: list[Any]) -> list[Any]:
    """Return statements one of which is changed, doubled, removed or moved."""
    at = rng.randrange(len(body))
    stmt = body[at]
    value: Any = getattr(stmt, "value", None)
    new: list[Any] = [stmt]
    match rng.randrange(8):
        case 0:
            new = []
        case 1:
            new = [stmt, stmt]
        case 2:
            return [*body[:at], *body[at + 1 :], stmt]
        case 3 if isinstance(stmt, ir.AssignStmt):
            kind = rng.choice((T4, INT, tile(8, 16), ir.UnknownType.get()))
            new = [assign(copy_with(stmt.var, {"type": kind}), value)]
        case 4 if isinstance(value, ir.Call):
            kind = rng.choice((T4, INT, tile(8, 16)))
            new = [assign(stmt.var, copy_with(value, {"type": kind}))]
        case 5 if isinstance(value, ir.Call) and value.args:
            args = list(value.args)
            args[rng.randrange(len(args))] = rng.choice((A, N, ADDED, ir.ConstInt(1, ir.FP32)))
            new = [assign(stmt.var, copy_with(value, {"args": tuple(args)}))]
        case 6 if isinstance(value, ir.Call):
            new = [assign(stmt.var, copy_with(value, {"op": ir.GlobalVar("f")}))]
        case 7 if isinstance(value, ir.Call):
            new = [assign(stmt.var, copy_with(value, {"kwargs": {"loud": 1}}))]
        case _:
            pass
    return [*body[:at], *new, *body[at + 1 :]]


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 20))
def test_random_mutants(rng: random.Random, size: int) -> None:
    """With the cache of all programs before, each rule finds the same as without any."""
    kernel = random_kernel(rng.randrange, size)
    current, cache = program(kernel), VerificationCache()
    for _, make in PIPELINES[OptimizationStrategy.Default]:
        current = make().run(current)
        assert verified(current, cache) == []
        for each in current.functions_:
            for _ in range(3):
                body = mutated(rng, list(statements(each.body)))
                broken = current.with_functions([each.with_body(ir.SeqStmts(body))])
                for rule in RULES:
                    wanted = list(RULES[rule](broken, Distrust()))
                    assert list(RULES[rule](broken, cache)) == wanted
