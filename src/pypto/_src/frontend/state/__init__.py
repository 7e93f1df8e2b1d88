"""What is known while one function is parsed: names, sizes, effects, messages."""
