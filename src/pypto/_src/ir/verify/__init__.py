"""The verifier: one rule a file, run by `verifier`."""
