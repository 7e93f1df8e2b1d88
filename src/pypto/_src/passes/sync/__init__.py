"""Flags and barriers: what needs them, where they go, and the proof that they are sufficient."""
