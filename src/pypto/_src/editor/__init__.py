"""The language server: what `pypto check` finds, and shapes of tiles, while a file is edited."""
