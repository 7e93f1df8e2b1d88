"""A flag of the sync plan: which pipe sets it, which one waits, and where each is."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from operator import attrgetter
from typing import Final

from pypto._src.analysis.stmt_tree import Block, ProgramPoint, owner_of


class Form(Enum):
    """Where the set and the wait of a flag are."""

    FORWARD = "set after one statement, wait before a later one of the block"
    CLOSING = "set in the body of a loop, wait at its end"
    PRIMED = "set before the loop, wait and set in its body, wait after the loop"


# In CPython 3.11, looking up an enum member takes five times as long as a global.
FORWARD: Final = Form.FORWARD
CLOSING: Final = Form.CLOSING
PRIMED: Final = Form.PRIMED

NONE: Final = -1
"""The event of an acknowledgement that is not needed."""
BARRIER: Final = -2
"""The event of an acknowledgement that a barrier of all pipes replaces, as none is free."""


class Flag:
    """One set and its wait, before an event number is chosen."""

    __slots__ = (
        "ack",
        "ack_first",
        "begin",
        "end",
        "event",
        "form",
        "known",
        "late",
        "number",
        "set_after",
        "source",
        "target",
        "wait_before",
    )

    def __init__(
        self,
        form: Form,
        source: int,
        target: int,
        set_after: ProgramPoint,
        wait_before: ProgramPoint,
    ) -> None:
        self.form = form
        self.source = source
        self.target = target
        self.set_after = set_after
        self.wait_before = wait_before  # of a CLOSING flag: where the next iteration needs it
        self.late: ProgramPoint | None = None  # set before this statement instead
        self.begin = self.end = 0
        self.event = -1
        # The event of the target's acknowledgement before the source sets this, and the same
        # before it raises a PRIMED flag for the first iteration.
        self.ack: int = NONE
        self.ack_first: int = NONE
        self.known = 0  # the last instruction of the target complete when this is set
        self.number = 0  # the first instruction of the target after the wait; 0 in a loop

    @property
    def block(self) -> Block:
        """The block of the wait; for a CLOSING or PRIMED flag the body of its loop."""
        return self.wait_before.block

    def reset(self) -> None:
        """Discard the results of an earlier attempt to number the flags."""
        self.late, self.ack, self.ack_first = None, NONE, NONE
        self.locate()

    def locate(self) -> None:
        """Compute the positions of the flag in the text, once its set and wait are placed.

        ``begin`` is the position of the first set: 8 times the number of its statement, plus an
        offset that orders ends beside one statement; ``end`` is that of the last wait.
        """
        form, late = self.form, self.late
        if form is PRIMED:
            owner = owner_of(self.block)
            self.begin, self.end = 8 * owner.begin + 2, 8 * owner.end + 4
            return
        self.begin = 8 * self.set_after.end + 5 if late is None else 8 * late.begin + 1
        forward = form is FORWARD
        self.end = 8 * self.wait_before.begin if forward else 8 * self.block.end - 2


def in_text_order(flags: Iterable[Flag]) -> list[Flag]:
    """Return flags in textual order, including those beside one statement."""
    return sorted(flags, key=_IN_TEXT)


_IN_TEXT: Final = attrgetter("begin", "end", "source", "target")
