"""The ops by level: those of both levels, of tiles and of tensors."""

from pypto.language.op import block_ops, tensor_ops, unified_ops

__all__ = ["block_ops", "tensor_ops", "unified_ops"]
