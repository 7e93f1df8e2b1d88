"""The strict interpreter: pipes as queues, and the reader and writer of every byte."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pypto.language as pl
from pypto import ir, runtime
from pypto._src.analysis.stmt_tree import Retype
from pypto._src.diagnostics import Span
from pypto._src.errors import EvaluationError
from pypto._src.interp.pipe_interpreter import ORDERS, OrderName, StrictEvaluator
from pypto._src.interp.pipe_queues import (
    Entry,
    Hazard,
    Kind,
    LateOrder,
    Queues,
    RandomOrder,
    held_back,
    replayed,
)
from pypto._src.ir.array_types import MemRef
from pypto._src.ir.enums import MemorySpace, PipeType
from pypto._src.ir.exprs import Call, MakeTuple, Var
from pypto._src.ir.stmts import Function, Program
from pypto._src.ir.unchecked import with_memref
from pypto._src.ops import compare_select
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memref_assignment import MemRefs
from pypto._src.passes.sync.insert_sync import with_sync
from tests.passes.build import Block, index, memref, tensor

ROWS = 64
X = np.arange(ROWS * 32, dtype=np.float32).reshape(ROWS, 32)

KERNEL = """\
import pypto.language as pl

@pl.program
class Doubled:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[64, 32], pl.FP32],
        n: pl.Scalar[pl.INT64],
        out: pl.InOut[pl.Tensor[[64, 32], pl.FP32]],
    ) -> pl.Tensor[[64, 32], pl.FP32]:
{body}
        return out
