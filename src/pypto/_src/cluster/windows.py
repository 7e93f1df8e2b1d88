"""Windows of the ranks of one node: anonymous memory that each of their processes maps.

The first rank of a node creates the memory, and the others open it through that process. It has no
name, so it is freed with the last process that maps it, however that one ends. It has a row for
every rank of the program; the row of a rank on another node buffers boxes of it while they are in
use.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")


class NodeLock:
    """A lock between all processes of a node and their threads: a byte of a file."""

    def __init__(self, descriptor: int, byte: int) -> None:
        self._descriptor, self._byte = descriptor, byte
        self._of_process = threading.Lock()

    def acquire(self, *, waits: bool = True) -> bool:
        """Take the lock; False if it is held and ``waits`` is False."""
        if not self._of_process.acquire(waits):
            return False
        how = fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB
        try:
            fcntl.lockf(self._descriptor, how, 1, self._byte)
        except OSError:
            self._of_process.release()
            if waits:
                raise
            return False
        return True

    def release(self) -> None:
        """Release the lock; any thread of the process may."""
        fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, self._byte)
        self._of_process.release()

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Window:
    """The rows of all ranks, ``size`` bytes each, in memory that the ranks of a node share."""

    def __init__(self, name: int, descriptor: int, ranks: int, size: int) -> None:
        self.name, self.size = name, size
        self._descriptor = descriptor
        self.signals = NodeLock(descriptor, 0)
        """Held while a signal changes."""
        self.sums = NodeLock(descriptor, 1)
        """Held while a box is added to."""
        whole = mmap.mmap(descriptor, max(ranks * size, 1))
        self.rows: Array = np.frombuffer(whole, np.uint8, ranks * size).reshape(ranks, size)
        self.address = int(self.rows.ctypes.data)

    @classmethod
    def made(cls, name: int, ranks: int, size: int) -> Window:
        """Create memory, all zero."""
        descriptor = os.memfd_create(f"pypto-window-{name}")
        os.ftruncate(descriptor, max(ranks * size, 1))
        return cls(name, descriptor, ranks, size)

    @classmethod
    def opened(cls, name: int, process: int, descriptor: int, ranks: int, size: int) -> Window:
        """Map the memory that another process of this node has created."""
        return cls(name, os.open(f"/proc/{process}/fd/{descriptor}", os.O_RDWR), ranks, size)

    @property
    def handle(self) -> tuple[int, int]:
        """The process and its file descriptor of this memory, for `opened`."""
        return os.getpid(), self._descriptor

    def close(self) -> None:
        """Drop the memory; arrays over it keep it alive."""
        os.close(self._descriptor)


class Part(NamedTuple):
    """Where a box of memory begins: the row of a rank, and a byte offset in it."""

    window: Window
    rank: int
    offset: int


def box_of(row: Array, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> Array | None:
    """Return the bytes of a box at an offset of a row; None if it is empty or leaves the row.

    The last dimension of the result counts bytes, and the last stride is the size of an element.
    """
    *outer, length = sizes
    *steps, element = strides
    if min(sizes) <= 0:
        return None
    last = sum((size - 1) * step for size, step in zip(sizes, strides, strict=True)) + element
    if offset + last > row.size:
        return None
    return np.lib.stride_tricks.as_strided(
        row[offset:], (*outer, length * element), (*steps, 1), subok=False
    )


class Windows:
    """The windows that a process has mapped, by their addresses and by their numbers."""

    def __init__(self) -> None:
        self._by_name: dict[int, Window] = {}

    def add(self, window: Window) -> None:
        """Add a window."""
        self._by_name[window.name] = window

    def __getitem__(self, name: int) -> Window:
        """Return a window by its number."""
        return self._by_name[name]

    def close(self, name: int) -> None:
        """Close and remove a window."""
        self._by_name.pop(name).close()

    def find(self, address: int) -> Part | None:
        """Return the part that an address points to, None if it is in no window."""
        for window in self._by_name.values():
            offset = address - window.address
            if 0 <= offset < window.rows.size:
                return Part(window, *divmod(offset, window.size))
        return None
