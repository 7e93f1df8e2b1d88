"""Code shared by several benchmarks. Not a benchmark itself, so `make bench` does not run it."""
