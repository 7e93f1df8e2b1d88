"""Buffers: which tile shares which, and where each lies."""
