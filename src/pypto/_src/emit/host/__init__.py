"""Host functions: what both of their texts share."""
