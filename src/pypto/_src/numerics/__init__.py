"""Where numbers go wrong: values of runs, statement by statement, compared with a reference's."""
