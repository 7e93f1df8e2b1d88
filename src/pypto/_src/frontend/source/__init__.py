"""Where a kernel's text and the Python names around it come from."""
