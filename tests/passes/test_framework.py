"""Passes, properties, contexts, instruments and the pipeline that verifies between passes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from pypto._src.diagnostics import Diagnostic
from pypto._src.dtypes import DataType
from pypto._src.errors import InternalError, PassError, VerificationError
from pypto._src.ir.array_types import MemRef, TileType
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Call, Expr, GlobalVar, Var
from pypto._src.ir.stmts import (
    AssignStmt,
    EvalStmt,
    Function,
    IfStmt,
    Program,
    ReturnStmt,
    SeqStmts,
    Stmt,
    statements,
)
from pypto._src.ir.traversal.queries import ops_called, stmts_in
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ir.types import Type
from pypto._src.ir.verify.verifier import RULES
from pypto._src.ops.lookup import create_op_call
from pypto._src.passes.pass_base import (
    CallbackInstrument,
    Pass,
    PassContext,
    PassInstrument,
    VerificationInstrument,
)
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.pipeline import PassPipeline
from pypto._src.passes.properties import IRProperty, IRPropertySet
from pypto._src.passes.run_verifier import RunVerifier
from pypto._src.passes.structure.flatten_call_expr import FlattenCallExpr, lift_calls
from pypto._src.passes.verification import (
    PassFacts,
    VerificationLevel,
    VerificationMode,
    get_default_verification_level,
    get_verified_properties,
    verify_properties,
)
from pypto._src.targets import A2A3
from tests.passes.scalars import T, program

P = IRProperty
GOOD = program("def f(n):\n    x = n + 1\n    return x")


def assigned_twice() -> Program:
    n, x = Var("n", T), Var("x", T)
    twice = [AssignStmt(var=x, value=n), AssignStmt(var=x, value=n), ReturnStmt([x])]
    return Program([Function("f", [n], [T], twice)], "p")


def verified_in_ssa(program: Program) -> bool:
    verify_properties(IRPropertySet(P.SSAForm), program, "here")
    return True


class Same(Pass):
    """Returns the program unchanged."""

    def run(self, program: Program) -> Program:
        return program


class Spoil(Pass):
    """Claims SSA form, and breaks it."""

    produces = IRPropertySet(P.SSAForm)

    def run(self, program: Program) -> Program:
        return assigned_twice()


class Claim(Pass):
    """Claims SSA form without checking anything."""

    produces = IRPropertySet(P.SSAForm)

    def run(self, program: Program) -> Program:
        return program


class Orphan(Pass):
    """Claims a well-typed program, and calls a function that does not exist."""

    produces = IRPropertySet(P.TypeChecked)

    def run(self, program: Program) -> Program:
        call = EvalStmt(Call(GlobalVar("gone"), []))
        return Program([Function("f", [], [], call)], "p")


def test_structure_is_verified_with_the_types() -> None:
    """A pass that breaks the structure of a well-typed program is detected."""
    with pytest.raises(VerificationError) as caught:
        PassPipeline([Orphan()]).run(GOOD)
    assert "verification failed after Orphan" in caught.value.message
    assert "[1] error Structure 305 (UNKNOWN_FUNCTION)" in caught.value.message
    assert "'gone' is called but is not a function of the program" in caught.value.message


def test_statements_that_are_proved() -> None:
    """After a verified pass, passes are told which statements were not verified."""
    seen: list[list[Stmt]] = []

    class Look(Same):
        def transform(self, program: Program, facts: PassFacts) -> Program:
            seen.append(list(facts.unproved(program.functions_[0])))
            return program

    body = list(statements(GOOD.functions_[0].body))
    PassPipeline([Look(), Claim(), Look()]).run(GOOD)
    assert seen == [body, [body[-1]]]  # the assignment is right whatever the function is
    Look()(GOOD)
    assert seen[-1] == body


def test_ops_called() -> None:
    """Every op is found, also in nested calls; a program without any takes a shorter search."""
    kind = TileType([8, 8], DataType.FP32)
    a, n = Var("a", kind), Var("n", T)

    def let(name: str, op: str, *args: Expr) -> AssignStmt:
        return AssignStmt(Var(name, kind), create_op_call(op, args, {}))

    body = [
        let("b", "block.add", create_op_call("block.exp", [a], {}), a),
        EvalStmt(create_op_call("system.bar_all", [], {})),
        IfStmt(n > 3, let("c", "block.sub", a, a), None),
        let("d", "block.add", a, a),
        EvalStmt(Call(GlobalVar("f"), [a, n])),
        ReturnStmt(),
    ]
    function = Function("f", [a, n], [], SeqStmts(body))
    names = ["block.add", "block.exp", "block.sub", "f", "system.bar_all"]
    flat = ops_called(stmts_in(lift_calls(function).body), flat=True)
    for found in (ops_called(stmts_in(function.body)), flat):
        assert sorted(op.name for op in found) == names
        assert all(call.op is op for op, call in found.items())


def test_what_passes_say() -> None:
    """A pass is told what earlier passes established about its program; alone, nothing."""
    seen: list[bool] = []

    class Look(Same):
        def transform(self, program: Program, facts: PassFacts) -> Program:
            seen.append(facts.claims(P.NoNestedCalls))
            return program

    class Nests(Same):
        invalidates = IRPropertySet(P.NoNestedCalls)

    PassPipeline([Look(), FlattenCallExpr(), Look(), Nests(), Look()]).run(GOOD)
    Look()(GOOD)
    assert seen == [False, True, False, False]


def test_property_sets_are_their_own() -> None:
    """Changing the set that a pass returns does not affect the pass."""
    given = Claim().get_produced_properties()
    given.insert(P.HasMemRefs)
    given.remove(P.SSAForm)
    assert given.items == {P.HasMemRefs}
    assert Claim().get_produced_properties().items == {P.SSAForm}


def test_property_sets() -> None:
    """Set operations return new sets; the text is in the order of the enumeration."""
    first = IRPropertySet(P.TypeChecked, P.SSAForm)
    assert str(first) == repr(first) == "{SSAForm, TypeChecked}"
    assert str(IRPropertySet()) == "{}"
    assert IRPropertySet().empty()
    second = IRPropertySet(P.SSAForm, P.HasMemRefs)
    assert first.union_with(second) == IRPropertySet(P.SSAForm, P.TypeChecked, P.HasMemRefs)
    assert first.intersection(second) == IRPropertySet(P.SSAForm)
    assert first.difference(second).to_list() == [P.TypeChecked]
    assert first.contains_all(IRPropertySet(P.SSAForm))
    assert not first.contains_all(second)
    second.remove(P.SSAForm)
    second.insert(P.NoNestedCalls)
    assert second.to_list() == [P.NoNestedCalls, P.HasMemRefs]
    assert second.contains(P.HasMemRefs)
    assert not second.contains(P.SSAForm)
    assert first != second
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)


def test_property_numbers() -> None:
    """The numbers of properties, levels and modes are those of the public interface."""
    assert [prop.value for prop in IRProperty] == list(range(9))
    assert P.AllocatedMemoryAddr.value == 8
    assert [level.value for level in VerificationLevel] == [0, 1]
    assert [mode.name for mode in VerificationMode] == [
        "NONE",
        "BEFORE",
        "AFTER",
        "BEFORE_AND_AFTER",
    ]
    wanted = IRPropertySet(P.SSAForm, P.TypeChecked, P.AllocatedMemoryAddr)
    assert get_verified_properties() == wanted


def test_sets_of_a_pass_are_copies() -> None:
    """Changing what a getter returned does not change the pass."""
    claim = Claim()
    claim.get_produced_properties().remove(P.SSAForm)
    assert claim.get_produced_properties() == IRPropertySet(P.SSAForm)
    assert claim.get_required_properties().empty()
    assert claim.get_invalidated_properties().empty()
    assert claim.get_name() == "Claim"


def test_names_of_passes() -> None:
    """A pass has the name of its class, unless it names itself; each one of a strategy has one."""
    assert Claim.name == Claim().name == "Claim"
    names = [pass_.name for pass_ in PassManager().passes]
    assert names == [pass_.get_name() for pass_ in PassManager().passes]
    assert names[:2] == ["ConvertToSSA", "FlattenCallExpr"]
    assert "IRVerifier" in names
    assert all(names)


def test_default_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """PYPTO_VERIFY_LEVEL=none turns verification off."""
    monkeypatch.delenv("PYPTO_VERIFY_LEVEL", raising=False)
    assert get_default_verification_level() is VerificationLevel.BASIC
    monkeypatch.setenv("PYPTO_VERIFY_LEVEL", "none")
    assert get_default_verification_level() is VerificationLevel.NONE
    assert PassPipeline([Spoil()]).run(GOOD) is not GOOD


def test_instruments_see_passes_in_order() -> None:
    """All instruments of the innermost context see each pass, before and after it."""
    seen: list[str] = []

    class Note(PassInstrument):
        def run_before_pass(self, pass_: Pass, program: Program) -> None:
            seen.append(f"note before {pass_.get_name()} {program is GOOD}")

    callback = CallbackInstrument(
        lambda p, _: seen.append(f"before {p.get_name()}"),
        lambda p, _: seen.append(f"after {p.get_name()}"),
    )
    with PassContext([callback]):
        with PassContext([Note(), callback]):
            Same()(GOOD)
        Claim()(GOOD)
    Same()(GOOD)
    assert seen == [
        "note before Same True",
        "before Same",
        "after Same",
        "before Claim",
        "after Claim",
    ]
    assert Note().get_name() == "Note"
    assert callback.get_name() == "CallbackInstrument"


def test_contexts_nest_and_belong_to_a_thread() -> None:
    """Leaving a context restores the one around it, also after an error; threads see none."""
    outer, inner = PassContext([]), PassContext([], VerificationLevel.NONE)
    elsewhere: list[PassContext | None] = []
    with outer as entered:
        assert entered is outer
        with inner:
            assert PassContext.current() is inner
            assert inner.get_verification_level() is VerificationLevel.NONE
        with pytest.raises(PassError), inner:
            raise PassError("no")
        assert PassContext.current() is outer
        thread = threading.Thread(target=lambda: elsewhere.append(PassContext.current()))
        thread.start()
        thread.join()
    assert elsewhere == [None]
    assert PassContext.current() is None


def test_defect_of_a_pass_is_an_internal_error() -> None:
    """An unexpected exception names the pass; a note has the IR before the pass."""

    class Faulty(Pass):
        """Fails."""

        def run(self, program: Program) -> Program:
            raise KeyError("x")

    with pytest.raises(InternalError) as caught:
        Faulty()(GOOD)
    assert str(caught.value) == "pass Faulty failed: KeyError: 'x'"
    assert isinstance(caught.value.__cause__, KeyError)
    [note] = caught.value.__notes__
    assert note.startswith("The IR before Faulty:\n# pypto.program: p\n")
    assert "x: pl.Scalar[pl.INT64] = n + 1" in note


def test_mistakes_of_the_user_pass_through() -> None:
    """Errors that a pass reports about the program are not wrapped."""
    error = PassError("no")

    class Refuse(Pass):
        """Rejects every program."""

        def run(self, program: Program) -> Program:
            raise error

    with pytest.raises(PassError) as caught:
        Refuse()(GOOD)
    assert caught.value is error


def test_pipeline_verifies_what_a_pass_produces() -> None:
    """A pass that makes a false claim is detected right after it."""
    pipeline = PassPipeline()
    pipeline.add_pass(Same())
    pipeline.add_pass(Spoil())
    pipeline.add_pass(Same())
    assert pipeline.get_pass_names() == ["Same", "Spoil", "Same"]
    with pytest.raises(VerificationError, match=r"^verification failed after Spoil\n") as caught:
        pipeline.run(GOOD)
    assert "FAILED" in caught.value.message
    with PassContext([], VerificationLevel.NONE):
        assert pipeline.run(GOOD) is not GOOD


def test_pipeline_keeps_an_eye_on_what_held() -> None:
    """What one pass has established must hold after the others, unless they say otherwise."""

    class Break(Pass):
        """Breaks SSA form without declaring it."""

        def run(self, program: Program) -> Program:
            return assigned_twice()

    class Honest(Break):
        """Declares it."""

        invalidates = IRPropertySet(P.SSAForm)

    with pytest.raises(VerificationError, match="after Break"):
        PassPipeline([Claim(), Break()]).run(GOOD)
    assert PassPipeline([Claim(), Honest()]).run(GOOD) is not GOOD


class _Loses(Pass):
    """Breaks SSA form without declaring it."""

    def run(self, program: Program) -> Program:
        return assigned_twice()


class _Copies(Pass):
    """Returns another program with the same functions."""

    def run(self, program: Program) -> Program:
        return program.with_functions(program.functions_)


class _Fails(Pass):
    """Raises an error."""

    def run(self, program: Program) -> Program:
        raise PassError("no")


class _Gives(Pass):
    """Declares that it invalidates SSA form."""

    invalidates = IRPropertySet(P.SSAForm)

    def run(self, program: Program) -> Program:
        return assigned_twice()


def test_the_pass_that_lost_a_property_is_named() -> None:
    """It is named whichever pass follows it, also one that fails or invalidates the property."""
    for after in ([], [_Copies(), _Copies()], [_Copies(), _Fails()], [_Gives()]):
        with pytest.raises(VerificationError, match=r"^verification failed after _Loses\n"):
            PassPipeline([Claim(), _Copies(), _Loses(), *after]).run(GOOD)
    with pytest.raises(PassError, match=r"^no$"):
        PassPipeline([Claim(), _Copies(), _Fails()]).run(GOOD)


def test_a_property_is_not_verified_again_before_it_may_be_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Verified where it is claimed and at the end; by RunVerifier only on other programs."""
    verified: list[Program] = []

    def rule(program: Program) -> Iterator[Diagnostic]:
        verified.append(program)
        return iter(())

    monkeypatch.setitem(RULES, "SSAVerify", rule)
    passes = [_Copies(), Claim(), RunVerifier(), _Copies(), _Copies(), _Copies()]
    seen: list[Program] = []
    PassPipeline(passes).run(GOOD, lambda _, program: seen.append(program))
    assert [id(p) for p in verified] == [id(seen[1]), id(seen[-1])]
    verified.clear()
    PassPipeline([Claim(), _Copies(), RunVerifier()]).run(GOOD)
    assert [program is GOOD for program in verified] == [True, False, False]
    verified.clear()
    RunVerifier()(GOOD)
    assert [id(p) for p in verified] == [id(GOOD)]


