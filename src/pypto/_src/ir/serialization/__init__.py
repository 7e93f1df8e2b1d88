"""IR as bytes and back: tokens, what fields hold, what must hold of nodes, whole documents."""
