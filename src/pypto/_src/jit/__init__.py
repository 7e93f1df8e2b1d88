"""Kernels that are specialised and compiled when they are called."""
