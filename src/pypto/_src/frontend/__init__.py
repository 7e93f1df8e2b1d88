"""Python source -> IR. Knows the language's grammar; what an op is, it asks the op."""
