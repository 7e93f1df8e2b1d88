"""Passes in the order of a strategy."""

from pypto._src.passes.pass_manager import OptimizationStrategy, PassManager

__all__ = ["OptimizationStrategy", "PassManager"]
