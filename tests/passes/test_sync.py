"""InsertSync against the checker, and the checker against hand-written mistakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto._src.analysis.accesses import Accesses
from pypto._src.analysis.stmt_tree import ProgramPoint, number, points_in, rewrite
from pypto._src.diagnostics import DiagnosticSeverity
from pypto._src.errors import VerificationError
from pypto._src.ir.enums import ForKind, FunctionType, PipeType
from pypto._src.ir.exprs import Call, Var
from pypto._src.ir.stmts import EvalStmt, ForStmt, Function, Program, SeqStmts, Stmt, statements
from pypto._src.ir.traversal.walk import copy_with
from pypto._src.ops.define import REGISTRY
from pypto._src.passes.memory.allocate_memory_addr import with_addresses
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memory_reuse import with_shared_buffers
from pypto._src.passes.pass_base import PassContext, VerificationInstrument
from pypto._src.passes.sync import planner as sync_plan
from pypto._src.passes.sync import prune as sync_prune
from pypto._src.passes.sync.checker import FlagIdentity, check_sync
from pypto._src.passes.sync.checker_dataflow import Flow
from pypto._src.passes.sync.flags import Flag
from pypto._src.passes.sync.hazards import History
from pypto._src.passes.sync.insert_sync import InsertSync, is_sync, with_sync
from pypto._src.passes.sync.plan_dataflow import PlanFlow
from pypto._src.passes.verification import VerificationMode
from pypto._src.targets import A2A3
from tests.passes.build import Block, index, listing, random_kernel, tensor
from tests.passes.test_allocate import simple
from tests.passes.test_memref import product

Edit = Callable[[ProgramPoint, Stmt], Sequence[Stmt]]


def errors(function: Function) -> list[str]:
    """Return the rules that a function breaks, without warnings."""
    found = check_sync(function)
    return [d.rule_name for d in found if d.severity is DiagnosticSeverity.Error]


def synchronised(function: Function) -> Function:
    """Return the function with flags, which have to satisfy the checker."""
    result, _ = with_sync(function)
    assert errors(result) == []
    return result


# --------------------------------------------------------------------------------------------
# Straight code
# --------------------------------------------------------------------------------------------


def test_load_compute_store() -> None:
    """Document 000: one flag for both loads, one for the result, and the end waits for all."""
    assert listing(synchronised(simple(128))) == "\n".join(
        [
            "tile_x = load(x, [0, 0], [128, 64])",
            "tile_y = load(y, [0, 0], [128, 64])",
            "set MTE2->V 0",
            "wait MTE2->V 0",
            "tile_z = add(tile_x, tile_y)",
            "set V->MTE3 0",
            "wait V->MTE3 0",
            "r = store(tile_z, [0, 0], [128, 64], out)",
            "bar ALL",
            "return r",
        ]
    )


def softmax_like() -> Function:
    """Return straight-line code in which values are used at several distances."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 128])
    a = block.load("a", x, [0, 0], [32, 128])
    b = block.load("b", x, [32, 0], [32, 128])
    c = block.let("c", "block.neg", a)
    d = block.let("d", "block.add", c, b)
    e = block.let("e", "block.sub", d, a)
    o1 = block.store("o1", c, [0, 0], out)
    o2 = block.store("o2", e, [32, 0], o1)
    return with_memrefs(block.function([x, out], [o2]))


def test_flags_stand_at_the_producer_and_the_consumer() -> None:
    """Each pipe waits as late as possible, for as little as necessary."""
    assert listing(synchronised(softmax_like())) == "\n".join(
        [
            "a = load(x, [0, 0], [32, 128])",
            "set MTE2->V 0",
            "b = load(x, [32, 0], [32, 128])",
            "set MTE2->V 1",
            "wait MTE2->V 0",
            "c = neg(a)",
            "set V->MTE3 0",
            "wait MTE2->V 1",
            "bar V",
            "d = add(c, b)",
            "bar V",
            "e = sub(d, a)",
            "set V->MTE3 1",
            "wait V->MTE3 0",
            "o1 = store(c, [0, 0], [32, 128], out)",
            "wait V->MTE3 1",
            "o2 = store(e, [32, 0], [32, 128], o1)",
            "bar ALL",
            "return o2",
        ]
    )


def sync_points(function: Function) -> list[ProgramPoint]:
    return [point for point in points_in(number(function)) if is_sync(point.stmt)]


def without(function: Function, place: int) -> Function:
    """Return the function without flag or barrier number ``place``."""
    root = number(function)
    dropped = [point for point in points_in(root) if is_sync(point.stmt)][place]
    return rewrite(function, root, lambda point, stmt: [] if point is dropped else [stmt])


@given(st.data(), st.integers(4, 30))
def test_nothing_can_be_left_out_of_straight_code(data: st.DataObject, size: int) -> None:
    """Without any one set, wait or barrier, the checker reports something."""

    def pick(below: int) -> int:  # 8 and 9 would draw a loop or a branch
        return data.draw(st.integers(0, below - 1 if below != 10 else 7))

    result = synchronised(with_memrefs(random_kernel(pick, size)))
    for place, point in enumerate(sync_points(result)):
        assert errors(without(result, place)), listing(result) + f"\n{point.stmt}"


