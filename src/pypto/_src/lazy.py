"""Modules that load on first use, so that ``import pypto.language`` stays fast.

NumPy and ml_dtypes are needed only when something runs. A module that names them writes

    if TYPE_CHECKING:
        import numpy as np
    else:
        np = lazy_module("numpy")
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
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


def lazy_names(module: str, sources: Mapping[str, str]) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a public module whose names come from heavier modules.

    ``sources`` says for each name which module defines it: ``{"compile": "pypto._src.driver"}``.
    That module is imported when the name is first read.
    """

    def get(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        source = import_module(sources[name])
        value = getattr(source, name)
        setattr(sys.modules[module], name, value)
        return value

    return get


def lazy_submodules(package: str, names: tuple[str, ...]) -> Callable[[str], Any]:
    """Return a module ``__getattr__`` that imports submodules when they are first named."""

    def get(name: str) -> Any:
        if name in names:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return get
