"""Ops that act on a core itself: flags and barriers between its pipes."""

from pypto._src.ops.system import (
    bar_all,
    bar_m,
    bar_v,
    sync_dst,
    sync_src,
)

__all__ = [
    "bar_all",
    "bar_m",
    "bar_v",
    "sync_dst",
    "sync_src",
]
