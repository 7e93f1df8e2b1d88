"""MemoryReuse: buffers are shared only where memory is short and their lifetimes allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto._src.analysis.liveness import Lifetimes, Range, peak
from pypto._src.analysis.stmt_tree import number
from pypto._src.errors import MemoryPlanError
from pypto._src.ir.array_types import MemRef
from pypto._src.ir.enums import MemorySpace
from pypto._src.ir.exprs import Var, const_value
from pypto._src.ir.stmts import Function
from pypto._src.passes.memory import dynamic_storage_allocation, overflow_hints
from pypto._src.passes.memory.allocate_memory_addr import with_addresses
from pypto._src.passes.memory.dynamic_storage_allocation import Item, Placement
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memory_reuse import (
    Buffer,
    assign,
    buffers,
    peak_bytes,
    total_bytes,
    with_shared_buffers,
)
from pypto._src.targets import A2A3, Memory, Target
from tests.passes import oracle
from tests.passes.build import Block, buffer_ids, random_kernel, tensor
from tests.passes.test_memref import arguments

VEC = MemorySpace.Vec


def target(usable_bytes: int) -> Target:
    """Return the chip with a different size of vector memory."""
    memory = Memory(usable_bytes, usable_bytes, 32)
    return A2A3._replace(memories={**A2A3.memories, VEC: memory})


def chain(length: int, op: str = "block.neg") -> Function:
    """Return a kernel of unary ops on tiles of 4096 bytes, each on the previous result."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tile = block.load("t0", x, [0, 0], [8, 128])
    for i in range(1, length):
        tile = block.let(f"t{i}", op, tile)
    return with_memrefs(block.function([x, out], [block.store("r", tile, [0, 0], out)]))


def test_what_fits_is_left_alone() -> None:
    """Sharing costs flags, so a kernel that fits keeps one buffer per tile."""
    kernel = chain(5)
    assert with_shared_buffers(kernel, target(5 * 4096)) is kernel


def test_a_chain_in_place_needs_one_buffer() -> None:
    """Each result may take the place of the operand that dies there."""
    ids = buffer_ids(with_shared_buffers(chain(5), target(4 * 4096)))
    assert len({ids[f"t{i}"] for i in range(5)}) == 1


def test_an_op_that_is_unsafe_in_place_needs_two_buffers() -> None:
    """The reciprocal still reads its operand after it has begun to write."""
    ids = buffer_ids(with_shared_buffers(chain(5, "block.recip"), target(4 * 4096)))
    assert [ids[f"t{i}"] for i in range(5)] == [2, 3, 2, 3, 2]


def test_basic_reuse_shares_what_fits_too() -> None:
    """With `always`, the pass shares wherever lifetimes allow it."""
    ids = buffer_ids(with_shared_buffers(chain(3), always=True))
    assert ids["t0"] == ids["t1"] == ids["t2"]


def test_a_hopeless_kernel_is_left_alone() -> None:
    """If not even one tile fits, the report of AllocateMemoryAddr shows the kernel as it is."""
    kernel = chain(3)
    assert with_shared_buffers(kernel, target(2048)) is kernel


