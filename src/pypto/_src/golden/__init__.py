"""Runs of kernels against a reference: inputs from specs, what is expected, how far results are."""
