"""Host functions as C++ for the chip's task runtime."""
