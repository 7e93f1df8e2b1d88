"""Promotion and broadcasting: how operands of different types and shapes become alike."""
