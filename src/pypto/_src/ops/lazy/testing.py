"""An op for tests of the registry: it has attributes of each plain kind and does nothing."""

from __future__ import annotations

from typing import Any

from pypto._src.ir.types import UnknownType
from pypto._src.ops.define import test_op


def _no_value(
    int_attr: int | None = None, string_attr: str | None = None, bool_attr: bool | None = None
) -> Any:
    return None


@test_op(
    types=lambda _operands: UnknownType.get(),
    numpy=_no_value,
    unsupported="it is there for tests of the registry",
)
def op(
    int_attr: int | None = None, string_attr: str | None = None, bool_attr: bool | None = None
) -> None:
    """Do nothing, with attributes."""
    ...