def test_verification_instrument() -> None:
    """Required properties are verified before a pass, produced ones after it; else a ValueError."""

    class Needs(Same):
        """Requires SSA form."""

        requires = IRPropertySet(P.SSAForm)

    bad = assigned_twice()
    for mode in (VerificationMode.BEFORE, VerificationMode.BEFORE_AND_AFTER):
        with PassContext([VerificationInstrument(mode)]):
            with pytest.raises(ValueError, match=r"^verification failed before Needs\n"):
                Needs()(bad)
            assert Needs()(GOOD) is GOOD
    with PassContext([VerificationInstrument(VerificationMode.AFTER)]):
        assert verified_in_ssa(Needs()(bad))  # a pass that needs SSA form creates it
        with pytest.raises(ValueError, match=r"^verification failed after Claim\n"):
            Claim()(bad)
    with PassContext([VerificationInstrument(VerificationMode.NONE)]):
        assert Claim()(bad) is bad


def test_verify_properties() -> None:
    """Only the given properties are checked."""
    verify_properties(IRPropertySet(P.HasMemRefs), assigned_twice(), "here")
    with pytest.raises(VerificationError, match="after here"):
        verify_properties(IRPropertySet(P.SSAForm), assigned_twice(), "here")


class _Typed(Pass):
    """Claims that types are right, and that the program is in SSA form."""

    produces = IRPropertySet(P.SSAForm, P.TypeChecked)

    def run(self, program: Program) -> Program:
        return program