def in_loop(iterations: int) -> Function:
    """Return a kernel that reads a tile from before the loop in every iteration."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [64, 128])
    kept = block.load("kept", x, [0, 0], [8, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.let("a", "block.add", kept, kept)
        b = inner.let("b", "block.neg", a)
        return [inner.store("w", b, [i * 8, 0], args[0])]

    [last] = block.loop({"o": out}, body, stop=iterations)
    return with_memrefs(block.function([x, out], [last]))


def test_a_tile_from_before_a_loop_lives_to_its_end() -> None:
    """Nothing in the loop may overwrite what the next iteration reads again."""
    ids = buffer_ids(with_shared_buffers(in_loop(4), always=True))
    assert ids["a"] == ids["b"] != ids["kept"]


def test_a_carried_buffer_is_free_between_last_use_and_next_value() -> None:
    """In between, a loop may use the bytes for something else; never across its iterations."""
    block, x, out = Block(), tensor("x", [64, 128]), tensor("out", [8, 128])
    first = block.load("first", x, [0, 0], [8, 128])

    def body(inner: Block, i: Var, args: list[Any]) -> Sequence[Var]:
        a = inner.let("a", "block.recip", args[0])
        b = inner.let("b", "block.recip", a)
        c = inner.let("c", "block.recip", b)
        return [inner.let("d", "block.recip", c)]

    [last] = block.loop({"acc": first}, body, stop=4)
    kernel = with_memrefs(block.function([x, out], [block.store("r", last, [0, 0], out)]))
    ids = buffer_ids(with_shared_buffers(kernel, always=True))
    assert ids["d"] == ids["acc_it"] == ids["first"]
    assert ids["b"] == ids["first"]
    assert ids["a"] == ids["c"] != ids["first"]


def test_ranges_leave_out_the_other_arm() -> None:
    """A tile that only the second arm reads is not live in the first."""
    a = Range([(1, 4), (9, 12)])
    assert not a.meets(Range([(5, 8)]))
    assert a.meets(Range([(4, 5)]))
    assert list(a.absorb(Range([(5, 8), (20, 21)]))) == [(1, 12), (20, 21)]


def test_a_range_that_is_absorbed_stays_as_it_is() -> None:
    """Whichever of the two is longer, the one passed as argument may be absorbed again."""
    few, many = [(3, 4)], [(1, 1), (6, 7), (9, 9)]
    both = [(1, 1), (3, 4), (6, 7), (9, 9)]
    for one, other in ((few, many), (many, few)):
        given = Range(other)
        assert list(Range(one).absorb(given)) == list(Range(one).absorb(given)) == both
        assert list(given) == other


def test_the_peak_is_where_most_bytes_are_live() -> None:
    """Sizes of overlapping ranges add up; the first moment of the peak is reported."""
    ranges = [(Range([(1, 10)]), 100), (Range([(3, 5)]), 50), (Range([(5, 7)]), 30)]
    assert peak(ranges) == (180, 5)


def mixed() -> Function:
    """Return a kernel in which two small tiles follow a large one, and a large one follows them."""
    block, x, out = Block(), tensor("x", [16, 128]), tensor("out", [16, 128])
    big = block.load("big", x, [0, 0], [16, 128])
    o1 = block.store("o1", big, [0, 0], out)
    small = block.load("small", x, [0, 0], [8, 128])
    other = block.load("other", x, [8, 0], [8, 128])
    o2 = block.store("o2", small, [0, 0], o1)
    o3 = block.store("o3", other, [8, 0], o2)
    return with_memrefs(block.function([x, out], [o3]))


def test_parts_of_a_large_buffer_serve_small_ones() -> None:
    """Whole buffers would take 12 KiB; two small ones fit into the large one's bytes."""
    kernel = with_shared_buffers(mixed(), target(8192))
    found = buffers(kernel, number(kernel))[VEC]
    assert [(b.tiles[0].name, const_value(b.memref.addr_), b.memref.size_) for b in found] == [
        ("big", 0, 8192),
        ("small", 0, 4096),
        ("other", 4096, 4096),
    ]
    assert with_addresses(kernel, target(8192)) is kernel


def test_parts_of_buffers_begin_at_cache_lines_where_that_fits() -> None:
    """A 64-byte tile follows a 96-byte one at the next line, or directly if memory is short."""
    always = Range([(1, 4)])
    found = [Buffer(MemRef(VEC, -1, size, i), always, ()) for i, size in enumerate((96, 64))]

    def planned(usable_bytes: int) -> list[int | None]:
        allocated = assign(found, Memory(usable_bytes, usable_bytes, 32))
        return [] if allocated is None else [const_value(allocated[b.memref].addr_) for b in found]

    assert planned(192) == [0, 128]
    assert planned(160) == [0, 96]
    assert planned(128) == []


def test_assignment_gives_up_when_memory_is_too_small() -> None:
    """The caller then reports the overflow."""
    kernel = mixed()
    found = buffers(kernel, number(kernel))[VEC]
    assert assign(found, Memory(8160, 8160, 32)) is None


