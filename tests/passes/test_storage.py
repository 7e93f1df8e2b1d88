"""Dynamic storage allocation: no overlap, never above first fit, and the bounds are valid."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pypto._src.analysis.liveness import Range
from pypto._src.analysis.stmt_tree import number
from pypto._src.ir.enums import MemorySpace
from pypto._src.passes.memory.dynamic_storage_allocation import (
    Item,
    Placement,
    best_fit,
    first_fit,
    plan,
)
from pypto._src.passes.memory.init_mem_ref import with_memrefs
from pypto._src.passes.memory.memory_reuse import allocated, buffers, peak_bytes
from pypto._src.targets import A2A3
from tests.passes.build import random_kernel


def item(size: int, *segments: tuple[int, int]) -> Item:
    return Item(size, Range(segments))


def assert_apart(items: Sequence[Item], placement: Placement) -> None:
    """Items live at the same time do not overlap, and the height is the maximum end."""
    tops = [a + i.size for a, i in zip(placement.addresses, items, strict=True)]
    assert placement.height == max(tops, default=0)
    assert all(address >= 0 for address in placement.addresses)
    for one in range(len(items)):
        for other in range(one):
            if items[one].range.meets(items[other].range):
                assert (
                    tops[one] <= placement.addresses[other]
                    or tops[other] <= placement.addresses[one]
                )


def least_height(items: Sequence[Item]) -> int:
    """Return the minimal height by trying every order: first fit in some order is optimal."""
    return min(first_fit(items, order).height for order in permutations(range(len(items))))


def drawn_item(size: int, begin: int, length: int, *, hole: bool) -> Item:
    later = [(begin + length + 2, begin + 20)] if hole else []
    return item(32 * size, (begin, begin + length), *later)


ITEMS = st.lists(
    st.builds(
        drawn_item,
        st.integers(1, 6),
        st.integers(0, 16),
        st.integers(0, 6),
        hole=st.booleans(),
    ),
    max_size=6,
)


@given(ITEMS)
def test_the_lowest_placement_is_found_and_proven(items: list[Item]) -> None:
    """For up to six buffers the height is the least of all orders, and the bound says so."""
    found = best_fit(items)
    assert_apart(items, found)
    assert found.height == least_height(items)
    assert found.optimal


@pytest.mark.parametrize("count", [12, 25, 40])
def test_large_sets_are_placed_no_higher_than_first_fit(count: int) -> None:
    """Whatever the search finds is between the lower bound and first fit."""
    for seed in range(20):
        rng = Random(seed)
        items: list[Item] = []
        for _ in range(count):
            begin = rng.randrange(2 * count)
            items.append(item(32 * rng.randrange(1, 40), (begin, begin + rng.randrange(count))))
        found = best_fit(items)
        assert_apart(items, found)
        assert found.bound <= found.height <= first_fit(items).height
        assert best_fit(items) == found


def test_a_hole_is_found_that_every_order_by_size_misses() -> None:
    """First fit by size needs 6 units here; the search proves that 5 suffice."""
    items = [item(2, (0, 3)), item(2, (4, 7)), item(1, (2, 5)), item(3, (6, 9)), item(2, (3, 4))]
    found = best_fit(items)
    assert_apart(items, found)
    assert found.height == least_height(items) == found.bound


def test_each_two_of_three_meet_at_another_time() -> None:
    """At most two of these are live at once, yet each has to be apart from both others."""
    items = [item(32, (0, 1), (8, 9)), item(64, (1, 2), (4, 5)), item(96, (4, 4), (9, 9))]
    assert first_fit(items).bound == 160
    found = best_fit(items)
    assert_apart(items, found)
    assert found.height == found.bound == 192


@pytest.mark.parametrize("seed", [37, 43, 112, 127, 148, 272])
def test_kernels_whose_buffers_meet_in_turn_are_proven(seed: int) -> None:
    """In these kernels a loop or branch keeps more tiles apart than are live at any moment."""
    kernel = with_memrefs(random_kernel(Random(seed).randrange, 5 + seed % 96))
    [found] = buffers(kernel, number(kernel)).values()
    best = allocated(found, A2A3.memories[MemorySpace.Vec], exact=True)
    assert best.height == best.bound == peak_bytes(found, A2A3.memories[MemorySpace.Vec])[0] + 512


def test_a_result_takes_all_bytes_of_its_operand_or_none() -> None:
    """A chain of equal buffers needs one; a smaller result may not overlap part of its operand."""
    chain = [item(64, (2 * i + 1, 2 * i + 2)) for i in range(5)]
    assert plan(chain, exact=True) == plan(chain, exact=False)
    assert plan(chain, exact=True).addresses == (0, 0, 0, 0, 0)
    halves = [item(64, (1, 2)), item(32, (3, 4))]
    found = plan(halves, exact=True)
    assert found.height == found.bound == 96


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 12), st.integers(0, 4)), min_size=1, max_size=12
    )
)
def test_in_place_plans_overlap_wholly_or_not_at_all(drawn: list[tuple[int, int, int]]) -> None:
    """Buffers that touch in one statement have the same bytes or none in common."""
    items = [item(32 * s, (2 * b + 1, 2 * (b + n) + (n == 0))) for s, b, n in drawn]
    for exact in (False, True):
        found = plan(items, exact=exact)
        assert_apart(items, found)
        assert found.bound <= found.height
        for i, one in enumerate(items):
            for j, other in enumerate(items):
                if one.range.ends[0] + 1 == other.range.begins[0]:
                    low, there = found.addresses[i], found.addresses[j]
                    same = low == there and one.size == other.size
                    assert same or low + one.size <= there or there + other.size <= low


def test_nothing_and_thousands() -> None:
    """No buffers take nothing; 20,000 in a row take as much as those that overlap in time."""
    assert plan([], exact=True) == Placement((), 0, 0, "fit")
    many = [item(32 * (1 + i % 5), (2 * i, 2 * i + 9)) for i in range(20_000)]
    found = plan(many, exact=True)
    assert found.height == found.bound == 32 * 15