@given(st.data(), st.integers(4, 40), st.booleans())
def test_straight_code_is_planned_as_all_code_is(
    data: st.DataObject, size: int, share: bool
) -> None:
    """What came before the last write to a buffer may be forgotten where nothing branches."""

    def pick(below: int) -> int:  # 8 and 9 would draw a loop or a branch
        return data.draw(st.integers(0, below - 1 if below != 10 else 7))

    kernel = with_shared_buffers(with_memrefs(random_kernel(pick, size)), always=share)
    result, report = with_sync(kernel)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sync_plan, "StraightHistory", History)
        other, other_report = with_sync(kernel)
    assert listing(other) == listing(result)
    assert other_report == report


def test_sharing_adds_a_wait_for_the_reader() -> None:
    """A load into bytes that a store still reads waits for it: the set is right after the store."""
    block, x, out = Block(), tensor("x", [16, 128]), tensor("out", [16, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    o1 = block.store("o1", a, [0, 0], out)
    b = block.load("b", x, [8, 0], [8, 128])
    o2 = block.store("o2", b, [8, 0], o1)
    kernel = with_memrefs(block.function([x, out], [o2]))
    assert "MTE3->MTE2" not in listing(synchronised(kernel))
    shared = with_shared_buffers(kernel, always=True)
    assert listing(synchronised(shared)).splitlines()[3:8] == [
        "o1 = store(a, [0, 0], [8, 128], out)",
        "set MTE3->MTE2 0",
        "wait MTE3->MTE2 0",
        "b = load(x, [8, 0], [8, 128])",
        "set MTE2->MTE3 1",
    ]


def test_conflicts_between_addresses_are_found() -> None:
    """With addresses, overlap decides, not the memory reference."""
    kernel = with_shared_buffers(softmax_like(), always=True)
    assert errors(with_addresses(synchronised(kernel))) == []
    assert listing(synchronised(with_addresses(kernel))) == listing(synchronised(kernel))


def parallel_loads(count: int) -> Function:
    """Return ``count`` loads, then as many vector ops in the same order."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tiles = [block.load(f"a{i}", x, [0, 0], [8, 128]) for i in range(count)]
    results = [block.let(f"b{i}", "block.neg", tile) for i, tile in enumerate(tiles)]
    r = block.store("r", results[-1], [0, 0], out)
    return with_memrefs(block.function([x, out], [r]))


def test_sets_move_down_when_all_events_are_taken() -> None:
    """The ninth flag is set once the first wait is over, as V acknowledges: no barrier."""
    kernel = parallel_loads(9)
    result, report = with_sync(kernel)
    assert check_sync(result) == []
    assert (report.flags, report.fallbacks, report.full_barriers) == (10, 0, 1)
    assert report.acknowledgements == 1
    lines = listing(result).splitlines()
    first = lines.index("wait MTE2->V 0")
    assert lines[first : first + 5] == [
        "wait MTE2->V 0",
        "set V->MTE2 0",
        "wait V->MTE2 0",
        "set MTE2->V 0",
        "b0 = neg(a0)",
    ]


# --------------------------------------------------------------------------------------------
# Global memory
# --------------------------------------------------------------------------------------------


def stores(second: Any, *, load: bool = False) -> str:
    """Return the listing of a store of rows 0 to 7 and then a store or load of other rows."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [64, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    o1 = block.store("o1", a, [0, 0], out)
    if load:
        b = block.load("b", o1, [second, 0], [8, 128])
        last = block.store("o2", b, [32, 0], o1)
    else:
        last = block.store("o2", a, [second, 0], o1)
    return listing(synchronised(with_memrefs(block.function([x, out, index("n")], [last]))))


def test_stores_to_different_rows_need_no_order() -> None:
    """Only the barrier at the end follows two stores of disjoint boxes."""
    assert stores(8).count("bar ALL") == 1


def test_overlapping_stores_are_ordered() -> None:
    """Two stores that overlap in some rows stay in order."""
    assert stores(7).count("bar ALL") == 2


def test_a_load_of_stored_rows_waits() -> None:
    """Reading back what was stored waits for the store; reading other rows does not."""
    assert "wait MTE3->MTE2 0" in stores(7, load=True)
    assert "MTE3->MTE2" not in stores(8, load=True)


def rows(offset: Callable[[Var], Any], *, kind: ForKind = ForKind.Sequential) -> Function:
    """Return a loop that stores 8 rows of ``out`` at an offset in each iteration."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [512, 128])
    a = block.load("a", x, [0, 0], [8, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        return [inner.store("w", a, [offset(i), 0], args[0])]

    [last] = block.loop({"o": out}, body, stop=4)
    block.stmts = [
        copy_with(s, {"kind": kind}) if isinstance(s, ForStmt) else s for s in block.stmts
    ]
    return with_memrefs(block.function([x, out], [last]))


def test_a_loop_over_rows_needs_no_order() -> None:
    """Stores never overlap if offsets grow by at least the number of rows stored."""
    assert listing(synchronised(rows(lambda i: i * 8))).count("bar ALL") == 1
    assert listing(synchronised(rows(lambda i: i * 16 + 4))).count("bar ALL") == 1


def test_only_iterations_that_have_a_next_one_count() -> None:
    """No later iteration reads the rows that only the last one stores: the load need not wait."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [64, 128])
    a = block.load("a", x, [0, 0], [8, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        inner.load("b", args[0], [24, 0], [8, 128])
        return [inner.store("w", a, [i * 8, 0], args[0])]

    texts: list[str] = []
    for stop in (4, 5):
        [last] = block.loop({"o": out}, body, stop=stop)
        texts.append(listing(synchronised(with_memrefs(block.function([x, out], [last])))))
        block.stmts = block.stmts[:1]
    assert ["MTE3->MTE2" in text for text in texts] == [False, True]


def test_a_loop_that_stores_overlapping_rows_is_ordered() -> None:
    """Stores overlap in the next iteration if offsets grow by less than the rows stored."""
    assert listing(synchronised(rows(lambda i: i * 4))).count("bar ALL") == 2
    assert listing(synchronised(rows(lambda i: i % 2 * 8))).count("bar ALL") == 2


def test_iterations_of_a_parallel_loop_are_independent() -> None:
    """The user declared that iterations may run in any order, so they write different parts."""
    result, _ = with_sync(rows(lambda i: i % 2 * 8, kind=ForKind.Parallel))
    assert listing(result).count("bar ALL") == 1


def test_a_scalar_read_waits_for_the_store() -> None:
    """The scalar unit reads a tensor element that the preceding store has written."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    o1 = block.store("o1", a, [0, 0], out)
    value = block.let("value", "tensor.read", o1, [0, 0])
    b = block.let("b", "block.adds", a, value)
    o2 = block.store("o2", b, [0, 0], o1)
    text = listing(synchronised(with_memrefs(block.function([x, out], [o2])))).splitlines()
    place = text.index("value = read(o1, [0, 0])")
    assert text[place - 2 : place] == ["set MTE3->S 0", "wait MTE3->S 0"]
    assert "set S->MTE3 0" in text


# --------------------------------------------------------------------------------------------
# Loops and branches
# --------------------------------------------------------------------------------------------


def pipeline(stop: Any = 4) -> Function:
    """Return a loop that loads rows, computes twice and stores."""
    block, x, out = Block(), tensor("x", [256, 128]), tensor("out", [256, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.load("a", x, [i * 64, 0], [64, 128])
        b = inner.let("b", "block.neg", a)
        c = inner.let("c", "block.abs", b)
        return [inner.store("w", c, [i * 64, 0], args[0])]

    [last] = block.loop({"o": out}, body, stop=stop)
    params = [x, out, *([stop] if isinstance(stop, Var) else [])]
    return with_memrefs(block.function(params, [last]))


@pytest.mark.parametrize("stop", [0, 1, 2, 4, index("n")])
def test_a_loop_hands_buffers_back(stop: Any) -> None:
    """The load of the next iteration waits for the reader of its buffer, at the end of this
    iteration.

    The second vector op waits for the store only where it needs to: that flag is primed.
    """
    result, report = with_sync(pipeline(stop))
    assert errors(result) == []
    if isinstance(stop, int) and stop < 2:
        assert report.carried == 0
        return
    assert listing(result).splitlines()[:16] == [
        "set MTE3->V 0",
        f"for i in 0, {getattr(stop, 'name', stop)}, 1 (o_it=out)",
        "  a = load(x, [i * 64, 0], [64, 128])",
        "  set MTE2->V 0",
        "  wait MTE2->V 0",
        "  bar V",
        "  b = neg(a)",
        "  set V->MTE2 0",
        "  wait MTE3->V 0",
        "  bar V",
        "  c = abs(b)",
        "  set V->MTE3 0",
        "  wait V->MTE3 0",
        "  w = store(c, [i * 64, 0], [64, 128], o_it)",
        "  set MTE3->V 0",
        "  wait V->MTE2 0",
    ]
    assert listing(result).splitlines()[18:] == ["wait MTE3->V 0", "bar ALL", "return o_out"]


def primed_in_a_loop(stores: int = 0) -> Function:
    """Return a nested loop that stores, after some stores of other tiles elsewhere."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [128, 128])

    def inner(body: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = body.load("a", x, [0, 0], [8, 128])
        c = body.let("c", "block.neg", body.let("b", "block.neg", a))
        return [body.store("w", c, [0, 0], args[0])]

    def outer(body: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        return list(body.loop({"p": args[0]}, inner, stop=4))

    last = out
    for k in range(stores):
        tile = block.let(f"t{k}", "block.neg", block.load(f"s{k}", x, [0, 0], [8, 128]))
        last = block.store(f"r{k}", tile, [64 + 8 * k, 0], last)
    [last] = block.loop({"o": last}, outer, stop=4)
    return with_memrefs(block.function([x, out], [last]))


def test_a_primed_flag_waits_for_an_acknowledgement_in_a_loop_around_its_own() -> None:
    """The last wait of an inner loop may be pending when the next one primes the same flag.

    In the inner loop itself no acknowledgement is needed: V hears from MTE3 in each iteration.
    """
    result, report = with_sync(primed_in_a_loop())
    assert check_sync(result) == []
    assert (report.flags, report.carried, report.acknowledgements) == (4, 2, 1)
    lines = listing(result).splitlines()
    assert lines[1:5] == [
        "  set V->MTE3 1",
        "  wait V->MTE3 1",
        "  set MTE3->V 0",
        "  for i in 0, 4, 1 (p_it=o_it)",
    ]
    assert [line for line in lines if "MTE3 1" in line] == lines[1:3]


def test_a_barrier_stands_for_an_acknowledgement_without_an_event(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """If each pair has one event, the reverse one is in use; the report and the log say so."""
    target = A2A3._replace(event_ids=1)
    with caplog.at_level(0, logger="pypto"):
        result, report = with_sync(primed_in_a_loop(), target)
    assert check_sync(result, target) == []
    assert (report.flags, report.acknowledgements, report.fallbacks, report.full_barriers) == (
        4,
        0,
        1,
        2,
    )
    assert listing(result).splitlines()[1:3] == ["  bar ALL", "  set MTE3->V 0"]
    [record] = caplog.records
    assert record.getMessage() == (
        "kernel 'k': no event is free for acknowledgements before 1 flags (MTE3 -> V); a barrier "
        "of all pipes replaces them: before the loop at line 2"
    )


def test_flags_leave_an_event_to_acknowledgements() -> None:
    """Nine flags would take all events, and a barrier would replace the acknowledgement."""
    result, report = with_sync(primed_in_a_loop(stores=8))
    assert check_sync(result) == []
    assert (report.acknowledgements, report.fallbacks, report.full_barriers) == (3, 0, 1)
    lines = [line.strip() for line in listing(result).splitlines()]
    begin = next(i for i, line in enumerate(lines) if line.startswith("for i in 0, 4, 1 (o_it"))
    assert lines[begin + 1 : begin + 3] == ["set V->MTE3 7", "wait V->MTE3 7"]
    assert sorted({line for line in lines[:begin] if line.startswith("set V->MTE3")}) == [
        f"set V->MTE3 {event}" for event in range(7)
    ]


@given(st.data(), st.integers(5, 40), st.integers(1, 4), st.booleans())
def test_few_events_are_enough(
    data: st.DataObject, size: int, events: int, by_source: bool
) -> None:
    """Whatever is delayed, answered or left to barriers: no finding, not even a warning."""
    kernel = random_kernel(lambda below: data.draw(st.integers(0, below - 1)), size)
    target = A2A3._replace(event_ids=max(events, 3) if by_source else events)
    result, _ = with_sync(with_memrefs(kernel), target, by_source=by_source)
    identity = FlagIdentity.SOURCE if by_source else FlagIdentity.PAIR
    assert check_sync(result, target, identity=identity) == []


def loops_in_a_row(count: int) -> Function:
    """Return consecutive loops that each read a tile loaded before, and reload it afterwards."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 128])
    last = out

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.load("a", x, [0, 0], [8, 128])
        b = inner.let("b", "block.neg", a)
        return [inner.store("w", inner.let("c", "block.neg", b), [0, 0], args[0])]

    for _ in range(count):
        [last] = block.loop({"o": last}, body, stop=4)
    return with_shared_buffers(with_memrefs(block.function([x, out], [last])), always=True)


def test_what_is_superfluous_is_left_out_of_long_kernels_too() -> None:
    """The hundredth loop of a kernel takes as many flags and barriers as the third."""

    def added(count: int) -> tuple[int, int]:
        result, report = with_sync(loops_in_a_row(count))
        assert check_sync(result) == []
        return report.flags + report.acknowledgements, report.barriers + report.full_barriers

    three, four, many = added(3), added(4), added(100)
    assert many[0] - four[0] == 96 * (four[0] - three[0])
    assert many[1] - four[1] == 96 * (four[1] - three[1])


def loops_inside_each_other(depth: int, stop: int | None) -> Function:
    """Return nested loops that load before the next one, and compute and store.

    Loops with a constant ``stop`` do the rest in the innermost one only.
    """
    block, x, out, n = Block(), tensor("x", [64, 128]), tensor("out", [64, 128]), index("n")

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a, [last] = inner.load("a", x, [0, 0], [8, 128]), args
        left[0] -= 1
        if stop is None or not left[0]:
            last = inner.store("w", inner.let("b", "block.neg", a), [0, 0], last)
        return inner.loop({"o": last}, body, stop=stops) if left[0] else [last]

    left, stops = [depth], n if stop is None else stop
    results = block.loop({"o": out}, body, stop=stops)
    return with_memrefs(block.function([x, n, out], results))


def test_what_loops_inside_each_other_carry_is_not_tried_one_by_one() -> None:
    """Dependences between iterations are known at the loop's start: the work is linear."""

    def tried(depth: int) -> int:
        function = loops_inside_each_other(depth, None)
        root = number(function)
        planner = sync_plan.Planner(root, Accesses(function, root))
        planner.plan()
        flow = PlanFlow(planner, function)
        kept = [what for what in planner.suspects() if isinstance(what, Flag)]
        dropped = sync_prune.superfluous(flow, planner.suspects())
        assert len([what for what in kept if what not in dropped]) >= depth
        return flow.steps

    assert tried(48) < 3 * tried(24)


def planned(function: Function) -> sync_plan.Planner:
    """Return the plan of a function before pruning."""
    root = number(function)
    planner = sync_plan.Planner(root, Accesses(function, root))
    planner.plan()
    return planner


def test_one_way_is_not_tried() -> None:
    """What an arm of a branch needs of itself, nothing else can order.

    With a branch in between, or in another branch, paths may exclude each other.
    """
    n, x, out = index("n"), tensor("x", [64, 128]), tensor("out", [64, 128])

    def arm(inner: Block) -> Sequence[Var]:
        a = inner.load("a", x, [8, 0], [8, 128])
        return [inner.let("c", "block.add", inner.let("b", "block.neg", a), first[0])]

    def inside(inner: Block) -> Sequence[Var]:
        return inner.branch(n > 1, ["m"], arm, arm)

    def kernel(then: Callable[[Block], Sequence[Var]]) -> Function:
        block = Block()
        first[:] = [block.load("t", x, [0, 0], [8, 128])]
        [m] = block.branch(n > 0, ["m"], then, arm)
        return with_memrefs(block.function([x, n, out], [block.store("w", m, [0, 0], out)]))

    first: list[Var] = []
    flat, nested = planned(kernel(arm)), planned(kernel(inside))
    assert (len(flat.flags), len(flat.bars)) == (3, 2)
    assert [what for what in flat.suspects() if isinstance(what, ProgramPoint)] == []
    assert len(flat.suspects()) == 1  # what the store needs of both arms
    assert len(nested.suspects()) > 3


def kept(planner: sync_plan.Planner, function: Function, suspects: Sequence[Any]) -> list[int]:
    """Return how many flags and barriers remain after pruning superfluous suspects."""
    sync_prune.prune(planner, function, suspects)
    return [len(planner.flags), sum(map(len, planner.bars.values()))]


def pairs(planner: sync_plan.Planner) -> set[tuple[str, str]]:
    """Return the pairs of pipes with flags between them."""
    flags = planner.flags.values()
    return {(PipeType(flag.source).name, PipeType(flag.target).name) for flag in flags}


def everything(planner: sync_plan.Planner) -> list[Any]:
    """Return all flags and positions of barriers."""
    return list(dict.fromkeys(added.what for added in planner.log))


@pytest.mark.parametrize("seed", [*range(30), 76])
def test_nothing_superfluous_is_left(seed: int) -> None:
    """As little remains of a plan as if removing each element had been tried."""
    random = Random(seed)
    function = with_memrefs(random_kernel(random.randrange, 26))
    planner, other = planned(function), planned(function)
    wanted = kept(other, function, everything(other))
    assert kept(planner, function, planner.suspects()) == wanted


def test_a_flag_before_a_branch_orders_earlier_statements_of_it() -> None:
    """A wait before a branch, for its second store, delays a load after the first one."""
    n, x, out = index("n"), tensor("x", [64, 128]), tensor("out", [64, 128])
    block = Block()
    a = block.load("a", x, [0, 0], [8, 128])
    b = block.let("b", "block.neg", a)

    def arm(inner: Block) -> Sequence[Var]:
        first = inner.store("o", a, [0, 0], out)
        second = inner.store("o", b, [8, 0], first)
        return [second, inner.load("c", x, [8, 0], [8, 128])]  # in the buffer of a

    stored, c = block.branch(n > 0, ["o", "c"], arm, lambda _: [out, a])
    last = block.store("o", c, [16, 0], stored)
    function = with_memrefs(block.function([x, n, out], [last]))
    planner = planned(function)
    assert ("V", "MTE2") in pairs(planner)
    sync_prune.prune(planner, function, planner.suspects())
    assert pairs(planner) == {("MTE2", "V"), ("MTE2", "MTE3"), ("V", "MTE3"), ("MTE3", "MTE2")}


def test_it_asks_for_one_definition_of_each_variable() -> None:
    """Aliasing of call arguments is only known in SSA form, so that is required."""
    function = loops_inside_each_other(1, 2)
    first = statements(function.body)[0]
    twice = function.with_body(SeqStmts((first, *statements(function.body))))
    check = VerificationInstrument(VerificationMode.BEFORE)
    with pytest.raises(VerificationError, match="error SSAVerify"), PassContext([check]):
        InsertSync()(Program([twice], "p"))


@pytest.mark.parametrize(("stop", "most"), [(2, 4), (None, 16)])
def test_the_depth_of_loops_does_not_multiply_the_work(
    stop: int | None, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Visited loop iterations grow linearly with the loops; if events run out, with their
    square.

    Where events run out, each loop's flag is tried, with all nested loops.
    """
    iterations = 0
    one = Flow._iteration  # pyright: ignore[reportPrivateUsage]

    def counted(self: Flow, *args: Any) -> Any:
        nonlocal iterations
        iterations += 1
        return one(self, *args)

    monkeypatch.setattr(Flow, "_iteration", counted)

    def work(depth: int) -> tuple[int, int]:
        nonlocal iterations
        iterations = 0
        result, _ = with_sync(loops_inside_each_other(depth, stop))
        planned, iterations = iterations, 0
        assert check_sync(result) == []
        return planned, iterations

    few, many = work(6), work(24)
    assert many[0] <= (most + 1) * few[0]
    assert many[1] <= 5 * few[1]


def test_out_of_work_trials_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the budget for trying flags, those that remain are sufficient."""
    monkeypatch.setattr(sync_prune, "_WORK", 0)
    for least in (0, 20, 40, 80, 160, 320, 640, 1280):
        monkeypatch.setattr(sync_prune, "_LEAST", least)
        for count in (3, 6, 9):
            assert errors(with_sync(loops_inside_each_other(count, None))[0]) == []


def test_branches_balance_their_flags() -> None:
    """Flags that an arm needs are waited for before the branch, those it sets are set after it.

    The store needs no flag from the load: the vector pipe has waited for it on both paths.
    """
    block, x, out, n = Block(), tensor("x", [64, 128]), tensor("out", [64, 128]), index("n")
    a = block.load("a", x, [0, 0], [64, 128])

    def then(inner: Block) -> Sequence[Var]:
        return [inner.let("b", "block.neg", a)]

    def orelse(inner: Block) -> Sequence[Var]:
        return [a]

    [m] = block.branch(n > 0, ["m"], then, orelse)
    r = block.store("r", m, [0, 0], out)
    kernel = with_memrefs(block.function([x, out, n], [r]))
    assert listing(synchronised(kernel)).splitlines()[:12] == [
        "a = load(x, [0, 0], [64, 128])",
        "set MTE2->V 0",
        "wait MTE2->V 0",
        "if n > 0",
        "  b = neg(a)",
        "  yield b",
        "else",
        "  yield a",
        "-> m",
        "set V->MTE3 0",
        "wait V->MTE3 0",
        "r = store(m, [0, 0], [64, 128], out)",
    ]


def test_small_accumulators_need_a_barrier() -> None:
    """Below ten fractals the matrix unit may overtake itself; 64 x 64 has sixteen."""
    assert "bar M" not in listing(synchronised(with_memrefs(product())))
    assert "bar M" in listing(synchronised(with_memrefs(product(columns=32))))


def test_the_matrix_unit_hands_over_to_the_store() -> None:
    """Loads, moves, products and the store of the result each run on a pipe of their own."""
    text = listing(synchronised(with_memrefs(product())))
    for pair in ("MTE2->MTE1", "MTE1->M", "M->MTE1", "M->FIX"):
        assert f"set {pair} 0" in text
    assert "MTE3" not in text


@given(st.data(), st.integers(5, 40), st.booleans())
def test_random_kernels_are_synchronised(data: st.DataObject, size: int, share: bool) -> None:
    """Loops and branches, zero to three iterations, either arm: no race, no unbalanced flag."""
    kernel = random_kernel(lambda below: data.draw(st.integers(0, below - 1)), size)
    planned = with_shared_buffers(with_memrefs(kernel), always=share)
    result, report = with_sync(planned)
    assert errors(result) == []
    assert report.fallbacks == 0


def test_more_flags_than_events_across_a_loop_become_barriers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nine carried flags of one pair are live through the loop: the ninth becomes a barrier.

    The log says so, with the kernel, the pair and the lines.
    """
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [256, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        tiles = [inner.load(f"a{k}", x, [0, 0], [8, 128]) for k in range(10)]
        for k, tile in enumerate(tiles):
            inner.let(f"b{k}", "block.neg", tile)
        return args

    [last] = block.loop({"o": out}, body, stop=4)
    kernel = with_memrefs(block.function([x, out], [last]))
    with caplog.at_level(0, logger="pypto"):
        result, report = with_sync(kernel)
    assert errors(result) == []
    assert report.fallbacks == 2
    assert report.full_barriers == 2
    [record] = caplog.records
    assert record.getMessage() == (
        "kernel 'k': no event is free for 2 flags (V -> MTE2); a barrier of all pipes replaces "
        "them: at the end of the loop at line 1"
    )
    # The barrier at the end of the loop replaces all other flags to its next iteration.
    assert (report.flags, report.carried) == (9, 0)


# --------------------------------------------------------------------------------------------
# Two tiles by iterations
# --------------------------------------------------------------------------------------------


def two_alternating() -> Function:
    """Return a loop that loads, negates and stores a tile, and then another one."""
    block, x, out = Block(), tensor("x", [512, 128]), tensor("out", [512, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        ping = inner.load("ping", x, [i * 128, 0], [64, 128])
        pong = inner.load("pong", x, [i * 128 + 64, 0], [64, 128])
        first = inner.let("first", "block.neg", ping)
        o1 = inner.store("o1", first, [i * 128, 0], args[0])
        second = inner.let("second", "block.neg", pong)
        return [inner.store("o2", second, [i * 128 + 64, 0], o1)]

    [last] = block.loop({"o": out}, body, stop=4)
    return with_memrefs(block.function([x, out], [last]))


def test_two_alternating_tiles_overlap() -> None:
    """Each tile has its own flags forward and back; those for the second one are primed."""
    result, report = with_sync(two_alternating())
    assert errors(result) == []
    assert (report.flags, report.carried, report.full_barriers, report.fallbacks) == (8, 4, 1, 0)
    lines = listing(result).splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith("for"))
    assert lines[:begin] == ["set MTE3->V 0", "set V->MTE2 0"]
    assert lines[begin + 1 : begin + 5] == [
        "  ping = load(x, [i * 128, 0], [64, 128])",
        "  set MTE2->V 0",
        "  wait V->MTE2 0",
        "  pong = load(x, [i * 128 + 64, 0], [64, 128])",
    ]
    # The first tile is released at the end of the iteration, where its loader would wait first.
    assert lines[-8:-4] == ["  wait V->MTE2 1", "  wait MTE3->V 1", "  yield o2", "-> o_out"]
    assert lines[-4:-2] == ["wait MTE3->V 0", "wait V->MTE2 0"]


def test_nothing_can_be_left_out_of_two_alternating_tiles() -> None:
    """Without any one set, wait, barrier or whole flag, the checker reports an error."""
    result = synchronised(two_alternating())
    for place in range(len(sync_points(result))):
        assert errors(without(result, place))
    root = number(result)
    flags: dict[str, list[Stmt]] = {}
    for point in sync_points(result):
        flags.setdefault(str(point.stmt).partition("(")[2], []).append(point.stmt)
    for text, stmts in flags.items():
        gone = set(stmts)
        rest = rewrite(result, root, lambda _, stmt, gone=gone: [] if stmt in gone else [stmt])
        assert errors(rest), text


# --------------------------------------------------------------------------------------------
# The pass
# --------------------------------------------------------------------------------------------


@given(st.data(), st.integers(5, 40))
def test_by_source_no_flag_is_taken_by_another_pipe(data: st.DataObject, size: int) -> None:
    """Flags of one source have events of their own: also right where the target is no identity."""
    kernel = random_kernel(lambda below: data.draw(st.integers(0, below - 1)), size)
    result, _ = with_sync(with_memrefs(kernel), by_source=True)
    assert errors(result) == []
    found = check_sync(result, identity=FlagIdentity.SOURCE)
    assert [d for d in found if d.severity is DiagnosticSeverity.Error] == []


def test_by_source_shares_out_the_events() -> None:
    """The loads' two targets get four events each; each alone would get eight."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [64, 128])
    tiles = [block.load(f"a{i}", x, [0, 0], [8, 128]) for i in range(7)]
    last = out
    for i, tile in enumerate(tiles):
        block.let(f"b{i}", "block.neg", tile)
        last = block.store(f"o{i}", tile, [8 * i, 0], last)
    kernel = with_memrefs(block.function([x, out], [last]))
    events: dict[bool, dict[str, set[str]]] = {}
    for by_source in (False, True):
        result, _ = with_sync(kernel, by_source=by_source)
        used = events[by_source] = {}
        for line in listing(result).splitlines():
            if line.startswith("set MTE2"):
                _, pair, event = line.split()
                used.setdefault(pair, set()).add(event)
    assert {pair: len(found) for pair, found in events[False].items()} == {
        "MTE2->V": 7,
        "MTE2->MTE3": 7,
    }
    assert events[True]["MTE2->V"].isdisjoint(events[True]["MTE2->MTE3"])
    assert sum(map(len, events[True].values())) == 8


def test_functions_that_synchronise_by_hand_stay() -> None:
    """A second run adds nothing, and host functions are left alone."""
    host = Function("host", [], [], simple(128).body, type=FunctionType.Orchestration)
    once = InsertSync()
    program = once(Program([simple(128), host]))
    assert list(once.reports) == ["k"]
    assert once.reports["k"] == (2, 0, 0, 1, 0, 0)
    [result] = [f for f in program.functions_ if f.name == "host"]
    assert listing(result) == listing(host)
    again = InsertSync()(program)
    assert again.get_function("k") is program.get_function("k")


# --------------------------------------------------------------------------------------------
# The checker
# --------------------------------------------------------------------------------------------


def flag(block: Block, op: str, source: PipeType, target: PipeType, event: int = 0) -> None:
    """Append a set or wait, bypassing the op's own checks."""
    kwargs = {"set_pipe": source, "wait_pipe": target, "event_id": event}
    block.stmts.append(EvalStmt(expr=Call(REGISTRY[f"system.{op}"], [], kwargs), span=block.span()))


def by_hand(fill: Callable[[Block, Var], Any]) -> list[str]:
    """Return what the checker says about a kernel that loads, negates and stores a tile."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    fill(block, x)
    block.do("system.bar_all")
    return errors(with_memrefs(block.function([x, out], [out])))


MTE2, V = PipeType.MTE2, PipeType.V


def test_a_missing_flag_is_a_race() -> None:
    """The message names the hazard, both ops and both pipes; the label shows the first op."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    block.let("b", "block.neg", a)
    block.do("system.bar_all")
    [finding] = check_sync(with_memrefs(block.function([x, out], [out])))
    assert finding.message == (
        "RAW race: block.neg on V reads what block.load on MTE2 writes, and nothing makes V wait"
    )
    assert finding.span.begin_line == 2
    assert [(label.span.begin_line, label.text) for label in finding.related] == [
        (1, "writes it on MTE2")
    ]


def loop_with(around: Sequence[str], inside: Sequence[str]) -> Callable[[Block, Var], None]:
    """Return a kernel with a set or wait before, in and after a loop."""

    def fill(block: Block, x: Var) -> None:
        n = index("n")
        if around[0]:
            flag(block, around[0], MTE2, V)

        def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
            for op in inside:
                flag(inner, op, MTE2, V)
            return []

        block.loop({}, body, stop=n)
        if around[1]:
            flag(block, around[1], MTE2, V)

    return fill


@pytest.mark.parametrize(
    ("around", "inside", "rules"),
    [
        (("", ""), ("sync_src", "sync_dst"), []),
        (("sync_src", "sync_dst"), ("sync_dst", "sync_src"), []),
        (("sync_src", ""), ("sync_dst",), ["sync-leak", "sync-deadlock"]),
        (("", "sync_dst"), ("sync_src",), ["sync-deadlock", "sync-double-set", "sync-leak"]),
        (("", ""), ("sync_dst", "sync_src"), ["sync-deadlock", "sync-leak"]),
        (("sync_src", ""), ("sync_dst", "sync_src"), ["sync-leak"]),
    ],
)
def test_flag_discipline_in_loops(
    around: Sequence[str], inside: Sequence[str], rules: list[str]
) -> None:
    """Flags balance for any number of iterations, or the path on which they do not is reported."""
    assert sorted(set(by_hand(loop_with(around, inside)))) == sorted(rules)


def test_a_set_in_one_arm_only_is_found() -> None:
    """The other arm leaves the wait after the branch without a flag."""

    def fill(block: Block, x: Var) -> None:
        def then(inner: Block) -> Sequence[Var]:
            flag(inner, "sync_src", MTE2, V)
            return []

        block.branch(index("n") > 0, [], then, lambda inner: [])
        flag(block, "sync_dst", MTE2, V)

    assert by_hand(fill) == ["sync-deadlock"]


def test_flags_that_do_not_exist_are_found() -> None:
    """A pipe cannot wait for itself, and there are only eight events."""

    def fill(block: Block, x: Var) -> None:
        flag(block, "sync_src", V, V)
        flag(block, "sync_src", MTE2, V, 8)

    assert by_hand(fill) == ["sync-flag", "sync-flag"]


def test_work_in_flight_at_the_end_is_found() -> None:
    """The next kernel may start while the last store is in flight."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    block.load("a", x, [0, 0], [8, 128])
    assert errors(with_memrefs(block.function([x, out], [out]))) == ["sync-tail"]


def test_an_event_used_again_at_once_is_a_warning() -> None:
    """Set, wait, set: the second set may reach the flag before the wait has cleared it."""

    def fill(block: Block, x: Var) -> None:
        for _ in range(2):
            flag(block, "sync_src", MTE2, V)
            flag(block, "sync_dst", MTE2, V)

    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    fill(block, x)
    [finding] = check_sync(with_memrefs(block.function([x, out], [out])))
    assert finding.rule_name == "sync-overtake"
    assert finding.severity is DiagnosticSeverity.Warning
    assert by_hand(fill) == []


def test_a_flag_orders_only_what_comes_before_its_set() -> None:
    """A set right after the first load says nothing about the second."""

    def fill(block: Block, x: Var) -> None:
        a = block.load("a", x, [0, 0], [8, 128])
        flag(block, "sync_src", MTE2, V)
        b = block.load("b", x, [0, 0], [8, 128])
        flag(block, "sync_dst", MTE2, V)
        block.let("c", "block.neg", a)
        block.let("d", "block.neg", b)

    assert by_hand(fill) == ["sync-race"]


def test_order_passes_from_pipe_to_pipe() -> None:
    """Load before vector op before store: the store needs no flag from the load."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    a = block.load("a", x, [0, 0], [8, 128])
    b = block.let("b", "block.neg", a)
    o1 = block.store("o1", b, [0, 0], out)
    o2 = block.store("o2", a, [0, 0], o1)
    text = listing(synchronised(with_memrefs(block.function([x, out], [o2]))))
    assert "MTE2->MTE3" not in text
