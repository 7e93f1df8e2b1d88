"""The instructions are tested with the flags that ship: they are what -O3 makes most of."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="module", autouse=True)
def as_shipped(shipped_flags: None) -> None:
    """Compile all kernels of these tests as those of users."""
