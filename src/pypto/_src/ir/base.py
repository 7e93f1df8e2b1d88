"""The machinery of IR nodes: fields declared once, immutability, reflection.

A node class lists its fields as annotations. A field is *plain* (compared and traversed),
*defining* (introduces a variable; traversed) or *ignored* (not compared, not traversed). From
the marks come the constructor, `Node.fields`, and the one traversal in `walk`.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar, Final, NamedTuple, NoReturn, dataclass_transform


class FieldKind(Enum):
    """What comparison and traversal do with a field."""

    PLAIN = "plain"
    DEFINING = "defining"
    IGNORED = "ignored"


class Field(NamedTuple):
    """One field of a node class."""

    name: str
    kind: FieldKind
    default: Any
    convert: Callable[[Any], Any] | None


MISSING: Final = object()


def plain(*, default: Any = MISSING, convert: Callable[[Any], Any] | None = None) -> Any:
    """Mark a field that comparison and traversal see; ``convert`` normalises its value."""
    return Field("", FieldKind.PLAIN, default, convert)


def defining(*, default: Any = MISSING, convert: Callable[[Any], Any] | None = None) -> Any:
    """Mark a field that holds the variables which the node defines."""
    return Field("", FieldKind.DEFINING, default, convert)


def ignored(*, default: Any = MISSING, convert: Callable[[Any], Any] | None = None) -> Any:
    """Mark a field that neither comparison nor traversal sees."""
    return Field("", FieldKind.IGNORED, default, convert)


def _constructor(name: str, fields: tuple[Field, ...]) -> Callable[..., None]:
    """Return an ``__init__`` that takes ``fields`` in order, as ``dataclasses`` would."""
    scope: dict[str, Any] = {"put": object.__setattr__}
    params: list[str] = []
    body: list[str] = []
    for field in fields:
        value = field.name
        if field.default is not MISSING:
            scope[f"default_{value}"] = field.default
            params.append(f"{value}=default_{value}")
        else:
            params.append(value)
        if field.convert is not None:
            scope[f"convert_{value}"] = field.convert
            body.append(f"    put(self, {value!r}, convert_{value}({value}))")
        else:
            body.append(f"    put(self, {value!r}, {value})")
    text = f"def __init__(self, {', '.join(params)}):\n" + ("\n".join(body) or "    pass")
    exec(compile(text, f"<constructor of {name}>", "exec"), scope)
    return scope["__init__"]


@dataclass_transform(
    frozen_default=True, eq_default=False, field_specifiers=(plain, defining, ignored)
)
class NodeMeta(type):
    """Turns annotated fields into slots, a constructor and reflection data."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> NodeMeta:
        """Create the class with one slot a field."""
        inherited: dict[str, Field] = {}
        for base in reversed(bases):
            inherited.update({f.name: f for f in getattr(base, "FIELDS", ())})
        own: dict[str, Field] = {}
        for key, text in namespace.get("__annotations__", {}).items():
            if str(text).startswith("ClassVar"):
                continue
            mark = namespace.pop(key, MISSING)
            if not isinstance(mark, Field):
                mark = Field(key, FieldKind.PLAIN, mark, None)
            own[key] = mark._replace(name=key)
        fields = {**{k: v for k, v in inherited.items() if k != "span"}, **own}
        if "span" in inherited and "span" not in own:
            fields["span"] = inherited["span"]
        namespace.setdefault("FIELDS", tuple(fields.values()))
        namespace["__slots__"] = (
            *namespace.get("__slots__", ()),
            *(key for key in own if key not in inherited),
        )
        if own and "__init__" not in namespace:
            namespace["__init__"] = _constructor(name, namespace["FIELDS"])
        return super().__new__(mcls, name, bases, namespace)


class Node(metaclass=NodeMeta):
    """Anything whose fields are declared: IR nodes, types, views. Immutable."""

    FIELDS: ClassVar[tuple[Field, ...]]

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    @classmethod
    def fields(cls) -> tuple[Field, ...]:
        """Return the declared fields in constructor order."""
        return cls.FIELDS


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Convert a sequence given to a constructor."""
    return value if type(value) is tuple else tuple(value)