"""


def program(*lines: str) -> Program:
    """Return a program whose kernel has these lines."""
    return pl.parse_program(KERNEL.format(body="\n".join(" " * 8 + line for line in lines)))


def run(whole: Program, *, strict: OrderName | bool = True, n: int = 3, seed: int = 0) -> Any:
    """Run a program strictly; return the tensor that it has written."""
    out = np.zeros_like(X)
    runtime.compile(whole, "interpreter", strict=strict, seed=seed)(X, n, out)
    return out


def failure(*lines: str, strict: OrderName | bool = True, n: int = 3) -> EvaluationError:
    with pytest.raises(EvaluationError) as caught:
        run(program(*lines), strict=strict, n=n)
    return caught.value


def flag(op: str, source: str, target: str, event: int = 0) -> str:
    pipes = f"pl.PipeType.{source}, pl.PipeType.{target}"
    return f"pl.system.{op}({pipes}, {event})"


def both(source: str, target: str, event: int = 0) -> list[str]:
    """Return a set and its wait."""
    return [flag(op, source, target, event) for op in ("sync_src", "sync_dst")]


LOAD = "a = pl.load(x, [0, 0], [16, 32])"
ADD = "b = pl.add(a, 1.0)"
STORE = "out = pl.store(b, [0, 0], [16, 32], out)"
END = "pl.system.bar_all()"


# --------------------------------------------------------------------------------------------
# Kernels in order
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
def test_a_synchronised_kernel_computes_what_it_says(order: OrderName) -> None:
    """In every order, with the flags of the passes, the kernel computes the same."""
    whole = program(
        "for i in pl.range(n):",
        "    a = pl.load(x, [i * 16, 0], [16, 32])",
        "    b = pl.mul(pl.add(a, 1.0), a)",
        "    out = pl.store(b, [i * 16, 0], [16, 32], out)",
    )
    for seed in range(5):
        out = run(whole, strict=order, seed=seed)
        assert np.array_equal(out[:48], (X * (X + 1))[:48])
        assert not out[48:].any()


def test_random_orders_differ_and_repeat() -> None:
    """The seed determines the order: the same seed gives the same one, others give others."""

    def order(seed: int) -> list[int]:
        done: list[int] = []
        queues = Queues(RandomOrder(seed), "k")
        for number in range(12):
            entry = Entry(Kind.WORK, PipeType.V if number % 2 else PipeType.MTE2, Span("", 1, 0))
            entry.finish = lambda number=number: done.append(number)
            queues.issue(entry)
        queues.issue(Entry(Kind.FULL_BARRIER, PipeType.S, Span("", 1, 0)))
        queues.finish()
        assert sorted(done) == list(range(12))
        return done

    assert order(1) == order(1)
    assert len({tuple(order(seed)) for seed in range(8)}) == 8


# --------------------------------------------------------------------------------------------
# Errors
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["late", "exhaustive"])
def test_a_missing_flag(order: OrderName) -> None:
    """The report is at the access that is too early, and points at the one in progress."""
    error = failure(LOAD, ADD, *both("V", "MTE3"), STORE, END, strict=order)
    assert error.message == (
        "RAW race: pl.add on V starts while pl.load on MTE2 is in flight, on the same bytes"
    )
    assert error.location.begin_line == 13
    assert [(at.span.begin_line, at.text) for at in error.related] == [(12, "pl.load on MTE2")]


def test_a_missing_barrier() -> None:
    """Vector ops overlap unless there is a barrier between them."""
    lines = (LOAD, *both("MTE2", "V"), ADD, "b = pl.mul(b, b)", *both("V", "MTE3"), STORE, END)
    assert failure(*lines).message == (
        "RAW race: pl.mul on V starts while pl.add on V is in flight, on the same bytes"
    )
    mended = (*lines[:4], "pl.system.bar_v()", *lines[4:])
    assert np.array_equal(run(program(*mended))[:16], ((X + 1) ** 2)[:16])


def test_a_buffer_that_is_loaded_again_too_early() -> None:
    """The load of the next iteration overwrites what the vector op of this one reads."""
    loop = (
        "for i in pl.range(n):",
        f"    {LOAD}",
        *(f"    {line}" for line in both("MTE2", "V")),
        f"    {ADD}",
        "    pl.system.bar_v()",
    )
    found = failure(*loop, END)
    assert found.slug == "sync-race"
    assert "pl.load on MTE2 starts while" in found.message
    assert run(program(*loop, END), n=1).sum() == 0


@pytest.mark.parametrize(
    ("lines", "slug", "message"),
    [
        (
            (flag("sync_dst", "MTE2", "V"), END),
            "sync-deadlock",
            "V waits forever: flag 0 of MTE2 -> V is not raised",
        ),
        (
            (flag("sync_src", "MTE2", "V"), flag("sync_src", "MTE2", "V"), END),
            "sync-double-set",
            "flag 0 of MTE2 -> V is raised again before anything waits for it",
        ),
        (
            (flag("sync_src", "MTE2", "V", 3), END),
            "sync-leak",
            "flag 3 of MTE2 -> V is still raised when 'kernel' ends",
        ),
        (
            (LOAD,),
            "sync-tail",
            "pl.load on MTE2 may still be in flight when 'kernel' ends",
        ),
        (
            (flag("sync_dst", "MTE2", "S"), END),
            "sync-deadlock",
            "S waits forever: flag 0 of MTE2 -> S is not raised",
        ),
    ],
)
def test_wrong_flags(lines: Sequence[str], slug: str, message: str) -> None:
    """A wait without a set, a second set, a flag left set and unfinished work are errors."""
    by_hand = both("V", "MTE3") if lines == (LOAD,) else []  # so that no pass adds flags
    error = failure(*by_hand, *lines)
    assert (error.slug, error.message) == (slug, message)


def test_two_pipes_that_wait_for_each_other() -> None:
    """Each set comes after a wait that needs the other one: a deadlock."""
    error = failure(
        flag("sync_dst", "V", "MTE2"),
        flag("sync_src", "MTE2", "V"),
        flag("sync_dst", "MTE2", "V"),
        flag("sync_src", "V", "MTE2"),
        END,
    )
    assert error.message == "MTE2 waits forever: flag 0 of V -> MTE2 is not raised"
    assert [label.text for label in error.related] == ["V is blocked here", "S is blocked here"]


@pytest.mark.parametrize(
    "lines",
    [
        # MTE2 waits for a set that V reaches only after its own wait: after and before it in order.
        (
            flag("sync_dst", "MTE3", "V"),
            flag("sync_src", "V", "MTE2"),
            flag("sync_dst", "V", "MTE2"),
        ),
        (
            flag("sync_dst", "V", "MTE2"),
            flag("sync_dst", "MTE3", "V"),
            flag("sync_src", "V", "MTE2"),
        ),
        # Nobody sets what MTE2 waits for either, but V was first.
        (flag("sync_dst", "MTE3", "V"), flag("sync_dst", "V", "MTE2")),
    ],
)
def test_a_deadlock_is_where_it_begins(lines: Sequence[str]) -> None:
    """A deadlock is reported for the first pipe, not for pipes that wait for it."""
    error = failure(*lines, END)
    assert error.message == "V waits forever: flag 0 of MTE3 -> V is not raised"
    assert [label.text for label in error.related] == ["MTE2 is blocked here", "S is blocked here"]


def test_uninitialized_memory() -> None:
    """Reading a tile that nothing has written is an error at the reader's line."""
    error = failure(
        "a = pl.create_tile([16, 32], dtype=pl.FP32)", ADD, *both("V", "MTE3"), STORE, END
    )
    assert error.message == "pl.add reads 2048 uninitialized bytes of a"
    assert (error.slug, error.location.begin_line) == ("poison", 13)


