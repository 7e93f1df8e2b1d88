"""Distances between numbers: in units in the last place of an element type, and relative.

Both are computed in float64. Two NaNs, or two equal infinities, count as equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto._src.dtypes import DataType
from pypto._src.lazy import lazy_module

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
else:
    np = lazy_module("numpy")
ml_dtypes = lazy_module("ml_dtypes")


def distances(found: Any, wanted: Any) -> Array:
    """Return the distances between elements; infinity where only one is a number."""
    x, y = np.asarray(found, np.float64), np.asarray(wanted, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.where(x == y, 0.0, np.abs(x - y))
    apart = np.where(np.isnan(x) & np.isnan(y), 0.0, apart)
    return np.where(np.isnan(apart), np.inf, apart)


def ulp(values: Any, dtype: DataType) -> Array:
    """Return the distance between adjacent numbers of ``dtype`` at ``values``.

    For integers it is 1. Beyond the largest number it is as if larger exponents existed.
    """
    size = np.asarray(values, np.float64)
    if not dtype.is_float():
        return np.ones(size.shape)
    limits = ml_dtypes.finfo(dtype.numpy)
    least, eps = float(limits.smallest_subnormal), float(limits.eps)
    with np.errstate(invalid="ignore"):
        _, exponents = np.frexp(np.where(np.isfinite(size), size, 1.0))
    return np.maximum(np.where(size == 0.0, 0.0, np.ldexp(eps, exponents - 1)), least)


def bounded(found: Any, wanted: Any) -> Array:
    """Return the distances relative to ``max(1, abs(wanted))``, as bounds are given."""
    size = np.maximum(1.0, np.abs(np.asarray(wanted, np.float64)))
    apart = distances(found, wanted)
    with np.errstate(invalid="ignore"):
        part = np.where(apart == 0.0, 0.0, apart / size)
    return np.where(np.isnan(part), np.inf, part)
