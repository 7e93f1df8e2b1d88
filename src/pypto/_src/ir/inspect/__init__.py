"""IR for people and tools: trees, JSON, colours, and the names that users gave."""
