"""Backend selection and the description of the chip."""

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
