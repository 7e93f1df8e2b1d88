"""Kernels against a reference: ``run_jit(fn=kernel, specs=[...], golden_fn=reference)``."""

from pypto._src.golden.comparison import (
    error_distribution,
    mapped_pool_ratio_allclose,
    ratio_allclose,
    ratio_reldiff,
    topk_pair_compare,
)
from pypto._src.golden.harness import RunResult, run, run_jit
from pypto._src.golden.specs import ScalarSpec, TensorSpec

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
