"""Well-known model architectures, two layers each: the layers of the other examples, resized.

`MODELS` has two sets of sizes for each: those of the real model, and small ones that keep its
distinctive features. ``python bench/models.py`` runs them and prints their costs.
"""
