"""The machinery of IR nodes: fields declared once, immutability, reflection.

A node class lists its fields as annotations. A field is *plain* (compared and traversed),
*defining* (introduces a variable; traversed) or *ignored* (not compared, not traversed). From
the marks come the slots, `Node.fields`, and the one traversal in `walk`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, ClassVar, Final, NoReturn, TypeVar

from pypto._src.errors import of_type
from pypto._src.records import NamedTuple

T = TypeVar("T")


class FieldKind(Enum):
    """What comparison and traversal do with a field."""

    PLAIN = "plain"
    DEFINING = "defining"
    IGNORED = "ignored"


class Field(NamedTuple):
    """One field of a node class."""

    name: str
    kind: FieldKind
    annotation: str = ""

    @property
    def holds_statements(self) -> bool:
        """True if the field holds a body, or statements."""
        return "Stmt" in self.annotation

    @property
    def holds_nodes(self) -> bool:
        """True if the field holds IR nodes: statements, expressions, functions."""
        return any(word in self.annotation for word in _NODE_WORDS)


_NODE_WORDS: Final = ("Expr", "Stmt", "Var", "IterArg", "Function", "MemRef")


def plain(name: str = "") -> Any:
    """Mark a field that comparison and traversal see. Fields without a mark count as plain."""
    return Field(name, FieldKind.PLAIN)


def defining(name: str = "") -> Any:
    """Mark a field that holds the variables that the node defines."""
    return Field(name, FieldKind.DEFINING)


def ignored(name: str = "") -> Any:
    """Mark a field that neither comparison nor traversal sees."""
    return Field(name, FieldKind.IGNORED)


def _declared(
    bases: tuple[type, ...], namespace: Mapping[str, Any]
) -> tuple[tuple[Field, ...], list[str], list[str]]:
    """Return the fields of a class, the names that it annotates, and the new ones among them."""
    inherited: dict[str, Field] = {}
    for base in reversed(bases):
        known: tuple[Field, ...] = getattr(base, "FIELDS", ())
        inherited.update({f.name: f for f in known})
    own: dict[str, Field] = {}
    for key, text in namespace.get("__annotations__", {}).items():
        if str(text).startswith("ClassVar"):
            continue
        mark = namespace.get(key)
        kind = mark.kind if isinstance(mark, Field) else FieldKind.PLAIN
        own[key] = Field(key, kind, str(text))
    fields = {**{k: v for k, v in inherited.items() if k != "span"}, **own}
    if "span" in inherited and "span" not in own:
        fields["span"] = inherited["span"]
    order: tuple[Field, ...] = namespace.get("FIELDS", ())
    marked = tuple([mark._replace(annotation=fields[mark.name].annotation) for mark in order])
    new = [key for key in own if key not in inherited]
    return marked or tuple(fields.values()), list(own), new


class NodeMeta(type):
    """Turns annotated fields into slots and reflection data.

    ``FIELDS`` in the class body overrides kinds and order of the fields; the order is that of
    traversal.

    The classes that it makes are of class `type`, since `isinstance` takes three times as long for
    a class with any other metaclass. So subclasses do not inherit it: one that does not name it
    still gets its fields declared, without slots.
    """

    def __new__(
        mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **keywords: Any
    ) -> Any:
        """Create the class with one slot per field."""
        fields, annotated, new = _declared(bases, namespace)
        for key in annotated:
            namespace.pop(key, None)
        namespace["FIELDS"] = fields
        namespace["__slots__"] = (*namespace.get("__slots__", ()), *new)
        return type.__new__(type, name, bases, namespace, **keywords)


class Node(metaclass=NodeMeta):
    """Anything whose fields are declared: IR nodes, types, views. Immutable."""

    FIELDS: ClassVar[tuple[Field, ...]] = ()
    printer: ClassVar[Callable[[Node, str], str]]
    """Set by `text`, which this module cannot import."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "__slots__" in cls.__dict__:
            return
        fields, annotated, _ = _declared(cls.__bases__, cls.__dict__)
        for key in annotated:
            if key in cls.__dict__:
                delattr(cls, key)
        type.__setattr__(cls, "FIELDS", fields)

    def as_python(self, prefix: str = "pl") -> str:
        """Return the node as Python text, in the grammar of `text`."""
        return Node.printer(self, prefix)

    def __str__(self) -> str:
        return Node.printer(self, "pl")

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Return the declared fields in the order of traversal."""
        return cls.FIELDS


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("the keywords of a call are immutable: change a copy, dict(call.kwargs)")


_immutable: Any = _refuse


class Keywords(dict[str, Any]):
    """The keywords of a call: a dict that cannot change, since calls of many programs share it."""

    __slots__ = ("part",)

    part: Any
    """Their part of a call's form, once computed; see `call_forms.keywords_part`."""

    __setitem__ = __delitem__ = __ior__ = _immutable
    clear = pop = popitem = setdefault = update = _immutable

    def __reduce__(self) -> tuple[Any, ...]:
        return dict, (dict(self),)


NO_KEYWORDS: Final = Keywords()


def setter(cls: type[Node], name: str) -> Callable[[Any, Any], None]:
    """Return a setter of field ``name`` of new nodes, twice as fast as ``object.__setattr__``."""
    slot = getattr(cls, name, None)
    if slot is not None:
        return slot.__set__
    return lambda node, value: object.__setattr__(node, name, value)


def uninitialized(cls: type[Node]) -> Any:
    """Return a class whose instances become a ``cls``: new ones have all slots empty.

    The slots can be set until the node's ``__class__`` is set to ``cls``. Making a node this way
    takes less than half the time of setting its slots by `setter`; nothing is checked.
    """
    owner = next(base for base in cls.__mro__ if base.__dict__.get("__slots__"))
    scope = {name: getattr(object, name) for name in ("__init__", "__setattr__", "__delattr__")}
    scope["__slots__"] = owner.__dict__["__slots__"]
    return type.__new__(type, f"Uninitialized{cls.__name__}", owner.__bases__, scope)


def unwanted(what: str, wanted: type, value: object) -> TypeError:
    """Return the error for a constructor argument of the wrong class."""
    return TypeError(f"{what} is of type {wanted.__name__}, got {type(value).__name__}")


def check_class(what: str, value: object, wanted: type) -> None:
    """Raise TypeError unless ``value``, called ``what``, is a ``wanted``."""
    if not isinstance(value, wanted):
        raise unwanted(what, wanted, value)


def not_a_span(node: object, value: object) -> NoReturn:
    """Raise the error for a constructor argument that should be a span."""
    what = f"the span of {of_type(node)}"
    raise TypeError(f"{what} is of type Span, got {type(value).__name__}")


def all_of(what: str, values: Iterable[T], wanted: type[T]) -> tuple[T, ...]:
    """Return ``values`` as a tuple, checking that each of them is a ``wanted``."""
    items = as_tuple(values)
    for item in items:
        if not isinstance(item, wanted):
            raise unwanted(what, wanted, item)
    return items


def as_tuple(value: Iterable[T]) -> tuple[T, ...]:
    """Convert a sequence that was passed to a constructor."""
    return value if isinstance(value, tuple) else tuple(value)