@pytest.mark.parametrize("spare", [0, 512, 2048])
@given(st.data(), st.integers(5, 40), st.integers(0, 3))
def test_random_kernels_survive_a_small_memory(
    spare: int, data: st.DataObject, size: int, n: int
) -> None:
    """However tight the memory, a plan that is found computes the values of the SSA form."""
    kernel = random_kernel(lambda below: data.draw(st.integers(0, below - 1)), size)
    planned = with_memrefs(kernel)
    found = buffers(planned, number(planned))[VEC]
    needed, _ = peak_bytes(found, A2A3.memories[VEC])
    chip = target(needed + spare)
    shared = with_shared_buffers(planned, chip)
    left = buffers(shared, number(shared))[VEC]
    expected = oracle.run(kernel, arguments(n), by_memory=False)
    assert oracle.run(shared, arguments(n), by_memory=True)[0].tobytes() == expected[0].tobytes()
    if total_bytes([b.memref.size_ for b in left], chip.memories[VEC]) <= needed + spare:
        allocated = with_addresses(shared, chip)
        result = oracle.run(allocated, arguments(n), by_memory=True)
        assert result[0].tobytes() == expected[0].tobytes()


@given(st.data(), st.integers(5, 40))
def test_buffers_of_equal_size_reach_the_lower_bound_of_straight_code(
    data: st.DataObject, size: int
) -> None:
    """Without loops and branches, sharing needs no more buffers than are ever live together."""
    block, x, out = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tiles = [block.load("t0", x, [0, 0], [8, 128])]
    for i in range(1, size):
        chosen = data.draw(st.integers(0, len(tiles) - 1))
        tiles.append(block.let(f"t{i}", "block.neg", tiles[chosen]))
    kernel = with_memrefs(block.function([x, out], [block.store("r", tiles[-1], [0, 0], out)]))
    shared = with_shared_buffers(kernel, always=True)
    needed, _ = peak_bytes(buffers(kernel, number(kernel))[VEC], A2A3.memories[VEC])
    assert 4096 * len(buffers(shared, number(shared))[VEC]) == needed


def test_every_tile_has_a_range() -> None:
    """Unused results are live for the moment in which they are written."""
    kernel = chain(2)
    ranges = Lifetimes(kernel, number(kernel)).ranges
    assert [v.name for v in ranges] == ["t0", "t1"]
    assert all(len(r) == 1 for r in ranges.values())


def too_many(count: int) -> Function:
    """Return a kernel that loads this many tiles before it stores any of them."""
    block, x, last = Block(), tensor("x", [8, 128]), tensor("out", [8, 128])
    tiles = [block.load(f"a{i}", x, [0, 0], [8, 128]) for i in range(count)]
    for i, tile in enumerate(tiles):
        last = block.store(f"o{i}", tile, [0, 0], last)
    return with_memrefs(block.function([x, tensor("out", [8, 128])], [last]))


def test_no_plan_is_made_of_what_cannot_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """More live bytes than the memory has are detected before anything is allocated."""

    def refused(*_args: object, **_named: object) -> Placement:
        raise AssertionError("buffers are allocated")

    monkeypatch.setattr(dynamic_storage_allocation, "plan", refused)
    kernel = too_many(100)
    assert with_shared_buffers(kernel, always=True) is kernel  # no tile dies before the last load


def test_the_advice_for_very_many_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """The total need of all tiles is found with few plans, however many tiles there are."""
    plans: list[object] = []

    def counted(items: Sequence[Item], *, exact: bool) -> Placement:
        plans.append(exact)
        return dynamic_storage_allocation.plan(items, exact=exact)

    monkeypatch.setattr(overflow_hints, "plan", counted)
    with pytest.raises(MemoryPlanError) as caught:
        with_addresses(too_many(300))
    assert caught.value.hint == (
        "work on 1 rows at a time, a0 as pl.block.load(x, [0, 0], [1, 128], "
        "target_memory=pl.MemorySpace.Vec): then 153600 bytes are needed"
    )
    assert len(plans) == 1
