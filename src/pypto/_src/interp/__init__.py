"""Meaning: any verified IR, at any stage, evaluated on NumPy arrays."""

from pypto._src.interp.evaluate import Evaluator, evaluate

__all__ = ["Evaluator", "evaluate"]
