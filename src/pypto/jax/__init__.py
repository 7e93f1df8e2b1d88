"""Kernels as functions of JAX; needs ``pip install 'pypto[jax]'``."""

from pypto._src.frameworks.jax_operator import register

__all__ = ["register"]
