"""What a kernel captures: globals, closure variables, and attributes of these.

Tells whether all of it is unchanged, fast enough to be checked at each call, and which values have
changed. Numbers, texts, element types and containers of them are compared by value, functions,
programs and other objects by identity. Knows nothing of kernels but their text.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from enum import Enum
from operator import attrgetter, is_, itemgetter
from types import CellType, ModuleType
from typing import Any, Final, cast

from pypto._src.dtypes import DataType
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.syntax.inline import Entry, InlineFunction
from pypto._src.records import NamedTuple

Path = tuple[str, ...]
"""A name and a chain of attributes read from it."""

_ATOMS: Final = frozenset({int, float, complex, str, bytes, bool, type(None), DataType})
_CONTAINERS: Final = frozenset({tuple, list, set, frozenset, dict})


class Reader(NamedTuple):
    """A definition, and where its names are looked up: cells by name, then dictionaries."""

    node: ast.FunctionDef
    cells: Mapping[str, CellType]
    layers: tuple[Mapping[str, Any], ...]


class Outside:
    """A snapshot of the values that definitions capture.

    The captures of inline functions are included.
    """

    def __init__(self, reader: Reader) -> None:
        self.values: dict[Path, Hashable] = {}  # what distinguishes values
        self.shown: dict[Path, str] = {}  # the value as readable text
        self._kept: list[Any] = []  # keeps alive what is compared by identity
        self._cells: tuple[list[CellType], list[Any]] = ([], [])
        self._groups: list[tuple[Callable[[Any], Any], Any, tuple[Any, ...]]] = []
        self._absent: list[tuple[Mapping[str, Any], tuple[str, ...]]] = []
        self._mutable: list[tuple[Any, Hashable]] = []
        known: set[int] = set()
        pending = [reader]
        while pending:
            each = pending.pop()
            if id(each.node) in known:
                continue
            known.add(id(each.node))
            prefix = () if each is reader else (each.node.name,)
            for value in self._add(each, prefix):
                if isinstance(value, Entry):
                    value = value.as_inline()
                if isinstance(value, InlineFunction):
                    pending.append(Reader(value.func_def, {}, value.environment.layers))

    @property
    def key(self) -> Hashable:
        """A key that is equal for captures that a kernel cannot distinguish."""
        return tuple(self.values.items())

    def holds(self) -> bool:
        """True if all captured values are still the same objects."""
        try:
            cells, values = self._cells
            if cells and not all(map(is_, [c.cell_contents for c in cells], values)):
                return False
            for read, source, before in self._groups:
                if not all(map(is_, read(source), before)):
                    return False
            for layer, names in self._absent:
                if not layer.keys().isdisjoint(names):
                    return False
            return all(_frozen(value) == before for value, before in self._mutable)
        except (KeyError, AttributeError, ValueError, RuntimeError):
            return False

    def changes(self, before: Outside) -> list[str]:
        """Return the changes since ``before``, as texts."""
        found: list[str] = []
        for path, value in self.values.items():
            old = before.values.get(path, MISSING)
            if old == value or old is MISSING:  # a new name comes with another change
                continue
            name = ".".join(path)
            shown, was = self.shown.get(path), before.shown.get(path)
            is_told = shown is not None and was is not None and shown != was
            found.append(f"{name} is {shown}, was {was}" if is_told else f"{name} is another one")
        return found

    def _add(self, reader: Reader, prefix: Path) -> Iterator[Any]:
        """Record what one definition reads; yield the values."""
        paths = names_read(reader.node)
        by_layer: dict[int, list[str]] = {}
        absent: dict[int, list[str]] = {}
        roots: dict[str, Any] = {}
        for name in paths:
            cell = reader.cells.get(name)
            if cell is not None:
                roots[name] = value = _content(cell)
                self._cells[0].append(cell)
                self._cells[1].append(value)
                continue
            for index, layer in enumerate(reader.layers):
                if name in layer:
                    by_layer.setdefault(index, []).append(name)
                    roots[name] = layer[name]
                    break
                absent.setdefault(index, []).append(name)
        for index, names in by_layer.items():
            self._group(itemgetter, reader.layers[index], names, [roots[name] for name in names])
        self._absent += [(reader.layers[index], tuple(names)) for index, names in absent.items()]
        for name, value in roots.items():
            self._note((*prefix, name), value)
            yield value
            yield from self._attributes((*prefix, name), value, paths[name])

    def _attributes(self, path: Path, value: Any, below: Iterable[Path]) -> Iterator[Any]:
        """Record the attributes that are read from a value, recursively."""
        if not _has_attributes(value):
            return
        names = list(dict.fromkeys(each[0] for each in below if each))
        found = [(name, getattr(value, name, MISSING)) for name in names]
        found = [(name, inner) for name, inner in found if inner is not MISSING]
        self._group(attrgetter, value, [name for name, _ in found], [inner for _, inner in found])
        for name, inner in found:
            self._note((*path, name), inner)
            yield inner
            deeper = [each[1:] for each in below if each[:1] == (name,)]
            yield from self._attributes((*path, name), inner, deeper)

    def _group(
        self, getter: Callable[..., Any], source: Any, names: list[str], values: list[Any]
    ) -> None:
        if len(names) == 1:  # a getter returns a value for one name, a tuple for several
            names, values = names * 2, values * 2
        if names:
            self._groups.append((getter(*names), source, tuple(values)))

    def _note(self, path: Path, value: Any) -> None:
        self.values[path] = frozen = _frozen(value)
        self._kept.append(value)
        if _is_mutable(value):
            self._mutable.append((value, frozen))
        if type(value) in _ATOMS or type(value) in _CONTAINERS or isinstance(value, Enum):
            self.shown[path] = str(value) if isinstance(value, DataType | Enum) else repr(value)


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # assigned after the kernel's definition
        return MISSING


def cells_of(function: Any) -> dict[str, CellType]:
    """Return the cells of the variables of enclosing functions that a function reads."""
    code = getattr(function, "__code__", None)
    names: tuple[str, ...] = () if code is None else code.co_freevars
    return dict(zip(names, getattr(function, "__closure__", None) or (), strict=False))


def _has_attributes(value: Any) -> bool:
    """True for a value whose attributes may be reassigned and have a meaning in a kernel."""
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] != "pypto"
    return type(value) not in _ATOMS and type(value) not in _CONTAINERS


def _is_mutable(value: Any) -> bool:
    kind = cast("type[Any]", type(value))
    if kind is tuple or kind is frozenset:
        return any(map(_is_mutable, cast("Iterable[Any]", value)))
    return kind in _CONTAINERS


def _frozen(value: Any) -> Hashable:
    """Return a key that is equal for values of the same meaning."""
    kind = cast("type[Any]", type(value))
    if kind is float or kind is complex:
        return kind, repr(value)  # -0.0 is not 0.0
    if kind in _ATOMS or isinstance(value, Enum):
        return kind, value
    if kind is dict:
        items = cast("dict[Any, Any]", value).items()
        return kind, tuple((_frozen(key), _frozen(item)) for key, item in items)
    if kind is set or kind is frozenset:
        return kind, frozenset(map(_frozen, cast("Iterable[Any]", value)))
    if kind is tuple or kind is list:
        return kind, tuple(map(_frozen, cast("Iterable[Any]", value)))
    if kind.__module__ == "numpy" and hasattr(value, "item") and not value.shape:
        return kind, _frozen(value.item())
    return "is", id(value)


def names_read(node: ast.FunctionDef) -> dict[str, list[Path]]:
    """Return the names that a definition captures, with the attributes read from each.

    Names that it assigns are local, except in its header.
    """
    args = node.args
    listed = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    header = [each.annotation for each in listed if each.annotation is not None]
    header += [] if node.returns is None else [node.returns]
    own = {each.arg for each in listed}
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
            own.add(item.id)
    found: dict[str, list[Path]] = {}
    for part in header:
        _collect(part, found)
    inner: dict[str, list[Path]] = {}
    for stmt in node.body:
        _collect(stmt, inner)
    for name, paths in inner.items():
        if name not in own:
            found.setdefault(name, []).extend(paths)
    return found


def _collect(node: ast.AST, found: dict[str, list[Path]]) -> None:
    """Add the names and attributes that a syntax tree reads, in textual order."""
    pending: list[tuple[ast.AST, Path]] = [(node, ())]
    while pending:
        current, above = pending.pop()
        if isinstance(current, ast.Name):
            if isinstance(current.ctx, ast.Load):
                found.setdefault(current.id, []).append(above)
        elif isinstance(current, ast.Attribute):
            pending.append((current.value, (current.attr, *above)))
        else:
            pending += [(child, ()) for child in reversed([*ast.iter_child_nodes(current)])]
