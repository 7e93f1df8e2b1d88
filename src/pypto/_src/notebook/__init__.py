"""What notebooks show of programs: pages that need no network and no script."""