def _add(first: Var, second: Var, name: str) -> AssignStmt:
    value = create_op_call("block.add", [first, second], {})
    return AssignStmt(Var(name, value.type), value)


def _sums(kind: Type) -> Program:
    """Return a program in which ``z`` calls ``g``, whose parameter has ``kind``, after a sum."""
    a, b, p = (Var(name, TileType([8, 8], DataType.FP32)) for name in "abp")
    total = _add(a, b, "total")
    called = EvalStmt(Call(GlobalVar("g"), [total.var]))
    callee = Function("g", [Var("p", kind)], [], ReturnStmt())
    return Program([callee, Function("z", [a, b, p], [], [total, called])], "p")


TILE = TileType([8, 8], DataType.FP32)


class _Changes(Pass):
    """Replaces the statements of ``z`` by a function's result; the rest is unchanged."""

    def __init__(self, change: Callable[[list[Stmt]], list[Stmt]], kind: Type = TILE) -> None:
        self.change = change
        self.kind = kind

    def run(self, program: Program) -> Program:
        last = program.functions_[-1]
        stmts = self.change(list(statements(last.body)))
        callee = Function("g", [Var("p", self.kind)], [], ReturnStmt())
        return Program([callee, last.with_body(SeqStmts(stmts))], "p")


def _retyped(stmts: list[Stmt]) -> list[Stmt]:
    """Give the sum a variable of another type."""
    assert isinstance(stmts[0], AssignStmt)
    other = Var("total", TileType([4, 8], DataType.FP32))
    return [AssignStmt(other, stmts[0].value), *stmts[1:]]


