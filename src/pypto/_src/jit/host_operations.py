"""What a host function may call besides kernels: windows, new tensors and their parts, numbers."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from pypto._src.diagnostics import Span
from pypto._src.dtypes import DataType
from pypto._src.errors import ParserTypeError
from pypto._src.frontend import distributed_markers as pld
from pypto._src.frontend import markers, region_markers
from pypto._src.frontend.source.source import Source
from pypto._src.jit.host_values import Buffer, HostTensor, HostWindow
from pypto._src.lazy import lazy_module
from pypto._src.records import NamedTuple

if TYPE_CHECKING:
    import numpy as np
else:
    np = lazy_module("numpy")


class HostCall(NamedTuple):
    """A call in a host function: its location, and what it may ask about the run."""

    source: Source
    node: ast.Call
    ranks: int
    new_buffer: Callable[[Buffer], Buffer]

    @property
    def span(self) -> Span:
        return self.source.span(self.node)


def described(value: Any) -> str:
    """Return a description of a value for an error."""
    return "a window" if isinstance(value, HostWindow | Buffer) else repr(value)


def _world_size(call: HostCall) -> int:
    return call.ranks


def alloc(
    call: HostCall,
    size: Any = None,
    *,
    shape: Any = None,
    dtype: DataType | None = None,
    name: str = "",
) -> Buffer:
    size = shape if size is None else size
    is_shape = isinstance(size, list | tuple)
    dims: Sequence[Any] = cast("Any", size if is_shape else [size])
    if is_shape != (dtype is not None) or not all(type(dim) is int and dim > 0 for dim in dims):
        raise ParserTypeError(
            "a window buffer has a size in bytes, or a shape and dtype=",
            call.span,
            hint="write pld.alloc_window_buffer([1, 128], dtype=pl.FP32)",
            slug="window",
        )
    made = call.new_buffer(Buffer(call.ranks, size, dtype))
    made.name = name or made.name
    return made


def window(call: HostCall, buffer: Any, shape: Any, *, dtype: DataType) -> HostWindow:
    if not isinstance(buffer, Buffer):
        raise ParserTypeError(
            f"a window is of a buffer, got {described(buffer)}",
            call.span,
            hint="write buffer = pld.alloc_window_buffer([1, 128], dtype=pl.FP32) before it",
            slug="window",
        )
    sizes = tuple(shape)
    wanted = int(np.prod(sizes)) * dtype.bytes
    if wanted > buffer.bytes or buffer.bytes % dtype.bytes:
        raise ParserTypeError(
            f"a window {list(sizes)} of {dtype.member} has {wanted} bytes, {buffer.name} has "
            f"{buffer.bytes}",
            call.span,
            hint=f"write {buffer.name} = pld.alloc_window_buffer({list(sizes)}, "
            f"dtype=pl.{dtype.member})",
            slug="window",
        )
    return HostWindow(buffer.memory.view(dtype.numpy), sizes, buffer)


def _created(
    _call: HostCall, shape: Any, dtype: DataType, *, init_value: Any = None, **_: Any
) -> HostTensor:
    made = np.full(tuple(shape), 0 if init_value is None else init_value, dtype.numpy)
    return HostTensor(made)


def _dim(_call: HostCall, x: HostTensor, axis: int) -> int:
    return x.shape[axis]


def _part(_call: HostCall, x: HostTensor, shape: Any, offset: Any = None) -> HostTensor:
    begins = offset if offset is not None else [0] * len(shape)
    return x[tuple(slice(at, at + n) for at, n in zip(begins, shape, strict=True))]


def _reshaped(call: HostCall, x: HostTensor, shape: Any) -> HostTensor:
    if not x.array.flags.c_contiguous:
        raise ParserTypeError(
            f"{call.source.text(call.node)} is of a part that is not contiguous",
            call.span,
            hint="reshape the whole tensor before taking a part",
            slug="shape-mismatch",
        )
    return HostTensor(x.array.reshape(shape))


def _as_is(_call: HostCall, value: Any, *_: Any) -> Any:
    return value


def _least(_call: HostCall, *values: Any) -> Any:
    return min(values)


def _most(_call: HostCall, *values: Any) -> Any:
    return max(values)


def _cast(_call: HostCall, value: Any, dtype: DataType) -> Any:
    return float(value) if dtype.is_float() else int(value)


FORMS: Final[dict[Any, Callable[..., Any]]] = {
    pld.world_size: _world_size,
    pld.alloc_window_buffer: alloc,
    pld.window: window,
    region_markers.no_dep: _as_is,
    region_markers.slice: _part,
    markers.const: _as_is,
}

OPS: Final[dict[str, Callable[..., Any]]] = {
    "create_tensor": _created,
    "create": _created,
    "dim": _dim,
    "view": _part,
    "reshape": _reshaped,
    "reshape_view": _reshaped,
    "min": _least,
    "max": _most,
    "cast": _cast,
}
"""Ops that create or slice tensors, and ops on numbers, by their unified names."""
