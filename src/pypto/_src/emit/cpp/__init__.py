"""Kernels as C++ against the PTO ISA headers."""
