"""Traversal of IR: children and walks, rewriting, queries."""
