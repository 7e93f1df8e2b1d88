"""What holds at one point of a function, on every path there: the state of the sync checker.

One bit states for one instruction that all its executions so far are complete. A pipe knows a set
of such bits: what is complete before its next instruction starts; a raised flag carries such a set.
So the rules of happens-before (hardware sheet, 3.1) are unions of sets, and a join of paths is
their intersection. An instruction in d loops has d + 1 bits: bit k < d is about the executions in
earlier iterations of its k-th loop (and in the current iterations of the loops around that one),
bit d about the execution in the current iterations of all.

Knows bits, pipes and flags, but no statements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, TypeAlias

from pypto._src.analysis.stmt_tree import ProgramPoint
from pypto._src.ir.enums import PipeType

PIPES: Final = 7

Bits: TypeAlias = int
Key: TypeAlias = Hashable
"""What identifies a flag: its triple, or a coarser key in another reading of the hardware."""

DOWN: Final = 1
UP: Final = 2
TWICE: Final = 4
"""Bits for what a flag may be, on some path; TWICE means raised again before a wait."""


class State:
    """What each pipe knows, and which flags are up, with what they carry."""

    __slots__ = ("flags", "known", "origin", "split", "tokens")

    def __init__(self, known: list[Bits]) -> None:
        self.known = known
        self.tokens: dict[Key, Bits] = {}  # of flags that may be up
        self.flags: dict[Key, int] = {}  # what a flag may be; DOWN if it is missing
        self.origin: dict[Key, ProgramPoint] = {}  # the last set or wait of a flag
        # Where paths that leave a flag in different states meet.
        self.split: dict[Key, ProgramPoint] = {}

    def copy(self) -> State:
        """Return an independent copy."""
        new = object.__new__(State)
        new.known = self.known[:]
        new.tokens, new.flags = self.tokens.copy(), self.flags.copy()
        new.origin, new.split = self.origin.copy(), self.split.copy()
        return new

    def same(self, other: State) -> bool:
        """True if both agree on pipes and flags."""
        return (
            self.known == other.known
            and self.tokens == other.tokens
            and (
                self.flags == other.flags or _without_down(self.flags) == _without_down(other.flags)
            )
        )

    def flag(self, key: Key) -> int:
        """Return the possible values of a flag, as bits."""
        return self.flags.get(key, DOWN)

    def each(self, change: Callable[[Bits], Bits]) -> None:
        """Apply ``change`` to what every pipe knows and every flag carries."""
        self.known = [change(bits) for bits in self.known]
        self.tokens = {key: change(bits) for key, bits in self.tokens.items()}

    def forget(self, keep: Bits) -> None:
        """Drop the bits that are not in ``keep``: their instructions are in flight again."""
        self.known = [bits & keep for bits in self.known]
        for key, bits in self.tokens.items():
            self.tokens[key] = bits & keep

    def learn(self, pipe: PipeType, bits: Bits) -> None:
        """Add bits to what a pipe knows; a wait of the scalar pipe holds up all pipes."""
        if pipe is PipeType.S:
            self.known = [known | bits for known in self.known]
        else:
            self.known[pipe] |= bits


def _without_down(flags: Mapping[Key, int]) -> dict[Key, int]:
    return {key: mask for key, mask in flags.items() if mask != DOWN}


def joined(first: State | None, second: State | None, point: ProgramPoint) -> State | None:
    """Return what holds after either path; None is a path that is never taken.

    ``point`` is recorded for flags that the paths leave in different states.
    """
    if first is None or second is None:
        return first if second is None else second
    new = State([a & b for a, b in zip(first.known, second.known, strict=True)])
    tokens, others = first.tokens, second.tokens
    for key, bits in tokens.items():
        new.tokens[key] = bits & others[key] if key in others else bits
    for key, bits in others.items():
        new.tokens.setdefault(key, bits)
    new.origin = {**second.origin, **first.origin}
    new.split = {**second.split, **first.split}
    for key in (*first.flags, *second.flags):
        mask, other = first.flag(key), second.flag(key)
        new.flags[key] = mask | other
        if mask != other:
            new.split.setdefault(key, point)
            raised = first if mask > other else second
            if key in raised.origin:
                new.origin[key] = raised.origin[key]
    return new
