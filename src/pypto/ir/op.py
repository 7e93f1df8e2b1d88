"""The ops as functions on expressions: ``op.block.add(x, y)``, ``op.tensor.exp(x, span=span)``."""

from pypto._src.ops.lookup import block_ops, system_ops, tensor_ops

block = block_ops
tensor = tensor_ops
system = system_ops

__all__ = ["block", "block_ops", "system", "tensor", "tensor_ops"]
