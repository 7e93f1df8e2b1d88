"""A stand-in for ml_dtypes inside the page: there is no build of it for browsers.

Its element types are opaque bytes of the same size. Programs that use them are parsed, checked and
emitted as usual; NumPy refuses to compute with them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

BYTES = {
    "bfloat16": 2,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float4_e2m1fn": 1,
    "int4": 1,
    "uint4": 1,
}


def __getattr__(name: str) -> np.dtype[Any]:
    """Return an element type; a field with its name distinguishes it from the others."""
    if name not in BYTES:
        raise AttributeError(f"the playground has no ml_dtypes.{name}")
    return np.dtype([(name, f"V{BYTES[name]}")])
