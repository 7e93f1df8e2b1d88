"""Kernels as PTO-dialect MLIR."""
