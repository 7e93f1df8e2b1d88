"""Kernels as operators of other libraries: of PyTorch and of JAX, each imported when it is used."""
