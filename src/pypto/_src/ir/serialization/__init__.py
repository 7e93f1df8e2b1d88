"""IR as bytes and back: tokens, kinds of fields, rules for nodes, whole documents."""
