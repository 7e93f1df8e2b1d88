"""The compiler that the header tests use."""

from __future__ import annotations

import pytest

from pypto._src.run.toolchain import Toolchain, find_toolchain


@pytest.fixture(scope="session")
def toolchain() -> Toolchain:
    found = find_toolchain()
    if found is None:
        pytest.skip("no C++ compiler")
    return found
