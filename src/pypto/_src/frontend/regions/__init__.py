"""Regions: what runs on one core or in blocks of a launch, and the tasks that these make."""
