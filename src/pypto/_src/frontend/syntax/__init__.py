"""Python syntax -> IR: one file for each form of statement or expression."""
