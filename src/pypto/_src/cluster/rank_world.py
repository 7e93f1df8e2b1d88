"""The world as one rank's process sees it: peers on this node share memory, others get requests.

A box of a peer on another node is fetched before it is read, and sent after it was written. What a
rank has sent arrives before it notifies, waits or ends, so a rank that has waited for the signal
sees it: the same order as between threads.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any, Final

from pypto._src.cluster.messages import span_as_data
from pypto._src.cluster.windows import Part, Windows, box_of
from pypto._src.diagnostics import Span
from pypto._src.ranks import Blocked, Box, Rank, TransferKind, World, as_rank

_BRIEF: Final = 200
"""How many times a waiting rank polls before it begins to sleep between polls."""
_PAUSE_S: Final = 0.0005


class PeerLostError(Exception):
    """A peer did not carry out a request: its process has ended."""

    def __init__(self, rank: int) -> None:
        super().__init__(f"rank {rank} is lost")
        self.rank = rank


class Peer:
    """A rank on a node with memory of its own; ``call`` sends it a request."""

    def __init__(self, rank: int, call: Callable[..., Any], result: Callable[[Any], Any]) -> None:
        self.rank, self._call, self._result = rank, call, result

    def ask(self, what: str, *args: Any) -> Callable[[], Any]:
        """Send a request; return a function that waits for the result."""
        begun = self._call(what, *args)

        def result() -> Any:
            try:
                return self._result(begun)
            except Exception as error:
                # What carries the request has exceptions of its own, which are not known here.
                # Each means that the peer did not answer.
                raise PeerLostError(self.rank) from error

        return result


class RankWorld(World):
    """One rank, with the windows that it shares with the ranks of its node."""

    def __init__(self, rank: int, count: int, windows: Windows) -> None:
        super().__init__(count)
        self.rank = Rank(self, rank)
        self.windows = windows
        self.peers: dict[int, Peer] = {}
        """The ranks on other nodes."""
        self.waits = 0
        """How many waits this rank has completed."""
        self.waiting: dict[str, Any] | None = None
        """What it waits for."""
        self.signal: tuple[int, int, int] | None = None
        """The signal that it waits for: window, rank, byte offset."""
        self._sent: list[Callable[[], Any]] = []

    def run_here(self, work: Callable[[], Any]) -> Any:
        """Call ``work`` as this rank, in this thread.

        Raises:
            PeerLostError: another rank is lost.
            BaseException: what ``work`` raises.
        """
        self._failure = None
        try:
            with as_rank(self.rank):
                found = work()
            self.settle()
        except BaseException as error:
            # After Ctrl-C, too: the next run must not wait for what this one has sent.
            self._sent.clear()
            # An error in a callback of native code is kept in `_failure`, and native code then
            # stops with one of its own, which says less.
            raise self._failure or error from None
        if self._failure is not None:
            raise self._failure
        return found

    def settle(self) -> None:
        """Wait until all that was sent has arrived."""
        while self._sent:
            self._sent.pop(0)()

    # ----- signals --------------------------------------------------------------------------

    def notify(self, address: int, value: int, *, adds: bool) -> None:
        """Add to a signal, or set it, wherever its rank is."""
        self.settle()
        part = self.windows.find(address)
        peer = None if part is None else self.peers.get(part.rank)
        if part is None:
            super().notify(address, value, adds=adds)
        elif peer is None:
            change_signal(part, value, adds=adds)
        else:
            self._sent.append(peer.ask("notify", part.window.name, part.offset, value, adds))

    def wait(self, blocked: Blocked) -> None:
        """Poll until the rank may continue; the driver notices if it never can."""
        self.settle()
        if not blocked.holds():
            self.waiting = {"for": blocked.text(), "location": span_as_data(blocked.location)}
            looks = 0
            while not blocked.holds():
                looks += 1
                time.sleep(0 if looks < _BRIEF else _PAUSE_S)
            self.waiting = None
        self.waits += 1

    def wait_for(self, address: int, expected: int, *, at_least: bool, location: Span) -> None:
        """Block this rank until a signal, which is always in its own row, has a value."""
        part = self.windows.find(address)
        cell = ctypes.c_int32.from_address(address)
        relation = ">=" if at_least else "=="
        where = None if part is None else (part.window.name, part.rank, part.offset)

        def holds() -> bool:
            return cell.value >= expected if at_least else cell.value == expected

        def text() -> str:
            return f"{relation} {expected}, which is {cell.value}"

        self.signal = where
        self.wait(Blocked(holds, text, location))

    # ----- boxes of windows -----------------------------------------------------------------

    def transfer(self, box: Box, kind: TransferKind) -> None:
        """Fetch a box before it is read, send it after it was written.

        An addition locks the window of the box's rank meanwhile, so that no other sum is lost.
        """
        adds = kind in (TransferKind.BEGIN_ADD, TransferKind.END_ADD)
        if not self.peers and not adds:
            return  # all ranks are on this node
        part = self.windows.find(box.first)
        if part is None:
            return
        peer = self.peers.get(part.rank)
        here = box_of(part.window.rows[part.rank], part.offset, box.sizes, box.strides)
        if here is None:
            return  # the access itself reports it
        if peer is None:
            if kind is TransferKind.BEGIN_ADD:
                part.window.sums.acquire()
            elif kind is TransferKind.END_ADD:
                part.window.sums.release()
            return
        where = (part.window.name, part.offset, list(box.sizes), list(box.strides))
        if kind in (TransferKind.FETCH, TransferKind.BEGIN_ADD):
            self.settle()
            while (found := peer.ask("fetch", *where, adds)()) is None:
                time.sleep(_PAUSE_S)  # another rank adds to that window
            here[...] = found
        else:
            self._sent.append(peer.ask("store", *where, here.copy(), adds))
            if adds:
                self.settle()


def change_signal(part: Part, value: int, *, adds: bool) -> None:
    """Add to a signal in the memory of this node, or set it."""
    with part.window.signals:
        first = part.window.address + part.rank * part.window.size
        cell = ctypes.c_int32.from_address(first + part.offset)
        cell.value = cell.value + value if adds else value
