"""Prefetches, which change no value: ``pl.prefetch.async_prefetch(x, context)``."""

from typing import TYPE_CHECKING

from pypto._src.lazy import lazy_names

if TYPE_CHECKING:
    from pypto._src.frontend.region_markers import prefetch_context as make_context
    from pypto._src.frontend.region_markers import prefetch_read as async_prefetch
    from pypto._src.frontend.region_markers import prefetch_session as session
    from pypto._src.frontend.region_markers import prefetch_wait as wait
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "async_prefetch": "pypto._src.frontend.region_markers:prefetch_read",
            "make_context": "pypto._src.frontend.region_markers:prefetch_context",
            "session": "pypto._src.frontend.region_markers:prefetch_session",
            "wait": "pypto._src.frontend.region_markers:prefetch_wait",
        },
    )

__all__ = ["async_prefetch", "make_context", "session", "wait"]
