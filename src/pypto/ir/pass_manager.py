"""Passes in the order of a strategy."""

from pypto._src.passes.pipelines import OptimizationStrategy, PassManager

__all__ = ["OptimizationStrategy", "PassManager"]
