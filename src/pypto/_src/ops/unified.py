"""Overloaded names: ``pl.add`` is block.add, block.adds, tensor.add, ...

The kinds of the operands choose the op. The ops themselves say which names they have (`OVERLOADS`).
``pl.tensor.add`` is overloaded, too: tensor.add and tensor.add_scalar.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pypto._src.diagnostics import UNKNOWN_SPAN, Span
from pypto._src.dtypes import fits, holds
from pypto._src.errors import OpTypeError
from pypto._src.ir.annotations import unwrapped
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.exprs import Cast, ConstFloat, ConstInt, Expr, binary, caller_span, unary
from pypto._src.ir.op_params import (
    ATTR,
    AXIS,
    INTS,
    KIND_TYPES,
    REQUIRED,
    SCALAR,
    TENSOR,
    TILE,
    kind_of,
    shown,
)
from pypto._src.ir.opdef import OpDef, of_wrapped, with_span
from pypto._src.ir.scalar_ops import BINARY_FUNCTIONS, UNARY_FUNCTIONS
from pypto._src.ir.types import ScalarType
from pypto._src.ops.define import BY_PYTHON_NAME, DISPATCHED, OVERLOADS

_OPERAND: Final = "input"
"""A keyword that names the first operand of any unified name."""

_OF_TWO_TILES: Final = {"min": "minimum", "max": "maximum"}
"""Maps reductions that also take two scalars to the ops on two tiles."""

_WORDS: Final = {
    TENSOR: "Tensor",
    TILE: "Tile",
    SCALAR: "Scalar",
    INTS: "list of numbers",
    AXIS: "number of a dimension",
}


class Unified:
    """A name that dispatches to the op for the kinds of its operands.

    With a level, it dispatches only to ops of that level.
    """

    __slots__ = ("level", "name")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Unified):
            return NotImplemented
        return (self.name, self.level) == (other.name, other.level)

    def __hash__(self) -> int:
        return hash((self.name, self.level))

    def __init__(self, name: str, level: str = "") -> None:
        self.name = name
        self.level = level

    @property
    def candidates(self) -> list[OpDef[..., Any]]:
        """The ops that the name may dispatch to."""
        found = self._of_level(OVERLOADS.get(self.name, []))
        if found:
            return found
        # ``pl.block.adds`` is ``pl.add``, too
        levels = [self.level] if self.level else ["block", "tensor"]
        alone = [BY_PYTHON_NAME.get((level, self.name)) for level in levels]
        return [op for op in alone if op is not None]

    def _of_level(self, ops: list[OpDef[..., Any]]) -> list[OpDef[..., Any]]:
        return [op for op in ops if op.level == self.level] if self.level else ops

    @property
    def text(self) -> str:
        """What users write: ``pl.add``, ``pl.tensor.add``."""
        return f"pl.{self.level}.{self.name}" if self.level else f"pl.{self.name}"

    @property
    def offsets(self) -> frozenset[int | str]:
        """Which arguments are lists of offsets, whichever overload is meant; as `OpDef.offsets`."""
        ops = self.candidates
        return (
            frozenset[int | str]()
            .union(*[op.offsets for op in ops])
            .difference(*[op.sizes for op in ops])
        )

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __doc__(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        entries = [f"{op.name}({_parameters(op)})\n\n{op.doc}" for op in self.candidates]
        of_scalars = scalar_doc(self.name)
        if of_scalars and not self.level:
            names = ", ".join(scalar_parameters(self.name))
            entries.append(f"{self.name}({names})\n\n{of_scalars}")
        return "\n\n".join(entries)

    @property
    def __signature__(self) -> Any:
        """The parameters of the first op, or of the operator on scalars, for `inspect`."""
        candidates = self.candidates
        if candidates:
            return candidates[0].__signature__
        from inspect import Parameter, Signature

        names = scalar_parameters(self.name)
        return Signature([Parameter(name, Parameter.POSITIONAL_ONLY) for name in names])

    def __repr__(self) -> str:
        meant = ", ".join(op.name for op in self.candidates)
        return f"<{self.text}: {meant or 'an operator on scalars'}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the call; numbers become constants, and a span may be the last argument.

        If operands are wrapped, ``pl.Tile(expr=...)``, so is the result.
        """
        bare = unwrapped(args, kwargs)
        given, named, found = with_span(*(bare or (args, kwargs)))
        span = found or caller_span()
        if bare is not None:
            return of_wrapped(self, given, named, span)
        scalar = self.scalar_form(given, named, span)
        return self.build(given, named, span) if scalar is None else scalar

    def scalar_form(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span
    ) -> Expr | None:
        """Return the scalar expression that the call means, None if it means an op."""
        if not args or not is_number(args[0]) or kwargs.keys() - {"target_type"}:
            return None
        if self.name in BINARY_FUNCTIONS and len(args) == 2 and is_number(args[1]):
            lhs, rhs = _typed(args[0], args[1], span), _typed(args[1], args[0], span)
            return binary(BINARY_FUNCTIONS[self.name], lhs, rhs, span)
        if self.name in UNARY_FUNCTIONS and len(args) == 1:
            return unary(UNARY_FUNCTIONS[self.name], args[0], span)
        if self.name == "cast" and isinstance(args[0], Expr):
            dtype = [*args[1:], *kwargs.values()]
            return Cast(args[0], dtype[0], span) if len(dtype) == 1 else None
        return None

    def build(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], span: Span = UNKNOWN_SPAN
    ) -> Any:
        """Return the call of the op that takes these operands.

        Raises:
            OpError: no op of this name does, or the one that does rejects them.
        """
        if not args and _OPERAND in kwargs:
            args = [kwargs[_OPERAND]]
            kwargs = {key: value for key, value in kwargs.items() if key != _OPERAND}
        kinds = (self.name, self.level, *map(_class, args), *kwargs, *map(_class, kwargs.values()))
        op = _CHOSEN.get(kinds)
        if op is not None:
            return op.build(args, kwargs, span)
        op = self._chosen(self._of_level(OVERLOADS.loaded(self.name) or []), args, kwargs)
        candidates = [] if op is not None else self.candidates
        op = op or self._chosen(candidates, args, kwargs)
        if op is not None:
            _CHOSEN[kinds] = op
            return op.build(args, kwargs, span)
        if commutes(self.name) and [is_data(arg) for arg in args] == [False, True]:
            return self.build((args[1], args[0]), kwargs, span)
        if self.name in _OF_TWO_TILES and len(args) == 2 and all(map(is_data, args)):
            other = f"pl.{_OF_TWO_TILES[self.name]}"
            raise OpTypeError(
                f"{self.text} reduces one tile; the element-wise op on two is {other}",
                hint=f"write {other}({', '.join(getattr(a, 'name', '...') for a in args)})",
                slug="no-overload",
            )
        return self._closest(candidates, args, kwargs).build(args, kwargs, span)

    def taking(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> OpDef[..., Any] | None:
        """Return the op that takes operands of these kinds, None if there is none."""
        return self._chosen(self.candidates, args, kwargs)

    def _chosen(
        self, ops: Sequence[OpDef[..., Any]], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> OpDef[..., Any] | None:
        return next((op for op in ops if _takes(op, args, kwargs)), None)

    def _closest(
        self,
        candidates: Sequence[OpDef[..., Any]],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> OpDef[..., Any]:
        """Return the op whose own error is most helpful: the one with most of the keywords.

        Raises:
            OpError: none of the ops takes such a first operand, or there is no op.
        """
        if not candidates:
            found = ", ".join(_shown(arg) for arg in args) or "nothing"
            wanted = "two scalars" if self.name in BINARY_FUNCTIONS else "one scalar"
            raise OpTypeError(f"{self.text} is for {wanted}, got {found}", slug="no-overload")
        same_start = [
            op for op in candidates if args and op.params and _fits(op.params[0].kind, args[0])
        ]
        if not same_start and not args and candidates:
            return candidates[0]
        if not same_start:
            wanted = dict.fromkeys(_WORDS.get(op.params[0].kind, "") for op in candidates)
            found = _shown(args[0]) if args else "nothing"
            raise OpTypeError(
                f"{self.text} is for a {' or '.join(filter(None, wanted))} first, got {found}",
                hint="begin a region, where tensors are tiles: "
                "with pl.at(level=pl.Level.CORE_GROUP):"
                if found == "a Tensor" and "Tile" in wanted
                else None,
                slug="no-overload",
            )
        enough = [op for op in same_start if len(args) <= len(op.params)] or same_start
        return max(enough, key=lambda op: len(kwargs.keys() & set(op.names)))


def _parameters(op: OpDef[..., Any]) -> str:
    return ", ".join(
        p.name if p.default is REQUIRED else f"{p.name}={p.default!r}" for p in op.params
    )


def _shown(value: Any) -> str:
    word = _WORDS.get(kind_of(value))
    return shown(value) if word is None else f"a {word}"


def is_data(value: Any) -> bool:
    """True for a tile or tensor."""
    return isinstance(value, Expr) and isinstance(value.type, TensorType | TileType)


def is_number(value: Any) -> bool:
    """True for a scalar or a Python number."""
    if isinstance(value, Expr):
        return isinstance(value.type, ScalarType)
    return isinstance(value, int | float)


def _typed(value: Any, other: Any, span: Span) -> Any:
    """Return a number as a constant of the type of the other operand, a scalar expression.

    A number that the type cannot represent stays as it is, and widens the result, as in a kernel.
    """
    if not isinstance(other, Expr) or not isinstance(other.type, ScalarType):
        return value
    dtype = other.type.dtype
    if value.__class__ is int and dtype.is_int() and fits(value, dtype):
        return ConstInt(value, dtype, span)
    if value.__class__ is float and dtype.is_float() and holds(value, dtype):
        return ConstFloat(value, dtype, span)
    return value


def _fits(kind: str, value: Any) -> bool:
    """True if ``value`` can be the argument for a parameter of ``kind``."""
    if isinstance(value, Expr):
        if kind == ATTR:
            return isinstance(value.type, ScalarType)
        return isinstance(value.type, KIND_TYPES[kind])
    if kind == ATTR:
        return True
    if kind in (SCALAR, AXIS):
        return isinstance(value, int | float)
    return kind == INTS and isinstance(value, list | tuple)


def _class(value: Any) -> type:
    """Return the class that `_fits` depends on: that of an expression's type, or of a value."""
    return value.type.__class__ if isinstance(value, Expr) else value.__class__


_CHOSEN: Final[dict[tuple[Any, ...], OpDef[..., Any]]] = {}
"""Ops chosen by `_takes`, by name, level, argument classes and keyword names."""


def _takes(op: OpDef[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if ``op`` takes arguments of these kinds and names."""
    params = op.params
    if len(args) > len(params):
        return False
    for param, value in zip(params, args, strict=False):
        if not _fits(param.kind, value):
            return False
    left = params[len(args) :]
    if not kwargs:
        return all(p.default is not REQUIRED for p in left)
    names = {p.name: p for p in left}
    if not all(key in names and _fits(names[key].kind, kwargs[key]) for key in kwargs):
        return False
    return all(p.default is not REQUIRED or p.name in kwargs for p in left)


def unified(name: str) -> OpDef[..., Any] | Unified | None:
    """Return what ``pl.<name>`` is: an op if it is the only one, a `Unified`, or None.

    Some names dispatch only so that reading them loads no family.
    """
    if ("", name) in DISPATCHED or ("block", name) in DISPATCHED:
        return Unified(name)
    found = [op for op in OVERLOADS.get(name, []) if op.level in ("block", "tensor")]
    if not found and name in ON_SCALARS:
        return Unified(name)
    if not found:
        return BY_PYTHON_NAME.get(("block", name)) or BY_PYTHON_NAME.get(("tensor", name))
    alone = len(found) == 1 and name not in ON_SCALARS
    return found[0] if alone else Unified(name)


def on_tiles(name: str) -> OpDef[..., Any] | Unified | None:
    """Return what ``pl.tensor.<name>`` is where tensors are tiles: an op only on tiles, or None.

    Loads and stores are not: the tensors that they take stay tensors.
    """
    op = BY_PYTHON_NAME.get(("block", name))
    if op is None or any(param.kind == TENSOR for param in op.params):
        return None
    return unified(name)


def commutes(name: str) -> bool:
    """True if a number may be the first operand: ``pl.add(2, tile)``."""
    return any(op.commutes for op in OVERLOADS.get(name, ()))


def named(level: str, name: str) -> OpDef[..., Any] | Unified | None:
    """Return what ``pl.<level>.<name>`` is, None if there is no such op.

    Ops with a number share the name on tensors: ``pl.tensor.add(x, 2.0)``. On tiles they do only in
    families whose names dispatch.
    """
    several = Unified(name, level)
    if (level, name) in DISPATCHED and (level, name) in BY_PYTHON_NAME:
        return several
    if level == "tensor" and len(several.candidates) > 1:
        return several
    return BY_PYTHON_NAME.get((level, name))


ON_SCALARS: Final = {*BINARY_FUNCTIONS, *UNARY_FUNCTIONS, "cast"}
"""Unified names that also work on scalars."""


def scalar_parameters(name: str) -> Sequence[str]:
    """Return the parameter names of the scalar function ``name``."""
    return ("lhs", "rhs") if name in BINARY_FUNCTIONS else ("scalar",)


def scalar_doc(name: str) -> str:
    """Return the documentation of the scalar function ``name``, empty if there is none.

    The docstring of its node is a noun phrase, such as "The magnitude."
    """
    node = BINARY_FUNCTIONS.get(name) or UNARY_FUNCTIONS.get(name)
    if node is None:
        return ""
    phrase = (node.__doc__ or "").rstrip(".")
    of = "two scalars" if name in BINARY_FUNCTIONS else "a scalar"
    return f"Return {phrase[:1].lower()}{phrase[1:]} of {of}."


def of_integers_only(name: str) -> bool:
    """Return whether the scalar function ``name`` refuses floats."""
    node = BINARY_FUNCTIONS.get(name) or UNARY_FUNCTIONS.get(name)
    return node is not None and node.integers_only
