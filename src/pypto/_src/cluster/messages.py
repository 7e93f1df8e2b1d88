"""Messages between driver and ranks, as bytes: numbers, strings and lists; no code, no pickles.

Arrays travel beside a message as NumPy integers of the same size: the cluster need not know the
element types of kernels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from pypto._src.diagnostics import UNKNOWN_SPAN, Label, Span
from pypto._src.errors import EvaluationError, PyptoError
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import ml_dtypes
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    ml_dtypes = lazy_module("ml_dtypes")
    np = lazy_module("numpy")

msgpack = lazy_module("msgpack")


def packed(message: Mapping[str, Any]) -> bytes:
    """Return a message as bytes."""
    return cast("bytes", msgpack.packb(message))


def unpacked(data: bytes) -> dict[str, Any]:
    """Return the message that bytes encode."""
    return cast("dict[str, Any]", msgpack.unpackb(data))


def dtype_of(name: str) -> Any:
    """Return the dtype that NumPy or ml_dtypes has under a name."""
    return np.dtype(getattr(ml_dtypes, name, name))


def sent(array: Array) -> Array:
    """Return an array as contiguous integers of the same size."""
    whole = np.ascontiguousarray(array).reshape(array.shape)
    return whole.view(f"u{array.itemsize}") if array.itemsize <= _WIDEST else whole


_WIDEST = 8


def span_as_data(span: Span) -> list[Any]:
    """Return a location as a list."""
    if span is UNKNOWN_SPAN:
        return []
    return [span.filename, span.begin_line, span.begin_column, span.end_line, span.end_column]


def span_from_data(data: list[Any]) -> Span:
    """Return the location that such a list holds."""
    return Span(*data) if data else UNKNOWN_SPAN


def error_as_data(error: PyptoError) -> dict[str, Any]:
    """Return an error of a rank as data."""
    return {
        "message": error.message,
        "hint": error.hint,
        "note": error.note,
        "slug": error.slug,
        "location": span_as_data(error.location),
        "related": [[span_as_data(label.span), label.text] for label in error.related],
    }


def error_from_data(data: Mapping[str, Any]) -> EvaluationError:
    """Return the error that a rank has sent."""
    return EvaluationError(
        data["message"],
        span_from_data(data["location"]),
        hint=data["hint"],
        note=data["note"],
        slug=data["slug"],
        related=[Label(span_from_data(span), text) for span, text in data["related"]],
    )
