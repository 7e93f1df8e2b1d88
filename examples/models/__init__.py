"""Models of the field, two layers each: the layers of the other examples at the sizes of a model.

`MODELS` has each with two sets of sizes: those of the model, and small ones that keep what makes it
interesting. ``python bench/models.py`` runs them and prints what they cost.
"""
