"""Kernels as operators of PyTorch; needs ``pip install 'pypto[torch]'``."""

from pypto._src.frameworks.torch_operator import register

__all__ = ["register"]
