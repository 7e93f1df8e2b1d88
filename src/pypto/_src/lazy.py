"""Modules that load on first use, so that ``import pypto.language`` stays fast.

NumPy and ml_dtypes are needed only when something runs. A module that names them writes

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = lazy_module("numpy")
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A stand-in that imports the real module at the first attribute access."""

    __slots__ = ("_module", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        return getattr(self._module, attribute)


def lazy_module(name: str) -> Any:
    """Return a stand-in for module ``name``; it is imported when an attribute is first read."""
    return LazyModule(name)
