"""IR to IR. One pass per file; `pipeline` runs and verifies them, `pass_manager` orders them."""
