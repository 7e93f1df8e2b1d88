"""Tensor, Tile, Scalar, Out and InOut as signatures write them.

The objects only hold what the annotation says, and wrap an expression at run time
(``Tensor(expr=...)``). The front end resolves annotations itself.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn, cast

from pypto._src.diagnostics import span_of_frame, text_at
from pypto._src.dtypes import DataType
from pypto._src.errors import CallError
from pypto._src.ir.array_types import TensorType, TileType
from pypto._src.ir.enums import ParamDirection
from pypto._src.ir.exprs import Expr
from pypto._src.ir.types import ScalarType

if TYPE_CHECKING:
    from pypto._src.ir.static_names import Elements
else:
    Elements = {"Tensor": object, "Tile": object}


class _Wrapper:
    # Not a metaclass's __getitem__: type checkers accept any subscript with this one.
    def __class_getitem__(cls, items: Any) -> Any:
        return cls.annotation(items)

    error: ClassVar[type[Exception]] = ValueError

    def __init__(
        self,
        shape: Any = None,
        dtype: DataType | None = None,
        expr: Any = None,
        layout: Any = None,
        extras: tuple[Any, ...] = (),
        *,
        memref: Any = None,
        tensor_view: Any = None,
        tile_view: Any = None,
    ) -> None:
        self.shape: Any = shape
        self.dtype: Any = dtype
        self.layout = layout
        given = (memref, tensor_view, tile_view)
        self.extras = (*extras, *[part for part in given if part is not None])
        self._expr = expr

    @classmethod
    def annotation(cls, items: Any) -> Any:
        parts = cast("tuple[Any, ...]", items) if isinstance(items, tuple) else (items,)
        shape = parts[0] if parts else None
        dtype = parts[1] if len(parts) > 1 else None
        return cls(shape, dtype, extras=tuple(parts[2:]))

    def unwrap(self) -> Any:
        """Return the wrapped expression.

        Raises:
            ValueError: the object is an annotation and wraps nothing (RuntimeError for scalars).
        """
        if self._expr is None:
            raise self.error(f"this {type(self).__name__} is an annotation: it holds no expression")
        return self._expr


class Tensor(_Wrapper, Elements["Tensor"]):
    """An array in global memory: ``pl.Tensor[[64, 128], pl.FP32]``."""

    if TYPE_CHECKING:

        def __getitem__(self, region: Any, /) -> Region: ...

        def bind_dynamic(self, axis: int, size: Any, /) -> None: ...


class DistributedTensor(Tensor):
    """A window: this rank's part of memory that other ranks reach.

    ``box: pld.DistributedTensor[[1, 128], pl.FP32]``
    """


class Tile(_Wrapper, Elements["Tile"]):
    """A block of elements on chip: ``pl.Tile[[64, 64], pl.FP16]``."""

    if TYPE_CHECKING:

        def __getitem__(self, region: Any, /) -> Tile: ...


if TYPE_CHECKING:

    class Region(Tile, Tensor):  # pyright: ignore[reportGeneralTypeIssues]
        """What ``x[0:8]`` is: a tile in a kernel, a view on the host."""

        def __getitem__(self, region: Any, /) -> Region: ...


class Scalar(_Wrapper):
    """One number: ``pl.Scalar[pl.FP32]``."""

    error = RuntimeError

    def __init__(self, dtype: DataType | None = None, expr: Any = None) -> None:
        super().__init__(None, dtype, expr)

    @classmethod
    def annotation(cls, items: Any) -> Any:
        """Return the annotation of a scalar with element type ``items``."""
        return cls(items)


def unwrapped(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]] | None:
    """Return arguments with wrappers replaced by their expressions, None if none is wrapped.

    Raises:
        ValueError: an argument is an annotation (RuntimeError for scalars).
    """
    if not any(map(_wraps, args)) and not any(map(_wraps, kwargs.values())):
        return None
    return [_bare(arg) for arg in args], {key: _bare(arg) for key, arg in kwargs.items()}


def _wraps(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(isinstance(item, _Wrapper) for item in cast("Sequence[Any]", value))
    return isinstance(value, _Wrapper)


def _bare(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_bare(item) for item in cast("Sequence[Any]", value)]
    return value.unwrap() if isinstance(value, _Wrapper) else value


def wrapped(value: Expr) -> Any:
    """Return a tensor, tile or scalar expression wrapped as such, any other value unchanged."""
    match value.type:
        case TensorType(shape=shape, dtype=dtype):
            return Tensor(shape, dtype, value)
        case TileType(shape=shape, dtype=dtype):
            return Tile(shape, dtype, value)
        case ScalarType(dtype=dtype):
            return Scalar(dtype, value)
        case _:
            return value


_CALL: Final = r"([\w.]+)\((.+)\)"


class _Direction:
    direction: ClassVar[ParamDirection]

    def __init__(self, *_args: object, **_named: object) -> NoReturn:
        location = span_of_frame(sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        name, text = f"pl.{type(self).__name__}", re.fullmatch(_CALL, text_at(location))
        raise CallError(
            f"{name} goes around a type, and is not called",
            location,
            hint=f"write {text[1]}[{text[2]}]" if text else f"write {name}[pl.Tensor[...]]",
            slug="annotation",
        )

    def __class_getitem__(cls, item: Any) -> Any:
        return item


class Out(_Direction):
    """A parameter that the function only writes: ``pl.Out[pl.Tensor[...]]``."""

    direction = ParamDirection.Out


class InOut(_Direction):
    """A parameter that the function reads and writes: ``pl.InOut[pl.Tensor[...]]``."""

    direction = ParamDirection.InOut
