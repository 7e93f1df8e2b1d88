"""Transfers between ranks, and collectives: ``pld.tensor.put``."""

from typing import TYPE_CHECKING

from pypto._src.frontend.distributed_markers import (
    alloc_window_buffer,
    get,
    put,
    remote_load,
    remote_store,
    window,
)
from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.jit.collectives import (
        all_to_all,
        allgather,
        allreduce,
        barrier,
        broadcast,
        reduce_scatter,
    )
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "all_to_all": "pypto._src.jit.collectives",
            "allgather": "pypto._src.jit.collectives",
            "allreduce": "pypto._src.jit.collectives",
            "barrier": "pypto._src.jit.collectives",
            "broadcast": "pypto._src.jit.collectives",
            "reduce_scatter": "pypto._src.jit.collectives",
        },
    )

__all__ = [
    "all_to_all",
    "allgather",
    "alloc_window_buffer",
    "allreduce",
    "barrier",
    "broadcast",
    "get",
    "put",
    "reduce_scatter",
    "remote_load",
    "remote_store",
    "window",
]
