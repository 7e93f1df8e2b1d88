"""Signals between ranks, and who they are: ``pld.system.notify``."""

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
