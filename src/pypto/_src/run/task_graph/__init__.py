"""The tasks of a run, what each waits for, and drawings of them."""
