"""Named tuples whose classes are made in a sixth of the time that those of `typing` take.

Each class of `typing` compiles annotations and methods of its own: 0.1 ms per class, and a process
that compiles one kernel makes dozens. Here all classes share their methods, and annotations are
just names. To a type checker it is `typing.NamedTuple`; it behaves the same, but cannot be generic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from collections import _tuplegetter
    from types import FunctionType

    _GLOBALS = {"__builtins__": {}, "__name__": __name__, "new": tuple.__new__}
    new = tuple.__new__
    _SHORT = (  # by number of fields; code for more fields is compiled on demand
        lambda _cls, a: new(_cls, (a,)),
        lambda _cls, a, b: new(_cls, (a, b)),
        lambda _cls, a, b, c: new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: new(_cls, (a, b, c, d, e, f, g, h)),
        lambda _cls, a, b, c, d, e, f, g, h, i: new(_cls, (a, b, c, d, e, f, g, h, i)),
    )
    _BY_COUNT = {count: function.__code__ for count, function in enumerate(_SHORT, 1)}

    def _maker(name, fields, defaults):
        """Return ``__new__`` of a class: the code for that many fields, with its names."""
        count = len(fields)
        code = _BY_COUNT.get(count)
        if code is None:
            listed = "".join(f", f{index}" for index in range(count))
            values = f"{listed[2:]}," if count else ""
            text = f"lambda _cls{listed}: new(_cls, ({values}))"
            code = _BY_COUNT[count] = eval(text, _GLOBALS).__code__
        code = code.replace(
            co_varnames=("_cls", *fields), co_name="__new__", co_qualname=f"{name}.__new__"
        )
        return FunctionType(code, _GLOBALS, "__new__", defaults)

    class _Class(type):
        def __new__(cls, name, bases, namespace):
            if bases[0].__base__ is tuple:  # neither `NamedTuple` itself nor a subclass of a record
                fields = tuple(namespace.get("__annotations__", ()))
                given = {field: namespace[field] for field in fields if field in namespace}
                if list(given) != list(fields[len(fields) - len(given) :]):
                    raise TypeError(f"{name} has a field without a default behind one with it")
                for index, field in enumerate(fields):
                    namespace[field] = _tuplegetter(index, None)
                namespace["__slots__"] = ()
                new = _maker(name, fields, tuple(given.values()))
                new.__annotations__ = namespace.get("__annotations__", {})
                namespace["__new__"] = new
                namespace["__match_args__"] = namespace["_fields"] = fields
                namespace["_field_defaults"] = given
            return type.__new__(cls, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_Class):
        """See the module's docstring."""

        __slots__ = ()

        @classmethod
        def _make(cls, values):
            return cls(*values)

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        __replace__ = _replace

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            pairs = zip(self._fields, self, strict=True)
            return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in pairs)})"

        def __getnewargs__(self):
            return tuple(self)
