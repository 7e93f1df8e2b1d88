"""Pipelines materialize statements with memory references once, without visible effects."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto._src.analysis.stmt_tree import Retype
from pypto._src.commands.example_cases import Case, cases
from pypto._src.errors import InternalError
from pypto._src.frontend.parse_text import parse_program
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.text.printer import python_print
from pypto._src.passes.memory.allocate_memory_addr import AllocateMemoryAddr
from pypto._src.passes.memory.init_mem_ref import InitMemRef
from pypto._src.passes.memory.memory_reuse import BasicMemoryReuse
from pypto._src.passes.memory.memref_assignment import MemoryPass, MemRefAssignment, MemRefs
from pypto._src.passes.pass_base import (
    AnyProgram,
    CallbackInstrument,
    Pass,
    PassContext,
    Unmaterialized,
    materialized,
)
from pypto._src.passes.pass_manager import PassManager
from pypto._src.passes.pipeline import PassPipeline
from pypto._src.passes.structure.convert_to_ssa import ConvertToSSA
from pypto._src.passes.structure.normalize_stmt_structure import normalized
from pypto._src.passes.sync.insert_sync import InsertSync
from pypto._src.passes.verification import NOTHING_KNOWN, VerificationLevel
from tests.passes.build import Block, random_kernel, tensor

EXAMPLES = cases(Path(__file__).parents[2] / "examples")


def memory_passes() -> list[Pass]:
    """Return the passes that hand on programs whose statements are not materialized."""
    return [InitMemRef(), BasicMemoryReuse(), InsertSync(), AllocateMemoryAddr()]


def one_by_one(passes: Sequence[Pass], program: Program) -> list[str]:
    """Return the text after each pass, where each is called with a materialized program."""
    texts: list[str] = []
    for each in passes:
        program = each(program)
        texts.append(python_print(program))
    return texts


@pytest.fixture
def writings(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often the statements of functions are materialized, by name."""
    count: Counter[str] = Counter()
    function = Retype.function

    def counted(self: Retype, given: Function) -> Function:
        count[given.name] += 1
        return function(self, given)

    monkeypatch.setattr(Retype, "function", counted)
    return count


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda case: case.name)
def test_examples(case: Case) -> None:
    """Pipelines give the same example as their passes one by one, also with shared parts."""
    front = PassManager.get_strategy().passes[:6]
    program = PassPipeline(front).run(case.program)
    assert [each.get_name() for each in front][-1] == "LegalizeTiles"
    wanted = one_by_one(memory_passes(), program)
    assert python_print(PassPipeline(memory_passes()).run(program)) == wanted[-1]
    seen: list[str] = []
    PassPipeline(memory_passes()).run(program, lambda _, now: seen.append(python_print(now)))
    assert seen == wanted


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 60))
def test_random_kernels(rng: random.Random, size: int) -> None:
    """A pipeline makes of a kernel what its passes make one by one; instruments see each step."""
    program = Program([random_kernel(rng.randrange, size)], "P")
    wanted = one_by_one(memory_passes(), program)
    assert python_print(PassPipeline(memory_passes()).run(program)) == wanted[-1]
    seen: list[str] = []
    look = CallbackInstrument(after_pass=lambda _, now: seen.append(python_print(now)))
    with PassContext([look]):
        PassPipeline(memory_passes()).run(program)
    assert seen == wanted


def test_statements_are_made_once(writings: Counter[str]) -> None:
    """Four passes materialize a kernel's statements once; called alone, each that changes them."""
    program = Program([random_kernel(random.Random(1).randrange, 40)], "P")
    [name] = [function.name for function in program.functions_]
    PassPipeline(memory_passes()).run(program)
    assert writings == {name: 1}
    writings.clear()
    one_by_one(memory_passes(), program)
    assert writings == {name: 3}


def test_what_is_not_asked_for_is_not_made(writings: Counter[str]) -> None:
    """A step hands on its input statements; asking for the program materializes it."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tile = block.let("b", "block.neg", block.load("a", x, [0, 0], [8, 128]))
    program = Program([block.function([x, out], [block.store("r", tile, [0, 0], out)])], "P")
    given: AnyProgram = program
    for each in memory_passes()[:2]:
        given = each.step(given, NOTHING_KNOWN)
    assert isinstance(given, Unmaterialized)
    assert given.program is program
    assert not writings
    assert materialized(given) is materialized(given)
    assert sum(writings.values()) == 1


def test_a_program_that_stays_is_itself() -> None:
    """If no reference is replaced, functions and the program remain the same objects."""
    program = InitMemRef()(Program([random_kernel(random.Random(3).randrange, 10)], "P"))
    assert MemRefAssignment.of(program).materialize() is program
    [function] = program.functions_
    memrefs = MemRefs.in_types(function)
    same = {memref: memref for memref in memrefs.of.values()}
    assert memrefs.replaced(same).materialize() is function


class Fails(MemoryPass):
    """Always fails."""

    def go_on(self, given: AnyProgram) -> AnyProgram:
        raise KeyError("broken")


def test_a_failure_shows_the_references() -> None:
    """The note of a failing pass has the program with references not yet materialized."""
    program = Program([random_kernel(random.Random(4).randrange, 10)], "P")
    before = python_print(InitMemRef()(program))
    with (
        PassContext([], VerificationLevel.NONE),
        pytest.raises(InternalError, match="pass Fails failed") as caught,
    ):
        PassPipeline([InitMemRef(), Fails()]).run(program)
    assert caught.value.__notes__ == [f"The IR before Fails:\n{before}"]


def test_a_failure_behind_a_pass_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements that cannot be materialized are a defect of the pass that deferred them."""

    def broken(_: MemRefs) -> Function:
        raise KeyError("broken")

    monkeypatch.setattr(MemRefs, "materialize", broken)
    program = Program([random_kernel(random.Random(4).randrange, 10)], "P")
    with pytest.raises(InternalError, match="pass InitMemRef failed: KeyError: 'broken'"):
        PassPipeline([InitMemRef()]).run(program)
    with pytest.raises(InternalError, match="pass AllocateMemoryAddr failed"):
        PassPipeline(memory_passes()).run(program)


def test_a_function_without_tensors_becomes_normal() -> None:
    """InitMemRef normalizes bodies even without any references; pipelines preserve that."""
    code = """
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:
        a = n + 1
        for i in pl.range(4):
            b = a + i
            a = b
        return a

    @pl.function
    def main(self, n: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:
        m = n + 1
        return m
"""
    program = ConvertToSSA()(parse_program(code))
    assert normalized(program) is not program
    for made in (InitMemRef()(program), PassPipeline(memory_passes()).run(program)):
        assert normalized(made) is made


class RunsMore(InsertSync):
    """Records the programs that `run` gets."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def run(self, program: Program) -> Program:
        self.seen.append(python_print(program))
        return super().run(program)


class IsCalled(InitMemRef):
    """Records the programs that it is called with."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Program] = []

    def __call__(self, program: Program) -> Program:
        self.seen.append(program)
        return super().__call__(program)


def test_a_pipeline_runs_what_a_subclass_does() -> None:
    """If a pass overrides `run` or a call, pipelines use it too, on a materialized program."""
    program = Program([random_kernel(random.Random(2).randrange, 20)], "P")
    called, runs = IsCalled(), RunsMore()
    result = PassPipeline([called, BasicMemoryReuse(), runs, AllocateMemoryAddr()]).run(program)
    wanted = one_by_one(memory_passes(), program)
    assert called.seen == [program]
    assert runs.seen == [wanted[1]]
    assert python_print(result) == wanted[-1]
