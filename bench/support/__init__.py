"""What several benchmarks share. No benchmark itself, so `make bench` does not run it."""
