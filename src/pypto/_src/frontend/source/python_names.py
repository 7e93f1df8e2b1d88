"""What Python names mean around a kernel: closure, the definer's locals, globals, builtins."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Mapping
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.frontend.markers import DynVar

if TYPE_CHECKING:
    from pypto._src.frontend.source.reading import Reading

MISSING: Final = object()


class Environment:
    """Mappings from name to object, searched in order, then the frames that enclose the definer.

    ``known`` caches what names mean, for the functions of one program, which may share an
    environment. A new program needs a new one, and calling Python code, which may rebind names,
    clears it. ``has_symbols`` says that some name was a symbolic size. ``reading`` says what a text
    that is not executed may use; None stands for Python that runs.
    """

    __slots__ = ("frame", "has_symbols", "known", "layers", "reading")

    def __init__(
        self,
        layers: Iterable[Mapping[str, Any]],
        frame: FrameType | None = None,
        reading: Reading | None = None,
    ) -> None:
        self.layers = tuple(layers)
        self.frame = frame
        self.reading = reading
        self.known: dict[str, Any] = {}
        self.has_symbols = False

    def get(self, name: str) -> Any:
        """Return what ``name`` stands for, `MISSING` if nothing."""
        value: Any = MISSING
        for layer in self.layers:
            value = layer.get(name, MISSING)
            if value is not MISSING:
                break
        else:
            value = self._enclosing(name)
        if isinstance(value, DynVar):
            self.has_symbols = True
        return plain_value(value)

    def _enclosing(self, name: str) -> Any:
        """Look in callers whose text encloses the definer's.

        Python keeps a variable for an inner function only if that function's code reads it; a name
        in a postponed annotation does not count.
        """
        frame = self.frame
        while frame is not None:
            caller = _enclosing_frame(frame)
            if caller is not None and name in caller.f_locals:
                return caller.f_locals[name]
            frame = caller
        return MISSING

    def names(self) -> set[str]:
        """Return the names that are known, for suggestions."""
        known: set[str] = set()
        for layer in self.layers:
            known.update(layer)
        return known

    def again(self) -> Environment:
        """Return the same environment with nothing cached."""
        return Environment(self.layers, self.frame, self.reading)

    def inside(self, layer: Mapping[str, Any]) -> Environment:
        """Return an environment in which the names of ``layer`` come first."""
        return Environment((layer, *self.layers), self.frame, self.reading)


def enclosing_names(frame: FrameType) -> tuple[Mapping[str, Any], ...]:
    """Return the names of the callers whose text encloses that of ``frame``, the innermost first.

    For an environment that outlives the frame.
    """
    found: list[Mapping[str, Any]] = []
    caller = _enclosing_frame(frame)
    while caller is not None:
        if caller.f_locals is not caller.f_globals:
            found.append(caller.f_locals)
        caller = _enclosing_frame(caller)
    return tuple(found)


def _enclosing_frame(frame: FrameType) -> FrameType | None:
    """Return the caller whose text encloses that of ``frame``."""
    caller = frame.f_back
    while caller is not None and not _encloses(caller.f_code, frame.f_code):
        caller = caller.f_back
    return caller


def _encloses(outer: CodeType, inner: CodeType) -> bool:
    return any(constant is inner for constant in outer.co_consts)


def plain_value(value: Any) -> Any:
    """Return symbolic dimensions as variables, and NumPy integers as ints."""
    if isinstance(value, DynVar):
        return value.var
    if type(value).__module__ == "numpy" and hasattr(value, "item") and not value.shape:
        return value.item()
    return value


def items_of(value: Any) -> list[Any] | None:
    """Return the items of a Python list or tuple, None for anything else."""
    return [*cast("list[Any]", value)] if isinstance(value, (list, tuple)) else None


def closure_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the variables of enclosing functions that ``function`` reads."""
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars if code else (), cells, strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the variable is assigned only after the kernel
            continue
    return found


def function_environment(function: Callable[..., Any], frame: FrameType) -> Environment:
    """Return the environment of a function that is decorated in ``frame``."""
    names: dict[str, Any] = getattr(function, "__globals__", frame.f_globals)
    return Environment((closure_of(function), frame.f_locals, names, vars(builtins)), frame)


def module_environment(namespace: dict[str, Any], reading: Reading | None = None) -> Environment:
    """Return the environment of a text that runs, or is read, in ``namespace``."""
    return Environment((namespace, vars(builtins)), reading=reading)
