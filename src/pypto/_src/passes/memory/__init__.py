"""Buffers: which tiles share one, and the address of each."""
