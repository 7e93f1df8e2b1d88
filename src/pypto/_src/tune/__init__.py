"""The choice of constants for a program: which are legal, which is the fastest, as simulated."""
