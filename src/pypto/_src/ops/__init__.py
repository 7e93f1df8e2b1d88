"""The vocabulary: every operator, one definition each. Importing the package registers all."""

from pypto._src.ops import elementwise, layout, matmul, memory, reduce, system, tensor

__all__ = ["elementwise", "layout", "matmul", "memory", "reduce", "system", "tensor"]
