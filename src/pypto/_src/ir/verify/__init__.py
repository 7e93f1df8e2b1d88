"""The verifier: one rule per file, run by `verifier`."""
