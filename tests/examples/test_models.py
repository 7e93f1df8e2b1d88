"""The models of `examples/models` at small sizes: each result is within its bound."""

from __future__ import annotations

import numpy as np
import pytest

from examples.models import dense, experts, latent, quantized, sparse
from examples.models.model import Model
from pypto._src.run.toolchain import find_toolchain
from tests import effort
from tests.natively import deferred

MODELS = [
    model for module in (dense, experts, latent, quantized, sparse) for model in module.MODELS
]


@pytest.mark.skipif(find_toolchain() is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    "model", effort.part(MODELS, 3), ids=lambda model: model.name.replace(" ", "-")
)
def test_model_stays_within_its_bound(model: Model) -> None:
    """Two layers against NumPy in float64; the program allocates less than its arguments take."""
    built = model.build(model.small)
    arguments = built.inputs(np.random.default_rng(1))
    given = {name: array.copy() for name, array in arguments.items()}
    with deferred():
        compiled = built.function.compile(*arguments.values())
    compiled(*arguments.values())
    for name, expected in built.reference(arguments, **given).items():
        error = np.abs(arguments[name].astype(np.float64) - expected)
        assert (error <= built.bound * np.maximum(1, np.abs(expected))).all(), name
    use = compiled.memory
    assert use.argument_bytes == sum(array.nbytes for array in arguments.values())
    assert 0 < use.peak_bytes < use.argument_bytes
    assert use.tasks > len(compiled.sources)
