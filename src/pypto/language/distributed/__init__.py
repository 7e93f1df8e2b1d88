"""Programs for several ranks: ``import pypto.language.distributed as pld``."""

from pypto._src.frontend.distributed_markers import (
    NotifyOp,
    ReduceOp,
    WaitCmp,
    alloc_window_buffer,
    get_comm_ctx,
    nranks,
    rank,
    remote_load,
    remote_store,
    step,
    window,
    world_size,
)
from pypto._src.ir.annotations import DistributedTensor
from pypto._src.ir.enums import AtomicType
from pypto.language.distributed import system, tensor, tile

__all__ = [
    "AtomicType",
    "DistributedTensor",
    "NotifyOp",
    "ReduceOp",
    "WaitCmp",
    "alloc_window_buffer",
    "get_comm_ctx",
    "nranks",
    "rank",
    "remote_load",
    "remote_store",
    "step",
    "system",
    "tensor",
    "tile",
    "window",
    "world_size",
]
