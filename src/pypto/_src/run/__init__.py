"""Compile emitted C++ and call it on the CPU."""