def _another(stmts: list[Stmt]) -> list[Stmt]:
    """Append a sum of the wrong type to the right one."""
    assert isinstance(stmts[0], AssignStmt)
    wrong = copy_with(stmts[0].value, {"type": TileType([4, 8], DataType.FP32)})
    return [*stmts, AssignStmt(Var("more", wrong.type), wrong)]


LOST: dict[str, tuple[_Changes, str]] = {
    "a callee with another parameter": (
        _Changes(list, TileType([4, 8], DataType.FP32)),
        "parameter 'p' of g is a Tile[[4, 8], FP32], the argument is a Tile[[8, 8], FP32]",
    ),
    "a definition dropped": (
        _Changes(lambda stmts: stmts[1:]),
        "variable 'total' is read without a definition",
    ),
    "a definition behind its use": (
        _Changes(lambda stmts: stmts[::-1]),
        "variable 'total' is read without a definition",
    ),
    "a definition doubled": (
        _Changes(lambda stmts: [stmts[0], *stmts]),
        "variable 'total' is assigned a second time",
    ),
    "a variable of another type": (
        _Changes(_retyped),
        "variable 'total' is a Tile[[4, 8], FP32], its value is a Tile[[8, 8], FP32]",
    ),
    "a wrong call behind a right one": (
        _Changes(_another),
        "block.add gives a pl.Tile[[8, 8], pl.FP32], the call says pl.Tile[[4, 8], pl.FP32]",
    ),
}


