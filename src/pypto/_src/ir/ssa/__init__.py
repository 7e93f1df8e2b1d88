"""SSA construction: which values branches and loops hand on, for the builder and ConvertToSSA."""
