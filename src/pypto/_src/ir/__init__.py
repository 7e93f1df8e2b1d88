"""The IR as data: nodes, types, traversal, text, verification. Knows no op by name."""