@pytest.mark.parametrize("dtype", ["FP16", "BF16"])
@pytest.mark.parametrize("order", ["late", "random"])
def test_rows_made_longer_are_the_same_bytes(dtype: str, order: OrderName) -> None:
    """A cast of rows of 66 bytes works on them with their padding: nothing is copied before."""
    whole = pl.parse_program(f"""
import pypto.language as pl

@pl.program
class Wide:
    @pl.function(type=pl.FunctionType.InCore)
    def main(
        self, x: pl.Tensor[[15, 33], pl.{dtype}], y: pl.Out[pl.Tensor[[15, 33], pl.FP32]]
    ):
        t = pl.cast(pl.load(x, [0, 0], [15, 33]), pl.FP32)
        y = pl.store(pl.add(t, 1.0), [0, 0], [15, 33], y)
""")
    x = np.arange(15 * 33).reshape(15, 33) % 64
    y = np.zeros((15, 33), np.float32)
    kind = np.float16 if dtype == "FP16" else ml_dtypes.bfloat16
    runtime.compile(whole, "interpreter", strict=order)(x.astype(kind), y)
    np.testing.assert_array_equal(y, x + 1)


def test_a_copy_of_nothing_is_nothing() -> None:
    """A copy within a memory propagates uninitialized bytes; reading the copy is the error."""
    lines = (
        "a = pl.create_tile([16, 32], dtype=pl.FP32)",
        "c = pl.move(a, target_memory=pl.MemorySpace.Vec)",
    )
    failing = failure(*lines, "pl.system.bar_v()", "b = pl.add(c, 1.0)", END)
    assert failing.message == "pl.add reads 2048 uninitialized bytes of c"
    assert (failing.slug, failing.location.begin_line) == ("poison", 15)


def test_scratch_holds_nothing_afterwards() -> None:
    """What an op has used as scratch cannot be read."""
    error = failure(
        "s = pl.create_tile([16, 32], dtype=pl.FP32)",
        LOAD,
        *both("MTE2", "V"),
        "m = pl.row_max(a, s)",
        "pl.system.bar_v()",
        "b = pl.add(a, s)",
        END,
    )
    assert error.message == "pl.add reads 2048 uninitialized bytes of s"


def as_call(value: Any) -> Call:
    assert isinstance(value, Call)
    return value


def bits(*, whole: bool) -> Function:
    """Return a kernel that selects by packed bits, of which 4 bytes of 32 in a row are valid.

    With ``whole`` the type of the bits claims that all of them are valid.
    """
    block, x, out = Block(), tensor("x", [64, 32]), tensor("out", [64, 32])
    tile = block.load("tile", x, [0, 0], [16, 32])
    held = block.assign("held", as_call(compare_select.cmp_on_target.build([tile, tile, 8], {})))
    scratch = block.let("scratch", "block.create_tile", [1, 16], dtype=ir.UINT32)
    if whole:
        kind = held.type
        assert isinstance(kind, ir.TileType)
        claim = ir.TileType(kind.shape, kind.dtype)  # which the op's own type rule does not allow
        op = ir.get_op("block.reshape")
        held = block.assign("bytes", Call(op, [held, MakeTuple(kind.shape)], {}, claim))
    chosen = block.assign(
        "chosen", as_call(compare_select.sel_on_target.build([held, tile, tile, scratch], {}))
    )
    end = block.store("end", chosen, [0, 0], out)
    return with_sync(with_memrefs(block.function([x, index("n"), out], [end])))[0]


def test_padding_holds_nothing() -> None:
    """Packed bits fill part of their rows; reading the rest of a row is an error."""
    out = np.zeros_like(X)
    StrictEvaluator(bits(whole=False)).call("k", [X, 0, out])
    assert np.array_equal(out[:16], X[:16])
    with pytest.raises(EvaluationError) as caught:
        StrictEvaluator(bits(whole=True)).call("k", [X, 0, out])
    assert caught.value.message == ("block.sel reads 448 uninitialized bytes of bytes")


