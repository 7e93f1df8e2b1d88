"""Compiled files on disk: who can write them, their hashes, and precompiled headers."""
