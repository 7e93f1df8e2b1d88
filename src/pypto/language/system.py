"""Ops that act on a core itself: flags and barriers between its pipes.

Written by `make generate` from the definitions of the ops.
"""

from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src

__all__ = [
    "bar_all",
    "bar_m",
    "bar_v",
    "sync_dst",
    "sync_src",
]
