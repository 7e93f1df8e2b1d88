"""Ops that act on a core itself: flags and barriers between its pipes.

Written by `make generate` from the definitions of the ops.
"""

from typing import TYPE_CHECKING

from pypto._src.lazy import lazy_names as _lazy_names
from pypto._src.ops.names import system_deliver as deliver
from pypto._src.ops.names import system_fetch as fetch
from pypto._src.ops.names import system_notify as notify
from pypto._src.ops.names import system_wait as wait
from pypto._src.ops.system import bar_all, bar_m, bar_v, sync_dst, sync_src

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import available_aiv_count as available_aiv_count
    from pypto._src.frontend.region_markers import (
        available_cluster_count as available_cluster_count,
    )
    from pypto._src.frontend.region_markers import cacheinvalid as cacheinvalid
    from pypto._src.frontend.region_markers import fence as fence
    from pypto._src.frontend.region_markers import syncall as syncall
    from pypto._src.frontend.region_markers import task_dummy as task_dummy
    from pypto._src.frontend.region_markers import task_invalid as task_invalid
else:
    __getattr__ = _lazy_names(
        __name__,
        {
            "available_aiv_count": "pypto._src.frontend.region_markers",
            "available_cluster_count": "pypto._src.frontend.region_markers",
            "cacheinvalid": "pypto._src.frontend.region_markers",
            "fence": "pypto._src.frontend.region_markers",
            "syncall": "pypto._src.frontend.region_markers",
            "task_dummy": "pypto._src.frontend.region_markers",
            "task_invalid": "pypto._src.frontend.region_markers",
        },
    )


__all__ = [
    "bar_all",
    "bar_m",
    "bar_v",
    "deliver",
    "fetch",
    "notify",
    "sync_dst",
    "sync_src",
    "wait",
]
