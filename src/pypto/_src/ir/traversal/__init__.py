"""Going through IR: children and walks, rewriting, what is found on the way."""
