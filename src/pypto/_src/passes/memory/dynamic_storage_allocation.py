"""Dynamic storage allocation: the address of each buffer of one memory, given its live range.

Two buffers that are live at the same time must not overlap. `first_fit` takes near linear time.
`best_fit` looks for the lowest height: it tries several orders of first fit. Where none of them
reaches the bound, the total size of buffers that are all live at once, it runs a branch and bound
over canonical placements, in which every buffer rests on another one or at the bottom. It counts
its steps instead of using a clock, so that a program gets the same plan on every machine.

`plan` adds what in-place results need: a buffer that begins in the same statement in which another
one ends (times 2p + 1 and 2p) takes exactly the same bytes, or none of them.

Knows sizes and times, not the IR.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from pypto._src.analysis.liveness import Range, peak
from pypto._src.records import NamedTuple

MOST_STEPS: Final = 12_000
"""How many placements the search of one memory tries; takes well below a second."""

MOST_SEARCHED: Final = 256
"""Larger groups of buffers that overlap in time are not searched."""


class Item(NamedTuple):
    """One buffer: its size in bytes, a multiple of the alignment, and its live range."""

    size: int
    range: Range


class Placement(NamedTuple):
    """Addresses of the items, in order, with their height and a bound for it, all in bytes."""

    addresses: tuple[int, ...]
    height: int
    bound: int  # no placement is lower
    method: str

    @property
    def optimal(self) -> bool:
        """True if no placement is lower."""
        return self.height == self.bound


def first_fit(items: Sequence[Item], order: Sequence[int] | None = None) -> Placement:
    """Place items one after another, each at the lowest address free while it is live.

    ``order`` is by default by size, the largest first.
    """
    if order is None:
        order = sorted(range(len(items)), key=lambda i: (-items[i].size, i))
    addresses = [0] * len(items)
    placed = _Timeline()
    for index in order:
        size, range_ = items[index]
        address = 0
        for begin, end in placed.during(range_):
            if begin - address >= size:
                break
            address = max(address, end)
        addresses[index] = address
        placed.add(range_, address, address + size)
    height = max((a + i.size for a, i in zip(addresses, items, strict=True)), default=0)
    return Placement(tuple(addresses), height, peak([(i.range, i.size) for i in items])[0], "fit")


class _Timeline:
    """Address ranges by time, in time slices whose lengths double like the levels of a tree."""

    def __init__(self) -> None:
        self._levels: dict[int, dict[int, list[tuple[Range, int, int]]]] = {}

    @staticmethod
    def _level(begin: int, end: int) -> int:
        return (begin ^ end).bit_length()

    def add(self, range_: Range, low: int, high: int) -> None:
        """Occupy the addresses from ``low`` to ``high`` for all times of a range."""
        for begin, end in range_:
            level = self._level(begin, end)
            slices = self._levels.setdefault(level, {})
            slices.setdefault(begin >> level, []).append((Range([(begin, end)]), low, high))

    def during(self, range_: Range) -> list[tuple[int, int]]:
        """Return the address ranges occupied at any time of ``range_``, sorted."""
        found: list[tuple[int, int]] = []
        for begin, end in range_:
            for level, slices in self._levels.items():
                first, last = begin >> level, end >> level
                keys = range(first, last + 1) if last - first < len(slices) else sorted(slices)
                for key in keys:
                    if first <= key <= last:
                        for other, low, high in slices.get(key, ()):
                            if other.begins[0] <= end and begin <= other.ends[0]:
                                found.append((low, high))
        found.sort()
        return found


def plan(items: Sequence[Item], *, exact: bool, steps: int = MOST_STEPS) -> Placement:
    """Return a placement in which results share all bytes of dying operands or none.

    ``exact`` searches for the lowest one and proves a bound; otherwise first fit is used.
    """
    apart = [Item(item.size, _written(item.range)) for item in items]
    groups = _in_place(items)
    joined = [Item(items[g[0]].size, Range(s for i in g for s in apart[i].range)) for g in groups]
    least_items = _least(items)
    peak_ = peak([(item.range, item.size) for item in least_items])[0]

    def spread(found: Placement) -> Placement:
        addresses = [0] * len(items)
        for group, address in zip(groups, found.addresses, strict=True):
            for index in group:
                addresses[index] = address
        return found._replace(addresses=tuple(addresses))

    best = min(spread(first_fit(joined)), first_fit(apart), key=lambda p: p.height)
    if not exact or best.height == peak_:
        return best._replace(bound=peak_)
    least = best_fit(least_items, steps)
    if best.height == least.bound:
        return best._replace(bound=least.bound)
    found = min(spread(best_fit(joined, steps)), best, key=lambda p: p.height)
    if found.height > least.bound:
        found = min(found, best_fit(apart, steps), key=lambda p: p.height)
    if found.height > least.height and _keeps_apart(items, least):
        found = least
    return found._replace(bound=least.bound, method="search")


def _written(range_: Range) -> Range:
    """Return the times at which nothing else may write a buffer: up to the end of statements."""
    return Range((begin, end | 1) for begin, end in range_)


def _least(items: Sequence[Item]) -> list[Item]:
    """Return a relaxation of the items, of which a lower bound also holds for ``items``.

    Items that may share bytes in place are treated as if they did not overlap in time.
    """
    begins = {(item.size, begin) for item in items for begin in item.range.begins}

    def end_of(size: int, end: int) -> int:
        return end if (size, end + 1) in begins else end | 1

    return [Item(size, Range((b, end_of(size, e)) for b, e in range_)) for size, range_ in items]


def _in_place(items: Sequence[Item]) -> list[list[int]]:
    """Return the items in groups in which each begins when an earlier one of its size ends."""
    ends: dict[tuple[int, int], int] = {}
    group_of: dict[int, int] = {}
    groups: list[list[int]] = []
    times: list[Range] = []
    starts = [item.range.begins[0] if item.range.begins else 0 for item in items]
    for index in sorted(range(len(items)), key=lambda i: (starts[i], i)):
        size, range_ = items[index]
        before = ends.get((size, starts[index] - 1))
        if before is not None and not times[group_of[before]].meets(range_):
            group = group_of[before]
            groups[group].append(index)
            times[group] = times[group].absorb(range_)
        else:
            group = len(groups)
            groups.append([index])
            times.append(range_.copy())
        group_of[index] = group
        for end in range_.ends:
            ends[size, end] = index
    return groups


def _keeps_apart(items: Sequence[Item], found: Placement) -> bool:
    """True if each item has all bytes, or none, of those that end when it begins."""
    ends: dict[int, list[int]] = {}
    for index, item in enumerate(items):
        for end in item.range.ends:
            ends.setdefault(end, []).append(index)
    for index, item in enumerate(items):
        low = found.addresses[index]
        for begin in item.range.begins:
            for other in ends.get(begin - 1, ()):
                there = found.addresses[other]
                same = there == low and items[other].size == item.size
                if not (same or there + items[other].size <= low or low + item.size <= there):
                    return False
    return True


def best_fit(items: Sequence[Item], steps: int = MOST_STEPS) -> Placement:
    """Return the lowest placement found, with the highest proven lower bound.

    Never higher than `first_fit`. Groups of items that do not overlap in time are separate.
    """
    addresses = [0] * len(items)
    heights: list[tuple[int, int]] = []
    methods: set[str] = set()
    for group in _groups(items):
        members = [items[i] for i in group]
        found = _placed(members, steps)
        methods.add(found.method)
        heights.append((found.height, found.bound))
        for index, address in zip(group, found.addresses, strict=True):
            addresses[index] = address
    height = max((h for h, _ in heights), default=0)
    bound = max((b for _, b in heights), default=0)
    method = "search" if "search" in methods else "fit"
    return Placement(tuple(addresses), height, bound, method)


def _groups(items: Sequence[Item]) -> list[list[int]]:
    """Return the indices of items in groups that do not overlap in time, by first time."""
    order = sorted(
        (begin, end, index) for index, item in enumerate(items) for begin, end in item.range
    )
    parent = list(range(len(items)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    open_, until = -1, -1
    for begin, end, index in order:
        if begin <= until:
            parent[root(index)] = root(open_)
        else:
            open_ = index
        until = max(until, end)
    groups: dict[int, list[int]] = {}
    for index in range(len(items)):
        groups.setdefault(root(index), []).append(index)
    return list(groups.values())


def _placed(items: Sequence[Item], steps: int) -> Placement:
    """Place one group: first fit in the orders that are often best, then the search."""

    def span(index: int) -> int:
        return sum(end - begin + 1 for begin, end in items[index].range)

    keys: tuple[Callable[[int], tuple[int, ...]], ...] = (
        lambda i: (-items[i].size, i),
        lambda i: (-items[i].size * span(i), i),
        lambda i: (-span(i), -items[i].size, i),
        lambda i: (items[i].range.begins[0] if items[i].range.begins else 0, -items[i].size, i),
    )
    best: Placement | None = None
    for key in keys:
        found = first_fit(items, sorted(range(len(items)), key=key))
        if best is None or found.height < best.height:
            best = found
        if best.optimal:
            return best
    assert best is not None
    if len(items) > MOST_SEARCHED:
        return best
    meets = _meetings(items)
    best = best._replace(bound=_max_weight_clique([item.size for item in items], meets, best.bound))
    if not best.optimal:
        best = _repaired(items, best)
    return best if best.optimal else _Search(items, meets, best).run(steps)


def _meetings(items: Sequence[Item]) -> list[int]:
    """Return for each item, as bits, those whose live ranges overlap with it."""
    meets = [0] * len(items)
    for i, item in enumerate(items):
        for j in range(i):
            if item.range.meets(items[j].range):
                meets[i] |= 1 << j
                meets[j] |= 1 << i
    return meets


_MOST_SETS: Final = 2_000


def _max_weight_clique(sizes: Sequence[int], meets: Sequence[int], most: int) -> int:
    """Return the most bytes found for items that overlap pairwise; at least ``most``.

    No placement is lower. It can be more than is live at any one time: with holes, each two of
    three items may overlap at a different time. This is a search for a heaviest clique, bounded by
    what the classes of a colouring can add.
    """
    everything = (1 << len(sizes)) - 1
    levels = [(everything, 0, _coloured(sizes, meets, everything))]
    left = _MOST_SETS
    while levels:
        rest, weight, order = levels[-1]
        if not order or weight + order[-1][1] <= most:
            levels.pop()
            continue
        item, _ = order.pop()
        levels[-1] = rest & ~(1 << item), weight, order
        weight += sizes[item]
        most = max(most, weight)
        inner = rest & meets[item]
        left -= 1
        if inner and left > 0:
            levels.append((inner, weight, _coloured(sizes, meets, inner)))
    return most


def _coloured(sizes: Sequence[int], meets: Sequence[int], rest: int) -> list[tuple[int, int]]:
    """Return items by colour class, each with a bound on cliques of it and the items before.

    No two items of a class overlap; the bound is the sum of the largest sizes of the classes.
    """
    found: list[tuple[int, int]] = []
    below = 0
    while rest:
        free, group, top = rest, 0, 0
        while free:
            low = free & -free
            item = low.bit_length() - 1
            group |= low
            top = max(top, sizes[item])
            free &= ~(low | meets[item])
        below += top
        found += [(item, below) for item in _bits(group)]
        rest &= ~group
    return found


_MENDINGS: Final = 150


def _repaired(items: Sequence[Item], best: Placement) -> Placement:
    """Repeat first fit, each time moving up in the order what was placed above the bound."""
    count = len(items)
    blame = [items[i].size for i in range(count)]
    for _ in range(_MENDINGS):
        order = sorted(range(count), key=lambda i: (-blame[i], i))
        found = first_fit(items, order)
        if found.height < best.height:
            best = found._replace(bound=best.bound)
            if best.optimal:
                break
        for i, address in enumerate(found.addresses):
            top = address + items[i].size
            if top > found.bound:
                blame[i] += top - found.bound
    return best


class _OutOfSteps(Exception):
    """Raised when the search has used up its steps."""


class _Search:
    """Branch and bound over canonical placements.

    Items are placed by rising address. The lowest address that an item can still have is its floor:
    the top of what is placed below it. A limit on the height starts at the lower bound; if no
    placement meets it, it is raised to the least height at which a branch was cut off, which is a
    proven bound itself.
    """

    def __init__(self, items: Sequence[Item], meets: Sequence[int], best: Placement) -> None:
        self.sizes = [item.size for item in items]
        self.meets = meets
        self.best = best
        count = len(items)
        self.crowds = _live_sets(items)
        self.crowds_of = [
            [c for c, m in enumerate(self.crowds) if m >> i & 1] for i in range(count)
        ]
        # Break symmetry: of interchangeable items, the first is placed first.
        twins: dict[tuple[int, int], int] = {}
        self.before = [0] * count
        for i in range(count):
            key = (self.sizes[i], self.meets[i] | 1 << i)
            other = twins.get((self.sizes[i], self.meets[i]), twins.get(key))
            if other is not None:
                self.before[i] = 1 << other
            twins[(self.sizes[i], self.meets[i])] = i
            twins[key] = i

    def run(self, steps: int) -> Placement:
        """Return the best placement found in ``steps`` steps."""
        self.left = steps
        bound = self.best.bound
        while bound < self.best.height:
            self.limit = bound
            self.next = self.best.height
            try:
                found = self._fits()
            except _OutOfSteps:
                break
            if found is not None:
                return Placement(tuple(found), bound, bound, "search")
            bound = self.next
        return Placement(self.best.addresses, self.best.height, bound, "search")

    def _fits(self) -> list[int] | None:
        """Return addresses within the limit, None if there are none.

        A depth-first search with an explicit stack: each level holds the choices left to try.
        """
        count = len(self.sizes)
        placed: list[int] = []
        addresses = [0] * count
        floors = [[0] * count]
        crowds = [[sum(self.sizes[i] for i in range(count) if m >> i & 1) for m in self.crowds]]
        todo = [self._choices(floors[0], (1 << count) - 1, 0)]
        rest = (1 << count) - 1
        while todo:
            if not todo[-1]:
                todo.pop()
                floors.pop()
                crowds.pop()
                if placed:
                    rest |= 1 << placed.pop()
                continue
            self.left -= 1
            if self.left < 0:
                raise _OutOfSteps
            item = todo[-1].pop()
            address = floors[-1][item]
            addresses[item] = address
            placed.append(item)
            rest &= ~(1 << item)
            if not rest:
                return addresses
            top = address + self.sizes[item]
            raised = list(floors[-1])
            for other in _bits(self.meets[item] & rest):
                raised[other] = max(raised[other], top)
            sums = list(crowds[-1])
            for crowd in self.crowds_of[item]:
                sums[crowd] -= self.sizes[item]
            fits = self._can_fit(raised, sums, rest, address)
            floors.append(raised)
            crowds.append(sums)
            todo.append(self._choices(raised, rest, address) if fits else [])
        return None

    def _can_fit(self, floors: Sequence[int], sums: Sequence[int], rest: int, low: int) -> bool:
        """False if the rest of a crowd cannot fit, however it is stacked.

        The items of a crowd must not overlap, so stacking by rising floor gives their least height.
        """
        for crowd, left in zip(self.crowds, sums, strict=True):
            if left:
                top = low
                for floor, size in sorted((floors[i], self.sizes[i]) for i in _bits(crowd & rest)):
                    top = (top if top > floor else floor) + size
                if top > self.limit:
                    self.next = min(self.next, top)
                    return False
        return True

    def _choices(self, floors: Sequence[int], rest: int, low: int) -> list[int]:
        """Return the items that may come next, the most promising one last."""
        lowest_top = min(floors[i] + self.sizes[i] for i in _bits(rest))
        found: list[tuple[int, int, int]] = []
        for item in _bits(rest):
            address = floors[item]
            # If another item fits below, placing that one first is no worse.
            if low <= address < lowest_top and not self.before[item] & rest:
                found.append((-address, self.sizes[item], item))
        found.sort()
        return [item for _, _, item in found]


def _live_sets(items: Sequence[Item]) -> list[int]:
    """Return the maximal sets of items that are live at one time, as bits."""
    changes: dict[int, int] = {}
    for index, item in enumerate(items):
        for begin, end in item.range:
            changes[begin] = changes.get(begin, 0) ^ 1 << index
            changes[end + 1] = changes.get(end + 1, 0) ^ 1 << index
    found: dict[int, None] = {}
    now = 0
    for time in sorted(changes):
        now ^= changes[time]
        found[now] = None
    crowds = sorted(found, key=lambda m: (-m.bit_count(), m))
    kept: list[int] = []
    for crowd in crowds:
        if crowd and not any(crowd | other == other for other in kept):
            kept.append(crowd)
    return kept


def _bits(mask: int) -> list[int]:
    """Return the numbers of the bits set in ``mask``, the lowest first."""
    found: list[int] = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
