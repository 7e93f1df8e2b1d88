"""Signals between ranks, and the ranks' numbers: ``pld.system.notify``."""

from pypto._src.frontend.distributed_markers import (
    defer_wait,
    get_comm_ctx,
    notify,
    nranks,
    rank,
    wait,
    world_size,
)

__all__ = ["defer_wait", "get_comm_ctx", "notify", "nranks", "rank", "wait", "world_size"]
