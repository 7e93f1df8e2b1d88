"""Where numbers go wrong: values of runs, statement by statement, beside those of a reference."""
