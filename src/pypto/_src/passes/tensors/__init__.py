"""Whole tensors -> loops over tiles."""
