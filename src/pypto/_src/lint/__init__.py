"""Findings about source programs: what `pypto check` reports beyond synchronisation and texts."""
