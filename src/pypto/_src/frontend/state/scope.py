"""What each local name means at the current point of a function.

A Python name is one `Var` as long as its type stays the same (docs/architecture.md, "Before SSA").
Knows blocks and visibility, not syntax.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pypto._src.diagnostics import Label, Span, line_at
from pypto._src.dtypes import promote
from pypto._src.errors import ParserTypeError, SSAViolationError
from pypto._src.frontend.source.python_names import MISSING
from pypto._src.frontend.state.messages import first_value, number_in, spell_apart, spell_dims
from pypto._src.ir.array_types import (
    ShapedType,
    TensorType,
    TileType,
    same_dims,
    same_valid_part,
    valid_part,
)
from pypto._src.ir.exprs import Var
from pypto._src.ir.types import ScalarType, TupleType, Type, same_type
from pypto._src.ir.unchecked import checked_var
from pypto._src.ops.rules.type_rules import cast_code
from pypto._src.records import NamedTuple

BROKEN: Final = object()
"""Stands for a variable with an error in its definition; reading it reports nothing more."""


def first_tile(name: str, old: Var, kind: Type) -> str | None:
    """Suggest an initial tile for a variable that is a number first and a tile later."""
    target, _, value = line_at(old.span).partition(" = ")
    number = number_in(value)
    if not isinstance(kind, TileType) or target.strip() != name or number is None:
        return None
    if isinstance(number, float) and not kind.dtype.is_float():
        return None
    value = str(float(number)) if kind.dtype.is_float() else value.strip()
    return f"begin with {name} = pl.full({spell_dims(kind.shape)}, pl.{kind.dtype.member}, {value})"


def first_cast(name: str, old: Var, kind: Type) -> str | None:
    """Suggest a cast to write before a loop or branch that promotes a tile."""
    before = old.type
    if not (isinstance(before, TileType) and isinstance(kind, TileType)):
        return None
    if not same_dims(before.shape, kind.shape) or promote(before.dtype, kind.dtype) is before.dtype:
        return None
    text = cast_code(name, before.dtype, kind.dtype)
    return None if text is None else f"before the loop or branch, write {name} = {text}"


OF_THE_FUNCTION: Final[set[type]] = set()
"""Classes of Python objects whose names outlive the block that binds them."""


class Cascade(Exception):
    """The statement cannot be parsed because of an error that was reported before."""


class LoadFirst(Exception):
    """A loop or branch of a region makes a tile of a name that is a tensor before.

    The statement at ``level`` that contains it has to be preceded by a load of the tensor.
    """

    def __init__(self, names: Names, name: str, level: int) -> None:
        super().__init__(name)
        self.names = names
        self.name = name
        self.level = level


class Lost(NamedTuple):
    """A name that went out of scope: what it was, and why it is unknown now."""

    value: Var
    why: str  # "defined only in the loop"
    hint: str | None = None


class Retyped(NamedTuple):
    """The outer meaning of a name that has a value of another type in this block.

    Or a name that has to become another variable, as tiles have the present one as a size.
    """

    outside: Var
    level: int


class Names:
    """The local names of one function, with the nesting of blocks."""

    __slots__ = (
        "aliases",
        "candidates",
        "fixed",
        "journal",
        "jumped",
        "left",
        "level",
        "levels",
        "lost",
        "partial",
        "plain",
        "retyped",
        "shadow",
        "sizes",
        "tuples",
        "values",
    )

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        # Variables of this block that an assignment of the same type writes without further checks.
        self.plain: dict[str, Var] = {}
        self.levels: dict[str, int] = {}  # nesting depth of the block that binds the name
        self.level = 0
        self.lost: dict[str, Lost] = {}
        self.partial: set[Var] = set()  # variables that only one branch of some if assigns
        self.left: dict[str, Any] = {}  # names bound by branches that leave this iteration
        self.retyped: dict[Var, Retyped] = {}  # those with the name of an outer variable
        self.jumped: dict[str, Var] = {}  # of these, those with which a jump leaves this iteration
        # Loop variables, which cannot be assigned, with a number that divides all their values.
        self.fixed: dict[Var, int] = {}
        self.sizes: dict[Var, None] = {}  # variables that are valid sizes in the types of tiles
        self.tuples: dict[int, Type] = {}  # types already searched for ``sizes``, by id
        self.aliases: set[str] = set()  # names of iter_args after their loop
        self.candidates: list[dict[str, Any]] = []  # what the other branch of each `if` defines
        self.journal: list[tuple[str, Any, int]] = []
        # Whether a tile may take the name of an outside tensor, as it may in a region.
        self.shadow: Callable[[str, int, Var], bool] | None = None

    def bind(self, name: str, value: Any) -> None:
        """Bind ``name`` to ``value`` from here to the end of the block."""
        self.journal.append((name, self.values.get(name, MISSING), self.levels.get(name, 0)))
        self.values[name] = value
        self.levels[name] = self.level
        self.plain.pop(name, None)
        if self.aliases:
            self.aliases.discard(name)

    def bind_alias(self, name: str, var: Var) -> None:
        """Bind ``name`` to ``var`` as well; assigning to it does not change ``var``."""
        self.bind(name, var)
        self.aliases.add(name)

    def open(self) -> int:
        """Enter a block; return the mark that `close` needs."""
        self.level += 1
        self.plain.clear()
        return len(self.journal)

    def close(self, mark: int) -> dict[str, Any]:
        """Leave a block and unbind its names; return those that it was the first to bind."""
        bound: dict[str, Any] = {}
        for name, old, _ in self.journal[mark:]:
            now = self.values.get(name, MISSING)
            if old is MISSING and now is not MISSING:  # a name may have been unbound again
                bound[name] = now
        while len(self.journal) > mark:
            name, old, level = self.journal.pop()
            self.aliases.discard(name)
            if old is MISSING:
                self.values.pop(name, None)
            else:
                self.values[name] = old
                self.levels[name] = level
        self.level -= 1
        self.plain.clear()
        return bound

    def retyped_since(self, mark: int) -> dict[str, Var]:
        """Return the names of outer blocks that have a value of another type in this block."""
        if not self.retyped:
            return {}
        found: dict[str, Var] = {}
        for name, _, _ in self.journal[mark:]:
            var = self.values.get(name)
            if not isinstance(var, Var) or var not in self.retyped:
                continue
            if self.retyped[var].level < self.level:
                found[name] = var
        return found

    def rebind(self, name: str, var: Var) -> None:
        """Bind a name of another type to ``var`` also after the block that made it."""
        change = self.retyped.get(var)
        if change is not None and change.level == self.level:  # the block's own name
            outer = self.retyped.get(change.outside)
            if outer is None:
                del self.retyped[var]
            else:
                self.retyped[var] = outer
        self.bind(name, var)

    def lose(self, bound: dict[str, Any], why: str) -> None:
        """Remember names that went out of scope, for the error of reading them."""
        for name, value in bound.items():
            if value is BROKEN or value.__class__ in OF_THE_FUNCTION:
                self.bind(name, value)
            elif isinstance(value, Var):
                loop = f"assign it in the loop: last = {name}" if value in self.fixed else None
                self.lost[name] = Lost(value, why, loop)

    def define(self, name: str, kind: Type, span: Span, *, fresh: bool = False) -> Var:
        """Return the variable that is written by assigning a ``kind`` to ``name``.

        ``fresh`` asks for a new one, unless the name of an outer block must keep its variable.

        Raises:
            ParserTypeError: a name of an outer block would change its type.
        """
        part = valid_part(kind)
        if part is not None or kind.__class__ is TupleType:
            for size in _valid_sizes(kind, self.tuples):
                self.sizes[size] = None
                self.plain.pop(size.name, None)
        old = self.values.get(name, MISSING)
        if old is MISSING or old is BROKEN:
            var = self._candidate(name, kind) if self.candidates else None
            if var is not None:
                self.bind(name, var)
                return var
            var = checked_var(name, kind, span)
            self.bind(name, var)
            if part is None:
                self.plain[name] = var
            return var
        if isinstance(old, Var) and old in self.fixed:
            raise ParserTypeError(
                f"{name!r} is the variable of a loop and cannot be assigned",
                hint=f"assign to another name: {name}2 = ...",
                slug="loop-variable",
                related=(Label(old.span, "the loop sets it here"),),
            )
        if self.levels[name] == self.level or name in self.aliases:
            # A tile keeps the size that the variable had.
            fresh = fresh or (isinstance(old, Var) and old in self.sizes)
            if not fresh and isinstance(old, Var) and name not in self.aliases:
                if old.type is kind or same_type(old.type, kind):
                    if old.__class__ is Var and part is None:
                        self.plain[name] = old
                    return old
            elif self.levels[name] != self.level:
                raise self._alias_error(name, old)
            change = self.retyped.get(old) if self.retyped and isinstance(old, Var) else None
            if (
                change is not None
                and change.outside not in self.sizes
                and same_joined_type(change.outside.type, kind)
            ):
                self.bind(name, change.outside)  # again the outer variable
                self.levels[name] = change.level
                return change.outside
            var = Var(name, kind, span)
            self.bind(name, var)
            if change is not None:
                self.retyped[var] = change
            return var
        is_size = isinstance(old, Var) and old in self.sizes  # tiles keep it as their size
        if isinstance(old, Var) and not is_size and same_joined_type(old.type, kind):
            return old
        if self.shadow is not None and kind.__class__ is TileType:
            outside = old if isinstance(old, Var) and old.type.__class__ is TensorType else None
            if outside is not None and self.shadow(name, self.levels[name], outside):
                var = Var(name, kind, span)
                self.bind(name, var)
                return var
        if not isinstance(old, Var):
            self.values[name] = BROKEN  # also after the loop or branch
            raise ParserTypeError(
                f"{name!r} is a constant of the kernel; a loop or branch cannot assign it",
                hint=f"begin with {name} = {first_value(kind)}"
                if old is None
                else f"assign to another name: {name}2 = ...",
                slug="type-change",
            )
        var = Var(name, kind, span)
        self.retyped[var] = Retyped(old, self.levels[name])
        self.bind(name, var)
        return var

    def _candidate(self, name: str, kind: Type) -> Var | None:
        for branch in reversed(self.candidates):
            var = branch.get(name)
            if isinstance(var, Var) and same_type(var.type, kind):
                return var
        return None

    def _alias_error(self, name: str, old: Var) -> ParserTypeError:
        return ParserTypeError(
            f"{name!r} names the result {old.name!r} of a loop; another block cannot assign it",
            hint=f"after the loop, write {name} = {old.name}",
            slug="type-change",
        )

    def type_change(self, name: str, var: Var) -> ParserTypeError:
        """Return the error for reading a value of another type outside its block."""
        old = self.retyped[var].outside
        if old in self.sizes:
            return ParserTypeError(
                f"{name!r} is the valid size of a tile and changes in a loop or branch",
                var.span,
                hint=f"assign to another name: {name}2 = ...",
                slug="valid-shape",
                related=(Label(old.span, f"{name} is defined here"),),
            )
        if same_value_type(old.type, var.type):
            return ParserTypeError(
                f"{name!r} is valid in another part in a loop or branch than before it",
                var.span,
                hint=f"assign to another name: {name}2 = ...",
                slug="valid-shape",
                related=(Label(old.span, f"{name} is defined here"),),
            )
        before, now = spell_apart(old.type, var.type)
        return ParserTypeError(
            f"{name!r} changes its type in a loop or branch, from {before} to {now}",
            var.span,
            hint=first_tile(name, old, var.type)
            or first_cast(name, old, var.type)
            or f"assign to another name: {name}2 = ...",
            slug="type-change",
            related=(Label(old.span, f"{before} here"),),
        )

    def bind_constant(self, name: str, value: Any, span: Span) -> None:
        """Bind ``name`` to a Python value.

        Raises:
            ParserTypeError: the name belongs to an outer block.
        """
        if name in self.values and self.levels[name] != self.level:
            raise ParserTypeError(
                f"{name!r} becomes a constant in a loop or branch, and is defined outside",
                span,
                hint=f"assign to another name: {name}2 = ...",
                slug="type-change",
            )
        self.bind(name, value)


def _valid_sizes(kind: Type, known: dict[int, Type]) -> list[Var]:
    """Return the variables that a type, or an item's type, names as the valid size of a tile.

    ``known`` has types of tuples by id: those in it are skipped, and new ones are added.
    """
    found: list[Var] = []
    pending: list[Type] = [kind]
    while pending:
        item = pending.pop()
        if not isinstance(item, TupleType):
            found += [size for size in valid_part(item) or () if isinstance(size, Var)]
        elif id(item) not in known:  # `t = (t, t)` has one type for both items
            known[id(item)] = item
            pending += reversed(item.types)
    return found


def same_value_type(a: Type, b: Type) -> bool:
    """True if two types agree in everything but layout: kind, element type and shape."""
    if a is b:
        return True
    if isinstance(a, ShapedType) and isinstance(b, ShapedType):
        return type(a) is type(b) and a.dtype is b.dtype and same_dims(a.shape, b.shape)
    if isinstance(a, ScalarType) and isinstance(b, ScalarType):
        return a.dtype is b.dtype
    return same_type(a, b)


def same_joined_type(a: Type, b: Type) -> bool:
    """True if one variable can hold values of both types: no padding turns into elements."""
    return a is b or (same_value_type(a, b) and same_valid_part(a, b))


def reassigned(name: str, old: Any, span: Span) -> SSAViolationError:
    """Return the error for a second assignment under ``strict_ssa=True``."""
    previous = old.span if isinstance(old, Var) else None
    return SSAViolationError(
        f"{name!r} is assigned a second time",
        span,
        hint=f"use a new name: {name}2 = ...",
        previous_span=previous,
    )
