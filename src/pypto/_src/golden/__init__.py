"""Runs of kernels against a reference: inputs from specs, expected values, comparisons."""
