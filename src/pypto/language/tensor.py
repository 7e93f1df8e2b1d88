"""Ops on whole tensors in global memory."""

from pypto._src.ops.tensor import (
    create,
    dim,
    read,
    view,
)
from pypto._src.ops.tensor import (
    create as create_tensor,
)

__all__ = [
    "create",
    "create_tensor",
    "dim",
    "read",
    "view",
]
