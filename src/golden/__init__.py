"""`pypto.golden` under the name by which programs of model libraries import it.

A module ``golden`` of the program's own folder, or on ``PYTHONPATH``, comes before this one.
"""

from pypto.golden import (
    RunResult,
    ScalarSpec,
    TensorSpec,
    error_distribution,
    mapped_pool_ratio_allclose,
    ratio_allclose,
    ratio_reldiff,
    run,
    run_jit,
    topk_pair_compare,
)

__all__ = [
    "RunResult",
    "ScalarSpec",
    "TensorSpec",
    "error_distribution",
    "mapped_pool_ratio_allclose",
    "ratio_allclose",
    "ratio_reldiff",
    "run",
    "run_jit",
    "topk_pair_compare",
]
