"""The builders: IR constructed statement by statement."""
