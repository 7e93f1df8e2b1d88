"""Lists of scalars or of tasks: ``done = pl.array.create(4, pl.TASK_ID)``."""

from typing import TYPE_CHECKING

from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import array_create as create
else:
    __getattr__ = lazy_names(
        __name__, {"create": "pypto._src.frontend.region_markers:array_create"}
    )

__all__ = ["create"]
