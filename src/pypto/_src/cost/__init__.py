"""How long instructions take: tables of figures, one a target, and the formulas that read them."""