def overlapping(offset: int) -> Function:
    """Return a kernel that loads two tiles ``offset`` bytes apart, and stores the first."""
    block, x, out = Block(), tensor("x", [64, 32]), tensor("out", [64, 32])
    first = block.load("first", x, [0, 0], [16, 32])
    second = block.load("second", x, [16, 0], [16, 32])
    o1 = block.store("o1", first, [0, 0], out)
    last = block.store("o2", second, [16, 0], o1)
    function = with_memrefs(block.function([x, index("n"), out], [last]))

    def placed(var: Var, address: int) -> tuple[MemRef, MemRef]:
        old = memref(var)
        return old, MemRef(MemorySpace.Vec, address, old.size_, old.id_)

    tiles = {
        v.name: v
        for v in ir.walk(function)
        if isinstance(v, Var) and isinstance(v.type, ir.TileType)
    }
    moved = dict([placed(tiles["first"], 0), placed(tiles["second"], offset)])
    return with_sync(MemRefs.in_types(function).replaced(moved).materialize())[0]


def test_a_tile_whose_bytes_were_given_away() -> None:
    """A memory plan that lets two live tiles overlap by 32 bytes is detected at the reader."""
    out = np.zeros_like(X)
    StrictEvaluator(overlapping(2048)).call("k", [X, 0, out])
    assert np.array_equal(out[:32], X[:32])
    with pytest.raises(EvaluationError) as caught:
        StrictEvaluator(overlapping(2016)).call("k", [X, 0, out])
    assert caught.value.message == (
        "block.store reads first, whose bytes block.load has overwritten"
    )
    assert caught.value.location.begin_line == 3
    assert [label.span.begin_line for label in caught.value.related] == [2]


def test_a_tile_that_is_handed_on_elsewhere() -> None:
    """A plan that puts a loop-carried tile in two places is rejected: nothing moves it there."""
    block, x, out = Block(), tensor("x", [64, 32]), tensor("out", [64, 32])
    first = block.load("first", x, [0, 0], [16, 32])

    def body(inner: Block, _counter: Var, args: list[Any]) -> Sequence[Var]:
        return [args[0], inner.let("next", "block.neg", args[1])]

    last, tile = block.loop({"o": out, "c": first}, body, stop=2)
    end = block.store("end", tile, [0, 0], last)
    function = with_memrefs(block.function([x, index("n"), out], [end]))

    def elsewhere(var: Var) -> ir.Type:
        if var.name != "c_it" or not isinstance(var.type, ir.TileType):
            return var.type
        return with_memref(var.type, MemRef(MemorySpace.Vec, -1, 2048, 99))

    with pytest.raises(EvaluationError, match="c_it is given a tile that is elsewhere"):
        StrictEvaluator(Retype(elsewhere).function(function)).call("k", [X, 0, np.zeros_like(X)])


def test_tensors_are_compared_by_element() -> None:
    """Stores to different rows may overlap in time, stores to one row may not."""
    lines = (
        LOAD,
        *both("MTE2", "MTE3"),
        "out = pl.store(a, [0, 0], [16, 32], out)",
        "out = pl.store(a, [{}, 0], [16, 32], out)",
        END,
    )
    assert run(program(*[line.format(16) for line in lines]))[16:32].sum() == X[:16].sum()
    assert failure(*[line.format(15) for line in lines]).message == (
        "WAW race: pl.store on MTE3 starts while pl.store on MTE3 is in flight, on the same bytes"
    )


def test_arguments_of_strict() -> None:
    """Strictness is for the interpreter, and has three orders."""
    whole = program(LOAD, END)
    with pytest.raises(ValueError, match="strict='late' goes with target='interpreter'"):
        runtime.compile(whole, "cpu", strict="late")
    with pytest.raises(ValueError, match="one of late, random, exhaustive"):
        runtime.compile(whole, "interpreter", strict="sometimes")  # pyright: ignore[reportArgumentType]


# --------------------------------------------------------------------------------------------
# All orders
# --------------------------------------------------------------------------------------------

QUEUED, FLYING, DONE = range(3)
_PIPES = (PipeType.MTE2, PipeType.V, PipeType.MTE3)


