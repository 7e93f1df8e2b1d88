"""Conversion of elements between types: rounding, saturation, and values out of range.

Knows arrays; nothing of tiles and ops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import ml_dtypes
import numpy as np

from pypto._src.dialect.values import Array


def _odd(x: Array) -> Array:
    cut = np.trunc(x)
    step = (cut != x) & (np.fmod(cut, 2) == 0)
    return cut + np.where(step, np.copysign(1.0, x), 0.0)


def _away(x: Array) -> Array:
    cut = np.trunc(x)
    return cut + np.where(np.abs(x - cut) >= 0.5, np.copysign(1.0, x), 0.0)


_ROUND: Final[Mapping[str, Callable[[Array], Array]]] = {
    "NONE": np.trunc,
    "RINT": np.rint,
    "CAST_RINT": np.rint,
    "ROUND": _away,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "TRUNC": np.trunc,
    "ODD": _odd,
}


def converted(
    x: Array, dtype: np.dtype[Any], mode: str, *, saturates: bool, simulator: bool
) -> Array:
    """Return elements converted to ``dtype``.

    Unless ``saturates``, floats cast to 8- and 16-bit integers wrap, to wider ones saturate; NaN
    gives 0. ``simulator``: they go through 32-bit integers (64-bit for 64-bit types), as on x86.
    """
    if dtype.kind not in "iu":
        return _floats(x, dtype, saturates)
    limits = np.iinfo(dtype)
    if x.dtype.kind in "iu":
        return np.clip(x, limits.min, limits.max).astype(dtype) if saturates else x.astype(dtype)
    rounded = _ROUND[mode](x.astype(np.float64))
    if simulator:
        return _as_x86(rounded, x.dtype, dtype, saturates)
    return integers(np.where(np.isnan(rounded), 0, rounded), dtype, saturates)


def _floats(x: Array, dtype: np.dtype[Any], saturates: bool) -> Array:
    wide = x.astype(np.float32)
    result = wide.astype(dtype)
    if not saturates:
        return result
    facts = cast("Any", ml_dtypes.finfo(dtype))  # which also knows NumPy's own types
    limit = float(facts.max)
    return np.where(np.isnan(wide), result, np.clip(wide, -limit, limit).astype(dtype))


def integers(x: Array, dtype: np.dtype[Any], saturates: bool) -> Array:
    """Return integral 64-bit floats as integers; where these wrap, values beyond 64 bits give 0."""
    inside = (x >= -(2.0**63)) & (x < 2.0**63)
    whole = np.where(inside, x, 0).astype(np.int64)
    if not saturates and dtype.itemsize < 4:
        return whole.astype(dtype)
    limits = np.iinfo(dtype)
    whole = np.where(x >= 2.0**63, limits.max, np.where(x < -(2.0**63), limits.min, whole))
    return np.clip(whole, limits.min, limits.max).astype(dtype)


def _as_x86(x: Array, source: np.dtype[Any], dtype: np.dtype[Any], saturates: bool) -> Array:
    """Return integral floats as integers, as the recorded simulator does.

    Values outside the range of the processor's conversion give its smallest number. Saturation
    clips to the narrower of both types, with NaN as the largest number.
    """
    if saturates:
        limits = np.iinfo(dtype)
        low, high = float(limits.min), float(limits.max)
        if source.itemsize == 2:
            largest = float(np.finfo(source).max)
            low, high = max(low, -largest), min(high, largest)
        if dtype.itemsize < 4 or source.itemsize == 2:
            x = np.clip(np.where(np.isnan(x), high, x), low, high)
    wide = np.dtype(np.int64 if dtype.itemsize == 8 else np.int32)
    limits = np.iinfo(wide)
    holds = (x >= float(limits.min)) & (x < -float(limits.min))
    return np.where(holds, np.where(holds, x, 0).astype(wide), limits.min).astype(dtype)
