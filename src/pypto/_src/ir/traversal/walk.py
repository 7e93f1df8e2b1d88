"""The one traversal, derived from the field marks: children, walk, copies with other fields.

Nothing here lists node classes' fields by hand; a new node is traversed as soon as it exists.
Facts about a class that every node of a program needs, such as how its children are read, are
computed once, when the class is first met.
Symbolic dimensions inside types are not children: they are reached through
`array_types.exprs_of_type`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar, cast

from pypto._src.ir.exprs import ConstBool, ConstFloat, ConstInt, IRNode, IterArg, Var
from pypto._src.ir.node_base import Field, FieldKind, setter, uninitialized

N = TypeVar("N", bound=IRNode)
T = TypeVar("T")

LEAVES: Final = (Var, ConstInt, ConstFloat, ConstBool)
ATOMS: Final = frozenset({Var, ConstInt, ConstFloat, ConstBool})
VALUES: Final = ATOMS | {IterArg}
"""The classes without operands."""
VARIABLES: Final = frozenset({Var, IterArg})

# --------------------------------------------------------------------------------------------
# What is known of node classes
# --------------------------------------------------------------------------------------------


class _ByClass(dict[type, T]):
    """A fact about node classes, computed for each when first asked for."""

    def __init__(self, find: Callable[[Any], T]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, cls: type) -> T:
        found = self[cls] = self._find(cls)
        return found


def _child_fields(cls: type[IRNode]) -> tuple[Field, ...]:
    return tuple(f for f in cls.FIELDS if f.kind is not FieldKind.IGNORED and f.holds_nodes)


def rebuilt_fields(cls: type[IRNode]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the names of `child_fields`, each with whether it defines variables or is a body."""
    return _REBUILT[cls]


def child_fields(cls: type[IRNode]) -> tuple[str, ...]:
    """Return the names of the fields of ``cls`` that hold nodes, in traversal order."""
    return _CHILD_FIELDS[cls]


# The next functions make functions from texts, as `dataclasses` does for its methods. One that
# names the fields of a class takes a third of the time of a loop over their names with `getattr`,
# and walking and copying nodes is what passes do most. No user input gets into the texts: they
# hold names of slots and of declared fields, which Python has accepted for attributes.

_ONE_NODE: Final = frozenset({"Expr", "Stmt", "Var", "IterArg", "MemRef", "Function"})
"""Annotations of fields that hold exactly one node."""


def _held(value: object) -> tuple[IRNode, ...]:
    """Return the nodes in the value of a field."""
    if value.__class__ is tuple:
        return cast("tuple[IRNode, ...]", value)
    return (value,) if isinstance(value, IRNode) else ()


def _part(field: Field, *, backwards: bool) -> str:
    """Return the source text of the nodes that ``field`` of ``node`` adds to a list."""
    if field.annotation in _ONE_NODE:
        return f"node.{field.name}"
    value = f"node.{field.name}" if field.annotation.startswith("tuple[") else ""
    value = value or f"held(node.{field.name})"
    return f"*{value}[::-1]" if backwards else f"*{value}"


@cache
def _function(text: str) -> Callable[[Any], Any]:
    """Return the function with this source: one for all classes with the same field names."""
    return eval(text, {"held": _held})


def _lister(fields: Sequence[Field]) -> Callable[[Any], list[Any]]:
    """Return the function that lists the nodes in ``fields`` of a node, in their order."""
    text = ", ".join([_part(field, backwards=False) for field in fields])
    return _function(f"lambda node: [{text}]")


def _pusher(cls: type[IRNode]) -> Callable[[Any], Iterable[IRNode]] | None:
    """Return the function that lists the children of a node, the last one first; None if none."""
    parts = [_part(field, backwards=True) for field in reversed(_child_fields(cls))]
    if not parts:
        return None
    is_one_tuple = len(parts) == 1 and parts[0].startswith("*")
    text = parts[0][1:] if is_one_tuple else f"[{', '.join(parts)}]"
    return _function(f"lambda node: {text}")


def _operand_pusher(cls: type[IRNode]) -> Callable[[Any], Iterable[IRNode]] | None:
    return None if issubclass(cls, LEAVES) else _BELOW[cls]


def _rebuilt_fields(cls: type[IRNode]) -> tuple[tuple[str, bool, bool], ...]:
    """Return the names of `child_fields`, each with whether it defines variables or is a body."""
    return tuple(
        (field.name, field.kind is FieldKind.DEFINING, field.holds_statements)
        for field in _child_fields(cls)
    )


def _body_fields(cls: type[IRNode]) -> tuple[str, ...]:
    return tuple(field.name for field in reversed(cls.FIELDS) if field.holds_statements)


def _copier(cls: type[IRNode]) -> tuple[Callable[[Any], Any], dict[str, Callable[..., None]]]:
    """Return a function that copies a node, and the setters of the copy's fields."""
    slots = [name for base in cls.__mro__ for name in base.__dict__.get("__slots__", ())]
    names = dict.fromkeys([*slots, *[field.name for field in cls.FIELDS]])
    setters = {name: setter(cls, name) for name in names}
    scope: dict[str, Any] = {f"set_{name}": put for name, put in setters.items()}
    if cls.__dictoffset__:  # the class has more than the declared fields
        lines = ["new = make(cls)", *[f"set_{name}(new, node.{name})" for name in names]]
        scope |= {"make": object.__new__, "cls": cls}
    else:
        lines = ["new = uninitialized()", *[f"new.{name} = node.{name}" for name in names]]
        lines.append("new.__class__ = cls")
        scope |= {"uninitialized": uninitialized(cls), "cls": cls}
    exec("\n    ".join(["def copy(node):", *lines, "return new"]), scope)
    return scope["copy"], setters


_CHILD_FIELDS: Final = _ByClass(lambda cls: tuple(field.name for field in _child_fields(cls)))
_CHILDREN: Final = _ByClass(lambda cls: _lister(_child_fields(cls)))
_BELOW: Final = _ByClass(_pusher)
OPERANDS: Final = _ByClass(_operand_pusher)
"""As `_BELOW`, but without anything below a variable."""
EXPRS: Final = _ByClass(
    lambda cls: _lister([f for f in _child_fields(cls) if not f.holds_statements])
)
DEFINED: Final = _ByClass(
    lambda cls: _lister([f for f in _child_fields(cls) if f.kind is FieldKind.DEFINING])
)
_REBUILT: Final = _ByClass(_rebuilt_fields)
BODIES: Final = _ByClass(_body_fields)
"""The names of the fields that hold bodies, the last one first."""
_COPIERS: Final = _ByClass(_copier)

# --------------------------------------------------------------------------------------------
# Traversal
# --------------------------------------------------------------------------------------------


def child_list(node: IRNode) -> list[IRNode]:
    """Return the nodes directly below ``node``, in traversal order, in a new list."""
    return _CHILDREN[node.__class__](node)


def children(node: IRNode) -> Iterator[IRNode]:
    """Yield the nodes directly below ``node``, in traversal order."""
    return iter(child_list(node))


def walk(node: IRNode) -> Iterator[IRNode]:
    """Yield ``node`` and everything below it, parents first, without recursion."""
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        below = _BELOW[current.__class__]
        if below is not None:
            stack += below(current)


def copy_with(node: N, changes: Mapping[str, Any]) -> N:
    """Return a copy of ``node`` with the given fields replaced; types are not derived again."""
    copy, setters = _COPIERS[node.__class__]
    new = copy(node)
    for name, value in changes.items():
        setters[name](new, value)
    return new