def drawn_entries(pick: Random) -> list[Entry]:
    """Return a few random entries with balanced flags; line numbers are entry numbers."""
    kinds: list[tuple[Kind, PipeType, Any]] = []
    up: list[Any] = []
    for _ in range(pick.randrange(3, 9)):
        kind = pick.choice([Kind.WORK] * 4 + [Kind.SET, Kind.SET, Kind.BARRIER, Kind.FULL_BARRIER])
        if up and pick.randrange(3) == 0:
            triple = up.pop(pick.randrange(len(up)))
            kinds.append((Kind.WAIT, triple[1], triple))
        elif kind is Kind.SET:
            source, target = pick.sample(_PIPES, 2)
            triple = (source, target, len(kinds))
            up.append(triple)
            kinds.append((Kind.SET, source, triple))
        elif kind is Kind.FULL_BARRIER:
            kinds.append((kind, PipeType.S, None))
        else:
            kinds.append((kind, pick.choice(_PIPES), None))
    kinds += [(Kind.WAIT, triple[1], triple) for triple in up]
    entries: list[Entry] = []
    for number, (kind, pipe, triple) in enumerate(kinds):
        entry = Entry(kind, pipe, Span("", number + 1, 0), "work", triple=triple)
        entry.in_order = kind is Kind.WORK and pick.randrange(6) == 0
        entry.number = number
        earlier = [e.number for e in entries if e.kind is Kind.WORK]
        if kind is Kind.WORK and earlier:
            chosen = sorted({pick.choice(earlier), pick.choice(earlier)})
            entry.hazards = [
                Hazard(e, "RAW") for e in chosen if not (entry.in_order and entries[e].pipe is pipe)
            ]
        entries.append(entry)
    return entries


def steps(entries: Sequence[Entry], state: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield the possible next steps: an entry, and its new state. Follows the sheet's rules."""
    for entry, now in zip(entries, state, strict=True):
        before = entries[: entry.number]
        own = [state[e.number] for e in before if e.pipe is entry.pipe]
        match entry.kind:
            case _ if now == DONE:
                continue
            case Kind.FULL_BARRIER:
                if all(state[e.number] == DONE for e in before):
                    yield entry.number, DONE
                continue
            case Kind.SET | Kind.WORK if now == FLYING:
                if entry.kind is Kind.WORK or all(each == DONE for each in own):
                    yield entry.number, DONE
                continue
            case _:
                pass
        if any(e.kind is Kind.FULL_BARRIER and state[e.number] != DONE for e in before):
            continue
        if QUEUED in own:
            continue
        if entry.kind in (Kind.WORK, Kind.SET):
            if not entry.in_order or all(each == DONE for each in own):
                yield entry.number, FLYING
        elif entry.kind is Kind.BARRIER:
            if all(each == DONE for each in own):
                yield entry.number, DONE
        elif any(
            e.kind is Kind.SET and e.triple == entry.triple and state[e.number] == DONE
            for e in before
        ):
            yield entry.number, DONE


def all_races(entries: Sequence[Entry]) -> set[tuple[int, int]]:
    """Return the pairs that race in some order, by exhaustive search."""
    found: set[tuple[int, int]] = set()
    seen: set[tuple[int, ...]] = set()
    pending = [(QUEUED,) * len(entries)]
    while pending:
        state = pending.pop()
        for number, new in steps(entries, state):
            if new == FLYING or entries[number].kind is Kind.WORK:
                found.update(
                    (h.entry, number)
                    for h in entries[number].hazards
                    if new == FLYING and state[h.entry] != DONE
                )
            after = (*state[:number], new, *state[number + 1 :])
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return found


@given(st.integers(0, 10**9))
def test_holding_back_each_entry_finds_the_races_of_all_orders(seed: int) -> None:
    """The pairs are those that an exhaustive search of all queue orders finds."""
    entries = drawn_entries(Random(seed))
    held = {
        (error.related[0].span.begin_line - 1, error.location.begin_line - 1)
        for error in held_back(entries)
    }
    assert held == all_races(entries)


@given(st.integers(0, 10**9))
def test_late_and_random_orders_find_only_real_races(seed: int) -> None:
    """A run that reports a race reports one that the exhaustive search finds."""
    entries = drawn_entries(Random(seed))
    races = all_races(entries)
    for order in (LateOrder(), RandomOrder(seed)):
        found: EvaluationError | None = None
        try:
            replayed(entries, "k", lambda entry: entry, order)
        except EvaluationError as error:
            found = error
        if found is not None and found.slug == "sync-race":
            assert (found.related[0].span.begin_line - 1, found.location.begin_line - 1) in races
        else:
            assert found is None or found.slug == "sync-tail"
