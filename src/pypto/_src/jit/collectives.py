"""Collectives of all ranks, written in the language itself: sums, gathers, barriers.

Each is a function that is spliced into a region, on every rank. Signals are windows with an INT32
element for each rank; they are zero before and after. Host functions launch the kernels at the end
of this file, and may leave the signal out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from pypto._src.frontend import distributed_markers as pld
from pypto._src.frontend.region_markers import Level, at, static_assert
from pypto._src.ir.annotations import DistributedTensor
from pypto._src.jit.decorator import jit
from pypto._src.jit.host_values import COLLECTIVES
from pypto._src.ops.elementwise import add, maximum, minimum, mul

if TYPE_CHECKING:
    from builtins import range as range_
else:
    from pypto._src.frontend.markers import range_

_MOST: Final = 32 * 1024
"""The most bytes of a window that are processed at a time."""


_MODES: Final = ("mesh", "ring")


def _divisor(size: int, most: int) -> int:
    """Return the largest divisor of a size that is at most ``most``."""
    return next(n for n in range(min(size, max(1, most)), 0, -1) if size % n == 0)


def _wide(columns: int, element: int) -> int:
    return _divisor(columns, _MOST // element)


def _high(rows: int, columns: int, element: int) -> int:
    return _divisor(rows, _MOST // (element * _wide(columns, element)))


def _block(rows: int, count: int) -> int:
    return rows // count


@jit.inline
def _take(signal: Any, peer: Any):
    """Wait for a signal from a peer, and reset it."""
    pld.wait(signal, peer, 1, cmp=pld.WaitCmp.Ge)
    pld.notify(signal, pld.rank(signal), peer, -1, op=pld.NotifyOp.AtomicAdd)


@jit.inline
def barrier(signal: Any):
    """Make each rank wait until all ranks have arrived."""
    for peer in range_(pld.nranks(signal)):
        pld.notify(signal, peer, pld.rank(signal), 1, op=pld.NotifyOp.AtomicAdd)
    for peer in range_(pld.nranks(signal)):
        _take(signal, peer)
    return signal


@jit.inline
def _combined(a: Any, b: Any, op: Any):
    if op == pld.ReduceOp.Sum:
        result = add(a, b)
    elif op == pld.ReduceOp.Max:
        result = maximum(a, b)
    elif op == pld.ReduceOp.Min:
        result = minimum(a, b)
    else:
        result = mul(a, b)
    return result


@jit.inline
def allreduce(
    target: Any,
    signal: Any = None,
    *,
    op: pld.ReduceOp = pld.ReduceOp.Sum,
    mode: str = "mesh",
    core_num: int = 1,
):
    """Combine the matrices ``target`` of all ranks with ``op``, on every rank.

    Each rank combines one part of the matrix, which the others then copy. With ``mode="mesh"`` it
    reads that part from all ranks, in their order; with ``"ring"`` partial results go from each
    rank to the next, so that a rank reads from its neighbour only. ``core_num`` changes no value.
    """
    static_assert(mode in _MODES, 'mode is "mesh" or "ring"')
    barrier(signal)
    if mode == "ring":
        _ring_reduce(target, signal, op)
        barrier(signal)
        _ring_gather(target, signal)
    else:
        _mesh_reduce(target, op)
        barrier(signal)
        _mesh_gather(target)
    barrier(signal)
    return target


@jit.inline
def _mesh_reduce(target: Any, op: Any):
    wide = _wide(target.shape[1], target.dtype.bytes)
    high = _high(target.shape[0], target.shape[1], target.dtype.bytes)
    across = target.shape[1] // wide
    pieces = target.shape[0] // high * across
    ranks = pld.nranks(target)
    me = pld.rank(target)
    for piece in range_(me * pieces // ranks, (me + 1) * pieces // ranks):
        r = piece // across * high
        c = piece % across * wide
        total = pld.remote_load(target, 0, [r, c], [high, wide])
        for peer in range_(1, ranks):
            more = pld.remote_load(target, peer, [r, c], [high, wide])
            total = _combined(total, more, op)
        target[r : r + high, c : c + wide] = total


@jit.inline
def _mesh_gather(target: Any):
    for peer in range_(pld.nranks(target)):
        if peer != pld.rank(target):
            _copied(target, peer, peer)


@jit.inline
def _copied(target: Any, peer: Any, part: Any):
    """Copy a part of a peer's matrix."""
    wide = _wide(target.shape[1], target.dtype.bytes)
    high = _high(target.shape[0], target.shape[1], target.dtype.bytes)
    across = target.shape[1] // wide
    pieces = target.shape[0] // high * across
    ranks = pld.nranks(target)
    for piece in range_(part * pieces // ranks, (part + 1) * pieces // ranks):
        r = piece // across * high
        c = piece % across * wide
        target[r : r + high, c : c + wide] = pld.remote_load(target, peer, [r, c], [high, wide])


@jit.inline
def _ring_reduce(target: Any, signal: Any, op: Any):
    """Compute on each rank the result for the part of the next rank."""
    wide = _wide(target.shape[1], target.dtype.bytes)
    high = _high(target.shape[0], target.shape[1], target.dtype.bytes)
    across = target.shape[1] // wide
    pieces = target.shape[0] // high * across
    ranks = pld.nranks(target)
    me = pld.rank(target)
    before = (me + ranks - 1) % ranks
    for step in range_(ranks - 1):
        if step > 0:
            _take(signal, before)
        part = (me + ranks - 1 - step) % ranks
        for piece in range_(part * pieces // ranks, (part + 1) * pieces // ranks):
            r = piece // across * high
            c = piece % across * wide
            so_far = pld.remote_load(target, before, [r, c], [high, wide])
            mine = target[r : r + high, c : c + wide]
            target[r : r + high, c : c + wide] = _combined(so_far, mine, op)
        if step < ranks - 2:
            pld.notify(signal, (me + 1) % ranks, me, 1, op=pld.NotifyOp.AtomicAdd)


@jit.inline
def _ring_gather(target: Any, signal: Any):
    """Pass the result that each rank has for the next rank's part around the ring."""
    ranks = pld.nranks(target)
    me = pld.rank(target)
    before = (me + ranks - 1) % ranks
    for step in range_(ranks - 1):
        if step > 0:
            _take(signal, before)
        _copied(target, before, (me + ranks - step) % ranks)
        if step < ranks - 2:
            pld.notify(signal, (me + 1) % ranks, me, 1, op=pld.NotifyOp.AtomicAdd)


@jit.inline
def reduce_scatter(target: Any, signal: Any = None, *, op: pld.ReduceOp = pld.ReduceOp.Sum):
    """Combine row r of ``target`` [ranks, n] of all ranks with ``op``, on rank r."""
    wide = _wide(target.shape[1], target.dtype.bytes)
    me = pld.rank(target)
    barrier(signal)
    for c in range_(0, target.shape[1], wide):
        total = pld.remote_load(target, 0, [me, c], [1, wide])
        for peer in range_(1, pld.nranks(target)):
            more = pld.remote_load(target, peer, [me, c], [1, wide])
            total = _combined(total, more, op)
        target[me : me + 1, c : c + wide] = total
    barrier(signal)
    return target


@jit.inline
def allgather(local_data: Any, target: Any, signal: Any = None):
    """Copy ``local_data`` [1, n] of rank r to row r of ``target`` [ranks, n], on every rank."""
    barrier(signal)
    for peer in range_(pld.nranks(target)):
        pld.put(target, peer, local_data, [pld.rank(target), 0], [0, 0], [1, target.shape[1]])
    barrier(signal)
    return target


@jit.inline
def broadcast(target: Any, signal: Any = None, *, root: int):
    """Copy ``target`` of the rank ``root`` to every rank."""
    barrier(signal)
    if pld.rank(target) != root:
        pld.get(target, root, target)
    barrier(signal)
    return target


@jit.inline
def all_to_all(input: Any, target: Any, signal: Any = None):  # noqa: A002  the name that users write
    """Copy to block r of ``target`` the block of rank r's ``input`` with this rank's number.

    ``input`` and ``target`` [ranks * rows, n] are windows or tensors with ``rows`` rows per block.
    """
    rows = _block(target.shape[0], pld.nranks(target))
    me = pld.rank(target)
    barrier(signal)
    for peer in range_(pld.nranks(target)):
        pld.put(target, peer, input, [me * rows, 0], [peer * rows, 0], [rows, target.shape[1]])
    barrier(signal)
    return target


# --------------------------------------------------------------------------------------------
# The same collectives as kernels, which host functions launch on all devices
# --------------------------------------------------------------------------------------------


@jit
def barrier_kernel(signal: DistributedTensor):
    with at(level=Level.CORE_GROUP, name_hint="barrier"):
        barrier(signal)


@jit
def allreduce_kernel(
    target: DistributedTensor, signal: DistributedTensor, op: int = 0, mode: str = "mesh"
):
    with at(level=Level.CORE_GROUP, name_hint="allreduce"):
        allreduce(target, signal, op=op, mode=mode)  # pyright: ignore[reportArgumentType]


@jit
def reduce_scatter_kernel(target: DistributedTensor, signal: DistributedTensor, op: int = 0):
    with at(level=Level.CORE_GROUP, name_hint="reduce_scatter"):
        reduce_scatter(target, signal, op=op)  # pyright: ignore[reportArgumentType]


@jit
def allgather_kernel(
    local_data: DistributedTensor, target: DistributedTensor, signal: DistributedTensor
):
    with at(level=Level.CORE_GROUP, name_hint="allgather"):
        allgather(local_data, target, signal)


@jit
def broadcast_kernel(target: DistributedTensor, signal: DistributedTensor, root: int):
    with at(level=Level.CORE_GROUP, name_hint="broadcast"):
        broadcast(target, signal, root=root)


@jit
def all_to_all_kernel(
    input: DistributedTensor,  # noqa: A002  the name that users write
    target: DistributedTensor,
    signal: DistributedTensor,
):
    with at(level=Level.CORE_GROUP, name_hint="all_to_all"):
        all_to_all(input, target, signal)


COLLECTIVES.update(
    {
        barrier: barrier_kernel,
        allreduce: allreduce_kernel,
        reduce_scatter: reduce_scatter_kernel,
        allgather: allgather_kernel,
        broadcast: broadcast_kernel,
        all_to_all: all_to_all_kernel,
    }
)
