"""IR to IR. One pass a file; `base` runs and verifies them, `pipelines` puts them in order."""
