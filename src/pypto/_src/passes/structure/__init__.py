"""SSA form, flattened calls, inlined functions."""