@pytest.mark.parametrize("case", LOST)
def test_what_was_proved_of_statements_hides_nothing(case: str) -> None:
    """A pass that makes a program invalid by combining verified statements is named."""
    change, wanted = LOST[case]
    right = _Changes(list)
    PassPipeline([_Typed(), RunVerifier(), right, _Copies()]).run(_sums(TILE))
    with pytest.raises(VerificationError) as caught:
        PassPipeline([_Typed(), RunVerifier(), right, change, _Copies()]).run(_sums(TILE))
    assert caught.value.message.startswith("verification failed after _Changes\n")
    assert wanted in caught.value.message


def test_addresses_are_verified_in_the_order_of_the_text() -> None:
    """Each buffer is reported once, at its first use: without address, or beyond its memory."""

    def tile(name: str, number: int, address: int) -> Var:
        memref = MemRef(MemorySpace.Vec, address, 256, number)
        return Var(name, TileType([8, 8], DataType.FP32, memref))

    good, far, none = tile("a", 0, 0), tile("b", 1, 1 << 20), tile("c", 2, -1)
    values = [_add(good, far, "t").value, _add(none, far, "t").value]
    stmts = [AssignStmt(good, values[0]), AssignStmt(none, values[1]), ReturnStmt([far])]
    broken = Program([Function("f", [], [], stmts)], "p")
    with pytest.raises(VerificationError) as caught:
        verify_properties(IRPropertySet(P.AllocatedMemoryAddr), broken, "a pass")
    size = A2A3.memories[MemorySpace.Vec].physical_bytes
    assert caught.value.message.splitlines()[4:] == [
        "[1] error AllocatedMemoryAddr 1",
        f"    buffer mem_vec_1 ends at byte {(1 << 20) + 256} of a memory of {size} bytes",
        "[2] error AllocatedMemoryAddr 0",
        "    buffer mem_vec_2 has no address",
        "Status: FAILED",
    ]
    right = Program([Function("f", [good], [], [AssignStmt(tile("d", 0, 0), good)])], "p")
    verify_properties(IRPropertySet(P.AllocatedMemoryAddr), right, "a pass")
