"""The interpreter: any verified IR, at any stage, evaluated on NumPy arrays."""
