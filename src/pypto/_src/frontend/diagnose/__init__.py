"""What a mistake was probably meant to be: explanations and fix-its."""
