"""Backend selection and the description of the chip."""

from typing import TYPE_CHECKING

from pypto._src.backend import (
    Backend,
    Backend910B_CCE,
    Backend910B_PTO,
    BackendType,
    Cluster,
    Core,
    Die,
    Mem,
    SoC,
    get_backend_type,
    is_backend_configured,
    reset_for_testing,
    set_backend_type,
)
from pypto._src.lazy import lazy_names

__all__ = [
    "Backend",
    "Backend910B_CCE",
    "Backend910B_PTO",
    "BackendType",
    "Cluster",
    "Core",
    "Die",
    "Mem",
    "SoC",
    "get_backend_type",
    "is_backend_configured",
    "reset_for_testing",
    "set_backend_type",
]

if not TYPE_CHECKING:  # a type checker knows the names
    __getattr__ = lazy_names(__name__, {})  # suggests the right name for a misspelt one
