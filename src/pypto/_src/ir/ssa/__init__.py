"""SSA construction: which values branches and loops pass on, for the builder and ConvertToSSA."""
