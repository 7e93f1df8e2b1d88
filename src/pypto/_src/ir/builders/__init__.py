"""The builders: IR put together statement by statement."""
