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
from types import ModuleType
from typing import Any, TypeVar

from pypto._src.suggestions import raise_unknown_name

F = TypeVar("F", bound=Callable[..., Any])


class LazyModule:
    """A stand-in that imports the real module at the first attribute access.

    Attributes of a foreign module are cached: kernels are called through them.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = import_module(self._name)
        value = getattr(self._module, attribute)
        if not self._name.startswith("pypto"):
            self.__dict__[attribute] = value
        return value


def lazy_module(name: str) -> Any:
    """Return a stand-in for module ``name``; it is imported when an attribute is first read."""
    return LazyModule(name)


def lazy_names(
    module: str, sources: Mapping[str, str], submodules: tuple[str, ...] = ()
) -> Callable[[str], Any]:
    """Return ``__getattr__`` for a public module whose names come from heavier modules.

    ``sources`` says for each name which module defines it: ``{"compile": "pypto._src.driver"}``,
    and its name there, if different: ``{"cast": "pypto._src.ir.builders.builder:cast_"}``.
    That module is imported when the name is first read; so are ``submodules`` of a package.
    """

    def get(name: str) -> Any:
        if name in submodules:
            return import_module(f"{module}.{name}")
        if name not in sources:
            frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
            raise_unknown_name(
                f"module {module!r}", name, [*sources, *dir(sys.modules[module])], frame
            )
        source, _, other = sources[name].partition(":")
        value = getattr(import_module(source), other or name)
        setattr(sys.modules[module], name, value)
        return value

    return get


def dir_with_lazy(module: str) -> Callable[[], list[str]]:
    """Return ``__dir__`` for ``module``: all of its ``__all__`` is there, loaded or not."""
    names = vars(sys.modules[module])
    return lambda: sorted({*names, *names["__all__"]})


def names_of(other: str, module: str) -> Callable[[str], Any]:
    """Return ``__getattr__`` for ``module``, which has the names of the module ``other``.

    ``other`` is imported when a name is first read.
    """

    def get(name: str) -> Any:
        # Attributes that Python itself looks up in any module must not load the other one.
        if name != "__all__" and name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        try:
            return getattr(import_module(other), name)
        except AttributeError:
            raise AttributeError(f"module {module!r} has no attribute {name!r}") from None

    return get


def dir_of(other: str) -> Callable[[], list[str]]:
    """Return ``__dir__`` for a module that has the names of the module ``other``."""
    return lambda: dir(import_module(other))


def callable_module(name: str, function: F) -> F:
    """Make the module ``name`` callable as ``function``; return the function.

    For a module with the same name as a function beside it: importing the module must not replace
    the function.
    """

    class CallableModule(ModuleType):
        __call__ = staticmethod(function)

    sys.modules[name].__class__ = CallableModule
    return function
